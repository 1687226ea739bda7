//! What an index compares: the expression that is its fingerprint, in terms of its table, and the columns
//! that this reads. The planner's second view of an index on texts, and triggers that take everything from
//! an index, ask for it. An index on a column of fingerprints has that column as its expression.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::lookup::{first_argument_type, string};
use super::relation::Rel;
use super::table::{Column, OpenTable, columns, generation_expression};
use crate::nodes::{NodeList, NodeRef, Planner};

/// Finds the function that makes the fingerprints of an index of this access method whose last
/// column has a class of this family and type; None where they are the values themselves, and for indexes
/// of others.
pub type FingerprintFunction = fn(access_method: Oid, family: Oid, class_type: Oid) -> Option<Oid>;

/// The last column of an index, and what makes fingerprints of it.
pub struct LastKey<'p> {
    /// Its column number, or 0 for an expression.
    pub number: i16,
    /// The expression, in terms of the table at range-table index `relid`.
    pub expression: Option<NodeRef<'p>>,
    /// The function that makes its fingerprints.
    pub made_by: Option<Oid>,
}

impl<'p> LastKey<'p> {
    /// `function(key)`, as the planner has it where a query says so; None where the values are the
    /// fingerprints.
    ///
    /// # Safety
    /// The key must be of an index of the table, which is locked.
    pub unsafe fn made(&self, planner: Planner<'p>, table: Oid, relid: u32) -> Option<NodeRef<'p>> {
        let function = self.made_by?;
        // SAFETY: guaranteed by the caller; all is made in the planner's memory.
        unsafe {
            let value = self.value(table, relid)?;
            let (type_id, collation) = (
                pg_sys::exprType(value.as_ptr()),
                pg_sys::exprCollation(value.as_ptr()),
            );
            let argument = pg_sys::coerce_to_target_type(
                std::ptr::null_mut(),
                value.as_ptr(),
                type_id,
                first_argument_type(function)?,
                -1,
                pg_sys::CoercionContext::COERCION_IMPLICIT,
                pg_sys::CoercionForm::COERCE_IMPLICIT_CAST,
                -1,
            );
            // As the parser has it: a cast of a string has the collation of the string.
            if !argument.is_null() && argument != value.as_ptr() {
                pg_sys::exprSetCollation(argument, collation);
                pg_sys::exprSetInputCollation(argument, collation);
            }
            Some(planner.simplified_call(function, pg_sys::INT8OID, NodeRef::new(argument)?))
        }
    }

    /// The key itself.
    ///
    /// # Safety
    /// As of [`Self::made`].
    unsafe fn value(&self, table: Oid, relid: u32) -> Option<NodeRef<'p>> {
        if self.number <= 0 {
            return self.expression;
        }
        let (mut own, mut modifier, mut collation) = (Oid::INVALID, -1, Oid::INVALID);
        // SAFETY: guaranteed by the caller.
        unsafe {
            pg_sys::get_atttypetypmodcoll(
                table,
                self.number,
                &mut own,
                &mut modifier,
                &mut collation,
            );
            NodeRef::new(pg_sys::makeVar(
                relid as i32,
                self.number,
                own,
                modifier,
                collation,
                0,
            ))
        }
    }
}

/// An index whose last column is a fingerprint, or something of which fingerprints are made. The nodes live
/// in the memory context in which it was read.
pub struct FingerprintIndex<'p> {
    /// pg_index.indrelid.
    pub table: Oid,
    /// pg_index.indisvalid.
    pub valid: bool,
    /// The columns before the last; None for an expression.
    pub scope: Vec<Option<String>>,
    /// The column of fingerprints, if the last one is that.
    pub column: Option<String>,
    expression: NodeRef<'p>,
    predicate: Option<NodeRef<'p>>,
}

impl<'p> FingerprintIndex<'p> {
    /// Reads an index; None for one of another access method, or whose last column is not compared by a fingerprint.
    pub fn read(index: Oid, access_method: &str, function: FingerprintFunction) -> Option<Self> {
        // SAFETY: null is what the server takes where there is no query; the index is open while its
        // entry is read, and the lists of nodes are copies.
        unsafe {
            let planner = Planner::new(std::ptr::null_mut());
            let kind = pg_sys::get_rel_relkind(index) as u8;
            if ![pg_sys::RELKIND_INDEX, pg_sys::RELKIND_PARTITIONED_INDEX].contains(&kind) {
                return None;
            }
            let rel = pg_sys::index_open(index, pg_sys::AccessShareLock as i32);
            let read = Self::of_open(rel, access_method, planner, function);
            pg_sys::index_close(rel, pg_sys::AccessShareLock as i32);
            read
        }
    }

