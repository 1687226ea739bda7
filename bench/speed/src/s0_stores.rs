//! One row against all: is there a near-duplicate, which are they all, and what a new row costs;
//! for the index and for two ways to file fingerprints under their four blocks without it.

use std::time::Instant;

use crate::cells::{FLOOR, percentile};
use crate::oracle::Truth;
use crate::pq::{Answer, Client, Outcome, Parameter, Statement, bigint};
use crate::report::{Measure, progress};

const RADIUS: u32 = 3;
/// Seconds that the queries or the inserts of a store may take.
const PATIENCE: f64 = 15.0;
/// Queries before it is the next store's turn.
const TURN: usize = 25;

#[derive(Clone, Copy, PartialEq)]
pub enum Store {
    /// A table with an index of this extension.
    Simhash,
    /// A table with a column, and a b-tree on it, for each 16-bit block.
    Columns,
    /// A row for each (block, key), with an array of fingerprints and names: a document store's way.
    Documents,
}

const NEAR: &str = "bit_count((fp # $1::bigint)::bit(64)) <= 3";

fn key(fp: &str, block: usize) -> String {
    format!("(({fp} >> {}) & 65535)::int4", 48 - 16 * block)
}

/// `f` of each block, joined.
fn blocks(separator: &str, f: impl Fn(usize) -> String) -> String {
    let parts: Vec<String> = (0..4).map(f).collect();
    parts.join(separator)
}

impl Store {
    pub const ALL: [Store; 3] = [Store::Simhash, Store::Columns, Store::Documents];

    pub fn name(self) -> &'static str {
        match self {
            Store::Simhash => "simhash",
            Store::Columns => "4 columns",
            Store::Documents => "documents",
        }
    }

    /// Statements that build it from table `source`.
    fn create(self) -> Vec<String> {
        match self {
            Store::Simhash => vec![
                "CREATE TABLE simhash_store AS SELECT id, fp FROM source".to_owned(),
                "CREATE INDEX simhash_store_fp ON simhash_store USING simhash (fp)".to_owned(),
            ],
            Store::Columns => {
                let columns = blocks(", ", |b| format!("{} AS q{b}", key("fp", b)));
                let create =
                    format!("CREATE TABLE columns_store AS SELECT id, fp, {columns} FROM source");
                let index =
                    |b: usize| format!("CREATE INDEX columns_store_{b} ON columns_store (q{b})");
                [create].into_iter().chain((0..4).map(index)).collect()
            }
            Store::Documents => {
                let filed = blocks(" UNION ALL ", |b| {
                    format!(
                        "SELECT {b}::int2 AS block, {} AS key, id, fp FROM source",
                        key("fp", b)
                    )
                });
                vec![
                    "CREATE TYPE info AS (fp bigint, name text)".to_owned(),
                    format!(
                        "CREATE TABLE documents_store AS SELECT block, key, array_agg((fp, id::text)::info) AS infos
                         FROM ({filed}) filed GROUP BY block, key"
                    ),
                    "ALTER TABLE documents_store ADD PRIMARY KEY (block, key)".to_owned(),
                ]
            }
        }
    }

    fn relations(self) -> &'static [&'static str] {
        match self {
            Store::Simhash => &["simhash_store", "simhash_store_fp"],
            Store::Columns => &[
                "columns_store",
                "columns_store_0",
                "columns_store_1",
                "columns_store_2",
                "columns_store_3",
            ],
            Store::Documents => &["documents_store", "documents_store_pkey"],
        }
    }

    /// All near-duplicates of $1.
    fn all(self) -> String {
        match self {
            Store::Simhash => {
                "SELECT id FROM simhash_store WHERE fp <~> $1::bigint <= 3".to_owned()
            }
            Store::Columns => {
                let any = blocks(" OR ", |b| format!("q{b} = {}", key("$1::bigint", b)));
                format!("SELECT id FROM columns_store WHERE ({any}) AND {NEAR}")
            }
            Store::Documents => {
                let any = blocks(" OR ", |b| {
                    format!("block = {b}::int2 AND key = {}", key("$1::bigint", b))
                });
                format!(
                    "SELECT DISTINCT name::bigint FROM documents_store, unnest(infos) WHERE ({any}) AND {NEAR}"
                )
            }
        }
    }

    /// The first near-duplicate of $1 that comes up.
    fn any(self) -> String {
        format!("{} LIMIT 1", self.all().replace("DISTINCT ", ""))
    }

    /// Stores id $1 with fingerprint $2.
    fn insert(self) -> String {
        match self {
            Store::Simhash => {
                "INSERT INTO simhash_store VALUES ($1::bigint, $2::bigint)".to_owned()
            }
            Store::Columns => {
                let keys = blocks(", ", |b| key("$2::bigint", b));
                format!("INSERT INTO columns_store VALUES ($1::bigint, $2::bigint, {keys})")
            }
            Store::Documents => {
                let info = "ARRAY[($2::bigint, $1::bigint::text)::info]";
                let rows = blocks(", ", |b| {
                    format!("({b}::int2, {}, {info})", key("$2::bigint", b))
                });
                format!(
                    "INSERT INTO documents_store AS d VALUES {rows}
                     ON CONFLICT (block, key) DO UPDATE SET infos = d.infos || excluded.infos"
                )
            }
        }
    }
}

struct Cell {
    store: Store,
    /// Is one enough?
    any: bool,
    statement: Statement,
    times: Vec<f64>,
    wrong: usize,
    spent: f64,
}

