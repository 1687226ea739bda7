//! Inserting a row: four postings, one in each block's key space, logged as one record.
//!
//! The four leaves are locked in the order of the spaces, each after a descent that takes one share
//! lock at a time. If one has no room, all are unlocked, that leaf is split alone, and the insert
//! starts again: no backend splits a page while it holds a leaf of another space.

use super::search::view::{IndexState, View};
use pgrx::PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::tid::Tid;
use simhash_hamming::key::{BLOCKS, Key, Space};
use simhash_hamming::page::leaf;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::Exclusive;
use simhash_pg::page::wal;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;

/// Refuses a row address that no posting can hold. The heap has none: at most 291 rows fit a page.
pub fn check_tid(tid: Tid) {
    if tid.offset > Tid::MAX_OFFSET {
        Error::new(
            ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!(
                "row offset {} exceeds the {} that access method \"simhash\" can store",
                tid.offset,
                Tid::MAX_OFFSET
            ),
        )
        .raise();
    }
}

/// Files a row: under its fingerprint, or in the NULL space.
pub fn insert(rel: Rel, row: IndexedRow, tid: Tid) {
    check_tid(tid);
    let place = |space: Space| (space, space.key(row, tid));
    match row.fingerprint {
        Some(_) => {
            let places: [_; BLOCKS] = std::array::from_fn(|b| place(Space::of_block(b)));
            insert_at(rel, places);
        }
        None => insert_at(rel, [place(Space::NULL)]),
    }
}

/// Appends one posting in each space, atomically.
fn insert_at<const N: usize>(rel: Rel, places: [(Space, Key); N]) {
    loop {
        check_for_interrupts();
        let state = IndexState::read(rel);
        let view = View::new(rel, &state);
        let starts = view.expect_insert(&places);
        let mut leaves: Vec<Exclusive> = Vec::with_capacity(N);
        let blocked = places.iter().zip(starts).find(|((space, key), start)| {
            let page = view.leaf_with_room(*space, *key, *start);
            let found = page.is_some();
            leaves.extend(page);
            !found
        });
        match (blocked, <[Exclusive; N]>::try_from(leaves)) {
            (None, Ok(mut leaves)) => {
                wal::patch::<{ leaf::APPENDED }, _, _>(&mut leaves, |i, page| {
                    leaf::append(page, places[i].1)
                });
                return;
            }
            (Some(((space, key), _)), locked) => {
                drop(locked);
                view.make_room(*space, *key);
            }
            // Every leaf had room, so there are N of them.
            (None, Err(_)) => unreachable!(),
        }
    }
}
