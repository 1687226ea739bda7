//! What the extension says of pairs of texts, for bench/quality/verdicts.py: a line for each, with
//! what `simhash_same` returns, the distance of the fingerprints, and `simhash_jaccard`. The pairs
//! come on standard input, each as a line with a JSON array of two texts.

use simhash_fingerprint::Error;
use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::parse_text;
use simhash_fingerprint::options::{plan, presets};
use simhash_fingerprint::same::same;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::{NgramSet, Scratch, Similarity};
use simhash_fingerprint::text::ngrams::GramLengths;

fn fingerprint(text: &str) -> Result<Option<u64>, Error> {
    let plan = plan::text(presets::find(None)?, &parse_text("{}", &mut || {})?)?;
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    builder.begin();
    builder.column(&plan, Content::Text(text), &mut || {})?;
    Ok(builder.fingerprint().map(|[bits]| bits))
}

fn distance(a: &str, b: &str) -> Result<u32, Error> {
    Ok(match (fingerprint(a)?, fingerprint(b)?) {
        (Some(a), Some(b)) => (a ^ b).count_ones(),
        _ => 64,
    })
}

fn jaccard(a: &str, b: &str) -> Result<f64, Error> {
    let (mut set, mut scratch) = (NgramSet::default(), Scratch::default());
    set.fill(
        &Letters::new(a, &mut || {})?,
        GramLengths::SHINGLES,
        &mut scratch,
        &mut || {},
    )?;
    let letters = Letters::new(b, &mut || {})?;
    Ok(
        match set.compare(&letters, 0.0, &mut scratch, &mut || {})? {
            Similarity::Exactly(similarity) => similarity,
            _ => 0.0,
        },
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lines() {
        let [a, b]: [String; 2] = serde_json::from_str(&line?)?;
        let said = same(&a, &b, &mut || {}).map_err(|error| error.to_string())?;
        let distance = distance(&a, &b).map_err(|error| error.to_string())?;
        let jaccard = jaccard(&a, &b).map_err(|error| error.to_string())?;
        println!("{} {distance} {jaccard}", u8::from(said));
    }
    Ok(())
}