impl Cell {
    fn what(&self) -> &'static str {
        if self.any {
            "is there one"
        } else {
            "which are all"
        }
    }

    fn right(&self, truth: &Truth, found: &[u64]) -> bool {
        match self.any {
            true => match found {
                [] => truth.is_within(RADIUS, &[]),
                [one] => truth.has_within(RADIUS, *one),
                _ => false,
            },
            false => truth.is_within(RADIUS, found),
        }
    }
}

/// Builds all stores, asks both questions of each, then inserts `more` rows one by one.
pub fn measure(
    client: &Client,
    rows: &[u64],
    more: &[u64],
    centres: &[u64],
    truths: &[Truth],
) -> Outcome<Vec<Measure>> {
    let mut measures = Vec::new();
    client.run("DROP TABLE IF EXISTS source, simhash_store, columns_store, documents_store; DROP TYPE IF EXISTS info")?;
    client.run("CREATE TABLE source (id bigint, fp bigint)")?;
    client.copy("COPY source FROM STDIN", crate::upkeep::copy_lines(0, rows))?;
    client.run("VACUUM ANALYZE source")?;
    for store in Store::ALL {
        progress(&format!("building: {}", store.name()));
        let time = crate::upkeep::seconds(client, &store.create())?;
        measures.push(one("build, table and index", store, 1, time, "s"));
        let mut bytes = 0.0;
        for relation in store.relations() {
            let size =
                "pg_relation_size(c.oid) + coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0)";
            bytes += client.number(&format!(
                "SELECT {size} FROM pg_class c WHERE oid = '{relation}'::regclass"
            ))?;
        }
        measures.push(one(
            "size, table and index",
            store,
            1,
            bytes / rows.len() as f64,
            "bytes a row",
        ));
    }
    client.run("VACUUM ANALYZE")?;
    client.run("CHECKPOINT")?;
    measures.extend(search(client, centres, truths)?);
    measures.extend(insert(client, rows.len(), more)?);
    Ok(measures)
}

fn one(what: &str, store: Store, n: usize, value: f64, unit: &'static str) -> Measure {
    Measure {
        what: what.to_owned(),
        peer: store.name().to_owned(),
        k: RADIUS.to_string(),
        n,
        value,
        unit,
        ..Measure::default()
    }
}

fn search(client: &Client, centres: &[u64], truths: &[Truth]) -> Outcome<Vec<Measure>> {
    progress("searching");
    client.run("SET enable_seqscan = off")?;
    let mut cells = Vec::new();
    for (i, store) in Store::ALL.into_iter().enumerate() {
        for (any, sql) in [(true, store.any()), (false, store.all())] {
            let statement = client.prepare(&format!("s0_{i}_{any}"), &sql)?;
            for centre in centres.iter().take(100) {
                client.execute(&statement, &[bigint(*centre)])?;
            }
            cells.push(Cell {
                store,
                any,
                statement,
                times: Vec::new(),
                wrong: 0,
                spent: 0.0,
            });
        }
    }
    let floor_statement = client.prepare("s0_floor", FLOOR)?;
    let mut floors = Vec::new();
    for (turn, questions) in centres.chunks(TURN).enumerate() {
        for cell in cells.iter_mut().filter(|cell| cell.spent < PATIENCE) {
            for (i, centre) in questions.iter().enumerate() {
                let parameters = [bigint(*centre)];
                floors.push(timed(client, &floor_statement, &parameters)?.0);
                let (time, answer) = timed(client, &cell.statement, &parameters)?;
                cell.times.push(time);
                cell.spent += time / 1e6;
                let truth = &truths[turn * TURN + i];
                cell.wrong += usize::from(!cell.right(truth, &answer.bigints()));
            }
        }
    }
    client.run("RESET enable_seqscan; DEALLOCATE ALL")?;
    let floor = percentile(&floors, 0.5);
    let measure = |cell: Cell| Measure {
        value: percentile(&cell.times, 0.5) - floor,
        p95: Some(percentile(&cell.times, 0.95) - floor),
        floor: Some(floor),
        checked: cell.times.len(),
        wrong: cell.wrong,
        ..one(cell.what(), cell.store, cell.times.len(), 0.0, "us")
    };
    Ok(cells.into_iter().map(measure).collect())
}

/// Microseconds of one execution.
fn timed(
    client: &Client,
    statement: &Statement,
    parameters: &[Parameter],
) -> Outcome<(f64, Answer)> {
    let start = Instant::now();
    let answer = client.execute(statement, parameters)?;
    Ok((start.elapsed().as_secs_f64() * 1e6, answer))
}

/// Single rows, each a transaction; the commit is not waited for. What an empty query takes is in
/// it.
fn insert(client: &Client, first_id: usize, more: &[u64]) -> Outcome<Vec<Measure>> {
    progress("inserting");
    client.run("SET synchronous_commit = off; CHECKPOINT")?;
    let mut measures = Vec::new();
    for store in Store::ALL {
        let statement = client.prepare(&format!("s0_insert_{}", store as u8), &store.insert())?;
        let mut times = Vec::new();
        let start = Instant::now();
        for (i, fp) in more.iter().enumerate() {
            if start.elapsed().as_secs_f64() > PATIENCE {
                break;
            }
            let id = (first_id + i) as u64;
            times.push(timed(client, &statement, &[bigint(id), bigint(*fp)])?.0);
        }
        measures.push(Measure {
            p95: Some(percentile(&times, 0.95)),
            ..one(
                "insert and commit",
                store,
                times.len(),
                percentile(&times, 0.5),
                "us",
            )
        });
    }
    client.run("RESET synchronous_commit; DEALLOCATE ALL")?;
    Ok(measures)
}
