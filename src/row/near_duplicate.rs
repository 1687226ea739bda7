//! The operators of texts, `a <~> b` and `a ~= b`, where the planner has not put fingerprints in their
//! place: below an exclusion constraint, and where a text is a subquery. The server calls the functions;
//! each keeps the last text of both sides with its fingerprint, since one of them often stays the same.

use pgrx::pg_sys;

use super::same::are_same;
use super::text::TextSite;
use simhash_fingerprint::hash::Width;
use simhash_hamming::ball::NEAR_TEXTS;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::call_site;
use simhash_pg::sql::fmgr::{Args, pg_function};

/// Bytes of the longest text that is kept: copying it must not need memory that may not be there.
const MOST_KEPT: usize = 1 << 20;

/// State of a call site.
struct Site {
    texts: TextSite<1>,
    /// The last text of each side, and its fingerprint.
    last: [Option<(Vec<u8>, Option<u64>)>; 2],
}

impl Site {
    fn new(memory: MemoryContext) -> Self {
        Self {
            texts: TextSite::new(memory, Width::W64),
            last: [None, None],
        }
    }

    fn fingerprint(&mut self, args: &Args, i: usize) -> Option<u64> {
        let text = args.varlena(i, pg_sys::TEXTOID)?;
        match &self.last[i] {
            Some((last, fingerprint)) if last == text.bytes() => *fingerprint,
            _ => {
                let fingerprint = self.texts.default_fingerprint(text).map(|[bits]| bits);
                let kept = (text.bytes().len() <= MOST_KEPT).then(|| text.bytes().to_vec());
                self.last[i] = kept.map(|text| (text, fingerprint));
                fingerprint
            }
        }
    }

    /// The distance of two fingerprints; None where a text has none.
    fn distance(&mut self, args: &Args) -> Option<i32> {
        let (a, b) = (self.fingerprint(args, 0), self.fingerprint(args, 1));
        Some((a? ^ b?).count_ones() as i32)
    }
}

pg_function! {
    /// `simhash_distance(a text, b text) -> int`, strict
    fn simhash_text_distance, pg_finfo_simhash_text_distance (args) {
        args.result(call_site::with(args, Site::new, |site| site.distance(args)))
    }
}

pg_function! {
    /// `simhash_near_duplicate(a text, b text) -> boolean`, strict
    fn simhash_near_duplicate, pg_finfo_simhash_near_duplicate (args) {
        let distance = call_site::with(args, Site::new, |site| site.distance(args));
        // As NULL AND simhash_same(a, b), which the planner puts in its place.
        args.result(match distance {
            Some(bits) if bits > NEAR_TEXTS => Some(false),
            Some(_) => are_same(args),
            None => are_same(args).filter(|same| !same),
        })
    }
}
