use proptest::prelude::*;

use super::read::*;
use crate::error::{Class, Error};

/// 0xc5334d134c17b573 in other forms.
const SIGNED: i64 = -4236958079149165197;

#[test]
fn one_hash_in_all_forms() {
    for text in [
        "c5334d134c17b573",
        "C5334D134C17B573",
        "0xc5334d134c17b573",
        "0XC5334d134c17b573",
        "\\xc5334d134c17b573",
    ] {
        assert_eq!(hex(text), Ok(SIGNED), "{text}");
    }
    for text in ["14209785994560386419", "14209785994560386419.000"] {
        assert_eq!(unsigned(text), Ok(SIGNED), "{text}");
    }
    let raw = [0xc5, 0x33, 0x4d, 0x13, 0x4c, 0x17, 0xb5, 0x73];
    assert_eq!(bytes(&raw), Ok(SIGNED));
    assert_eq!(bits((64, &raw)), Ok(SIGNED));
    assert_eq!(to_hex(&[SIGNED, 255]), "c5334d134c17b57300000000000000ff");
}

#[test]
fn the_ends_of_the_range() {
    for (decimal, value) in [
        ("0", 0),
        ("9223372036854775807", i64::MAX),
        ("9223372036854775808", i64::MIN),
        ("18446744073709551615", -1),
    ] {
        assert_eq!(unsigned(decimal), Ok(value), "{decimal}");
        let digits = to_hex(&[value]);
        assert_eq!(hex(&digits), Ok(value), "{digits}");
    }
}

#[test]
fn what_is_refused() {
    let too_long = "f".repeat(17);
    let wide = "f".repeat(64);
    for text in [
        "",
        "ff",
        "0x",
        "0xff",
        &too_long,
        &wide,
        "0x0xffffffffffffff",
    ] {
        assert_eq!(
            hex(text).map_err(|f| f.class()),
            Err(Class::InvalidText),
            "{text}"
        );
    }
    for (text, wrong) in [
        ("c5334d134c17b57g", 'g'),
        (" c5334d134c17b573", ' '),
        ("-c5334d134c17b57", '-'),
        // Three digits that are wide, and one of two bytes.
        ("c5334d134c17b５73", '５'),
        ("c5334d134c17bé7", 'é'),
    ] {
        let Err(Error::NoHexDigit { character, .. }) = hex(text) else {
            panic!("{text}");
        };
        assert_eq!(character, wrong);
    }
    for text in [
        "18446744073709551616",
        "-1",
        "-0.5",
        "Infinity",
        "-Infinity",
        "-9e9",
    ] {
        let class = unsigned(text).map_err(|f| f.class());
        assert!(
            matches!(class, Err(Class::OutOfRange | Class::InvalidValue)),
            "{text}"
        );
    }
    for text in ["NaN", "1.5", "0.1", "18446744073709551615.000001"] {
        assert_eq!(unsigned(text), Err(Error::NoInteger(text.into())));
    }
    let zeros = [0; 40];
    for n in [0, 1, 7, 9, 16] {
        assert_eq!(bytes(&zeros[..n]), Err(Error::ByteCount(n)));
    }
    for n in [0_usize, 1, 63, 65, 128] {
        let found = bits((n, &zeros[..n.div_ceil(8)]));
        let expected = 64;
        assert_eq!(found, Err(Error::BitCount { bits: n, expected }));
    }
    for n in [-64, 0, 1, 63, 100, 4160, i32::MAX] {
        assert_eq!(width(n), Err(Error::HashWidth(n)));
    }
    assert_eq!(
        (check_parts(&[(64, 1)]), check_parts(&[(65, 1)])),
        (Ok(()), Err(Error::TooManyParts(65)))
    );
    assert_eq!(check_parts(&[]), Ok(()));
    for (dims, written) in [
        (&[(4, 0)][..], "[0:3]"),
        (&[(2, 1), (2, 1)], "[1:2][1:2]"),
        (
            &[(1, i32::MIN), (2, i32::MAX - 2)],
            "[-2147483648:-2147483648][2147483645:2147483646]",
        ),
    ] {
        assert_eq!(
            check_parts(dims),
            Err(Error::PartSubscripts(written.into()))
        );
    }
    assert!(hamming256(&[0; 4], &[0; 3]).is_err() && hamming256(&[0; 5], &[0; 5]).is_err());
}

/// An error quotes the beginning, whatever it is given.
#[test]
fn long_input_is_quoted_in_part() {
    let Err(Error::HexLength { found, digits, .. }) = hex(&"f".repeat(100_000)) else {
        panic!("no error of length");
    };
    assert_eq!((found.len(), digits), (100, 100_000));
    let Err(Error::Unsigned(found)) = unsigned(&"9".repeat(100_000)) else {
        panic!("no error of range");
    };
    assert_eq!(found.len(), 100);
}

proptest! {
    #[test]
    fn there_and_back(parts in prop::collection::vec(any::<i64>(), 1..=64)) {
        let wide = width(parts.len() as i32 * 64).unwrap();
        let digits = to_hex(&parts);
        prop_assert_eq!(hex_parts(&digits, wide), Ok(parts.clone()));
        prop_assert_eq!(hex_parts(&digits.to_uppercase(), wide), Ok(parts.clone()));
        let raw: Vec<u8> = parts.iter().flat_map(|part| part.to_be_bytes()).collect();
        prop_assert_eq!(bit_parts((wide, &raw), wide), Ok(parts.clone()));
        prop_assert_eq!(unsigned(&(parts[0] as u64).to_string()), Ok(parts[0]));
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = (hex(&text), unsigned(&text));
    }

    /// The rule by which a search of four indexes is exact: quarter i is within (radius - i) / 4,
    /// rounded down, for one i of 0 to 3.
    #[test]
    fn one_quarter_is_close(distances in prop::array::uniform4(0_i32..=64), more in 0_i32..=10) {
        let radius = distances.iter().sum::<i32>() + more;
        prop_assert!((0..4).any(|i| distances[i as usize] <= (radius - i) >> 2));
    }
}
