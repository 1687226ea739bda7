//! Functions, operators, types and access methods in the catalogs, by their names or by what they belong
//! to, and what the current user may do. The planner's modules, triggers and whatever reads values call it.
//! Nothing is remembered: the server's caches are fast enough.

use crate::process::encoding::name_to_utf8;
use pgrx::pg_sys;
use pgrx::pg_sys::{AclMode, AclResult, Oid};
use std::ffi::{CStr, c_char};

/// The exported symbol behind a SQL function of this library.
pub type SqlFunction = unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo) -> pg_sys::Datum;

/// Returns whether `support` is the planner support function of the SQL function `function`.
///
/// Compares the address of the loaded symbol, not an OID from an earlier look-up, so the answer is
/// right even after the extension was dropped and created again, moved or renamed.
pub fn has_support_function(function: Oid, support: SqlFunction) -> bool {
    // SAFETY: a syscache look-up.
    unsafe {
        let oid = pg_sys::get_func_support(function);
        oid != Oid::INVALID && is_symbol(oid, support)
    }
}

/// Returns whether this exported symbol is behind a SQL function. Compares addresses, as
/// [`has_support_function`].
pub fn is_symbol(function: Oid, symbol: SqlFunction) -> bool {
    let symbol = symbol as *const ();
    let mut finfo = pg_sys::FmgrInfo::default();
    // SAFETY: `finfo` is filled before it is read; an ERROR when there is no such function.
    unsafe { pg_sys::fmgr_info(function, &mut finfo) };
    let called = finfo.fn_addr.map(|address| address as *const ());
    called == Some(symbol) || c_symbol(function) == Some(symbol)
}

/// The OID of the language C, which is the same in all clusters (pg_language.dat of the server).
const C_LANGUAGE: u32 = 13;

/// The symbol that a function in C has in its library. Where the function has settings, or the
/// rights of its owner, that is not what fmgr_info finds: the server wraps it.
fn c_symbol(function: Oid) -> Option<*const ()> {
    let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
    // SAFETY: a syscache look-up; the row is read before it is released, and its texts are copied.
    // A superuser declared the library, so it may be loaded.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(function));
        if row.is_null() {
            return None;
        }
        let form: *const pg_sys::FormData_pg_proc = pg_sys::GETSTRUCT(row).cast();
        let is_c = (*form).prolang.to_u32() == C_LANGUAGE;
        let text = |column: u32| {
            let mut null = false;
            let column = column as pg_sys::AttrNumber;
            let datum = pg_sys::SysCacheGetAttr(cache, row, column, &mut null);
            (!null).then(|| pg_sys::text_to_cstring(datum.cast_mut_ptr()))
        };
        let names = is_c.then(|| {
            let library = text(pg_sys::Anum_pg_proc_probin)?;
            Some((library, text(pg_sys::Anum_pg_proc_prosrc)?))
        });
        pg_sys::ReleaseSysCache(row);
        let (library, name) = names.flatten()?;
        let none = std::ptr::null_mut();
        let address = pg_sys::load_external_function(library, name, false, none);
        (!address.is_null()).then_some(address as *const ())
    }
}

/// The function of that name and those argument types in the schema of `neighbour`.
pub fn function_beside(neighbour: Oid, name: &CStr, arg_types: &[Oid]) -> Option<Oid> {
    function_in(function_schema(neighbour), name, arg_types)
}

/// The schema of a function; none when it is gone.
pub fn function_schema(function: Oid) -> Oid {
    // SAFETY: a syscache look-up.
    unsafe { pg_sys::get_func_namespace(function) }
}

/// The function of that name and those argument types in a schema.
pub(crate) fn function_in(schema: Oid, name: &CStr, arg_types: &[Oid]) -> Option<Oid> {
    // SAFETY: the keys of that cache; the oidvector is a copy of `arg_types`.
    unsafe {
        let types = pg_sys::buildoidvector(arg_types.as_ptr(), arg_types.len() as i32);
        let keys: [pg_sys::Datum; 3] = [name.as_ptr().into(), types.into(), schema.into()];
        let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP;
        cached_oid(cache, pg_sys::Anum_pg_proc_oid, &keys)
    }
}

/// Returns whether it is a function, and no aggregate or procedure, that returns one value.
pub fn is_plain_function(function: Oid) -> bool {
    // SAFETY: syscache look-ups.
    unsafe {
        pg_sys::get_func_prokind(function) as u8 == pg_sys::PROKIND_FUNCTION
            && !pg_sys::get_func_retset(function)
    }
}

