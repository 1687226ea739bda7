//! What a backend keeps for fingerprints: allocations are counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use simhash_fingerprint::hash::Width;
use simhash_fingerprint::sketch::{Content, Sketch};
use simhash_fingerprint::warm;

use super::{FINGERPRINTS, Outcome, SETS, read_rows, text_plan};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does what is asked for; the numbers beside it allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the block came from `alloc`, hence from the system's allocator.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Lines `rows,what,kilobytes kept after the rows,most kilobytes on the way`: plan, sketch and what
/// they allocate, without the dictionary.
pub fn measure(out: &Path) -> Outcome<()> {
    warm();
    for set in SETS {
        let rows = read_rows(out, set)?;
        for (name, preset, options) in FINGERPRINTS {
            let before = LIVE.load(Ordering::Relaxed);
            MOST.store(before, Ordering::Relaxed);
            let plan = Box::new(text_plan(preset, options)?);
            let mut sketch = Box::new(Sketch::<1>::new(Width::W64));
            for row in &rows {
                sketch.begin();
                sketch.column(&plan, Content::Text(row), &mut || {})?;
            }
            let kilobytes =
                |all: &AtomicUsize| (all.load(Ordering::Relaxed) - before).div_ceil(1000);
            println!("{set},{name},{},{}", kilobytes(&LIVE), kilobytes(&MOST));
        }
    }
    Ok(())
}
