//! The indexes of a table: which are unique, and which serve a query. The triggers and the refresh
//! of clusters call it. Indexes that queries may not use serve nothing, but `serving_index` names
//! one that is not valid.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::lookup::string;
use super::table::{OpenTable, column};
use super::table_name::identifier;
use crate::nodes::NodeList;

struct Index {
    oid: Oid,
    /// Whether queries may use it.
    valid: bool,
    /// The columns' numbers, 0 for an expression.
    keys: Vec<i16>,
    access_method: Oid,
    primary: bool,
    unique: bool,
    /// Whether the first column has the same collation in the index as in the table.
    usual_collation: bool,
    /// Whether uniqueness is checked when a row is stored (the constraint is not deferrable).
    immediate: bool,
    partial: bool,
}

impl OpenTable {
    fn index(index: Oid) -> Option<Index> {
        let access_method = super::lookup::index_access_method(index)?;
        // SAFETY: the row is read before it is released; `indkey` has `indnkeyatts` numbers at
        // least.
        unsafe {
            let cache = pg_sys::SysCacheIdentifier::INDEXRELID as i32;
            let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(index));
            if row.is_null() {
                return None;
            }
            let form: *const pg_sys::FormData_pg_index = pg_sys::GETSTRUCT(row).cast();
            let keys = (*form).indkey.values.as_slice((*form).indnkeyatts as usize);
            let predicate = i32::from(pg_sys::Anum_pg_index_indpred as i16);
            let whole = pg_sys::heap_attisnull(row, predicate, std::ptr::null_mut());
            let usual_collation = first_collation(row) == column_collation(&*form);
            let found = Index {
                oid: index,
                valid: (*form).indisvalid,
                usual_collation,
                keys: keys.to_vec(),
                access_method,
                primary: (*form).indisprimary,
                unique: (*form).indisunique,
                immediate: (*form).indimmediate,
                partial: !whole,
            };
            pg_sys::ReleaseSysCache(row);
            Some(found)
        }
    }

    /// The indexes that queries may use.
    fn indexes(&self) -> impl Iterator<Item = Index> {
        self.all_indexes().filter(|index| index.valid)
    }

    fn all_indexes(&self) -> impl Iterator<Item = Index> {
        // SAFETY: the relation is open; the list is a copy, of OIDs.
        let indexes: Vec<Oid> = unsafe {
            let list = pg_sys::RelationGetIndexList(self.0);
            let count = list.as_ref().map_or(0, |list| list.length);
            (0..count).map(|i| pg_sys::list_nth_oid(list, i)).collect()
        };
        indexes.into_iter().filter_map(OpenTable::index)
    }

    /// The predicate of a partial index as SQL text, in parentheses.
    fn predicate(&self, index: &Index) -> Option<String> {
        let node = stored_tree(index.oid, pg_sys::Anum_pg_index_indpred as i16)?;
        // SAFETY: a node tree whose variables are of this open relation.
        unsafe {
            let name = (*(*self.0).rd_rel).relname.data.as_ptr();
            let context = pg_sys::deparse_context_for(name, self.rel().oid());
            string(pg_sys::deparse_expression(
                node.cast(),
                context,
                false,
                false,
            ))
        }
    }

    /// Returns whether tables other than partitions inherit from it.
    pub fn has_inheritors(&self) -> bool {
        // SAFETY: the relation is open.
        let form = unsafe { &*(*self.0).rd_rel };
        form.relhassubclass && !self.is_partitioned()
    }

    fn is_partitioned(&self) -> bool {
        // SAFETY: the relation is open.
        unsafe { (*(*self.0).rd_rel).relkind as u8 == pg_sys::RELKIND_PARTITIONED_TABLE }
    }

    /// Returns None when no index makes the column unique by itself; else, whether all that do
    /// check at once (are not deferrable), as ON CONFLICT (column) requires.
    pub fn uniqueness(&self, column: i16) -> Option<bool> {
        self.indexes()
            .filter(|index| index.unique && !index.partial && index.keys == [column])
            .map(|index| index.immediate)
            .reduce(|all, immediate| all && immediate)
    }

    /// Returns whether no two rows can have the same values in the columns of these names: an index of
    /// them, or of some of them, checks each row when it is stored, as ON CONFLICT requires.
    pub fn are_unique<'n>(&self, names: impl Iterator<Item = &'n String>) -> bool {
        let number = |name: &String| Some(column(self.rel(), name)?.number());
        let columns: Vec<i16> = names.filter_map(number).collect();
        self.indexes().any(|index| {
            let is_within = || index.keys.iter().all(|key| columns.contains(key));
            index.unique && index.immediate && !index.partial && is_within()
        })
    }
}

impl OpenTable {
    /// Returns whether this is the first column of an index.
    pub fn has_index_on(&self, column: i16) -> bool {
        self.indexes()
            .any(|index| index.keys.first() == Some(&column))
    }

    /// Returns whether a unique index finds the row that has a value in this column, by the
    /// equality of the column's own collation. That of a partitioned table has the columns of its
    /// partition key too.
    pub fn finds_one(&self, column: i16) -> bool {
        let is_partitioned = self.is_partitioned();
        self.indexes().any(|index| {
            let is_its = index.keys.len() == 1 || is_partitioned;
            index.unique
                && !index.partial
                && index.usual_collation
                && is_its
                && index.keys.starts_with(&[column])
        })
    }
}

/// What pg_index has in an attribute for node trees, in the current memory context.
fn stored_tree(index: Oid, attribute: i16) -> Option<*mut std::ffi::c_void> {
    let cache = pg_sys::SysCacheIdentifier::INDEXRELID as i32;
    let mut null = false;
    // SAFETY: the tree is copied before the row is released.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(index));
        if row.is_null() {
            return None;
        }
        let stored = pg_sys::SysCacheGetAttr(cache, row, attribute, &mut null);
        let tree = (!null).then(|| pg_sys::text_to_cstring(stored.cast_mut_ptr()));
        pg_sys::ReleaseSysCache(row);
        Some(pg_sys::stringToNode(tree?).cast())
    }
}

