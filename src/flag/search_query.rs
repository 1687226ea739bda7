//! The queries of a flagging trigger. Each finds one row within the radius, whichever the server
//! comes to first, but not the new row itself. None has an ORDER BY, which would read all copies of
//! a text to choose one of them, except where copies of the table on other nodes must choose the
//! same row. [`super::near_duplicate`] runs them until it has the nearest row.

use std::cell::{Cell, OnceCell};

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::columns::Columns;
use crate::trigger::call::lacks;
use simhash_pg::catalog::privilege::{SELECT, current_user, may};
use simhash_pg::catalog::table::{self, OpenTable, quoted};
use simhash_pg::spi::open_query::OpenQuery;
use simhash_pg::spi::saved_query::SavedQuery;
use simhash_pg::sql::key_type::Equality;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::flag_options::FlagOptions;

/// The row that a query finds.
#[derive(Clone, Copy)]
pub enum SearchTarget {
    /// A row within the radius.
    Any,
    /// One within the distance that the last parameter, of type int4, gives.
    Within,
    /// As `Within`, with a key that is not NULL.
    WithinNotNull,
    /// The row with the key that the last parameter gives, at whatever distance: the planner should
    /// look up the key, and not read the copies of a text.
    ByKey,
}

/// Which columns a query reads. Queries for an updated row, which is not a duplicate of its own old
/// version, read system columns, which privileges on the named columns do not cover. Marks are read
/// where the current user may: inserting requires no privilege to read them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct QueryVariant {
    pub for_update: bool,
    pub with_marks: bool,
}

/// One item for each target and each variant.
type PerVariant<T> = [[[T; 4]; 2]; 2];

fn entry<T>(all: &PerVariant<T>, target: SearchTarget, variant: QueryVariant) -> &T {
    &all[usize::from(variant.for_update)][usize::from(variant.with_marks)][target as usize]
}

/// The queries, each prepared when first needed.
pub struct SearchQueries {
    builder: QueryBuilder,
    prefers_indexes: bool,
    saved: PerVariant<OnceCell<SavedQuery>>,
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

    /// Returns whether a row that is marked as a duplicate of an equally near one is passed over in
    /// favor of that one. False where the current user may not read the marks.
    pub fn follow_marks(&self, queries: &SearchQueries) -> bool {
        let builder = &queries.builder;
        let Some(mark) = &builder.mark else {
            return false;
        };
        let user = current_user();
        match self.reads_marks.get() {
            Some((checked, reads)) if checked == user => reads,
            _ => {
                let reads = may(builder.searched, SELECT, &[mark.number]);
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
        }
    }

    /// Returns the query for the key (or 0), the distance and the mark of a row. Its parameters are
    /// those of [`QueryBuilder::types`]; with `for_update` the place of the old version; and what
    /// `target` takes.
    pub fn get(&self, target: SearchTarget, variant: QueryVariant) -> &SavedQuery {
        entry(&self.saved, target, variant).get_or_init(|| {
            let (text, types) = self.builder.query(target, variant);
            SavedQuery::new(&text, &types, self.prefers_indexes)
        })
    }
}

/// The queries' parts.
pub struct QueryBuilder {
    searched: Oid,
    /// FROM ... WHERE.
    from: String,
    distance: String,
    radius: u32,
    key: Option<KeyColumn>,
    /// The conditions of every query but the one on the old version, each after AND.
    conditions: String,
    /// Types of the parameters in `conditions`, and of the fingerprint before them.
    types: Vec<Oid>,
    /// The column of the marks, where they are followed.
    mark: Option<MarkColumn>,
    /// Whether the row with the smallest key is chosen among several.
    least_key_first: bool,
}

struct KeyColumn {
    column: String,
    equality: Equality,
    type_id: Oid,
}

impl KeyColumn {
    /// Returns the condition that a row has the key that the parameter gives.
    fn equals(&self, parameter: usize) -> String {
        (self.equality).clause(&self.column, &format!("${parameter}"))
    }
}

struct MarkColumn {
    column: String,
    number: i16,
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
        columns: &Columns,
        has_copies: bool,
    ) -> Option<Self> {
        let distance = format!(
            "simhash_catalog.distance(t.{}::pg_catalog.int8, $1)",
            quoted(&options.fingerprint)
        );
        let key = columns.key.as_ref().map(|(name, column)| {
            let type_id = column.base_type();
            let Some(equality) = Equality::for_type(type_id) else {
                lacks(call, "an equality operator", type_id);
            };
            KeyColumn {
                column: format!("t.{}", quoted(name)),
                equality,
                type_id,
            }
        });
        let mut search = Self {
            searched,
            from: format!("FROM {} AS t WHERE ", table::qualified_name(searched)?),
            distance,
            radius: options.radius,
            key,
            conditions: String::new(),
            types: vec![pg_sys::INT8OID],
            mark: followed_mark(searched, options, columns),
            least_key_first: has_copies,
        };
        search.exclude_key();
        if let Some(check) = &options.text {
            search.types.push(pg_sys::TEXTOID);
            search.conditions += &format!(
                " AND simhash_catalog.jaccard_at_least(t.{}::pg_catalog.text, ${}, \
                 '{}'::pg_catalog.float8)",
                quoted(&check.column),
                search.types.len(),
                check.min_jaccard
            );
        }
        search.conditions += &columns.scope.conditions("t.", &mut search.types);
        if let Some((column, test)) = options.original() {
            search.conditions += &format!(" AND t.{} {test}", quoted(column));
        }
        Some(search)
    }

