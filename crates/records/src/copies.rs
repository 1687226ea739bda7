//! Rows that are equal. They are one record, which is compared once and whose features count once,
//! however many rows there are of it; so copies are found whatever `rare` says.
//! Records and rows are numbered apart: what the other modules call a row is a record here.
//! [`super::frequencies`] numbers the records while rows are read, the extension asks for the pairs
//! of rows that a pair of records is.

use simhash_base::bytes::get_u32;
use simhash_base::runs::Item;
use std::collections::{HashMap, TryReserveError};

/// Two records, `a` before `b`, or one that several rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The smaller number of a record, from 0.
    pub a: u32,
    /// The larger one; the same if several rows are one record.
    pub b: u32,
}

impl Item for Candidate {
    const BYTES: usize = 8;

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.a.to_ne_bytes());
        bytes.extend(self.b.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        Candidate {
            a: get_u32(bytes, 0),
            b: get_u32(bytes, 4),
        }
    }
}

/// The records of the rows that were read so far.
#[derive(Default)]
pub struct CopiesBuilder {
    /// The record of each hash of all features of a row.
    numbers: HashMap<u64, u32>,
    records: u32,
    of_row: Vec<u32>,
    /// Rows of the first table, if there is a second one.
    first: Option<u32>,
}

impl CopiesBuilder {
    /// Adds a row, and returns the number of its record and whether that is a new one. A row without
    /// features has no hash, and is like no other.
    pub fn add(&mut self, hash: Option<u64>) -> Result<(u32, bool), TryReserveError> {
        self.numbers.try_reserve(1)?;
        self.of_row.try_reserve(1)?;
        let next = self.records;
        let number = hash.map_or(next, |hash| *self.numbers.entry(hash).or_insert(next));
        self.records = next.max(number + 1);
        self.of_row.push(number);
        Ok((number, number == next))
    }

    /// Rows that are added now are those of the second table.
    pub fn begin_second_table(&mut self) {
        self.first = Some(self.rows());
    }

    /// Returns how many rows there are.
    pub fn rows(&self) -> u32 {
        self.of_row.len() as u32
    }

    /// Returns for each record whether it is in a sample of about `count` of them, chosen by what is in
    /// them and not by their order.
    pub fn sample(&self, count: u32) -> Result<Vec<bool>, TryReserveError> {
        let mut sample = Vec::new();
        sample.try_reserve_exact(self.records as usize)?;
        sample.resize(self.records as usize, false);
        let most = u64::MAX / u64::from(self.records.div_ceil(count).max(1));
        for (hash, record) in &self.numbers {
            sample[*record as usize] = *hash <= most;
        }
        Ok(sample)
    }

    /// Returns the rows of each record.
    pub fn finish(self) -> Result<Copies, TryReserveError> {
        let mut ends = Vec::new();
        ends.try_reserve_exact(self.records as usize + 1)?;
        ends.resize(self.records as usize + 1, 0u32);
        for record in &self.of_row {
            ends[*record as usize + 1] += 1;
        }
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let mut rows = Vec::new();
        rows.try_reserve_exact(self.of_row.len())?;
        rows.resize(self.of_row.len(), 0);
        // What begins where a record's rows begin ends where they end.
        for (row, record) in (0..).zip(&self.of_row) {
            let at = &mut ends[*record as usize];
            rows[*at as usize] = row;
            *at += 1;
        }
        Ok(Copies {
            ends,
            rows,
            first: self.first,
        })
    }
}

/// The rows of each record.
pub struct Copies {
    /// Where the rows of each record end.
    ends: Vec<u32>,
    /// The rows of one record after those of another, each in their order.
    rows: Vec<u32>,
    first: Option<u32>,
}

/// Rows of which each of the left is a pair with each of the right.
type Sides<'a> = [(&'a [u32], &'a [u32]); 2];

impl Copies {
    /// Returns how many records there are.
    pub fn records(&self) -> u32 {
        self.ends.len() as u32 - 1
    }

    /// Returns how many rows there are.
    pub fn rows(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Returns the rows of a record.
    pub fn of(&self, record: u32) -> &[u32] {
        let record = record as usize;
        let start = record.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rows[start as usize..self.ends[record] as usize]
    }

    /// Returns the record of a row.
    pub fn record_of(&self, row: u32) -> Option<u32> {
        let at = self.rows.iter().position(|other| *other == row)?;
        Some(self.ends.partition_point(|end| *end as usize <= at) as u32)
    }

    /// Returns which rows are pairs if two records are one, of a row of each table where there are two.
    fn sides(&self, pair: Candidate) -> Sides<'_> {
        let (a, b) = (self.of(pair.a), self.of(pair.b));
        let Some(first) = self.first else {
            return [(a, b), (&[], &[])];
        };
        let split = |rows: &'_ [u32]| rows.partition_point(|row| *row < first);
        let ((a, a_second), (b, b_second)) = (a.split_at(split(a)), b.split_at(split(b)));
        match pair.a == pair.b {
            true => [(a, a_second), (&[], &[])],
            false => [(a, b_second), (b, a_second)],
        }
    }

    /// Returns whether the pairs of rows are those of one row with a later one.
    fn are_of_one(&self, pair: Candidate) -> bool {
        self.first.is_none() && pair.a == pair.b
    }

    /// Returns how many pairs of rows a pair of records is.
    pub fn count(&self, pair: Candidate) -> u64 {
        if self.are_of_one(pair) {
            let rows = self.of(pair.a).len() as u64;
            return rows * (rows - 1) / 2;
        }
        let pairs = |(left, right): (&[u32], &[u32])| left.len() as u64 * right.len() as u64;
        self.sides(pair).map(pairs).iter().sum()
    }