    /// # Safety
    /// The index must be open.
    unsafe fn of_open(
        rel: pg_sys::Relation,
        access_method: &str,
        planner: Planner<'p>,
        function: FingerprintFunction,
    ) -> Option<Self> {
        // SAFETY: guaranteed by the caller; an open index has these arrays, of an element for each key.
        unsafe {
            let form = &*(*rel).rd_index;
            let method = (*(*rel).rd_rel).relam;
            let name = string(pg_sys::get_am_name(method));
            if name.as_deref() != Some(access_method) {
                return None;
            }
            let keys = form.indkey.values.as_slice(form.indnkeyatts as usize);
            let (last, before) = keys.split_last()?;
            let class_type = *(*rel).rd_opcintype.add(before.len());
            let expressions = NodeList::new(pg_sys::RelationGetIndexExpressions(rel));
            let key = LastKey {
                number: *last,
                expression: expressions.iter().last(),
                made_by: function(method, *(*rel).rd_opfamily.add(before.len()), class_type),
            };
            let table = form.indrelid;
            let expression = match key.made(planner, table, 1) {
                Some(made) => made,
                None if class_type == pg_sys::INT8OID => key.value(table, 1)?,
                None => return None,
            };
            let predicate = pg_sys::RelationGetIndexPredicate(rel);
            let predicate = match predicate.is_null() {
                true => None,
                false => NodeRef::new(pg_sys::make_ands_explicit(predicate)),
            };
            let name = |number: &i16| match number {
                0 => None,
                number => string(pg_sys::get_attname(table, *number, true)),
            };
            Some(Self {
                table,
                valid: form.indisvalid,
                scope: before.iter().map(name).collect(),
                column: (class_type == pg_sys::INT8OID)
                    .then(|| name(last))
                    .flatten(),
                expression,
                predicate,
            })
        }
    }

    /// The columns that the fingerprint reads, in the order in which it does; None stands for the whole row.
    pub fn columns(&self) -> Vec<Option<String>> {
        names(self.table, self.expression)
    }

    /// The same of the predicate.
    pub fn predicate_columns(&self) -> Vec<Option<String>> {
        self.predicate
            .map_or(Vec::new(), |predicate| names(self.table, predicate))
    }

    /// The fingerprint, with variables of relation 1.
    pub fn expression(&self) -> NodeRef<'p> {
        self.expression
    }

    /// The predicate, with variables of relation 1; None where the index has all rows.
    pub fn predicate(&self) -> Option<NodeRef<'p>> {
        self.predicate
    }

    /// What tells this fingerprint from others of the table, whichever index has it.
    pub fn identity(&self) -> String {
        as_text(self.expression)
    }

    /// The same of the predicate; empty where the index has all rows.
    pub fn condition(&self) -> String {
        self.predicate.map_or(String::new(), as_text)
    }
}

fn as_text(expression: NodeRef<'_>) -> String {
    // SAFETY: a live expression; the server returns a string.
    unsafe {
        string(pg_sys::nodeToString(
            expression.as_ptr::<std::ffi::c_void>(),
        ))
    }
    .unwrap_or_default()
}

/// Returns whether REINDEX, or a statement that rewrites the table, is rebuilding this index.
pub fn is_being_rebuilt(index: Oid) -> bool {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::ReindexIsProcessingIndex(index) }
}

/// How a key column of an open index is made: the SQL text of its expression, or of that of the generated
/// column that it is. None for a column that is stored as it is given.
pub fn key_expression(index: Rel<'_>, column: usize) -> Option<String> {
    assert!(column < index.key_columns());
    // SAFETY: the index is open, with a number for each key; the lists are copies, whose variables are
    // of its table.
    unsafe {
        let rel = index.raw();
        let form = &*(*rel).rd_index;
        let keys = form.indkey.values.as_slice(form.indnkeyatts as usize);
        let opened = OpenTable::new(form.indrelid);
        if keys[column] != 0 {
            let own = columns(opened.rel()).find(|(_, own)| own.number() == keys[column]);
            let (_, own) = own.filter(|(_, own)| own.generated)?;
            return generation_expression(opened.rel(), &own);
        }
        let before = keys[..column].iter().filter(|key| **key == 0).count();
        let expressions = NodeList::new(pg_sys::RelationGetIndexExpressions(rel));
        let node: *mut pg_sys::Node = expressions.get(before)?.as_ptr();
        let name = (*(*opened.rel().raw()).rd_rel).relname.data.as_ptr();
        let context = pg_sys::deparse_context_for(name, form.indrelid);
        string(pg_sys::deparse_expression(node, context, false, false))
    }
}

/// The columns that the expression of a generated column reads; None stands for the whole row.
pub fn generated_from(table: Rel<'_>, column: &Column) -> Vec<Option<String>> {
    if !column.generated {
        return Vec::new();
    }
    // SAFETY: the relation is open and the column one of it; the node is a copy, of variables of it.
    let expression = unsafe {
        NodeRef::new(pg_sys::build_column_default(
            table.raw(),
            i32::from(column.number()),
        ))
    };
    expression.map_or(Vec::new(), |expression| names(table.oid(), expression))
}

/// The columns of the variables of an expression over one table.
fn names(table: Oid, expression: NodeRef<'_>) -> Vec<Option<String>> {
    let mut found = Vec::new();
    for number in variables(expression) {
        // SAFETY: a syscache look-up; 0 is the whole row.
        let name = (number != 0)
            .then(|| unsafe { string(pg_sys::get_attname(table, number, true)) })
            .flatten();
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The numbers of the variables in an expression.
pub fn variables(expression: NodeRef<'_>) -> Vec<i16> {
    // SAFETY: a live expression without aggregates or placeholders; the list is of variables.
    let list = unsafe { NodeList::new(pg_sys::pull_var_clause(expression.as_ptr(), 0)) };
    list.iter()
        .filter_map(|variable| Some(variable.as_column()?.1))
        .collect()
}

/// The indexes of a table, valid or not.
pub fn indexes_of(table: Oid) -> Vec<Oid> {
    let opened = OpenTable::new(table);
    // SAFETY: the relation is open; the list is a copy, of OIDs.
    unsafe {
        let list = pg_sys::RelationGetIndexList(opened.rel().raw());
        let count = list.as_ref().map_or(0, |list| list.length);
        (0..count).map(|i| pg_sys::list_nth_oid(list, i)).collect()
    }
}
