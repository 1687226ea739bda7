//! The access method as the server sees it: its handler, with the callbacks of each role, and its storage
//! parameters, CREATE INDEX ... WITH (fillfactor = ...).

#![allow(unsafe_code)]

use super::{build, cost_estimate, insert, opclass, scan, vacuum};
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys::Datum;
use pgrx::{pg_guard, pg_sys};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::compat;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::value::{Storage, Value};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

pg_function!(simhash_handler);
/// simhash_catalog.simhash_handler(internal) -> index_am_handler.
fn simhash_handler(args: &Args) -> Datum {
    args.routine(&ROUTINE)
}

/// What the access method can do, and its callbacks.
static ROUTINE: pg_sys::IndexAmRoutine = routine();

const fn routine() -> pg_sys::IndexAmRoutine {
    // SAFETY: zero is a value of each field: a number, false, no function.
    let mut am: pg_sys::IndexAmRoutine = unsafe { MaybeUninit::zeroed().assume_init() };
    am.type_ = pg_sys::NodeTag::T_IndexAmRoutine;
    am.amstrategies = opclass::operator::SAME;
    am.amsupport = opclass::FINGERPRINT;
    am.amcanmulticol = true;
    am.amcanorderbyop = true;
    // A scan may come without a condition: ORDER BY alone, or a partial index read as a whole.
    am.amoptionalkey = true;
    am.amsearchnulls = true;
    // VACUUM keeps there which rows are dead (vacuum.rs).
    am.amusemaintenanceworkmem = true;
    // The cleanup is not parallel: it takes no longer than starting a worker.
    am.amparallelvacuumoptions = pg_sys::VACUUM_OPTION_PARALLEL_BULKDEL as u8;
    compat::allow_parallel_builds(&mut am);
    am.ambuild = Some(build::ambuild);
    am.ambuildempty = Some(build::ambuildempty);
    am.aminsert = Some(insert::aminsert);
    am.ambulkdelete = Some(vacuum::ambulkdelete);
    am.amvacuumcleanup = Some(vacuum::amvacuumcleanup);
    am.amcostestimate = Some(cost_estimate::amcostestimate);
    am.amoptions = Some(amoptions);
    am.ambuildphasename = Some(build::ambuildphasename);
    am.amvalidate = Some(opclass::amvalidate);
    am.ambeginscan = Some(scan::ambeginscan);
    am.amrescan = Some(scan::amrescan);
    am.amgettuple = Some(scan::amgettuple);
    am.amgetbitmap = Some(scan::amgetbitmap);
    am.amendscan = Some(scan::amendscan);
    am
}

/// The parsed options, as the server stores them in the relation cache.
#[repr(C)]
struct Options {
    length: i32,
    fillfactor: i32,
}

/// The default fill factor: how full a build makes leaves, in percent.
const FILLFACTOR: i32 = 90;

/// The kind of options registered with the server.
static KIND: OnceLock<pg_sys::relopt_kind::Type> = OnceLock::new();

/// Registers the options; called once, when the library is loaded.
pub fn register_options() {
    KIND.get_or_init(|| {
        // SAFETY: called while the library is loaded; the server copies the strings.
        unsafe {
            let kind = pg_sys::add_reloption_kind();
            pg_sys::add_int_reloption(
                kind,
                c"fillfactor".as_ptr(),
                c"How full the leaves of a new index are, in percent.".as_ptr(),
                FILLFACTOR,
                10,
                100,
                pg_sys::ShareUpdateExclusiveLock as pg_sys::LOCKMODE,
            );
            kind
        }
    });
}

#[pg_guard]
unsafe extern "C-unwind" fn amoptions(text: pg_sys::Datum, validate: bool) -> *mut pg_sys::bytea {
    if validate && !text.is_null() {
        // SAFETY: the server passes an array of texts, which lives as long as the call.
        let options = unsafe { Value::new(text, Storage::for_type(pg_sys::TEXTARRAYOID)) };
        let options = options.array().items.into_iter().flatten();
        options.for_each(|option| refuse_unknown(&option.to_text()));
    }
    let element = compat::int_option(c"fillfactor", std::mem::offset_of!(Options, fillfactor));
    let kind = KIND.get().copied().unwrap_or_default();
    // SAFETY: the element describes the field of the struct whose size is passed.
    unsafe {
        pg_sys::build_reloptions(text, validate, kind, size_of::<Options>(), &element, 1).cast()
    }
}

/// The fill factor of an index, in percent.
pub fn fillfactor(index: Rel) -> u32 {
    // SAFETY: `amoptions` has parsed them, into this struct; they live as long as the index is open.
    let options = unsafe { (*index.raw()).rd_options.cast::<Options>().as_ref() };
    options.map_or(FILLFACTOR, |o| o.fillfactor) as u32
}

/// Refuses `name=value` of another name than ours; the server would not say where presets and weights go.
fn refuse_unknown(option: &str) {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    if name == "fillfactor" {
        return;
    }
    let value = value.replace('\'', "''");
    let hint = match name {
        "preset" => format!("USING simhash (simhash64(body, preset => '{value}'))"),
        "weights" => format!("USING simhash (simhash64(ROW(title, body), '{value}'))"),
        _ => "USING simhash (simhash64(body, preset => 'shingles'))".to_owned(),
    };
    Error::new(
        ERRCODE_INVALID_PARAMETER_VALUE,
        format!("unrecognized parameter \"{name}\""),
    )
    .hint(format!(
        "An index has \"fillfactor\" alone. A preset and weights stand in an expression: {hint}. The \
         radius and the check belong to queries and triggers."
    ))
    .raise();
}
