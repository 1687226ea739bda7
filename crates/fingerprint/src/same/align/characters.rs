//! Which characters of scripts without spaces stand for each other by a slip: of one sound, of nearly one
//! shape, the same kana of the other kind, a mark of voice left out. The judge asks for each character
//! that is replaced, and for kana that one text has behind a character of Han and the other has not.

use crate::text::scripts::is_han;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The first and the last character that have a sound in the table.
const FIRST: u32 = 0x4e00;
const LAST: u32 = 0x9fff;

/// Sounds of a character that count.
const SOUNDS: usize = 2;

struct Table {
    /// The syllables of each character, of Mandarin without tones; 0 for none.
    sounds: Vec<[u16; SOUNDS]>,
    /// Lines of characters of nearly one shape.
    shapes: HashMap<char, Vec<u16>>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut sounds = vec![[0; SOUNDS]; (LAST - FIRST + 1) as usize];
        let lines = include_str!("../../text/lists/same/sounds_han.txt").lines();
        for (syllable, line) in (1u16..).zip(lines) {
            for c in line.chars() {
                let of_c = sounds.get_mut((c as u32).wrapping_sub(FIRST) as usize);
                if let Some(free) = of_c.and_then(|all| all.iter_mut().find(|sound| **sound == 0)) {
                    *free = syllable;
                }
            }
        }
        let mut shapes: HashMap<char, Vec<u16>> = HashMap::new();
        let groups = include_str!("../../text/lists/same/look_alike_han.txt").split_whitespace();
        for (line, group) in (0u16..).zip(groups) {
            group
                .chars()
                .for_each(|c| shapes.entry(c).or_default().push(line));
        }
        Table { sounds, shapes }
    })
}

/// Whether one character may stand for another by a slip of the ear, the eye or the hand.
pub fn may_be_slip(a: char, b: char) -> bool {
    match (is_han(a), is_han(b)) {
        (true, true) => sound_alike(a, b) || look_alike(a, b),
        (false, false) if is_kana(a) && is_kana(b) => plain_kana(a) == plain_kana(b),
        (false, false) => !is_kana(a) && !is_kana(b),
        _ => false,
    }
}

fn sound_alike(a: char, b: char) -> bool {
    let of = |c: char| table().sounds.get((c as u32).wrapping_sub(FIRST) as usize);
    matches!((of(a), of(b)), (Some(a), Some(b)) if a.iter().any(|sound| *sound != 0 && b.contains(sound)))
}

/// Whether a reader of a scan takes one character for another.
pub fn look_alike(a: char, b: char) -> bool {
    let of = |c: char| table().shapes.get(&c);
    matches!((of(a), of(b)), (Some(a), Some(b)) if a.iter().any(|line| b.contains(line)))
}

pub fn is_kana(c: char) -> bool {
    ('\u{3041}'..='\u{3096}').contains(&c) || ('\u{30a1}'..='\u{30fa}').contains(&c)
}

pub fn is_hiragana(c: char) -> bool {
    ('\u{3041}'..='\u{3096}').contains(&c)
}

/// A kana as hiragana of full size without a mark of voice.
fn plain_kana(c: char) -> char {
    let hiragana = match c {
        '\u{30a1}'..='\u{30f6}' => char::from_u32(c as u32 - 0x60).unwrap_or(c),
        c => c,
    };
    const FORMS: &str = "かが きぎ くぐ けげ こご さざ しじ すず せぜ そぞ ただ ちぢ つづっ てで とど はばぱ ひびぴ ふぶぷ へべぺ ほぼぽ あぁ いぃ うぅ やゃ ゆゅ よょ";
    let form = FORMS.split(' ').find(|forms| forms.contains(hiragana));
    form.and_then(|forms| forms.chars().next())
        .unwrap_or(hiragana)
}

/// Whether a hiragana between these neighbours is the end of a word that may be written or not: 申し込み,
/// 申込. Particles and endings that say something are not.
pub fn is_okurigana(in_front: char, kana: char, behind: Option<char>) -> bool {
    const PARTICLES: &str = "はがをにのとへやかでも";
    const ENDINGS: &str = "いえきけしちっなみめもりれわせぎびま";
    let is_written_apart = |c: char| PARTICLES.contains(c);
    is_han(in_front)
        && ENDINGS.contains(kana)
        && match behind {
            Some(c) if is_han(c) => !is_written_apart(kana),
            Some(c) => {
                is_hiragana(c) && !"ませんいくな".contains(c)
                    || c == 'い' && kana == 'な'
                    || is_written_apart(c)
            }
            None => false,
        }
}
