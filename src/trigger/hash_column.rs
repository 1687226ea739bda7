//! How a trigger compares the rows of its table: by a column of fingerprints, or of longer hashes
//! in parts. The triggers of `flag` and `clusters` take the conditions of their queries and the
//! hashes of their rows from here. The parts that have an index decide how a search is written,
//! never what it finds.
//!
//! `within=`: a trigger that names columns compares a row only with those that are equal in all of them, its scope.
//! A row that is NULL in one of them has no scope, and is compared with none. `across=`: only with those that are
//! not equal in all of its columns; a NULL differs from all.

use crate::trigger::call::{check_visible, column, raise_lacks};
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;
use simhash_fingerprint::hashes::read::MOST_BITS;
use simhash_hamming::parts::{Hash, part_radius};
use simhash_pg::catalog::indexes::{Serving, served_elements, serving_index};
use simhash_pg::catalog::invalidation::Validity;
use simhash_pg::catalog::lookup::equality_types;
use simhash_pg::catalog::table::{self, Column, quoted};
use simhash_pg::process::error::Error;
use simhash_pg::sql::bigint_array::bigints;
use simhash_pg::sql::key_type::{Equality, TypeHash};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::value::Value;
use simhash_trigger::scope;
use std::ffi::CStr;

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

/// The columns, in the order of their names: partitions have them at different positions.
pub struct Scope(Vec<ScopeColumn>);

struct ScopeColumn {
    name: String,
    column: Column,
    hash: TypeHash,
}

/// Value of a row in a column, by which changes are noticed; None for NULL.
pub type Image<'a> = Option<(usize, &'a [u8])>;

pub fn image(value: Option<Value<'_>>) -> Image<'_> {
    value.map(|value| value.image())
}

impl Scope {
    /// Returns the columns of these names, in the table that fired the trigger. Raises an ERROR
    /// when one of them does not suit.
    pub fn new(call: &TriggerCall<'_>, names: &[String]) -> Self {
        Self::from_names(names, |name| {
            let column = check_visible(call, name, column(call, name, "part of the scope"));
            if Equality::for_type(column.base_type()).is_none() {
                raise_lacks(call, "an equality operator", column.base_type());
            }
            let hash = TypeHash::for_column(&column)
                .unwrap_or_else(|| raise_lacks(call, "a hash function", column.base_type()));
            Some((column, hash))
        })
    }

    /// Returns those of the columns that other triggers name. A column that does not suit is left out: each trigger that names it refuses all rows.
    pub fn of_siblings(call: &TriggerCall<'_>, names: &[String]) -> Self {
        Self::from_names(names, |name| {
            let column = table::column(call.relation(), name)?;
            let hash = TypeHash::for_column(&column)?;
            Some((check_visible(call, name, column), hash))
        })
    }

    fn from_names(names: &[String], find: impl Fn(&str) -> Option<(Column, TypeHash)>) -> Self {
        let mut names = names.to_vec();
        names.sort_unstable();
        let column = |name: String| {
            let (column, hash) = find(&name)?;
            Some(ScopeColumn { name, column, hash })
        };
        Self(names.into_iter().filter_map(column).collect())
    }

    /// Watches the types whose equality the conditions name.
    pub fn watch(&self, current: &Validity) {
        for ScopeColumn { column, .. } in &self.0 {
            current.watch_types(&equality_types(column.base_type()));
        }
    }

    /// Returns conditions for the rows of the scope, each after AND. Adds the types of their
    /// parameters, which are what [`Scope::parameters`] returns for a row. `row` qualifies the columns.
    pub fn conditions(&self, row: &str, types: &mut Vec<Oid>) -> String {
        let clauses = self.clauses(row, types);
        clauses
            .iter()
            .map(|clause| format!(" AND {clause}"))
            .collect()
    }

    /// Returns the condition that a row differs in one or more of the columns, after AND; empty if there is no
    /// column. The types of its parameters are added as by [`Scope::conditions`].
    pub fn differs(&self, row: &str, types: &mut Vec<Oid>) -> String {
        match &self.clauses(row, types)[..] {
            [] => String::new(),
            clauses => format!(" AND ({}) IS NOT TRUE", clauses.join(" AND ")),
        }
    }

    /// That a row is equal in each of the columns.
    fn clauses(&self, row: &str, types: &mut Vec<Oid>) -> Vec<String> {
        let clause = |ScopeColumn { name, column, .. }: &ScopeColumn| {
            // `new` has looked the equality up.
            let equality = Equality::for_type(column.base_type())?;
            types.push(column.base_type());
            let column = format!("{row}{}", quoted(name));
            Some(equality.clause(&column, &format!("${}", types.len())))
        };
        self.0.iter().filter_map(clause).collect()
    }

    /// Returns the new row's values in the columns.
    pub fn parameters<'a>(&self, call: &TriggerCall<'a>) -> Vec<Option<Value<'a>>> {
        let values = self.0.iter().map(|c| call.new_value(&c.column));
        values.collect()
    }

    /// Returns the scope of the new row ([`scope::scope`]); None when it is NULL in
    /// one of the columns.
    pub fn of_new(&self, call: &TriggerCall<'_>) -> Option<u64> {
        self.hash(|column| call.new_value(column))
    }

    /// Returns the same for the row that an UPDATE replaces, or a DELETE takes away.
    pub fn of_old(&self, call: &TriggerCall<'_>) -> Option<u64> {
        self.hash(|column| call.old_value(column))
    }

    fn hash<'a>(&self, value: impl Fn(&Column) -> Option<Value<'a>>) -> Option<u64> {
        let hash = |c: &ScopeColumn| value(&c.column).map(|value| c.hash.of_value(value));
        let hashes: Option<Vec<u32>> = self.0.iter().map(hash).collect();
        hashes.map(scope::scope)
    }

    /// Returns the images of the new row's values in the columns.
    pub fn images<'a>(&self, call: &TriggerCall<'a>) -> Vec<Image<'a>> {
        let images = self.0.iter().map(|c| image(call.new_value(&c.column)));
        images.collect()
    }

    /// Returns whether an UPDATE leaves the row in its scope. Values that `=` finds equal may
    /// differ in their bytes.
    pub fn is_as_before(&self, call: &TriggerCall<'_>) -> bool {
        (self.0.iter()).all(|c| {
            let (old, new) = (call.old_value(&c.column), call.new_value(&c.column));
            image(old) == image(new)
                || matches!((old, new), (Some(old), Some(new)) if c.hash.are_equal([old, new]))
        })
    }

    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|c| c.name.as_str()).collect()
    }

    /// Returns the names of the columns that an index of this access method can have.
    pub fn indexable(&self, access_method: &CStr) -> Vec<&str> {
        let columns = self.0.iter();
        (columns.filter(|c| table::can_index(&c.column, access_method)))
            .map(|c| c.name.as_str())
            .collect()
    }
}
