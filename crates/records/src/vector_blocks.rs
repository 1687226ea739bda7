//! The vectors of all rows, and the pairs of them that are compared. [`super::vectors`] adds them
//! in the order of rows; [`super::comparison`], [`super::frequencies`] and [`super::known`] go
//! through pairs here. What memory does not hold is in a store, of which one block of rows is in
//! memory at a time. Pairs come in the order of the second row's block, so a row is read once for
//! all the rows of a block that it is compared with.

use crate::copies::Candidate;
use crate::notes::Notes;
use crate::rarity::Rarity;
use crate::vector::{Component, Vector};
use simhash_base::bytes::get_u32;
use simhash_base::runs::Order;
use simhash_base::store::{Store, TempStores};
use std::collections::TryReserveError;

/// Bytes of a component in a store.
const COMPONENT: usize = 12;
/// Bytes of a row in memory beside its components, about.
const ROW: usize = 192;
/// Bytes that are written at a time.
const CHUNK: usize = 1 << 16;

/// Returns how many of these rows are in a block, so that the vectors of most blocks take less than `memory`.
pub fn block_rows(rows: u32, features: u64, memory: usize) -> u32 {
    let bytes = ROW as u64 + COMPONENT as u64 * features / u64::from(rows.max(1));
    u32::try_from(memory as u64 / bytes).map_or(u32::MAX, |rows| rows.max(1))
}

/// By the block of the second row, then by the first row, then by the second.
pub struct ByBlock {
    /// Rows of a block.
    pub rows: u32,
}

impl Order<Candidate> for ByBlock {
    type Key = (u32, Candidate);

    fn key(&self, pair: &Candidate) -> (u32, Candidate) {
        (pair.b / self.rows, *pair)
    }
}

/// The vectors of all rows.
pub struct VectorBlocks<F> {
    /// Where each row's components end, counted over all rows.
    ends: Vec<u64>,
    /// Number of components of all rows.
    count: u64,
    /// By which components are multiplied when they are read, 1 where there is none.
    columns: Vec<f32>,
    /// How rare the values of each column are.
    pub rarity: Rarity,
    /// What else is kept of each row.
    pub notes: Notes<F>,
    /// All components, or those that are not in the store yet.
    in_memory: Vec<Component>,
    /// Components that memory holds, if no block is beside them.
    limit: usize,
    file: Option<F>,
    block_rows: u32,
    /// Bytes of the vectors of a block.
    memory: usize,
}

impl<F: Store> VectorBlocks<F> {
    /// No vectors yet, of which this many rows are a block.
    pub fn new(block_rows: u32, memory: usize) -> Self {
        VectorBlocks {
            ends: Vec::new(),
            count: 0,
            columns: Vec::new(),
            rarity: Rarity::default(),
            notes: Notes::new(0),
            in_memory: Vec::new(),
            limit: memory / 2 / COMPONENT,
            file: None,
            block_rows,
            memory,
        }
    }

    /// Adds a component of the present row.
    pub fn push(
        &mut self,
        component: Component,
        stores: &mut impl TempStores<File = F>,
    ) -> Result<(), TryReserveError> {
        self.count += 1;
        self.in_memory.try_reserve(1)?;
        self.in_memory.push(component);
        let most = match self.file {
            Some(_) => CHUNK / COMPONENT,
            None => self.limit,
        };
        if self.in_memory.len() > most {
            self.flush(stores);
        }
        Ok(())
    }

    /// Ends the present row.
    pub fn end_row(&mut self) -> Result<(), TryReserveError> {
        self.ends.try_reserve(1)?;
        self.ends.push(self.count);
        Ok(())
    }

    /// Ends the last row: all components are in memory, or all are in the store.
    pub fn end(&mut self, stores: &mut impl TempStores<File = F>) {
        if self.file.is_some() {
            self.flush(stores);
            self.in_memory = Vec::new();
        }
    }

