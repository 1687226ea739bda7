//! Reads the arguments of the trigger functions: strings `name=value`, as CREATE TRIGGER has them.
//! `flag_options` and `kept_options` parse theirs with it. An unknown argument,
//! a repeated one and one out of range are errors; none is ignored.

use simhash_fingerprint::hashes::read::MOST_BITS;
use std::fmt;
use std::fmt::Display;
use std::str::FromStr;

/// Bits of the longest hash: the largest radius. A column of fingerprints has 64, which the triggers
/// check.
const MAX_RADIUS: u32 = MOST_BITS as u32;
/// The radius without `radius=`, of hashes of which no text is known.
pub const DEFAULT_RADIUS: u32 = 3;
/// The least similarity of texts without `min_jaccard=`, in functions too.
pub const DEFAULT_MIN_JACCARD: f64 = 0.8;

/// The hint where a trigger fills a column that has another role too.
pub const OVERWRITTEN: &str =
    "The trigger would overwrite it. Name a column that is there for nothing else.";
/// The hint where `within=` names the key.
pub const WITHIN_KEY: &str =
    "Rows with the same key are not compared, so none would be: name the columns of the scope.";
/// The hint where `across=` names the key.
pub const ACROSS_KEY: &str = "All other rows differ there: leave it out.";
/// The hint where one column is of `within=` and of `across=`.
pub const EQUAL_THERE: &str = "Rows that are equal there do not differ there.";

/// What a function that reads arguments returns.
pub type Parsed<T> = Result<T, Error>;

/// The values by name, each given at most once.
#[derive(Debug)]
pub struct TriggerArguments<'a> {
    names: &'static [&'static str],
    values: Vec<Option<&'a str>>,
}

impl<'a> TriggerArguments<'a> {
    /// Takes the arguments apart; `names` are those that the function knows.
    pub fn read(names: &'static [&'static str], arguments: &'a [String]) -> Parsed<Self> {
        let known = || format!("Known arguments: {}.", names.join(", "));
        let mut values = vec![None; names.len()];
        for argument in arguments {
            let Some((name, value)) = argument.split_once('=') else {
                let message =
                    format!("trigger argument \"{argument}\" is not of the form name=value");
                let hint = match names.contains(&"index") {
                    true => format!(
                        "Write 'text={argument}' if it is the column of the text. {}",
                        known()
                    ),
                    false => known(),
                };
                return Err(Error::new(message).hint(hint));
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(place) = names.iter().position(|known| *known == name) else {
                return Err(
                    Error::new(format!("unknown trigger argument \"{name}\"")).hint(known())
                );
            };
            if value.is_empty() {
                return Err(Error::new(format!(
                    "trigger argument \"{name}\" has no value"
                )));
            }
            if values[place].replace(value).is_some() {
                return Err(Error::new(format!(
                    "trigger argument \"{name}\" is given twice"
                )));
            }
        }
        Ok(Self { names, values })
    }

