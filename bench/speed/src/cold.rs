//! Searches that find none of their pages in memory, by how many reads may be under way at a time
//! (effective_io_concurrency), next to plain reads of as many random pages of the index. On a
//! second server, whose shared buffers are few enough to be emptied by reading another table.

use std::time::Instant;

use crate::cells::{Questions, SESSION, percentile, prepare, timed};
use crate::oracle;
use crate::os::{PAGE, Pages, fetched_bytes};
use crate::peers::{Peer, Query, Task};
use crate::pq::{Client, Outcome, Statement};
use crate::report::{Measure, progress};
use crate::sets::{self, Random};
use crate::{Set, load};

/// The environment variable that names the socket's folder of the second server.
pub const SERVER: &str = "COLD_HOST";

/// What begins the names of these measures.
pub const PREFIX: &str = "cold disk, ";
/// The sessions that search: one that has just begun, and one that has counted keys.
pub const STATES: [&str; 2] = ["cold disk, new session", LOADED];
const LOADED: &str = "cold disk, keys counted";
pub const TASKS: [Task; 3] = [Task::Within(3), Task::Within(8), Task::Nearest];
pub const CONCURRENCIES: [usize; 4] = [0, 1, 16, 100];
/// Plain reads that are under way at a time.
pub const DEPTHS: [usize; 2] = [1, 32];
pub const ROUNDS: usize = 9;

/// The names under which the report has them.
pub fn concurrency(setting: usize) -> String {
    format!("concurrency {setting}")
}

pub fn depth(reads: usize) -> String {
    format!("pread, depth {reads}")
}

pub fn pages_of(state: &str) -> String {
    format!("{state}, pages read")
}

/// The table that is read to empty shared buffers: so many times as many pages, for a page that was
/// used often stays for five turns of the clock.
const FILLER: f64 = 8.0;
const EMPTY: &str = "SELECT count(body) FROM filler WHERE id > 0";

/// Pages of the index and of the table that this transaction has had to read so far.
const READ: &str = "SELECT sum(pg_stat_get_xact_blocks_fetched(r) - pg_stat_get_xact_blocks_hit(r))
    FROM (VALUES ('t'::regclass), ('t_simhash'::regclass)) v(r)";

/// The server, with table `t` and its index on disk.
struct Disk<'a> {
    server: &'a str,
    client: Client,
    empty: Statement,
    index: Pages,
    table: Pages,
}

