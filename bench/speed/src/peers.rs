//! The peers: our index, and what a PostgreSQL without it can do. For each the SQL that makes
//! it, the SQL that asks it, and the parameters of a question.

use simhash_hamming::search::probe::{Radii, for_each_key, radii};

use crate::pq::{Client, Outcome, Parameter, bigint, int_array};
use crate::sets::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// No secondary index: the floor of inserts.
    Bare,
    Simhash,
    /// One row by its primary key: not a search, but what the cheapest query costs.
    LookUp,
    /// Reads every row, in one process.
    Sequential,
    /// Reads every row, with two workers.
    Parallel,
    /// A covering b-tree on each block, and UNION ALL.
    Btrees,
    /// One GIN index on the array of the four keys.
    Gin,
    /// A table with a row for each block, and a covering b-tree as its primary key.
    Side,
    /// The BK-tree of another extension, where it is installed.
    Bktree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// All rows within so many bits.
    Within(u32),
    /// The ten nearest rows.
    Nearest,
    /// The row of an id.
    LookUp,
}

impl Task {
    pub fn name(self) -> String {
        match self {
            Task::Within(k) => k.to_string(),
            Task::Nearest => "10 nearest".to_owned(),
            Task::LookUp => String::new(),
        }
    }

    /// What to ask for where a search asks for `centre`: that, or any row's id.
    pub fn about(self, centre: u64, rows: usize) -> u64 {
        match self {
            Task::LookUp => Random::new(centre).below(rows) as u64,
            Task::Within(_) | Task::Nearest => centre,
        }
    }
}

/// A question to a peer, in SQL: $1 is the fingerprint or the id, the rest int4[] of keys.
pub struct Query {
    pub peer: Peer,
    pub task: Task,
    pub sql: String,
    /// In force while the statement is planned.
    pub settings: &'static [&'static str],
    /// What the plan must contain for the peer to be the one that answers.
    pub plan: &'static str,
    /// Radii of the blocks whose keys are passed as arrays.
    keys: Option<Radii>,
}

/// Block `b` of the fingerprint that `fp` stands for, block 0 the highest.
fn block(fp: &str, b: usize) -> String {
    format!("(({fp} >> {}) & 65535)::int4", 48 - 16 * b)
}

/// The key of block `b`, different in all blocks.
fn gin_key(fp: &str, b: usize) -> String {
    format!("({} | {})", block(fp, b), b << 16)
}

fn gin_keys() -> String {
    let keys: Vec<String> = (0..4).map(|b| gin_key("fp", b)).collect();
    format!("(ARRAY[{}])", keys.join(", "))
}

fn key_of(fp: u64, b: usize) -> u16 {
    (fp >> (48 - 16 * b)) as u16
}

