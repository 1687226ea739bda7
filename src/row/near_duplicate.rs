//! The operators of texts, `a <~> b` and `a ~= b`, where the planner has not put fingerprints in their
//! place: below an exclusion constraint, and where a text is a subquery. The server calls the functions;
//! each has a site for both sides, since one of the texts often stays the same.

use pgrx::pg_sys;
use pgrx::pg_sys::Datum;

use super::same::LastTexts;
use super::text::TextSite;
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::same::Strictness;
use simhash_hamming::ball::NEAR_TEXTS;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::fmgr::{self, Args, pg_function};

/// State of a call site: that of each side, and what the last texts were cut into.
struct Site {
    texts: [TextSite<1>; 2],
    cut: LastTexts,
}

impl Site {
    fn new(memory: MemoryContext) -> Self {
        Self {
            texts: [(); 2].map(|()| TextSite::new(memory, Width::W64)),
            cut: LastTexts::default(),
        }
    }

    fn fingerprint(&mut self, args: &Args, i: usize) -> Option<u64> {
        let text = args.varlena(i, pg_sys::TEXTOID)?;
        self.texts[i].default_fingerprint(text).map(|[bits]| bits)
    }

    /// The distance of two fingerprints; None where a text has none.
    fn distance(&mut self, args: &Args) -> Option<i32> {
        let (a, b) = (self.fingerprint(args, 0), self.fingerprint(args, 1));
        Some((a? ^ b?).count_ones() as i32)
    }

    /// As NULL AND simhash_same(a, b), which the planner puts in its place.
    fn is_near_duplicate(&mut self, args: &Args) -> Option<bool> {
        let distance = self.distance(args);
        if distance.is_some_and(|bits| bits > NEAR_TEXTS) {
            return Some(false);
        }
        let are_same = self.cut.are_same(args, Strictness::Person);
        are_same.filter(|same| distance.is_some() || !same)
    }
}

pg_function!(simhash_text_distance);
/// `simhash_distance(a text, b text) -> int`, strict
fn simhash_text_distance(args: &Args) -> Datum {
    args.result(fmgr::with(args, Site::new, |site| site.distance(args)))
}

pg_function!(simhash_near_duplicate);
/// `simhash_near_duplicate(a text, b text) -> boolean`, strict
fn simhash_near_duplicate(args: &Args) -> Datum {
    args.result(fmgr::with(args, Site::new, |site| {
        site.is_near_duplicate(args)
    }))
}
