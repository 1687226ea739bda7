//! simhash_index_verify: the structure of every page, each row's postings in all four key spaces, and
//! on request every row of the table in the index.

use super::key::{BLOCKS, Key, Space, Tid};
use super::page::kernel::Candidates;
use super::page::leaf::{self, Filter};
use super::page::meta::Meta;
use super::page::{Page, list};
use super::tree::{Tree, read_meta};
use super::verify::{Finding, Source, structure};
use crate::pg::buffer::Pinned;
use crate::pg::fmgr::pg_function;
use crate::pg::open::{OpenIndex, Purpose};
use crate::pg::process::check_for_interrupts;
use crate::pg::relation::Rel;
use crate::pg::rows_out::RowsOut;
use pgrx::{IntoDatum, pg_sys};

pg_function! {
    /// simhash_index_verify(regclass, heapallindexed boolean)
    ///     -> SETOF (block bigint, "offset" int, fault text); no row when the index is sound.
    fn simhash_index_verify, pg_finfo_simhash_index_verify(args) {
        let mut rows = RowsOut::begin(args);
        let (Some(oid), Some(all_rows)) = (args.get::<pg_sys::Oid>(0), args.get::<bool>(1)) else {
            return args.null();
        };
        let open = OpenIndex::new(oid, "simhash", Purpose::Verification);
        // Each at once: an index whose every row is missing has millions of them.
        verify(&open, all_rows, &mut |finding| {
            rows.push(|| [
                i64::from(finding.block).into_datum(),
                finding.entry.map(|i| i as i32).into_datum(),
                finding.fault.0.into_datum(),
            ]);
        });
        args.null()
    }
}

/// Pages of a file whose length was measured before.
struct File<'r> {
    rel: Rel<'r>,
    blocks: u32,
}

impl Source for File<'_> {
    fn page(&self, block: u32) -> Option<Box<Page>> {
        check_for_interrupts();
        (block < self.blocks).then(|| Box::new(*Pinned::read(self.rel, block).share()))
    }
}

/// An index whose structure was found to be sound.
struct Sound<'r> {
    rel: Rel<'r>,
    meta: Meta,
}

impl Sound<'_> {
    /// Is the row filed under the key in that space?
    fn holds(&self, space: Space, key: Key) -> bool {
        check_for_interrupts();
        let tree = Tree::new(self.rel, &self.meta, space);
        let exactly = Filter {
            query: key.rotated,
            radius: 0,
            beyond: -1,
            within: 0,
        };
        let (mut found, mut room) = (false, Candidates::none());
        let page = tree.leaf(key);
        leaf::scan(&page, &exactly, key, &mut room, |other, _| {
            found |= other == key
        });
        found
    }

    /// Spaces, of those asked, in which a row is missing.
    fn missing(
        &self,
        spaces: impl Iterator<Item = Space>,
        fingerprint: u64,
        tid: Tid,
    ) -> Vec<usize> {
        spaces
            .filter(|space| !self.holds(*space, space.key(fingerprint, tid)))
            .map(Space::index)
            .collect()
    }
}

fn verify(open: &OpenIndex, all_rows: bool, report: &mut dyn FnMut(Finding)) {
    let rel = open.index();
    let meta = read_meta(rel);
    let file = File {
        rel,
        blocks: rel.block_count(),
    };
    // In a broken tree the look-ups below would fail for the same reason once more.
    if !structure(&file, &meta, |_, _| (), report) {
        return;
    }
    let sound = Sound { rel, meta };
    let each = |space, key| {
        check_posting(open, &sound, space, key)
            .into_iter()
            .for_each(&mut *report);
    };
    structure(&file, &meta, each, &mut |_| ());
    if all_rows {
        open.visible_rows(&mut |fingerprint, tid| {
            check_row(&sound, fingerprint, tid)
                .into_iter()
                .for_each(&mut *report);
        });
    }
}

/// A posting of block 0 must have its like in the other three blocks, one of those in block 0, unless
/// its row is dead: an insert that a crash or an error cut short leaves some postings.
fn check_posting(open: &OpenIndex, sound: &Sound, space: Space, key: Key) -> Option<Finding> {
    if space == Space::NULL {
        return None;
    }
    let fingerprint = space.unrotate(key.rotated);
    let first = space.index() == 0;
    let counterparts = Space::blocks().filter(|s| (s.index() == 0) != first);
    let missing = sound.missing(counterparts, fingerprint, key.tid);
    (!missing.is_empty() && open.is_visible(key.tid)).then(|| {
        finding(format!(
            "row {} is filed in key space {} but not in {}",
            key.tid,
            space.index(),
            list(missing)
        ))
    })
}

/// A row of the table must be filed in all four blocks, or in the NULL space.
fn check_row(sound: &Sound, fingerprint: Option<u64>, tid: Tid) -> Option<Finding> {
    let missing = match fingerprint {
        Some(fp) => sound.missing(Space::blocks(), fp, tid),
        None => sound.missing(std::iter::once(Space::NULL), 0, tid),
    };
    let all = if fingerprint.is_some() { BLOCKS } else { 1 };
    (!missing.is_empty()).then(|| {
        finding(format!(
            "row {tid} of the table is missing in {} of {all} key spaces",
            missing.len()
        ))
    })
}

/// A finding about the index as a whole rather than a page.
fn finding(text: String) -> Finding {
    Finding {
        block: super::page::meta::META_BLOCK,
        entry: None,
        fault: super::page::Fault::new(text),
    }
}
