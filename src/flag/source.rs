//! Where a flagging trigger has its fingerprints from: a column, or an index that says what is compared.
//! `flagged_table` and `compared_tables` resolve the arguments of a trigger with it. What the arguments
//! leave out comes from the index: the scope, the texts of the check, and the rows that are searched.

use std::hash::{DefaultHasher, Hash, Hasher};

use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_UNDEFINED_OBJECT};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use crate::index::fingerprint_function;
use simhash_hamming::ball::NEAR_TEXTS;
use simhash_pg::catalog::fingerprint_index::{FingerprintIndex, generated_from, indexes_of};
use simhash_pg::catalog::table::{self, Column, OpenTable, quoted};
use simhash_pg::catalog::table_name;
use simhash_pg::process::error::Error;
use simhash_trigger::arguments::DEFAULT_RADIUS;
use simhash_trigger::flag_options::{Check, FlagOptions};

/// The access method of the indexes.
const METHOD: &str = "simhash";

/// What a trigger compares, with everything that its arguments leave out.
pub struct Source {
    /// The column of fingerprints; None where an index makes them.
    pub column: Option<String>,
    /// The index that says what is compared, if no argument does.
    pub index: Option<SourceIndex>,
    /// Bits.
    pub radius: u32,
    /// The columns of the text that is checked.
    pub texts: Vec<String>,
    /// What a near row has to pass.
    pub check: Option<Check>,
    /// Compare only with rows that are equal in these columns.
    pub within: Vec<String>,
}

/// An index that says what is compared.
pub struct SourceIndex {
    pub oid: Oid,
    pub valid: bool,
    /// The columns that its fingerprint reads; None is the whole row.
    columns: Vec<Option<String>>,
    /// Those that its predicate reads.
    predicate_columns: Vec<Option<String>>,
    /// What tells its fingerprint from others of the table.
    identity: String,
}

impl Source {
    /// Resolves the arguments of a trigger that searches this table.
    pub fn new(table: Oid, options: &FlagOptions) -> Result<Self, Box<Error>> {
        let mut source = Self::said(options);
        if source.column.is_none() {
            let (oid, index) = chosen(table, options)?;
            if pins(&index, &options.across) {
                let message = format!(
                    "index \"{}\" compares rows that are equal in a column of \"across\"",
                    table::name(oid).unwrap_or_default()
                );
                let hint = how_to_create(table, options);
                return Err(Box::new(
                    Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint),
                ));
            }
            source.take_from_index(table, oid, &index)?;
        }
        Ok(source.with_defaults(options))
    }

    /// The same where an index is to be made for the text that the arguments name, unless there is one.
    pub fn proposed(table: Oid, options: &FlagOptions) -> Result<Self, Box<Error>> {
        if options.texts.is_empty() || options.index.is_some() || options.fingerprint.is_some() {
            return Self::new(table, options);
        }
        match fitting(table, options).is_empty() {
            true => Ok(Self::said(options).with_defaults(options)),
            false => Self::new(table, options),
        }
    }

    /// What the arguments say.
    fn said(options: &FlagOptions) -> Self {
        Self {
            column: options.fingerprint.clone(),
            index: None,
            radius: DEFAULT_RADIUS,
            texts: options.texts.clone(),
            check: options.check.clone(),
            within: options.within.clone(),
        }
    }

    fn with_defaults(self, options: &FlagOptions) -> Self {
        let mut source = self;
        // A text is known, and nothing is said of how to check it.
        if !source.texts.is_empty() && source.check.is_none() {
            source.check = Some(Check::Same);
        }
        if let Some(given) = options.radius {
            source.radius = given;
        } else if !source.texts.is_empty() {
            source.radius = NEAR_TEXTS as u32;
        }
        source
    }

    fn take_from_index(
        &mut self,
        table: Oid,
        oid: Oid,
        index: &FingerprintIndex<'_>,
    ) -> Result<(), Box<Error>> {
        if self.within.is_empty() {
            let scope: Option<Vec<String>> = index.scope.iter().cloned().collect();
            self.within = scope.ok_or_else(|| {
                let message = format!(
                    "index \"{}\" has an expression before its last column",
                    table::name(oid).unwrap_or_default()
                );
                let hint = "A trigger compares rows that are equal in columns: name them by 'within=...', or \
                            'fingerprint=...'.";
                Box::new(Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint))
            })?;
        }
        if self.texts.is_empty() {
            self.texts = texts_of(table, index);
        }
        self.column = index.column.clone();
        self.index = Some(SourceIndex {
            oid,
            valid: index.valid,
            columns: index.columns(),
            predicate_columns: index.predicate_columns(),
            identity: index.identity(),
        });
        Ok(())
    }

    /// Returns whether two triggers that search one table compare the same fingerprints.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.column, &other.column) {
            (None, None) => self.made() == other.made(),
            (one, other) => one == other,
        }
    }

    fn made(&self) -> Option<&str> {
        self.index.as_ref().map(|index| index.identity.as_str())
    }

    /// The number of what is compared, among the columns of the table: beyond them for what an index makes.
    pub fn number(&self, table: &OpenTable) -> Option<u16> {
        if let Some(name) = &self.column {
            return Some(table::column(table.rel(), name)?.number() as u16);
        }
        let mut hasher = DefaultHasher::new();
        self.made()?.hash(&mut hasher);
        Some(hasher.finish() as u16 | 1 << 15)
    }

    /// The fingerprint of a row `t` of the table that is searched, as SQL text; None for a column.
    pub fn made_sql(&self) -> Option<String> {
        let index = self.index.as_ref().filter(|_| self.column.is_none())?;
        Some(call("index_fingerprint", index.oid, &index.columns))
    }

    /// The condition, after AND, that the index has a row `t`; empty if it has all.
    pub fn predicate_sql(&self) -> String {
        match &self.index {
            Some(index) if !index.predicate_columns.is_empty() => {
                let held = call("index_predicate", index.oid, &index.predicate_columns);
                format!(" AND {held}")
            }
            _ => String::new(),
        }
    }
}

