//! Checks an operator class (amvalidate): the access method knows three operators on bigint.

#![allow(unsafe_code)]

use super::ball::Ball;
use super::scan::operator;
use crate::pg::am::opclass::{FamilyOperator, OperatorClass, OperatorPurpose, read, type_length};
use pgrx::{PgLogLevel, PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, ereport};
use pgrx::{pg_guard, pg_sys};

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

/// What is wrong with a class; each text completes "operator family X of access method simhash".
fn faults(class: &OperatorClass) -> Vec<String> {
    let mut faults: Vec<String> = class.operators.iter().filter_map(operator_fault).collect();
    if class.input != pg_sys::INT8OID {
        faults.push(format!(
            "has an input type other than bigint (OID {})",
            class.input.to_u32()
        ));
    }
    if class.functions > 0 {
        faults.push("contains support functions, of which simhash has none".into());
    }
    let has = |strategy: u16| {
        class
            .operators
            .iter()
            .any(|m| m.strategy as u16 == strategy)
    };
    for missing in [operator::IN_BALL, operator::DISTANCE]
        .into_iter()
        .filter(|s| !has(*s))
    {
        faults.push(format!("lacks an operator with strategy number {missing}"));
    }
    faults
}

fn operator_fault(member: &FamilyOperator) -> Option<String> {
    let int8 = pg_sys::INT8OID;
    let by_integer = OperatorPurpose::Order(pg_sys::INTEGER_BTREE_FAM_OID);
    let (purpose, result, right_fits) = match member.strategy as u16 {
        operator::IN_BALL => {
            let fits = usize::try_from(type_length(member.right)) == Ok(size_of::<Ball>());
            (OperatorPurpose::Search, pg_sys::BOOLOID, fits)
        }
        operator::DISTANCE => (by_integer, pg_sys::INT4OID, member.right == int8),
        operator::NEAR => (
            OperatorPurpose::Search,
            pg_sys::BOOLOID,
            member.right == int8,
        ),
        other => return Some(format!("contains an operator with strategy number {other}")),
    };
    let sound =
        member.left == int8 && right_fits && member.purpose == purpose && member.result == result;
    (!sound).then(|| {
        format!(
            "contains an operator with strategy number {} and wrong types or purpose",
            member.strategy
        )
    })
}
