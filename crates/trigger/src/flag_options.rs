//! Parses the arguments of `simhash_flag_duplicate()`. The trigger of `flag` parses them when it
//! first fires. Combinations that cannot work together are refused here, so that the trigger meets
//! none.

#![forbid(unsafe_code)]

use crate::Error;
use crate::arguments::{DEFAULT_MIN_JACCARD, OVERWRITTEN, Parsed, TriggerArguments};

const NAMES: &[&str] = &[
    "index",
    "fingerprint",
    "radius",
    "mode",
    "flag",
    "duplicate_of",
    "key",
    "among",
    "text",
    "min_jaccard",
    "checked_by",
    "within",
    "across",
    "weights",
    "preset",
    "lock",
];

/// What is done with a near-duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is stored, and marked.
    Flag,
    /// The statement fails.
    Reject,
    /// It is left out, silently.
    Skip,
    /// It gets the key of the stored row, so that the statement's ON CONFLICT decides.
    Conflict,
}

/// A check of a row that is near: it counts only if it passes.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// Whether a person would call the texts the same.
    Same,
    /// The least Jaccard similarity of the sets of character n-grams of the texts.
    Jaccard(f64),
    /// The name of a function of the two texts, or without a text of the two rows.
    Function(String),
}

/// How the trigger fills the fingerprint column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FingerprintOptions {
    /// JSON, as simhash64 takes it.
    pub weights: String,
    /// The name of a preset; None for the default.
    pub preset: Option<String>,
}

/// What the arguments of a trigger of simhash_flag_duplicate() ask for. Columns are by name.
#[derive(Clone, Debug, PartialEq)]
pub struct FlagOptions {
    /// The column of the fingerprints; without one an index says what is compared.
    pub fingerprint: Option<String>,
    /// The name of that index; None where the table has one alone.
    pub index: Option<String>,
    /// Bits; None where nothing is said.
    pub radius: Option<u32>,
    /// What happens to a duplicate.
    pub mode: Mode,
    /// A boolean column.
    pub flag: Option<String>,
    /// A column of the key's type.
    pub duplicate_of: Option<String>,
    /// The columns that name a row; none for the primary key.
    pub key: Vec<String>,
    /// Compare only with rows that are not marked as duplicates themselves.
    pub originals_only: bool,
    /// The columns of the text that is checked; none where the index says which.
    pub texts: Vec<String>,
    /// The check of near rows that the arguments ask for.
    pub check: Option<Check>,
    /// Compare only with rows that are equal in these columns; those of the index if none is named.
    pub within: Vec<String>,
    /// Compare only with rows that differ in one or more of these columns.
    pub across: Vec<String>,
    /// How the fingerprint is made; None where the row brings it.
    pub fingerprint_options: Option<FingerprintOptions>,
    /// Whether a row waits for near ones of other transactions.
    pub lock: bool,
}

impl FlagOptions {
    /// The condition that a row is not marked as a duplicate: a column that marks it, and a test as
    /// the server writes it.
    pub fn unmarked(&self) -> Option<(&str, &'static str)> {
        let by_key = self.duplicate_of.as_deref().map(|name| (name, "IS NULL"));
        let by_flag = self.flag.as_deref().map(|name| (name, "IS NOT TRUE"));
        by_key.or(by_flag)
    }

    /// The same with `among=originals`, where every search has this condition.
    pub fn original(&self) -> Option<(&str, &'static str)> {
        self.unmarked().filter(|_| self.originals_only)
    }
}

/// Parses the arguments of a trigger.
pub fn parse(arguments: &[String]) -> Parsed<FlagOptions> {
    let given = TriggerArguments::read(NAMES, arguments)?;
    given.needs("preset", "weights")?;
    given.needs("weights", "fingerprint")?;
    if given.get("index").is_some() && given.get("fingerprint").is_some() {
        return Err(Error::new(
            "trigger arguments \"index\" and \"fingerprint\" exclude each other",
        )
        .hint("The index says what is compared. Leave one of them out."));
    }
    let key = given.columns("key")?;
    check_overlap(&given, &key)?;
    let options = FlagOptions {
        fingerprint: given.text("fingerprint"),
        index: given.text("index"),
        radius: given.given_radius()?,
        mode: given.word(
            "mode",
            &[
                ("flag", Mode::Flag),
                ("reject", Mode::Reject),
                ("skip", Mode::Skip),
                ("conflict", Mode::Conflict),
            ],
        )?,
        flag: given.text("flag"),
        duplicate_of: given.text("duplicate_of"),
        key,
        originals_only: given.word("among", &[("all", false), ("originals", true)])?,
        texts: given.columns("text")?,
        check: check(&given)?,
        within: given.within(&["flag", "duplicate_of"])?,
        across: given.across(&["flag", "duplicate_of"])?,
        fingerprint_options: given.text("weights").map(|weights| FingerprintOptions {
            weights,
            preset: given.text("preset"),
        }),
        lock: given.word("lock", &[("on", true), ("off", false)])?,
    };
    check_marks(&options)?;
    Ok(options)
}

