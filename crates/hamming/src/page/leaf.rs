//! Leaves: the postings, as a structure of arrays.
//!
//! ```text
//!  header | lo[0] lo[1] ... ->        hole        <- ... aux[1] aux[0] | scope | special area
//!           u32 each: the low 32 bits                 8 to 14 bytes      u32
//!           of the rotated fingerprint                each
//!
//!  aux, first 8 bytes:  bits 0-15  bits 32-47 of the rotated fingerprint
//!                       bits 16-47 heap block
//!                       bits 48-58 heap offset
//!                       bits 59-63 the small difference, or its low bits
//!  all postings of one scope, narrow:  the difference is the key minus the lowest key
//!                             wide:    + u16 key
//!  of several scopes,         narrow:  + u16 key + u16 high bits of scope minus lowest scope
//!                             wide:    + u16 key + u32 scope
//! ```
//! [`super::format`] says which leaf takes which. A search tests `lo` first: one sequential read of
//! 4 bytes a posting, and nearly all postings fail it.
//!
//! New postings are appended, so that an insert changes (and logs) 16 to 22 bytes. What a build, a
//! split or a VACUUM wrote is sorted. The slot directory in the special area cuts that sorted
//! prefix into up to 32 equal ranges, so that a search reads only the slots its ball can touch, and
//! the unsorted tail.

#![forbid(unsafe_code)]

pub use super::format::low;
use super::format::{Format, LO, Layout, LeafRange, MOST_AUX, SCOPE_AT, common_scope};
use super::special::{
    self, BASE_KEY, BASE_SCOPE, PageKind, SCOPED, SLOT_COUNT, SLOT_SHIFT, WIDE, has_flag,
    has_own_scopes, set_flag,
};
use super::{
    BOUNDS, HEADER, PAGE_SIZE, Page, get_u32, list, lower, put_u16, put_u32, set_lower, set_upper,
    upper,
};
use crate::Error;
use crate::key::Position;
use std::ops;

/// Postings that a leaf is assumed to hold: between those of a freshly built leaf and those of one
/// that has just been split.
pub const LIKELY_COUNT: u16 = 600;
/// The most postings that fit a page.
pub const CAPACITY: usize = Format::new(false, false).capacity();

/// Makes a leaf of these postings, which must be sorted, not below `low` (of which scope and key
/// count), and below the high key.
#[inline]
pub fn init(
    page: &mut Page,
    kind: PageKind,
    low: Position,
    right: Option<(u32, Position)>,
    postings: &[Position],
) {
    let scope = match postings {
        [] => Some(low.scope),
        _ => common_scope(postings),
    };
    init_for(page, kind, low, right, postings, scope);
}

/// As [`init`], ready for postings of that scope, or with None of any.
#[inline]
pub(super) fn init_for(
    page: &mut Page,
    kind: PageKind,
    low: Position,
    right: Option<(u32, Position)>,
    postings: &[Position],
    scope: Option<u32>,
) {
    special::init(page, kind);
    special::set_right(page, right);
    put_u16(page, BASE_KEY, low.first_quarter());
    put_u32(page, BASE_SCOPE, low.scope);
    let format = range(page).format(scope);
    set_flag(page, SCOPED, format.scoped);
    set_flag(page, WIDE, format.wide);
    put_u32(page, SCOPE_AT, scope.unwrap_or(0));
    set_upper(page, SCOPE_AT);
    let layout = Layout::read(page);
    for (i, key) in postings.iter().enumerate() {
        layout.put(page, i, *key);
    }
    let end = postings.len();
    set_lower(page, HEADER + LO * end);
    set_upper(page, layout.aux_at(end) + layout.aux_size());
    special::write_directory(page, postings);
}

/// Returns the format in which the page holds its postings.
#[inline]
fn format(page: &Page) -> Format {
    Format::new(has_own_scopes(page), has_flag(page, WIDE))
}

/// The scope of all postings of a leaf; None where they carry their own.
#[inline]
pub fn scope(page: &Page) -> Option<u32> {
    (!has_own_scopes(page)).then(|| get_u32(page, SCOPE_AT))
}

#[inline]
fn range(page: &Page) -> LeafRange {
    LeafRange {
        low: low(page),
        high: special::high_key(page),
    }
}

/// Returns how many postings the leaf has.
#[inline]
pub fn count(page: &Page) -> usize {
    (lower(page) - HEADER) / LO
}

/// Postings that fit the page.
#[inline]
pub fn capacity(page: &Page) -> usize {
    format(page).capacity()
}