/// The operator of that name between two types in a schema.
pub fn operator_in(schema: Oid, name: &CStr, left: Oid, right: Oid) -> Option<Oid> {
    let keys: [pg_sys::Datum; 4] = [
        name.as_ptr().into(),
        left.into(),
        right.into(),
        schema.into(),
    ];
    let cache = pg_sys::SysCacheIdentifier::OPERNAMENSP;
    // SAFETY: the keys of that cache.
    unsafe { cached_oid(cache, pg_sys::Anum_pg_operator_oid, &keys) }
}

/// The schema of a type; None when the type is gone.
pub fn type_schema(type_oid: Oid) -> Option<Oid> {
    let cache = pg_sys::SysCacheIdentifier::TYPEOID as i32;
    // SAFETY: syscache look-up; the row is read before it is released.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(type_oid));
        if row.is_null() {
            return None;
        }
        let form: *const pg_sys::FormData_pg_type = pg_sys::GETSTRUCT(row).cast();
        let schema = (*form).typnamespace;
        pg_sys::ReleaseSysCache(row);
        Some(schema)
    }
}

/// The type of the operands of a type's equality, and that of arrays of such values. INVALID when
/// there is none.
pub fn equality_types(type_id: Oid) -> [Oid; 2] {
    let (mut left, mut right) = (Oid::INVALID, Oid::INVALID);
    // SAFETY: catalog look-ups; a type's cache entry lives as long as the process.
    unsafe {
        let equality =
            (*pg_sys::lookup_type_cache(type_id, pg_sys::TYPECACHE_EQ_OPR as i32)).eq_opr;
        if equality != Oid::INVALID {
            pg_sys::op_input_types(equality, &mut left, &mut right);
        }
        [left, pg_sys::get_array_type(left)]
    }
}

/// The OID, in this column, of the row with these keys in a system cache.
///
/// # Safety
/// Column and keys must be those of the cache.
unsafe fn cached_oid(
    cache: pg_sys::SysCacheIdentifier::Type,
    column: u32,
    keys: &[pg_sys::Datum],
) -> Option<Oid> {
    let key = |i| keys.get(i).copied().unwrap_or(pg_sys::Datum::null());
    let column = column as pg_sys::AttrNumber;
    // SAFETY: guaranteed by the caller.
    let found =
        unsafe { pg_sys::GetSysCacheOid(cache as i32, column, key(0), key(1), key(2), key(3)) };
    (found != Oid::INVALID).then_some(found)
}

/// The function behind an operator.
pub fn operator_function(operator: Oid) -> Oid {
    // SAFETY: syscache look-up.
    unsafe { pg_sys::get_opcode(operator) }
}

/// The planner support function of a SQL function.
pub fn support_function(function: Oid) -> Option<Oid> {
    // SAFETY: syscache look-up.
    let support = unsafe { pg_sys::get_func_support(function) };
    (support != Oid::INVALID).then_some(support)
}

/// The result type of a function.
pub fn function_result_type(function: Oid) -> Oid {
    // SAFETY: syscache look-up.
    unsafe { pg_sys::get_func_rettype(function) }
}

/// The operator with this strategy number between two types in an operator family.
pub fn family_operator(family: Oid, left: Oid, right: Oid, strategy: i16) -> Option<Oid> {
    // SAFETY: syscache look-up.
    let operator = unsafe { pg_sys::get_opfamily_member(family, left, right, strategy) };
    (operator != Oid::INVALID).then_some(operator)
}

/// The support function with this number for values of a type in an operator family.
pub fn family_function(family: Oid, value_type: Oid, number: u16) -> Option<Oid> {
    // SAFETY: syscache look-up.
    let function =
        unsafe { pg_sys::get_opfamily_proc(family, value_type, value_type, number as i16) };
    (function != Oid::INVALID).then_some(function)
}

/// The type of the first argument of a function; None if it has none.
pub(crate) fn first_argument_type(function: Oid) -> Option<Oid> {
    let (mut types, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: syscache look-up; the server fills the array, of `count` elements.
    unsafe {
        pg_sys::get_func_signature(function, &mut types, &mut count);
        (count > 0).then(|| *types)
    }
}

/// Where the argument of this name stands among those of a function; None if it has none.
pub(crate) fn argument_position(function: Oid, name: &str) -> Option<usize> {
    let (mut types, mut names, mut modes) = (
        std::ptr::null_mut(),
        std::ptr::null_mut(),
        std::ptr::null_mut(),
    );
    // SAFETY: the row is read before it is released; the server fills arrays of `count` elements, or none of names.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
        let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(function));
        if row.is_null() {
            return None;
        }
        let count = pg_sys::get_func_arg_info(row, &mut types, &mut names, &mut modes);
        pg_sys::ReleaseSysCache(row);
        let count = if names.is_null() { 0 } else { count as usize };
        (0..count).find(|i| CStr::from_ptr(*names.add(*i)).to_bytes() == name.as_bytes())
    }
}

