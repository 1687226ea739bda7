//! Expressions over a row that is not stored yet, and values of any type from their text.

use std::ffi::{CStr, CString};

use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
use pgrx::pg_sys;

use super::trigger::TriggerCall;
use super::value::{Storage, Value};
use crate::catalog::fingerprint_index::{FingerprintFunction, FingerprintIndex};
use crate::catalog::relation::Rel;
use crate::catalog::table::{self, Column, OpenTable};
use crate::process::encoding::{name_from_utf8, name_to_utf8};
use crate::process::error::Error;
use crate::process::memory::MemoryContext;

/// An expression over the columns of a table, ready to be evaluated.
pub struct RowExpression {
    table: pg_sys::Oid,
    storage: Storage,
    state: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
    generated: GeneratedColumns,
}

/// The generated columns that an expression reads. They have no value before the row is stored, so they are computed
/// into a slot of their own.
struct GeneratedColumns {
    columns: Vec<(Column, RowExpression)>,
    /// Null if there are none.
    slot: *mut pg_sys::TupleTableSlot,
}

impl GeneratedColumns {
    const NONE: Self = Self {
        columns: Vec::new(),
        slot: std::ptr::null_mut(),
    };

    /// Those with these names; None is the whole row. They live in `memory`.
    fn of(table: Rel<'_>, names: &[Option<String>], memory: MemoryContext) -> Self {
        let reads =
            |name: &String| names.iter().flatten().any(|one| one == name) || names.contains(&None);
        let columns: Vec<_> = table::columns(table)
            .filter(|(name, column)| column.generated && !column.computed_on_read && reads(name))
            .map(|(_, column)| {
                let expression = RowExpression::of_generated_column(table, &column, memory);
                (column, expression)
            })
            .collect();
        if columns.is_empty() {
            return Self::NONE;
        }
        // SAFETY: the relation is open. The slot has a copy of its descriptor, of which the server counts no
        // references.
        let slot = memory.run(|| unsafe {
            let descriptor = pg_sys::CreateTupleDescCopy((*table.raw()).rd_att);
            pg_sys::MakeSingleTupleTableSlot(descriptor, &raw const pg_sys::TTSOpsHeapTuple)
        });
        Self { columns, slot }
    }
}

impl RowExpression {
    /// The expression of a generated column. It lives in `memory`.
    #[inline]
    pub fn of_generated_column(table: Rel<'_>, column: &Column, memory: MemoryContext) -> Self {
        let number = i32::from(column.number());
        // SAFETY: the relation is open and the column one of it; for a generated column the server
        // returns its expression.
        memory.run(|| unsafe {
            let node = pg_sys::build_column_default(table.raw(), number);
            Self::new(table.oid(), node, column.storage)
        })
    }

    /// `function(row, arguments...)`, of type bigint, for rows of the table. The arguments are
    /// constants, each given by its type and its text, or None for NULL. It lives in `memory`.
    #[inline]
    pub fn of_row(
        table: Rel<'_>,
        function: pg_sys::Oid,
        arguments: &[(pg_sys::Oid, Option<&str>)],
        memory: MemoryContext,
    ) -> Self {
        // SAFETY: a variable that stands for the whole row (number 0) of the one relation there is,
        // and constants that live in `memory`.
        memory.run(|| unsafe {
            let row_type = (*(*table.raw()).rd_rel).reltype;
            let none = pg_sys::Oid::INVALID;
            let row = pg_sys::makeVar(1, 0, row_type, -1, none, 0);
            let mut list = pg_sys::lappend(std::ptr::null_mut(), row.cast());
            for (type_id, text) in arguments {
                list = pg_sys::lappend(list, constant(*type_id, *text).cast());
            }
            let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
            let call = pg_sys::makeFuncExpr(function, pg_sys::INT8OID, list, none, none, form);
            let storage = Storage::for_type(pg_sys::INT8OID);
            Self::new(table.oid(), call.cast(), storage)
        })
    }

    /// The fingerprint that an index has, for rows of a table that has the index's columns: its own one, or
    /// a partition of it. It lives in `memory`; None if the index is gone.
    pub fn of_index(
        table: Rel<'_>,
        index: pg_sys::Oid,
        access_method: &str,
        function: FingerprintFunction,
        memory: MemoryContext,
    ) -> Option<Self> {
        memory.run(|| {
            let read = FingerprintIndex::read(index, access_method, function)?;
            let opened = OpenTable::new(read.table);
            let mut node: *mut pg_sys::Node = read.expression().as_ptr();
            // SAFETY: both relations are open; the map has an element for each column of the first.
            unsafe {
                let (own, other) = ((*table.raw()).rd_att, (*opened.rel().raw()).rd_att);
                let map = pg_sys::convert_tuples_by_name(own, other);
                if read.table != table.oid() && !map.is_null() {
                    let mut whole_row = false;
                    let row_type = (*(*table.raw()).rd_rel).reltype;
                    let map = (*map).attrMap;
                    node = pg_sys::map_variable_attnos(node, 1, 0, map, row_type, &mut whole_row);
                }
                let storage = Storage::for_type(pg_sys::INT8OID);
                Some(Self {
                    generated: GeneratedColumns::of(table, &read.columns(), memory),
                    ..Self::new(table.oid(), node, storage)
                })
            }
        })
    }