impl<'a> Disk<'a> {
    fn fill(server: &'a str, set: &Set) -> Outcome<Disk<'a>> {
        let client = Client::connect_to(server)?;
        client.run(SESSION)?;
        load(&client, set)?;
        for statement in Peer::Simhash.create("t") {
            client.run(&statement)?;
        }
        let buffers = client
            .number("SELECT setting::float FROM pg_settings WHERE name = 'shared_buffers'")?;
        client.run("DROP TABLE IF EXISTS filler")?;
        client.run("CREATE TABLE filler (id int PRIMARY KEY, body text)")?;
        client.run("ALTER TABLE filler ALTER body SET STORAGE PLAIN")?;
        // One row a page.
        client.run(&format!(
            "INSERT INTO filler SELECT i, repeat('x', 7000) FROM generate_series(1, {}) i",
            (buffers * FILLER) as usize
        ))?;
        client.run("VACUUM ANALYZE filler")?;
        // A sequential scan would keep to a few buffers of its own.
        client.run("SET enable_seqscan = off; SET enable_bitmapscan = off")?;
        client.run("CHECKPOINT")?;
        Ok(Disk {
            server,
            empty: client.prepare("empty", EMPTY)?,
            index: Pages::open(&client, "t_simhash")?,
            table: Pages::open(&client, "t")?,
            client,
        })
    }

    /// Afterwards no page of the table and the index is in memory.
    fn forget(&self) -> Outcome<()> {
        self.client.execute(&self.empty, &[])?;
        self.index.drop_from_cache()?;
        self.table.drop_from_cache()?;
        Ok(())
    }

    /// Whether pages that were forgotten come from disk: those of a file system in memory do not.
    fn is_cold(&self) -> Outcome<bool> {
        let Some(before) = fetched_bytes() else {
            return Ok(false);
        };
        self.forget()?;
        let pages = drawn(self.index.count(), 64, 8);
        for page in &pages {
            self.index.read(*page)?;
        }
        let fetched = fetched_bytes().unwrap_or(before) - before;
        Ok(fetched as usize >= pages.len() * PAGE / 2)
    }

    /// Milliseconds to read so many pages of the index, `depth` at a time.
    fn read(&self, pages: usize, depth: usize, seed: u64) -> Outcome<f64> {
        self.forget()?;
        let pages = drawn(self.index.count(), pages, seed);
        let start = Instant::now();
        let mut ahead = pages.iter();
        // A single read under way is the one that is waited for.
        if depth > 1 {
            ahead
                .by_ref()
                .take(depth)
                .try_for_each(|p| self.index.ask(*p))?;
        } else {
            ahead = [].iter();
        }
        for page in &pages {
            self.index.read(*page)?;
            if let Some(next) = ahead.next() {
                self.index.ask(*next)?;
            }
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

/// So many different numbers below `end`, or all.
fn drawn(end: usize, count: usize, seed: u64) -> Vec<usize> {
    let (mut random, mut all) = (Random::new(seed), (0..end).collect::<Vec<_>>());
    let count = count.min(end);
    for i in 0..count {
        all.swap(i, i + random.below(end - i));
    }
    all.truncate(count);
    all
}

/// A session that can search at once: planning is behind it and a first search, which loads the
/// directory, but counts no keys.
struct Session {
    client: Client,
    tasks: Vec<(Query, Statement, String)>,
}

struct Found {
    milliseconds: f64,
    pages: f64,
    ids: Vec<u64>,
}

impl Session {
    fn open(server: &str) -> Outcome<Session> {
        let client = Client::connect_to(server)?;
        client.run(SESSION)?;
        let mut tasks = Vec::new();
        for task in TASKS {
            let query = Peer::Simhash.query(task);
            let (statement, note) = prepare(&client, &query, &format!("task_{}", tasks.len()))?;
            tasks.push((query, statement, note));
        }
        client.run("SET enable_seqscan = off; SELECT id FROM t WHERE fp <~> 0 <= 0")?;
        Ok(Session { client, tasks })
    }

    fn search(&self, disk: &Disk, task: usize, concurrency: usize, q: u64) -> Outcome<Found> {
        let (query, statement, _) = &self.tasks[task];
        let parameters = query.parameters(q);
        let set = format!("SET effective_io_concurrency = {concurrency}");
        self.client.run(&set)?;
        self.pages()?;
        disk.forget()?;
        // The counters are those of a transaction.
        self.client.run("BEGIN")?;
        let before = self.pages()?;
        let (seconds, answer) = timed(|| self.client.execute(statement, &parameters))?;
        let pages = self.pages()? - before;
        self.client.run("COMMIT")?;
        Ok(Found {
            milliseconds: seconds * 1e3,
            pages,
            ids: answer.bigints(),
        })
    }

    fn pages(&self) -> Outcome<f64> {
        self.client.number(READ)
    }

    /// Searches until the session has counted keys.
    fn warm_up(&self, centres: &[u64]) -> Outcome<()> {
        let (query, statement, _) = &self.tasks[0];
        for q in centres {
            self.client.execute(statement, &query.parameters(*q))?;
        }
        Ok(())
    }
}

/// One kind of search in one kind of session.
struct Cell {
    state: &'static str,
    task: usize,
    /// For each concurrency the milliseconds, and the pages read.
    times: [Vec<f64>; CONCURRENCIES.len()],
    pages: [Vec<f64>; CONCURRENCIES.len()],
    /// For each depth the milliseconds.
    reads: [Vec<f64>; DEPTHS.len()],
    found: usize,
    wrong: usize,
    note: String,
}

impl Cell {
    fn round(
        &mut self,
        disk: &Disk,
        loaded: Option<&Session>,
        questions: &Questions,
        round: usize,
    ) -> Outcome<()> {
        let centre = questions.centres[round];
        for turn in 0..CONCURRENCIES.len() {
            // None is always the first.
            let at = (turn + round) % CONCURRENCIES.len();
            let new = match loaded {
                Some(_) => None,
                None => Some(Session::open(disk.server)?),
            };
            let session = loaded.or(new.as_ref()).ok_or("no session")?;
            let found = session.search(disk, self.task, CONCURRENCIES[at], centre)?;
            let right = questions.is_right(TASKS[self.task], round, &found.ids);
            self.wrong += usize::from(!right);
            self.found += found.ids.len();
            self.times[at].push(found.milliseconds);
            self.pages[at].push(found.pages);
            self.note.clone_from(&session.tasks[self.task].2);
        }
        let pages = self.pages[0].last().copied().unwrap_or(0.0) as usize;
        for (n, depth) in DEPTHS.into_iter().enumerate() {
            let seed = (round * DEPTHS.len() + n) as u64;
            self.reads[n].push(disk.read(pages, depth, seed)?);
        }
        Ok(())
    }

    fn measures(&self) -> Vec<Measure> {
        let measure = |what: &str, peer: String, values: &[f64], unit| Measure {
            what: what.to_owned(),
            peer,
            k: TASKS[self.task].name(),
            n: values.len(),
            value: percentile(values, 0.5),
            unit,
            p95: Some(percentile(values, 0.95)),
            ..Measure::default()
        };
        let state = self.state;
        let searches = (CONCURRENCIES.iter().enumerate()).flat_map(|(n, setting)| {
            let peer = concurrency(*setting);
            [
                measure(state, peer.clone(), &self.times[n], "ms"),
                measure(&pages_of(state), peer, &self.pages[n], "pages"),
            ]
        });
        let reads = (DEPTHS.iter().zip(&self.reads))
            .map(|(reads, times)| measure(state, depth(*reads), times, "ms"));
        let mut measures: Vec<Measure> = searches.chain(reads).collect();
        let answers = CONCURRENCIES.len() * self.times[0].len();
        // The first has what is known of all answers.
        measures[0].mean_rows = Some(self.found as f64 / answers.max(1) as f64);
        measures[0].checked = answers;
        measures[0].wrong = self.wrong;
        measures[0].note.clone_from(&self.note);
        measures
    }
}

fn cells() -> Vec<Cell> {
    let tasks = |state| {
        (0..TASKS.len()).map(move |task| Cell {
            state,
            task,
            times: Default::default(),
            pages: Default::default(),
            reads: Default::default(),
            found: 0,
            wrong: 0,
            note: String::new(),
        })
    };
    STATES.into_iter().flat_map(tasks).collect()
}

/// Measures the set on the second server; nothing where its pages cannot be made to come from disk.
pub fn measure(server: &str, set: &Set) -> Outcome<Vec<Measure>> {
    let disk = Disk::fill(server, set)?;
    if !disk.is_cold()? {
        progress("cold disk is left out: pages cannot be dropped from the system's page cache");
        return Ok(Vec::new());
    }
    let loaded = Session::open(server)?;
    if (loaded.client)
        .run("SET effective_io_concurrency = 1")
        .is_err()
    {
        progress("cold disk is left out: this server cannot ask for pages ahead");
        return Ok(Vec::new());
    }
    let rows = &set.fingerprints[..set.rows];
    let centres = sets::centres(rows, ROUNDS, 6);
    let questions = Questions {
        rows,
        centres: &centres,
        warm_up: &sets::centres(rows, (set.rows / 500).max(2_000), 7),
        truths: &oracle::truths(rows, &centres)?,
        cap: 0.0,
    };
    loaded.warm_up(questions.warm_up)?;
    let mut cells = cells();
    for round in 0..ROUNDS {
        progress(&format!("cold disk: round {} of {ROUNDS}", round + 1));
        for cell in &mut cells {
            let session = (cell.state == LOADED).then_some(&loaded);
            cell.round(&disk, session, &questions, round)?;
        }
    }
    Ok(cells.iter().flat_map(Cell::measures).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_drawn_once_and_from_all() {
        let mut pages = drawn(1_000, 300, 1);
        assert_eq!(pages.len(), 300);
        pages.sort_unstable();
        pages.dedup();
        assert_eq!(pages.len(), 300);
        assert!(pages[0] < 50 && pages[299] >= 950 && pages[299] < 1_000);
        assert_eq!(drawn(5, 9, 1).len(), 5);
    }
}
