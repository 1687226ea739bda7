//! The check of candidate pairs that a call asks for by its arguments: a column of texts with the
//! least Jaccard similarity of a pair, or a function of the user's. simhash_pairs, simhash_clusters
//! and the radius report read it here. It is refused before the first row is read.

use super::decisions::EveryPair;
use super::judge::{FunctionJudge, JaccardJudge, Judge};
use super::paired_rows::Needed;
use crate::pairs::arguments::{in_range, required};
use crate::pairs::source::SourceTable;
use crate::row::same::{simhash_same, simhash_same_strict};
use pgrx::PgSqlErrorCode::{
    ERRCODE_INVALID_OBJECT_DEFINITION, ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_UNDEFINED_FUNCTION,
};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;
use simhash_fingerprint::same::Strictness;
use simhash_pg::catalog::{lookup, table};
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::pair_function::{FunctionDeclaration, PairFunction};
use simhash_trigger::arguments::DEFAULT_MIN_JACCARD;

/// The arguments of a call, for one relation or two.
pub struct CheckArguments<const N: usize> {
    /// Name of the function that is called.
    pub function: &'static str,
    /// pg_proc.oid of it: simhash_same is beside it.
    pub own: Oid,
    pub texts: [Option<String>; N],
    pub min_jaccard: Option<f64>,
    pub checked_by: Option<Oid>,
}

impl<const N: usize> CheckArguments<N> {
    /// Reads the arguments `text`, of two relations `text_a` and `text_b`, `min_jaccard` and `checked_by`.
    pub fn from_arguments(args: &Args, function: &'static str) -> Self {
        let text = |side: usize| match N {
            1 => "text",
            _ => ["text_a", "text_b"][side],
        };
        CheckArguments {
            function,
            own: args.function(),
            texts: std::array::from_fn(|side| args.name(args.at(text(side)))),
            min_jaccard: args.find("min_jaccard").and_then(|at| args.get::<f64>(at)),
            checked_by: args.get::<Oid>(args.at("checked_by")),
        }
    }
}

pub struct Check {
    /// What is judged of the rows of each relation, as SQL text.
    pub values: Vec<String>,
    /// The texts of the rows of each relation, as SQL text, if the call names columns of them.
    pub texts: Option<Vec<String>>,
    pub judge: AnyJudge,
}

pub enum AnyJudge {
    Every(EveryPair),
    Jaccard(JaccardJudge),
    Function(FunctionJudge),
}

/// What a user's function is called with.
enum Takes {
    Texts,
    Rows,
}

impl Check {
    /// Returns None where the call asks for no check.
    pub fn new<const N: usize>(
        arguments: CheckArguments<N>,
        sources: &[SourceTable; N],
    ) -> Option<Self> {
        let CheckArguments {
            function,
            own,
            texts,
            min_jaccard,
            checked_by,
        } = arguments;
        // Texts that are known are checked by simhash_same unless the call asks for another check.
        let made_of: Option<Vec<String>> = sources.iter().map(|one| one.made_of.clone()).collect();
        let is_named = texts.iter().any(Option::is_some);
        let unsaid = (is_named || made_of.is_some()) && min_jaccard.is_none();
        let checked_by = checked_by.or_else(|| unsaid.then(|| same_beside(own)).flatten());
        let made_of = made_of.filter(|_| !is_named).map(|texts| {
            let as_text = |text: &String| format!("{text}::pg_catalog.text");
            texts.iter().map(as_text).collect::<Vec<_>>()
        });
        let texts = is_named.then(|| {
            let text = |side: usize| {
                let name = required(texts[side].clone(), function, ["text_a", "text_b"][side]);
                format!("{}::pg_catalog.text", sources[side].text_column(&name))
            };
            (0..N).map(text).collect::<Vec<_>>()
        });
        let texts = texts.or(made_of);
        let Some(checked_by) = checked_by else {
            let least = in_range(
                "min_jaccard",
                min_jaccard.unwrap_or(DEFAULT_MIN_JACCARD),
                0.0..=1.0,
            );
            return texts.map(|texts| Check {
                values: texts.clone(),
                texts: Some(texts),
                judge: AnyJudge::Jaccard(JaccardJudge::new(least)),
            });
        };
        if min_jaccard.is_some() {
            let message = "arguments \"min_jaccard\" and \"checked_by\" exclude each other";
            Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message)
                .hint("Let the function call simhash_jaccard too.")
                .raise();
        }
        let row_types = [&sources[0], &sources[N - 1]].map(|source| source.table.rel().row_type());
        let takes = takes(checked_by, row_types, texts.is_some());
        let (values, types, of_texts) = match (takes, &texts) {
            (Takes::Texts, Some(texts)) => (texts.clone(), [pg_sys::TEXTOID; 2], true),
            _ => {
                let rows = sources.iter().map(|source| source.row.clone());
                (rows.collect(), row_types, false)
            }
        };
        let call = PairFunction::new(checked_by, types, MemoryContext::current());
        let own = strictness_of(checked_by).filter(|_| of_texts);
        Some(Check {
            values,
            texts,
            judge: AnyJudge::Function(FunctionJudge::new(call, of_texts, own)),
        })
    }

    /// Returns which pairs have to be judged.
    pub fn needed(&self, source: &SourceTable) -> Needed {
        let is_own = matches!(&self.judge, AnyJudge::Function(judge) if judge.own().is_some());
        let made_of = source.made_of.as_ref();
        match made_of.map(|text| format!("{text}::pg_catalog.text")) {
            Some(text) if is_own && self.values.iter().all(|value| *value == text) => {
                Needed::Undecided
            }
            _ => Needed::All,
        }
    }

    /// Returns the least Jaccard similarity of texts whose pairs pass; None where others decide.
    pub fn least_jaccard(&self) -> Option<f64> {
        match &self.judge {
            AnyJudge::Jaccard(judge) => judge.least_jaccard(),
            _ => None,
        }
    }
}