impl Peer {
    pub fn name(self) -> &'static str {
        match self {
            Peer::Bare => "no index",
            Peer::Simhash => "simhash",
            Peer::LookUp => "look-up",
            Peer::Sequential => "sequential",
            Peer::Parallel => "sequential, 2 workers",
            Peer::Btrees => "4 b-trees",
            Peer::Gin => "GIN",
            Peer::Side => "side table",
            Peer::Bktree => "bktree",
        }
    }

    /// Statements that build it on a filled table.
    pub fn create(self, table: &str) -> Vec<String> {
        match self {
            Peer::Bare | Peer::LookUp | Peer::Sequential | Peer::Parallel => Vec::new(),
            Peer::Simhash => vec![format!(
                "CREATE INDEX {table}_simhash ON {table} USING simhash (fp)"
            )],
            Peer::Btrees => (0..4)
                .map(|b| {
                    let key = block("fp", b);
                    format!("CREATE INDEX {table}_btree_{b} ON {table} (({key})) INCLUDE (fp, id)")
                })
                .collect(),
            Peer::Gin => vec![format!(
                "CREATE INDEX {table}_gin ON {table} USING gin ({})",
                gin_keys()
            )],
            Peer::Side => vec![
                format!("CREATE TABLE {table}_side (block int4, key int4, id bigint, fp bigint)"),
                side_rows(table, table),
                format!("ALTER TABLE {table}_side ADD PRIMARY KEY (block, key, id) INCLUDE (fp)"),
            ],
            Peer::Bktree => vec![format!(
                "CREATE INDEX {table}_bktree ON {table} USING spgist (fp bktree_ops)"
            )],
        }
    }

    /// Statements that remove it.
    pub fn remove(self, table: &str) -> Vec<String> {
        match self {
            Peer::Side => vec![format!("DROP TABLE {table}_side")],
            _ => (self.relations(table).iter())
                .map(|index| format!("DROP INDEX {index}"))
                .collect(),
        }
    }

    /// What takes space for it.
    pub fn relations(self, table: &str) -> Vec<String> {
        match self {
            Peer::Bare | Peer::LookUp | Peer::Sequential | Peer::Parallel => Vec::new(),
            Peer::Simhash => vec![format!("{table}_simhash")],
            Peer::Btrees => (0..4).map(|b| format!("{table}_btree_{b}")).collect(),
            Peer::Gin => vec![format!("{table}_gin")],
            Peer::Side => vec![format!("{table}_side"), format!("{table}_side_pkey")],
            Peer::Bktree => vec![format!("{table}_bktree")],
        }
    }

    /// Inserts the rows of `source`, which is the name of a table or a row list.
    pub fn insert(self, table: &str, source: &str) -> String {
        match self {
            Peer::Side => format!(
                "WITH fresh AS (INSERT INTO {table} SELECT id, fp FROM {source} RETURNING id, fp) {}",
                side_rows(table, "fresh")
            ),
            _ => format!("INSERT INTO {table} SELECT id, fp FROM {source}"),
        }
    }

    pub fn queries(self) -> Vec<Query> {
        use Task::{Nearest, Within};
        let tasks: &[Task] = match self {
            Peer::Bare => &[],
            Peer::Simhash => &[
                Within(0),
                Within(1),
                Within(3),
                Within(6),
                Within(8),
                Within(10),
                Nearest,
            ],
            Peer::LookUp => &[Task::LookUp],
            Peer::Sequential | Peer::Parallel => &[Within(3), Nearest],
            Peer::Btrees => &[Within(3), Within(6), Within(8)],
            Peer::Gin | Peer::Side => &[Within(3)],
            Peer::Bktree => &[Within(3), Within(8)],
        };
        tasks.iter().map(|task| self.query(*task)).collect()
    }

    pub fn query(self, task: Task) -> Query {
        let operator = match task {
            Task::Within(k) => format!("SELECT id FROM t WHERE fp <~> $1::bigint <= {k}"),
            Task::Nearest => "SELECT id FROM t ORDER BY fp <~> $1::bigint LIMIT 10".to_owned(),
            Task::LookUp => "SELECT fp FROM t WHERE id = $1::bigint".to_owned(),
        };
        let k = if let Task::Within(k) = task { k } else { 0 };
        let index: &[&str] = &["enable_seqscan = off"];
        let (sql, settings, plan, keys) = match self {
            Peer::Bare | Peer::Simhash => (operator, index, "t_simhash", None),
            Peer::LookUp => (operator, index, "t_pkey", None),
            Peer::Sequential => (operator, NO_INDEX, "Seq Scan on t", None),
            Peer::Parallel => (operator, TWO_WORKERS, "Parallel Seq Scan on t", None),
            Peer::Btrees => (
                btrees_sql(k),
                index,
                "t_btree_3",
                Some(radii(k)).filter(|_| k > 3),
            ),
            Peer::Gin => (gin_sql(k), index, "t_gin", None),
            Peer::Side => (side_sql(k), index, "t_side_pkey", None),
            Peer::Bktree => (bktree_sql(k), index, "t_bktree", None),
        };
        Query {
            peer: self,
            task,
            sql,
            settings,
            plan,
            keys,
        }
    }
}

const NO_INDEX: &[&str] = &[
    "enable_indexscan = off",
    "enable_bitmapscan = off",
    "enable_indexonlyscan = off",
];
const TWO_WORKERS: &[&str] = &[
    "enable_indexscan = off",
    "enable_bitmapscan = off",
    "enable_indexonlyscan = off",
    "max_parallel_workers_per_gather = 2",
    "min_parallel_table_scan_size = 0",
    "parallel_setup_cost = 0",
    "parallel_tuple_cost = 0",
];

