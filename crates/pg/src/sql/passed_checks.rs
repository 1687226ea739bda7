//! A set of numbers in a fixed place: the checks that a process has passed and need not repeat.
//!
//! It may forget a number, which costs the check anew, but never holds one that was not noted.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The extension checks some 200 arguments and results.
const PLACES_LOG2: u32 = 10;
const PLACES: usize = 1 << PLACES_LOG2;
/// Places that a number may be in: the one that its hash names, and those behind it.
const WINDOW: usize = 4;

/// A hash table; 0 is an empty place.
pub struct PassedChecks {
    places: [AtomicU64; PLACES],
    /// Which place of a full window the next number takes.
    turn: AtomicU8,
}

impl PassedChecks {
    pub const fn new() -> Self {
        PassedChecks {
            places: [const { AtomicU64::new(0) }; PLACES],
            turn: AtomicU8::new(0),
        }
    }

    /// Was this number, which is not 0, noted (and not forgotten since)?
    #[inline]
    pub fn holds(&self, check: u64) -> bool {
        let home = home(check);
        self.places[home].load(Ordering::Relaxed) == check || self.is_behind(home, check)
    }

    #[inline(never)]
    fn is_behind(&self, home: usize, check: u64) -> bool {
        let mut behind = window(home).skip(1);
        behind.any(|i| self.places[i].load(Ordering::Relaxed) == check)
    }

    /// Notes a number. In a full window each place is given up in turn, so that no two numbers
    /// displace each other for ever.
    #[cold]
    pub fn note(&self, check: u64) {
        let home = home(check);
        let is_empty = |i: &usize| self.places[*i].load(Ordering::Relaxed) == 0;
        let place = window(home).find(is_empty).unwrap_or_else(|| {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed);
            (home + usize::from(turn) % WINDOW) % PLACES
        });
        self.places[place].store(check, Ordering::Relaxed);
    }
}

fn home(check: u64) -> usize {
    // The multiplier of Fibonacci hashing, 2^64 divided by the golden ratio.
    (check.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES_LOG2)) as usize
}

fn window(home: usize) -> impl Iterator<Item = usize> {
    (home..home + WINDOW).map(|i| i % PLACES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Function, argument (255: the result) and type, as `declared` packs them.
    fn check(function: u64, argument: u64, type_id: u64) -> u64 {
        function << 32 | argument << 24 | type_id
    }

    /// The checks of one call of a function: three arguments and the result.
    fn call(function: u64, types: &[u64; 4]) -> [u64; 4] {
        std::array::from_fn(|i| check(function, [0, 1, 2, 255][i], types[i]))
    }

    const SIGNATURES: [[u64; 4]; 6] = [
        [25, 25, 23, 701],
        [2249, 3802, 25, 20],
        [20, 20, 23, 16],
        [23, 701, 701, 701],
        [1 << 20, 23, 25, 1016],
        [20, 3 << 20 | 16, 23, 16],
    ];

    #[test]
    fn holds_what_was_noted_and_nothing_else() {
        let passed = PassedChecks::new();
        let noted: Vec<u64> = (0..200).map(|i| check(16_384 + i / 4, i % 4, 25)).collect();
        for &check in &noted {
            assert!(!passed.holds(check));
            passed.note(check);
            assert!(passed.holds(check));
        }
        assert!(!passed.holds(check(16_384, 0, 23)));
        let held = noted.iter().filter(|check| passed.holds(**check)).count();
        assert!(held >= 195, "{held} of 200");
    }

    #[test]
    fn two_functions_of_one_script_are_both_remembered() {
        for (first, distance) in (0..20_000).flat_map(|f| [1, 2, 5, 17].map(|d| (16_384 + f, d))) {
            let signature = |function: u64| &SIGNATURES[(function % 6) as usize];
            let pair = [first, first + distance].map(|f| call(f, signature(f)));
            let passed = PassedChecks::new();
            pair.iter().flatten().for_each(|check| passed.note(*check));
            // At worst the third round finds all of them.
            for _ in 0..2 {
                let missing = pair.iter().flatten().filter(|check| !passed.holds(**check));
                missing.for_each(|check| passed.note(*check));
            }
            assert!(
                pair.iter().flatten().all(|check| passed.holds(*check)),
                "{first}, {distance}"
            );
        }
    }

    #[test]
    fn numbers_of_one_window_take_turns() {
        let of_one_home: Vec<u64> = (1..).filter(|check| home(*check) == 7).take(5).collect();
        let passed = PassedChecks::new();
        of_one_home.iter().for_each(|check| passed.note(*check));
        let pair = [of_one_home[0], of_one_home[4]];
        for _ in 0..WINDOW {
            let missing = pair.iter().filter(|check| !passed.holds(**check));
            missing.for_each(|check| passed.note(*check));
        }
        assert!(pair.iter().all(|check| passed.holds(*check)));
    }
}
