//! `speed OUT_FOLDER ROWS[,ROWS...] SETS PEERS TEXTS`: speed, size and upkeep of the index next to what
//! PostgreSQL offers without it. run.sh starts the server, and PGHOST says where it is.

mod all_pairs;
mod cells;
mod oracle;
mod peers;
mod pq;
mod processor;
mod report;
mod sets;
mod texts;
mod upkeep;

use std::process::ExitCode;

use peers::Peer;
use pq::{Client, Outcome};
use report::{Measurement, SetMeasurements, progress};

/// Queries of a cell.
const QUERIES: usize = 1_000;
/// From this size on a cell may take longer.
const LARGE: usize = 5_000_000;

/// A set of fingerprints.
struct FingerprintSet {
    name: &'static str,
    /// The rows, then those that are inserted later.
    fingerprints: Vec<u64>,
    rows: usize,
}

impl FingerprintSet {
    /// `texts` is the file of which set T is made.
    fn new(name: &'static str, rows: usize, texts: &str) -> Outcome<Self> {
        let count = rows + upkeep::extra_rows(rows);
        let fingerprints = match name {
            "A" => sets::uniform(count),
            "B" => sets::skewed(count),
            _ => texts::fingerprints(&Client::connect()?, texts, count)?,
        };
        Ok(Self {
            name,
            fingerprints,
            rows,
        })
    }
}

/// Creates table `t` with the set's rows, and nothing else of an earlier set.
fn load(client: &Client, set: &FingerprintSet) -> Outcome<()> {
    progress(&format!("set {}, {} rows: loading", set.name, set.rows));
    client.run("DROP TABLE IF EXISTS t")?;
    client.run("CREATE TABLE t (id bigint NOT NULL, fp bigint NOT NULL)")?;
    let lines = upkeep::copy_lines(0, &set.fingerprints[..set.rows]);
    client.copy("COPY t FROM STDIN", lines)?;
    client.run("ALTER TABLE t ADD PRIMARY KEY (id)")?;
    client.run("VACUUM ANALYZE t")?;
    Ok(())
}

/// Builds all peers on `t`, with two workers where they can use them.
fn build(client: &Client, peers: &[Peer]) -> Outcome<Vec<Measurement>> {
    client.run("SET max_parallel_maintenance_workers = 2")?;
    let mut measurements = Vec::new();
    for peer in peers.iter().filter(|peer| !peer.relations("t").is_empty()) {
        progress(&format!("building: {}", peer.name()));
        let value = upkeep::seconds(client, &peer.create("t"))?;
        upkeep::prewarm(client, &peer.relations("t"))?;
        measurements.push(Measurement {
            what: "build, 2 workers".to_owned(),
            peer: peer.name().to_owned(),
            n: 1,
            value,
            unit: "s",
            ..Measurement::default()
        });
    }
    upkeep::prewarm(client, &["t".to_owned(), "t_pkey".to_owned()])?;
    client.run("VACUUM ANALYZE")?;
    client.run("CHECKPOINT")?;
    Ok(measurements)
}

fn search(client: &Client, set: &FingerprintSet, peers: &[Peer]) -> Outcome<Vec<Measurement>> {
    let rows = &set.fingerprints[..set.rows];
    let centres = sets::centres(rows, QUERIES, 3);
    progress("reading every row for the truth about each query");
    let questions = cells::Questions {
        rows,
        centres: &centres,
        warm_up: &sets::centres(rows, 300, 5),
        truths: &oracle::truths(rows, &centres)?,
        cap: if set.rows >= LARGE { 30.0 } else { 10.0 },
    };
    let shared = processor::SharedProcessor::with(client);
    if shared.is_none() {
        progress("client and backend cannot be bound to one processor");
    }
    let mut measurements = cells::measure(client, peers, &questions)?;
    drop(shared);
    measurements.push(all_pairs::measure(client, rows, set.name == "A")?);
    Ok(measurements)
}

fn measure_upkeep(
    client: &Client,
    set: &FingerprintSet,
    peers: &[Peer],
) -> Outcome<Vec<Measurement>> {
    upkeep::load_extra_rows(client, set.rows, &set.fingerprints[set.rows..])?;
    let floor = upkeep::measure(client, Peer::NoIndex, set.rows, &[])?;
    let mut measurements = floor.clone();
    for peer in peers.iter().filter(|peer| !peer.relations("t").is_empty()) {
        measurements.extend(upkeep::measure(client, *peer, set.rows, &floor)?);
    }
    Ok(measurements)
}

/// Calls `save` with what is there when half is done, too: a long run may not come to its end.
fn measure_set(
    set: &FingerprintSet,
    with_peers: bool,
    save: &mut dyn FnMut(SetMeasurements) -> Outcome<()>,
) -> Outcome<()> {
    let client = Client::connect()?;
    client.run(cells::SESSION)?;
    let peers = peers::measured(with_peers);
    load(&client, set)?;
    let mut measurements = build(&client, peers)?;
    measurements.splice(0..0, search(&client, set, peers)?);
    let section = |measurements: &[Measurement]| SetMeasurements {
        set: set.name.to_owned(),
        rows: set.rows,
        measurements: measurements.to_vec(),
    };
    save(section(&measurements))?;
    // The upkeep has the server's memory to itself.
    for peer in peers {
        upkeep::seconds(&client, &peer.remove("t"))?;
    }
    measurements.extend(measure_upkeep(&client, set, peers)?);
    save(section(&measurements))
}

fn title(client: &Client) -> Outcome<String> {
    let version = client.run("SHOW server_version")?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let version = version.text(0, 0).unwrap_or("?");
    Ok(format!(
        "PostgreSQL {version}, {processors} processors, everything in memory"
    ))
}

/// Returns whether all answers were right.
fn run(arguments: &[String]) -> Outcome<bool> {
    let [folder, rows, sets, peers, texts] = arguments else {
        return Err("usage: speed OUT_FOLDER ROWS[,ROWS...] SETS PEERS TEXTS".into());
    };
    let sizes: Result<Vec<usize>, _> = rows.split(',').map(str::parse).collect();
    let mut sections: Vec<SetMeasurements> = Vec::new();
    for rows in sizes? {
        let named = ["A", "B", "T"].into_iter();
        for name in named.filter(|name| sets.contains(name)) {
            let place = sections.len();
            let set = FingerprintSet::new(name, rows, texts)?;
            measure_set(&set, peers != "none", &mut |section| {
                sections.truncate(place);
                sections.push(section);
                std::fs::write(format!("{folder}/bench.csv"), report::csv(&sections))?;
                Ok(())
            })?;
        }
    }
    let markdown = report::markdown(&title(&Client::connect()?)?, &sections);
    std::fs::write(format!("{folder}/bench.md"), &markdown)?;
    println!("\n{markdown}");
    let mut measurements = sections.iter().flat_map(|s| &s.measurements);
    Ok(measurements.all(|m| m.wrong == 0))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("speed: wrong answers");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("speed: {error}");
            ExitCode::FAILURE
        }
    }
}