    fn flush(&mut self, stores: &mut impl TempStores<File = F>) {
        let file = self.file.get_or_insert_with(|| stores.file());
        for some in self.in_memory.chunks(CHUNK / COMPONENT) {
            let parts = some.iter().flat_map(|component| {
                [
                    component.feature.to_ne_bytes(),
                    component.column.to_ne_bytes(),
                    component.weight.to_bits().to_ne_bytes(),
                ]
            });
            let bytes: Vec<u8> = parts.flatten().collect();
            file.write(&bytes);
        }
        self.in_memory.clear();
    }

    /// Multiplies what columns weigh from now on.
    pub fn weigh(&mut self, columns: &[f64]) {
        self.columns = columns.iter().map(|weight| *weight as f32).collect();
    }

    /// Calls `each` with the vectors of each pair, once for pairs that follow each other. It is fast if they come by block.
    pub fn for_each_pair<S: TempStores<File = F>>(
        &mut self,
        pairs: impl Iterator<Item = Candidate>,
        stores: &mut S,
        mut each: impl FnMut(Candidate, &Vector, &Vector),
    ) -> Result<(), TryReserveError> {
        let mut block = Block::default();
        let mut single: [Single; 2] = Default::default();
        let mut last = None;
        for pair in pairs {
            // Two rows may share several rare features.
            if last == Some(pair) {
                continue;
            }
            last = Some(pair);
            stores.check_interrupts();
            let number = pair.b / self.block_rows;
            if block.number != Some(number) {
                self.read_block(number, &mut block, stores)?;
            }
            let [a, b] = &mut single;
            let a = match block.get(pair.a) {
                Some(vector) => vector,
                None => a.read(pair.a, self)?,
            };
            let b = match block.get(pair.b) {
                Some(vector) => vector,
                None => b.read(pair.b, self)?,
            };
            each(pair, a, b);
        }
        Ok(())
    }

    /// Reads the rows of a block that memory holds, one at least.
    fn read_block(
        &mut self,
        number: u32,
        block: &mut Block,
        stores: &mut impl TempStores<File = F>,
    ) -> Result<(), TryReserveError> {
        block.number = Some(number);
        block.first = number * self.block_rows;
        let rows = (self.ends.len() - block.first as usize).min(self.block_rows as usize);
        let (mut count, mut bytes) = (0, 0);
        while count < rows && bytes <= self.memory {
            stores.check_interrupts();
            if count == block.rows.len() {
                block.rows.try_reserve(1)?;
                block.rows.push(Vector::default());
            }
            let vector = &mut block.rows[count];
            self.read(block.first + count as u32, vector)?;
            bytes += ROW + COMPONENT * vector.components.capacity();
            count += 1;
        }
        block.rows.truncate(count);
        Ok(())
    }

    /// Sets `vector` to that of a row.
    pub fn read(&mut self, row: u32, vector: &mut Vector) -> Result<(), TryReserveError> {
        self.read_components(row, &mut vector.components)?;
        for component in &mut vector.components {
            if let Some(weight) = self.columns.get(component.column as usize) {
                component.weight *= weight;
            }
        }
        vector.add_up();
        self.notes.read(row, &mut vector.notes)
    }

    fn read_components(
        &mut self,
        row: u32,
        vector: &mut Vec<Component>,
    ) -> Result<(), TryReserveError> {
        let row = row as usize;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        let end = self.ends[row];
        vector.clear();
        vector.try_reserve_exact((end - start) as usize)?;
        let Some(file) = &mut self.file else {
            vector.extend_from_slice(&self.in_memory[start as usize..end as usize]);
            return Ok(());
        };
        let mut at = start * COMPONENT as u64;
        let mut left = (end - start) as usize * COMPONENT;
        let mut bytes = [0; 128 * COMPONENT];
        while left > 0 {
            let bytes = &mut bytes[..left.min(128 * COMPONENT)];
            file.read(at, bytes);
            vector.extend(bytes.chunks_exact(COMPONENT).map(|bytes| Component {
                feature: get_u32(bytes, 0),
                column: get_u32(bytes, 4),
                weight: f32::from_bits(get_u32(bytes, 8)),
            }));
            at += bytes.len() as u64;
            left -= bytes.len();
        }
        Ok(())
    }
}

