//! What an index costs to keep: build time, size, inserts, WAL, VACUUM; on a copy of the table that
//! has this one secondary index and no other. The same without any is the floor.

use std::time::Instant;

use crate::peers::Peer;
use crate::pq::{Client, Outcome};
use crate::report::{Measurement, progress};

/// Rows of a batch, inserted in one transaction, unless the set is small.
const BATCH: usize = 100_000;
/// Numbers of rows of the tables `extra_0`, which warms up, `extra_1`, `extra_2` and `extra_3`:
/// three times a hundredth of the set, and in all a tenth or a million.
fn batches(rows: usize) -> [usize; 4] {
    let batch = (rows / 100).clamp(1, BATCH);
    let all = (rows / 10).min(10 * BATCH).max(4 * batch);
    [batch, batch, batch, all - 3 * batch]
}

/// How many more fingerprints than rows a set needs.
pub fn extra_rows(rows: usize) -> usize {
    batches(rows).iter().sum()
}

/// Lines of COPY, some hundred kilobytes a piece.
pub fn copy_lines(first_id: usize, fingerprints: &[u64]) -> impl Iterator<Item = String> {
    fingerprints
        .chunks(20_000)
        .enumerate()
        .map(move |(piece, chunk)| {
            let mut text = String::with_capacity(chunk.len() * 30);
            for (i, fp) in chunk.iter().enumerate() {
                let id = first_id + piece * 20_000 + i;
                text += &format!("{id}\t{}\n", *fp as i64);
            }
            text
        })
}

/// Puts the rows that are inserted later into tables of the server, so that none of the time is the
/// client's.
pub fn load_extra_rows(client: &Client, rows: usize, fingerprints: &[u64]) -> Outcome<()> {
    let mut at = 0;
    for (i, count) in batches(rows).into_iter().enumerate() {
        client.run(&format!("DROP TABLE IF EXISTS extra_{i}"))?;
        client.run(&format!("CREATE TABLE extra_{i} (id bigint, fp bigint)"))?;
        let lines = copy_lines(rows + at, &fingerprints[at..at + count]);
        client.copy(&format!("COPY extra_{i} FROM STDIN"), lines)?;
        client.run(&format!("VACUUM ANALYZE extra_{i}"))?;
        at += count;
    }
    Ok(())
}

/// Runs statements one by one; seconds of them all.
pub fn seconds(client: &Client, statements: &[String]) -> Outcome<f64> {
    let start = Instant::now();
    for statement in statements {
        client.run(statement)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

pub fn bytes(client: &Client, peer: Peer, table: &str) -> Outcome<f64> {
    let relations = peer.relations(table);
    let sizes = relations
        .iter()
        .map(|r| client.number(&format!("SELECT pg_relation_size('{r}')")));
    sizes.sum()
}

/// Reads a relation's pages into the server's buffers.
pub fn prewarm(client: &Client, relations: &[String]) -> Outcome<()> {
    if client.number("SELECT count(*) FROM pg_extension WHERE extname = 'pg_prewarm'")? > 0.0 {
        for relation in relations {
            client.run(&format!("SELECT pg_prewarm('{relation}')"))?;
        }
    }
    Ok(())
}

/// The costs of one peer; `floor` are those of the bare table.
pub fn measure(
    client: &Client,
    peer: Peer,
    rows: usize,
    floor: &[Measurement],
) -> Outcome<Vec<Measurement>> {
    progress(&format!("keeping: {}", peer.name()));
    client.run("SET max_parallel_maintenance_workers = 0")?;
    client.run("SET synchronous_commit = off")?;
    fresh_copy(client)?;
    let mut bench = UpkeepBench {
        client,
        peer,
        floor,
        measurements: Vec::new(),
    };
    if peer != Peer::NoIndex {
        let time = seconds(client, &peer.create("w"))?;
        bench.add("build, serial", 1, time, "s");
        bench.add(
            "size, fresh",
            1,
            bytes(client, peer, "w")? / rows as f64,
            "bytes a row",
        );
    }
    client.run("VACUUM ANALYZE w")?;
    let mut relations = peer.relations("w");
    relations.extend(["w".to_owned(), "w_pkey".to_owned()]);
    prewarm(client, &relations)?;
    client.run("CHECKPOINT")?;
    let names = [
        None,
        Some("insert"),
        Some("insert after a checkpoint"),
        Some("insert until a tenth is new"),
    ];
    for (i, (name, count)) in names.into_iter().zip(batches(rows)).enumerate() {
        if i == 2 {
            client.run("CHECKPOINT")?;
        }
        bench.batch(name, &format!("extra_{i}"), count)?;
    }
    if peer != Peer::NoIndex {
        let size = bytes(client, peer, "w")? / (rows + extra_rows(rows)) as f64;
        bench.add("size, after inserts", 1, size, "bytes a row");
    }
    bench.vacuum()?;
    let measurements = bench.measurements;
    client.run("DROP TABLE w")?;
    Ok(measurements)
}

/// Table `w`: the rows of `t`, with a primary key only.
fn fresh_copy(client: &Client) -> Outcome<()> {
    client.run("DROP TABLE IF EXISTS w")?;
    client.run("CREATE TABLE w (id bigint NOT NULL, fp bigint NOT NULL)")?;
    client.run("INSERT INTO w SELECT id, fp FROM t")?;
    client.run("ALTER TABLE w ADD PRIMARY KEY (id)")?;
    client.run("VACUUM ANALYZE w")?;
    client.run("CHECKPOINT")?;
    Ok(())
}

struct UpkeepBench<'a> {
    client: &'a Client,
    peer: Peer,
    floor: &'a [Measurement],
    measurements: Vec<Measurement>,
}

impl UpkeepBench<'_> {
    fn add(&mut self, what: &str, n: usize, value: f64, unit: &'static str) {
        self.measurements.push(Measurement {
            what: what.to_owned(),
            peer: self.peer.name().to_owned(),
            n,
            value,
            unit,
            ..Measurement::default()
        });
    }

    /// As `add`, with what the bare table takes subtracted; of the bare table itself all of it.
    fn add_over_floor(&mut self, what: &str, n: usize, value: f64, unit: &'static str) {
        let floor = (self.floor.iter())
            .find(|m| m.what == what)
            .map(|m| m.value);
        self.add(what, n, value - floor.unwrap_or(0.0), unit);
        if let Some(measurement) = self.measurements.last_mut() {
            measurement.floor = floor;
        }
    }

    /// All rows of a table in one transaction; reported when it has a name.
    fn batch(&mut self, name: Option<&str>, source: &str, count: usize) -> Outcome<()> {
        let position = "SELECT pg_current_wal_insert_lsn() - '0/0'";
        let before = self.client.number(position)?;
        let time = seconds(
            self.client,
            &[format!("INSERT INTO w SELECT id, fp FROM {source}")],
        )?;
        let logged = self.client.number(position)? - before;
        if let Some(name) = name {
            let rows = count as f64;
            self.add_over_floor(name, count, time * 1e6 / rows, "us a row");
            self.add_over_floor(&format!("{name}, WAL"), count, logged / rows, "bytes a row");
        }
        Ok(())
    }

    /// After every tenth row was deleted.
    fn vacuum(&mut self) -> Outcome<()> {
        self.client.run("DELETE FROM w WHERE id % 10 = 3")?;
        let time = seconds(self.client, &["VACUUM w".to_owned()])?;
        self.add_over_floor("VACUUM after deleting 10 %", 1, time, "s");
        Ok(())
    }
}
