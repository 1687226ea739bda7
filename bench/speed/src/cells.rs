//! Latency: the same centres through every query, one client, prepared statements, and each query
//! preceded by an empty one, whose median is the floor.

use std::time::Instant;

use crate::oracle::Truth;
use crate::peers::{Peer, Query, QueryKind};
use crate::pq::{Client, Outcome, PreparedStatement, bigint};
use crate::report::{Measurement, progress};

/// Queries of one cell before it is the next one's turn. Single turns would let each query find the
/// processor's caches full of another one's pages.
const TURN: usize = 25;

/// What the session of a measurement sets. Plans are generic, so that no query is planned while it
/// is timed, whatever its peer.
pub const SESSION: &str =
    "SET plan_cache_mode = force_generic_plan; SET jit = off; SET client_min_messages = warning;
    SET max_parallel_workers_per_gather = 0; SET synchronize_seqscans = off";

struct Cell {
    query: Query,
    statement: PreparedStatement,
    times: Vec<f64>,
    /// Of the empty queries before.
    floors: Vec<f64>,
    answers: Vec<Vec<u64>>,
    spent: f64,
    note: String,
}

/// Cells with a lower median, in us, decide what an empty query costs: after a long query the
/// scheduler makes the next one wait.
const QUICK: f64 = 1_000.0;

/// What all cells share.
pub struct Questions<'a> {
    pub rows: &'a [u64],
    pub centres: &'a [u64],
    pub warm_up: &'a [u64],
    pub truths: &'a [Truth],
    /// Seconds that a cell may take.
    pub cap: f64,
}

impl Questions<'_> {
    /// Whether this is the answer to question `i`.
    pub fn is_right(&self, kind: QueryKind, i: usize, answer: &[u64]) -> bool {
        let (truth, centre) = (&self.truths[i], self.centres[i]);
        match kind {
            QueryKind::Within(k) => truth.is_within(k, answer),
            QueryKind::Nearest => truth.is_nearest(self.rows, centre, answer),
            QueryKind::LookUp => {
                let id = kind.parameter(centre, self.rows.len()) as usize;
                answer == [self.rows[id]]
            }
        }
    }
}

/// What the cell of look-ups is called.
pub const LOOK_UP: &str = "look-up";

pub const FLOOR: &str = "SELECT $1::bigint LIMIT 0";

/// Prepares and plans a query under its own settings, which need not last longer: the plan does.
/// The note says when it is not the plan that was meant.
pub fn prepare(client: &Client, query: &Query, name: &str) -> Outcome<(PreparedStatement, String)> {
    client.run("BEGIN")?;
    for setting in query.settings {
        client.run(&format!("SET LOCAL {setting}"))?;
    }
    let statement = client.prepare(name, &query.sql)?;
    let parameters = vec!["NULL"; query.parameters(0).len()].join(", ");
    let plan = client.run(&format!("EXPLAIN EXECUTE {name} ({parameters})"))?;
    let lines = plan.lines().join("\n");
    client.run("COMMIT")?;
    let note = if lines.contains(query.plan) {
        String::new()
    } else {
        format!("the plan does not use {}", query.plan)
    };
    Ok((statement, note))
}

/// Seconds of one execution.
pub fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(f64, T)> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed().as_secs_f64(), result))
}

impl Cell {
    fn finished(&self, questions: &Questions) -> bool {
        self.times.len() >= questions.centres.len() || self.spent >= questions.cap
    }

    fn warm_up(&self, client: &Client, questions: &Questions) -> Outcome<()> {
        let start = Instant::now();
        for q in questions.warm_up {
            let parameter = self.query.kind.parameter(*q, questions.rows.len());
            client.execute(&self.statement, &self.query.parameters(parameter))?;
            if start.elapsed().as_secs_f64() > questions.cap / 10.0 {
                break;
            }
        }
        Ok(())
    }

    fn turn(
        &mut self,
        client: &Client,
        floor: &PreparedStatement,
        questions: &Questions,
    ) -> Outcome<()> {
        let mut spent = 0.0;
        for _ in 0..TURN {
            let Some(q) = questions.centres.get(self.times.len()) else {
                break;
            };
            let parameter = self.query.kind.parameter(*q, questions.rows.len());
            let (empty, parameters) = ([bigint(parameter)], self.query.parameters(parameter));
            let (floor_time, _) = timed(|| client.execute(floor, &empty))?;
            let (time, answer) = timed(|| client.execute(&self.statement, &parameters))?;
            self.floors.push(floor_time * 1e6);
            self.times.push(time * 1e6);
            self.answers.push(answer.bigints());
            spent += time;
            if spent > questions.cap / 8.0 {
                break;
            }
        }
        self.spent += spent;
        Ok(())
    }

    fn measure(&self, questions: &Questions, floor: f64) -> Measurement {
        let wrong = (0..self.answers.len())
            .filter(|i| !questions.is_right(self.query.kind, *i, &self.answers[*i]))
            .count();
        let found: usize = self.answers.iter().map(Vec::len).sum();
        Measurement {
            what: match self.query.kind {
                QueryKind::LookUp => LOOK_UP.to_owned(),
                QueryKind::Within(_) | QueryKind::Nearest => "search".to_owned(),
            },
            peer: self.query.peer.name().to_owned(),
            k: self.query.kind.name(),
            n: self.times.len(),
            value: percentile(&self.times, 0.5) - floor,
            unit: "us",
            p95: Some(percentile(&self.times, 0.95) - floor),
            floor: Some(floor),
            mean_rows: Some(found as f64 / self.answers.len().max(1) as f64),
            checked: self.answers.len(),
            wrong,
            note: self.note.clone(),
        }
    }
}

/// The value below which this share of `values` lies.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = (sorted.len().saturating_sub(1)) as f64 * share;
    sorted.get(at as usize).copied().unwrap_or(f64::NAN)
}

/// Measurements every query of the peers over table `t`.
pub fn measure(
    client: &Client,
    peers: &[Peer],
    questions: &Questions,
) -> Outcome<Vec<Measurement>> {
    client.run(SESSION)?;
    let floor = client.prepare("floor", FLOOR)?;
    let mut cells = Vec::new();
    for query in peers.iter().flat_map(|peer| peer.queries()) {
        let (statement, note) = prepare(client, &query, &format!("cell_{}", cells.len()))?;
        cells.push(Cell {
            query,
            statement,
            times: Vec::new(),
            floors: Vec::new(),
            answers: Vec::new(),
            spent: 0.0,
            note,
        });
    }
    progress("searching: warming up");
    for cell in &cells {
        cell.warm_up(client, questions)?;
    }
    for round in 0.. {
        let open = cells
            .iter()
            .filter(|cell| !cell.finished(questions))
            .count();
        if open == 0 {
            break;
        }
        if round % 5 == 0 {
            progress(&format!("searching: turn {round}, {open} cells open"));
        }
        for cell in cells.iter_mut().filter(|cell| !cell.finished(questions)) {
            cell.turn(client, &floor, questions)?;
        }
    }
    progress("comparing answers");
    let quick = cells
        .iter()
        .filter(|cell| percentile(&cell.times, 0.5) < QUICK);
    let floors: Vec<f64> = quick.flat_map(|cell| cell.floors.iter().copied()).collect();
    let floor = percentile(&floors, 0.5);
    Ok(cells
        .iter()
        .map(|cell| cell.measure(questions, floor))
        .collect())
}
