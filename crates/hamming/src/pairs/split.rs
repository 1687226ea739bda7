//! How a group of fingerprints is divided: the pigeonholes of [`super::find`]. Pure arithmetic.
//!
//! If two fingerprints differ in at most b of some bits, which are cut into b + r pieces, they
//! agree in at least r pieces. Let i be the first piece that agrees, counting from 0: the pair
//! differs in each of the pieces before it, at least once each, so it differs in at most b - i of
//! the bits behind it. That is the same question again, over fewer bits and with a smaller b; r
//! such steps take one pair through C(b + r, r) possible groups, each with r pieces in common.
//!
//! [`separate`] puts rows that agree in some bits side by side. Rows change places only: none is lost or
//! doubled.

#![forbid(unsafe_code)]

/// What is known of the pairs to be found in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Bits in which a pair must agree; the group is not divided by them yet.
    pub must: u64,
    /// Bits in which a pair may differ.
    pub open: u64,
    /// Pieces of `open` that do not overlap, in each of which a pair differs.
    pub zone: u64,
    /// Number of these pieces.
    pub zone_pieces: u32,
}

impl Task {
    /// All pairs of any fingerprints.
    pub const ALL: Task = Task {
        must: 0,
        open: u64::MAX,
        zone: 0,
        zone_pieces: 0,
    };

    /// The same for a group in which only these bits vary.
    #[inline]
    pub fn within(self, varying: u64) -> Task {
        Task {
            must: self.must & varying,
            open: self.open & varying,
            ..self
        }
    }
}

/// Divides a group into branches: branch i is for the pairs whose first piece in common is piece i.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The bits of each piece.
    pub pieces: Vec<u64>,
    /// Whether the branches keep the task's zone, which the pieces leave out.
    keeps_zone: bool,
}

impl Split {
    /// Creates a split by these pieces, which must not overlap.
    #[inline]
    pub fn by(pieces: Vec<u64>) -> Self {
        Split {
            pieces,
            keeps_zone: false,
        }
    }

    /// The task of branch `i` of `task`. Its pairs differ in each of the pieces before `i`.
    #[inline]
    pub fn branch(&self, task: Task, i: usize) -> Task {
        let before = self.pieces[..i].iter().fold(0, |mask, piece| mask | piece);
        let (zone, zone_pieces) = match self.keeps_zone {
            true => (task.zone, task.zone_pieces),
            false => (0, 0),
        };
        Task {
            must: self.pieces[i],
            open: task.open & !self.pieces[i],
            zone: zone | before,
            zone_pieces: zone_pieces + i as u32,
        }
    }
}

/// Nanoseconds that it takes to compare two fingerprints, and to bring one into its group by up to
/// 8 bits: measured with 10 M rows; only their ratio matters.
const COMPARE: f64 = 0.3;
const FILE: f64 = 8.0;
/// Fixed cost of a division, however few the rows: its possible groups are counted, placed and
/// looked at. Measured with groups of 150 rows.
const DIVIDE: f64 = 4000.0;
/// Most divisions in a row that are considered.
const MOST_DIVISIONS: u32 = 6;

/// Number of rows of a group, and of the pairs that they make.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    rows: f64,
    /// Number of pairs.
    pub pairs: f64,
}

impl Size {
    /// The size of a group of one side, whose rows are paired with each other, or of two, of which
    /// the rows of one are paired with those of the other.
    #[inline]
    pub fn from_counts<const N: usize>(counts: [u64; N]) -> Self {
        let counts = counts.map(|count| count as f64);
        let product = counts[0] * counts[N - 1];
        Size {
            rows: counts.iter().sum(),
            pairs: if N == 1 { product / 2.0 } else { product },
        }
    }
}

/// Returns how to divide a group; None when comparing all its pairs is as cheap.
#[inline]
pub fn choose(group: Size, task: Task, radius: u32) -> Option<Split> {
    let everything = COMPARE * group.pairs;
    let fresh = task.open & !task.zone;
    let left = radius.saturating_sub(task.zone_pieces);
    let of_fresh = cheapest(group, fresh.count_ones(), left);
    let of_all = cheapest(group, task.open.count_ones(), radius);
    let keeps_zone = of_fresh.0 <= of_all.0;
    let (over, budget, (cost, pieces)) = match keeps_zone {
        true => (fresh, left, of_fresh),
        false => (task.open, radius, of_all),
    };
    (cost < everything).then(|| Split {
        pieces: cut(over, pieces, budget as usize + 1),
        keeps_zone,
    })
}

/// The cost of dividing by `bits` bits of which `budget` may differ, and into how many pieces to
/// cut.
fn cheapest(group: Size, bits: u32, budget: u32) -> (f64, u32) {
    let mut best = (f64::INFINITY, 0);
    let (mut groups, mut filings) = (1.0, 0.0);
    for step in 1..=MOST_DIVISIONS.min(bits.saturating_sub(budget)) {
        let width = f64::from(bits) / f64::from(budget + step);
        groups *= f64::from(budget + step) / f64::from(step);
        filings += groups * (width / 8.0).ceil();
        let together = (-width * f64::from(step)).exp2();
        let moving = FILE * group.rows * filings + DIVIDE * groups;
        let cost = moving + COMPARE * groups * group.pairs * together;
        if cost < best.0 {
            best = (cost, budget + step);
        }
    }
    best
}