/// The column and the subscript of an index whose last key is an element of an array.
fn last_element(index: &Index) -> Option<(i16, i64)> {
    if index.keys.last() != Some(&0) {
        return None;
    }
    let trees = stored_tree(index.oid, pg_sys::Anum_pg_index_indexprs as i16)?;
    // SAFETY: the list of the index's expressions, in the order of its keys.
    let trees = unsafe { NodeList::new(trees.cast()) };
    let (array, subscript) = trees.iter().last()?.as_element()?;
    let (_, column) = array.strip_relabel().as_column()?;
    Some((column, subscript))
}

/// The collation of an index's first column.
///
/// # Safety
/// `row` must be a row of pg_index.
unsafe fn first_collation(row: pg_sys::HeapTuple) -> Oid {
    let mut null = false;
    // SAFETY: guaranteed by the caller; the column is never null, and has an element for each key.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::INDEXRELID as i32;
        let attribute = pg_sys::Anum_pg_index_indcollation as i16;
        let collations = pg_sys::SysCacheGetAttr(cache, row, attribute, &mut null);
        let collations: *const pg_sys::oidvector = collations.cast_mut_ptr();
        (*collations).values.as_slice(1)[0]
    }
}

/// The collation of the column that is an index's first; none for an expression.
fn column_collation(form: &pg_sys::FormData_pg_index) -> Oid {
    let (mut of_type, mut modifier, mut collation) = (Oid::INVALID, 0, Oid::INVALID);
    // SAFETY: an index has a key; a look-up by number, which a valid index's column has.
    unsafe {
        let number = form.indkey.values.as_slice(1)[0];
        if number > 0 {
            let table = form.indrelid;
            pg_sys::get_atttypetypmodcoll(
                table,
                number,
                &mut of_type,
                &mut modifier,
                &mut collation,
            );
        }
    }
    collation
}

/// The columns of the primary key; none without one.
pub fn primary_key(table: Oid) -> Vec<String> {
    // The server's own look-up leaves out deferrable ones on older majors.
    let index = OpenTable::new(table).indexes().find(|index| index.primary);
    let numbers = index.map_or(Vec::new(), |index| index.keys);
    // SAFETY: a syscache look-up.
    let name = |number| unsafe { string(pg_sys::get_attname(table, number, true)) };
    numbers.into_iter().filter_map(name).collect()
}

/// The query that an index is to serve.
pub struct Serving<'a> {
    /// Its name, as in CREATE INDEX ... USING.
    pub access_method: &'a str,
    /// Its last column.
    pub column: &'a str,
    /// Its other columns are among these, to each of which the query gives a value.
    pub pinned: &'a [&'a str],
    /// It holds all rows, or those that meet this condition of the query: a column, and a test as
    /// the server writes it.
    pub condition: Option<(&'a str, &'a str)>,
}

/// An index that serves a query, or would if it were valid.
pub struct ServingIndex {
    /// Its OID.
    pub index: Oid,
    /// pg_index.indisvalid: whether plans may use it.
    pub valid: bool,
}

/// The table's index that serves the query: a valid one, if there is one.
pub fn serving_index(table: Oid, query: &Serving<'_>) -> Option<ServingIndex> {
    let serving = serving(table, query, |column, index| {
        index.keys.last() == Some(&column)
    });
    serving
        .max_by_key(|index| index.valid)
        .map(|index| ServingIndex {
            index: index.oid,
            valid: index.valid,
        })
}

/// The subscripts of the elements of an array column on which valid indexes serve the query,
/// ascending.
pub fn served_elements(table: Oid, query: &Serving<'_>) -> Vec<i64> {
    let is_of = |column, index: &Index| last_element(index).is_some_and(|(of, _)| of == column);
    let mut elements: Vec<i64> = serving(table, query, is_of)
        .filter(|index| index.valid)
        .filter_map(|index| Some(last_element(&index)?.1))
        .collect();
    elements.sort_unstable();
    elements.dedup();
    elements
}

/// The table's indexes that serve the query, given a test of their last key.
fn serving(
    table: Oid,
    query: &Serving<'_>,
    is_last: impl Fn(i16, &Index) -> bool,
) -> impl Iterator<Item = Index> {
    let opened = OpenTable::new(table);
    let number = |name: &str| column(opened.rel(), name).map(|column| column.number());
    let column = number(query.column);
    let pinned: Vec<i16> = (query.pinned.iter().filter_map(|name| number(name))).collect();
    let condition =
        (query.condition).map(|(column, test)| format!("({} {test})", identifier(column)));
    let serves = |index: &Index| {
        // SAFETY: a syscache look-up.
        let method = unsafe { string(pg_sys::get_am_name(index.access_method)) };
        method.as_deref() == Some(query.access_method)
            && column.is_some_and(|column| is_last(column, index))
            && (index.keys.split_last())
                .is_some_and(|(_, before)| before.iter().all(|key| pinned.contains(key)))
            && (!index.partial || condition.is_some() && opened.predicate(index) == condition)
    };
    let all: Vec<Index> = opened.all_indexes().filter(serves).collect();
    all.into_iter()
}

/// Returns whether it is an index of a partitioned table, which has no pages of its own.
pub fn is_partitioned_index(index: Oid) -> bool {
    // SAFETY: a syscache look-up.
    let kind = unsafe { pg_sys::get_rel_relkind(index) } as u8;
    kind == pg_sys::RELKIND_PARTITIONED_INDEX
}
