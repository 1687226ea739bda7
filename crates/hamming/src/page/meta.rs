//! The metapage, block 0.
//!
//! ```text
//!  byte 24  u32  magic             28  u32  format version
//!       32  u64  build stamp: random, drawn by each build; tells trees in the same file apart
//!       40  u32[5]  root block of each key space
//!       60  u8[5]   level of each root          65  unused
//!       68  u32[5]  leaves of each key space, when last counted (build, VACUUM)
//!       88  u64  rows with a fingerprint, when last counted
//!       96  u64  rows without
//! ```
//! The counts serve estimates only; no answer depends on them.

#![forbid(unsafe_code)]

use super::{
    HEADER, Page, check_header, get_u32, get_u64, init_header, put_u32, put_u64, set_lower,
};
use crate::Error;
use crate::key::SPACES;

/// Block number of the metapage.
pub const META_BLOCK: u32 = 0;
const MAGIC: u32 = 0x5348_4958;
/// Version of the on-disk format that a build writes, and the only one that this library reads.
pub const FORMAT_VERSION: u32 = 2;
/// The highest version that a release may have. The format changes with a major version of the
/// extension only, so a higher one is damage: of 1,020 changes of one byte 921 are seen.
const LAST_VERSION: u32 = 100;
const END: usize = HEADER + 80;

/// The content of a metapage of format [`FORMAT_VERSION`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The build stamp.
    pub stamp: u64,
    /// The root of each key space.
    pub roots: [u32; SPACES],
    /// The level of each root.
    pub levels: [u8; SPACES],
    /// Leaves of each key space, when last counted.
    pub leaves: [u32; SPACES],
    /// Rows with a fingerprint, when last counted.
    pub rows: u64,
    /// Rows without a fingerprint, when last counted.
    pub null_rows: u64,
}

impl Meta {
    /// The half of the build stamp that every page carries.
    #[inline]
    pub fn page_stamp(&self) -> u32 {
        self.stamp as u32
    }

    /// Reads a metapage; an error if it is none, is damaged or has another format.
    #[inline]
    pub fn read(page: &Page) -> Result<Meta, Error> {
        check_header(page, 0)?;
        if get_u32(page, HEADER) != MAGIC {
            return Err(Error::damaged("not the metapage of a simhash index"));
        }
        let version = get_u32(page, HEADER + 4);
        match version {
            FORMAT_VERSION => {}
            1..=LAST_VERSION => return Err(Error::OtherFormat(version)),
            _ => {
                let fault = format!("no release has format {version}");
                return Err(Error::damaged(fault));
            }
        }
        Ok(Meta {
            stamp: get_u64(page, 32),
            roots: std::array::from_fn(|s| get_u32(page, 40 + 4 * s)),
            levels: std::array::from_fn(|s| page[60 + s]),
            leaves: std::array::from_fn(|s| get_u32(page, 68 + 4 * s)),
            rows: get_u64(page, 88),
            null_rows: get_u64(page, 96),
        })
    }

    /// Makes a metapage of an empty page.
    #[inline]
    pub fn init(&self, page: &mut Page) {
        init_header(page, 0);
        self.write(page);
    }

    /// Writes the content into a metapage.
    #[inline]
    pub fn write(&self, page: &mut Page) {
        put_u32(page, HEADER, MAGIC);
        put_u32(page, HEADER + 4, FORMAT_VERSION);
        put_u64(page, 32, self.stamp);
        for s in 0..SPACES {
            put_u32(page, 40 + 4 * s, self.roots[s]);
            page[60 + s] = self.levels[s];
            put_u32(page, 68 + 4 * s, self.leaves[s]);
        }
        put_u64(page, 88, self.rows);
        put_u64(page, 96, self.null_rows);
        set_lower(page, END);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PAGE_SIZE;

    #[test]
    fn what_is_written_is_read() {
        let meta = Meta {
            stamp: 0x0123_4567_89AB_CDEF,
            roots: [1, 2, 3, 4, 5],
            levels: [0, 1, 2, 3, 0],
            leaves: [10, 20, 30, 40, 50],
            rows: u64::MAX,
            null_rows: 7,
        };
        let mut page = [0xAA; PAGE_SIZE];
        meta.init(&mut page);
        assert_eq!(Meta::read(&page), Ok(meta));
        for version in [FORMAT_VERSION - 1, FORMAT_VERSION + 1, LAST_VERSION] {
            put_u32(&mut page, HEADER + 4, version);
            assert_eq!(Meta::read(&page), Err(Error::OtherFormat(version)));
        }
        for version in [0, LAST_VERSION + 1, 0x20_0002, u32::MAX] {
            put_u32(&mut page, HEADER + 4, version);
            let fault = Error::damaged(format!("no release has format {version}"));
            assert_eq!(Meta::read(&page), Err(fault));
        }
    }

    #[test]
    fn a_foreign_page_is_refused() {
        assert!(matches!(
            Meta::read(&[0; PAGE_SIZE]),
            Err(Error::Damaged(_))
        ));
        let mut page = [0; PAGE_SIZE];
        init_header(&mut page, 0);
        assert!(matches!(Meta::read(&page), Err(Error::Damaged(_))));
    }
}