/// A call which the planner replaces by what the index has.
fn call(function: &str, index: Oid, columns: &[Option<String>]) -> String {
    let column = |name: &Option<String>| match name {
        Some(name) => format!(", t.{}", quoted(name)),
        None => ", t.*".to_owned(),
    };
    let columns: String = columns.iter().map(column).collect();
    let index = index.to_u32();
    format!("simhash_catalog.{function}('{index}'::pg_catalog.oid{columns})")
}

/// Index and definition.
type Read = (Oid, FingerprintIndex<'static>);

fn all_of(table: Oid) -> Vec<Read> {
    let read = |oid| {
        Some((
            oid,
            FingerprintIndex::read(oid, METHOD, fingerprint_function)?,
        ))
    };
    indexes_of(table).into_iter().filter_map(read).collect()
}

/// Returns the indexes that make fingerprints of what the arguments name, or of anything.
fn fitting(table: Oid, options: &FlagOptions) -> Vec<Read> {
    let fits = |index: &FingerprintIndex<'_>| {
        (options.texts.is_empty() || texts_of(table, index) == options.texts)
            && !pins(index, &options.across)
            && (options.within.is_empty()
                || (index.scope.iter()).all(|column| {
                    column
                        .as_ref()
                        .is_some_and(|column| options.within.contains(column))
                }))
    };
    let all = all_of(table).into_iter();
    let mut fitting: Vec<_> = all.filter(|(_, index)| fits(index)).collect();
    // There are two of an index for a while, when it is rebuilt beside writers.
    if fitting.iter().any(|(_, index)| index.valid) {
        fitting.retain(|(_, index)| index.valid);
    }
    fitting
}

/// Returns whether an index compares rows that are equal in one of these columns alone.
fn pins(index: &FingerprintIndex<'_>, columns: &[String]) -> bool {
    let pinned = index.scope.iter().flatten();
    pinned.into_iter().any(|column| columns.contains(column))
}

/// Returns, of indexes of the same texts in the same scope, those that make the fingerprints themselves: one on a
/// column of fingerprints may serve another purpose, such as kept clusters, and must not stop the trigger.
fn of_texts_themselves(table: Oid, mut fitting: Vec<Read>) -> Vec<Read> {
    let compared = |(_, index): &Read| (texts_of(table, index), index.scope.clone());
    let Some(first) = fitting.first().map(compared) else {
        return fitting;
    };
    let makes_them = |(_, index): &Read| index.column.is_none();
    if !first.0.is_empty()
        && fitting.iter().all(|one| compared(one) == first)
        && fitting.iter().any(makes_them)
    {
        fitting.retain(makes_them);
    }
    fitting
}

/// Leaves out partial indexes of the texts that `text=` names, if another one has all rows: somebody may make them
/// for searches, which must not stop the trigger.
fn of_all_rows(mut fitting: Vec<Read>, options: &FlagOptions) -> Vec<Read> {
    let has_all = |(_, index): &Read| index.predicate_columns().is_empty();
    if !options.texts.is_empty() && fitting.iter().any(has_all) {
        fitting.retain(has_all);
    }
    fitting
}

