//! Writes scalar values as text that no setting alters. `row::canonical` and `row::text` of the
//! extension call it. Equal values give equal text, and the text of a value never changes:
//! fingerprints are stored.

use std::fmt::{Display, LowerExp, Write};

use super::error::Error;

const USECS_PER_DAY: i64 = 86_400_000_000;
/// Days from 1970-01-01 to 2000-01-01, where the server's dates start.
const EPOCH_DAYS: i64 = 10_957;

/// A float: shortest decimal form that reads back as the same value; no exponent between 1e-5 and
/// 1e16. Zero has no sign.
pub fn float<T: Display + LowerExp + Copy + Into<f64>>(out: &mut String, value: T) {
    let wide: f64 = value.into();
    let _ = if wide == 0.0 {
        write!(out, "0")
    } else if wide.is_infinite() {
        write!(out, "{}Infinity", if wide < 0.0 { "-" } else { "" })
    } else if wide.is_nan() || (1e-5..1e16).contains(&wide.abs()) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
}

/// A decimal number as the server writes it, without zeros at the end of its fraction.
pub fn numeric(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// A date: days since 2000-01-01, with the two infinities of the type; the year is astronomical
/// (0 is 1 BC).
pub fn date(out: &mut String, days: i32) {
    match days {
        i32::MIN => out.push_str("-infinity"),
        i32::MAX => out.push_str("infinity"),
        _ => day(out, i64::from(days)),
    }
}

/// A timestamp: microseconds since 2000-01-01, in UTC when it has a time zone.
pub fn timestamp(out: &mut String, usecs: i64) {
    match usecs {
        i64::MIN => out.push_str("-infinity"),
        i64::MAX => out.push_str("infinity"),
        _ => {
            day(out, usecs.div_euclid(USECS_PER_DAY));
            out.push('T');
            time(out, usecs.rem_euclid(USECS_PER_DAY));
        }
    }
}

/// A time of day: microseconds since midnight.
pub fn time(out: &mut String, usecs: i64) {
    let (secs, fraction) = (usecs / 1_000_000, usecs % 1_000_000);
    let _ = write!(
        out,
        "{:02}:{:02}:{:02}",
        secs / 3600,
        secs / 60 % 60,
        secs % 60
    );
    push_fraction(out, fraction);
}

/// A time with its zone, given as the server does: seconds west of Greenwich.
pub fn time_with_zone(out: &mut String, usecs: i64, west: i32) {
    time(out, usecs);
    let _ = write!(out, "{:+}", -i64::from(west));
}

/// An interval: its three parts as they are stored, since '1 mon' is not '30 days'.
pub fn interval(out: &mut String, usecs: i64, days: i32, months: i32) {
    let sign = if usecs < 0 { "-" } else { "" };
    let usecs = usecs.unsigned_abs();
    let _ = write!(out, "{months} mon {days} day {sign}{}", usecs / 1_000_000);
    push_fraction(out, (usecs % 1_000_000) as i64);
    out.push_str(" sec");
}

/// Bytes between two calls of `check_interrupts`.
const PIECE: usize = 1 << 16;

/// Bytes in hexadecimal. `check_interrupts` is called now and then, and may unwind.
pub fn bytes(
    out: &mut String,
    bytes: &[u8],
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    make_room(out, 2 * bytes.len())?;
    for piece in bytes.chunks(PIECE) {
        check_interrupts();
        for byte in piece {
            let _ = write!(out, "{byte:02x}");
        }
    }
    Ok(())
}

/// Text inside of a container, in double quotes, so that no two contents look alike. `check_interrupts` is
/// called now and then, and may unwind.
pub fn quoted(
    out: &mut String,
    text: &str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    make_room(out, text.len() + 2)?;
    out.push('"');
    let mut rest = text;
    while !rest.is_empty() {
        check_interrupts();
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = behind;
        let special = |byte: &u8| matches!(byte, b'"' | b'\\');
        let backslashes = piece.bytes().filter(special).count();
        // A quote follows the last piece.
        make_room(out, piece.len() + backslashes + 1)?;
        for c in piece.chars() {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out.push('"');
    Ok(())
}

/// Makes room for this many more bytes.
fn make_room(out: &mut String, bytes: usize) -> Result<(), Error> {
    out.try_reserve(bytes).map_err(|_| Error::OutOfMemory)
}

fn push_fraction(out: &mut String, usecs: i64) {
    if usecs != 0 {
        let digits = format!("{usecs:06}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

/// Writes the civil date `days` after 2000-01-01 in the proleptic Gregorian calendar: years that
/// start in March put the leap day last, and 400 of them have 146,097 days.
fn day(out: &mut String, days: i64) {
    // From 0000-03-01 to 1970-01-01 there are 719,468 days.
    let days = days + EPOCH_DAYS + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = year + era * 400 + next;
    let sign = if year < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{:04}-{month:02}-{day:02}", year.abs());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(f: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        f(&mut out);
        out
    }

    #[test]
    fn floats() {
        for (value, text) in [
            (0.1, "0.1"),
            (-0.0, "0"),
            (1.0, "1"),
            (1e15, "1000000000000000"),
            (1e16, "1e16"),
            (1e300, "1e300"),
            (2.5e-7, "2.5e-7"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(with(|o| float(o, value)), text);
        }
        assert_eq!(with(|o| float(o, 0.1f32)), "0.1");
    }

    #[test]
    fn numbers() {
        for (given, text) in [
            ("1.00", "1"),
            ("100", "100"),
            ("0.50", "0.5"),
            ("-12.30", "-12.3"),
            ("NaN", "NaN"),
        ] {
            assert_eq!(numeric(given), text);
        }
    }

    #[test]
    fn dates() {
        for (days, text) in [
            (0, "2000-01-01"),
            (-1, "1999-12-31"),
            (59, "2000-02-29"),
            (60, "2000-03-01"),
            (-10_957, "1970-01-01"),
            (-36_465, "1900-03-01"),
            (-36_466, "1900-02-28"),
            (-730_485, "0000-01-01"),
            (-730_486, "-0001-12-31"),
            (i32::MAX, "infinity"),
        ] {
            assert_eq!(with(|o| date(o, days)), text);
        }
    }

    #[test]
    fn every_day_of_800_years_follows_the_one_before() {
        let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
        let (mut y, mut m, mut d) = (1600, 1, 1);
        for days in -146_097..146_097 {
            assert_eq!(with(|o| date(o, days)), format!("{y:04}-{m:02}-{d:02}"));
            let last = match m {
                2 => 28 + i64::from(leap(y)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (y, m, d) = match (m, d) {
                (12, 31) => (y + 1, 1, 1),
                _ if d == last => (y, m + 1, 1),
                _ => (y, m, d + 1),
            };
        }
    }

    #[test]
    fn times() {
        assert_eq!(with(|o| timestamp(o, 0)), "2000-01-01T00:00:00");
        assert_eq!(with(|o| timestamp(o, -1)), "1999-12-31T23:59:59.999999");
        assert_eq!(with(|o| timestamp(o, 1_500_000)), "2000-01-01T00:00:01.5");
        assert_eq!(
            with(|o| time_with_zone(o, 3_600_000_000, -7200)),
            "01:00:00+7200"
        );
        assert_eq!(
            with(|o| interval(o, -1_500_000, 3, 14)),
            "14 mon 3 day -1.5 sec"
        );
        assert_eq!(with(|o| interval(o, 0, 0, 0)), "0 mon 0 day 0 sec");
    }

    #[test]
    fn quotes_and_bytes() {
        let in_quotes = |text: &str| with(|o| quoted(o, text, &mut || {}).unwrap());
        assert_eq!(in_quotes("a\"b\\c"), "\"a\\\"b\\\\c\"");
        assert_eq!(in_quotes(""), "\"\"");
        assert_eq!(with(|o| bytes(o, &[0, 0xab], &mut || {}).unwrap()), "00ab");
    }

    #[test]
    fn long_values_pause() {
        let (text, mut pauses) = ("语".repeat(PIECE), 0);
        let found = with(|o| quoted(o, &text, &mut || pauses += 1).unwrap());
        assert_eq!(found, format!("\"{text}\""));
        assert!(pauses > 2, "{pauses}");
        pauses = 0;
        with(|o| bytes(o, text.as_bytes(), &mut || pauses += 1).unwrap());
        assert!(pauses > 2, "{pauses}");
    }
}
