//! What the index orders: rotated fingerprints, key spaces.
//!
//! A 64-bit fingerprint is cut into four blocks of 16 bits. Key space `b` holds every fingerprint
//! rotated left by `16 * b` bits, so that block `b` comes first and is the 16-bit key, and the
//! remaining 48 bits order the postings below a key. A fifth space holds the rows without a
//! fingerprint, as postings whose rotated fingerprint is 0.

#![forbid(unsafe_code)]

use crate::tid::Tid;
use std::fmt;

/// The number of 16-bit blocks of a fingerprint, and of key spaces that file it.
pub const BLOCKS: usize = 4;
/// Bits of a block, hence of a key.
pub const KEY_BITS: u32 = 16;
/// All key spaces: one for each block and one for NULL.
pub const SPACES: usize = BLOCKS + 1;

/// A position in a key space: the rotated fingerprint, and the row as tie-breaker, so that a page
/// full of equal fingerprints can still be split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub rotated: u64,
    pub tid: Tid,
}

impl Key {
    /// The first position of a key space.
    pub const MIN: Key = Key {
        rotated: 0,
        tid: Tid::MIN,
    };

    /// The first position with this rotated fingerprint.
    pub fn at(rotated: u64) -> Key {
        Key {
            rotated,
            tid: Tid::MIN,
        }
    }

    /// The 16-bit key under which the posting is filed.
    pub fn block_key(self) -> u16 {
        block_key(self.rotated)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:#018x} {}", self.rotated, self.tid)
    }
}

/// The first block of a rotated fingerprint.
pub fn block_key(rotated: u64) -> u16 {
    (rotated >> (64 - KEY_BITS)) as u16
}

/// One of the ordered key spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Space(u8);

impl Space {
    /// The space of rows whose fingerprint is NULL.
    pub const NULL: Space = Space(BLOCKS as u8);

    /// The key space of block `b`, 0 (most significant bits) to 3.
    pub fn of_block(b: usize) -> Space {
        debug_assert!(b < BLOCKS);
        Space(b as u8)
    }

    /// The four spaces that file a fingerprint.
    pub fn blocks() -> impl Iterator<Item = Space> {
        (0..BLOCKS as u8).map(Space)
    }

    /// Every space, in the order in which their pages may be locked.
    pub fn all() -> impl Iterator<Item = Space> {
        (0..SPACES as u8).map(Space)
    }

    /// Is it one of the two spaces that together hold each row exactly once?
    pub fn holds_each_row_once(self) -> bool {
        self.0 == 0 || self == Space::NULL
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Brings this space's block to the front.
    pub fn rotate(self, fingerprint: u64) -> u64 {
        fingerprint.rotate_left(KEY_BITS * (u32::from(self.0) % BLOCKS as u32))
    }

    /// Undoes [`Space::rotate`].
    pub fn unrotate(self, rotated: u64) -> u64 {
        rotated.rotate_right(KEY_BITS * (u32::from(self.0) % BLOCKS as u32))
    }

    /// The 16-bit key under which this space files a fingerprint.
    pub fn key_of(self, fingerprint: u64) -> u16 {
        block_key(self.rotate(fingerprint))
    }

    /// Where a row is filed in this space.
    pub fn key(self, fingerprint: u64, tid: Tid) -> Key {
        Key {
            rotated: self.rotate(fingerprint),
            tid,
        }
    }
}

/// The shortest separator between two adjacent positions: above `left`, not above `right`, with as
/// many trailing zero bits as possible, so that pages tend to end where a key ends.
pub fn separator(left: Key, right: Key) -> Key {
    debug_assert!(left < right);
    let differing = left.rotated ^ right.rotated;
    if differing == 0 {
        return right;
    }
    let highest = 63 - differing.leading_zeros();
    Key::at(right.rotated >> highest << highest)
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
        let key = Key { rotated: 255, tid };
        assert_eq!(tid.to_string(), "(12,3)");
        assert_eq!(key.to_string(), "0x00000000000000ff (12,3)");
    }

    #[test]
    fn the_null_space_does_not_rotate() {
        assert_eq!(Space::NULL.rotate(0x1234), 0x1234);
    }

    proptest! {
        #[test]
        fn rotation_brings_the_block_to_the_front(fp: u64, b in 0usize..BLOCKS) {
            let space = Space::of_block(b);
            let rotated = space.rotate(fp);
            prop_assert_eq!(block_key(rotated), (fp >> (48 - 16 * b)) as u16);
            prop_assert_eq!(space.unrotate(rotated), fp);
        }

        #[test]
        fn a_separator_separates(a: u64, b: u64, ta: u16, tb: u16) {
            let mut pair = [
                Key { rotated: a, tid: Tid { block: 1, offset: ta } },
                Key { rotated: b, tid: Tid { block: 1, offset: tb } },
            ];
            pair.sort();
            prop_assume!(pair[0] < pair[1]);
            let s = separator(pair[0], pair[1]);
            prop_assert!(pair[0] < s && s <= pair[1]);
        }
    }
}
