//! How a trigger compares the rows of its table: by a column of fingerprints, or of longer hashes
//! in parts. The triggers of `flag` and `clusters` take the conditions of their queries and the
//! hashes of their rows from here. The parts that have an index decide how a search is written,
//! never what it finds.

use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;

use simhash_fingerprint::hashes::read::MOST_BITS;
use simhash_hamming::parts::{Hash, part_radius};
use simhash_pg::catalog::indexes::{Serving, served_elements, serving_index};
use simhash_pg::catalog::table::Column;
use simhash_pg::process::error::Error;
use simhash_pg::sql::bigint_array::bigints;
use simhash_pg::sql::value::Value;

/// The types of the column.
pub const TYPES: [pg_sys::Oid; 2] = [pg_sys::INT8OID, pg_sys::INT8ARRAYOID];

/// A column of hashes.
#[derive(Clone)]
pub enum HashColumn {
    Fingerprints {
        has_index: bool,
    },
    /// The parts that have an index, from 1 on, ascending.
    InParts(Vec<i64>),
}

/// Bits in a condition.
#[derive(Clone, Copy)]
pub enum Radius<'a> {
    Bits(u32),
    /// A parameter of type int4.
    Parameter(&'a str),
}

impl HashColumn {
    /// Returns the column of `table` that the query searches, which is of one of [`TYPES`].
    pub fn new(column: &Column, table: pg_sys::Oid, query: &Serving<'_>) -> Self {
        match column.base_type() {
            pg_sys::INT8ARRAYOID => Self::InParts(served_elements(table, query)),
            _ => Self::Fingerprints {
                has_index: serving_index(table, query).is_some_and(|index| index.valid),
            },
        }
    }

    pub fn is_in_parts(&self) -> bool {
        matches!(self, Self::InParts(_))
    }

    pub fn type_id(&self) -> pg_sys::Oid {
        TYPES[usize::from(self.is_in_parts())]
    }

    /// A cast to the type, as SQL text: of a domain too.
    pub fn cast(&self) -> &'static str {
        match self {
            Self::Fingerprints { .. } => "::pg_catalog.int8",
            Self::InParts(_) => "::pg_catalog.int8[]",
        }
    }

    pub fn has_index(&self) -> bool {
        match self {
            Self::Fingerprints { has_index } => *has_index,
            Self::InParts(parts) => !parts.is_empty(),
        }
    }

    /// Bits within which an index is searched for hashes within `radius`.
    pub fn index_radius(&self, radius: u32) -> u32 {
        match self {
            Self::Fingerprints { .. } => radius,
            Self::InParts(parts) => radius / parts.len().max(1) as u32,
        }
    }

    /// Returns conditions of which one holds at least if two hashes are within the radius, and none if
    /// they are not. An index serves each, if there is any. `one` is the column with its cast.
    pub fn near(&self, one: &str, other: &str, radius: Radius<'_>) -> Vec<String> {
        let distance = |one: &str, other: &str, radius: &str| {
            format!("simhash_catalog.distance({one}, {other}) OPERATOR(pg_catalog.<=) {radius}")
        };
        let bits = match radius {
            Radius::Bits(bits) => bits.to_string(),
            Radius::Parameter(name) => name.to_owned(),
        };
        let Self::InParts(parts) = self else {
            return vec![distance(one, other, &bits)];
        };
        let whole = format!("simhash_catalog.hamming_parts_within({one}, {other}, {bits})");
        if parts.is_empty() {
            return vec![whole];
        }
        let count = parts.len() as i32;
        // The index of a column whose type is a domain has no cast.
        let column = one.strip_suffix(self.cast()).unwrap_or(one);
        let of_part = |(i, part): (i32, &i64)| {
            let bits = match radius {
                // One part is enough where no other can be near.
                Radius::Bits(bits) => match part_radius(bits as i32, i, count) {
                    ..0 => return None,
                    bits => bits.to_string(),
                },
                Radius::Parameter(name) => format!("({name} OPERATOR(pg_catalog./) {count})"),
            };
            let near = distance(
                &format!("({column})[{part}]"),
                &format!("({other})[{part}]"),
                &bits,
            );
            Some(format!("{near} AND {whole}"))
        };
        (0..).zip(parts).filter_map(of_part).collect()
    }

    /// Returns the same as one condition.
    pub fn is_near(&self, one: &str, other: &str, radius: u32) -> String {
        let near = self.near(one, other, Radius::Bits(radius));
        match &near[..] {
            [one] => one.clone(),
            several => format!("(({}))", several.join(") OR (")),
        }
    }
}

/// Joins queries, one for each condition of [`HashColumn::near`]; each and all of them have this `end`,
/// with a LIMIT. The first that finds enough is the last that is run: an OR would read all near rows first.
pub fn first_found(queries: &[String], end: &str) -> String {
    match queries {
        [one] => format!("{one}{end}"),
        several => {
            let several: Vec<String> = several.iter().map(|one| format!("({one}{end})")).collect();
            format!("{}{end}", several.join(" UNION ALL "))
        }
    }
}

/// Returns a hash as a value, in the current memory context.
pub fn value(hash: &Hash) -> Value<'static> {
    match hash {
        Hash::Fingerprint(fingerprint) => Value::from(*fingerprint as i64),
        Hash::Parts(parts) => integers(parts),
    }
}

/// Returns an array of fingerprints, or of the parts of hashes, in the current memory context.
pub fn integers(parts: &[u64]) -> Value<'static> {
    bigints(parts.iter().map(|part| *part as i64))
}

/// Returns an error for a radius that no fingerprint of 64 bits has.
pub fn check_radius(column: &Column, radius: u32) -> Result<(), Box<Error>> {
    let most = match column.base_type() {
        pg_sys::INT8ARRAYOID => MOST_BITS as u32,
        _ => u64::BITS,
    };
    if radius <= most {
        return Ok(());
    }
    let message = format!(
        "trigger argument \"radius\" must be a whole number from 0 to {most}, not \"{radius}\""
    );
    Err(Box::new(Error::new(
        ERRCODE_INVALID_PARAMETER_VALUE,
        message,
    )))
}
