//! `simhash_assign_cluster()`: an AFTER INSERT OR UPDATE row trigger that keeps a table of clusters
//! current. Clusters only grow and unite here; what an UPDATE or DELETE would divide is divided by the
//! next computation.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::PgSqlErrorCode::{
    ERRCODE_DATATYPE_MISMATCH, ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NULL_VALUE_NOT_ALLOWED,
    ERRCODE_UNDEFINED_COLUMN, ERRCODE_UNDEFINED_FUNCTION, ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use super::flag_table::searched_table;
use super::source::radius;
use crate::pg::advisory::lock_until_commit;
use crate::pg::error::{raise, raise_with_hint};
use crate::pg::fmgr::pg_function;
use crate::pg::key_type::{Equality, KeyType};
use crate::pg::saved_query::{SavedQuery, Sees};
use crate::pg::table::{self, Column};
use crate::pg::trigger::{Event, TriggerCall};

const NAME: &str = "simhash_assign_cluster";
/// The number of our lock of the table of clusters: above those of simhash_flag_duplicate().
const LOCK: u32 = u32::MAX;
/// Plans that a session keeps.
const PLANS: usize = 64;

pg_function! {
    /// `simhash_assign_cluster() -> trigger`
    fn simhash_assign_cluster, pg_finfo_simhash_assign_cluster(args) {
        match TriggerCall::of(args) {
            Some(call) if call.is_after_row() && matches!(call.event(), Event::Insert | Event::Update) => {
                assign(&call);
                call.unchanged()
            }
            _ => raise(
                ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                format!("function {NAME} must be fired AFTER INSERT OR UPDATE FOR EACH ROW"),
            ),
        }
    }
}

/// The trigger's arguments, `name=value`.
#[derive(Default)]
struct Options {
    clusters: Option<String>,
    key: Option<String>,
    fingerprint: Option<String>,
    radius: Option<String>,
}

impl Options {
    fn of(call: &TriggerCall<'_>) -> Self {
        let mut options = Options::default();
        for argument in call.arguments() {
            let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
            let place = match name {
                "clusters" => &mut options.clusters,
                "key" => &mut options.key,
                "fingerprint" => &mut options.fingerprint,
                "radius" => &mut options.radius,
                _ => raise_with_hint(
                    ERRCODE_INVALID_PARAMETER_VALUE,
                    format!("unknown argument \"{argument}\" of {NAME}"),
                    "Arguments are clusters=, key=, fingerprint= and radius=.",
                ),
            };
            *place = Some(value.to_owned());
        }
        options
    }

    fn radius(&self) -> u32 {
        let Some(text) = &self.radius else {
            return 3;
        };
        match text.parse() {
            Ok(number) => radius(number),
            Err(_) => raise(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("radius must be a number of bits, not \"{text}\""),
            ),
        }
    }
}

fn given(value: &Option<String>, name: &str) -> String {
    value.clone().unwrap_or_else(|| {
        raise(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{NAME} needs the argument {name}="),
        )
    })
}

fn column(call: &TriggerCall<'_>, name: &str) -> Column {
    table::column(call.relation(), name).unwrap_or_else(|| {
        let table = call.relation().name();
        raise(
            ERRCODE_UNDEFINED_COLUMN,
            format!("column \"{name}\" of relation \"{table}\" does not exist"),
        )
    })
}

fn assign(call: &TriggerCall<'_>) {
    let options = Options::of(call);
    let (key_name, fp_name) = (
        given(&options.key, "key"),
        given(&options.fingerprint, "fingerprint"),
    );
    let (key, fp) = (column(call, &key_name), column(call, &fp_name));
    if fp.base_type() != pg_sys::INT8OID {
        let of = table::type_name(fp.storage.type_id);
        raise(
            ERRCODE_DATATYPE_MISMATCH,
            format!("column \"{fp_name}\" is of type {of}, not bigint"),
        );
    }
    let clusters = table::oid_of(&given(&options.clusters, "clusters"));
    let clusters_name = found(table::qualified_name(clusters), "table of clusters");
    let Some(fingerprint) = call.new_value(&fp) else {
        return;
    };
    let Some(value) = call.new_value(&key) else {
        raise(
            ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("column \"{key_name}\" contains null values"),
        );
    };
    if !call.new_row_is_live() {
        // A deferred trigger, or one that others come before: what is stored now fires for itself.
        return;
    }
    // From here to its commit no other transaction changes the clusters: each sees what the one before
    // it stored, whatever its isolation level.
    lock_until_commit(clusters, LOCK);
    let statement = Statement::new(
        call,
        table::quoted(&key_name),
        table::quoted(&fp_name),
        &key,
        options.radius(),
    );
    let run = |sql| {
        let parameters = [Some(value.datum()), Some(fingerprint.datum())];
        planned(sql, key.storage.type_id).first_row(&parameters, [], Sees::Latest)
    };
    // Most rows have none.
    if run(statement.any_near()).is_some() {
        run(statement.unite(&clusters_name));
    }
}

