//! `speed OUT_FOLDER ROWS[,ROWS...] SETS PEERS`: speed, size and upkeep of the index next to what
//! PostgreSQL offers without it. `speed s0 OUT_FOLDER ROWS[,ROWS...]`: next to the system that it
//! began with. `speed cold OUT_FOLDER ROWS[,ROWS...]`: searches from disk. run.sh starts the server
//! and tells where it is by PGHOST, and a second one, for searches from disk, by COLD_HOST. `speed
//! model OUT_FOLDER CSV...`: the cost model, which asks no server.

mod cells;
mod cold;
mod cold_table;
mod hot_keys;
mod model;
mod model_plot;
mod oracle;
mod os;
mod peers;
mod plots;
mod pq;
mod report;
mod s0;
mod s0_batch;
mod s0_stores;
mod sessions;
mod sets;
mod traffic;
mod upkeep;

use std::path::Path;
use std::process::ExitCode;

use peers::Peer;
use pq::{Client, Outcome};
use report::{Measure, Section, progress};

/// Queries of a cell.
const QUERIES: usize = 1_000;
/// Up to this size what takes much memory or time beside the server is done: the model of hot keys,
/// and to count all pairs.
const MODELLED: usize = 20_000_000;
/// From this size on a cell may take longer.
const LARGE: usize = 5_000_000;

struct Set {
    name: &'static str,
    /// The rows, then those that are inserted later.
    fingerprints: Vec<u64>,
    rows: usize,
}

impl Set {
    fn made(name: &'static str, rows: usize, make: fn(usize) -> Vec<u64>) -> Set {
        let fingerprints = make(rows + upkeep::extra_rows(rows));
        Set {
            name,
            fingerprints,
            rows,
        }
    }

    fn real(client: &Client, name: &'static str, table: &str) -> Outcome<Option<Set>> {
        let Some(mut fingerprints) = sets::real(client, table)? else {
            progress(&format!("set {name} is left out: its data is not there"));
            return Ok(None);
        };
        let rows = fingerprints.len();
        let more = sets::more_like(&fingerprints, upkeep::extra_rows(rows));
        fingerprints.extend(more);
        Ok(Some(Set {
            name,
            fingerprints,
            rows,
        }))
    }
}

/// Table `t` with the set's rows, and nothing else of an earlier set.
fn load(client: &Client, set: &Set) -> Outcome<()> {
    progress(&format!("set {}, {} rows: loading", set.name, set.rows));
    client.run("DROP TABLE IF EXISTS t, t_side")?;
    client.run("CREATE TABLE t (id bigint NOT NULL, fp bigint NOT NULL)")?;
    let lines = upkeep::copy_lines(0, &set.fingerprints[..set.rows]);
    client.copy("COPY t FROM STDIN", lines)?;
    client.run("ALTER TABLE t ADD PRIMARY KEY (id)")?;
    client.run("VACUUM ANALYZE t")?;
    Ok(())
}

/// Builds all peers on `t`, with two workers where they can use them.
fn build(client: &Client, peers: &[Peer]) -> Outcome<Vec<Measure>> {
    client.run("SET max_parallel_maintenance_workers = 2")?;
    let mut measures = Vec::new();
    for peer in peers.iter().filter(|peer| !peer.relations("t").is_empty()) {
        progress(&format!("building: {}", peer.name()));
        let value = upkeep::seconds(client, &peer.create("t"))?;
        upkeep::prewarm(client, &peer.relations("t"))?;
        measures.push(Measure {
            what: "build, 2 workers".to_owned(),
            peer: peer.name().to_owned(),
            n: 1,
            value,
            unit: "s",
            ..Measure::default()
        });
    }
    upkeep::prewarm(client, &["t".to_owned(), "t_pkey".to_owned()])?;
    client.run("VACUUM ANALYZE")?;
    client.run("CHECKPOINT")?;
    Ok(measures)
}

fn search(client: &Client, set: &Set, peers: &[Peer]) -> Outcome<Vec<Measure>> {
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
    let together = os::Together::with(client);
    if together.is_none() {
        progress("client and backend cannot be bound to one processor");
    }
    let mut measures = cells::measure(client, peers, &questions)?;
    drop(together);
    measures.extend(sessions::measure(rows)?);
    measures.extend(traffic::throughput(peers, &centres, 3.0)?);
    measures.extend(traffic::all_pairs(client, rows, set.name == "A")?);
    if rows.len() <= MODELLED {
        progress("hot keys, a model in memory");
        measures.extend(hot_keys::Model::new(rows).measure(&centres)?);
    }
    Ok(measures)
}

fn keep(client: &Client, set: &Set, peers: &[Peer]) -> Outcome<Vec<Measure>> {
    let extra = upkeep::Extra::load(client, set.rows, &set.fingerprints[set.rows..])?;
    let floor = upkeep::measure(client, Peer::Bare, set.rows, &extra, &[])?;
    let mut measures = floor.clone();
    for peer in peers.iter().filter(|peer| !peer.relations("t").is_empty()) {
        measures.extend(upkeep::measure(client, *peer, set.rows, &extra, &floor)?);
    }
    Ok(measures)
}