    /// Returns the value of an argument, if it is given.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let place = self.names.iter().position(|known| *known == name)?;
        self.values[place]
    }

    /// Returns a copy of the value of an argument, if it is given.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// An argument without a default; `example` is a call of the function that has it.
    pub fn required(&self, name: &str, example: &str) -> Parsed<String> {
        match self.text(name) {
            Some(value) => Ok(value),
            None => Err(
                Error::new(format!("trigger argument \"{name}\" is missing"))
                    .hint(format!("Write for example {example}.")),
            ),
        }
    }

    /// A number within a range, or the default; `kind` is what such a number is called.
    pub fn number<T>(&self, name: &str, kind: &str, default: T, [least, most]: [T; 2]) -> Parsed<T>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        match text.parse() {
            Ok(value) if value >= least && value <= most => Ok(value),
            _ => Err(Error::new(format!(
                "trigger argument \"{name}\" must be {kind} from {least} to {most}, \
                 not \"{text}\""
            ))),
        }
    }

    /// `radius=`, in bits; that of hashes without it.
    pub fn radius(&self) -> Parsed<u32> {
        Ok(self.given_radius()?.unwrap_or(DEFAULT_RADIUS))
    }

    /// `radius=`, in bits, if it is given.
    pub fn given_radius(&self) -> Parsed<Option<u32>> {
        let radius = self.number("radius", "a whole number", DEFAULT_RADIUS, [0, MAX_RADIUS])?;
        Ok(self.get("radius").map(|_| radius))
    }

    /// One of a few words; the first is the default.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Parsed<T> {
        let Some(text) = self.get(name) else {
            return Ok(words[0].1);
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Err(Error::new(format!(
            "trigger argument \"{name}\" must be one of {}, not \"{text}\"",
            known.join(", ")
        )))
    }

    /// A list of columns, separated by commas; empty when it is not given. A name in double quotes
    /// is written as in SQL, so that it may have commas; case counts in each.
    pub fn columns(&self, name: &str) -> Parsed<Vec<String>> {
        let Some(list) = self.get(name) else {
            return Ok(Vec::new());
        };
        let Some(columns) = split_names(list) else {
            return Err(Error::new(format!(
                "trigger argument \"{name}\" must be a list of columns, not \"{list}\""
            ))
            .hint(
                "Write commas between the names, and a name that has a comma in double quotes.",
            ));
        };
        for (i, column) in columns.iter().enumerate() {
            if columns[..i].contains(column) {
                return Err(Error::new(format!(
                    "trigger argument \"{name}\" names column \"{column}\" twice"
                )));
            }
        }
        Ok(columns)
    }

    /// `within=`: the columns of a scope. None of them may be the fingerprint, the key, or what one
    /// of the arguments `filled` names.
    pub fn within(&self, filled: &[&str]) -> Parsed<Vec<String>> {
        let columns = self.columns("within")?;
        for other in filled {
            self.apart("within", &columns, other, OVERWRITTEN)?;
        }
        let equal = "Only equal fingerprints would be compared: that is what 'radius=0' says.";
        self.apart("within", &columns, "fingerprint", equal)?;
        self.apart("within", &columns, "key", WITHIN_KEY)?;
        Ok(columns)
    }

    /// `across=`: the columns in which rows differ. None of them may be the key, of `within=`, or what one of the
    /// arguments `filled` names.
    pub fn across(&self, filled: &[&str]) -> Parsed<Vec<String>> {
        let columns = self.columns("across")?;
        for other in filled {
            self.apart("across", &columns, other, OVERWRITTEN)?;
        }
        for key in self.columns("key")? {
            self.apart_from("across", &columns, ("key", &key), ACROSS_KEY)?;
        }
        for scope in self.columns("within")? {
            self.apart_from("across", &columns, ("within", &scope), EQUAL_THERE)?;
        }
        Ok(columns)
    }

    /// Refuses an argument that has no effect without another one.
    pub fn needs(&self, name: &str, other: &str) -> Parsed<()> {
        match (self.get(name), self.get(other)) {
            (Some(_), None) => Err(Error::new(format!(
                "trigger argument \"{name}\" needs \"{other}\""
            ))
            .hint(format!("Add '{other}=...', or leave '{name}=...' out."))),
            _ => Ok(()),
        }
    }

    /// Refuses two arguments that name the same column; `why` is the hint.
    pub fn differ(&self, one: &str, other: &str, why: &str) -> Parsed<()> {
        match self.get(one) {
            Some(column) => self.apart(one, &[column.to_owned()], other, why),
            None => Ok(()),
        }
    }

    /// As [`TriggerArguments::differ`], where argument `one` names several columns.
    pub fn apart(&self, one: &str, columns: &[String], other: &str, why: &str) -> Parsed<()> {
        match self.get(other) {
            Some(column) => self.apart_from(one, columns, (other, column), why),
            None => Ok(()),
        }
    }

    /// Refuses argument `one` if it names the column that another one names.
    fn apart_from(
        &self,
        one: &str,
        columns: &[String],
        (other, column): (&str, &str),
        why: &str,
    ) -> Parsed<()> {
        match columns.iter().any(|same| same == column) {
            true => Err(Error::new(format!(
                "trigger arguments \"{one}\" and \"{other}\" both name column \"{column}\""
            ))
            .hint(why)),
            false => Ok(()),
        }
    }
}

/// The names in a list; None when it is not one.
fn split_names(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = Some(list);
    while let Some(list) = rest {
        let (name, behind) = first_name(list.trim_start())?;
        names.push(name);
        rest = match behind.trim_start() {
            "" => None,
            more => Some(more.strip_prefix(',')?),
        };
    }
    Some(names)
}

/// The first name in a list, and what stands behind it.
fn first_name(list: &str) -> Option<(String, &str)> {
    let (name, behind) = match list.strip_prefix('"') {
        Some(quoted) => unquoted(quoted)?,
        None => {
            let (name, behind) = list.split_at(list.find(',').unwrap_or(list.len()));
            (name.trim_end().to_owned(), behind)
        }
    };
    (!name.is_empty()).then_some((name, behind))
}

/// Returns what stands before the closing quote, and behind it. Two quotes are one in the name.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (before, behind) = rest.split_once('"')?;
        name.push_str(before);
        let Some(more) = behind.strip_prefix('"') else {
            return Some((name, behind));
        };
        name.push('"');
        rest = more;
    }
}

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The arguments in CREATE TRIGGER.
    Arguments,
    /// A shard of a distributed table, which cannot answer alone.
    Shard,
}

/// What is refused, as an error of the server says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Which SQLSTATE the error gets.
    pub refused: Refused,
    /// The message, in the style of the server's.
    pub message: String,
    /// The HINT line, if any.
    pub hint: Option<String>,
}

