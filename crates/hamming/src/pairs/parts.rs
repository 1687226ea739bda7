//! Every pair of hashes of more than 64 bits within a radius, each once. simhash_pairs and
//! simhash_clusters call it with rows whose fingerprint is the number of a hash. A pair belongs to
//! the first part in which it is near enough: so no pair is remembered.

use super::find::{Finder, Sides, sides};
use super::sink::{PairSink, Row, set};
use super::split::Task;
use crate::error::Error;
use crate::parts::{Hashes, distance, part_radius};

/// The rows of a side in the order of their hashes, and of their tags.
struct Side<'r> {
    hashes: &'r Hashes,
    rows: &'r [Row],
    /// Where the rows of each hash begin, and where the last ones end.
    starts: Vec<usize>,
}

impl<'r> Side<'r> {
    fn new(
        hashes: &'r Hashes,
        rows: &'r mut [Row],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        rows.sort_unstable_by(|a, b| {
            check_interrupts();
            let by_hash = hashes.get(a.fingerprint).cmp(hashes.get(b.fingerprint));
            by_hash.then(a.tag.cmp(&b.tag))
        });
        let mut starts = Vec::new();
        starts.try_reserve(rows.len() + 1)?;
        for i in 0..rows.len() {
            let hash = |row: &Row| hashes.get(row.fingerprint);
            if i == 0 || hash(&rows[i - 1]) != hash(&rows[i]) {
                starts.push(i);
            }
        }
        starts.push(rows.len());
        Ok(Side {
            hashes,
            rows,
            starts,
        })
    }

    /// Number of different hashes.
    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of a hash.
    fn rows_of(&self, number: u64) -> &'r [Row] {
        let number = number as usize;
        &self.rows[self.starts[number]..self.starts[number + 1]]
    }

    fn hash(&self, number: u64) -> &'r [u64] {
        self.hashes.get(self.rows_of(number)[0].fingerprint)
    }
}

/// Takes the pairs of one part from a search for fingerprints, which are those of this part.
struct PartSink<'s, S> {
    sink: &'s mut S,
    /// One, or two.
    sides: &'s [Side<'s>],
    radius: u32,
    /// The radius of each part.
    radii: &'s [i32],
    part: usize,
    /// Whether one of equal rows stands for all; two of them where pairs of one set do not count.
    is_distinct: bool,
    /// Whether pairs of rows of one set do not count.
    is_across: bool,
}

impl<S: PairSink> PairSink for PartSink<'_, S> {
    type File = S::File;

    fn file(&mut self) -> S::File {
        self.sink.file()
    }

    fn pair(&mut self, a: u64, b: u64, _of_this_part: u32) {
        let (left, right) = (&self.sides[0], &self.sides[self.sides.len() - 1]);
        let (x, y) = (left.hash(a), right.hash(b));
        let is_near = |i: usize| (x[i] ^ y[i]).count_ones() as i32 <= self.radii[i];
        if (0..self.part).any(is_near) {
            return;
        }
        let distance = distance(x, y);
        if distance > self.radius {
            return;
        }
        let (left, right) = (left.rows_of(a), right.rows_of(b));
        let (steps_left, steps_right) = (self.step(left), self.step(right));
        for a in left.iter().step_by(steps_left) {
            self.sink.check_interrupts();
            right
                .iter()
                .step_by(steps_right)
                .filter(|b| !self.is_across || set(a) != set(b))
                .for_each(|b| self.sink.pair(a.tag, b.tag, distance));
        }
    }

    fn check_interrupts(&mut self) {
        self.sink.check_interrupts();
    }

    fn progress(&mut self, share: f64) {
        let parts = self.radii.len() as f64;
        self.sink.progress((self.part as f64 + share) / parts);
    }
}

impl<S: PairSink> PartSink<'_, S> {
    /// Returns the step from one row to the next of those that stand for these equal rows: the first,
    /// the first and the last where they are of different sets, or all.
    fn step(&self, rows: &[Row]) -> usize {
        let is_of_one_set = || set(&rows[0]) == set(&rows[rows.len() - 1]);
        match (self.is_distinct, self.is_across) {
            (false, _) => 1,
            (true, false) => rows.len(),
            (true, true) if is_of_one_set() => 1,
            (true, true) => rows.len() - 1,
        }
    }

    /// Gives the pairs of equal rows of one side.
    fn equal_rows(&mut self) {
        for number in 0..self.sides[0].count() as u64 {
            let rows = self.sides[0].rows_of(number);
            for (i, b) in rows.iter().enumerate() {
                self.sink.check_interrupts();
                let others = match (self.is_distinct, self.is_across) {
                    (false, false) => &rows[..i],
                    (true, false) => &rows[..i.min(1)],
                    (false, true) => &rows[..rows.partition_point(|a| set(a) < set(b))],
                    (true, true) if set(&rows[0]) != set(b) => &rows[..1],
                    (true, true) if set(&rows[rows.len() - 1]) != set(b) => &rows[rows.len() - 1..],
                    (true, true) => &[],
                };
                others.iter().for_each(|a| self.sink.pair(a.tag, b.tag, 0));
            }
        }
    }

    /// Gives the pairs that are near enough in this part, and in no one before it.
    fn search<const N: usize>(&mut self, rows: &mut Vec<Row>) -> Result<(), Error> {
        rows.clear();
        for side in self.sides {
            rows.try_reserve(side.count())?;
            rows.extend((0..side.count() as u64).map(|number| Row {
                fingerprint: side.hash(number)[self.part],
                tag: number,
            }));
        }
        let counts = std::array::from_fn::<_, N, _>(|side| self.sides[side].count());
        let radius = self.radii[self.part] as u32;
        Finder::new(self, radius).pairs_in(sides(rows, counts), Task::ALL);
        Ok(())
    }
}

