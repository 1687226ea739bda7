//! The queries of a flagging trigger. Each finds one row within the radius, whichever the server
//! comes to first, but not the new row itself. None has an ORDER BY: that would read all copies of
//! a text to choose one of them. [`super::near_duplicate`] asks until it has the nearest row.

use std::cell::OnceCell;

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::columns::Columns;
use super::options::FlagOptions;
use crate::pg::catalog::privilege::{SELECT, may};
use crate::pg::catalog::table::{self, Opened, quoted};
use crate::pg::spi::held_query::HeldQuery;
use crate::pg::spi::saved_query::SavedQuery;
use crate::pg::sql::key_type::Equality;
use crate::pg::sql::trigger::TriggerCall;
use crate::trigger::call::lacks;

/// Characters of the n-grams by which texts are compared.
const NGRAM: u32 = 5;

/// What a query looks for.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// A row within the radius.
    Any,
    /// One within the distance that the last parameter, of type int4, gives.
    Within,
    /// The same of a row whose key is not NULL.
    Named,
    /// The row with the key that the last parameter gives, at whatever distance: the planner is to
    /// look up the key, not to read the copies of a text.
    WithKey,
    /// The mark of the row with that key. It is asked apart from the row: who inserts needs no right
    /// to read marks.
    MarkOf,
}

/// The queries, each prepared when first needed. Those for an updated row, which is no duplicate of
/// its own old version, read system columns, which privileges on the named columns do not cover.
pub struct SearchQueries {
    builder: QueryBuilder,
    prefers_indexes: bool,
    saved: [[OnceCell<SavedQuery>; 5]; 2],
}

/// What one statement holds open of them.
#[derive(Default)]
pub struct HeldQueries([[HeldQuery; 5]; 2]);

impl HeldQueries {
    pub fn get(&self, wanted: Wanted, of_updated: bool) -> &HeldQuery {
        &self.0[usize::from(of_updated)][wanted as usize]
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

    /// Finds the key (or 0) and the distance of a row; `MarkOf` its mark. The parameters: those of
    /// [`QueryBuilder::types`]; with `of_updated` the place of the old version; what `wanted` takes.
    pub fn get(&self, wanted: Wanted, of_updated: bool) -> &SavedQuery {
        self.saved[usize::from(of_updated)][wanted as usize].get_or_init(|| {
            let (text, types) = self.builder.query(wanted, of_updated);
            SavedQuery::new(&text, &types, self.prefers_indexes)
        })
    }

    /// Is a row that is marked as a duplicate of an equally near one passed over for that one? Not
    /// where the current user may not read the marks.
    pub fn follow_marks(&self) -> bool {
        (self.builder.mark.as_ref())
            .is_some_and(|mark| may(self.builder.searched, SELECT, &[mark.number]))
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
}

struct Key {
    column: String,
    equality: Equality,
    of_type: Oid,
}

impl Key {
    /// The condition that a row has the key that the parameter gives.
    fn is(&self, parameter: usize) -> String {
        (self.equality).clause(&self.column, &format!("${parameter}"))
    }
}

struct Mark {
    column: String,
    number: i16,
}

impl QueryBuilder {
    /// Every name is qualified, so that no search_path changes the meaning. Operands are cast to
    /// the types that our functions take, so that no overloaded function fits better. The functions
    /// are those of `simhash_catalog`, which every role may use: a user who inserts needs no rights
    /// on the schema of the extension. None when the table is gone.
    pub fn new(
        call: &TriggerCall<'_>,
        searched: Oid,
        options: &FlagOptions,
        columns: &Columns,
    ) -> Option<Self> {
        let distance = format!(
            "simhash_catalog.distance(t.{}::pg_catalog.int8, $1)",
            quoted(&options.fingerprint)
        );
        let key = columns.key.as_ref().map(|(name, column)| {
            let of_type = column.base_type();
            let Some(equality) = Equality::of(of_type) else {
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
        };
        search.exclude_key();
        if let Some(check) = &options.text {
            search.types.push(pg_sys::TEXTOID);
            search.conditions += &format!(
                " AND simhash_catalog.jaccard(t.{}::pg_catalog.text, ${}, {NGRAM}) \
                 OPERATOR(pg_catalog.>=) '{}'::pg_catalog.float8",
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

    /// A row with the key of the new one is the row itself, as INSERT ... ON CONFLICT proposes it.
    fn exclude_key(&mut self) {
        let Some(key) = &self.key else {
            return;
        };
        self.types.push(key.of_type);
        // Rows whose key is NULL are compared with all rows.
        self.conditions += &format!(" AND ({}) IS NOT TRUE", key.is(self.types.len()));
    }

    /// The text of a query, and the types of its parameters.
    fn query(&self, wanted: Wanted, of_updated: bool) -> (String, Vec<Oid>) {
        let mut types = self.types.clone();
        let mut not_itself = String::new();
        if of_updated {
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
            (Wanted::WithKey | Wanted::MarkOf, Some(key)) => {
                types.push(key.of_type);
                key.is(last)
            }
            (Wanted::WithKey | Wanted::MarkOf, None) => "false".to_owned(),
        };
        let key = self.key.as_ref().map_or("0", |key| &key.column);
        let shown = match (wanted, &self.mark) {
            (Wanted::MarkOf, Some(mark)) => mark.column.clone(),
            _ => format!("{key}, {distance}"),
        };
        let conditions = &self.conditions;
        let text = format!("SELECT {shown} {from}{found}{conditions}{not_itself} LIMIT 1");
        (text, types)
    }
}

/// The column of `duplicate_of=`, where the mark of an equally near row is followed. Where only
/// originals are compared, no row that is found has one; a key that is not unique does not say which
/// row it is; and where no index serves, or only that of a parent, to look it up would read tables.
fn followed(searched: Oid, options: &FlagOptions, columns: &Columns) -> Option<Mark> {
    let mark = (options.duplicate_of.as_ref()).filter(|_| !options.originals_only)?;
    let (key, _) = columns.key.as_ref()?;
    // A partition has the columns at other positions.
    let opened = Opened::new(searched);
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
