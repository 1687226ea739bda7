//! Words that people write in full or as a usual abbreviation: legal forms, parts of addresses, and
//! words of bibliographies. [`super::features`] asks for the short form before it makes words and
//! n-grams. It depends on the value alone; a word that is not in the list stays as it is.

use simhash_fingerprint::error::Error;
use std::borrow::Cow;

/// Bytes of the longest word in the list.
const LONGEST: usize = 18;

/// The end of German streets, in two spellings of equal length.
const STREETS: [&str; 2] = ["strasse", "straße"];

/// Returns the usual abbreviation of a word in lower case.
fn abbreviation(word: &[u8]) -> Option<&'static str> {
    Some(match word {
        // Legal forms.
        b"limited" => "ltd",
        b"incorporated" => "inc",
        b"corporation" => "corp",
        b"company" => "co",
        b"private" => "pvt",
        b"proprietary" => "pty",
        b"aktiengesellschaft" => "ag",
        b"brothers" => "bros",
        b"association" | b"associates" => "assoc",
        b"international" => "intl",
        b"manufacturing" => "mfg",
        b"university" => "univ",
        b"institute" => "inst",
        b"department" => "dept",
        // Addresses.
        b"street" | b"saint" => "st",
        b"road" => "rd",
        b"avenue" | b"av" => "ave",
        b"boulevard" | b"blv" => "blvd",
        b"lane" => "ln",
        b"drive" => "dr",
        b"court" => "ct",
        b"place" => "pl",
        b"square" => "sq",
        b"highway" => "hwy",
        b"parkway" => "pkwy",
        b"terrace" => "ter",
        b"crescent" => "cres",
        b"suite" => "ste",
        b"apartment" => "apt",
        b"building" => "bldg",
        b"mount" => "mt",
        // Bibliographies.
        b"proceedings" => "proc",
        b"conference" => "conf",
        b"symposium" => "symp",
        b"transactions" => "trans",
        b"journal" => "j",
        b"volume" => "vol",
        b"pages" => "pp",
        _ => return None,
    })
}

/// Returns how many bytes of a word stay, and what comes in the place of the others.
fn shorter(word: &str) -> Option<(usize, &'static str)> {
    let mut lower = [0; LONGEST];
    if let Some(lower) = lower.get_mut(..word.len()) {
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        if let Some(short) = abbreviation(lower) {
            return Some((0, short));
        }
    }
    let stays = word.len().checked_sub(STREETS[0].len())?;
    let end = word.get(stays..)?;
    let is_street = |street: &&str| street.eq_ignore_ascii_case(end);
    STREETS.iter().any(is_street).then_some((stays, "str"))
}

/// Returns a value with the short form of each word that has one.
pub fn abbreviated(value: &str) -> Result<Cow<'_, str>, Error> {
    let mut plain = String::new();
    let mut from = 0;
    for word in value.split(|c: char| !c.is_alphabetic()) {
        let Some((stays, short)) = shorter(word) else {
            continue;
        };
        if plain.try_reserve(value.len() - from).is_err() {
            return Err(Error::OutOfMemory);
        }
        let at = word.as_ptr() as usize - value.as_ptr() as usize;
        plain.push_str(&value[from..at + stays]);
        plain.push_str(short);
        from = at + word.len();
    }
    if from == 0 {
        return Ok(Cow::Borrowed(value));
    }
    plain.push_str(&value[from..]);
    Ok(Cow::Owned(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_list_are_short() {
        let of = |value| abbreviated(value).unwrap();
        assert_eq!(of("Harrow Timber LIMITED"), "Harrow Timber ltd");
        assert_eq!(of("12 Mill Lane, Saint Albans"), "12 Mill ln, st Albans");
        assert_eq!(
            of("Falkenwäldersstraße 91"),
            "Falkenwälders".to_owned() + "str 91"
        );
        assert_eq!(of("HAUPTSTRASSE"), "HAUPTstr");
        assert_eq!(of("5th Av/6th Av."), "5th ave/6th ave.");
        for same in [
            "",
            "Lanes",
            "Éstreet",
            "Unlimited 7",
            "strase",
            "路street路",
            "aße",
            "Str. 7",
        ] {
            assert!(matches!(of(same), Cow::Borrowed(_)), "{same}");
        }
    }
}
