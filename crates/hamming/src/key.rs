//! What the index orders: rotated fingerprints, key spaces.
//!
//! A 64-bit fingerprint is cut into four quarters of 16 bits. Position space `b` holds every fingerprint
//! rotated left by `16 * b` bits, so that quarter `b` comes first and is the 16-bit key, and the
//! remaining 48 bits order the postings below a key. A fifth space holds the rows without a
//! fingerprint, as postings whose rotated fingerprint is 0. In every space the scope comes before
//! the rotated fingerprint: the rows of one scope stand together.

#![forbid(unsafe_code)]

use simhash_base::indexed_row::Tid;
use simhash_base::indexed_row::{IndexedRow, NO_SCOPE};
use std::cmp::Ordering;
use std::fmt;

/// The number of 16-bit quarters of a fingerprint, and of key spaces that store it.
pub const QUARTERS: usize = 4;
/// Bits of a quarter, hence of a key.
pub const KEY_BITS: u32 = 16;
/// All key spaces: one for each quarter and one for NULL.
pub const SPACES: usize = QUARTERS + 1;

/// A place in a key space: the scope, the rotated fingerprint, and the row as
/// tie-breaker, so that a page full of equal fingerprints can still be split. The 16-bit key of
/// searches is [`Position::first_quarter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// A hash of the scope columns.
    pub scope: u32,
    /// The fingerprint, rotated so that the space's quarter comes first.
    pub rotated: u64,
    /// The row's address.
    pub tid: Tid,
}

/// The order is that of the fields. Two comparisons of whole numbers: a descent and a sort consist
/// of little else.
impl Ord for Position {
    #[inline]
    fn cmp(&self, other: &Position) -> Ordering {
        (self.place().cmp(&other.place())).then_with(|| self.tid.number().cmp(&other.tid.number()))
    }
}

impl PartialOrd for Position {
    #[inline]
    fn partial_cmp(&self, other: &Position) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Position {
    /// The first position of a key space.
    pub const MIN: Position = Position {
        scope: 0,
        rotated: 0,
        tid: Tid::MIN,
    };

    /// Beyond every position: no row is there.
    pub const END: Position = Position {
        scope: u32::MAX,
        rotated: u64::MAX,
        tid: Tid {
            block: u32::MAX,
            offset: u16::MAX,
        },
    };

    /// The first position of a scope with this rotated fingerprint.
    #[inline]
    pub fn at(scope: u32, rotated: u64) -> Position {
        Position {
            scope,
            rotated,
            tid: Tid::MIN,
        }
    }

    /// The first position behind this scope; None behind the last one.
    #[inline]
    pub fn behind_scope(scope: u32) -> Option<Position> {
        scope.checked_add(1).map(|next| Position::at(next, 0))
    }

    /// Returns whether it is the first position of its scope.
    #[inline]
    pub fn starts_scope(self) -> bool {
        self == Position::at(self.scope, 0)
    }

    /// Scope and rotated fingerprint as one number: how far two positions are apart.
    #[inline]
    pub fn place(self) -> u128 {
        u128::from(self.scope) << 64 | u128::from(self.rotated)
    }

    /// Returns about which share of the positions from `low` to `end` lies before this one, 0 to 1.
    /// None for `end`: those to the end of the key space.
    #[inline]
    pub fn share_between(self, low: Position, end: Option<Position>) -> f32 {
        if low.scope == self.scope && end.is_none_or(|end| end.scope == self.scope) {
            let end = end.map_or(u64::MAX, |end| end.rotated);
            let width = end.saturating_sub(low.rotated).max(1);
            return (self.rotated.saturating_sub(low.rotated) as f32 / width as f32).min(1.0);
        }
        let end = end.unwrap_or(Position::END).place();
        let width = end.saturating_sub(low.place()).max(1);
        (self.place().saturating_sub(low.place()) as f32 / width as f32).min(1.0)
    }

    /// The first 16 bits, by which the postings of a leaf are ordered first.
    #[inline]
    pub fn first_quarter(self) -> u16 {
        first_quarter(self.rotated)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.scope != NO_SCOPE {
            write!(f, "scope {:#010x} ", self.scope)?;
        }
        write!(f, "{:#018x} {}", self.rotated, self.tid)
    }
}

/// The first quarter of a rotated fingerprint.
#[inline]
pub fn first_quarter(rotated: u64) -> u16 {
    (rotated >> (64 - KEY_BITS)) as u16
}

/// One of the ordered key spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Space(u8);

impl Space {
    /// The space of rows whose fingerprint is NULL.
    pub const NULL: Space = Space(QUARTERS as u8);

