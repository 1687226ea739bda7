//! Rows that are spread over several servers by their fingerprints: under which keys a row is
//! stored and looked for, and the one key at which a pair is found. The server calls it from SQL;
//! `simhash_hamming::routes` is the arithmetic. How servers are reached is Citus' or postgres_fdw's matter
//! (docs/scale-out.md).

use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys::Datum;
use simhash_hamming::routes::Route;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::{Args, pg_function};

/// Returns argument `i`, a radius that has keys, or raises an ERROR; None when it is NULL.
fn route(args: &Args, i: usize) -> Option<Route> {
    let radius = args.get::<i32>(i)?;
    let route = u32::try_from(radius).ok().and_then(Route::for_radius);
    Some(route.unwrap_or_else(|| {
        Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("radius must be between 0 and 63, not {radius}"),
        )
        .raise()
    }))
}

pg_function!(simhash_route);
/// `simhash_route(fingerprint bigint, radius int) -> bigint[]`, strict
fn simhash_route(args: &Args) -> Datum {
    let (Some(fingerprint), Some(route)) = (args.get::<i64>(0), route(args, 1)) else {
        return args.null();
    };
    args.result(Some(route.keys(fingerprint as u64)))
}

pg_function!(simhash_meet);
/// `simhash_meet(a bigint, b bigint, radius int) -> bigint`, strict; NULL when they share no key
fn simhash_meet(args: &Args) -> Datum {
    let pair = (args.get::<i64>(0), args.get::<i64>(1), route(args, 2));
    let (Some(a), Some(b), Some(route)) = pair else {
        return args.null();
    };
    args.result(route.meeting(a as u64, b as u64))
}
