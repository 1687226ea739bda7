//! The next key near the query's: the step that a search makes once for each leaf that it plans.
//! [`super::probe`] calls it for the radii that searches choose, and tests it against trying every
//! key. The answer is exact: no key of the ball is passed over.
//!
//! Keys are looked at 64 at a time: whether a key is near is a bit of a word that a table has, by
//! the six bits of the query and the bits that may still differ. Bit by bit the step took 2 to 7
//! times as long.

/// The largest radius of a key for which keys are found here: searches choose no larger one.
pub const WIDEST: u32 = 3;

/// Bits of a key that choose the place in a word.
const LOW_BITS: u32 = 6;
const LOW: u16 = (1 << LOW_BITS) - 1;
/// Words that hold all keys.
const WORDS: u16 = 1 << (u16::BITS - LOW_BITS);

/// For each radius and each six bits, a bit for each six bits that differ from them in no more.
static NEAR: [[u64; 1 << LOW_BITS]; WIDEST as usize + 1] = {
    let mut near = [[0; 1 << LOW_BITS]; WIDEST as usize + 1];
    let mut i = 0;
    while i < near.len() << (2 * LOW_BITS) {
        let (radius, query, bits) = (i >> 12, i >> 6 & 63, i & 63);
        if (query ^ bits).count_ones() as usize <= radius {
            near[radius][query] |= 1 << bits;
        }
        i += 1;
    }
    near
};

/// Set bits of the numbers of words. The portable instructions have none that counts bits.
static SET_BITS: [u8; WORDS as usize] = {
    let mut set = [0; WORDS as usize];
    let mut i = 0;
    while i < set.len() {
        set[i] = i.count_ones() as u8;
        i += 1;
    }
    set
};

/// The lowest key from `from` on that differs from `query` in at most `within` bits, up to
/// [`WIDEST`]; None if there is none.
#[inline]
pub fn next_key(from: u16, query: u16, within: u32) -> Option<u16> {
    let (word, of_query) = (from >> LOW_BITS, query >> LOW_BITS);
    let in_word = |word: u16, from: u16| {
        next_near(left(word, of_query, within)?, query & LOW, from)
            .map(|low| word << LOW_BITS | low)
    };
    in_word(word, from & LOW).or_else(|| in_word(next_word(word + 1, of_query, within)?, 0))
}

/// As [`next_key`], for the upper ten bits of keys: words, which are looked at 64 at a time, too.
fn next_word(from: u16, query: u16, within: u32) -> Option<u16> {
    let mut low = from & LOW;
    for high in from >> LOW_BITS..WORDS >> LOW_BITS {
        let near = left(high, query >> LOW_BITS, within)
            .and_then(|left| next_near(left, query & LOW, low));
        if let Some(near) = near {
            return Some(high << LOW_BITS | near);
        }
        low = 0;
    }
    None
}

/// The bits that may still differ after those of `a` and `b`; None if these are too many.
fn left(a: u16, b: u16, within: u32) -> Option<u32> {
    within.checked_sub(u32::from(SET_BITS[usize::from((a ^ b) % WORDS)]))
}

/// The lowest six bits from `from` on that differ from those of the query in at most `left`.
fn next_near(left: u32, query: u16, from: u16) -> Option<u16> {
    let near = NEAR[left.min(WIDEST) as usize][usize::from(query & LOW)] & u64::MAX << from;
    (near != 0).then(|| near.trailing_zeros() as u16)
}