/// Returns how strictly one of the extension's functions over two texts judges.
fn strictness_of(function: Oid) -> Option<Strictness> {
    if lookup::is_symbol(function, simhash_same::symbol) {
        return Some(Strictness::Person);
    }
    lookup::is_symbol(function, simhash_same_strict::symbol).then_some(Strictness::Strict)
}

/// Returns simhash_same beside another function of the extension.
fn same_beside(sibling: Oid) -> Option<Oid> {
    let types = [pg_sys::TEXTOID, pg_sys::TEXTOID];
    lookup::function_beside(sibling, c"simhash_same", &types)
        .or_else(|| lookup::function_beside(sibling, c"same", &types))
        .filter(|&found| lookup::is_symbol(found, simhash_same::symbol))
}

/// Returns the check that every pair of rows passes.
pub fn no_check() -> Check {
    Check {
        values: vec!["true".to_owned()],
        texts: None,
        judge: AnyJudge::Every(EveryPair),
    }
}

/// Returns what the function takes; raises an ERROR when it cannot judge pairs.
fn takes(function: Oid, row_types: [Oid; 2], has_texts: bool) -> Takes {
    let Some(declared) = FunctionDeclaration::of(function) else {
        let message = format!("function with OID {} does not exist", function.to_u32());
        Error::new(ERRCODE_UNDEFINED_FUNCTION, message).raise();
    };
    let signature = &declared.signature;
    let [first, second] = row_types.map(table::type_name);
    let refuse = |why: String| -> ! {
        Error::new(
            ERRCODE_INVALID_OBJECT_DEFINITION,
            format!("function {signature} cannot check pairs"),
        )
        .detail(why)
        .hint(format!(
            "Name a function ({first}, {second}) or (text, text) that returns boolean."
        ))
        .raise()
    };
    if declared.kind != pg_sys::PROKIND_FUNCTION {
        refuse("It is not a plain function.".to_owned());
    }
    if declared.returns_set {
        refuse("It returns a set.".to_owned());
    }
    if declared.result != pg_sys::BOOLOID {
        refuse(format!("It returns {}.", table::type_name(declared.result)));
    }
    match &declared.arguments[..] {
        arguments if arguments == row_types => Takes::Rows,
        [pg_sys::TEXTOID, pg_sys::TEXTOID] if has_texts => Takes::Texts,
        [pg_sys::TEXTOID, pg_sys::TEXTOID] => Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("function {signature} compares texts, and no column of texts is named"),
        )
        .hint("Write text => 'column'; of two relations, text_a and text_b.")
        .raise(),
        _ => refuse("Its arguments are neither two rows nor two texts.".to_owned()),
    }
}