/// The check of `text=`, `min_jaccard=` and `checked_by=`.
fn check(given: &TriggerArguments) -> Parsed<Option<Check>> {
    if given.get("fingerprint").is_some() {
        given.needs("min_jaccard", "text")?;
    }
    if let Some(function) = given.text("checked_by") {
        return match given.get("min_jaccard") {
            Some(_) => Err(Error::new(
                "trigger arguments \"min_jaccard\" and \"checked_by\" exclude each other",
            )
            .hint("Call simhash_jaccard in the function.")),
            None => Ok(Some(Check::Function(function))),
        };
    }
    let least = given.number("min_jaccard", "a number", DEFAULT_MIN_JACCARD, [0.0, 1.0])?;
    Ok(match given.get("min_jaccard") {
        Some(_) => Some(Check::Jaccard(least)),
        None => given.get("text").map(|_| Check::Same),
    })
}

/// A column that the trigger fills must be neither one that it reads nor one that it fills with
/// another value.
fn check_overlap(given: &TriggerArguments, key: &[String]) -> Parsed<()> {
    let texts = given.columns("text")?;
    for read in ["fingerprint", "duplicate_of"] {
        given.differ("flag", read, OVERWRITTEN)?;
    }
    given.differ("duplicate_of", "fingerprint", OVERWRITTEN)?;
    for filled in ["flag", "duplicate_of"] {
        given.apart("text", &texts, filled, OVERWRITTEN)?;
    }
    for filled in ["flag", "duplicate_of"] {
        given.apart("key", key, filled, OVERWRITTEN)?;
    }
    given.apart(
        "key",
        key,
        "fingerprint",
        "Rows with the same key are not compared: equal fingerprints would go unnoticed.",
    )?;
    given.apart(
        "text",
        &texts,
        "fingerprint",
        "The fingerprint is a number, not a text.",
    )
}

