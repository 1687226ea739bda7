//! What depends on the processor's architecture, with a portable form beside it: on an architecture
//! that the file does not name, the crate does the same, slower. Searches call it. Besides this file,
//! only the two inner loops of `simhash_hamming` name an architecture: `multiversion` compiles them
//! for several sets of instructions, and runs the first that the machine has, or the portable form;
//! one of them has vectors of AVX2 and AVX-512 of its own (`page/near_words.rs`).
//!
//! * x86_64: all tests and measurements ran there.
//! * aarch64: a cross compiler builds it, and qemu ran the two loops' tests and a server with the
//!   extension; nothing ran natively or was measured. It has the portable loops, for which the
//!   compiler uses NEON, since each such processor has it and it counts bits; no prefetch.
//! * Other processors with 64 bits: as aarch64. Numbers in pages are in the processor's order, as
//!   the server's own are. Fingerprints are the same everywhere: hashes read bytes in a fixed order,
//!   and sums of weights are made by IEEE additions in a fixed order.

#![allow(unsafe_code)]

/// Prefetches the cache line at an address, which may be any: the instruction never faults. Does
/// nothing where no such instruction is known.
#[inline]
pub fn prefetch_line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction affects only the cache, and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
