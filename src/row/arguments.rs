//! The arguments `weights`/`options` (jsonb) and `preset` (text): parsed once per call site, and
//! again only when their bytes change; and integers within bounds.

#![forbid(unsafe_code)]

use pgrx::pg_sys;

use crate::errors::{ToError, or_raise};
use simhash_fingerprint::Error;
use simhash_fingerprint::options::json::check_length;
use simhash_fingerprint::options::presets::{self, Preset};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::type_output::Output;

/// Parsed arguments, and the bytes that they came from.
pub struct ParsedArguments<T> {
    pub options: T,
    pub preset: &'static Preset,
    json: Option<Vec<u8>>,
    name: Option<Vec<u8>>,
}

impl<T: Default> ParsedArguments<T> {
    /// Reads arguments `i` (jsonb) and `i + 1` (text).
    fn read(
        args: &Args,
        i: usize,
        memory: MemoryContext,
        parse: impl FnOnce(&str, &mut dyn FnMut()) -> Result<T, Error>,
    ) -> Self {
        let name = args.varlena(i + 1, pg_sys::TEXTOID).map(|v| v.bytes());
        let preset = or_raise(presets::find(name.map(to_utf8).as_deref()));
        let json = args.varlena(i, pg_sys::JSONBOID);
        let options = json.map_or_else(T::default, |json| {
            // The length is checked before the text is made, which takes longer than parsing it. A
            // jsonb may take four times the bytes of its text.
            or_raise(check_length(json.bytes().len() / 4));
            let output = Output::for_type(pg_sys::JSONBOID, memory);
            output.text(json, |text| {
                or_raise(parse(&to_utf8(text), &mut check_for_interrupts))
            })
        });
        let json = json.map(|v| v.bytes().to_vec());
        Self {
            options,
            preset,
            json,
            name: name.map(<[u8]>::to_vec),
        }
    }

    fn are_unchanged(&self, args: &Args, i: usize) -> bool {
        let json = args.varlena(i, pg_sys::JSONBOID).map(|v| v.bytes());
        let name = args.varlena(i + 1, pg_sys::TEXTOID).map(|v| v.bytes());
        self.json.as_deref() == json && self.name.as_deref() == name
    }
}

/// Brings `current` up to date with arguments `i` and `i + 1`; returns true when it has changed.
pub fn refresh<T: Default>(
    current: &mut Option<ParsedArguments<T>>,
    args: &Args,
    i: usize,
    memory: MemoryContext,
    parse: impl FnOnce(&str, &mut dyn FnMut()) -> Result<T, Error>,
) -> bool {
    if current.as_ref().is_some_and(|a| a.are_unchanged(args, i)) {
        return false;
    }
    *current = Some(ParsedArguments::read(args, i, memory, parse));
    true
}

/// Returns an argument; an ERROR unless it is in the range.
pub fn in_range(name: &'static str, value: i32, range: std::ops::RangeInclusive<i32>) -> usize {
    if !range.contains(&value) {
        let (least, most) = (*range.start(), *range.end());
        Error::OutOfRange {
            name,
            value,
            least,
            most,
        }
        .to_error()
        .raise();
    }
    value as usize
}
