//! The lexemes of a tsvector, read from its stored form.
//!
//! Stored form, after the length word: the number of lexemes; for each a word of 32 bits (1 bit
//! says whether it has positions, 11 bits are its length, 20 bits its offset); then the lexemes,
//! each followed, at an even offset, by the number of its positions and the positions (2 bits on
//! top are the label, 14 bits the place), 16 bits each.

#![forbid(unsafe_code)]

use simhash_fingerprint::lexeme::Lexeme;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::sql::value::Value;

/// Reads a tsvector's lexemes, in its order. Those that do not fit in the value are left out.
pub fn lexemes<'a>(value: &Value<'a>) -> Vec<Lexeme<'a>> {
    let Some((count, rest)) = value.bytes().split_first_chunk() else {
        return Vec::new();
    };
    let count = u32::from_ne_bytes(*count) as usize;
    let Some((entries, content)) = rest.split_at_checked(count.saturating_mul(4)) else {
        return Vec::new();
    };
    let entries = entries.as_chunks::<4>().0.iter();
    entries
        .filter_map(|entry| lexeme(WordEntry::from_word(u32::from_ne_bytes(*entry)), content))
        .collect()
}

struct WordEntry {
    has_positions: bool,
    length: usize,
    offset: usize,
}

impl WordEntry {
    /// Bit fields start at the low end of a word on little-endian machines, and at the high end on
    /// others.
    fn from_word(word: u32) -> Self {
        let (has_positions, length, offset) = if cfg!(target_endian = "little") {
            (word & 1, word >> 1 & 0x7ff, word >> 12)
        } else {
            (word >> 31, word >> 20 & 0x7ff, word & 0xf_ffff)
        };
        Self {
            has_positions: has_positions == 1,
            length: length as usize,
            offset: offset as usize,
        }
    }
}

fn lexeme<'a>(entry: WordEntry, content: &'a [u8]) -> Option<Lexeme<'a>> {
    let end = entry.offset + entry.length;
    let text = to_utf8(content.get(entry.offset..end)?);
    // A lexeme without positions counts as one of label D.
    let mut labels = [1, 0, 0, 0];
    if entry.has_positions {
        labels = count_labels(content.get(end.next_multiple_of(2)..)?)?;
    }
    Some(Lexeme { text, labels })
}

/// Returns the number of positions with the labels D, C, B and A.
fn count_labels(positions: &[u8]) -> Option<[u32; 4]> {
    let (count, positions) = positions.split_first_chunk()?;
    let length = 2 * usize::from(u16::from_ne_bytes(*count));
    let mut labels = [0; 4];
    for position in positions.get(..length)?.as_chunks::<2>().0 {
        labels[usize::from(u16::from_ne_bytes(*position) >> 14)] += 1;
    }
    Some(labels)
}
