//! The indexed columns and expressions of a relation that is planned: a clause is translated only if one of
//! them can serve it. An index on texts, or on other values of which fingerprints are made, is listed for the
//! planner a second time, as an index on their fingerprints. So conditions on the value and on its
//! fingerprint find it; the executor reads the same pages for both.

#![allow(unsafe_code)]

use pgrx::pg_sys::{self, Oid};

use super::relation::{AppendMember, PlannedRelation, PlannerDistances};
use super::support::BallConstructor;
use crate::index::fingerprint_function;
use simhash_pg::catalog::fingerprint_index::{LastKey, indexes_of};
use simhash_pg::catalog::lookup::{index_access_method, is_extension_access_method};
use simhash_pg::nodes::{NodeList, NodeRef, Planner};

/// The indexed column or expression.
#[derive(Clone, Copy)]
pub enum Indexed<'p> {
    Column(i16),
    /// In terms of the relation.
    Expression(NodeRef<'p>),
}

/// A column or expression on which a relation has an index, and the operator family of that index.
#[derive(Clone, Copy)]
pub struct IndexedKey<'p> {
    pub key: Indexed<'p>,
    pub family: Oid,
}

/// The indexed columns and expressions of one relation.
pub struct Targets<'p> {
    /// Range-table index of the relation.
    pub relid: u32,
    pub targets: Vec<IndexedKey<'p>>,
    pub planner_distances: PlannerDistances<'p>,
}

impl<'p> Targets<'p> {
    /// Returns the index column or expression that this expression is, if any.
    pub fn find(&self, node: NodeRef<'p>) -> Option<IndexedKey<'p>> {
        let bare = node.strip_relabel();
        let column = bare.as_column().filter(|&(relid, _)| relid == self.relid);
        self.targets
            .iter()
            .copied()
            .find(|target| match target.key {
                Indexed::Column(number) => column.is_some_and(|(_, found)| found == number),
                Indexed::Expression(expression) => {
                    node.equals(expression) || bare.equals(expression.strip_relabel())
                }
            })
    }

    /// Returns whether the value is the same for all rows of the relation.
    pub fn is_fixed(&self, planner: Planner<'p>, node: NodeRef<'p>) -> bool {
        !node.is_volatile() && !planner.mentions_relation(node, self.relid)
    }

    /// Returns whether an index serves this expression in a condition with a ball.
    pub fn serves(&self, node: NodeRef<'p>, ball: BallConstructor) -> bool {
        self.find(node)
            .is_some_and(|target| ball.operator_in(target.family).is_some())
    }

    /// Collects the columns and expressions of those of the relation's indexes whose access method belongs to
    /// an extension.
    pub fn of_relation(relation: PlannedRelation<'p>, table: Oid, parent: bool) -> Self {
        add_fingerprint_indexes(relation, table);
        let keys = if parent && relation.is_base() {
            parent_indexes(relation, table)
        } else {
            indexes(relation)
        };
        let expressions = keys.iter().flat_map(|key| key.expressions.iter().copied());
        let of_extension = |key: &&IndexKey| is_extension_access_method(key.access_method);
        let targets = keys.iter().filter(of_extension).map(|key| key.target);
        Targets {
            relid: relation.relid(),
            targets: targets.collect(),
            planner_distances: PlannerDistances::for_relation(relation, expressions.collect()),
        }
    }

    /// Returns the columns of the parent that the child's indexes are on.
    pub fn of_parent(member: AppendMember<'p>, child: Targets<'p>) -> Self {
        let inherited = (1i16..)
            .zip(0..member.translated.len())
            .filter_map(|(number, i)| {
                let target = child.find(member.translated.get(i)?)?;
                Some(IndexedKey {
                    key: Indexed::Column(number),
                    family: target.family,
                })
            })
            .collect();
        Targets {
            relid: member.parent.relid(),
            targets: inherited,
            planner_distances: PlannerDistances::of_parent(member, child.planner_distances),
        }
    }
}

/// The last key column of an index, which is the fingerprint, and all of the index's expressions.
struct IndexKey<'p> {
    access_method: Oid,
    target: IndexedKey<'p>,
    /// Expressions and predicate of the index, in terms of the relation.
    expressions: Vec<NodeRef<'p>>,
}

