//! What an index has, in the queries of triggers: `simhash_catalog.index_fingerprint(index, column, ...)`
//! becomes the index's own expression, and `index_predicate` its predicate. So the queries name neither the
//! functions in them nor their schemas, and the planner finds the index. The planner calls the support
//! functions. A call that cannot be replaced is an error when it runs.

use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT;

use crate::index::fingerprint_function;
use simhash_pg::catalog::fingerprint_index::FingerprintIndex;
use simhash_pg::planner::hooks::{SimplifyRequest, SupportRequest, no_answer, request};
use simhash_pg::planner::nodes::NodeRef;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::pg_function;

/// Chooses the expression or the predicate of an index.
type Part = for<'p> fn(&FingerprintIndex<'p>) -> Option<NodeRef<'p>>;

pg_function! {
    /// `simhash_catalog.index_fingerprint_support(internal)`
    fn simhash_index_fingerprint_support, pg_finfo_simhash_index_fingerprint_support(args) {
        match request(args) {
            SupportRequest::Simplify(request) => answer(request, fingerprint),
            _ => no_answer(),
        }
    }
}

pg_function! {
    /// `simhash_catalog.index_predicate_support(internal)`
    fn simhash_index_predicate_support, pg_finfo_simhash_index_predicate_support(args) {
        match request(args) {
            SupportRequest::Simplify(request) => answer(request, predicate),
            _ => no_answer(),
        }
    }
}

pg_function! {
    /// `simhash_catalog.index_fingerprint(index oid, VARIADIC "any") -> bigint` and `index_predicate`,
    /// where the planner has not replaced the call
    fn simhash_index_term, pg_finfo_simhash_index_term(args) {
        let _ = args;
        Error::new(
            ERRCODE_UNDEFINED_OBJECT,
            "the index does not exist, or the arguments are not the columns that it reads",
        )
        .raise()
    }
}

fn fingerprint<'p>(index: &FingerprintIndex<'p>) -> Option<NodeRef<'p>> {
    Some(index.expression())
}

fn predicate<'p>(index: &FingerprintIndex<'p>) -> Option<NodeRef<'p>> {
    index.predicate()
}

fn answer(request: SimplifyRequest<'_>, part: Part) -> pgrx::pg_sys::Datum {
    let answer = term(&request, part);
    answer.map_or_else(no_answer, |term| request.answer(term))
}

/// Returns the part of the index that the first argument names, for the table whose columns the others
/// are. They have to be all that it reads: the user may read those, and perhaps no other.
fn term<'p>(request: &SimplifyRequest<'p>, part: Part) -> Option<NodeRef<'p>> {
    let mut args = request.args().iter();
    let index = args.next()?.as_oid()?;
    let columns: Vec<NodeRef<'p>> = args.map(NodeRef::strip_relabel).collect();
    let (relid, _) = columns.first()?.as_column()?;
    let read = FingerprintIndex::read(index, "simhash", fingerprint_function)?;
    let given = columns.iter().filter_map(|column| column.as_column());
    let given: Vec<i16> = given
        .filter(|(own, _)| *own == relid)
        .map(|(_, number)| number)
        .collect();
    request.in_terms_of(part(&read)?, relid, read.table, &given)
}
