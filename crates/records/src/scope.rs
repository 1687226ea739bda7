//! Which records may be pairs at all, whatever they share: those that are equal in the columns of
//! `within` and that no column of `differ` tells apart. [`super::frequencies`] asks it for each
//! candidate, the extension for stored records.

use simhash_fingerprint::error::Error;
use simhash_fingerprint::hash::city64;
use simhash_fingerprint::similarity::letters::Letters;

/// What a column of `differ` says about every other row if there is no value: nothing.
pub const NOTHING: u64 = 0;

/// Returns what a value of a column of `differ` is: values with the same letters and digits do not differ, and one without
/// any says nothing.
pub fn value(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<u64, Error> {
    if !text.contains(char::is_alphanumeric) {
        return Ok(NOTHING);
    }
    let hash = match Letters::new(text, check_interrupts)? {
        Letters::Ascii(letters) => city64(&letters),
        Letters::Wide(letters) => {
            let bytes = letters.iter().flat_map(|letter| letter.to_le_bytes());
            city64(&bytes.collect::<Vec<u8>>())
        }
    };
    Ok(hash | 1)
}

/// Returns whether two records have different values in a column of `differ`, of which these are theirs.
pub fn differ(a: &[u64], b: &[u64]) -> bool {
    let is_other = |(a, b): (&u64, &u64)| a != b && *a != NOTHING && *b != NOTHING;
    a.iter().zip(b).any(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_differs_from_no_value() {
        let value = |text| value(text, &mut || {}).unwrap();
        let (x, y) = (value("10.1/A"), value("10.1/b"));
        assert!(differ(&[x], &[y]) && differ(&[x, x], &[x, y]));
        assert!(!differ(&[x], &[value("10.1-a")]) && !differ(&[value("Ж")], &[value("ж")]));
        assert!(differ(&[value("12")], &[value("21")]));
        assert_eq!([value(""), value(" - ")], [NOTHING; 2]);
        assert!(!differ(&[x, NOTHING], &[x, y]) && !differ(&[], &[]));
    }
}