    /// # Safety
    /// `node` must be an expression of the type that `storage` describes, over the columns of the table,
    /// which is relation 1 of its variables.
    unsafe fn new(table: pg_sys::Oid, node: *mut pg_sys::Node, storage: Storage) -> Self {
        // SAFETY: guaranteed by the caller; all is made in the current memory context.
        unsafe {
            let planned = pg_sys::expression_planner(node.cast());
            Self {
                table,
                storage,
                state: pg_sys::ExecInitExpr(planned, std::ptr::null_mut()),
                context: pg_sys::CreateStandaloneExprContext(),
                generated: GeneratedColumns::NONE,
            }
        }
    }

    /// Calls `read` with its value for the new row of a trigger call, unless that is NULL; an ERROR when
    /// the call is on another table than the one that the expression was made for.
    #[inline]
    pub fn value<R>(&self, call: &TriggerCall<'_>, read: impl FnOnce(Value<'_>) -> R) -> Option<R> {
        let GeneratedColumns { columns, slot } = &self.generated;
        if columns.is_empty() {
            return self.value_of(call, call.new_slot(), read);
        }
        let tuple = call.computed(&[], columns);
        // SAFETY: a tuple of the slot's relation, which lives until the value was read.
        unsafe { pg_sys::ExecForceStoreHeapTuple(tuple, *slot, false) };
        self.value_of(call, *slot, read)
    }

    /// The same for the row that an UPDATE or a DELETE replaces.
    pub fn old_value<R>(
        &self,
        call: &TriggerCall<'_>,
        read: impl FnOnce(Value<'_>) -> R,
    ) -> Option<R> {
        self.value_of(call, call.old_slot(), read)
    }

    fn value_of<R>(
        &self,
        call: &TriggerCall<'_>,
        slot: *mut pg_sys::TupleTableSlot,
        read: impl FnOnce(Value<'_>) -> R,
    ) -> Option<R> {
        if call.relation().oid() != self.table {
            Error::new(
                ERRCODE_INTERNAL_ERROR,
                "an expression of another relation was evaluated in a trigger",
            )
            .raise();
        }
        let mut null = false;
        // SAFETY: both were made by `new` in memory that outlives self; the slot holds a row of the
        // table. The reset frees what the evaluation allocated, once the value was read.
        unsafe {
            (*self.context).ecxt_scantuple = slot;
            let (state, context) = (self.state, self.context);
            let value = pg_sys::ExecEvalExprSwitchContext(state, context, &mut null);
            let read = (!null).then(|| read(Value::new(value, self.storage)));
            MemoryContext::from_raw((*context).ecxt_per_tuple_memory).reset();
            read
        }
    }
}

/// The text that jsonb gives for a JSON text; an ERROR when that is not JSON.
#[inline]
pub fn jsonb_text(text: &str) -> String {
    let text = value(pg_sys::JSONBOID, text);
    let (mut output, mut varlena) = (pg_sys::InvalidOid, false);
    // SAFETY: the type's own output function, which returns a zero-terminated string.
    let shown = unsafe {
        pg_sys::getTypeOutputInfo(pg_sys::JSONBOID, &mut output, &mut varlena);
        CStr::from_ptr(pg_sys::OidOutputFunctionCall(output, text))
    };
    name_to_utf8(shown.to_bytes()).into_owned()
}

/// A value of a type from its text, in the current memory context; an ERROR when the type's input
/// function rejects the text.
fn value(type_id: pg_sys::Oid, text: &str) -> pg_sys::Datum {
    // Arguments of triggers have no zero byte: they were C strings.
    let text = CString::new(name_from_utf8(text).into_owned()).unwrap_or_default();
    let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
    // SAFETY: the type's own input function reads a zero-terminated string.
    unsafe {
        pg_sys::getTypeInputInfo(type_id, &mut input, &mut parameter);
        pg_sys::OidInputFunctionCall(input, text.as_ptr().cast_mut(), parameter, -1)
    }
}

/// A constant of a type, from its text; None is NULL. In the current memory context.
fn constant(type_id: pg_sys::Oid, text: Option<&str>) -> *mut pg_sys::Const {
    let (by_value, length) = Storage::for_type(type_id).by_value_and_length();
    let datum = text.map(|text| value(type_id, text));
    // SAFETY: a value of the type, stored as the catalog says.
    unsafe {
        pg_sys::makeConst(
            type_id,
            -1,
            pg_sys::get_typcollation(type_id),
            i32::from(length),
            datum.unwrap_or(pg_sys::Datum::null()),
            datum.is_none(),
            by_value,
        )
    }
}
