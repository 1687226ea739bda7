//! Subtitles (SubRip, WebVTT, MicroDVD) without their cues: what is spoken, line by line.
//! [`super::markup`] calls it for `"markup": "subtitles"`. Another timing or numbering makes no other text.

use super::markup::with_room;
use crate::error::Error;

/// Words with which blocks begin that are not spoken.
const BLOCKS: [&str; 4] = ["WEBVTT", "NOTE", "STYLE", "REGION"];

/// Bytes of a tag.
const MOST_OF_TAG: usize = 80;

/// The lines that are spoken.
pub fn spoken(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<String, Error> {
    let mut spoken = with_room(text.len() + 1)?;
    let (mut in_block, mut begins) = (false, true);
    let mut lines = text.trim_start_matches('\u{feff}').lines().peekable();
    for n in 0usize.. {
        if n.is_multiple_of(4096) {
            check_interrupts();
        }
        let Some(line) = lines.next().map(str::trim) else {
            break;
        };
        let first = line.split_whitespace().next().unwrap_or_default();
        in_block &= !line.is_empty();
        in_block |= begins && BLOCKS.contains(&first);
        let is_next = |next: &&str| next.contains("-->");
        let is_name = begins && lines.peek().is_some_and(is_next);
        begins = line.is_empty();
        if !in_block && !is_name && !is_next(&line) {
            push_without_tags(line, &mut spoken);
            spoken.push('\n');
        }
    }
    Ok(spoken)
}

/// Writes a line without `<i>`, `{\an8}` and the frames `{25}{100}`.
fn push_without_tags(line: &str, spoken: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find(['<', '{']) {
        let (front, tag) = rest.split_at(at);
        spoken.push_str(front);
        let end = if tag.starts_with('<') { '>' } else { '}' };
        let most = tag.floor_char_boundary(MOST_OF_TAG);
        let inner = tag[..most].find(end).map(|end| &tag[1..end]);
        let is_tag = |inner: &&str| {
            inner.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == '\\')
        };
        match inner.filter(is_tag) {
            Some(inner) => rest = &tag[inner.len() + 2..],
            None => {
                spoken.push_str(&tag[..1]);
                rest = &tag[1..];
            }
        }
    }
    spoken.push_str(rest);
}
