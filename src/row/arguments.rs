//! The arguments `weights`/`options` (jsonb) and `preset` (text): parsed once per call site, and
//! again only when their bytes change; and integers within bounds. The session keeps long options,
//! which have lists of words, beyond the statement.

#![forbid(unsafe_code)]

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use pgrx::pg_sys;

use crate::errors::{ToError, or_raise};
use simhash_fingerprint::Error;
use simhash_fingerprint::options::json::check_length;
use simhash_fingerprint::options::presets::{self, Preset};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::{MemoryContext, give_back_freed};
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::type_output::Output;

/// Bytes of the shortest options that a session keeps, and the number of those that it keeps.
const LONG: usize = 1 << 12;
const MOST_KEPT: usize = 8;

thread_local! {
    /// Long options that were parsed. The last one was used last.
    static KEPT: RefCell<Vec<Rc<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// Options, and the bytes that they came from.
struct Parsed<T> {
    options: T,
    json: Option<Vec<u8>>,
}

/// Parsed arguments, and the bytes that they came from.
pub struct ParsedArguments<T> {
    parsed: Rc<Parsed<T>>,
    pub preset: &'static Preset,
    name: Option<Vec<u8>>,
}

/// Returns what was parsed of these bytes: kept by the session, or what `parse` gives.
fn parsed<T: 'static>(json: &[u8], parse: impl FnOnce() -> T) -> Rc<Parsed<T>> {
    let is_long = json.len() >= LONG;
    let known = |kept: &mut Vec<Rc<dyn Any>>| {
        let (place, found) = kept.iter().enumerate().find_map(|(place, any)| {
            let found = any.clone().downcast::<Parsed<T>>().ok()?;
            (found.json.as_deref() == Some(json)).then_some((place, found))
        })?;
        let used = kept.remove(place);
        kept.push(used);
        Some(found)
    };
    if is_long && let Some(found) = KEPT.with_borrow_mut(known) {
        return found;
    }
    let options = parse();
    // The server made the whole text at once.
    if is_long {
        give_back_freed();
    }
    let json = Some(json.to_vec());
    let made = Rc::new(Parsed { options, json });
    if is_long {
        KEPT.with_borrow_mut(|kept| {
            if kept.len() >= MOST_KEPT {
                kept.remove(0);
            }
            kept.push(made.clone());
        });
    }
    made
}

impl<T: Default + 'static> ParsedArguments<T> {
    pub fn options(&self) -> &T {
        &self.parsed.options
    }

    /// Reads arguments `i` (jsonb) and `i + 1` (text).
    fn read(
        args: &Args,
        i: usize,
        memory: MemoryContext,
        parse: impl FnOnce(&str, &mut dyn FnMut()) -> Result<T, Error>,
    ) -> Self {
        let name = args.varlena(i + 1, pg_sys::TEXTOID).map(|v| v.bytes());
        let preset = or_raise(presets::find(name.map(to_utf8).as_deref()));
        let nothing = || {
            Rc::new(Parsed {
                options: T::default(),
                json: None,
            })
        };
        let json = args.varlena(i, pg_sys::JSONBOID);
        let parsed = json.map_or_else(nothing, |json| {
            parsed(json.bytes(), || {
                // The length is checked before the text is made, which takes longer than parsing it. A
                // jsonb may take four times the bytes of its text.
                or_raise(check_length(json.bytes().len() / 4));
                let output = Output::for_type(pg_sys::JSONBOID, memory);
                output.text(json, |text| {
                    or_raise(parse(&to_utf8(text), &mut check_for_interrupts))
                })
            })
        });
        Self {
            parsed,
            preset,
            name: name.map(<[u8]>::to_vec),
        }
    }

    fn are_unchanged(&self, args: &Args, i: usize) -> bool {
        if args.is_constant(i) && args.is_constant(i + 1) {
            return true;
        }
        let json = args.varlena(i, pg_sys::JSONBOID).map(|v| v.bytes());
        let name = args.varlena(i + 1, pg_sys::TEXTOID).map(|v| v.bytes());
        self.parsed.json.as_deref() == json && self.name.as_deref() == name
    }
}

/// Brings `current` up to date with arguments `i` and `i + 1`; returns true when it has changed.
pub fn refresh<T: Default + 'static>(
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
