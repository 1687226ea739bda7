//! Checks an operator class (amvalidate): the access method knows three operators on fingerprints,
//! and for scopes of any type `=` and a hash function.

#![allow(unsafe_code)]

use super::scan_request::operator;
use pgrx::{PgLogLevel, PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, ereport};
use pgrx::{pg_guard, pg_sys};
use simhash_hamming::ball::Ball;
use simhash_pg::am::opclass::{
    FamilyFunction, FamilyOperator, OperatorClass, OperatorPurpose, read, type_length,
};
use simhash_pg::am::scope::{FINGERPRINT, FINGERPRINT_ARGUMENTS, HASH};
use std::collections::BTreeSet;

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
