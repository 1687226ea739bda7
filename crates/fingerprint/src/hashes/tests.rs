use proptest::prelude::*;

use super::read::Length::{Exact, Padded};
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
        assert_eq!(hex(text, Exact), Ok(SIGNED), "{text}");
    }
    for text in ["14209785994560386419", "14209785994560386419.000"] {
        assert_eq!(unsigned(text), Ok(SIGNED), "{text}");
    }
    let raw = [0xc5, 0x33, 0x4d, 0x13, 0x4c, 0x17, 0xb5, 0x73];
    assert_eq!(bytes(&raw, Exact), Ok(SIGNED));
    assert_eq!(bits((64, &raw), Exact), Ok(SIGNED));
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
        assert_eq!(hex(&digits, Exact), Ok(value), "{digits}");
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
            hex(text, Exact).map_err(|f| f.class()),
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
        let Err(Error::NoHexDigit { character, .. }) = hex(text, Exact) else {
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
        let (found, expected) = (n, 8);
        assert_eq!(
            bytes(&zeros[..n], Exact),
            Err(Error::ByteCount { found, expected })
        );
    }
    for n in [0_usize, 1, 63, 65, 128] {
        let found = bits((n, &zeros[..n.div_ceil(8)]), Exact);
        let expected = 64;
        assert_eq!(found, Err(Error::BitCount { bits: n, expected }));
    }
    for n in [i32::MIN, -64, 0, 4097, i32::MAX] {
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
    assert!(hamming_parts(&[0; 4], &[0; 3]).is_err() && hamming_parts(&[], &[]).is_err());
    assert_eq!(hamming_parts(&[0, -1, 5], &[-1, -1, 4]), Ok(65));
}

/// An error quotes the beginning, whatever it is given.
#[test]
fn long_input_is_quoted_in_part() {
    let Err(Error::HexLength { found, digits, .. }) = hex(&"f".repeat(100_000), Exact) else {
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
        prop_assert_eq!(hex_parts(&digits, wide, Exact), Ok(parts.clone()));
        prop_assert_eq!(hex_parts(&digits.to_uppercase(), wide, Exact), Ok(parts.clone()));
        let raw: Vec<u8> = parts.iter().flat_map(|part| part.to_be_bytes()).collect();
        prop_assert_eq!(bit_parts((wide, &raw), wide, Exact), Ok(parts.clone()));
        prop_assert_eq!(byte_parts(&raw, wide, Exact), Ok(parts.clone()));
        prop_assert_eq!(unsigned(&(parts[0] as u64).to_string()), Ok(parts[0]));
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = (hex(&text, Padded), hex_parts(&text, 100, Exact), unsigned(&text));
    }

    /// Hashes of any number of bits: in all forms the same parts, and a distance that is theirs.
    #[test]
    fn of_any_length(a in prop::collection::vec(any::<bool>(), 1..=200), flips in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let wide = a.len();
        let mut b = a.clone();
        flips.iter().for_each(|flip| b[flip.index(wide)] ^= true);
        let string = |bits: &[bool]| {
            let mut bytes = vec![0_u8; wide.div_ceil(8)];
            (0..wide).for_each(|i| bytes[i / 8] |= u8::from(bits[i]) << (7 - i % 8));
            bytes
        };
        let of_bits = |bits: &[bool]| bit_parts((wide, &string(bits)), wide, Exact).unwrap();
        let differ = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        prop_assert_eq!(of_bits(&a).len(), wide.div_ceil(64));
        prop_assert_eq!(hamming_parts(&of_bits(&a), &of_bits(&b)), Ok(differ as u32));
        // The number that the bits are, in digits without zeros in front and with all.
        let digits = to_hex(&of_bits(&a));
        let short = digits.trim_start_matches('0');
        let short = if short.is_empty() { "0" } else { short };
        prop_assert_eq!(hex_parts(short, wide, Padded), Ok(of_bits(&a)));
        let exact = &digits[digits.len() - wide.div_ceil(4)..];
        prop_assert_eq!(hex_parts(exact, wide, Exact), Ok(of_bits(&a)));
        let too_long = hex_parts(&("0".to_owned() + exact), wide, Padded);
        prop_assert!(too_long.is_err());
    }
}
