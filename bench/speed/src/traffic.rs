//! Many questions at once: searches by several clients, and all pairs by a plain SQL join.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use crate::cells::{SESSION, prepare};
use crate::oracle;
use crate::peers::{Peer, Query, Task};
use crate::pq::{Client, Outcome, Statement};
use crate::report::{Measure, progress};

const CLIENTS: [usize; 4] = [1, 2, 4, 8];
const WARM_UP: usize = 500;
/// Rows up to which all pairs of set A are joined.
const JOINED: usize = 1_000_000;
/// Rows up to which the pairs of a skewed set are counted by brute force.
const COUNTED: usize = 200_000;

/// Searches within 3 bits by each number of clients, `seconds` long: searches a second of them all.
/// Each has a connection, and they share the machine with the server.
pub fn throughput(peers: &[Peer], centres: &[u64], seconds: f64) -> Outcome<Vec<Measure>> {
    let mut measures = Vec::new();
    for peer in peers
        .iter()
        .filter(|p| matches!(p, Peer::Simhash | Peer::Btrees))
    {
        progress(&format!("throughput: {}", peer.name()));
        for clients in CLIENTS {
            measures.push(Measure {
                what: "throughput".to_owned(),
                peer: peer.name().to_owned(),
                k: clients.to_string(),
                n: 1,
                value: rate(&peer.query(Task::Within(3)), clients, centres, seconds)?,
                unit: "searches a second",
                ..Measure::default()
            });
        }
    }
    Ok(measures)
}

fn rate(query: &Query, clients: usize, centres: &[u64], seconds: f64) -> Outcome<f64> {
    let mut sessions = Vec::new();
    for _ in 0..clients {
        let client = Client::connect()?;
        client.run(SESSION)?;
        let (statement, _) = prepare(&client, query, "search")?;
        sessions.push((client, statement));
    }
    let start = Barrier::new(clients);
    let counts: Vec<Option<usize>> = thread::scope(|scope| {
        let workers: Vec<_> = (sessions.iter_mut().enumerate())
            .map(|(n, (client, statement))| {
                let start = &start;
                scope.spawn(move || {
                    let mut centres = centres.iter().cycle().skip(n * 37);
                    let warm = count(
                        client,
                        statement,
                        query,
                        centres.by_ref().take(WARM_UP),
                        seconds,
                    );
                    start.wait();
                    warm.and_then(|_| count(client, statement, query, centres, seconds))
                        .ok()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().ok().flatten())
            .collect()
    });
    let sum: Option<usize> = counts.into_iter().sum();
    Ok(sum.ok_or("a client failed")? as f64 / seconds)
}

/// Searches around the centres, until they or the seconds are over.
fn count<'a>(
    client: &Client,
    statement: &Statement,
    query: &Query,
    centres: impl Iterator<Item = &'a u64>,
    seconds: f64,
) -> Outcome<usize> {
    let (start, mut done) = (Instant::now(), 0);
    for q in centres {
        client.execute(statement, &query.parameters(*q))?;
        done += 1;
        if start.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    Ok(done)
}

/// All pairs within 3 bits by a self-join, up to [`JOINED`] rows, and by `simhash_pairs` where the
/// extension has it. Their number is compared with the truth where that can be counted in time:
/// pairs that share a hot key are too many.
pub fn all_pairs(client: &Client, rows: &[u64], uniform: bool) -> Outcome<Vec<Measure>> {
    let truth = (uniform && rows.len() <= crate::MODELLED || rows.len() <= COUNTED)
        .then(|| oracle::pairs(rows, 3));
    let mut measures = Vec::new();
    if uniform && rows.len() <= JOINED {
        let join = "SELECT count(*) FROM t a JOIN t b ON a.fp <~> b.fp <= 3 AND a.id < b.id";
        let plan = client.run(&format!("EXPLAIN {join}"))?;
        let mut measure = pairs(client, "all pairs, self-join", join, truth)?;
        if !plan.lines().iter().any(|line| line.contains("t_simhash")) {
            measure.note = "the plan does not use t_simhash".to_owned();
        }
        measures.push(measure);
    }
    if client.number("SELECT count(*) FROM pg_proc WHERE proname = 'simhash_pairs'")? > 0.0 {
        let call = "SELECT count(*) FROM simhash_pairs('t', 'id', 'fp', 3)";
        measures.push(pairs(client, "all pairs, simhash_pairs", call, truth)?);
    }
    Ok(measures)
}

fn pairs(client: &Client, what: &str, sql: &str, truth: Option<usize>) -> Outcome<Measure> {
    progress(what);
    let start = Instant::now();
    let found = client.number(sql)?;
    Ok(Measure {
        what: what.to_owned(),
        peer: Peer::Simhash.name().to_owned(),
        k: "3".to_owned(),
        n: 1,
        value: start.elapsed().as_secs_f64(),
        unit: "s",
        mean_rows: Some(found),
        checked: usize::from(truth.is_some()),
        wrong: usize::from(truth.is_some_and(|truth| truth as f64 != found)),
        ..Measure::default()
    })
}
