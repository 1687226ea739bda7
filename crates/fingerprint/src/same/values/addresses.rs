//! The numbers of an address in Japan: 一丁目9番1号 is 1-9-1. [`super`] asks what begins at each word;
//! what stands in front has to be a name in Han characters or kana.

use super::figures::short_number;
use super::form::Form;
use super::{Text, Values};
use crate::same::cut::is_character;

/// What stands behind the numbers, the longer ones first.
const MARKS: [&str; 6] = ["丁目", "番地の", "番地", "番", "号", "-"];

/// Adds the numbers of an address that begin at a word.
pub fn address(text: Text, i: usize, values: &mut Values) {
    let source = text.from(i);
    let is_name = |c: char| is_character(c) && short_number(c.encode_utf8(&mut [0; 4])).is_none();
    if !text.in_front(i).is_some_and(is_name) {
        return;
    }
    let (mut numbers, mut rest) = (Vec::new(), source);
    while numbers.len() < 4
        && let Some((number, length)) = short_number(rest)
    {
        numbers.push(number.to_string());
        rest = &rest[length..];
        match MARKS.into_iter().find_map(|mark| rest.strip_prefix(mark)) {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    if numbers.len() > 1 {
        let end = text.behind(i, source.len() - rest.len());
        values.push(i..end, Form::Address(numbers.join("-")));
    }
}
