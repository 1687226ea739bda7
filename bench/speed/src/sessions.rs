//! What the first queries of a session cost, next to its later ones: searches, and look-ups by the
//! primary key. A new process has yet to ask the system for each page of memory that it touches.

use std::fmt::Write as _;

use crate::cells::{FLOOR, SESSION, percentile, timed};
use crate::os::{Together, minor_faults};
use crate::peers::{Peer, Query, Task};
use crate::pq::{Client, Outcome, bigint};
use crate::report::{Measure, Section, progress, short};
use crate::sets;

const SESSIONS: usize = 20;
/// Queries of a session that are its first ones.
const EARLY: usize = 50;
/// Queries after which a session is not new any more, and how many are measured then.
const UNTIL: usize = 2_000;
const LATER: usize = 200;

/// What begins the names of these measures.
pub const PREFIX: &str = "session, ";
const FIRST: &str = "session, first query";
const FIRST_50: &str = "session, queries 1 to 50";
const AFTER: &str = "session, queries after 2000";
const FAULTS: &str = "session, page faults a query, 2 to 50";

/// Times in us, and those of the empty queries before them.
#[derive(Default)]
struct Times {
    queries: Vec<f64>,
    floors: Vec<f64>,
}

impl Times {
    fn note(&mut self, query: f64, floor: f64) {
        self.queries.push(query * 1e6);
        self.floors.push(floor * 1e6);
    }

    fn measure(&self, what: &str, query: &Query) -> Measure {
        let floor = percentile(&self.floors, 0.5);
        Measure {
            what: what.to_owned(),
            peer: query.peer.name().to_owned(),
            k: query.task.name(),
            n: self.queries.len(),
            value: percentile(&self.queries, 0.5) - floor,
            unit: "us",
            p95: Some(percentile(&self.queries, 0.95) - floor),
            floor: Some(floor),
            ..Measure::default()
        }
    }
}

/// The times of one kind of query over all sessions.
struct Kind {
    query: Query,
    first: Times,
    early: Times,
    later: Times,
    /// Page faults a query in each session, where the system tells.
    faults: Vec<f64>,
    note: String,
}

impl Kind {
    fn new(query: Query) -> Kind {
        Kind {
            query,
            first: Times::default(),
            early: Times::default(),
            later: Times::default(),
            faults: Vec::new(),
            note: String::new(),
        }
    }

    /// One session, an empty query before each of its queries.
    fn session(&mut self, rows: usize, centres: &[u64]) -> Outcome<()> {
        let client = Client::connect()?;
        client.run(SESSION)?;
        let _together = Together::with(&client);
        let mut about = (centres.iter()).map(|q| self.query.task.about(*q, rows));
        let first = about.next().ok_or("no query")?;
        let ask_first = |name, sql: &str| {
            timed(|| {
                let statement = client.prepare(name, sql)?;
                let (time, _) = timed(|| client.execute(&statement, &[bigint(first)]))?;
                Outcome::Ok((statement, time))
            })
        };
        let (floor_whole, (floor, floor_time)) = ask_first("empty", FLOOR)?;
        let (whole, (statement, time)) = ask_first("query", &self.query.sql)?;
        self.first.note(whole, floor_whole);
        self.early.note(time, floor_time);
        let faults = || minor_faults(client.backend());
        let before = faults();
        for (n, value) in (1..).zip(about) {
            if n == EARLY
                && let (Some(before), Some(now)) = (before, faults())
            {
                self.faults.push((now - before) as f64 / (EARLY - 1) as f64);
            }
            let value = [bigint(value)];
            let (floor_time, _) = timed(|| client.execute(&floor, &value))?;
            let (time, _) = timed(|| client.execute(&statement, &value))?;
            match n {
                ..EARLY => self.early.note(time, floor_time),
                UNTIL.. => self.later.note(time, floor_time),
                _ => {}
            }
        }
        let plan = client.run("EXPLAIN EXECUTE query (NULL)")?.lines().concat();
        if !plan.contains(self.query.plan) {
            self.note = format!("the plan does not use {}", self.query.plan);
        }
        Ok(())
    }

    fn measures(self) -> Vec<Measure> {
        let mut measures = vec![
            self.first.measure(FIRST, &self.query),
            self.early.measure(FIRST_50, &self.query),
            self.later.measure(AFTER, &self.query),
        ];
        if !self.faults.is_empty() {
            measures.push(Measure {
                what: FAULTS.to_owned(),
                peer: self.query.peer.name().to_owned(),
                k: self.query.task.name(),
                n: self.faults.len(),
                value: percentile(&self.faults, 0.5),
                unit: "faults",
                ..Measure::default()
            });
        }
        measures[0].note = self.note;
        measures
    }
}

/// Searches within 3 bits and look-ups, in sessions in turns.
pub fn measure(rows: &[u64]) -> Outcome<Vec<Measure>> {
    progress("first queries of sessions");
    let mut kinds = [
        Kind::new(Peer::Simhash.query(Task::Within(3))),
        Kind::new(Peer::LookUp.query(Task::LookUp)),
    ];
    for n in 0..SESSIONS {
        let centres = sets::centres(rows, UNTIL + LATER, 100 + n as u64);
        for kind in &mut kinds {
            kind.session(rows.len(), &centres)?;
        }
    }
    Ok(kinds.into_iter().flat_map(Kind::measures).collect())
}

/// A row for searches and one for look-ups.
pub fn table(section: &Section, out: &mut String) {
    let searches = (Peer::Simhash.name(), "3", "search within 3");
    let look_ups = (Peer::LookUp.name(), "", "look-up");
    if section.find(FIRST, searches.0, searches.1).is_none() {
        return;
    }
    let _ = writeln!(
        out,
        "\nFirst queries of {SESSIONS} new sessions: medians in us over empty queries in the same places\n"
    );
    let _ = writeln!(
        out,
        "| | the first, with planning | 1 to {EARLY} | after {UNTIL} | early / later | page faults a query, 2 to {EARLY} |"
    );
    let _ = writeln!(out, "|---|---|---|---|---|---|");
    for (peer, k, name) in [searches, look_ups] {
        let value = |what| section.find(what, peer, k).map(|m| m.value);
        let ratio = value(FIRST_50).zip(value(AFTER)).map(|(e, l)| e / l);
        let cells = [
            value(FIRST),
            value(FIRST_50),
            value(AFTER),
            ratio,
            value(FAULTS),
        ]
        .map(|value| value.map_or("-".to_owned(), short));
        let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
    }
}