/// The columns that mark duplicates belong to mode `flag`, which needs one.
fn check_marks(options: &FlagOptions) -> Parsed<()> {
    let marks = options.flag.is_some() || options.duplicate_of.is_some();
    match options.mode {
        Mode::Flag if marks => Ok(()),
        Mode::Flag => Err(
            Error::new("no column is named that marks a duplicate").hint(
                "Add 'flag=...' (boolean), 'duplicate_of=...' (of the key's type) or both, \
             or 'mode=reject', 'mode=skip' or 'mode=conflict'.",
            ),
        ),
        _ if marks => Err(Error::new(
            "columns that mark a duplicate are of no use when duplicates are not stored",
        )
        .hint("Leave 'flag=...' and 'duplicate_of=...' out, or 'mode=...'.")),
        _ if options.originals_only => Err(Error::new(
            "\"among=originals\" is of no use when duplicates are not stored",
        )
        .hint("Leave it out: every stored row is an original then.")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Parsed<FlagOptions> {
        let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        parse(&owned)
    }

    fn message(arguments: &[&str]) -> String {
        parsed(arguments).map_or_else(|r| r.message, |o| format!("accepted: {o:?}"))
    }

    #[test]
    fn everything_has_a_default_but_a_mark() {
        let options = parsed(&["fingerprint=fp", "flag=dup"]).unwrap();
        assert_eq!(options.fingerprint.as_deref(), Some("fp"));
        assert_eq!((options.index, options.radius), (None, None));
        assert_eq!(options.mode, Mode::Flag);
        assert!(options.lock && !options.originals_only);
        assert_eq!((options.check, options.fingerprint_options), (None, None));
        assert!(options.texts.is_empty());
        assert!(options.key.is_empty() && options.within.is_empty());
        assert_eq!(parsed(&["flag=dup"]).unwrap().fingerprint, None);
        assert_eq!(
            message(&["index=i", "fingerprint=fp", "flag=dup"]),
            "trigger arguments \"index\" and \"fingerprint\" exclude each other"
        );
        assert_eq!(
            message(&["fingerprint=fp"]),
            "no column is named that marks a duplicate"
        );
        assert!(parsed(&["fingerprint=fp", "mode=skip"]).is_ok());
    }

    #[test]
    fn an_original_has_no_mark_in_the_column_of_the_key_if_there_is_one() {
        let arguments = [
            "fingerprint=fp",
            "among=originals",
            "flag=f",
            "duplicate_of=d",
        ];
        assert_eq!(
            parsed(&arguments).unwrap().original(),
            Some(("d", "IS NULL"))
        );
        let by_flag = parsed(&arguments[..3]).unwrap();
        assert_eq!(by_flag.original(), Some(("f", "IS NOT TRUE")));
        assert_eq!(
            parsed(&["fingerprint=fp", "flag=f"]).unwrap().original(),
            None
        );
    }

    #[test]
    fn values_may_hold_equals_signs_and_spaces() {
        let options = parsed(&[
            "fingerprint = my fp",
            "flag=a=b",
            r#"weights={"x = y": 1}"#,
            "preset=plain",
        ])
        .unwrap();
        assert_eq!(options.fingerprint.as_deref(), Some("my fp"));
        assert_eq!(options.flag.as_deref(), Some("a=b"));
        let fingerprint_options = options.fingerprint_options.unwrap();
        assert_eq!(fingerprint_options.weights, r#"{"x = y": 1}"#);
        assert_eq!(fingerprint_options.preset.as_deref(), Some("plain"));
    }

    #[test]
    fn a_scope_is_columns_that_have_no_other_role_but_the_text() {
        let with = |within: &str| {
            parsed(&[
                "fingerprint=fp",
                "flag=dup",
                "duplicate_of=of",
                "key=id",
                "text=body",
                within,
            ])
        };
        let options = with(r#"within=tenant_id, "a,b", body"#).unwrap();
        assert_eq!(options.within, ["tenant_id", "a,b", "body"]);
        for (name, column) in [
            ("fingerprint", "fp"),
            ("flag", "dup"),
            ("duplicate_of", "of"),
            ("key", "id"),
        ] {
            let message = with(&format!("within=tenant_id,{column}")).unwrap_err();
            assert_eq!(
                message.message,
                format!(
                    "trigger arguments \"within\" and \"{name}\" both name column \"{column}\""
                )
            );
        }
    }

    #[test]
    fn rows_differ_across_columns_that_have_no_other_role() {
        let with = |across: &str| {
            parsed(&[
                "flag=dup",
                "duplicate_of=of",
                "key=id",
                "within=shop",
                across,
            ])
        };
        let options = with("across=seller, shop_id").unwrap();
        assert_eq!(options.across, ["seller", "shop_id"]);
        for (name, column) in [
            ("flag", "dup"),
            ("duplicate_of", "of"),
            ("key", "id"),
            ("within", "shop"),
        ] {
            let message = with(&format!("across=seller,{column}")).unwrap_err();
            assert_eq!(
                message.message,
                format!(
                    "trigger arguments \"across\" and \"{name}\" both name column \"{column}\""
                )
            );
        }
    }

    #[test]
    fn what_is_unknown_repeated_or_out_of_range_is_refused() {
        let with = |extra: &str| message(&["fingerprint=fp", "flag=dup", extra]);
        assert_eq!(with("radios=3"), "unknown trigger argument \"radios\"");
        assert_eq!(with("flag=x"), "trigger argument \"flag\" is given twice");
        assert_eq!(
            with("radius=4097"),
            "trigger argument \"radius\" must be a whole number from 0 to 4096, not \"4097\""
        );
        assert!(parsed(&["fingerprint=fp", "flag=dup", "radius=4096"]).is_ok());
        assert_eq!(
            with("mode=refuse"),
            "trigger argument \"mode\" must be one of flag, reject, skip, conflict, not \"refuse\""
        );
        assert_eq!(
            with("min_jaccard=0.5"),
            "trigger argument \"min_jaccard\" needs \"text\""
        );
        assert_eq!(
            with("preset=plain"),
            "trigger argument \"preset\" needs \"weights\""
        );
        assert_eq!(
            message(&["fingerprint=fp", "flag=dup", "text=body", "min_jaccard=NaN"]),
            "trigger argument \"min_jaccard\" must be a number from 0 to 1, not \"NaN\""
        );
        assert_eq!(
            with("mode=skip"),
            "columns that mark a duplicate are of no use when duplicates are not stored"
        );
    }

    #[test]
    fn a_check_is_a_similarity_or_a_function() {
        let check = |extra: &[&str]| {
            let given = [&["fingerprint=fp", "mode=reject"], extra].concat();
            parsed(&given).map(|options| options.check)
        };
        assert_eq!(check(&[]), Ok(None));
        assert_eq!(check(&["text=title, body"]), Ok(Some(Check::Same)));
        let jaccard = check(&["text=body", "min_jaccard=0.5"]);
        assert_eq!(jaccard, Ok(Some(Check::Jaccard(0.5))));
        let function = Check::Function("public.agree".to_owned());
        assert_eq!(
            check(&["checked_by=public.agree"]),
            Ok(Some(function.clone()))
        );
        assert_eq!(
            check(&["text=body", "checked_by=public.agree"]),
            Ok(Some(function))
        );
        let both = ["text=body", "min_jaccard=0.5", "checked_by=agree"];
        assert_eq!(
            check(&both).unwrap_err().message,
            "trigger arguments \"min_jaccard\" and \"checked_by\" exclude each other"
        );
    }

    #[test]
    fn no_two_arguments_name_one_column() {
        let columns = ["fingerprint", "flag", "duplicate_of", "key", "text"];
        for (i, one) in columns.iter().enumerate() {
            for other in &columns[..i] {
                let argument = |name: &&str| match name == one || name == other {
                    true => format!("{name}=same"),
                    false => format!("{name}={name}"),
                };
                let arguments: Vec<String> = columns.iter().map(argument).collect();
                let with_both = parse(&arguments);
                if (*one, *other) == ("text", "key") {
                    assert!(with_both.is_ok(), "both are only read");
                    continue;
                }
                let message = with_both.unwrap_err().message;
                assert!(message.ends_with("both name column \"same\""), "{message}");
                assert!(message.contains(&format!("\"{one}\"")), "{message}");
                assert!(message.contains(&format!("\"{other}\"")), "{message}");
            }
        }
    }
}