/// Returns whether `key`, which belongs to the page, can be appended.
#[inline]
pub fn has_room(page: &Page, key: Position) -> bool {
    count(page) < capacity(page) && scope(page).is_none_or(|scope| scope == key.scope)
}

/// Returns whether `key`, for which the leaf has no room since it is of another scope, would fit if
/// all postings carried their own. False where the leaf would soon be full.
#[inline]
pub fn has_room_if_scoped(page: &Page, key: Position) -> bool {
    let format = range(page).format(None);
    let most = format.capacity() * 3 / 4;
    scope(page).is_some_and(|scope| scope != key.scope) && count(page) < most
}

/// Postings in the sorted prefix.
#[inline]
pub fn sorted_count(page: &Page) -> usize {
    special::slot_end(page, SLOT_COUNT - 1)
}

/// Checks what a reader relies on, so that no damaged byte can make it read outside the page.
#[inline]
pub fn check(page: &Page) -> Result<(), Error> {
    let (n, format) = (count(page), format(page));
    if !(lower(page) - HEADER).is_multiple_of(LO) || upper(page) + format.aux_size() * n != SCOPE_AT
    {
        return Err(Error::damaged(
            "the two arrays of the leaf differ in length",
        ));
    }
    let (range, scope) = (range(page), scope(page));
    // The format and the range change only when the page is rewritten. If they contradicted each
    // other, the next rewrite could find more postings than its format holds.
    if format != range.format(scope) {
        return Err(Error::damaged(
            "the posting format does not fit the keys that the leaf spans",
        ));
    }
    let beyond = |scope| range.high.is_some_and(|high| scope > high.scope);
    if scope.is_some_and(|scope| scope < range.low.scope || beyond(scope)) {
        return Err(Error::damaged(
            "the scope of the postings is outside of the leaf's bounds",
        ));
    }
    if !special::ends_rise(page) {
        return Err(Error::damaged(format!(
            "the slots of the leaf's directory end at {}",
            list(special::ends(page))
        )));
    }
    if sorted_count(page) > n || page[SLOT_SHIFT] > 63 {
        return Err(Error::damaged(
            "the leaf's directory leads beyond its postings",
        ));
    }
    Ok(())
}

/// All postings, in the order of the page.
#[inline]
pub fn postings(page: &Page) -> impl Iterator<Item = Position> + '_ {
    let layout = Layout::read(page);
    (0..count(page)).map(move |i| layout.get(page, i))
}

/// The most bytes that [`append`] changes: both bounds of the free space, and a posting's two
/// parts.
pub const APPENDED: usize = BOUNDS.end - BOUNDS.start + LO + MOST_AUX;

/// Appends a posting, for which the page must have room. Returns the bytes that changed.
#[inline]
pub fn append(page: &mut Page, key: Position) -> [ops::Range<usize>; 3] {
    debug_assert!(has_room(page, key));
    let (n, layout) = (count(page), Layout::read(page));
    let size = layout.aux_size();
    let (lo_at, aux_at) = (HEADER + LO * n, layout.aux_at(n));
    layout.put(page, n, key);
    set_lower(page, lo_at + LO);
    set_upper(page, aux_at);
    let changed = [BOUNDS, lo_at..lo_at + LO, aux_at..aux_at + size];
    debug_assert!(changed.iter().map(ops::Range::len).sum::<usize>() <= APPENDED);
    changed
}

/// Returns where an append will write: addresses in its two arrays, within the page whatever is on
/// it. The posting's other part may begin in one line of the processor's cache and end in the next.
#[inline]
pub fn next_posting(page: &Page) -> [*const u8; 3] {
    let [first, end] = [format(page).aux_size(), 1].map(|n| upper(page).saturating_sub(n));
    let at = [lower(page), first, end];
    at.map(|at| &raw const page[at.min(PAGE_SIZE - 1)])
}

/// The bytes that a search is likely to read first when what it looks for begins `share` (0 to 1) of
/// the way into a leaf: the low words from there on, and the special area.
#[inline]
pub fn likely_bytes(share: f32) -> [ops::Range<usize>; 2] {
    /// Postings under one key of a table of ten million rows, and what the kernel reads behind them.
    const SPAN: usize = 176;
    /// Leaves hold fewer or more postings than likely, and these are not evenly spread.
    const BEFORE: usize = 32;
    let at = (share * f32::from(LIKELY_COUNT)) as usize;
    let words = at.saturating_sub(BEFORE)..(at + SPAN).min(CAPACITY);
    [
        HEADER + LO * words.start..HEADER + LO * words.end,
        special::BYTES,
    ]
}

