//! The operators of texts, `a <~> b` and `a ~= b`, in terms of fingerprints, which an index serves. The
//! planner calls the support functions while it simplifies a query; [`super::rewrite`] calls
//! [`as_fingerprints`] for a text that was not known then. Each text keeps its own collation, as where a
//! query says `simhash64(text)`.

use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::Oid;

use super::estimate::{Clause, of_pairs, of_rows};
use super::indexes::Targets;
use super::support::{Call, simhash_hamming_support, simplified};
use super::support::{distance_operator_of, within_beside};
use crate::row::fingerprint_functions::simhash_text64;
use crate::row::same::simhash_same;
use simhash_hamming::ball::NEAR_TEXTS;
use simhash_pg::catalog::lookup;
use simhash_pg::nodes::{NodeList, NodeRef, Planner};
use simhash_pg::sql::fmgr::{Args, pg_function};

pg_function!(simhash_text_distance_support);
/// `simhash_catalog.text_distance_support(internal)`: `a <~> b` becomes
/// `simhash64(a) <~> simhash64(b)`.
fn simhash_text_distance_support(args: &Args) -> Datum {
    simplified(args, distance)
}

pg_function!(simhash_near_duplicate_support);
/// `simhash_catalog.near_duplicate_support(internal)`: `a ~= b` becomes that the fingerprints are
/// near, and `simhash_same`. The address of this function is also how the operator is recognised.
fn simhash_near_duplicate_support(args: &Args) -> Datum {
    simplified(args, near)
}

pg_function!(simhash_near_duplicate_sel);
/// `simhash_catalog.near_duplicate_sel`: restriction estimator of `~= (text, text)`.
fn simhash_near_duplicate_sel(args: &Args) -> Datum {
    of_rows(args, fingerprints)
}

pg_function!(simhash_near_duplicate_joinsel);
/// `simhash_catalog.near_duplicate_joinsel`: join estimator of `~= (text, text)`.
fn simhash_near_duplicate_joinsel(args: &Args) -> Datum {
    of_pairs(args, fingerprints)
}

fn distance<'p>(call: &Call<'p>) -> Option<NodeRef<'p>> {
    let planner = call.planner;
    let [a, b] = call.args.as_array()?;
    let types = [pg_sys::INT8OID, pg_sys::INT8OID];
    let hamming = lookup::function_beside(call.function, c"hamming", &types)
        .filter(|&found| lookup::has_support_function(found, simhash_hamming_support::symbol))?;
    let operator = distance_operator_of(lookup::support_function(hamming)?)?;
    let maker = Maker::beside(call.function)?;
    let (a, b) = (maker.fingerprint(planner, a), maker.fingerprint(planner, b));
    Some(planner.operator(operator, pg_sys::INT4OID, a, b))
}

fn near<'p>(call: &Call<'p>) -> Option<NodeRef<'p>> {
    let texts = call.args.as_array().filter(may_be_twice)?;
    Maker::beside(call.function)?.near(call.planner, texts)
}

/// A text that is a subquery or volatile must not be computed twice.
fn may_be_twice(texts: &[NodeRef; 2]) -> bool {
    let is_once = |text: &NodeRef| text.is_volatile() || text.contains_subplan();
    !texts.iter().any(is_once)
}

/// Returns the same for a condition of a query, if one of its texts has an index, and the other is
/// fixed while the rows are read. The planner has made a parameter of a subquery by then.
pub fn as_fingerprints<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    clause: NodeRef<'p>,
) -> Option<NodeRef<'p>> {
    let (function, texts) = clause.as_call_of(pg_sys::BOOLOID)?;
    if !lookup::has_support_function(function, simhash_near_duplicate_support::symbol)
        || !may_be_twice(&texts)
    {
        return None;
    }
    let maker = Maker::beside(function)?;
    let serves = |text: NodeRef<'p>, other: NodeRef<'p>| {
        targets.is_fixed(planner, other) && targets.find(maker.fingerprint(planner, text)).is_some()
    };
    let [a, b] = texts;
    if !serves(a, b) && !serves(b, a) {
        return None;
    }
    maker.near(planner, texts)
}

/// Reads the operands of `a ~= b`. Of texts that are not looked at here the planner asks how many rows it
/// keeps.
fn fingerprints<'p>(planner: Planner<'p>, operator: Oid, args: NodeList<'p>) -> Option<Clause<'p>> {
    let [a, b] = args.as_array()?;
    let maker = Maker::beside(lookup::operator_function(operator))?;
    let fingerprints = [maker.fingerprint(planner, a), maker.fingerprint(planner, b)];
    Some(Clause::near_texts(planner, fingerprints))
}

/// The functions of the extension that make and compare fingerprints of texts.
struct Maker {
    make: Oid,
}

impl Maker {
    /// Those beside another function of the extension.
    fn beside(sibling: Oid) -> Option<Self> {
        let types = [pg_sys::TEXTOID, pg_sys::JSONBOID, pg_sys::TEXTOID];
        let make = lookup::function_beside(sibling, c"simhash64", &types)
            .filter(|&found| lookup::is_symbol(found, simhash_text64::symbol))?;
        Some(Self { make })
    }

    fn fingerprint<'p>(&self, planner: Planner<'p>, text: NodeRef<'p>) -> NodeRef<'p> {
        planner.simplified_call(self.make, pg_sys::INT8OID, text)
    }

    fn near<'p>(&self, planner: Planner<'p>, texts: [NodeRef<'p>; 2]) -> Option<NodeRef<'p>> {
        let types = [pg_sys::TEXTOID, pg_sys::TEXTOID];
        let same = lookup::function_beside(self.make, c"simhash_same", &types)
            .filter(|&found| lookup::is_symbol(found, simhash_same::symbol))?;
        let within = within_beside(self.make)?;
        let [a, b] = texts.map(|text| self.fingerprint(planner, text));
        let radius = planner.int4(NEAR_TEXTS);
        Some(planner.and(&[
            planner.simplify(planner.call(within, pg_sys::BOOLOID, &[a, b, radius])),
            planner.simplify(planner.call(same, pg_sys::BOOLOID, &texts)),
        ]))
    }
}
