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

/// Characters of the n-grams by which texts are compared.
const NGRAM: u32 = 5;

/// What a query looks for.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// A row within the radius.
    Any,
    /// One within the distance that the last parameter, of type int4, gives.
    Within,
    /// Like `Within`, for a row whose key is not NULL.
    Named,
    /// The row with the key that the last parameter gives, at whatever distance: the planner should
    /// look up the key, and not read the copies of a text.
    WithKey,
}

/// The kind of reader whose query it is. Queries for an updated row, which is no duplicate of its
/// own old version, read system columns, which privileges on the named columns do not cover. Marks
/// are read where the current user may: inserting requires no privilege to read them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    pub of_updated: bool,
    pub of_marks: bool,
}

/// One item for each query and each kind of reader.
type OfEach<T> = [[[T; 4]; 2]; 2];

fn pick<T>(all: &OfEach<T>, wanted: Wanted, reader: Reader) -> &T {
    &all[usize::from(reader.of_updated)][usize::from(reader.of_marks)][wanted as usize]
}

/// The queries, each prepared when first needed.
pub struct SearchQueries {
    builder: QueryBuilder,
    prefers_indexes: bool,
    saved: OfEach<OnceCell<SavedQuery>>,
}

/// The queries that one statement holds open, and what it has found out.
#[derive(Default)]
pub struct HeldQueries {
    queries: OfEach<OpenQuery>,
    /// The user who was checked last, and whether that user may read marks.
    reads_marks: Cell<Option<(Oid, bool)>>,
}

impl HeldQueries {
    pub fn get(&self, wanted: Wanted, reader: Reader) -> &OpenQuery {
        pick(&self.queries, wanted, reader)
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
            Some((asked, reads)) if asked == user => reads,
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
    /// those of [`QueryBuilder::types`]; with `of_updated` the place of the old version; and what
    /// `wanted` takes.
    pub fn get(&self, wanted: Wanted, reader: Reader) -> &SavedQuery {
        pick(&self.saved, wanted, reader).get_or_init(|| {
            let (text, types) = self.builder.query(wanted, reader);
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
    key: Option<Key>,
    /// The conditions of every query but the one on the old version, each after AND.
    conditions: String,
    /// Types of the parameters in `conditions`, and of the fingerprint before them.
    types: Vec<Oid>,
    /// The column of the marks, where they are followed.
    mark: Option<Mark>,
    /// Whether the row with the smallest key is chosen among several.
    in_order: bool,
}

struct Key {
    column: String,
    equality: Equality,
    of_type: Oid,
}

impl Key {
    /// Returns the condition that a row has the key that the parameter gives.
    fn is(&self, parameter: usize) -> String {
        (self.equality).clause(&self.column, &format!("${parameter}"))
    }
}

struct Mark {
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
            let of_type = column.base_type();
            let Some(equality) = Equality::for_type(of_type) else {
                lacks(call, "an equality operator", of_type);
            };
            Key {
                column: format!("t.{}", quoted(name)),
                equality,
                of_type,
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
            mark: followed(searched, options, columns),
            in_order: has_copies,
        };
        search.exclude_key();
        if let Some(check) = &options.text {
            search.types.push(pg_sys::TEXTOID);
            search.conditions += &format!(
                " AND simhash_catalog.jaccard_at_least(t.{}::pg_catalog.text, ${}, {NGRAM}, \
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
        self.types.push(key.of_type);
        // Rows whose key is NULL are compared with all rows.
        self.conditions += &format!(" AND ({}) IS NOT TRUE", key.is(self.types.len()));
    }

    /// Returns the text of a query, and the types of its parameters.
    fn query(&self, wanted: Wanted, reader: Reader) -> (String, Vec<Oid>) {
        let mut types = self.types.clone();
        let mut not_itself = String::new();
        if reader.of_updated {
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
        let found = match (wanted, &self.key) {
            (Wanted::Any, _) => within(&self.radius.to_string()),
            (Wanted::Within, _) => {
                types.push(pg_sys::INT4OID);
                within(&format!("${last}"))
            }
            (Wanted::Named, key) => {
                types.push(pg_sys::INT4OID);
                let column = key.as_ref().map_or("0", |key| &key.column);
                format!("{} AND {column} IS NOT NULL", within(&format!("${last}")))
            }
            (Wanted::WithKey, Some(key)) => {
                types.push(key.of_type);
                key.is(last)
            }
            (Wanted::WithKey, None) => "false".to_owned(),
        };
        let key = self.key.as_ref().map_or("0", |key| &key.column);
        let mark = self.mark.as_ref().filter(|_| reader.of_marks);
        let mark = mark.map_or(String::new(), |mark| format!(", {}", mark.column));
        let conditions = &self.conditions;
        let order = match &self.key {
            Some(key) if self.in_order => format!(" ORDER BY {}", key.column),
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
fn followed(searched: Oid, options: &FlagOptions, columns: &Columns) -> Option<Mark> {
    let mark = (options.duplicate_of.as_ref()).filter(|_| !options.originals_only)?;
    let (key, _) = columns.key.as_ref()?;
    // A partition has the columns at other positions.
    let opened = OpenTable::new(searched);
    if opened.has_inheritors() {
        return None;
    }
    let number = table::column(opened.rel(), key)?.number();
    opened.finds_one(number).then_some(())?;
    Some(Mark {
        column: format!("t.{}", quoted(mark)),
        number: table::column(opened.rel(), mark)?.number(),
    })
}
