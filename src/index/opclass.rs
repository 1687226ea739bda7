//! The operator classes: the SQL functions behind their operators, and amvalidate, which checks a class.
//! The access method knows three operators on fingerprints, and for scopes of any type `=` and a hash
//! function. Scans, prices and the planner take the numbers from here.

#![allow(unsafe_code)]

use crate::errors::or_raise;
// The crate: `simhash_hamming` is also the module of the SQL function of that name.
use ::simhash_hamming::ball::{Ball, NEAR};
use pgrx::pg_sys::Datum;
use pgrx::{PgLogLevel, PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, ereport};
use pgrx::{pg_guard, pg_sys};
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::fmgr::{Message, MessageReader};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};

/// Numbers of the operators, as in sql/.
pub mod operator {
    /// `fp <@ ball`
    pub const IN_BALL: u16 = 1;
    /// `fp <~> centre`, in ORDER BY only
    pub const DISTANCE: u16 = 2;
    /// `fp ~= other`
    pub const NEAR: u16 = 3;
    /// `column = value`
    pub const EQUAL: u16 = 4;
    /// `value ~= other`, of values of which fingerprints are made: near, and the same by a function
    pub const SAME: u16 = 5;
}

/// Number of the support function that hashes a value, as in sql/.
pub const HASH: u16 = 1;
/// Number of the support function that makes the fingerprint of a value. Classes of fingerprints have none.
pub const FINGERPRINT: u16 = 2;
/// Most arguments of such a function; all but the first are passed as NULL.
pub const FINGERPRINT_ARGUMENTS: usize = 4;

fn distance(args: &Args) -> i32 {
    (args.by_value(0) ^ args.by_value(1)).count_ones() as i32
}

/// Returns argument `i` of a STRICT function.
fn ball(args: &Args, i: usize) -> Ball {
    Ball::from_bytes(args.fixed(i).unwrap_or_default())
}

pg_function!(simhash_hamming);
/// hamming(bigint, bigint) -> int: differing bits, 0 to 64.
fn simhash_hamming(args: &Args) -> Datum {
    args.result(Some(distance(args)))
}

pg_function!(simhash_hamming_within);
/// hamming_within(bigint, bigint, int) -> boolean.
fn simhash_hamming_within(args: &Args) -> Datum {
    args.result(Some(distance(args) <= args.by_value(2) as i32))
}

pg_function!(simhash_near);
/// hamming_near(bigint, bigint) -> boolean: the operator ~=.
fn simhash_near(args: &Args) -> Datum {
    args.result(Some(distance(args) <= NEAR))
}

pg_function!(simhash_ball_make);
/// hamming_ball(centre bigint, radius int) -> hamming_ball.
fn simhash_ball_make(args: &Args) -> Datum {
    args.fixed_result(Ball::new(args.by_value(0) as i64, args.by_value(1) as i32))
}

pg_function!(simhash_ball_contains);
/// hamming_ball_contains(bigint, hamming_ball) -> boolean: the operator <@.
fn simhash_ball_contains(args: &Args) -> Datum {
    args.result(Some(ball(args, 1).contains(args.by_value(0) as i64)))
}

pg_function!(simhash_ball_in);
/// Text input of hamming_ball.
fn simhash_ball_in(args: &Args) -> Datum {
    let text = args.c_string(0).unwrap_or_default().to_string_lossy();
    args.fixed_result::<Ball>(or_raise(text.parse()))
}

pg_function!(simhash_ball_out);
/// Text output of hamming_ball.
fn simhash_ball_out(args: &Args) -> Datum {
    let text = CString::new(ball(args, 0).to_string()).unwrap_or_default();
    args.result(Some(text.as_c_str()))
}

pg_function!(simhash_ball_recv);
/// Binary input of hamming_ball: centre (8 bytes) and radius (4 bytes), big-endian.
fn simhash_ball_recv(args: &Args) -> Datum {
    let mut message = MessageReader::from_arguments(args);
    let centre = message.i64();
    args.fixed_result(Ball::new(centre, message.i32()))
}

pg_function!(simhash_ball_send);
/// Binary output of hamming_ball.
fn simhash_ball_send(args: &Args) -> Datum {
    let ball = ball(args, 0);
    args.result(Some(Message::new().i64(ball.centre).i32(ball.radius)))
}

#[pg_guard]
pub unsafe extern "C-unwind" fn amvalidate(class: pg_sys::Oid) -> bool {
    let class = read(class);
    let faults = faults(&class);
    for fault in &faults {
        ereport!(
            PgLogLevel::INFO,
            ERRCODE_INVALID_OBJECT_DEFINITION,
            format!(
                "operator family \"{}\" of access method simhash {fault}",
                class.family
            )
        );
    }
    faults.is_empty()
}

