//! The peers: our index, and what a PostgreSQL without it can do. For each the SQL that builds it,
//! the SQL of its searches, and their parameters.

use simhash_hamming::search::probe::{Radii, even_radii, for_each_key};

use crate::pq::{Parameter, bigint, int_array};
use crate::sets::SplitMix;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// No secondary index: the floor of inserts.
    NoIndex,
    Simhash,
    /// One row by its primary key: not a search, but what the cheapest query costs.
    LookUp,
    /// Reads every row, in one process.
    Sequential,
    /// A covering b-tree on each block, and UNION ALL.
    Btrees,
    /// One GIN index on the array of the four keys.
    Gin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// All rows within this number of bits.
    Within(u32),
    /// The ten nearest rows.
    Nearest,
    /// The row of an id.
    LookUp,
}

impl QueryKind {
    pub fn name(self) -> String {
        match self {
            QueryKind::Within(k) => k.to_string(),
            QueryKind::Nearest => "10 nearest".to_owned(),
            QueryKind::LookUp => String::new(),
        }
    }

    /// Returns the parameter of a query whose search is around `centre`: that, or any row's id.
    pub fn parameter(self, centre: u64, rows: usize) -> u64 {
        match self {
            QueryKind::LookUp => SplitMix::new(centre).below(rows) as u64,
            QueryKind::Within(_) | QueryKind::Nearest => centre,
        }
    }
}

/// A query of a peer: $1 is the fingerprint or the id, the rest int4[] of keys.
pub struct Query {
    pub peer: Peer,
    pub kind: QueryKind,
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
            Peer::NoIndex => "no index",
            Peer::Simhash => "simhash",
            Peer::LookUp => "look-up",
            Peer::Sequential => "sequential",
            Peer::Btrees => "4 b-trees",
            Peer::Gin => "GIN",
        }
    }

    /// Statements that build it on a filled table.
    pub fn create(self, table: &str) -> Vec<String> {
        match self {
            Peer::NoIndex | Peer::LookUp | Peer::Sequential => Vec::new(),
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
        }
    }

    /// Statements that remove it.
    pub fn remove(self, table: &str) -> Vec<String> {
        let indexes = self.relations(table).into_iter();
        indexes.map(|index| format!("DROP INDEX {index}")).collect()
    }

    /// What takes space for it.
    pub fn relations(self, table: &str) -> Vec<String> {
        match self {
            Peer::NoIndex | Peer::LookUp | Peer::Sequential => Vec::new(),
            Peer::Simhash => vec![format!("{table}_simhash")],
            Peer::Btrees => (0..4).map(|b| format!("{table}_btree_{b}")).collect(),
            Peer::Gin => vec![format!("{table}_gin")],
        }
    }

    pub fn queries(self) -> Vec<Query> {
        use QueryKind::{Nearest, Within};
        let kinds: &[QueryKind] = match self {
            Peer::NoIndex => &[],
            Peer::Simhash => &[
                Within(0),
                Within(1),
                Within(3),
                Within(6),
                Within(8),
                Within(10),
                Within(12),
                Within(15),
                Nearest,
            ],
            Peer::LookUp => &[QueryKind::LookUp],
            Peer::Sequential => &[Within(3), Nearest],
            Peer::Btrees => &[Within(3), Within(6), Within(8)],
            Peer::Gin => &[Within(3)],
        };
        kinds.iter().map(|kind| self.query(*kind)).collect()
    }

    pub fn query(self, kind: QueryKind) -> Query {
        let operator = match kind {
            QueryKind::Within(k) => format!("SELECT id FROM t WHERE fp <~> $1::bigint <= {k}"),
            QueryKind::Nearest => "SELECT id FROM t ORDER BY fp <~> $1::bigint LIMIT 10".to_owned(),
            QueryKind::LookUp => "SELECT fp FROM t WHERE id = $1::bigint".to_owned(),
        };
        let k = if let QueryKind::Within(k) = kind {
            k
        } else {
            0
        };
        let index: &[&str] = &["enable_seqscan = off"];
        let (sql, settings, plan, keys) = match self {
            Peer::NoIndex | Peer::Simhash => (operator, index, "t_simhash", None),
            Peer::LookUp => (operator, index, "t_pkey", None),
            Peer::Sequential => (operator, NO_INDEX, "Seq Scan on t", None),
            Peer::Btrees => (
                btrees_sql(k),
                index,
                "t_btree_3",
                Some(even_radii(k)).filter(|_| k > 3),
            ),
            Peer::Gin => (gin_sql(k), index, "t_gin", None),
        };
        Query {
            peer: self,
            kind,
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
    let radii = if k > 3 { even_radii(k) } else { [0; 4] };
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
    let keys: Vec<String> = (0..4).map(|b| gin_key("$1::bigint", b)).collect();
    format!(
        "SELECT id FROM t WHERE {} && ARRAY[{}] AND {NEAR} {k}",
        gin_keys(),
        keys.join(", ")
    )
}

/// The peers that are measured: all, or this extension alone, next to look-ups.
pub fn measured(with_peers: bool) -> &'static [Peer] {
    match with_peers {
        true => &[
            Peer::Simhash,
            Peer::LookUp,
            Peer::Btrees,
            Peer::Gin,
            Peer::Sequential,
        ],
        false => &[Peer::Simhash, Peer::LookUp],
    }
}