    /// Returns one of the pairs of rows that a pair of records is, which is one at least.
    pub fn first_pair(&self, pair: Candidate) -> [u32; 2] {
        if self.are_of_one(pair) {
            let rows = self.of(pair.a);
            return [rows[0], rows[1]];
        }
        let is_pair = |(a, b): &(&[u32], &[u32])| !a.is_empty() && !b.is_empty();
        let [first, second] = self.sides(pair);
        let (a, b) = if is_pair(&first) { first } else { second };
        [a[0], b[0]]
    }

    /// Calls `each` with every pair of rows that a pair of records is; the first row is of the first
    /// table, if there are two.
    pub fn for_each(&self, pair: Candidate, mut each: impl FnMut(u32, u32)) {
        for (left, right) in self.sides(pair) {
            for (i, &a) in left.iter().enumerate() {
                let others = if self.are_of_one(pair) { i + 1 } else { 0 };
                right[others..].iter().for_each(|&b| each(a, b));
            }
        }
    }

    /// Calls `each` with pairs of rows that are in no pair yet, and puts them into `taken`.
    pub fn for_each_free(
        &self,
        pair: Candidate,
        taken: &mut [bool],
        mut each: impl FnMut(u32, u32),
    ) {
        for (left, right) in self.sides(pair) {
            let mut others = right.iter().copied();
            for &a in left {
                if taken[a as usize] {
                    continue;
                }
                let free = |b: &u32| *b != a && !taken[*b as usize];
                let Some(b) = others.find(free) else { break };
                taken[a as usize] = true;
                taken[b as usize] = true;
                each(a, b);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(hashes: &[u64], first: Option<usize>) -> Copies {
        let mut builder = CopiesBuilder::default();
        for (i, hash) in hashes.iter().enumerate() {
            if first == Some(i) {
                builder.begin_second_table();
            }
            builder.add((*hash > 0).then_some(*hash)).unwrap();
        }
        builder.finish().unwrap()
    }

    fn pairs(copies: &Copies, a: u32, b: u32) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        copies.for_each(Candidate { a, b }, |a, b| pairs.push((a, b)));
        assert_eq!(copies.count(Candidate { a, b }), pairs.len() as u64);
        pairs
    }

    fn free(copies: &Copies, a: u32, b: u32) -> Vec<(u32, u32)> {
        let mut taken = vec![false; copies.rows() as usize];
        let mut pairs = Vec::new();
        copies.for_each_free(Candidate { a, b }, &mut taken, |a, b| pairs.push((a, b)));
        pairs
    }

    #[test]
    fn copies_are_one_record() {
        // Rows without features are like no other.
        let one = copies(&[7, 9, 7, 0, 0, 9, 7], None);
        assert_eq!((one.records(), one.rows()), (4, 7));
        assert_eq!(one.of(0), [0, 2, 6]);
        assert_eq!(
            [5, 6, 4, 7].map(|row| one.record_of(row)),
            [Some(1), Some(0), Some(3), None]
        );
        assert_eq!(pairs(&one, 0, 0), [(0, 2), (0, 6), (2, 6)]);
        assert_eq!(
            pairs(&one, 0, 1),
            [(0, 1), (0, 5), (2, 1), (2, 5), (6, 1), (6, 5)]
        );
        assert_eq!(pairs(&one, 2, 2), []);
        assert_eq!(one.first_pair(Candidate { a: 0, b: 0 }), [0, 2]);
        assert_eq!(free(&one, 0, 0), [(0, 2)]);
        assert_eq!(free(&one, 0, 1), [(0, 1), (2, 5)]);
    }

    #[test]
    fn a_sample_is_of_records_by_what_is_in_them() {
        let hash = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let sampled = |order: &mut dyn Iterator<Item = u64>, count| -> Vec<u64> {
            let (mut builder, hashes): (_, Vec<u64>) =
                (CopiesBuilder::default(), order.map(hash).collect());
            for hash in &hashes {
                builder.add(Some(*hash)).unwrap();
            }
            let sample = builder.sample(count).unwrap();
            let mut chosen: Vec<u64> = (hashes.iter().zip(sample))
                .filter(|(_, is_in)| *is_in)
                .map(|(hash, _)| *hash)
                .collect();
            chosen.sort_unstable();
            chosen
        };
        let some = sampled(&mut (1..1001), 100);
        assert!((80..120).contains(&some.len()), "{}", some.len());
        assert_eq!(some, sampled(&mut (1..1001).rev(), 100));
        assert_eq!(sampled(&mut (1..1001), 1000).len(), 1000);
    }

    #[test]
    fn copies_of_two_tables() {
        let two = copies(&[7, 7, 9, 7, 9, 9, 7], Some(3));
        assert_eq!(pairs(&two, 0, 0), [(0, 3), (0, 6), (1, 3), (1, 6)]);
        assert_eq!(
            pairs(&two, 0, 1),
            [(0, 4), (0, 5), (1, 4), (1, 5), (2, 3), (2, 6)]
        );
        assert_eq!(two.first_pair(Candidate { a: 0, b: 1 }), [0, 4]);
        assert_eq!(free(&two, 0, 0), [(0, 3), (1, 6)]);
        assert_eq!(free(&two, 0, 1), [(0, 4), (1, 5), (2, 3)]);
    }
}
