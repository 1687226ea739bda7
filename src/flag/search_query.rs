//! The queries of a flagging trigger. Each finds one row within the radius, whichever the server
//! comes to first, but not the new row itself. None has an ORDER BY, which would read all copies of
//! a text to choose one of them, except where copies of the table on other nodes must choose the
//! same row. [`super::near_duplicate`] runs them until it has the nearest row.

use std::cell::{Cell, OnceCell};

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::check::CheckCondition;
use super::columns::Columns;
use super::source::Source;
use crate::trigger::call::raise_lacks;
use crate::trigger::hash_column::{HashColumn, Radius, first_found};
use simhash_pg::catalog::lookup::{SELECT, current_user, may};
use simhash_pg::catalog::table::{self, OpenTable, quoted};
use simhash_pg::spi::open_query::OpenQuery;
use simhash_pg::spi::saved_query::SavedQuery;
use simhash_pg::sql::key_type::Equality;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::flag_options::{FlagOptions, Mode};

/// The row that a query finds.
#[derive(Clone, Copy)]
pub enum SearchTarget {
    /// A row within the radius.
    Any,
    /// One within the distance that the last parameter, of type int4, gives.
    Within,
    /// As `Within`, with a key that is not NULL.
    WithinNotNull,
    /// The row with the key that the last parameters give, whatever else it is: the planner should
    /// look up the key, and not read the copies of a text.
    ByKey,
    /// The row that the new one would be an edit of: the row with the key that the last parameters give, in
    /// the scope of the new one unless the key is unique by itself.
    Stored,
    /// The row with that key, if the new one is compared with it and it passes a function that checks rows.
    ByKeyChecked,
    /// A row that is marked as a duplicate of the one with the new row's key.
    MarkedAsItsDuplicate,
    /// The row that the last parameter gives, if it is within the radius.
    Given,
}

const TARGETS: usize = 8;

/// Which columns a query reads. Queries for an updated row, which is not a duplicate of its own old
/// version, read system columns, which privileges on the named columns do not cover. Marks are read
/// where the current user may: inserting requires no privilege to read them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct QueryVariant {
    pub for_update: bool,
    pub with_marks: bool,
    pub candidates: Candidates,
}

/// The rows that are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Candidates {
    /// All, or those that `among=` says.
    All,
    /// Those that are not marked.
    Unmarked,
    /// Those of them that the running subtransaction has written. A foreign key changes rows as the owner
    /// of the table, who sees rows that the user who deletes may not see.
    JustWritten,
}

/// One item for each target and each variant.
type PerVariant<T> = [[[[T; TARGETS]; 3]; 2]; 2];

fn entry<T>(all: &PerVariant<T>, target: SearchTarget, variant: QueryVariant) -> &T {
    let variants = &all[usize::from(variant.for_update)][usize::from(variant.with_marks)];
    &variants[variant.candidates as usize][target as usize]
}

/// The queries, each prepared when first needed.
pub struct SearchQueries {
    builder: QueryBuilder,
    prefers_indexes: bool,
    saved: PerVariant<OnceCell<SavedQuery>>,
    lock: OnceCell<SavedQuery>,
}

/// The queries that one statement keeps open, and whether its user may read marks.
#[derive(Default)]
pub struct OpenQueries {
    queries: PerVariant<OpenQuery>,
    /// The user who was checked last, and whether that user may read marks.
    reads_marks: Cell<Option<(Oid, bool)>>,
}

impl OpenQueries {
    pub fn get(&self, target: SearchTarget, variant: QueryVariant) -> &OpenQuery {
        entry(&self.queries, target, variant)
    }

    /// Returns whether there are marks that the current user may read.
    pub fn reads_marks(&self, queries: &SearchQueries) -> bool {
        let marks = &queries.builder.marks;
        if marks.numbers.is_empty() {
            return false;
        }
        let user = current_user();
        match self.reads_marks.get() {
            Some((checked, reads)) if checked == user => reads,
            _ => {
                let reads = may(queries.builder.searched, SELECT, &marks.numbers);
                self.reads_marks.set(Some((user, reads)));
                reads
            }
        }
    }
}

impl SearchQueries {
    pub fn new(builder: QueryBuilder, prefers_indexes: bool) -> Self {
        Self {
            builder,
            prefers_indexes,
            saved: Default::default(),
            lock: OnceCell::new(),
        }
    }

