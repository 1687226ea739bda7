//! Values of row types: their columns, and the values of these.

use std::cell::Cell;
use std::ffi::CStr;
use std::marker::PhantomData;

use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
use pgrx::pg_sys;

use super::value::{Storage, Value, raise_not_of_kind};
use crate::process::compat::attribute;
use crate::process::encoding::to_utf8;
use crate::process::error::Error;
use crate::process::memory::MemoryContext;

/// A row, not deformed yet.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    header: pg_sys::HeapTupleHeader,
    identity: Identity,
    life: PhantomData<&'a ()>,
}

/// A column that is not dropped.
pub struct RecordColumn {
    /// Its name, in UTF-8.
    pub name: String,
    /// Whether it is generated, stored or not.
    pub generated: bool,
    /// Its type, a domain as such.
    pub type_id: pg_sys::Oid,
    /// Position among all attributes, dropped ones included.
    attribute: usize,
    storage: Storage,
}

/// A row type and its version. ALTER TABLE changes the version, but so do other commands after
/// which the server reads its catalogs again, like ANALYZE and GRANT; and a worker process gives an
/// anonymous row type another one when it first looks the type up.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    type_id: pg_sys::Oid,
    typmod: i32,
    version: u64,
}

impl Identity {
    /// Shows the row type's descriptor as it is now.
    fn descriptor<R>(self, f: impl FnOnce(pg_sys::TupleDesc) -> R) -> R {
        // SAFETY: an unknown type is an ERROR; the descriptor is pinned until `f` returns.
        unsafe {
            let desc = pg_sys::lookup_rowtype_tupdesc(self.type_id, self.typmod);
            let result = f(desc);
            if (*desc).tdrefcount >= 0 {
                pg_sys::DecrTupleDescRefCount(desc);
            }
            result
        }
    }
}

/// The columns of a row type.
pub struct Shape {
    identity: Cell<Identity>,
    desc: pg_sys::TupleDesc,
    /// In their order, without the dropped ones.
    pub columns: Vec<RecordColumn>,
}

impl<'a> Record<'a> {
    /// Opens a value of a row type; an ERROR when it is of another type.
    pub fn open(value: Value<'a>) -> Self {
        let declared = value.type_id();
        // SAFETY: a syscache look-up, which also sees through domains.
        if declared != pg_sys::RECORDOID && !unsafe { pg_sys::type_is_rowtype(declared) } {
            raise_not_of_kind("row", declared);
        }
        let header: pg_sys::HeapTupleHeader = value.aligned_varlena().cast();
        // SAFETY: the header of a row that is a value has type and typmod. The server looks the
        // type up; an unknown one is an ERROR.
        let identity = unsafe {
            let datum = &(*header).t_choice.t_datum;
            let (type_id, typmod) = (datum.datum_typeid, datum.datum_typmod);
            Identity {
                type_id,
                typmod,
                version: pg_sys::assign_record_type_identifier(type_id, typmod),
            }
        };
        Self {
            header,
            identity,
            life: PhantomData,
        }
    }

    /// The type and the typmod, which identifies the list of columns of an anonymous row type.
    pub fn row_type(&self) -> (pg_sys::Oid, i32) {
        (self.identity.type_id, self.identity.typmod)
    }
}

impl Shape {
    /// Looks up the columns of a row. They are kept in `memory`. An outdated shape stays there
    /// until the call site ends; each ALTER TABLE in the meantime leaves one at most: a shape whose
    /// columns did not change still fits ([`Shape::fits`]).
    pub fn for_record(record: &Record<'_>, memory: MemoryContext) -> Self {
        let identity = record.identity;
        // SAFETY: the looked-up descriptor is live while it is copied; the copy lives in `memory`
        // and has `natts` attributes with zero-terminated names.
        unsafe {
            let copy = |desc| memory.run(|| pg_sys::CreateTupleDescCopyConstr(desc));
            let desc = identity.descriptor(copy);
            let columns = (0..(*desc).natts as usize)
                .map(|i| (i, attribute(desc, i)))
                .filter(|(_, a)| !a.attisdropped)
                .map(|(i, a)| RecordColumn {
                    name: to_utf8(CStr::from_ptr(a.attname.data.as_ptr()).to_bytes()).into_owned(),
                    generated: a.attgenerated != 0,
                    type_id: a.atttypid,
                    attribute: i,
                    storage: Storage::of_attribute(a),
                })
                .collect();
            Self {
                identity: Cell::new(identity),
                desc,
                columns,
            }
        }
    }

    /// Returns whether the record had this shape when it was opened.
    pub fn fits(&self, record: &Record<'_>) -> bool {
        let (identity, shape) = (record.identity, self.identity.get());
        if identity == shape {
            return true;
        }
        if (identity.type_id, identity.typmod) != (shape.type_id, shape.typmod) {
            return false;
        }
        // SAFETY: two live descriptors.
        let same = identity.descriptor(|desc| unsafe { pg_sys::equalTupleDescs(self.desc, desc) });
        if same {
            self.identity.set(identity);
        }
        same
    }

    /// The values of the columns, in their order; an ERROR when the record has another shape.
    pub fn values<'a>(&self, record: &Record<'a>) -> Vec<Option<Value<'a>>> {
        if !self.fits(record) {
            Error::new(
                ERRCODE_INTERNAL_ERROR,
                "row has another shape than expected",
            )
            .raise();
        }
        // SAFETY: the record has this shape; both arrays have room for each attribute.
        unsafe {
            let count = (*self.desc).natts as usize;
            let mut datums = vec![pg_sys::Datum::null(); count];
            let mut nulls = vec![true; count];
            let mut tuple = pg_sys::HeapTupleData {
                t_len: pgrx::varlena::varsize_any(record.header.cast()) as u32,
                t_data: record.header,
                ..Default::default()
            };
            let (datums_ptr, nulls_ptr) = (datums.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::heap_deform_tuple(&mut tuple, self.desc, datums_ptr, nulls_ptr);
            self.columns
                .iter()
                .map(|c| (!nulls[c.attribute]).then(|| Value::new(datums[c.attribute], c.storage)))
                .collect()
        }
    }
}
