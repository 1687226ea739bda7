//! An index on texts, or on other values of which fingerprints are made, as the index on their fingerprints
//! that it is too. The planner's hook lists such an index twice, so that conditions on the value and on
//! its fingerprint find it; the executor reads the same pages for both.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::nodes::{NodeList, NodeRef};
use super::planned_relation::PlannedRelation;
use crate::catalog::fingerprint_index::{FingerprintFunction, LastKey};

impl PlannedRelation<'_> {
    /// Lists each index on values of which fingerprints are made once more, as the index on the
    /// expression `function(value)` that it is too.
    pub fn add_fingerprint_indexes(&self, table: Oid, function: FingerprintFunction) {
        // SAFETY: the list holds IndexOptInfo nodes, live during planning; the copies share what is
        // not changed, and have arrays of their own for the rest.
        unsafe {
            let rel = self.rel.as_ptr();
            for node in NodeList::new((*rel).indexlist).iter() {
                let index = &*node.as_ptr::<pg_sys::IndexOptInfo>();
                let last = index.nkeycolumns as usize - 1;
                let (family, class_type) = (*index.opfamily.add(last), *index.opcintype.add(last));
                let key = LastKey {
                    number: *index.indexkeys.add(last) as i16,
                    expression: NodeList::new(index.indexprs).iter().last(),
                    made_by: function(index.relam, family, class_type),
                };
                let Some(expression) = key.made(self.planner, table, self.relid()) else {
                    continue;
                };
                let view = index_on_expression(index, last, expression);
                // The list that is being read is not changed.
                (*rel).indexlist =
                    pg_sys::lappend(pg_sys::list_copy((*rel).indexlist), view.cast());
            }
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
