//! What the operating system knows of a process, and does with its pages and processors. Linux; on
//! other systems the functions say that they cannot. Like pq.rs, a file with unsafe code.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::pq::{Client, Outcome};

pub const PAGE: usize = 8_192;
/// Pages of each file of a relation but the last.
const SEGMENT: usize = 131_072;

/// The files of a relation, outside the server.
pub struct Pages {
    segments: Vec<File>,
    count: usize,
}

/// The file of a page, and where in it the page begins.
fn place(page: usize) -> (usize, u64) {
    (page / SEGMENT, (page % SEGMENT * PAGE) as u64)
}

impl Pages {
    pub fn open(client: &Client, relation: &str) -> Outcome<Pages> {
        let path = client.run(&format!(
            "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('{relation}')"
        ))?;
        let path = path.text(0, 0).ok_or("no file")?.to_owned();
        let mut segments = vec![File::open(&path)?];
        while let Ok(next) = File::open(format!("{path}.{}", segments.len())) {
            segments.push(next);
        }
        let lengths: io::Result<Vec<u64>> =
            segments.iter().map(|f| Ok(f.metadata()?.len())).collect();
        let count = lengths?.iter().sum::<u64>() as usize / PAGE;
        Ok(Pages { segments, count })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Lets the page cache forget them all. It keeps what is not written yet, so that is written.
    pub fn drop_from_cache(&self) -> io::Result<()> {
        for file in &self.segments {
            file.sync_data()?;
            advise(file, 0, 0, Advice::Forget)?;
        }
        Ok(())
    }

    /// Tells that the page will be read soon.
    pub fn ask(&self, page: usize) -> io::Result<()> {
        let (segment, start) = place(page);
        advise(&self.segments[segment], start, PAGE, Advice::Fetch)
    }

    pub fn read(&self, page: usize) -> io::Result<()> {
        let (segment, start) = place(page);
        self.segments[segment].read_exact_at(&mut [0; PAGE], start)
    }
}

enum Advice {
    Forget,
    Fetch,
}

#[cfg(target_os = "linux")]
fn advise(file: &File, start: u64, length: usize, advice: Advice) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let advice = match advice {
        Advice::Forget => libc::POSIX_FADV_DONTNEED,
        Advice::Fetch => libc::POSIX_FADV_WILLNEED,
    };
    // SAFETY: the descriptor is open as long as `file` is borrowed, and no memory is passed.
    let error =
        unsafe { libc::posix_fadvise(file.as_raw_fd(), start as i64, length as i64, advice) };
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: &File, _: u64, _: usize, _: Advice) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Bytes that this process has had fetched from disk. None where that cannot be read.
pub fn fetched_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("read_bytes: "))?;
    line.parse().ok()
}

/// The minor page faults of a process of this machine so far. None where they cannot be read.
pub fn minor_faults(process: i32) -> Option<u64> {
    faults_of(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The tenth field. The second, the program's name, is in brackets and may contain anything.
fn faults_of(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(7)?.parse().ok()
}

/// While it lives, this thread and a backend share one processor; afterwards they may use those of
/// before again.
pub struct Together {
    _backend: Bound,
    _own: Bound,
}

impl Together {
    /// None where the system or the user's rights do not allow it.
    pub fn with(client: &Client) -> Option<Together> {
        Some(Together {
            _backend: Bound::to_last(client.backend())?,
            _own: Bound::to_last(0)?,
        })
    }
}

#[cfg(target_os = "linux")]
struct Bound {
    process: i32,
    before: libc::cpu_set_t,
}

#[cfg(target_os = "linux")]
impl Bound {
    /// Binds a process, or this thread as process 0, to the last processor that this thread may
    /// use.
    fn to_last(process: i32) -> Option<Bound> {
        let (own, before) = (processors(0)?, processors(process)?);
        let most = libc::CPU_SETSIZE as usize;
        // SAFETY: both arguments are within what a cpu_set_t holds.
        let last = (0..most).rfind(|n| unsafe { libc::CPU_ISSET(*n, &own) })?;
        // SAFETY: a cpu_set_t is bits, and none set is a value of it.
        let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        unsafe { libc::CPU_SET(last, &mut one) };
        allow(process, &one).then_some(Bound { process, before })
    }
}

#[cfg(target_os = "linux")]
impl Drop for Bound {
    fn drop(&mut self) {
        allow(self.process, &self.before);
    }
}

#[cfg(target_os = "linux")]
fn processors(process: i32) -> Option<libc::cpu_set_t> {
    // SAFETY: a cpu_set_t is bits, and none set is a value of it.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours, and as large as said.
    let error = unsafe { libc::sched_getaffinity(process, size_of_val(&set), &mut set) };
    (error == 0).then_some(set)
}

#[cfg(target_os = "linux")]
fn allow(process: i32, set: &libc::cpu_set_t) -> bool {
    // SAFETY: the set is borrowed, and as large as said; the call only reads it.
    unsafe { libc::sched_setaffinity(process, size_of_val(set), set) == 0 }
}

#[cfg(not(target_os = "linux"))]
struct Bound;

#[cfg(not(target_os = "linux"))]
impl Bound {
    fn to_last(_: i32) -> Option<Bound> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_in_files_of_a_gigabyte() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(SEGMENT - 1), (0, (1 << 30) - PAGE as u64));
        assert_eq!(place(2 * SEGMENT + 3), (2, 3 * PAGE as u64));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_bound_thread_has_one_processor_until_it_is_let_go() {
        let count = || {
            let set = processors(0).expect("this thread's processors");
            // SAFETY: the set is borrowed, and only read.
            unsafe { libc::CPU_COUNT(&set) }
        };
        let before = count();
        let bound = Bound::to_last(0).expect("a thread may bind itself");
        assert_eq!(count(), 1);
        drop(bound);
        assert_eq!(count(), before);
    }

    #[test]
    fn faults_are_the_tenth_field_whatever_the_name() {
        let stat = "71 (a) b (c) S 1 2 3 4 5 6 789 10 11 12\n";
        assert_eq!(faults_of(stat), Some(789));
        assert_eq!(faults_of("71 (cut) S 1 2"), None);
    }
}
