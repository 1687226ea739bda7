//! The form in which `simhash_same` compares each line of the standard input, for
//! tools/value_table.py.

use simhash_fingerprint::same::differences;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lines() {
        // Beside a text without words all of it is one difference.
        let all = differences(&line?, "!", &mut || {}).map_err(|error| error.to_string())?;
        println!("{}", all.first().map_or("", |difference| &difference.in_a));
    }
    Ok(())
}
