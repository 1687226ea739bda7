//! Prints the fingerprint of a text as simhash64(text, options, preset) returns it in the database:
//!
//! ```text
//! cargo run -p simhash_fingerprint --example fingerprint -- 'The lamp is dark.'
//! cargo run -p simhash_fingerprint --example fingerprint -- 'The lamp is dark.' words '{"stop_words": "en"}'
//! ```

use simhash_fingerprint::Error;
use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::parse_text;
use simhash_fingerprint::options::{plan, presets};

fn fingerprint(text: &str, preset: Option<&str>, options: &str) -> Result<Option<i64>, Error> {
    let mut never_pause = || {};
    let options = parse_text(options, &mut never_pause)?;
    let plan = plan::text(presets::find(preset)?, &options)?;
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    builder.begin();
    builder.column(&plan, Content::Text(text), &mut never_pause)?;
    Ok(builder.fingerprint().map(|[bits]| bits as i64))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let text = arguments.next().unwrap_or_default();
    let preset = arguments.next();
    let options = arguments.next().unwrap_or_else(|| "{}".to_owned());
    match fingerprint(&text, preset.as_deref(), &options) {
        Ok(Some(bits)) => println!("{bits}"),
        Ok(None) => println!("NULL"),
        Err(error) => eprintln!("{error}"),
    }
}
