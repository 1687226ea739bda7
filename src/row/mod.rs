//! From a row of any type to columns of canonical text, and the SQL functions that fingerprint it.
//!
//! What lives here: [`canonical`] (values of every type as text that no setting and no catalog
//! change alters), [`arguments`] (the JSON and preset arguments, parsed once per call site),
//! [`record`] and [`text`] (the two inputs), [`lexemes`] (tsvectors), [`fingerprint_functions`]
//! (what SQL sees), [`jaccard`] (a check of candidates), [`passages`] (parts of texts), [`diff`] (words in which texts differ), [`same`]
//! (whether they are one text for a person), [`near_duplicate`] (the operators of texts), [`explain`] (columns that make rows differ),
//! [`methods`] (the schema of that name). What decides a bit of a
//! fingerprint is in `simhash_fingerprint`.

mod arguments;
mod canonical;
mod diff;
mod explain;
pub mod fingerprint_functions;
pub mod jaccard;
mod lexemes;
mod methods;
mod near_duplicate;
mod passages;
mod record;
pub mod same;
pub mod text;

pub use canonical::is_string_type;

/// Loads dictionary and lists when the library is loaded by the postmaster, whose children then
/// share them; otherwise their first use loads them.
pub fn init() {
    if simhash_pg::process::backend::is_preloading() {
        simhash_fingerprint::warm();
    }
}