/// The bytes of the low words of postings `from` to `to`.
#[inline(always)]
pub(super) fn low_words(page: &Page, from: usize, to: usize) -> &[u8] {
    &page[HEADER + LO * from..HEADER + LO * to]
}

/// All postings in order.
#[inline]
pub fn sorted_postings(page: &Page) -> Vec<Position> {
    let mut all: Vec<Position> = postings(page).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::SPECIAL_START;
    use super::*;
    use crate::key::Space;
    use proptest::prelude::*;
    use simhash_base::indexed_row::Tid;

    pub(in crate::page) const KIND: PageKind = PageKind {
        space: Space::NULL,
        level: 0,
        stamp: 9,
    };

    pub(in crate::page) fn key(rotated: u64, n: usize) -> Position {
        Position {
            scope: 0,
            rotated,
            tid: Tid {
                block: n as u32 * 77,
                offset: (n % 2000) as u16 + 1,
            },
        }
    }

    #[test]
    fn arrays_that_differ_in_length_are_damage_whatever_their_length() {
        let mut page = [0; PAGE_SIZE];
        init(&mut page, KIND, Position::MIN, None, &[key(42, 1)]);
        assert_eq!(check(&page), Ok(()));
        for end in (HEADER..=SPECIAL_START).filter(|end| *end != HEADER + LO) {
            set_lower(&mut page, end);
            assert!(check(&page).is_err(), "pd_lower {end}");
        }
    }

    /// Fingerprints near one base, as wide or as narrow as `spread` bits.
    pub(in crate::page) fn page_of(base: u64, spread: u32, sorted: &[u64], tail: &[u64]) -> Page {
        let mask = if spread == 64 {
            u64::MAX
        } else {
            (1 << spread) - 1
        };
        let fold = |raw: &u64| base & !mask | raw & mask;
        let mut prefix: Vec<Position> = sorted
            .iter()
            .map(fold)
            .enumerate()
            .map(|(i, f)| key(f, i))
            .collect();
        prefix.sort();
        let top = base | mask;
        let right = (top != u64::MAX).then(|| (3, Position::at(0, top + 1)));
        let mut page = [0; PAGE_SIZE];
        init(
            &mut page,
            KIND,
            Position::at(0, base & !mask),
            right,
            &prefix,
        );
        for (i, raw) in tail.iter().enumerate() {
            append(&mut page, key(fold(raw), 1000 + i));
        }
        page
    }

    /// Some rows of scopes from `scopes.start` on, each drawn from so few fingerprints that scopes
    /// share them; half of them in the sorted prefix.
    pub(in crate::page) fn page_of_scopes(scopes: ops::Range<u32>, raw: &[u64]) -> Page {
        let width = u64::from(scopes.end - scopes.start);
        let mut all: Vec<Position> = raw
            .iter()
            .enumerate()
            .map(|(i, bits)| Position {
                scope: scopes.start + ((bits >> 32) % width) as u32,
                ..key(bits & 0xF001_0003_0000_0101, i)
            })
            .collect();
        let (prefix, tail) = all.split_at_mut(raw.len() / 2);
        prefix.sort();
        let right = Position::behind_scope(scopes.end - 1).map(|high| (3, high));
        let mut page = [0; PAGE_SIZE];
        let low = Position::at(scopes.start, 0);
        init_for(&mut page, KIND, low, right, prefix, None);
        tail.iter().for_each(|key| {
            append(&mut page, *key);
        });
        page
    }

    proptest! {
        #[test]
        fn what_is_put_on_a_page_of_scopes_is_read(
            first: u32, width in prop_oneof![1u32..5, 1u32..5_000_000],
            raw in prop::collection::vec(any::<u64>(), 0..400),
        ) {
            let scopes = first..first.saturating_add(width).max(first + 1);
            let page = page_of_scopes(scopes.clone(), &raw);
            prop_assert_eq!(check(&page), Ok(()));
            prop_assert_eq!(count(&page), raw.len());
            for (i, key) in postings(&page).enumerate().skip(raw.len() / 2) {
                prop_assert!(scopes.contains(&key.scope));
                prop_assert_eq!(key.tid, self::key(0, i).tid);
                prop_assert_eq!(key.rotated, raw[i] & 0xF001_0003_0000_0101);
            }
            prop_assert_eq!(format(&page).wide, scopes.end - scopes.start > 1 << 21);
        }
    }
}