    /// Whether queries for an updated row take that row as it was, if it is compared with the same rows as
    /// before: a row that was near it then is not found.
    pub fn take_old_row(&self) -> bool {
        self.builder.passes_rows.is_some()
    }

    /// The user's function that checks near rows.
    pub fn checked_by(&self) -> Option<Oid> {
        self.builder.checked_by
    }

    /// Whether the row that a mark names can be looked up.
    pub fn finds_originals(&self) -> bool {
        self.builder.marks.names_one
    }

    /// Whether an index finds the rows that are marked with a key.
    pub fn finds_duplicates(&self) -> bool {
        self.builder.marks.indexed
    }

    /// Returns the query for the fingerprint of a row, its mark, whether that names the new row, and
    /// its key. Its parameters are those of [`QueryBuilder::types`]; with `for_update` the place of the
    /// old version, and what [`SearchQueries::take_old_row`] says; of [`Candidates::JustWritten`] the subtransaction; and what `target` takes.
    pub fn get(&self, target: SearchTarget, variant: QueryVariant) -> &SavedQuery {
        entry(&self.saved, target, variant).get_or_init(|| {
            let (text, types) = self.builder.query(target, variant);
            SavedQuery::new(&text, &types, self.prefers_indexes)
        })
    }

    /// Returns the query that locks the row with the key that its parameters give, as a foreign key
    /// locks the row that it names: until the transaction ends the row has that key. It returns the
    /// fingerprint, if that is a column. It is run as the owner of the table, since a user who inserts
    /// needs no right to lock.
    pub fn lock(&self) -> &SavedQuery {
        self.lock.get_or_init(|| {
            let (table, key) = (&self.builder.table, self.builder.has_key(1));
            let types: Vec<_> = self.builder.key.iter().map(|key| key.type_id).collect();
            let column = self.builder.column.as_deref().unwrap_or("NULL");
            let text = format!("SELECT {column} FROM {table} WHERE {key} FOR KEY SHARE OF t");
            SavedQuery::new(&text, &types, self.prefers_indexes)
        })
    }
}

/// The queries' parts.
pub struct QueryBuilder {
    searched: Oid,
    /// FROM.
    table: String,
    fingerprint: String,
    /// The same, if it is a column.
    column: Option<String>,
    hashes: HashColumn,
    radius: u32,
    key: Vec<KeyColumn>,
    /// Whether no two rows have one key.
    unique_key: bool,
    /// The conditions of every query but those on keys, each after AND.
    conditions: String,
    /// The conditions of the scope, and those of a function that checks rows and of `across=`, each after AND.
    scope: String,
    check: String,
    checked_by: Option<Oid>,
    /// The function that checks rows, where a row that is near is refused.
    passes_rows: Option<String>,
    /// Types of the parameters: the fingerprint, the key, and what these conditions take.
    types: Vec<Oid>,
    marks: Marks,
    /// Whether the row with the smallest key is chosen among several.
    least_key_first: bool,
}

struct KeyColumn {
    column: String,
    equality: Equality,
    type_id: Oid,
}

/// The columns in which rows are marked.
struct Marks {
    /// The column of `duplicate_of=`.
    duplicate_of: Option<String>,
    /// The condition that a row is not marked.
    is_unmarked: String,
    /// The numbers of the columns in the table that is searched.
    numbers: Vec<i16>,
    /// Whether a key that is marked names one row, which an index finds.
    names_one: bool,
    /// Whether an index finds the rows that are marked with a key.
    indexed: bool,
}

