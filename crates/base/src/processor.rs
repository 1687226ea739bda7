//! What depends on the processor's architecture. This is the only file that asks for it (a test in
//! `lib.rs` checks that), and all that is here has a portable form beside it: on an architecture
//! that the file does not name, the crate does the same, slower.
//!
//! * x86_64: inner loops are compiled for the sets of [`Instructions`] besides, and the one to run
//!   is chosen at run time. All that was tested and measured ran there.
//! * aarch64: nothing was compiled or run. What is expected: the portable loops, for which the
//!   compiler may use NEON, since each such processor has it and it counts bits; no prefetch.
//! * Other processors with 64 bits: as aarch64. Numbers in pages are in the processor's order, as
//!   the server's own are. Fingerprints are the same everywhere: hashes read bytes in a fixed order,
//!   and sums of weights are made by IEEE additions in a fixed order.

#![allow(unsafe_code)]

/// Sets of instructions that a loop may be compiled for besides the portable form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instructions {
    /// Counts the bits of a word.
    Popcnt,
    /// Vectors of 256 bits, and `Popcnt`.
    Avx2,
    /// Counts the bits of vectors of 512 bits, and `Popcnt`.
    Avx512,
}

#[cfg(target_arch = "x86_64")]
impl Instructions {
    /// Returns whether this machine has all instructions of the set. The standard library asks the
    /// processor once.
    #[inline]
    pub fn are_here(self) -> bool {
        let popcnt = is_x86_feature_detected!("popcnt");
        match self {
            Instructions::Popcnt => popcnt,
            Instructions::Avx2 => popcnt && is_x86_feature_detected!("avx2"),
            Instructions::Avx512 => {
                popcnt
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vpopcntdq")
            }
        }
    }
}

/// Defines a function that runs one of several bodies, compiled for the first set of
/// [`Instructions`] that this machine has, or else the portable one:
///
/// ```text
/// kernel! {
///     /// What it does.
///     pub fn find, find_among(tiles: &Tiles, hits: &mut Vec<Hit>) -> usize {
///         portable => body::<1>,
///         Avx2 => body::<32>,
///     }
/// }
/// ```
///
/// The bodies must be `#[inline(always)]`, so that they are compiled anew for each set. The second
/// name is for tests: a function whose first argument says which of the sets may run.
#[macro_export]
macro_rules! kernel {
    (
        $(#[$about:meta])*
        pub fn $name:ident, $among:ident($($argument:ident: $type:ty),*) -> $out:ty {
            portable => $portable:path,
            $($set:ident => $body:path,)+
        }
    ) => {
        $(#[$about])*
        pub fn $name($($argument: $type),*) -> $out {
            $among(|_| true, $($argument),*)
        }

        $crate::kernel! {
            @among $among ($($argument: $type),*) -> $out { $($set $body,)+ } $portable
        }
    };
    // The arguments as one token: they repeat within each set.
    (@among $among:ident $arguments:tt -> $out:ty { $($set:ident $body:path,)+ } $portable:path) => {
        $crate::kernel! {
            @define $among allowed $arguments -> $out {
                $($crate::run_compiled!($set allowed $body, $arguments -> $out);)+
            } $portable
        }
    };
    (
        @define $among:ident $allowed:ident ($($argument:ident: $type:ty),*) -> $out:ty $sets:block
        $portable:path
    ) => {
        #[inline(always)]
        fn $among(
            $allowed: impl Fn($crate::processor::Instructions) -> bool,
            $($argument: $type),*
        ) -> $out {
            $sets
            $portable($($argument),*)
        }
    };
}
/// Returns what a body returns, compiled for a set of instructions, if that is here and allowed.
#[cfg(target_arch = "x86_64")]
#[macro_export]
macro_rules! run_compiled {
    (Popcnt $($rest:tt)*) => {
        $crate::run_compiled! { @ Popcnt "popcnt" $($rest)* }
    };
    (Avx2 $($rest:tt)*) => {
        $crate::run_compiled! { @ Avx2 "avx2,popcnt" $($rest)* }
    };
    (Avx512 $($rest:tt)*) => {
        $crate::run_compiled! {
            @ Avx512 "avx512f,avx512vl,avx512vpopcntdq,popcnt" $($rest)*
        }
    };
    (
        @ $set:ident $features:literal $allowed:ident $body:path,
        ($($argument:ident: $type:ty),*) -> $out:ty
    ) => {{
        #[target_feature(enable = $features)]
        fn compiled($($argument: $type),*) -> $out {
            $body($($argument),*)
        }
        let set = $crate::processor::Instructions::$set;
        if set.are_here() && $allowed(set) {
            // SAFETY: the machine has the instructions.
            return unsafe { compiled($($argument),*) };
        }
    }};
}
#[cfg(not(target_arch = "x86_64"))]
#[macro_export]
macro_rules! run_compiled {
    (
        $set:ident $allowed:ident $body:path, ($($argument:ident: $type:ty),*) -> $out:ty
    ) => {{
        // Nothing is run; the names count as used.
        let _: fn($($type),*) -> $out = $body;
        let _ = (&$allowed, $crate::processor::Instructions::$set);
    }};
}
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