impl Error {
    /// Refuses the arguments.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            refused: Refused::Arguments,
            message: message.into(),
            hint: None,
        }
    }

    /// Refuses a shard.
    pub fn shard(message: impl Into<String>) -> Self {
        Self {
            refused: Refused::Shard,
            ..Self::new(message)
        }
    }

    /// Adds a HINT line.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["one", "other", "radius"];

    fn with<T>(arguments: &[&str], f: impl FnOnce(TriggerArguments) -> Parsed<T>) -> Parsed<T> {
        let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        TriggerArguments::read(NAMES, &owned).and_then(f)
    }

    fn message<T>(refused: Parsed<T>) -> String {
        refused.map_or_else(|r| r.message, |_| "accepted".to_owned())
    }

    fn read(arguments: &[&str]) -> String {
        message(with(arguments, |_| Ok(())))
    }

    #[test]
    fn blanks_around_do_not_count_and_values_may_hold_anything() {
        let one = with(&[" one = a = b "], |given| Ok(given.text("one")));
        assert_eq!(one, Ok(Some("a = b".to_owned())));
        assert_eq!(with(&[], |given| Ok(given.text("one"))), Ok(None));
    }

    #[test]
    fn what_is_no_argument_is_refused() {
        assert_eq!(
            read(&["one"]),
            "trigger argument \"one\" is not of the form name=value"
        );
        assert_eq!(
            read(&[""]),
            "trigger argument \"\" is not of the form name=value"
        );
        assert_eq!(read(&["One=1"]), "unknown trigger argument \"One\"");
        assert_eq!(read(&["=1"]), "unknown trigger argument \"\"");
        assert_eq!(read(&["one= "]), "trigger argument \"one\" has no value");
        assert_eq!(
            read(&["one=1", "one=1"]),
            "trigger argument \"one\" is given twice"
        );
        for wrong in ["One=1", "one"] {
            let hint = with(&[wrong], |_| Ok(())).unwrap_err().hint;
            assert_eq!(
                hint.as_deref(),
                Some("Known arguments: one, other, radius.")
            );
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let radius = |text: &str| with(&[&format!("radius={text}")], |given| given.radius());
        assert_eq!(with(&[], |given| given.radius()), Ok(3));
        assert_eq!((radius("0"), radius("4096")), (Ok(0), Ok(4096)));
        for wrong in ["4097", "-1", "3.5", "three", "4294967299"] {
            assert_eq!(
                message(radius(wrong)),
                format!(
                    "trigger argument \"radius\" must be a whole number from 0 to 4096, not \"{wrong}\""
                )
            );
        }
        let word = |text| with(&[text], |given| given.word("one", &[("a", 1), ("b", 2)]));
        assert_eq!((word("other=x"), word("one=b")), (Ok(1), Ok(2)));
        assert_eq!(
            message(word("one=c")),
            "trigger argument \"one\" must be one of a, b, not \"c\""
        );
    }

    #[test]
    fn lists_of_columns() {
        let columns = |list: &str| with(&[&format!("one={list}")], |given| given.columns("one"));
        assert_eq!(
            with(&[], |given| given.columns("one")),
            Ok(Vec::<String>::new())
        );
        for (list, names) in [
            ("tenant_id", &["tenant_id"][..]),
            ("a,b", &["a", "b"]),
            (" Tenant , two words ,c ", &["Tenant", "two words", "c"]),
            (r#""a, b" , c"#, &["a, b", "c"]),
            (
                r#""say ""hi""",it's 5" ," blanks ""#,
                &[r#"say "hi""#, r#"it's 5""#, " blanks "],
            ),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(columns(list), Ok(names), "{list}");
        }
        for wrong in [
            ",", "a,", ",a", "a,,b", r#""a"#, r#""a"b"#, r#""""#, r#"a,"#,
        ] {
            assert_eq!(
                message(columns(wrong)),
                format!("trigger argument \"one\" must be a list of columns, not \"{wrong}\"")
            );
        }
        assert_eq!(
            message(columns(r#"a,b,"a""#)),
            "trigger argument \"one\" names column \"a\" twice"
        );
        assert_eq!(columns("a,A").map(|names| names.len()), Ok(2));
    }

    #[test]
    fn arguments_that_belong_together() {
        let missing = with(&["other=1"], |given| given.required("one", "f('one=1')"));
        let missing = missing.unwrap_err();
        assert_eq!(missing.message, "trigger argument \"one\" is missing");
        assert_eq!(
            missing.hint.as_deref(),
            Some("Write for example f('one=1').")
        );
        let needs = |arguments: &[&str]| message(with(arguments, |g| g.needs("one", "other")));
        assert_eq!(
            needs(&["one=1"]),
            "trigger argument \"one\" needs \"other\""
        );
        assert_eq!(needs(&["one=1", "other=2"]), "accepted");
        assert_eq!(needs(&[]), "accepted");
        let differ = |arguments: &[&str]| {
            message(with(arguments, |g| {
                g.differ("one", "other", "They differ.")
            }))
        };
        assert_eq!(
            differ(&["one=a b", "other= a b"]),
            "trigger arguments \"one\" and \"other\" both name column \"a b\""
        );
        assert_eq!(differ(&["one=a", "other=A"]), "accepted");
        assert_eq!(differ(&["one=a"]), "accepted");
        assert_eq!(differ(&["radius=1"]), "accepted");
    }
}