/// The handler of an access method.
pub fn access_method_handler(access_method: Oid) -> Option<Oid> {
    // SAFETY: syscache look-up; the row is read before it is released.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::AMOID as i32;
        let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(access_method));
        if row.is_null() {
            return None;
        }
        let form: *const pg_sys::FormData_pg_am = pg_sys::GETSTRUCT(row).cast();
        let handler = (*form).amhandler;
        pg_sys::ReleaseSysCache(row);
        Some(handler)
    }
}

/// Returns whether the access method belongs to an extension. The system's own have fixed OIDs.
pub fn is_extension_access_method(access_method: Oid) -> bool {
    access_method.to_u32() >= pg_sys::FirstNormalObjectId
}

/// Returns whether the access method has this name.
pub fn is_access_method(access_method: Oid, name: &CStr) -> bool {
    // SAFETY: a syscache look-up; the result is null or a zero-terminated copy.
    unsafe {
        let found = pg_sys::get_am_name(access_method);
        !found.is_null() && CStr::from_ptr(found) == name
    }
}

/// The access method of an index; None when the index is gone.
pub fn index_access_method(index: Oid) -> Option<Oid> {
    // SAFETY: syscache look-up; the row is read before it is released.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
        let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(index));
        if row.is_null() {
            return None;
        }
        let class: *const pg_sys::FormData_pg_class = pg_sys::GETSTRUCT(row).cast();
        let access_method = (*class).relam;
        pg_sys::ReleaseSysCache(row);
        Some(access_method)
    }
}

/// Strategy number 1 to 5 (`<`, `<=`, `=`, `>=`, `>`) of a comparison between integers of any of
/// the three widths; 0 for other operators.
pub fn integer_comparison(operator: Oid) -> i32 {
    // SAFETY: syscache look-up.
    unsafe { pg_sys::get_op_opfamily_strategy(operator, pg_sys::INTEGER_BTREE_FAM_OID) }
}

/// The type below a domain; other types are returned unchanged.
pub fn base_type(type_oid: Oid) -> Oid {
    // SAFETY: syscache look-up.
    unsafe { pg_sys::getBaseType(type_oid) }
}

/// The table of that name in a schema, whatever the search_path.
pub fn table_in(schema: &CStr, name: &CStr) -> Option<Oid> {
    // SAFETY: syscache look-ups of zero-terminated names.
    let found = unsafe {
        let schema = pg_sys::get_namespace_oid(schema.as_ptr(), true);
        pg_sys::get_relname_relid(name.as_ptr(), schema)
    };
    (found != Oid::INVALID).then_some(found)
}

/// To read rows.
pub const SELECT: AclMode = pg_sys::ACL_SELECT as AclMode;
/// To add rows.
pub const INSERT: AclMode = pg_sys::ACL_INSERT as AclMode;
/// To change rows.
pub const UPDATE: AclMode = pg_sys::ACL_UPDATE as AclMode;
/// To remove rows.
pub const DELETE: AclMode = pg_sys::ACL_DELETE as AclMode;

/// The user whose rights count now.
pub fn current_user() -> Oid {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::GetUserId() }
}

/// Returns whether the current user has this privilege on the table, or else on each of these
/// columns. Without columns: on the table.
pub fn may(table: Oid, right: AclMode, columns: &[i16]) -> bool {
    // SAFETY: catalog look-ups.
    unsafe {
        let user = pg_sys::GetUserId();
        pg_sys::pg_class_aclcheck(table, user, right) == AclResult::ACLCHECK_OK
            || !columns.is_empty()
                && columns.iter().all(|column| {
                    let found = pg_sys::pg_attribute_aclcheck(table, *column, user, right);
                    found == AclResult::ACLCHECK_OK
                })
    }
}

/// Returns whether row security decides which rows of the table the current user sees.
pub fn has_row_security(table: Oid) -> bool {
    // SAFETY: catalog look-ups; no ERROR is asked for.
    let applies = unsafe { pg_sys::check_enable_rls(table, Oid::INVALID, true) };
    applies == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
}

/// # Safety
/// `text` must be null or a zero-terminated string.
pub unsafe fn string(text: *const c_char) -> Option<String> {
    // SAFETY: guaranteed by the caller.
    (!text.is_null()).then(|| unsafe { name_to_utf8(CStr::from_ptr(text).to_bytes()).into_owned() })
}

/// A type's name, for messages.
pub fn type_name(type_id: Oid) -> String {
    // SAFETY: a catalog look-up that always yields a string.
    unsafe { string(pg_sys::format_type_be(type_id)) }.unwrap_or_default()
}