/// Gives every pair of rows within `radius` to the sink, as a search for fingerprints does. The rows
/// of side i have numbers of `hashes[i]` as fingerprints; they are left in another order.
pub fn find_pairs<S: PairSink, const N: usize>(
    hashes: [&Hashes; N],
    rows: Sides<'_, N>,
    sink: &mut S,
    radius: u32,
) -> Result<(), Error> {
    let counts = hashes.map(Hashes::parts);
    if rows.iter().any(|side| side.is_empty()) {
        return Ok(());
    }
    let (expected, found) = (counts[0], counts[N - 1]);
    if found != expected {
        return Err(Error::PartCount { found, expected });
    }
    let mut each = Vec::with_capacity(N);
    for (side, hashes) in rows.into_iter().zip(hashes) {
        each.push(Side::new(hashes, side, &mut || sink.check_interrupts())?);
    }
    let count = expected as i32;
    let radius_of = |part| part_radius(radius as i32, part, count);
    let mut search = PartSink {
        is_distinct: N == 1 && (sink.wants_distinct() || sink.is_transitive()),
        is_across: sink.is_across(),
        sink,
        sides: &each,
        radius,
        radii: &(0..count).map(radius_of).collect::<Vec<_>>(),
        part: 0,
    };
    if N == 1 {
        search.equal_rows();
    }
    let mut rows = Vec::new();
    for part in (0..expected).filter(|part| radius_of(*part as i32) >= 0) {
        search.part = part;
        search.search::<N>(&mut rows)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::TestSink;
    use super::*;
    use proptest::prelude::*;

    /// Hashes of few bits that differ, so that many are near or equal.
    fn hashes(parts: usize) -> impl Strategy<Value = Vec<Vec<u64>>> {
        let bits = prop_oneof![
            Just(0u64),
            Just(1),
            Just(3),
            Just(1 << 63),
            0u64..16,
            any::<u64>()
        ];
        prop::collection::vec(prop::collection::vec(bits, parts), 0..40)
    }

    /// The numbers of the hashes, as rows with tags from `first` on.
    fn add(all: &[Vec<u64>], first: u64) -> (Hashes, Vec<Row>) {
        let mut hashes = Hashes::default();
        let row = |(tag, hash): (u64, &Vec<u64>)| {
            let fingerprint = hashes.add(hash.iter().copied()).unwrap();
            Row { fingerprint, tag }
        };
        let rows = (first..).zip(all).map(row).collect();
        (hashes, rows)
    }

    fn sorted(sink: TestSink) -> Vec<(u64, u64, u32)> {
        let mut pairs = sink.pairs;
        pairs.sort_unstable();
        pairs
    }

    proptest! {
        #[test]
        fn pairs_of_one_side(all in (1usize..5).prop_flat_map(hashes), radius in 0u32..100) {
            let (hashes, mut rows) = add(&all, 0);
            let mut sink = TestSink::default();
            find_pairs([&hashes], [&mut rows], &mut sink, radius).unwrap();
            let mut expected = Vec::new();
            for (b, y) in all.iter().enumerate() {
                for (a, x) in all[..b].iter().enumerate() {
                    let distance = distance(x, y);
                    if distance <= radius {
                        expected.push((a as u64, b as u64, distance));
                    }
                }
            }
            expected.sort_unstable();
            prop_assert_eq!(sorted(sink), expected.clone());
            // Where equal rows stand for each other, the same rows are connected.
            let (hashes, mut rows) = add(&all, 0);
            let mut sink = TestSink { distinct: true, ..TestSink::default() };
            find_pairs([&hashes], [&mut rows], &mut sink, radius).unwrap();
            let few = sorted(sink);
            prop_assert!(few.iter().all(|pair| expected.contains(pair)));
            prop_assert_eq!(components(all.len(), &few), components(all.len(), &expected));
        }

        #[test]
        fn pairs_across((left, right) in (1usize..4).prop_flat_map(|parts| (hashes(parts), hashes(parts))), radius in 0u32..100) {
            let ((a, mut rows_a), (b, mut rows_b)) = (add(&left, 0), add(&right, 1000));
            let mut sink = TestSink { two_sides: true, ..TestSink::default() };
            find_pairs([&a, &b], [&mut rows_a, &mut rows_b], &mut sink, radius).unwrap();
            let mut expected = Vec::new();
            for (a, x) in (0..).zip(&left) {
                for (b, y) in (1000..).zip(&right) {
                    let distance = distance(x, y);
                    if distance <= radius {
                        expected.push((a, b, distance));
                    }
                }
            }
            expected.sort_unstable();
            prop_assert_eq!(sorted(sink), expected);
        }
    }

    /// The smallest row that each is connected with.
    fn components(rows: usize, pairs: &[(u64, u64, u32)]) -> Vec<u64> {
        let mut smallest: Vec<u64> = (0..rows as u64).collect();
        for _ in 0..rows {
            for &(a, b, _) in pairs {
                let least = smallest[a as usize].min(smallest[b as usize]);
                smallest[a as usize] = least;
                smallest[b as usize] = least;
            }
        }
        smallest
    }

    #[test]
    fn hashes_of_two_lengths() {
        let ((a, mut rows_a), (b, mut rows_b)) = (add(&[vec![1, 2]], 0), add(&[vec![1]], 0));
        let mut sink = TestSink::default();
        let found = find_pairs([&a, &b], [&mut rows_a, &mut rows_b], &mut sink, 3);
        let error = Error::PartCount {
            found: 1,
            expected: 2,
        };
        assert_eq!(found, Err(error));
    }
}
