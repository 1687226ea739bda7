//! All pairs within 3 bits, by `simhash_pairs`.

use crate::cells::timed;
use crate::oracle;
use crate::peers::Peer;
use crate::pq::{Client, Outcome};
use crate::report::{Measurement, progress};

/// Rows up to which the pairs of a uniform set are counted by brute force, and those of a skewed
/// one, where many rows share a key.
const COUNTED: [usize; 2] = [20_000_000, 200_000];

/// Compares the number of pairs with the truth, where that can be counted in time.
pub fn measure(client: &Client, rows: &[u64], uniform: bool) -> Outcome<Measurement> {
    let counted = COUNTED[usize::from(!uniform)];
    let truth = (rows.len() <= counted).then(|| oracle::pairs(rows, 3));
    progress("all pairs");
    let (seconds, found) =
        timed(|| client.number("SELECT count(*) FROM simhash_pairs('t', 'id', 'fp', 3)"))?;
    Ok(Measurement {
        what: "all pairs, simhash_pairs".to_owned(),
        peer: Peer::Simhash.name().to_owned(),
        k: "3".to_owned(),
        n: 1,
        value: seconds,
        unit: "s",
        mean_rows: Some(found),
        checked: usize::from(truth.is_some()),
        wrong: usize::from(truth.is_some_and(|truth| truth as f64 != found)),
        ..Measurement::default()
    })
}