/// Returns what is wrong with a class; each text completes "operator family X of access method
/// simhash".
fn faults(class: &OperatorClass) -> Vec<String> {
    let operators = class.operators.iter().filter_map(operator_fault);
    let functions = class.functions.iter().filter_map(function_fault);
    let mut faults: Vec<String> = operators.chain(functions).collect();
    let makes_fingerprints =
        (class.functions.iter()).any(|f| f.number as u16 == FINGERPRINT && f.left == class.input);
    // Fingerprints that are made of values are searched as such.
    let compared_type = match makes_fingerprints {
        true => pg_sys::INT8OID,
        false => class.input,
    };
    let is_own = |operator: &FamilyOperator| operator.left == compared_type;
    let needed: &[u16] = match class.input {
        pg_sys::INT8OID => &[operator::IN_BALL, operator::DISTANCE],
        _ if makes_fingerprints => &[operator::IN_BALL, operator::DISTANCE],
        _ => &[operator::EQUAL],
    };
    for missing in needed {
        let has = |operator: &&FamilyOperator| operator.strategy as u16 == *missing;
        if !class.operators.iter().filter(has).any(is_own) {
            faults.push(format!("lacks an operator with strategy number {missing}"));
        }
    }
    let equalities = (class.operators.iter()).filter(|o| o.strategy as u16 == operator::EQUAL);
    let compared: BTreeSet<u32> = equalities
        .flat_map(|operator| [operator.left, operator.right].map(pg_sys::Oid::to_u32))
        .collect();
    for oid in compared {
        let hashes = |f: &FamilyFunction| f.number as u16 == HASH && f.left.to_u32() == oid;
        if !class.functions.iter().any(hashes) {
            faults.push(format!(
                "compares type with OID {oid}, but lacks support function {HASH} for it"
            ));
        }
    }
    faults
}

fn operator_fault(member: &FamilyOperator) -> Option<String> {
    let int8 = pg_sys::INT8OID;
    let by_integer = OperatorPurpose::Order(pg_sys::INTEGER_BTREE_FAM_OID);
    let of_fingerprints = member.left == int8 && member.right == int8;
    let (purpose, result, types_fit) = match member.strategy as u16 {
        operator::IN_BALL => {
            let fits = usize::try_from(type_length(member.right)) == Ok(size_of::<Ball>());
            let fits = member.left == int8 && fits;
            (OperatorPurpose::Search, pg_sys::BOOLOID, fits)
        }
        operator::DISTANCE => (by_integer, pg_sys::INT4OID, of_fingerprints),
        operator::NEAR => (OperatorPurpose::Search, pg_sys::BOOLOID, of_fingerprints),
        operator::EQUAL => (OperatorPurpose::Search, pg_sys::BOOLOID, true),
        operator::SAME => {
            let fits = member.left == member.right && member.left != int8;
            (OperatorPurpose::Search, pg_sys::BOOLOID, fits)
        }
        other => return Some(format!("contains an operator with strategy number {other}")),
    };
    let sound = types_fit && member.purpose == purpose && member.result == result;
    (!sound).then(|| {
        format!(
            "contains an operator with strategy number {} and wrong types or purpose",
            member.strategy
        )
    })
}

/// Returns what is wrong with a support function: a hash function takes one value and returns 32 bits, and
/// one that makes fingerprints returns 64 and may have arguments that can be NULL.
fn function_fault(member: &FamilyFunction) -> Option<String> {
    let result = match member.number as u16 {
        HASH => member.arguments == 1 && member.result == pg_sys::INT4OID,
        FINGERPRINT => {
            member.left != pg_sys::INT8OID
                && (1..=FINGERPRINT_ARGUMENTS).contains(&member.arguments)
                && member.result == pg_sys::INT8OID
        }
        _ => false,
    };
    let sound = member.left == member.right && member.takes_type && result;
    (!sound).then(|| {
        format!(
            "contains a support function with number {} and wrong types",
            member.number
        )
    })
}

/// Purpose of an operator of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperatorPurpose {
    /// It stands in conditions.
    Search,
    /// ORDER BY, by this btree family.
    Order(pg_sys::Oid),
}

/// One operator of a family.
#[derive(Clone, Copy, Debug)]
struct FamilyOperator {
    /// pg_amop.amopstrategy.
    strategy: i16,
    /// Type of its left operand.
    left: pg_sys::Oid,
    /// Type of its right operand.
    right: pg_sys::Oid,
    /// Whether it searches or orders.
    purpose: OperatorPurpose,
    /// Type of its result.
    result: pg_sys::Oid,
}

/// An operator class with its family.
struct OperatorClass {
    /// Name of the operator family, without its schema.
    family: String,
    /// pg_opclass.opcintype: the type of the columns for which the class was made.
    input: pg_sys::Oid,
    /// All operators of the family, whatever their types.
    operators: Vec<FamilyOperator>,
    /// All support functions of the family, whatever their types.
    functions: Vec<FamilyFunction>,
}

/// One support function of a family.
#[derive(Clone, Copy, Debug)]
struct FamilyFunction {
    /// pg_amproc.amprocnum.
    number: i16,
    /// pg_amproc.amproclefttype.
    left: pg_sys::Oid,
    /// pg_amproc.amprocrighttype.
    right: pg_sys::Oid,
    /// How many arguments it declares.
    arguments: usize,
    /// Whether the function can be given a value of the type `left` as it is.
    takes_type: bool,
    /// Type of its result.
    result: pg_sys::Oid,
}

/// Reads an operator class from the catalogs.
fn read(class: pg_sys::Oid) -> OperatorClass {
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
fn type_length(oid: pg_sys::Oid) -> i16 {
    // SAFETY: a syscache look-up.
    unsafe { pg_sys::get_typlen(oid) }
}