impl Query {
    /// What is passed for one fingerprint or id. The keys around it are the client's work, as in a
    /// program that uses such a scheme, and are made outside the timing.
    pub fn parameters(&self, q: u64) -> Vec<Parameter> {
        let mut parameters = vec![bigint(q)];
        if let Some(radii) = self.keys {
            for (b, radius) in radii.into_iter().enumerate() {
                let mut keys = Vec::new();
                for_each_key(key_of(q, b), radius, |key| keys.push(u32::from(key)));
                parameters.push(int_array(&keys));
            }
        }
        parameters
    }
}

const NEAR: &str = "bit_count((fp # $1::bigint)::bit(64)) <=";

/// One branch a block; each match comes from the first block that has it. Up to k = 3 a block must
/// be equal; beyond, it may be any of the keys within the block's radius, which $2 to $5 list.
fn btrees_sql(k: u32) -> String {
    let radii = if k > 3 { radii(k) } else { [0; 4] };
    let found = |b: usize| match k {
        0..=3 => format!("{} = {}", block("fp", b), block("$1::bigint", b)),
        _ => format!("{} = ANY ($%::int4[])", block("fp", b)).replace('%', &(b + 2).to_string()),
    };
    let missed = |b: usize| match radii[b] {
        0 => format!("{} <> {}", block("fp", b), block("$1::bigint", b)),
        radius => format!(
            "bit_count({}::bit(16)) > {radius}",
            block("(fp # $1::bigint)", b)
        ),
    };
    let branches: Vec<String> = (0..4)
        .map(|b| {
            let mut sql = format!("SELECT id FROM t WHERE {} AND {NEAR} {k}", found(b));
            for earlier in 0..b {
                sql += &format!(" AND {}", missed(earlier));
            }
            sql
        })
        .collect();
    branches.join(" UNION ALL ")
}

fn gin_sql(k: u32) -> String {
    let wanted: Vec<String> = (0..4).map(|b| gin_key("$1::bigint", b)).collect();
    format!(
        "SELECT id FROM t WHERE {} && ARRAY[{}] AND {NEAR} {k}",
        gin_keys(),
        wanted.join(", ")
    )
}

/// The four rows of each row of `source`.
fn side_rows(table: &str, source: &str) -> String {
    let values: Vec<String> = (0..4)
        .map(|b| format!("({b}, {})", block("fp", b)))
        .collect();
    format!(
        "INSERT INTO {table}_side SELECT block, key, id, fp FROM {source}, LATERAL (VALUES {}) v(block, key)",
        values.join(", ")
    )
}

fn side_sql(k: u32) -> String {
    let branches: Vec<String> = (0..4)
        .map(|b| {
            let mut sql = format!(
                "SELECT id FROM t_side WHERE block = {b} AND key = {} AND {NEAR} {k}",
                block("$1::bigint", b)
            );
            for earlier in 0..b {
                sql += &format!(
                    " AND {} <> {}",
                    block("fp", earlier),
                    block("$1::bigint", earlier)
                );
            }
            sql
        })
        .collect();
    branches.join(" UNION ALL ")
}

fn bktree_sql(k: u32) -> String {
    format!("SELECT id FROM t WHERE fp <@ ROW($1::bigint, {k})::bktree_area")
}

/// The peers that this server and this many rows allow.
pub fn present(client: &Client, rows: usize, wanted: &str) -> Outcome<Vec<Peer>> {
    if wanted == "none" {
        return Ok(vec![Peer::Simhash, Peer::LookUp]);
    }
    let mut peers = vec![Peer::Simhash, Peer::LookUp, Peer::Btrees, Peer::Gin];
    // Four rows for each: 40 M at 10 M.
    if rows <= 1_000_000 || wanted == "all" {
        peers.push(Peer::Side);
    }
    if client.number("SELECT count(*) FROM pg_extension WHERE extname = 'bktree'")? > 0.0 {
        peers.push(Peer::Bktree);
    }
    peers.extend([Peer::Sequential, Peer::Parallel]);
    Ok(peers)
}