/// The first `count` of `pieces` pieces of even width, from the highest bit of `over` down.
fn cut(mut over: u64, pieces: u32, count: usize) -> Vec<u64> {
    let bits = over.count_ones();
    let (width, wider) = (bits / pieces, bits % pieces);
    let piece = |i| {
        let rest = (0..width + u32::from(i < wider)).fold(over, |rest, _| rest & !highest(rest));
        let piece = over & !rest;
        over = rest;
        piece
    };
    (0..pieces).map(piece).take(count).collect()
}

/// The highest bit of a mask; 0 of 0.
#[inline]
pub fn highest(mask: u64) -> u64 {
    1u64.checked_shl(63u32.wrapping_sub(mask.leading_zeros()))
        .unwrap_or(0)
}

/// Bits by which rows are grouped in one pass: the ends of the groups fit the first-level cache.
pub const WINDOW: u32 = 8;
/// Groups of one pass at most.
pub const GROUPS: usize = 1 << WINDOW;
/// Rows that are looked at or moved between two pauses.
pub const STEPS: usize = 1 << 16;

/// The bits by which a group is divided next, and how far they are to be shifted to count from 0:
/// the highest bits of `must`, as far down as `bits` bits reach.
#[inline]
pub fn window(must: u64, bits: u32) -> (u64, u32) {
    let shift = (u64::BITS - must.leading_zeros()).saturating_sub(bits);
    (must >> shift << shift, shift)
}

/// Puts rows of the same group side by side, in place; returns how many each group has. (American
/// flag sort: McIlroy, Bostic, McIlroy, 'Engineering Radix Sort', 1993; but cycles of rows are not
/// followed, so that the processor need not wait for one row before it fetches the next: Skarupke,
/// 'I Wrote a Faster Sorting Algorithm', 2016.)
#[inline]
pub fn sort_by_group<T: Copy>(
    rows: &mut [T],
    group: impl Fn(&T) -> usize,
    mut check_interrupts: impl FnMut(),
) -> [usize; GROUPS] {
    let mut sizes = [0; GROUPS];
    for some in rows.chunks(STEPS) {
        check_interrupts();
        for row in some {
            sizes[group(row)] += 1;
        }
    }
    let (mut places, mut ends) = ([0; GROUPS], [0; GROUPS]);
    let mut sum = 0;
    for g in 0..GROUPS {
        places[g] = sum;
        sum += sizes[g];
        ends[g] = sum;
    }
    let mut left = rows.len();
    while left > 0 {
        for g in 0..GROUPS {
            // Brings each of these rows to its place. What takes its place here waits for the next
            // round, unless it is at home.
            let (start, end) = (places[g], ends[g]);
            left -= end - start;
            for from in (start..end).step_by(STEPS) {
                check_interrupts();
                for at in from..end.min(from + STEPS) {
                    let place = &mut places[group(&rows[at])];
                    rows.swap(at, *place);
                    *place += 1;
                }
            }
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_bits_once() {
        for over in [u64::MAX, 0x00FF_F0F0_1234_5678, 0xFFF] {
            for pieces in 1..=over.count_ones().min(12) {
                let cut = cut(over, pieces, pieces as usize);
                assert_eq!(cut.len(), pieces as usize);
                assert_eq!(cut.iter().fold(0, |all, b| all | b), over);
                let widths: Vec<u32> = cut.iter().map(|b| b.count_ones()).collect();
                assert_eq!(widths.iter().sum::<u32>(), over.count_ones());
                assert!(widths.iter().all(|w| widths[0] - w <= 1));
            }
        }
    }

    #[test]
    fn ten_million_rows_within_three_are_filed_under_four_keys() {
        let keys: Vec<u64> = (0..4).map(|b| 0xFFFF << (48 - 16 * b)).collect();
        let one = choose(Size::from_counts([10_000_000]), Task::ALL, 3);
        assert_eq!(one.unwrap().pieces, keys);
        let two = choose(Size::from_counts([5_000_000, 5_000_000]), Task::ALL, 3);
        assert_eq!(two.unwrap().pieces, keys);
    }

    #[test]
    fn few_rows_and_few_bits_are_compared() {
        let million = Size::from_counts([1_000_000]);
        assert_eq!(choose(Size::from_counts([10]), Task::ALL, 3), None);
        assert_eq!(choose(million, Task::ALL.within(0b111), 3), None);
        assert_eq!(choose(million, Task::ALL, 64), None);
        assert_eq!(
            choose(Size::from_counts([3, 1_000_000]), Task::ALL, 3),
            None
        );
    }

    #[test]
    fn groups_of_ten_million_rows_are_not_divided_again() {
        // A third of the way: a pair may differ in one of the last 16 bits.
        let split = choose(Size::from_counts([10_000_000]), Task::ALL, 3).unwrap();
        let task = Task {
            must: 0,
            ..split.branch(Task::ALL, 2)
        };
        assert_eq!(choose(Size::from_counts([152]), task, 3), None);
        assert!(choose(Size::from_counts([1000]), task, 3).is_some());
    }
}