    /// The key space of quarter `b`, 0 (most significant bits) to 3.
    #[inline]
    pub fn of_quarter(b: usize) -> Space {
        debug_assert!(b < QUARTERS);
        Space(b as u8)
    }

    /// The four spaces that file a fingerprint.
    #[inline]
    pub fn quarters() -> impl Iterator<Item = Space> {
        (0..QUARTERS as u8).map(Space)
    }

    /// Every space, in the order in which their pages may be locked.
    pub const ALL: [Space; SPACES] = [Space(0), Space(1), Space(2), Space(3), Space::NULL];

    /// Every space, in the same order.
    #[inline]
    pub fn all() -> impl Iterator<Item = Space> {
        Space::ALL.into_iter()
    }

    /// Returns whether it is one of the two spaces that together hold each row exactly once.
    #[inline]
    pub fn holds_each_row_once(self) -> bool {
        self.0 == 0 || self == Space::NULL
    }

    /// Its number, 0 to [`SPACES`] - 1.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Brings this space's quarter to the front.
    #[inline]
    pub fn rotate(self, fingerprint: u64) -> u64 {
        fingerprint.rotate_left(KEY_BITS * (u32::from(self.0) % QUARTERS as u32))
    }

    /// Undoes [`Space::rotate`].
    #[inline]
    pub fn unrotate(self, rotated: u64) -> u64 {
        rotated.rotate_right(KEY_BITS * (u32::from(self.0) % QUARTERS as u32))
    }

    /// The 16-bit key under which this space files a fingerprint.
    #[inline]
    pub fn key_of(self, fingerprint: u64) -> u16 {
        first_quarter(self.rotate(fingerprint))
    }

    /// Returns the position of a row in this space; in [`Space::NULL`] if it has no fingerprint.
    #[inline]
    pub fn key(self, row: IndexedRow, tid: Tid) -> Position {
        Position {
            scope: row.scope,
            rotated: self.rotate(row.fingerprint.unwrap_or(0)),
            tid,
        }
    }

    /// Returns the row that has a posting at a position of this space.
    #[inline]
    pub fn indexed_row(self, key: Position) -> IndexedRow {
        IndexedRow {
            scope: key.scope,
            fingerprint: (self != Space::NULL).then(|| self.unrotate(key.rotated)),
        }
    }
}

/// The shortest separator between two adjacent positions: above `left`, not above `right`, with as
/// many trailing zero bits as possible, so that pages tend to end where a scope or a key ends.
#[inline]
pub fn separator(left: Position, right: Position) -> Position {
    debug_assert!(left < right);
    if left.scope != right.scope {
        // What arrives between the two scopes goes to the right, so that a page full of one scope
        // is not split for each of them.
        return Position::at(left.scope + 1, 0);
    }
    let differing = left.rotated ^ right.rotated;
    if differing == 0 {
        return right;
    }
    let highest = 63 - differing.leading_zeros();
    Position::at(right.scope, right.rotated >> highest << highest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_show_rows_as_the_server_does() {
        let tid = Tid {
            block: 12,
            offset: 3,
        };
        let key = |scope| Position {
            scope,
            rotated: 255,
            tid,
        };
        assert_eq!(tid.to_string(), "(12,3)");
        assert_eq!(key(NO_SCOPE).to_string(), "0x00000000000000ff (12,3)");
        assert_eq!(
            key(16).to_string(),
            "scope 0x00000010 0x00000000000000ff (12,3)"
        );
    }

    #[test]
    fn the_null_space_does_not_rotate() {
        assert_eq!(Space::NULL.rotate(0x1234), 0x1234);
    }

    proptest! {
        #[test]
        fn rotation_brings_the_quarter_to_the_front(fp: u64, b in 0usize..QUARTERS) {
            let space = Space::of_quarter(b);
            let rotated = space.rotate(fp);
            prop_assert_eq!(first_quarter(rotated), (fp >> (48 - 16 * b)) as u16);
            prop_assert_eq!(space.unrotate(rotated), fp);
        }

        #[test]
        fn a_separator_separates(
            a: u64, b: u64, sa in 0u32..4, sb in 0u32..4, ta: u16, tb: u16, equal: bool,
        ) {
            let key = |scope, rotated, offset| Position { scope, rotated, tid: Tid { block: 1, offset } };
            let mut pair = [key(sa, a, ta), key(sb, if equal { a } else { b }, tb)];
            pair.sort();
            prop_assume!(pair[0] < pair[1]);
            let s = separator(pair[0], pair[1]);
            prop_assert!(pair[0] < s && s <= pair[1]);
        }
    }
}
