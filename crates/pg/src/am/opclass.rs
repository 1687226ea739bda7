//! What the catalogs say of an operator class.

use crate::process::encoding::name_to_utf8;
use pgrx::pg_sys;
use std::ffi::CStr;

/// Purpose of an operator of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorPurpose {
    /// It stands in conditions.
    Search,
    /// ORDER BY, by this btree family.
    Order(pg_sys::Oid),
}

/// One operator of a family.
#[derive(Clone, Copy, Debug)]
pub struct FamilyOperator {
    /// pg_amop.amopstrategy.
    pub strategy: i16,
    /// Type of its left operand.
    pub left: pg_sys::Oid,
    /// Type of its right operand.
    pub right: pg_sys::Oid,
    /// Whether it searches or orders.
    pub purpose: OperatorPurpose,
    /// Type of its result.
    pub result: pg_sys::Oid,
}

/// An operator class with its family.
pub struct OperatorClass {
    /// Name of the operator family, without its schema.
    pub family: String,
    /// pg_opclass.opcintype: the type of the columns for which the class was made.
    pub input: pg_sys::Oid,
    /// All operators of the family, whatever their types.
    pub operators: Vec<FamilyOperator>,
    /// All support functions of the family, whatever their types.
    pub functions: Vec<FamilyFunction>,
}

/// One support function of a family.
#[derive(Clone, Copy, Debug)]
pub struct FamilyFunction {
    /// pg_amproc.amprocnum.
    pub number: i16,
    /// pg_amproc.amproclefttype.
    pub left: pg_sys::Oid,
    /// pg_amproc.amprocrighttype.
    pub right: pg_sys::Oid,
    /// How many arguments it declares.
    pub arguments: usize,
    /// Whether the function can be given a value of the type `left` as it is.
    pub takes_type: bool,
    /// Type of its result.
    pub result: pg_sys::Oid,
}

/// Reads an operator class from the catalogs.
#[inline]
pub fn read(class: pg_sys::Oid) -> OperatorClass {
    use pg_sys::SysCacheIdentifier::{AMOPSTRATEGY, AMPROCNUM};
    // SAFETY: syscache look-ups; each AMOPSTRATEGY tuple is a pg_amop row, each AMPROCNUM tuple a
    // pg_amproc row, copied before the list is released.
    unsafe {
        let family = pg_sys::get_opclass_family(class);
        let mut operators = Vec::new();
        members(AMOPSTRATEGY as i32, family, |tuple| {
            let row = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_amop>();
            operators.push(FamilyOperator {
                strategy: row.amopstrategy,
                left: row.amoplefttype,
                right: row.amoprighttype,
                purpose: if row.amoppurpose as u8 == pg_sys::AMOP_ORDER {
                    OperatorPurpose::Order(row.amopsortfamily)
                } else {
                    OperatorPurpose::Search
                },
                result: pg_sys::get_op_rettype(row.amopopr),
            });
        });
        let mut functions = Vec::new();
        members(AMPROCNUM as i32, family, |tuple| {
            let row = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_amproc>();
            functions.push(FamilyFunction {
                number: row.amprocnum,
                left: row.amproclefttype,
                right: row.amprocrighttype,
                arguments: pg_sys::get_func_nargs(row.amproc) as usize,
                takes_type: takes_type(row.amproc, row.amproclefttype),
                result: pg_sys::get_func_rettype(row.amproc),
            });
        });
        OperatorClass {
            family: family_name(family),
            input: pg_sys::get_opclass_input_type(class),
            operators,
            functions,
        }
    }
}

/// # Safety
/// `cache` must be a syscache whose first key is an operator family.
unsafe fn members(cache: i32, family: pg_sys::Oid, mut each: impl FnMut(pg_sys::HeapTuple)) {
    let zero = pg_sys::Datum::from(0usize);
    // SAFETY: guaranteed by the caller; a list has `n_members` members, pinned until it is
    // released.
    unsafe {
        let list = pg_sys::SearchSysCacheList(cache, 1, pg_sys::Datum::from(family), zero, zero);
        let n = (*list).n_members as usize;
        for member in (*list).members.as_slice(n) {
            each(&raw mut (**member).tuple);
        }
        pg_sys::ReleaseCatCacheList(list);
    }
}

/// Returns whether the first argument of a function is of this type, or of one with the same
/// representation. The server's own classes hash dates as integers, for example.
///
/// # Safety
/// The function must exist.
unsafe fn takes_type(function: pg_sys::Oid, given: pg_sys::Oid) -> bool {
    // SAFETY: guaranteed by the caller; syscache look-ups, and a copy of the argument types.
    unsafe {
        let (mut types, mut count) = (std::ptr::null_mut(), 0);
        pg_sys::get_func_signature(function, &mut types, &mut count);
        if count == 0 {
            return false;
        }
        let declared = *types;
        let by_value = pg_sys::get_typbyval(given) && pg_sys::get_typbyval(declared);
        // What char(n) stores is a text with blanks at its end.
        let is_text = given == pg_sys::BPCHAROID && declared == pg_sys::TEXTOID;
        is_text
            || pg_sys::IsBinaryCoercible(given, declared)
            || (by_value && type_length(given) == type_length(declared))
    }
}

fn family_name(family: pg_sys::Oid) -> String {
    use pg_sys::SysCacheIdentifier::OPFAMILYOID;
    // SAFETY: a syscache look-up; the tuple is a pg_opfamily row, copied before its release.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(OPFAMILYOID as i32, pg_sys::Datum::from(family));
        if tuple.is_null() {
            return family.to_u32().to_string();
        }
        let row = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_opfamily>();
        let name = CStr::from_ptr(row.opfname.data.as_ptr()).to_bytes();
        let name = name_to_utf8(name).into_owned();
        pg_sys::ReleaseSysCache(tuple);
        name
    }
}

/// The length in bytes of a fixed-length type; negative for others.
#[inline]
pub fn type_length(oid: pg_sys::Oid) -> i16 {
    // SAFETY: a syscache look-up.
    unsafe { pg_sys::get_typlen(oid) }
}