/// The indexes that the planner may use for a relation.
fn indexes<'p>(relation: PlannedRelation<'p>) -> Vec<IndexKey<'p>> {
    // SAFETY: the list holds IndexOptInfo nodes, live during planning.
    unsafe {
        NodeList::new(relation.info().indexlist)
            .iter()
            .filter_map(|node| index_key_of_plan(&*node.as_ptr::<pg_sys::IndexOptInfo>()))
            .collect()
    }
}

/// The same for an inheritance parent, whose indexes the planner does not list on every major.
/// Reads them only if one belongs to an extension, and most parents have none such.
fn parent_indexes<'p>(relation: PlannedRelation<'p>, table: Oid) -> Vec<IndexKey<'p>> {
    let indexes = indexes_of(table);
    let of_extension =
        |&index: &Oid| index_access_method(index).is_some_and(is_extension_access_method);
    if !indexes.iter().any(of_extension) {
        return Vec::new();
    }
    let key = |index| {
        // SAFETY: an index of a table on which the planner holds a lock.
        unsafe { index_key_of_catalog(relation.planner, index, relation.relid(), table) }
    };
    indexes.into_iter().filter_map(key).collect()
}

/// # Safety
/// `index` is an index of a relation that is being planned.
unsafe fn index_key_of_plan<'p>(index: &pg_sys::IndexOptInfo) -> Option<IndexKey<'p>> {
    // SAFETY: the arrays have an element for each key column; the expressions live as long as the
    // planning.
    unsafe {
        let last = index.nkeycolumns as usize - 1;
        let columns = std::slice::from_raw_parts(index.indexkeys, last + 1);
        let columns: Vec<i16> = columns.iter().map(|column| *column as i16).collect();
        let expressions = NodeList::new(index.indexprs);
        let predicate = NodeList::new(index.indpred);
        Some(IndexKey {
            access_method: index.relam,
            target: IndexedKey {
                key: last_key(&columns, expressions)?,
                family: *index.opfamily.add(last),
            },
            expressions: expressions.iter().chain(predicate.iter()).collect(),
        })
    }
}

/// # Safety
/// `index` is an index of the table at range-table index `relid`, on which the planner holds a
/// lock.
unsafe fn index_key_of_catalog<'p>(
    planner: Planner<'p>,
    index: Oid,
    relid: u32,
    table: Oid,
) -> Option<IndexKey<'p>> {
    // SAFETY: the index is open while its relcache entry is read; its expressions are copied into
    // the planner's memory context before it is closed. The lock is kept, as the planner does.
    unsafe {
        let rel = pg_sys::index_open(index, pg_sys::AccessShareLock as i32);
        let expressions = in_terms_of(planner, pg_sys::RelationGetIndexExpressions(rel), relid);
        let predicate = in_terms_of(planner, pg_sys::RelationGetIndexPredicate(rel), relid);
        let count = (*(*rel).rd_index).indnkeyatts as usize;
        let columns = (*(*rel).rd_index).indkey.values.as_slice(count);
        let access_method = (*(*rel).rd_rel).relam;
        let family = *(*rel).rd_opfamily.add(count - 1);
        let class_type = *(*rel).rd_opcintype.add(count - 1);
        let value = LastKey {
            number: columns[count - 1],
            expression: expressions.iter().last(),
            made_by: fingerprint_function(access_method, family, class_type),
        };
        let made = value.made(planner, table, relid).map(Indexed::Expression);
        let key = made.or_else(|| last_key(columns, expressions));
        let found = key.map(|key| IndexKey {
            access_method,
            target: IndexedKey { key, family },
            expressions: expressions.iter().chain(predicate.iter()).collect(),
        });
        pg_sys::index_close(rel, pg_sys::NoLock as i32);
        found
    }
}

/// Index expressions as the planner has them: they are stored as if their table were the first of
/// the query, and simplified as far as that goes without the query.
///
/// # Safety
/// `list` is a copy of the relcache's expressions.
unsafe fn in_terms_of<'p>(
    planner: Planner<'p>,
    list: *mut pg_sys::List,
    relid: u32,
) -> NodeList<'p> {
    // SAFETY: a list of expressions without other references (contract).
    unsafe {
        if relid != 1 && !list.is_null() {
            pg_sys::ChangeVarNodes(list.cast(), 1, relid as i32, 0);
        }
        let nodes: Vec<_> = NodeList::new(list).iter().collect();
        planner.list(
            &nodes
                .iter()
                .map(|node| planner.simplify(*node))
                .collect::<Vec<_>>(),
        )
    }
}

