//! Puts rows that agree in some bits side by side, in one pass for up to 8 bits. [`super::find`]
//! divides groups of rows by it, and the sort of edges sorts. Rows change places only: none is lost
//! or doubled.

#![forbid(unsafe_code)]

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
