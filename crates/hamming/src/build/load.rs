//! Loading one key space bottom up from its sorted postings: leaves, then the levels above.
//! Pure: pages go to a [`PageSink`].

#![forbid(unsafe_code)]

use crate::key::{Position, Space, first_quarter, separator};
use crate::page::format::{Format, LeafRange, common_scope};
use crate::page::internal::{self, Downlink};
use crate::page::special::PageKind;
use crate::page::{Page, leaf};
use std::ops::RangeInclusive;

/// The storage parameters of an index that concern its build. `repr(C)`: it goes to other
/// processes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BuildOptions {
    /// Fill factor of leaves in percent: 10 to 100.
    pub fillfactor: u32,
}

impl BuildOptions {
    /// Options of a build over no rows, whose leaves are empty whatever the fill factor is.
    pub const OF_NO_ROWS: BuildOptions = BuildOptions { fillfactor: 100 };
}

/// Takes finished pages one by one.
pub trait PageSink {
    /// The block number of the next page.
    fn next_block(&self) -> u32;
    /// The block number of the page after that one; called only if there will be one.
    fn block_after_next(&mut self) -> u32;
    /// Called before a leaf is put, with the number of its postings.
    fn count(&mut self, _space: Space, _postings: usize) {}
    /// Takes the page that `fill` writes.
    fn put(&mut self, fill: impl FnOnce(&mut Page));
}

/// Result of a load.
pub struct Loaded {
    /// The block of the root.
    pub root: u32,
    /// The level of the root.
    pub level: u8,
    /// Number of leaves.
    pub leaves: u32,
}

/// Loads one space: feed postings in order to [`Loader::push`], then [`Loader::finish`].
pub struct Loader<'s, S: PageSink> {
    sink: &'s mut S,
    kind: PageKind,
    fill: Fill,
    /// Postings not yet on a page: at most one leaf's worth and one more.
    waiting: Vec<Position>,
    /// The lowest position of the leaf being filled.
    low: Position,
    links: Vec<Downlink>,
}

impl<'s, S: PageSink> Loader<'s, S> {
    /// Begins a tree of a key space, whose pages have this build stamp.
    #[inline]
    pub fn new(sink: &'s mut S, space: Space, stamp: u32, options: BuildOptions) -> Self {
        Loader {
            sink,
            kind: PageKind {
                space,
                level: 0,
                stamp,
            },
            fill: Fill {
                target: options.fillfactor,
                step: 0,
            },
            waiting: Vec::with_capacity(leaf::CAPACITY + 1),
            low: Position::MIN,
            links: Vec::new(),
        }
    }

    /// Takes the next posting, which must not be below the one before.
    #[inline]
    pub fn push(&mut self, key: Position) {
        self.waiting.push(key);
        // One more than a page holds: the page's end must be known before it is written.
        if self.waiting.len() > *self.fill.range(leaf::CAPACITY).end() {
            self.write_leaf();
        }
    }

    /// Writes a leaf of the first waiting postings, as many as its format and fill factor take, but
    /// not all of them.
    fn write_leaf(&mut self) {
        let (n, end) = self.cut();
        let right = self.sink.block_after_next();
        let rest = self.waiting.split_off(n);
        self.put_leaf(Some((right, end)));
        self.waiting = rest;
        self.low = end;
        self.fill.step = self.fill.step.wrapping_add(1);
    }

    /// Returns how many waiting postings the next leaf takes, and where it ends: those of the first
    /// scope, unless a leaf of several scopes takes more.
    fn cut(&self) -> (usize, Position) {
        let scope = self.waiting[0].scope;
        let run = self.waiting.partition_point(|key| key.scope == scope);
        let one = self.cut_of_one(scope, run);
        if one.0 < run {
            return one;
        }
        let most = Some(self.boundary(self.most(Format::new(true, false))));
        let format = self.range(most).format(None);
        let several = self.most(format);
        match several > one.0 {
            true => (several, self.boundary(several)),
            false => one,
        }
    }

    /// Returns how many of the first `run` waiting postings, all of one scope, a leaf of that scope
    /// takes, and where it ends.
    fn cut_of_one(&self, scope: u32, run: usize) -> (usize, Position) {
        let n = self.most_of_one(Format::new(false, false), run);
        let end = self.boundary(n);
        if !self.range(Some(end)).format(Some(scope)).wide {
            return (n, end);
        }
        // Too many keys for the short format: a wide page, or a narrow one that ends with the last
        // key it can hold, whichever takes more.
        let wide = n.min(self.most_of_one(Format::new(false, true), run));
        let narrow = self.range(None).narrow_end(scope).map(|end| {
            let before = self.waiting.partition_point(|key| *key < end);
            (before, end)
        });
        match narrow.filter(|(narrow, _)| *narrow > wide) {
            Some(narrow) => narrow,
            None => (wide, self.boundary(wide)),
        }
    }