/// Calls `save` with what is there when half is done, too: a long run may not come to its end.
fn measure_set(
    set: &Set,
    wanted_peers: &str,
    save: &mut dyn FnMut(Section) -> Outcome<()>,
) -> Outcome<()> {
    let client = Client::connect()?;
    client.run(cells::SESSION)?;
    let peers = peers::present(&client, set.rows, wanted_peers)?;
    load(&client, set)?;
    let mut measures = build(&client, &peers)?;
    measures.splice(0..0, search(&client, set, &peers)?);
    let section = |measures: &[Measure]| Section {
        set: set.name.to_owned(),
        rows: set.rows,
        measures: measures.to_vec(),
    };
    save(section(&measures))?;
    // The upkeep has the server's memory to itself.
    for peer in &peers {
        upkeep::seconds(&client, &peer.remove("t"))?;
    }
    measures.extend(keep(&client, set, &peers)?);
    if let ("A", Ok(server)) = (set.name, std::env::var(cold::SERVER)) {
        measures.extend(cold::measure(&server, set)?);
    }
    save(section(&measures))
}

fn sets_of(
    sets: &str,
    sizes: &[usize],
    client: &Client,
    use_set: &mut dyn FnMut(Set) -> Outcome<()>,
) -> Outcome<()> {
    for rows in sizes {
        if sets.contains('A') {
            use_set(Set::made("A", *rows, sets::uniform))?;
        }
        if sets.contains('B') {
            use_set(Set::made("B", *rows, sets::skewed))?;
        }
    }
    if sets.contains('C') {
        for (name, table) in [
            ("C images", "real_images"),
            ("C descriptions", "real_descriptions"),
        ] {
            if let Some(set) = Set::real(client, name, table)? {
                use_set(set)?;
            }
        }
    }
    Ok(())
}

/// Set A from disk, and nothing else.
fn run_cold(folder: &str, sizes: &[usize]) -> Outcome<bool> {
    let server = std::env::var(cold::SERVER)?;
    let mut sections = Vec::new();
    for rows in sizes {
        let set = Set::made("A", *rows, sets::uniform);
        sections.push(Section {
            set: set.name.to_owned(),
            rows: set.rows,
            measures: cold::measure(&server, &set)?,
        });
    }
    std::fs::write(format!("{folder}/cold.csv"), report::csv(&sections))?;
    let title = title(&Client::connect_to(&server)?, "from disk")?;
    publish(&format!("{folder}/cold.md"), &title, &sections)
}

fn title(client: &Client, where_from: &str) -> Outcome<String> {
    let version = client.run("SHOW server_version")?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let version = version.text(0, 0).unwrap_or("?");
    Ok(format!(
        "PostgreSQL {version}, {processors} processors, {where_from}"
    ))
}

/// Writes and prints the tables. Were all answers right?
fn publish(path: &str, title: &str, sections: &[Section]) -> Outcome<bool> {
    let markdown = report::markdown(title, sections);
    std::fs::write(path, &markdown)?;
    println!("\n{markdown}");
    Ok(sections
        .iter()
        .flat_map(|s| &s.measures)
        .all(|m| m.wrong == 0))
}

fn sizes(rows: &str) -> Outcome<Vec<usize>> {
    let sizes: Result<Vec<usize>, _> = rows.split(',').map(str::parse).collect();
    Ok(sizes?)
}

fn run(arguments: &[String]) -> Outcome<bool> {
    let [folder, rows, sets, peers] = match arguments {
        [mode, folder, rows] if mode == "s0" => return s0::run(folder, &sizes(rows)?),
        [mode, folder, rows] if mode == "cold" => return run_cold(folder, &sizes(rows)?),
        [folder, rows, sets, peers] => [folder, rows, sets, peers],
        _ => return Err("usage: speed OUT_FOLDER ROWS[,ROWS...] SETS PEERS".into()),
    };
    let client = Client::connect()?;
    let mut sections = Vec::new();
    sets_of(sets, &sizes(rows)?, &client, &mut |set| {
        let place = sections.len();
        measure_set(&set, peers, &mut |section| {
            sections.truncate(place);
            sections.push(section);
            std::fs::write(format!("{folder}/bench.csv"), report::csv(&sections))?;
            Ok(())
        })
    })?;
    let title = title(&client, "everything in memory")?;
    let right = publish(&format!("{folder}/bench.md"), &title, &sections)?;
    plots::draw(Path::new(folder), &sections)?;
    Ok(right)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        // The model asks no server.
        Some((first, [folder, measurements @ ..])) if first == "model" => {
            model::run(folder, measurements)
        }
        _ => run(&arguments),
    };
    match outcome {
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