    /// Excludes a row with the key of the new one: it is the row itself, as INSERT ... ON CONFLICT
    /// proposes it.
    fn exclude_key(&mut self) {
        let Some(key) = &self.key else {
            return;
        };
        self.types.push(key.type_id);
        // Rows whose key is NULL are compared with all rows.
        self.conditions += &format!(" AND ({}) IS NOT TRUE", key.equals(self.types.len()));
    }

    /// Returns the text of a query, and the types of its parameters.
    fn query(&self, target: SearchTarget, variant: QueryVariant) -> (String, Vec<Oid>) {
        let mut types = self.types.clone();
        let mut not_itself = String::new();
        if variant.for_update {
            types.extend([pg_sys::OIDOID, pg_sys::TIDOID]);
            let place = types.len();
            not_itself = format!(
                " AND (t.tableoid OPERATOR(pg_catalog.<>) ${} \
                 OR t.ctid OPERATOR(pg_catalog.<>) ${place})",
                place - 1
            );
        }
        let last = types.len() + 1;
        let Self { from, distance, .. } = self;
        let within = |radius: &str| format!("{distance} OPERATOR(pg_catalog.<=) {radius}");
        let found = match (target, &self.key) {
            (SearchTarget::Any, _) => within(&self.radius.to_string()),
            (SearchTarget::Within, _) => {
                types.push(pg_sys::INT4OID);
                within(&format!("${last}"))
            }
            (SearchTarget::WithinNotNull, key) => {
                types.push(pg_sys::INT4OID);
                let column = key.as_ref().map_or("0", |key| &key.column);
                format!("{} AND {column} IS NOT NULL", within(&format!("${last}")))
            }
            (SearchTarget::ByKey, Some(key)) => {
                types.push(key.type_id);
                key.equals(last)
            }
            (SearchTarget::ByKey, None) => "false".to_owned(),
        };
        let key = self.key.as_ref().map_or("0", |key| &key.column);
        let mark = self.mark.as_ref().filter(|_| variant.with_marks);
        let mark = mark.map_or(String::new(), |mark| format!(", {}", mark.column));
        let conditions = &self.conditions;
        let order = match &self.key {
            Some(key) if self.least_key_first => format!(" ORDER BY {}", key.column),
            _ => String::new(),
        };
        let text = format!(
            "SELECT {key}, {distance}{mark} {from}{found}{conditions}{not_itself}{order} LIMIT 1"
        );
        (text, types)
    }
}

/// Returns the column of `duplicate_of=` if the mark of an equally near row is followed. It is not
/// followed where only originals are compared, since no row that is found has a mark; where the key
/// is not unique, since it does not identify the row; and where no index serves, or only that of a
/// parent, since looking the row up would read whole tables.
fn followed_mark(searched: Oid, options: &FlagOptions, columns: &Columns) -> Option<MarkColumn> {
    let mark = (options.duplicate_of.as_ref()).filter(|_| !options.originals_only)?;
    let (key, _) = columns.key.as_ref()?;
    // A partition has the columns at other positions.
    let opened = OpenTable::new(searched);
    if opened.has_inheritors() {
        return None;
    }
    let number = table::column(opened.rel(), key)?.number();
    opened.finds_one(number).then_some(())?;
    Some(MarkColumn {
        column: format!("t.{}", quoted(mark)),
        number: table::column(opened.rel(), mark)?.number(),
    })
}
