//! The arguments of `simhash_catalog.maintain_clusters()`, which are all that is stored about a kept table.

#![forbid(unsafe_code)]

use crate::Error;
use crate::arguments::{DEFAULT_MIN_JACCARD, Parsed, TriggerArguments};

const NAMES: &[&str] = &[
    "clusters",
    "table",
    "notes",
    "key",
    "fingerprint",
    "radius",
    "within",
    "across",
    "text",
    "min_jaccard",
    "checked_by",
    "decisions",
    "log",
];
const EXAMPLE: &str = "simhash_catalog.maintain_clusters('clusters=public.petition_cluster', 'key=id', \
                       'fingerprint=fp', 'radius=3')";

/// What the arguments of a trigger of simhash_catalog.maintain_clusters() ask for. Columns are by name.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptOptions {
    /// The table of clusters, as SQL writes its name.
    pub clusters: String,
    /// The table whose rows are clustered. It counts where the trigger is one of the table of decisions;
    /// elsewhere it shows whether another table has taken the name.
    pub table: Option<String>,
    /// The table of notes; None where clusters are kept at once.
    pub notes: Option<String>,
    /// The column of the keys.
    pub key: String,
    /// The column of the fingerprints.
    pub fingerprint: String,
    /// Bits.
    pub radius: u32,
    /// Clusters are of rows that are equal in these columns.
    pub within: Vec<String>,
    /// Rows count as near if they differ in one or more of these columns.
    pub across: Vec<String>,
    /// The column of the texts that are compared.
    pub text: Option<String>,
    /// How similar the texts must be; None where a function decides.
    pub min_jaccard: Option<f64>,
    /// The function that judges candidates, as SQL writes its name.
    pub checked_by: Option<String>,
    /// The table of what a person has decided about pairs.
    pub decisions: Option<String>,
    /// The table of what has become of clusters.
    pub log: Option<String>,
}

impl KeptOptions {
    /// Returns whether rows of near fingerprints may be apart, or others together.
    pub fn is_checked(&self) -> bool {
        self.text.is_some() || self.checked_by.is_some() || self.decisions.is_some()
    }
}

/// Parses the arguments of a trigger.
pub fn parse(arguments: &[String]) -> Parsed<KeptOptions> {
    let given = TriggerArguments::read(NAMES, arguments)?;
    given.needs("min_jaccard", "text")?;
    given.differ(
        "fingerprint",
        "key",
        "Rows with equal fingerprints would count as one row. Name a column that tells rows apart.",
    )?;
    let checked_by = given.text("checked_by");
    let least = given.number("min_jaccard", "a number", DEFAULT_MIN_JACCARD, [0.0, 1.0])?;
    if checked_by.is_some() && given.get("min_jaccard").is_some() {
        let message = "trigger arguments \"min_jaccard\" and \"checked_by\" exclude each other";
        return Err(Error::new(message).hint("Call simhash_jaccard in the function."));
    }
    let text = given.text("text");
    Ok(KeptOptions {
        clusters: given.required("clusters", EXAMPLE)?,
        table: given.text("table"),
        notes: given.text("notes"),
        key: given.required("key", EXAMPLE)?,
        fingerprint: given.required("fingerprint", EXAMPLE)?,
        radius: given.radius()?,
        within: given.within(&[])?,
        across: given.across(&[])?,
        min_jaccard: (text.is_some() && checked_by.is_none()).then_some(least),
        text,
        checked_by,
        decisions: given.text("decisions"),
        log: given.text("log"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [&str; 3] = ["clusters=c", "key=id", "fingerprint=fp"];

    fn parsed(arguments: &[&str]) -> Parsed<KeptOptions> {
        let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        parse(&owned)
    }

    fn with(more: &[&str]) -> Parsed<KeptOptions> {
        parsed(&[&GOOD, more].concat())
    }

    fn refusal(more: &[&str]) -> String {
        with(more).unwrap_err().message
    }

    #[test]
    fn defaults_are_those_of_the_functions() {
        let options = parsed(&GOOD).unwrap();
        assert_eq!((options.clusters.as_str(), options.radius), ("c", 3));
        assert_eq!(
            (options.key.as_str(), options.fingerprint.as_str()),
            ("id", "fp")
        );
        assert!(options.within.is_empty() && !options.is_checked());
        assert_eq!(options.min_jaccard, None);
        assert_eq!(with(&["text=body"]).unwrap().min_jaccard, Some(0.8));
    }

    #[test]
    fn what_is_missing_is_named() {
        for missing in 0..GOOD.len() {
            let mut rest = GOOD.to_vec();
            let (name, _) = rest.remove(missing).split_once('=').unwrap();
            let refusal = parsed(&rest).unwrap_err();
            assert_eq!(
                refusal.message,
                format!("trigger argument \"{name}\" is missing")
            );
            assert!(refusal.hint.unwrap().contains(EXAMPLE));
        }
    }

    #[test]
    fn a_scope_is_neither_key_nor_fingerprint() {
        assert_eq!(with(&["within=a,b"]).unwrap().within, ["a", "b"]);
        for (column, name) in [("id", "key"), ("fp", "fingerprint")] {
            assert_eq!(
                refusal(&[&format!("within=a,{column}")]),
                format!(
                    "trigger arguments \"within\" and \"{name}\" both name column \"{column}\""
                )
            );
        }
    }

    #[test]
    fn the_fingerprint_is_no_key() {
        assert_eq!(
            parsed(&["clusters=c", "key=fp", "fingerprint=fp"])
                .unwrap_err()
                .message,
            "trigger arguments \"fingerprint\" and \"key\" both name column \"fp\""
        );
    }

    #[test]
    fn the_example_is_accepted() {
        let call = EXAMPLE.split_once('(').unwrap().1.trim_end_matches(')');
        let arguments: Vec<&str> = call.split(", ").map(|a| a.trim_matches('\'')).collect();
        assert!(parsed(&arguments).is_ok(), "{arguments:?}");
    }

    #[test]
    fn a_similarity_is_between_0_and_1_and_no_function_stands_beside_it() {
        let least = |least: &str| with(&["text=body", &format!("min_jaccard={least}")]);
        assert_eq!(least("0.5").unwrap().min_jaccard, Some(0.5));
        for wrong in ["1.1", "-0.1", "NaN", "much"] {
            assert_eq!(
                least(wrong).unwrap_err().message,
                format!(
                    "trigger argument \"min_jaccard\" must be a number from 0 to 1, not \"{wrong}\""
                )
            );
        }
        let function = with(&["text=body", "checked_by=agree"]).unwrap();
        assert_eq!((function.min_jaccard, function.is_checked()), (None, true));
        assert_eq!(
            refusal(&["text=body", "min_jaccard=0.5", "checked_by=agree"]),
            "trigger arguments \"min_jaccard\" and \"checked_by\" exclude each other"
        );
    }
}
