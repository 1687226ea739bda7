//! The arguments of the triggers of a kept table.

#![forbid(unsafe_code)]

use crate::arguments::{Parsed, TriggerArguments};

const NAMES: &[&str] = &[
    "clusters",
    "notes",
    "key",
    "fingerprint",
    "radius",
    "within",
    "text",
    "min_jaccard",
];
const EXAMPLE: &str = "simhash_note_clusters('clusters=public.petition_cluster', \
                       'notes=public.petition_cluster_note', 'key=id', 'fingerprint=fp')";
/// The least similarity without `min_jaccard=`.
const MIN_JACCARD: f64 = 0.8;

#[derive(Clone, Debug, PartialEq)]
pub struct KeptOptions {
    /// The table of clusters, as SQL writes its name.
    pub clusters: String,
    /// The table of notes; None where clusters are kept at once.
    pub notes: Option<String>,
    pub key: String,
    pub fingerprint: String,
    /// Bits.
    pub radius: u32,
    /// Clusters are of rows that are equal in these columns.
    pub within: Vec<String>,
    /// The column of the texts that are compared, and how similar they must be.
    pub text: Option<String>,
    pub min_jaccard: f64,
}

/// Parses the arguments of a trigger that notes changes, or that keeps clusters at once.
pub fn parse(arguments: &[String]) -> Parsed<KeptOptions> {
    let given = TriggerArguments::read(NAMES, arguments)?;
    given.needs("min_jaccard", "text")?;
    Ok(KeptOptions {
        clusters: given.required("clusters", EXAMPLE)?,
        notes: given.text("notes"),
        key: given.required("key", EXAMPLE)?,
        fingerprint: given.required("fingerprint", EXAMPLE)?,
        radius: given.radius()?,
        within: given.within(&[])?,
        text: given.text("text"),
        min_jaccard: given.number("min_jaccard", "a number", MIN_JACCARD, [0.0, 1.0])?,
    })
}

/// The same of a trigger that notes changes, with the name of its table of notes.
pub fn parse_noting(arguments: &[String]) -> Parsed<(KeptOptions, String)> {
    let options = parse(arguments)?;
    let notes = TriggerArguments::read(NAMES, arguments)?.required("notes", EXAMPLE)?;
    Ok((options, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [&str; 4] = ["clusters=c", "notes=n", "key=id", "fingerprint=fp"];

    fn owned(arguments: &[&str]) -> Vec<String> {
        arguments.iter().map(|a| (*a).to_owned()).collect()
    }

    #[test]
    fn defaults_are_those_of_the_functions() {
        let (options, notes) = parse_noting(&owned(&GOOD)).unwrap();
        assert_eq!((options.radius, options.min_jaccard), (3, 0.8));
        assert_eq!((notes.as_str(), options.text), ("n", None));
        assert!(options.within.is_empty());
    }

    #[test]
    fn what_is_missing_is_named() {
        for missing in 0..GOOD.len() {
            let mut rest = GOOD.to_vec();
            let (name, _) = rest.remove(missing).split_once('=').unwrap();
            let refusal = parse_noting(&owned(&rest)).unwrap_err();
            assert_eq!(
                refusal.message,
                format!("trigger argument \"{name}\" is missing")
            );
        }
    }

    #[test]
    fn a_similarity_is_between_0_and_1() {
        let with = |least: &str| {
            let argument = format!("min_jaccard={least}");
            let mut arguments = GOOD.to_vec();
            arguments.extend(["text=body", &argument]);
            parse(&owned(&arguments)).map(|options| options.min_jaccard)
        };
        assert_eq!(with("0.5"), Ok(0.5));
        for wrong in ["1.1", "-0.1", "NaN", "much"] {
            assert_eq!(
                with(wrong).unwrap_err().message,
                format!(
                    "trigger argument \"min_jaccard\" must be a number from 0 to 1, not \"{wrong}\""
                )
            );
        }
    }
}
