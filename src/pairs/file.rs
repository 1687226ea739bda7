//! Pairs of more rows than memory holds: groups are divided into temporary files by the same
//! pigeonholes until each fits, and then searched in memory ([`super::find`]).

#![forbid(unsafe_code)]

use super::compare::TILE;
use super::find::{Finder, Host, Row, WINDOW, window};
use super::split::{Task, choose};
use crate::bytes::get_u64;
use crate::store::Store;
use std::collections::TryReserveError;

const ROW: usize = size_of::<Row>();
/// Rows that are written at a time, and read for a division.
const CHUNK: usize = 64;
/// Bytes of the buffer that the server keeps for an open temporary file.
const FILE_BUFFER: usize = 8192;

/// Rows in a temporary file.
pub struct Part<F> {
    file: F,
    rows: u64,
    /// The first row's fingerprint, and the bits in which others differ from it.
    first: u64,
    varying: u64,
    unwritten: Vec<u8>,
}

impl<F: Store> Part<F> {
    pub fn new(file: F) -> Self {
        Part {
            file,
            rows: 0,
            first: 0,
            varying: 0,
            unwritten: Vec::with_capacity(CHUNK * ROW),
        }
    }

    pub fn add(&mut self, row: Row) {
        if self.rows == 0 {
            self.first = row.fingerprint;
        }
        self.rows += 1;
        self.varying |= self.first ^ row.fingerprint;
        self.unwritten.extend(row.fingerprint.to_ne_bytes());
        self.unwritten.extend(row.tag.to_ne_bytes());
        if self.unwritten.len() >= CHUNK * ROW {
            self.flush();
        }
    }

    /// Writes the rows that are not in the file yet. Reading comes after it.
    fn flush(&mut self) {
        self.file.write(&self.unwritten);
        self.unwritten.clear();
    }

    /// Reads at most `most` rows from row `at` on.
    fn read(&mut self, at: u64, most: usize, rows: &mut Vec<Row>, pause: &mut dyn FnMut()) {
        rows.clear();
        let mut bytes = [0; CHUNK * ROW];
        let end = self.rows.min(at + most as u64);
        for start in (at..end).step_by(CHUNK) {
            pause();
            let count = (end - start).min(CHUNK as u64) as usize;
            let bytes = &mut bytes[..count * ROW];
            self.file.read(start * ROW as u64, bytes);
            rows.extend(bytes.chunks_exact(ROW).map(|bytes| Row {
                fingerprint: get_u64(bytes, 0),
                tag: get_u64(bytes, 8),
            }));
        }
    }

    /// Shows every row.
    fn for_each(&mut self, pause: &mut dyn FnMut(), mut each: impl FnMut(Row)) {
        let (mut rows, mut at) = (Vec::with_capacity(CHUNK), 0);
        while at < self.rows {
            self.read(at, CHUNK, &mut rows, pause);
            at += rows.len() as u64;
            rows.iter().for_each(|row| each(*row));
        }
    }
}

/// Rows gathered in memory, or in a file once there are too many.
pub struct Gathered<F> {
    rows: Vec<Row>,
    /// Rows that memory holds.
    limit: usize,
    spilled: Option<Part<F>>,
}

impl<F: Store> Gathered<F> {
    /// In `memory` bytes.
    pub fn new(memory: usize) -> Self {
        Gathered {
            rows: Vec::new(),
            limit: (memory / ROW).max(4 * TILE),
            spilled: None,
        }
    }

    /// Adds a row; fails when the system has no more memory.
    pub fn add(&mut self, row: Row, host: &mut impl Host<File = F>) -> Result<(), TryReserveError> {
        if let Some(part) = &mut self.spilled {
            part.add(row);
            return Ok(());
        }
        if self.rows.len() == self.limit {
            let mut part = Part::new(host.file());
            for some in self.rows.chunks(CHUNK) {
                host.pause();
                some.iter().for_each(|row| part.add(*row));
            }
            self.rows.clear();
            part.add(row);
            self.spilled = Some(part);
            // From here on the other half of the memory is for the buffers of files.
            self.limit /= 2;
            self.rows.shrink_to(self.limit);
            return Ok(());
        }
        if self.rows.len() == self.rows.capacity() {
            let more = self.rows.len().max(TILE).min(self.limit - self.rows.len());
            self.rows.try_reserve_exact(more)?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Gives every pair within `radius` to the host.
    pub fn find_pairs(&mut self, host: &mut impl Host<File = F>, radius: u32) {
        let mut finder = Finder::new(host, radius);
        let wants_distinct = finder.host.wants_distinct();
        let Some(part) = &mut self.spilled else {
            let distinct = match wants_distinct && !self.rows.is_empty() {
                true => finder.distinct(&mut self.rows),
                false => self.rows.len(),
            };
            return finder.slice(&mut self.rows[..distinct], Task::ALL);
        };
        part.flush();
        let files = self.limit * ROW / 2 / (FILE_BUFFER + CHUNK * ROW);
        let bits = files.max(4).ilog2().min(WINDOW);
        let rows = std::mem::take(&mut self.rows);
        let mut search = Files {
            finder,
            rows,
            limit: self.limit,
            bits,
        };
        match wants_distinct {
            true => {
                let mut distinct = Part::new(search.finder.host.file());
                search.distinct(part, &mut distinct);
                distinct.flush();
                search.part(&mut distinct, Task::ALL);
            }
            false => search.part(part, Task::ALL),
        }
        self.rows = std::mem::take(&mut search.rows);
    }

    /// Shows every row.
    pub fn for_each(&mut self, pause: &mut dyn FnMut(), mut each: impl FnMut(Row)) {
        if let Some(part) = &mut self.spilled {
            part.flush();
            return part.for_each(pause, each);
        }
        for some in self.rows.chunks(CHUNK) {
            pause();
            some.iter().for_each(|row| each(*row));
        }
    }
}

/// A search for pairs of rows in files.
struct Files<'h, H: Host> {
    finder: Finder<'h, H>,
    /// For the rows of files that fit.
    rows: Vec<Row>,
    limit: usize,
    /// A file is divided into two to the power of this.
    bits: u32,
}

impl<H: Host> Files<'_, H> {
    /// As [`Finder::slice`], for a file.
    fn part(&mut self, part: &mut Part<H::File>, task: Task) {
        if part.rows < 2 || self.finder.is_elsewhere(part.varying) {
            return;
        }
        if part.rows <= self.limit as u64 {
            let pause = &mut || self.finder.host.pause();
            part.read(0, self.limit, &mut self.rows, pause);
            return self.finder.slice(&mut self.rows, task);
        }
        if self.finder.is_one(part.varying) {
            return self.chain(part);
        }
        let task = task.within(part.varying);
        if task.must != 0 {
            return self.group(part, task);
        }
        let Some(split) = choose(part.rows, task, self.finder.radius) else {
            return self.rest(part, task);
        };
        for i in 0..split.blocks.len() {
            let outer = self.finder.enter(&split, i);
            self.part(part, split.branch(task, i));
            self.finder.leave(outer);
        }
    }

