//! Results of set-returning functions, collected in a tuple store.

use pgrx::{IntoDatum, PgSqlErrorCode, pg_sys};

use super::fmgr::{Args, ByValue};
use super::value::Value;
use crate::catalog::table::{function_name, type_name};
use crate::process::compat;
use crate::process::compat::attribute;
use crate::process::encoding::from_utf8;
use crate::process::error::Error;
use crate::process::memory::MemoryContext;

/// A column of a row, not NULL.
#[derive(Clone, Copy)]
pub enum ResultValue<'a> {
    /// Of the type that the value bears.
    Value(Value<'a>),
    /// Of type text.
    Text(&'a str),
    /// Of type float8[].
    Numbers(&'a [f64]),
    /// Of type text[]; in the database's encoding.
    Texts(&'a [&'a [u8]]),
    /// Of type text[], with two texts in each line; in the database's encoding.
    TextPairs(&'a [[&'a [u8]; 2]]),
}

impl<T: ByValue + IntoDatum> From<T> for ResultValue<'static> {
    fn from(value: T) -> Self {
        ResultValue::Value(Value::from(value))
    }
}

impl ResultValue<'_> {
    fn type_id(&self) -> pg_sys::Oid {
        match self {
            ResultValue::Value(value) => value.type_id(),
            ResultValue::Text(_) => pg_sys::TEXTOID,
            ResultValue::Numbers(_) => pg_sys::FLOAT8ARRAYOID,
            ResultValue::Texts(_) | ResultValue::TextPairs(_) => pg_sys::TEXTARRAYOID,
        }
    }

    /// The datum, in the current memory context.
    fn datum(self) -> Option<pg_sys::Datum> {
        match self {
            ResultValue::Value(value) => Some(value.datum()),
            // bytea and text are stored alike.
            ResultValue::Text(text) => from_utf8(text).as_ref().into_datum(),
            ResultValue::Numbers(numbers) => numbers.into_datum(),
            ResultValue::Texts(texts) => Some(text_array(texts, &mut [texts.len() as i32])),
            ResultValue::TextPairs(pairs) => Some(text_array(
                pairs.as_flattened(),
                &mut [pairs.len() as i32, 2],
            )),
        }
    }
}

/// An array of texts with these numbers of items in each dimension, in the current memory context.
fn text_array(texts: &[&[u8]], sizes: &mut [i32]) -> pg_sys::Datum {
    let texts = texts.iter().filter_map(|text| text.into_datum());
    let mut texts: Vec<pg_sys::Datum> = texts.collect();
    let mut first = vec![1; sizes.len()];
    // SAFETY: bytea and text are stored alike: a varlena, aligned as int4. The sizes multiply to the number of texts.
    let array = unsafe {
        pg_sys::construct_md_array(
            texts.as_mut_ptr(),
            std::ptr::null_mut(),
            sizes.len() as i32,
            sizes.as_mut_ptr(),
            first.as_mut_ptr(),
            pg_sys::TEXTOID,
            -1,
            false,
            b'i' as std::ffi::c_char,
        )
    };
    pg_sys::Datum::from(array)
}

/// Collects the rows of the running function.
pub struct RowsOut {
    function: pg_sys::Oid,
    store: *mut pg_sys::Tuplestorestate,
    desc: pg_sys::TupleDesc,
    /// Memory for the values of one row, reset after each.
    scratch: MemoryContext,
}

impl RowsOut {
    /// Starts the result; the function returns NULL after its last row.
    #[inline]
    pub fn begin(args: &Args) -> Self {
        // SAFETY: `resultinfo` is null or a node; a ReturnSetInfo lives as long as the call, and
        // its per-query memory as long as the result.
        unsafe {
            let info: *mut pg_sys::ReturnSetInfo = (*args.fcinfo()).resultinfo.cast();
            let mode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            let usable = !info.is_null()
                && (*info).type_ == pg_sys::NodeTag::T_ReturnSetInfo
                && (*info).allowedModes & mode as i32 != 0;
            if !usable {
                let message = "set-valued function called in context that cannot accept a set";
                Error::new(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message).raise();
            }
            let query = MemoryContext::from_raw((*(*info).econtext).ecxt_per_query_memory);
            let (desc, store) = query.run(|| {
                let (mut desc, mut result) = (std::ptr::null_mut(), pg_sys::InvalidOid);
                pg_sys::get_call_result_type(args.fcinfo(), &mut result, &mut desc);
                if desc.is_null() {
                    // A set of scalars: rows of one column.
                    desc = pg_sys::CreateTemplateTupleDesc(1);
                    pg_sys::TupleDescInitEntry(desc, 1, c"".as_ptr(), result, -1, 0);
                    compat::finish_descriptor(desc);
                }
                let store = pg_sys::tuplestore_begin_heap(true, false, pg_sys::work_mem);
                (desc, store)
            });
            (*info).returnMode = mode;
            (*info).setResult = store;
            (*info).setDesc = desc;
            Self {
                function: args.function(),
                store,
                desc,
                scratch: MemoryContext::current().child(c"simhash row"),
            }
        }
    }

    /// Adds a row; None is NULL. An ERROR when SQL declares other columns.
    #[inline]
    pub fn push<const N: usize>(&mut self, row: [Option<ResultValue<'_>>; N]) {
        self.check(&row);
        let mut nulls = row.map(|field| field.is_none());
        // SAFETY: the scratch context lives as long as the function's call, store and descriptor as
        // long as the query. The row has the descriptor's columns, of its types (`check`). The
        // store copies it.
        unsafe {
            let datum = |field: Option<ResultValue<'_>>| field.and_then(ResultValue::datum);
            let mut datums = (self.scratch)
                .run(|| row.map(|field| datum(field).unwrap_or(pg_sys::Datum::null())));
            let (datums, nulls) = (datums.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::tuplestore_putvalues(self.store, self.desc, datums, nulls);
            self.scratch.reset();
        }
    }

    /// Raises an ERROR unless the row has the columns that SQL declares.
    fn check(&self, row: &[Option<ResultValue<'_>>]) {
        // SAFETY: the descriptor lives as long as the query.
        let count = unsafe { (*self.desc).natts } as usize;
        if count != row.len() {
            self.refuse(&format!("has {count} columns, not {}", row.len()));
        }
        for (i, field) in row.iter().enumerate() {
            let Some(field) = field else { continue };
            // SAFETY: as above; `i` is below `natts`.
            let declared = unsafe { attribute(self.desc, i) }.atttypid;
            if declared != field.type_id() {
                let (declared, returned) = (type_name(declared), type_name(field.type_id()));
                let number = i + 1;
                self.refuse(&format!(
                    "has a column {number} of type {declared}, not {returned}"
                ));
            }
        }
    }

    #[cold]
    fn refuse(&self, why: &str) -> ! {
        let function = function_name(self.function);
        Error::new(
            PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
            format!("the result of function {function} {why}"),
        )
        .raise()
    }
}
