//! `within=`: a trigger that names columns compares a row only with those that are equal in all of
//! them, its scope. A row that is NULL in one of them has no scope, and is compared with none. `across=`: only
//! with those that are not equal in all of its columns; a NULL differs from all.

use std::ffi::CStr;

use pgrx::pg_sys::Oid;

use super::call::{check_visible, column, raise_lacks};
use simhash_pg::catalog::invalidation::Validity;
use simhash_pg::catalog::lookup::equality_types;
use simhash_pg::catalog::table::{self, Column, quoted};
use simhash_pg::sql::key_type::{Equality, TypeHash};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::value::Value;
use simhash_trigger::scope;

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