    /// Returns how many of the first `run` waiting postings, all of one scope, a leaf takes at most. Where it
    /// can it ends with a key: a search that reads this key, or the next one, visits one leaf, not two.
    fn most_of_one(&self, format: Format, run: usize) -> usize {
        let most = self.most(format);
        let range = self.fill.range(format.capacity());
        if run <= most.max(*range.end()) {
            return most.min(run);
        }
        let key_ends = |n: &usize| {
            let key = |i: usize| first_quarter(self.waiting[i].rotated);
            range.contains(n) && key(n - 1) != key(*n)
        };
        let nearest = (0..*range.end()).find_map(|by| {
            let both = [most.saturating_sub(by), most + by];
            both.into_iter().find(key_ends)
        });
        nearest.unwrap_or(most)
    }

    /// Returns how many waiting postings a leaf takes at most; never all of them.
    fn most(&self, format: Format) -> usize {
        (self.fill.postings(format.capacity())).min(self.waiting.len() - 1)
    }

    /// Returns where a leaf of the first `n` waiting postings ends.
    fn boundary(&self, n: usize) -> Position {
        separator(self.waiting[n - 1], self.waiting[n])
    }

    /// Returns what may stand on the leaf that is being filled, if it ends at `high`.
    fn range(&self, high: Option<Position>) -> LeafRange {
        LeafRange {
            low: self.low,
            high,
        }
    }

    fn put_leaf(&mut self, right: Option<(u32, Position)>) {
        let (kind, low, postings) = (self.kind, self.low, &self.waiting);
        self.links.push(Downlink {
            key: self.low,
            child: self.sink.next_block(),
        });
        self.sink.count(kind.space, postings.len());
        self.sink
            .put(|page| leaf::init(page, kind, low, right, postings));
    }

    /// Writes the last leaf and the levels above.
    #[inline]
    pub fn finish(mut self) -> Loaded {
        // The last leaf has no end, so it may be wide although the waiting postings fill a narrow
        // one.
        let fits = |loader: &Self| {
            let scope = match loader.waiting.is_empty() {
                true => Some(loader.low.scope),
                false => common_scope(&loader.waiting),
            };
            loader.waiting.len() <= loader.range(None).format(scope).capacity()
        };
        while !fits(&self) {
            self.write_leaf();
        }
        self.put_leaf(None);
        let leaves = self.links.len() as u32;
        let mut level = 0;
        while self.links.len() > 1 {
            level += 1;
            self.write_level(level);
        }
        Loaded {
            root: self.links[0].child,
            level,
            leaves,
        }
    }

    /// Writes the internal pages above the pages in `links`, and replaces `links` with downlinks to
    /// the new pages.
    fn write_level(&mut self, level: u8) {
        let kind = PageKind { level, ..self.kind };
        let below = std::mem::take(&mut self.links);
        let per_page = self.fill.target as usize * internal::CAPACITY / 100;
        let mut pages = below.chunks(per_page.max(2)).peekable();
        while let Some(links) = pages.next() {
            let block = self.sink.next_block();
            let right = pages
                .peek()
                .map(|next| (self.sink.block_after_next(), next[0].key));
            self.sink
                .put(|page| internal::init(page, kind, links, right));
            self.links.push(Downlink {
                key: links[0].key,
                child: block,
            });
        }
    }
}

/// Fullness of leaves: around the fill factor, but not all alike. Leaves that are equally full
/// would all split at about the same time when rows arrive evenly, and double the index at once.
/// None is full: the first rows after a build would split it.
struct Fill {
    target: u32,
    step: u32,
}

impl Fill {
    /// Postings to put on the present leaf, of `capacity` that fit: from a tenth of the page below
    /// the target to a twentieth above it, in eleven steps with a stride of 7.
    fn postings(&self, capacity: usize) -> usize {
        let above = 5.min(100 - self.target);
        let (lowest, highest) = (self.target.saturating_sub(2 * above), self.target + above);
        let percent = lowest + self.step % 11 * 7 % 11 * (highest - lowest) / 10;
        (capacity * percent.max(5) as usize / 100).max(2)
    }

