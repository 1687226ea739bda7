//! Grouping all rows at once: Single-Pass clustering, which compares each row with the leaders of
//! all groups so far, against the same with the leaders looked up by the index, and against the
//! index's pairs. All find the same groups.

use std::time::Instant;

use crate::pq::{Client, Outcome};
use crate::report::{Measure, Section, progress};

pub const SIZES: [usize; 5] = [1_000, 3_000, 10_000, 30_000, 100_000];
/// Sizes to which times are extrapolated only.
const BEYOND: [usize; 2] = [1_000_000, 10_000_000];
/// Seconds that a run may be expected to take.
const PATIENCE: f64 = 90.0;
const RADIUS: u32 = 3;

#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// A compiled loop over leaders in memory: the least that Single-Pass can take.
    Memory,
    /// A loop in the database, leaders read sequentially.
    Sequential,
    /// A loop in the database, leaders looked up through the index.
    Index,
    /// All pairs within the radius, found by a join through the index.
    Pairs,
}

impl Way {
    const ALL: [Way; 4] = [Way::Memory, Way::Sequential, Way::Index, Way::Pairs];

    fn name(self) -> &'static str {
        match self {
            Way::Memory => "Single-Pass, in memory",
            Way::Sequential => "Single-Pass, in SQL",
            Way::Index => "Single-Pass by the index",
            Way::Pairs => "all pairs by the index",
        }
    }

    /// How time grows with rows: its exponent.
    fn growth(self) -> i32 {
        match self {
            Way::Memory | Way::Sequential => 2,
            Way::Index | Way::Pairs => 1,
        }
    }
}

/// Group of each row: the id of the first leader within the radius, or its own.
fn single_pass(rows: &[u64]) -> Vec<usize> {
    let mut leaders: Vec<(usize, u64)> = Vec::new();
    (rows.iter().enumerate())
        .map(|(id, row)| {
            let near = |leader: &&(usize, u64)| (leader.1 ^ row).count_ones() <= RADIUS;
            match leaders.iter().find(near) {
                Some(leader) => leader.0,
                None => {
                    leaders.push((id, *row));
                    id
                }
            }
        })
        .collect()
}

const LOOP: &str = "
CREATE OR REPLACE FUNCTION single_pass(n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    r record;
    found_id bigint;
BEGIN
    FOR r IN SELECT id, fp FROM batch WHERE id < n ORDER BY id LOOP
        found_id := NULL;
        SELECT l.id INTO found_id FROM leader l WHERE l.fp <~> r.fp <= 3 ORDER BY l.id LIMIT 1;
        IF found_id IS NULL THEN
            INSERT INTO leader VALUES (r.id, r.fp);
        END IF;
        INSERT INTO grouped VALUES (r.id, coalesce(found_id, r.id));
    END LOOP;
END $$";

/// Seconds, and whether the answer is right.
fn run(client: &Client, way: Way, rows: &[u64], truth: &[usize]) -> Outcome<(f64, bool)> {
    let start = Instant::now();
    if way == Way::Memory {
        let groups = single_pass(rows);
        return Ok((start.elapsed().as_secs_f64(), groups == truth));
    }
    client.run("DROP TABLE IF EXISTS leader, grouped, batch_n")?;
    if way == Way::Pairs {
        client.run(&format!(
            "CREATE TABLE batch_n AS SELECT * FROM batch WHERE id < {}",
            rows.len()
        ))?;
        client.run("SET enable_seqscan = on")?;
        let start = Instant::now();
        client.run("CREATE INDEX ON batch_n USING simhash (fp)")?;
        client.run("ANALYZE batch_n")?;
        let sql =
            "SELECT count(*) FROM batch_n a JOIN batch_n b ON a.fp <~> b.fp <= 3 AND a.id < b.id";
        let found = client.number(sql)?;
        let time = start.elapsed().as_secs_f64();
        return Ok((time, found == crate::oracle::pairs(rows, RADIUS) as f64));
    }
    client.run("CREATE TABLE leader (id bigint, fp bigint); CREATE TABLE grouped (id bigint, leader bigint)")?;
    if way == Way::Index {
        client.run("CREATE INDEX ON leader USING simhash (fp); SET enable_seqscan = off")?;
    }
    let start = Instant::now();
    client.run(&format!("SELECT single_pass({})", rows.len()))?;
    let time = start.elapsed().as_secs_f64();
    client.run("RESET enable_seqscan")?;
    let answer = client.run("SELECT leader FROM grouped ORDER BY id")?;
    let groups: Result<Vec<usize>, _> = answer.lines().iter().map(|l| l.parse()).collect();
    Ok((time, groups? == truth))
}

/// One section for each size, those that are only extrapolated at the end.
pub fn measure(client: &Client, rows: &[u64]) -> Outcome<Vec<Section>> {
    client.run("DROP TABLE IF EXISTS batch; CREATE TABLE batch (id bigint, fp bigint)")?;
    client.copy("COPY batch FROM STDIN", crate::upkeep::copy_lines(0, rows))?;
    client.run("VACUUM ANALYZE batch")?;
    client.run(LOOP)?;
    let mut last: Vec<(Way, usize, f64)> = Vec::new();
    let mut sections = Vec::new();
    for size in SIZES.into_iter().chain(BEYOND) {
        let truth = single_pass(&rows[..size.min(rows.len())]);
        let mut measures = Vec::new();
        for way in Way::ALL {
            let before = last.iter().find(|l| l.0 == way).copied();
            let expected = before.map_or(0.0, |(_, rows, time)| {
                time * (size as f64 / rows as f64).powi(way.growth())
            });
            let measured = size <= rows.len() && expected <= PATIENCE;
            let mut measure = Measure {
                what: "batch".to_owned(),
                peer: way.name().to_owned(),
                k: RADIUS.to_string(),
                unit: "s",
                value: expected,
                ..Measure::default()
            };
            if measured {
                progress(&format!("{} rows: {}", size, way.name()));
                let (time, right) = run(client, way, &rows[..size], &truth)?;
                (measure.n, measure.value) = (1, time);
                (measure.checked, measure.wrong) = (1, usize::from(!right));
                last.retain(|l| l.0 != way);
                last.push((way, size, time));
            } else {
                measure.note = "extrapolated".to_owned();
            }
            measures.push(measure);
        }
        sections.push(Section {
            set: "A".to_owned(),
            rows: size,
            measures,
        });
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_joins_the_first_leader_within_three_bits() {
        // 0b1111 is 4 from the first leader and becomes one; 0b0011 is near both: the first has it.
        let rows = [0, 0b111, 0b1111, 0b0011, u64::MAX, 0b1111_1111];
        assert_eq!(single_pass(&rows), [0, 0, 2, 0, 4, 5]);
    }
}