impl QueryBuilder {
    /// Builds the parts of the queries. Every name is qualified, so that no search_path changes the
    /// meaning. Operands are cast to the types that the extension's functions take, so that no
    /// overloaded function fits better. The functions are those of `simhash_catalog`, which every
    /// role may use: a user who inserts needs no rights on the schema of the extension. Returns
    /// None when the table is gone. With `has_copies`, other nodes run the same query on their
    /// copies.
    pub fn new(
        call: &TriggerCall<'_>,
        searched: Oid,
        options: &FlagOptions,
        (source, columns): (&Source, &Columns),
        hashes: HashColumn,
        has_copies: bool,
    ) -> Option<Self> {
        let key: Vec<_> = (columns.key.iter())
            .map(|(name, column)| {
                let type_id = column.base_type();
                let Some(equality) = Equality::for_type(type_id) else {
                    raise_lacks(call, "an equality operator", type_id);
                };
                KeyColumn {
                    column: format!("t.{}", quoted(name)),
                    equality,
                    type_id,
                }
            })
            .collect();
        let mut types = vec![hashes.type_id()];
        types.extend(key.iter().map(|key| key.type_id));
        let opened = OpenTable::new(searched);
        let column =
            (source.column.as_ref()).map(|name| format!("t.{}{}", quoted(name), hashes.cast()));
        let mut search = Self {
            searched,
            table: format!("{} AS t", table::qualified_name(searched)?),
            fingerprint: match &column {
                Some(column) => column.clone(),
                None => source.made_sql()?,
            },
            column,
            hashes,
            radius: source.radius,
            key,
            unique_key: !opened.has_inheritors()
                && opened.are_unique(columns.key.iter().map(|(name, _)| name)),
            conditions: source.predicate_sql(),
            scope: String::new(),
            check: String::new(),
            checked_by: None,
            passes_rows: None,
            types,
            marks: marks(&opened, options, columns),
            least_key_first: has_copies,
        };
        // The row with the key of the new one is the row itself, as INSERT ... ON CONFLICT proposes
        // it. Rows whose key is NULL are compared with all rows.
        if !search.key.is_empty() {
            search.conditions += &format!(" AND ({}) IS NOT TRUE", search.has_key(2));
        }
        let number = search.types.len() + 1;
        if let Some(check) = CheckCondition::new(call, searched, (source, columns), number) {
            search.types.extend(check.parameters);
            search.checked_by = check.function;
            let refuses = matches!(options.mode, Mode::Reject | Mode::Conflict);
            search.passes_rows = check.of_rows.filter(|_| refuses);
            let condition = format!(" AND {}", check.condition);
            search.conditions += &condition;
            if check.is_function {
                search.check = condition;
            }
        }
        search.scope = columns.scope.conditions("t.", &mut search.types);
        search.conditions += &search.scope;
        let across = columns.across.differs("t.", &mut search.types);
        search.conditions += &across;
        search.check += &across;
        if options.originals_only {
            search.conditions += &format!(" AND {}", search.marks.is_unmarked);
        }
        Some(search)
    }

    /// Returns the condition that a row has the key that the parameters from this one on give.
    fn has_key(&self, first: usize) -> String {
        let equal = |(i, key): (usize, &KeyColumn)| {
            (key.equality).clause(&key.column, &format!("${}", first + i))
        };
        let columns: Vec<String> = self.key.iter().enumerate().map(equal).collect();
        columns.join(" AND ")
    }

    /// Returns the condition that a row is marked as a duplicate of the new one.
    fn is_marked_as_its_duplicate(&self) -> Option<String> {
        let mark = self.marks.duplicate_of.as_ref()?;
        Some(self.key.first()?.equality.clause(mark, "$2"))
    }

    /// Returns the text of a query, and the types of its parameters.
    fn query(&self, target: SearchTarget, variant: QueryVariant) -> (String, Vec<Oid>) {
        let mut types = self.types.clone();
        let conditions = self.conditions_of(variant, &mut types);
        let given = types.len() + 1;
        let found = self.found_by(target, given, &conditions);
        match target {
            SearchTarget::Any | SearchTarget::MarkedAsItsDuplicate => {}
            SearchTarget::Given => types.push(OpenTable::new(self.searched).rel().row_type()),
            SearchTarget::Within | SearchTarget::WithinNotNull => types.push(pg_sys::INT4OID),
            SearchTarget::ByKey | SearchTarget::Stored | SearchTarget::ByKeyChecked => {
                types.extend(self.key.iter().map(|key| key.type_id))
            }
        }
        let (selected, order) = self.selected(variant.with_marks);
        let table = match target {
            SearchTarget::Given => &format!("pg_catalog.unnest(ARRAY[${given}]) AS t"),
            _ => &self.table,
        };
        let queries: Vec<String> = (found.iter())
            .map(|found| format!("SELECT {selected} FROM {table} WHERE {found}"))
            .collect();
        (first_found(&queries, &format!("{order} LIMIT 1")), types)
    }