    /// As the finder's division by bits in which pairs must agree.
    fn group(&mut self, part: &mut Part<H::File>, task: Task) {
        let (bits, groups) = self.divide(part, task.must);
        let task = Task {
            must: task.must & !bits,
            ..task
        };
        let all = part.rows as f64;
        for mut group in groups {
            let of = group.rows as f64 / all;
            let outer = self.finder.begin_part();
            self.part(&mut group, task);
            self.finder.end_part(outer, of);
        }
    }

    /// Divides rows by as many of some bits as there may be files; returns those bits.
    fn divide(&mut self, part: &mut Part<H::File>, by: u64) -> (u64, Vec<Part<H::File>>) {
        let (bits, shift) = window(by, self.bits);
        let host = &mut *self.finder.host;
        let mut groups: Vec<_> = (0..1 << self.bits)
            .map(|_| Part::new(host.file()))
            .collect();
        part.for_each(&mut || host.pause(), |row| {
            groups[((row.fingerprint & bits) >> shift) as usize].add(row);
        });
        groups.iter_mut().for_each(Part::flush);
        (bits, groups)
    }

    /// Compares what is not worth dividing. Where only connections matter, one of several equal
    /// rows is enough.
    fn rest(&mut self, part: &mut Part<H::File>, task: Task) {
        if !self.finder.host.is_transitive() {
            return self.compare(part);
        }
        let mut distinct = Part::new(self.finder.host.file());
        self.distinct(part, &mut distinct);
        distinct.flush();
        match distinct.rows <= part.rows / 2 {
            true => self.part(&mut distinct, task),
            false => self.compare(&mut distinct),
        }
    }

    /// As [`Finder::distinct`], from one file into another.
    fn distinct(&mut self, part: &mut Part<H::File>, into: &mut Part<H::File>) {
        if part.rows <= self.limit as u64 {
            let pause = &mut || self.finder.host.pause();
            part.read(0, self.limit, &mut self.rows, pause);
            if part.rows > 0 {
                let distinct = self.finder.distinct(&mut self.rows);
                self.rows[..distinct].iter().for_each(|row| into.add(*row));
            }
        } else if part.varying == 0 {
            self.chain(part);
            part.read(0, 1, &mut self.rows, &mut || ());
            self.rows.iter().for_each(|row| into.add(*row));
        } else {
            for mut group in self.divide(part, part.varying).1 {
                self.distinct(&mut group, into);
            }
        }
    }

    /// As [`Finder::chain`], for a file.
    fn chain(&mut self, part: &mut Part<H::File>) {
        let (mut rows, mut at, mut last) = (Vec::with_capacity(CHUNK), 0, None);
        while at < part.rows {
            part.read(at, CHUNK, &mut rows, &mut || self.finder.host.pause());
            at += rows.len() as u64;
            for row in &rows {
                if let Some(last) = last.replace(*row) {
                    self.finder.connect(last, *row);
                }
            }
        }
    }

    /// Compares all pairs: the rows that memory holds with each other and with all rows after them.
    fn compare(&mut self, part: &mut Part<H::File>) {
        let mut behind = Vec::with_capacity(TILE);
        let mut at = 0;
        while at < part.rows {
            let pause = &mut || self.finder.host.pause();
            part.read(at, self.limit, &mut self.rows, pause);
            let outer = self.finder.begin_part();
            self.finder.compare(&self.rows, 0);
            let (some, rest) = (
                self.rows.len() as u64,
                part.rows - at - self.rows.len() as u64,
            );
            at += some;
            for next in (at..part.rows).step_by(TILE) {
                part.read(next, TILE, &mut behind, &mut || self.finder.host.pause());
                for rows in self.rows.chunks(TILE) {
                    self.finder.tiles(rows, &behind, false, 0);
                }
            }
            let of = some as f64 * (some as f64 / 2.0 + rest as f64);
            self.finder
                .end_part(outer, of / (part.rows as f64 * part.rows as f64 / 2.0));
        }
    }
}