/// The last of an index's key columns, which is the fingerprint: column numbers, with 0 for each of
/// the index's expressions.
fn last_key<'p>(columns: &[i16], expressions: NodeList<'p>) -> Option<Indexed<'p>> {
    let (last, before) = columns.split_last()?;
    if *last != 0 {
        return Some(Indexed::Column(*last));
    }
    let number = before.iter().filter(|column| **column == 0).count();
    expressions.get(number).map(Indexed::Expression)
}

/// Lists each index on values of which fingerprints are made once more, as the index on the
/// expression `function(value)` that it is too.
fn add_fingerprint_indexes(relation: PlannedRelation<'_>, table: Oid) {
    // SAFETY: the list holds IndexOptInfo nodes, live during planning; the copies share what is
    // not changed, and have arrays of their own for the rest.
    unsafe {
        let rel = relation.rel.as_ptr();
        for node in NodeList::new((*rel).indexlist).iter() {
            let index = &*node.as_ptr::<pg_sys::IndexOptInfo>();
            let last = index.nkeycolumns as usize - 1;
            let (family, class_type) = (*index.opfamily.add(last), *index.opcintype.add(last));
            let key = LastKey {
                number: *index.indexkeys.add(last) as i16,
                expression: NodeList::new(index.indexprs).iter().last(),
                made_by: fingerprint_function(index.relam, family, class_type),
            };
            let Some(expression) = key.made(relation.planner, table, relation.relid()) else {
                continue;
            };
            let view = index_on_expression(index, last, expression);
            // The list that is being read is not changed.
            let list = pg_sys::list_copy((*rel).indexlist);
            (*rel).indexlist = pg_sys::lappend(list, view.cast());
        }
    }
}

/// Copies an index, with an expression of type bigint in the place of its last column.
///
/// # Safety
/// `last` must be its last column.
unsafe fn index_on_expression(
    index: &pg_sys::IndexOptInfo,
    last: usize,
    expression: NodeRef<'_>,
) -> *mut pg_sys::IndexOptInfo {
    /// # Safety
    /// The array must have `length` elements.
    unsafe fn copied<T: Copy>(array: *const T, length: usize) -> *mut T {
        // SAFETY: guaranteed by the caller; palloc gives room for as many.
        unsafe {
            let copy: *mut T = pg_sys::palloc(length * size_of::<T>()).cast();
            std::ptr::copy_nonoverlapping(array, copy, length);
            copy
        }
    }
    // SAFETY: guaranteed by the caller; the arrays have an element for each key column.
    unsafe {
        let copy = copied(index, 1);
        (*copy).indexkeys = copied(index.indexkeys, index.ncolumns as usize);
        *(*copy).indexkeys.add(last) = 0;
        (*copy).indexcollations = copied(index.indexcollations, index.nkeycolumns as usize);
        *(*copy).indexcollations.add(last) = Oid::INVALID;
        (*copy).opcintype = copied(index.opcintype, index.nkeycolumns as usize);
        *(*copy).opcintype.add(last) = pg_sys::INT8OID;
        let expressions = pg_sys::list_copy(index.indexprs);
        (*copy).indexprs = match *index.indexkeys.add(last) {
            // The last of the expressions is that of the last key.
            0 => {
                let end = (*expressions).length as usize - 1;
                (*(*expressions).elements.add(end)).ptr_value = expression.as_ptr();
                expressions
            }
            _ => pg_sys::lappend(expressions, expression.as_ptr()),
        };
        let number = last as pg_sys::AttrNumber + 1;
        let target =
            pg_sys::makeTargetEntry(expression.as_ptr(), number, std::ptr::null_mut(), false);
        (*copy).indextlist = pg_sys::list_copy(index.indextlist);
        (*(*(*copy).indextlist).elements.add(last)).ptr_value = target.cast();
        copy
    }
}