/// What is asked about a row, `$1` being its key and `$2` its fingerprint.
struct Statement {
    /// The key column, and the rows near the new one.
    key: String,
    near: String,
    /// Of the key's type: its equality, and its own collation, in which simhash_clusters compares keys,
    /// whatever the columns' are.
    equality: Equality,
    collate: String,
}

impl Statement {
    fn new(call: &TriggerCall<'_>, key: String, fp: String, column: &Column, radius: u32) -> Self {
        let of_type = KeyType::new(column.storage.type_id).unwrap_or_else(|| no_order(column));
        if !of_type.has_arrays() {
            let name = table::type_name(column.storage.type_id);
            raise(
                ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("{NAME} cannot look up keys of type {name}"),
            );
        }
        let equality = of_type.equality().unwrap_or_else(|| no_order(column));
        let collation = of_type.collation();
        let ours = found(table::function_schema(call.function_oid()), "schema");
        let rows = found(table::qualified_name(searched_table(call)), "table");
        let same = equality.clause(&key, "$1");
        Statement {
            // A domain over bigint is cast to it, so that no operator beside ours fits better.
            near: format!(
                "{rows} WHERE ({fp}::pg_catalog.int8 OPERATOR({ours}.<~>) $2) OPERATOR(pg_catalog.<=) {radius} \
                 AND NOT ({same})"
            ),
            key,
            equality,
            collate: collation.map_or(String::new(), |name| format!(" COLLATE {name}")),
        }
    }

    /// Is any row near?
    fn any_near(&self) -> String {
        format!("SELECT FROM {} LIMIT 1", self.near)
    }

    /// Puts the row, the rows near it and the clusters of them all into one cluster, named after its
    /// smallest key. Rows that are there already are not touched: whoever joins a large cluster must not
    /// lock and log all of it.
    fn unite(&self, clusters: &str) -> String {
        let Statement {
            key,
            near,
            equality,
            collate,
        } = self;
        let is_near = equality.among("key", "key", "FROM near");
        let of_theirs = format!("FROM {clusters} WHERE {is_near}");
        let is_old = equality.among("cluster_id", "cluster_id", &of_theirs);
        let has_smallest = equality.clause("old.cluster_id", "smallest.key");
        format!(
            "WITH near AS MATERIALIZED (
                SELECT {key}{collate} AS key FROM {near} UNION ALL SELECT $1{collate}
            ), old AS MATERIALIZED (
                SELECT key{collate} AS key, cluster_id{collate} AS cluster_id FROM {clusters} WHERE {is_old}
            ), smallest AS MATERIALIZED (
                (SELECT key FROM near ORDER BY key LIMIT 1) UNION ALL (SELECT key FROM old ORDER BY key LIMIT 1)
                ORDER BY key LIMIT 1
            ), apart AS MATERIALIZED (
                SELECT key FROM near EXCEPT SELECT key FROM old
                UNION ALL
                SELECT old.key FROM old CROSS JOIN smallest WHERE ({has_smallest}) IS NOT TRUE
            )
            INSERT INTO {clusters} AS c (key, cluster_id)
            SELECT apart.key, smallest.key FROM apart CROSS JOIN smallest
            ON CONFLICT (key) DO UPDATE SET cluster_id = excluded.cluster_id"
        )
    }
}

/// A name that was looked up, unless somebody dropped what it stands for in the meantime.
fn found(name: Option<String>, what: &str) -> String {
    name.unwrap_or_else(|| {
        raise(
            ERRCODE_UNDEFINED_TABLE,
            format!("the {what} of {NAME} does not exist"),
        )
    })
}

fn no_order(column: &Column) -> ! {
    let name = table::type_name(column.storage.type_id);
    raise(
        ERRCODE_UNDEFINED_FUNCTION,
        format!("could not identify a comparison function for type {name}"),
    )
}

/// The plan of a statement. Names are part of it, so that what is renamed gets another.
fn planned(sql: String, key_type: pg_sys::Oid) -> Rc<SavedQuery> {
    type Plans = HashMap<(String, u32), Rc<SavedQuery>>;
    thread_local! {
        static KNOWN: RefCell<Plans> = RefCell::new(HashMap::new());
    }
    let place = (sql, key_type.to_u32());
    if let Some(plan) = KNOWN.with_borrow(|known| known.get(&place).cloned()) {
        return plan;
    }
    let plan = Rc::new(SavedQuery::new(
        &place.0,
        &[key_type, pg_sys::INT8OID],
        true,
    ));
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= PLANS {
            known.clear();
        }
        known.insert(place, Rc::clone(&plan));
    });
    plan
}