    /// Returns what near rows have to fulfil besides, behind another condition, and adds the types of its
    /// parameters.
    fn conditions_of(&self, variant: QueryVariant, types: &mut Vec<Oid>) -> String {
        let mut conditions = self.conditions.clone();
        if variant.for_update {
            types.extend([pg_sys::OIDOID, pg_sys::TIDOID]);
            let place = types.len();
            conditions += &format!(
                " AND (t.tableoid OPERATOR(pg_catalog.<>) ${} \
                 OR t.ctid OPERATOR(pg_catalog.<>) ${place})",
                place - 1
            );
            if let Some(function) = &self.passes_rows {
                types.push(OpenTable::new(self.searched).rel().row_type());
                let old = format!("${}", types.len());
                conditions += &format!(
                    " AND CASE WHEN {old} IS NOT DISTINCT FROM NULL THEN true \
                     ELSE {function}(t.*, {old}) IS NOT TRUE END"
                );
            }
        }
        if variant.candidates != Candidates::All {
            conditions += &format!(" AND {}", self.marks.is_unmarked);
        }
        if variant.candidates == Candidates::JustWritten {
            types.push(pg_sys::XIDOID);
            conditions += &format!(" AND t.xmin OPERATOR(pg_catalog.=) ${}", types.len());
        }
        conditions
    }

    /// Returns the conditions of the queries that find a row, of which the first that finds one counts; what
    /// the target is given are the parameters from `given` on.
    fn found_by(&self, target: SearchTarget, given: usize, conditions: &str) -> Vec<String> {
        let near = |radius: Radius<'_>, and: &str| {
            let near = self
                .hashes
                .near(&self.fingerprint, "$1", radius)
                .into_iter();
            near.map(|near| near + conditions + and).collect()
        };
        let within = format!("${given}");
        match target {
            SearchTarget::Any | SearchTarget::Given => near(Radius::Bits(self.radius), ""),
            SearchTarget::Within => near(Radius::Parameter(&within), ""),
            SearchTarget::WithinNotNull => {
                let keys = self.key.iter();
                let keys: String = keys
                    .map(|key| format!(" AND {} IS NOT NULL", key.column))
                    .collect();
                near(Radius::Parameter(&within), &keys)
            }
            SearchTarget::ByKey | SearchTarget::Stored | SearchTarget::ByKeyChecked
                if self.key.is_empty() =>
            {
                vec!["false".to_owned()]
            }
            SearchTarget::ByKey => vec![self.has_key(given)],
            SearchTarget::Stored if self.unique_key => vec![self.has_key(given)],
            SearchTarget::Stored => vec![self.has_key(given) + &self.scope],
            SearchTarget::ByKeyChecked => vec![self.has_key(given) + &self.scope + &self.check],
            SearchTarget::MarkedAsItsDuplicate => {
                vec![(self.is_marked_as_its_duplicate()).unwrap_or_else(|| "false".to_owned())]
            }
        }
    }

    /// Returns the columns of the result, and the order: by the key, where it is returned.
    fn selected(&self, with_marks: bool) -> (String, String) {
        let mut selected = vec![self.fingerprint.clone()];
        let mark = (self.marks.duplicate_of.as_ref()).zip(self.is_marked_as_its_duplicate());
        match mark.filter(|_| with_marks) {
            Some((mark, is_own)) => selected.extend([mark.clone(), is_own]),
            None => selected.extend(["NULL", "false"].map(str::to_owned)),
        }
        let order = match self.key.first() {
            Some(_) if self.least_key_first => format!(" ORDER BY {}", selected.len() + 1),
            _ => String::new(),
        };
        selected.extend(self.key.iter().map(|key| key.column.clone()));
        (selected.join(", "), order)
    }
}

/// The row that a mark names cannot be looked up where the key is not unique, since it does not
/// identify the row; and where no index serves, or only that of a parent, since that would read
/// whole tables.
fn marks(opened: &OpenTable, options: &FlagOptions, columns: &Columns) -> Marks {
    // A partition has the columns at other positions.
    let number = |name: &String| Some(table::column(opened.rel(), name)?.number());
    let named = [&options.duplicate_of, &options.flag];
    let key = match (&options.duplicate_of, &columns.key[..]) {
        (Some(_), [(key, _)]) => number(key),
        _ => None,
    };
    Marks {
        duplicate_of: (options.duplicate_of.as_ref()).map(|name| format!("t.{}", quoted(name))),
        is_unmarked: (options.unmarked()).map_or_else(String::new, |(column, test)| {
            format!("t.{} {test}", quoted(column))
        }),
        numbers: (named.into_iter().flatten()).filter_map(number).collect(),
        indexed: (options.duplicate_of.as_ref().and_then(number))
            .is_some_and(|mark| opened.has_index_on(mark)),
        names_one: key.is_some_and(|key| !opened.has_inheritors() && opened.finds_one(key)),
    }
}
