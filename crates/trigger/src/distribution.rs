//! Which triggers a shard of a table of Citus can have. A trigger fires on a shard, a table of its
//! own, whose name is that of the distributed table with a number behind it. The extension's module
//! `citus` calls this with what Citus' catalogs say.

#![forbid(unsafe_code)]

use crate::Error;

/// Distribution of rows among shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// A local table of one node, which was added to the metadata.
    Local,
    /// One shard has all rows: a reference table, or one that is distributed without a column.
    SingleShard,
    /// By the hash of this distribution column: rows that are equal in it are in one shard.
    Hash(String),
    /// Equal rows may be in any shards.
    Other,
}

impl Distribution {
    /// Made from `partmethod`, `repmodel`, `colocationid` and the column of `partkey` in
    /// pg_dist_partition.
    pub fn new(method: u8, replication: u8, colocation: i64, column: Option<String>) -> Self {
        match (method, column) {
            (b'n', _) if replication == b's' && colocation == 0 => Self::Local,
            (b'n', _) => Self::SingleShard,
            (b'h', Some(column)) => Self::Hash(column),
            _ => Self::Other,
        }
    }

    /// Refuses a trigger that flags near-duplicates on a shard, unless all rows that may be
    /// near-duplicates of its rows are in the shard. The type's equality decides both what
    /// `within` compares and what Citus hashes alike: it refuses a distribution column whose
    /// collation finds different bytes equal.
    pub fn check_flags(&self, within: &[String]) -> Result<(), Error> {
        const ALL: &str = "simhash_pairs() finds the near-duplicates of the whole table.";
        match self {
            Self::Local | Self::SingleShard => Ok(()),
            Self::Hash(column) if within.contains(column) => Ok(()),
            Self::Hash(column) => Err(Error::shard(format!(
                "near-duplicates are flagged only within the distribution column \"{column}\""
            ))
            .hint(format!(
                "Let 'within=...' name \"{column}\": rows that differ in it are not compared. {ALL}"
            ))),
            Self::Other => Err(
                Error::shard("near-duplicates in other shards are not seen").hint(format!(
                    "Distribute the table by the hash of a column. {ALL}"
                )),
            ),
        }
    }

    /// The same for a trigger that keeps clusters. It writes them to another table, which must be
    /// where the rows are: on the node of the shard, and only there.
    pub fn check_clusters(&self) -> Result<(), Error> {
        const INSTEAD: &str = "Let a materialized view have what simhash_clusters() finds.";
        match self {
            Self::Local => Ok(()),
            _ => Err(
                Error::shard("clusters of a distributed table are not kept by triggers")
                    .hint(INSTEAD),
            ),
        }
    }
}

/// Returns whether a shard may be on several nodes, by `repmodel`. Reference tables are (t), and
/// tables whose copies Citus writes by sending each statement to all (c); others (s) are copied by
/// the server.
pub fn has_copies(replication: u8) -> bool {
    replication != b's'
}

/// The number of the shard that a table of this name would be.
pub fn shard_number(name: &str) -> Option<i64> {
    let (_, digits) = name.rsplit_once('_')?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    (are_digits && !digits.starts_with('0'))
        .then(|| digits.parse().ok())
        .flatten()
}

/// Returns whether this is the name of a table's shard. A long name is cut, and has eight digits of
/// a hash before the number, which are not computed here.
pub fn is_shard_name(name: &str, table: &str, number: i64) -> bool {
    let Some(front) = name.strip_suffix(&format!("_{number}")) else {
        return false;
    };
    let is_cut = || {
        let Some((cut, hash)) = front.rsplit_once('_') else {
            return false;
        };
        hash.len() == 8
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            && table.starts_with(cut)
    };
    front == table || is_cut()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(columns: &[&str]) -> Vec<String> {
        columns.iter().map(|name| (*name).to_owned()).collect()
    }

    fn by_hash(column: &str) -> Distribution {
        Distribution::new(b'h', b's', 7, Some(column.to_owned()))
    }

    #[test]
    fn methods_of_citus() {
        use Distribution::{Hash, Local, Other, SingleShard};
        let by = |method, replication, colocation, column: Option<&str>| {
            Distribution::new(method, replication, colocation, column.map(str::to_owned))
        };
        assert_eq!(by(b'h', b's', 7, Some("id")), Hash("id".to_owned()));
        assert_eq!(by(b'h', b'c', 0, Some("id")), Hash("id".to_owned()));
        assert_eq!(by(b'h', b's', 7, None), Other);
        assert_eq!(by(b'r', b's', 0, Some("id")), Other);
        assert_eq!(by(b'a', b's', 0, Some("id")), Other);
        assert_eq!(by(b'?', b's', 0, None), Other);
        assert_eq!(by(b'n', b't', 3, None), SingleShard);
        assert_eq!(by(b'n', b's', 3, None), SingleShard);
        assert_eq!(by(b'n', b's', 0, None), Local);
    }

    #[test]
    fn flags_need_all_rows_that_may_be_near() {
        for distribution in [Distribution::SingleShard, Distribution::Local] {
            assert_eq!(distribution.check_flags(&[]), Ok(()));
        }
        let tenant = by_hash("tenant");
        assert_eq!(tenant.check_flags(&names(&["day", "tenant"])), Ok(()));
        for within in [&[][..], &["day"], &["Tenant"], &["tenant_id"]] {
            let error = tenant.check_flags(&names(within)).unwrap_err();
            assert!(error.message.ends_with("distribution column \"tenant\""));
            let hint = error.hint.unwrap();
            assert!(hint.contains("name \"tenant\""), "{hint}");
        }
        assert!(Distribution::Other.check_flags(&names(&["id"])).is_err());
    }

    #[test]
    fn clusters_stay_with_their_rows() {
        assert_eq!(Distribution::Local.check_clusters(), Ok(()));
        for other in [
            Distribution::SingleShard,
            Distribution::Other,
            by_hash("id"),
        ] {
            assert!(other.check_clusters().is_err(), "{other:?}");
        }
    }

    #[test]
    fn numbers_of_shards() {
        assert_eq!(shard_number("doc_102008"), Some(102_008));
        assert_eq!(shard_number("doc_2024_102008"), Some(102_008));
        assert_eq!(shard_number("_1"), Some(1));
        for none in [
            "doc",
            "doc_",
            "doc102008",
            "doc_1a",
            "doc_-1",
            "doc_+1",
            "doc_01",
            "doc_99999999999999999999",
            "",
        ] {
            assert_eq!(shard_number(none), None, "{none}");
        }
    }

    #[test]
    fn names_of_shards() {
        assert!(is_shard_name("doc_102008", "doc", 102_008));
        assert!(is_shard_name("a_b_7", "a_b", 7));
        assert!(!is_shard_name("doc_102008", "doc", 102_009));
        assert!(!is_shard_name("docs_102008", "doc", 102_008));
        assert!(!is_shard_name("doc_old_102008", "doc", 102_008));
        let long = "x".repeat(63);
        let cut = |hash: &str| format!("{}_{hash}_102008", &long[..47]);
        assert!(is_shard_name(&cut("0a1b2c3d"), &long, 102_008));
        assert!(!is_shard_name(&cut("0a1b2c3"), &long, 102_008));
        assert!(!is_shard_name(&cut("0a1b2c3g"), &long, 102_008));
        assert!(!is_shard_name(&cut("0a1b2c3d"), "doc", 102_008));
    }
}
