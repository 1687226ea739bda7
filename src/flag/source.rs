//! Where a flagging trigger has its fingerprints from: a column, or an index that says what is compared.
//! `flagged_table` and `compared_tables` resolve the arguments of a trigger with it. What the arguments
//! leave out comes from the index: the scope, the texts of the check, and the rows that are searched.

use std::hash::{DefaultHasher, Hash, Hasher};

use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::chosen_index::{Choice, chosen, fitting, pins};
use simhash_hamming::ball::NEAR_TEXTS;
use simhash_pg::catalog::fingerprint_index::{FingerprintIndex, generated_from};
use simhash_pg::catalog::indexes::primary_key;
use simhash_pg::catalog::table::{self, Column, OpenTable, quoted};
use simhash_pg::catalog::table_name;
use simhash_pg::process::error::Error;
use simhash_trigger::arguments::DEFAULT_RADIUS;
use simhash_trigger::flag_options::{Check, FlagOptions};

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
    /// What tells its fingerprint from others of the table, and its rows.
    identity: String,
    condition: String,
    /// The names of others that the arguments fit too, which compare something else.
    pub others: Vec<String>,
}

impl Source {
    /// Resolves the arguments of a trigger that searches this table; `trigger` is None before there is one.
    pub fn new(
        table: Oid,
        options: &FlagOptions,
        trigger: Option<Oid>,
    ) -> Result<Self, Box<Error>> {
        let mut source = Self::said(options);
        if source.column.is_none() {
            let Choice {
                taken: (oid, index),
                others,
            } = chosen(table, options, trigger)?;
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
            if let Some(index) = &mut source.index {
                index.others = others;
            }
        }
        Ok(source.with_defaults(options))
    }

    /// The same where an index is to be made for the text that the arguments name, unless there is one.
    pub fn proposed(table: Oid, options: &FlagOptions) -> Result<Self, Box<Error>> {
        if options.texts.is_empty() || options.index.is_some() || options.fingerprint.is_some() {
            return Self::new(table, options, None);
        }
        match fitting(table, options).is_empty() {
            true => Ok(Self::said(options).with_defaults(options)),
            false => Self::new(table, options, None),
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
            condition: index.condition(),
            others: Vec::new(),
        });
        Ok(())
    }

    /// Returns what a trigger with these arguments does, where all that they leave out is filled in, and what tells the
    /// fingerprints that an index makes, and its rows, from others of the table.
    pub fn meaning(self, table: Oid, options: FlagOptions) -> (FlagOptions, Option<[String; 2]>) {
        let sorted = |mut names: Vec<String>| {
            names.sort_unstable();
            names
        };
        let index = self.index.filter(|_| self.column.is_none());
        let meant = FlagOptions {
            fingerprint: self.column,
            index: None,
            radius: Some(self.radius),
            texts: self.texts,
            check: self.check,
            within: sorted(self.within),
            across: sorted(options.across),
            key: match options.key == primary_key(table) {
                true => Vec::new(),
                false => options.key,
            },
            ..options
        };
        (meant, index.map(|index| [index.identity, index.condition]))
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

/// Returns whether a column is a text that a trigger can check, or a document, which it checks as its text.
pub fn is_checked_text(column: &Column) -> bool {
    const DOCUMENTS: [Oid; 3] = [pg_sys::JSONBOID, pg_sys::JSONOID, pg_sys::XMLOID];
    column.is_text() || DOCUMENTS.contains(&column.base_type())
}

/// The columns of texts that an index compares.
pub(super) fn texts_of(table: Oid, index: &FingerprintIndex<'_>) -> Vec<String> {
    let opened = OpenTable::new(table);
    let own = |name: &String| table::column(opened.rel(), name);
    let read = match &index.column {
        Some(name) => own(name).map_or(Vec::new(), |column| generated_from(opened.rel(), &column)),
        None => index.columns(),
    };
    let all = || table::columns(opened.rel()).map(|(name, _)| name).collect();
    let read: Vec<String> = match read.iter().any(Option::is_none) {
        true => all(),
        false => read.into_iter().flatten().collect(),
    };
    // A generated column has no value yet when a trigger fires: its texts are those of which it is made.
    let made_of = |name: String| match own(&name).filter(|column| column.generated) {
        Some(column) => generated_from(opened.rel(), &column)
            .into_iter()
            .flatten()
            .collect(),
        None => vec![name],
    };
    let mut texts = Vec::new();
    for name in read.into_iter().flat_map(made_of) {
        if !texts.contains(&name) && own(&name).is_some_and(|column| is_checked_text(&column)) {
            texts.push(name);
        }
    }
    texts
}

/// The statement for an index that the trigger can use.
pub(super) fn how_to_create(table: Oid, options: &FlagOptions) -> String {
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
