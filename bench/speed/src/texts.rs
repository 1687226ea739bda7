//! The set of real short texts: each of two descriptions of packages, one after the other; every
//! twentieth is the one before it with a word more. The server makes their fingerprints.

use crate::pq::{Client, Outcome, bigint};

/// Fingerprints that are asked for at a time.
const PIECE: usize = 500_000;

/// Text number `i`, the same in every run: lines of table `line`, chosen by hashes of the number.
const TEXTS: &str = "SELECT simhash64(
        (SELECT words FROM line WHERE n = abs(hashint8extended(original, 1) % lines)) || ' ' ||
        (SELECT words FROM line WHERE n = abs(hashint8extended(original, 2) % lines)) ||
        CASE WHEN i = original THEN '' ELSE ' again' END)
    FROM (SELECT count(*) AS lines FROM line) AS l, generate_series($1::bigint, $2::bigint) AS i,
        LATERAL (SELECT i - (i % 20 = 19)::int AS original) AS o
    ORDER BY i";

/// The default fingerprints of `count` texts, made of the lines of a file.
pub fn fingerprints(client: &Client, file: &str, count: usize) -> Outcome<Vec<u64>> {
    let lines = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    client.run("DROP TABLE IF EXISTS line")?;
    client.run("CREATE TABLE line (n bigint PRIMARY KEY, words text NOT NULL)")?;
    let words = lines.lines().filter(|line| !line.contains(['\\', '\t']));
    let rows = words
        .enumerate()
        .map(|(n, words)| format!("{n}\t{words}\n"));
    client.copy("COPY line FROM STDIN", rows)?;
    client.run("VACUUM ANALYZE line")?;
    let statement = client.prepare("texts", TEXTS)?;
    let mut fingerprints = Vec::with_capacity(count);
    while fingerprints.len() < count {
        let last = count.min(fingerprints.len() + PIECE) - 1;
        let range = [bigint(fingerprints.len() as u64), bigint(last as u64)];
        let piece = client.execute(&statement, &range)?.bigints();
        if piece.len() != last + 1 - fingerprints.len() {
            return Err("a text has no fingerprint".into());
        }
        fingerprints.extend(piece);
    }
    client.run("DEALLOCATE texts; DROP TABLE line")?;
    Ok(fingerprints)
}