    /// Postings that may stand on a leaf that ends with a key: a twentieth of the page less and a
    /// fiftieth more than without.
    fn range(&self, capacity: usize) -> RangeInclusive<usize> {
        let (least, most) = (self.target.saturating_sub(15), (self.target + 7).min(100));
        let of = |percent: u32| (capacity * percent.max(5) as usize / 100).max(2);
        of(least)..=of(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KEY_BITS;
    use crate::page::{NO_BLOCK, PAGE_SIZE, special};
    use proptest::prelude::*;
    use simhash_base::indexed_row::Tid;

    impl PageSink for Vec<Page> {
        fn next_block(&self) -> u32 {
            self.len() as u32
        }

        fn block_after_next(&mut self) -> u32 {
            self.len() as u32 + 1
        }

        fn put(&mut self, fill: impl FnOnce(&mut Page)) {
            let mut page = [0; PAGE_SIZE];
            fill(&mut page);
            self.push(page);
        }
    }

    fn load(mut keys: Vec<Position>, fillfactor: u32) -> (Vec<Page>, Loaded, Vec<Position>) {
        keys.sort();
        let mut pages: Vec<Page> = Vec::new();
        let mut loader = Loader::new(
            &mut pages,
            Space::of_quarter(1),
            5,
            BuildOptions { fillfactor },
        );
        keys.iter().for_each(|key| loader.push(*key));
        let loaded = loader.finish();
        (pages, loaded, keys)
    }

    /// Reads the leaves from left to right, checking links and bounds.
    fn leaves(pages: &[Page], loaded: &Loaded) -> Vec<Position> {
        let mut block = loaded.root;
        for _ in 0..loaded.level {
            block = internal::get(&pages[block as usize], 0).child;
        }
        let (mut low, mut all) = (Position::MIN, Vec::new());
        while block != NO_BLOCK {
            let page = &pages[block as usize];
            leaf::check(page).unwrap();
            let postings: Vec<Position> = leaf::postings(page).collect();
            assert!(
                postings
                    .iter()
                    .all(|e| *e >= low && !special::is_past(page, *e))
            );
            all.extend(postings);
            low = special::high_key(page).unwrap_or(low);
            block = special::right_link(page);
        }
        all
    }

    /// Descends as a reader does.
    fn lookup(pages: &[Page], loaded: &Loaded, key: Position) -> bool {
        let mut block = loaded.root;
        for _ in 0..loaded.level {
            block = internal::find(&pages[block as usize], key).child;
        }
        leaf::postings(&pages[block as usize]).any(|e| e == key)
    }

    /// Rows as ten million have them: 150 under each key. Nearly all leaves end with a key, and are as full
    /// as others.
    #[test]
    fn leaves_end_with_a_key_where_they_can() {
        let key = |i: u64| Position {
            scope: 0,
            rotated: i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8,
            tid: Tid {
                block: i as u32,
                offset: 1,
            },
        };
        let (pages, loaded, _) = load((0..40_000).map(key).collect(), 90);
        let is_leaf = |page: &&Page| special::level(page) == 0;
        let ends: Vec<Position> = pages
            .iter()
            .filter(is_leaf)
            .filter_map(special::high_key)
            .collect();
        let with_a_key = ends
            .iter()
            .filter(|end| end.rotated << KEY_BITS == 0)
            .count();
        assert!(
            with_a_key * 10 > ends.len() * 9,
            "{with_a_key} of {}",
            ends.len()
        );
        let mean = 40_000 * 100 / loaded.leaves as usize / leaf::CAPACITY;
        assert!((84..95).contains(&mean), "{mean} %");
    }

    #[test]
    fn an_empty_space_is_one_leaf() {
        let (pages, loaded, _) = load(Vec::new(), 90);
        assert_eq!((pages.len(), loaded.level, loaded.leaves), (1, 0, 1));
        assert_eq!(leaf::count(&pages[0]), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        #[test]
        fn everything_is_loaded_and_found(
            seed: u64, n in prop_oneof![0usize..1500, 0usize..20_000], spread in 0u32..64,
            mask in prop_oneof![Just(u64::MAX), Just(0x401F_0000_0000_FFFF), any::<u64>()],
            fillfactor in 10u32..=100, scopes in prop_oneof![Just(1u64), 1u64..8, 1u64..30_000],
            hot: bool,
        ) {
            let mut state = seed | 1;
            let keys: Vec<Position> = (0..n).map(|i| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let scope = match hot && i % 2 == 0 {
                    true => 0,
                    false => (state >> 20) % scopes * 0xFFFF_FFFF / scopes,
                };
                Position {
                    scope: scope as u32,
                    rotated: (state >> spread) & mask,
                    tid: Tid { block: i as u32, offset: 1 },
                }
            }).collect();
            let (pages, loaded, keys) = load(keys, fillfactor);
            prop_assert_eq!(leaves(&pages, &loaded), keys.clone());
            for key in keys.iter().step_by(97) {
                prop_assert!(lookup(&pages, &loaded, *key));
            }
        }
    }
}