/// Rows that are in memory.
#[derive(Default)]
struct Block {
    number: Option<u32>,
    first: u32,
    rows: Vec<Vector>,
}

impl Block {
    fn get(&self, row: u32) -> Option<&Vector> {
        self.rows.get(row.checked_sub(self.first)? as usize)
    }
}

/// A row that is read by itself, and kept until another one is.
#[derive(Default)]
struct Single {
    row: Option<u32>,
    vector: Vector,
}

impl Single {
    fn read<F: Store>(
        &mut self,
        row: u32,
        vectors: &mut VectorBlocks<F>,
    ) -> Result<&Vector, TryReserveError> {
        if self.row != Some(row) {
            self.row = None;
            vectors.read(row, &mut self.vector)?;
            self.row = Some(row);
        }
        Ok(&self.vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A store that counts how often it is read.
    struct Counted {
        bytes: Vec<u8>,
        reads: Rc<Cell<usize>>,
    }

    impl Store for Counted {
        fn write(&mut self, bytes: &[u8]) {
            self.bytes.extend_from_slice(bytes);
        }

        fn read(&mut self, at: u64, bytes: &mut [u8]) {
            self.reads.set(self.reads.get() + 1);
            self.bytes.read(at, bytes);
        }
    }

    #[derive(Default)]
    struct InMemory {
        reads: Rc<Cell<usize>>,
    }

    impl TempStores for InMemory {
        type File = Counted;

        fn file(&mut self) -> Counted {
            Counted {
                bytes: Vec::new(),
                reads: self.reads.clone(),
            }
        }

        fn check_interrupts(&mut self) {}
    }

    /// Returns the features of the vectors of all pairs of 100 rows, and how often the store was read.
    fn pairs_of_all(block_rows: u32, memory: usize) -> (Vec<(Candidate, u32, u32)>, usize) {
        let mut stores = InMemory::default();
        let mut vectors = VectorBlocks::new(block_rows, memory);
        for row in 0..100 {
            for i in 0..=row % 7 {
                let component = Component {
                    feature: row * 10 + i,
                    column: 0,
                    weight: 1.0,
                };
                vectors.push(component, &mut stores).unwrap();
            }
            vectors.end_row().unwrap();
        }
        vectors.end(&mut stores);
        let mut pairs: Vec<Candidate> = (0..100)
            .flat_map(|b| (0..b).map(move |a| Candidate { a, b }))
            .collect();
        ByBlock { rows: block_rows }.sort(&mut pairs, &mut || {});
        let mut found = Vec::new();
        let sum = |vector: &Vector| vector.components.iter().map(|c| c.feature).sum();
        let add = |pair, a: &Vector, b: &Vector| found.push((pair, sum(a), sum(b)));
        vectors
            .for_each_pair(pairs.into_iter(), &mut stores, add)
            .unwrap();
        found.sort();
        (found, stores.reads.get())
    }

    #[test]
    fn a_row_is_read_once_for_a_block() {
        let (found, reads) = pairs_of_all(100, usize::MAX);
        let sum = |row: u32| (0..=row % 7).map(|i| row * 10 + i).sum::<u32>();
        let is_right =
            |(pair, a, b): &(Candidate, u32, u32)| *a == sum(pair.a) && *b == sum(pair.b);
        assert!(found.len() == 4950 && found.iter().all(is_right));
        assert_eq!(reads, 0);
        // Ten blocks: each of their rows once, and each row before a block once.
        let (in_blocks, reads) = pairs_of_all(10, 10 * (ROW + 7 * COMPONENT));
        assert_eq!((&in_blocks, reads), (&found, 100 + 10 * 45));
        // Of a block that memory does not hold one row is there.
        let (singly, reads) = pairs_of_all(10, 0);
        assert!(singly == found && reads > 4000, "{reads}");
    }
}