/// Returns the index that the arguments mean. Of several of the texts that `text=` names, it is the one with the
/// shortest expression, which is the same one after REINDEX CONCURRENTLY: sessions that take different ones would
/// compare fingerprints of different expressions.
fn chosen(table: Oid, options: &FlagOptions) -> Result<Read, Box<Error>> {
    let names = |all: &[Read]| {
        let names = all.iter().filter_map(|(oid, _)| table::name(*oid));
        names.collect::<Vec<_>>()
    };
    let name = table::name(table).unwrap_or_default();
    if let Some(wanted) = &options.index {
        let all = all_of(table);
        let known = names(&all);
        return (all.into_iter())
            .find(|(oid, _)| table::name(*oid).as_ref() == Some(wanted))
            .ok_or_else(|| {
                let message = format!("table \"{name}\" has no simhash index \"{wanted}\"");
                let hint = match &known[..] {
                    [] => how_to_create(table, options),
                    known => format!("Its simhash indexes: {}.", known.join(", ")),
                };
                Box::new(Error::new(ERRCODE_UNDEFINED_OBJECT, message).hint(hint))
            });
    }
    let mut fitting = of_all_rows(of_texts_themselves(table, fitting(table, options)), options);
    if !options.texts.is_empty() {
        fitting.sort_by_cached_key(|(_, index)| (index.identity().len(), index.identity()));
    }
    let same = |(_, one): &Read, (_, other): &Read| {
        (!options.texts.is_empty() || one.identity() == other.identity())
            && (!options.within.is_empty() || one.scope == other.scope)
            && one.predicate_columns() == other.predicate_columns()
    };
    let known = names(&fitting);
    let mut rest = fitting.into_iter();
    match rest.next() {
        None => {
            let message =
                format!("table \"{name}\" has no simhash index that says what is compared");
            let hint = how_to_create(table, options);
            Err(Box::new(
                Error::new(ERRCODE_UNDEFINED_OBJECT, message).hint(hint),
            ))
        }
        Some(first) if rest.all(|other| same(&first, &other)) => Ok(first),
        Some(_) => {
            let message = format!("table \"{name}\" has several simhash indexes");
            let hint = format!(
                "Create the trigger again with one of them as 'index=...': {}.",
                known.join(", ")
            );
            Err(Box::new(
                Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint),
            ))
        }
    }
}

/// Returns whether a column is a text that a trigger can check, or a document, which it checks as its text.
pub fn is_checked_text(column: &Column) -> bool {
    const DOCUMENTS: [Oid; 3] = [pg_sys::JSONBOID, pg_sys::JSONOID, pg_sys::XMLOID];
    column.is_text() || DOCUMENTS.contains(&column.base_type())
}

/// The columns of texts that an index compares.
fn texts_of(table: Oid, index: &FingerprintIndex<'_>) -> Vec<String> {
    let opened = OpenTable::new(table);
    let own = |name: &String| table::column(opened.rel(), name);
    let read = match &index.column {
        Some(name) => own(name).map_or(Vec::new(), |column| generated_from(opened.rel(), &column)),
        None => index.columns(),
    };
    let all = || table::columns(opened.rel()).map(|(name, _)| name).collect();
    let names: Vec<String> = match read.iter().any(Option::is_none) {
        true => all(),
        false => read.into_iter().flatten().collect(),
    };
    let is_text = |column: Column| !column.generated && is_checked_text(&column);
    (names.into_iter())
        .filter(|name| own(name).is_some_and(is_text))
        .collect()
}

/// The statement for an index that the trigger can use.
fn how_to_create(table: Oid, options: &FlagOptions) -> String {
    let opened = OpenTable::new(table);
    let text = match &options.texts[..] {
        [] => table::columns(opened.rel())
            .find(|(_, column)| column.is_text())
            .map_or_else(
                || "...".to_owned(),
                |(name, _)| table_name::identifier(&name),
            ),
        [one] => match table::column(opened.rel(), one) {
            Some(column) if !column.is_text() => {
                format!("({}::text)", table_name::identifier(one))
            }
            _ => table_name::identifier(one),
        },
        several => {
            let several: Vec<String> = several
                .iter()
                .map(|name| table_name::identifier(name))
                .collect();
            format!("simhash64(ROW({}))", several.join(", "))
        }
    };
    let within = options
        .within
        .iter()
        .map(|name| table_name::identifier(name));
    let keys: Vec<String> = within.chain([text]).collect();
    format!(
        "CREATE INDEX ON {} USING simhash ({}); its columns before the last are the scope.",
        table_name::sql(table),
        keys.join(", ")
    )
}
