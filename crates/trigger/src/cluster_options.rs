//! The arguments of `simhash_maintain_clusters()`.

#![forbid(unsafe_code)]

use crate::arguments::{Parsed, TriggerArguments};

const NAMES: &[&str] = &["clusters", "key", "fingerprint", "radius", "within"];
const EXAMPLE: &str = "simhash_maintain_clusters('clusters=public.petition_cluster', 'key=id', \
                       'fingerprint=fp', 'radius=3')";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaintainOptions {
    /// The table of clusters, as SQL writes its name.
    pub clusters: String,
    pub key: String,
    pub fingerprint: String,
    /// Bits.
    pub radius: u32,
    /// Clusters are of rows that are equal in these columns.
    pub within: Vec<String>,
}

/// Parses the arguments of a trigger.
pub fn parse(arguments: &[String]) -> Parsed<MaintainOptions> {
    let given = TriggerArguments::read(NAMES, arguments)?;
    let options = MaintainOptions {
        clusters: given.required("clusters", EXAMPLE)?,
        key: given.required("key", EXAMPLE)?,
        fingerprint: given.required("fingerprint", EXAMPLE)?,
        radius: given.radius()?,
        within: given.within(&[])?,
    };
    given.differ(
        "fingerprint",
        "key",
        "Rows with equal fingerprints would count as one row. Name a column that tells rows apart.",
    )?;
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [&str; 3] = ["clusters=c", "key=id", "fingerprint=fp"];

    fn parsed(arguments: &[&str]) -> Parsed<MaintainOptions> {
        let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        parse(&owned)
    }

    #[test]
    fn only_the_radius_has_a_default() {
        let options = parsed(&GOOD).unwrap();
        assert_eq!((options.clusters.as_str(), options.radius), ("c", 3));
        assert_eq!(
            (options.key.as_str(), options.fingerprint.as_str()),
            ("id", "fp")
        );
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
        let with = |within: &str| parsed(&[GOOD[0], GOOD[1], GOOD[2], within]);
        assert!(parsed(&GOOD).unwrap().within.is_empty());
        assert_eq!(with("within=a,b").unwrap().within, ["a", "b"]);
        for (column, name) in [("id", "key"), ("fp", "fingerprint")] {
            assert_eq!(
                with(&format!("within=a,{column}")).unwrap_err().message,
                format!(
                    "trigger arguments \"within\" and \"{name}\" both name column \"{column}\""
                )
            );
        }
    }

    #[test]
    fn the_example_is_accepted() {
        let call = EXAMPLE.split_once('(').unwrap().1.trim_end_matches(')');
        let arguments: Vec<&str> = call.split(", ").map(|a| a.trim_matches('\'')).collect();
        assert!(parsed(&arguments).is_ok(), "{arguments:?}");
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
}
