//! The planner's structs around expressions: the clauses of a query, its relations and their
//! indexes.
//!
//! Clauses are replaced in place. That is allowed: the planner works on a copy of the query (the
//! plan cache, cursors and EXPLAIN copy it before planning), and core itself rewrites
//! `parse->jointree` while it prepares the query.

use std::ptr::NonNull;

use pgrx::pg_sys;
use pgrx::pg_sys::{NodeTag, Oid};

use super::nodes::{NodeList, NodeRef, Planner};
use crate::catalog::fingerprint_index::{FingerprintFunction, LastKey};
use crate::catalog::lookup::{index_access_method, is_extension_access_method};

/// A relation of the query.
#[derive(Clone, Copy)]
pub struct PlannedRelation<'p> {
    pub(super) rel: NonNull<pg_sys::RelOptInfo>,
    pub(super) planner: Planner<'p>,
}

/// The last key column of an index, which is the fingerprint, and all of the index's expressions.
pub struct IndexKey<'p> {
    /// pg_am.oid.
    pub access_method: Oid,
    /// pg_opfamily.oid of the key's operator class.
    pub operator_family: Oid,
    /// What the fingerprint is.
    pub key: Indexed<'p>,
    /// Expressions and predicate of the index, in terms of the relation.
    pub expressions: Vec<NodeRef<'p>>,
}

/// The indexed column or expression.
#[derive(Clone, Copy)]
pub enum Indexed<'p> {
    /// pg_attribute.attnum.
    Column(i16),
    /// In terms of the relation.
    Expression(NodeRef<'p>),
}

/// A clause in the planner's wrapper.
#[derive(Clone, Copy)]
pub struct Restriction<'p> {
    info: NonNull<pg_sys::RestrictInfo>,
    planner: Planner<'p>,
}

/// A child of an inheritance tree or of UNION ALL, as seen from the child.
#[derive(Clone, Copy)]
pub struct AppendMember<'p> {
    /// The relation of which it is a child, at the next level.
    pub parent: PlannedRelation<'p>,
    /// For each column of the parent, the child's expression.
    pub translated: NodeList<'p>,
    info: NonNull<pg_sys::AppendRelInfo>,
}

impl<'p> PlannedRelation<'p> {
    /// None for a null pointer.
    ///
    /// # Safety
    /// `rel` is null or a relation of the query that `planner` plans.
    pub(crate) unsafe fn new(planner: Planner<'p>, rel: *mut pg_sys::RelOptInfo) -> Option<Self> {
        NonNull::new(rel).map(|rel| Self { rel, planner })
    }

    pub(crate) fn info(&self) -> &pg_sys::RelOptInfo {
        // SAFETY: live during planning (contract of `new`).
        unsafe { self.rel.as_ref() }
    }

    /// The planning of the query.
    pub fn planner(&self) -> Planner<'p> {
        self.planner
    }

    /// Index in the range table.
    pub fn relid(&self) -> u32 {
        self.info().relid
    }

    /// Returns whether the query names it, as opposed to a child of what it names.
    pub fn is_base(&self) -> bool {
        self.info().reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL
    }

    /// The indexes that the planner may use for this relation.
    pub fn indexes(&self) -> Vec<IndexKey<'p>> {
        // SAFETY: the list holds IndexOptInfo nodes, live during planning.
        unsafe {
            NodeList::new(self.info().indexlist)
                .iter()
                .filter_map(|node| index_key_of_plan(&*node.as_ptr::<pg_sys::IndexOptInfo>()))
                .collect()
        }
    }

    /// The same for an inheritance parent, whose indexes the planner does not list on every major.
    /// Reads them only if one belongs to an extension, and most parents have none such.
    pub fn parent_indexes(&self, table: Oid, function: FingerprintFunction) -> Vec<IndexKey<'p>> {
        let indexes = index_oids(table);
        let of_extension =
            |&index: &Oid| index_access_method(index).is_some_and(is_extension_access_method);
        if !indexes.iter().any(of_extension) {
            return Vec::new();
        }
        let key = |index| {
            // SAFETY: an index of a table on which the planner holds a lock.
            unsafe { index_key_of_catalog(self.planner, index, self.relid(), table, function) }
        };
        indexes.into_iter().filter_map(key).collect()
    }

    /// Calls `rewrite` with the list of conjuncts of each WHERE and ON clause of the query, and
    /// puts the list that it returns, if any, in its place.
    pub fn rewrite_quals(&self, rewrite: &dyn Fn(NodeList<'p>) -> Option<NodeList<'p>>) {
        // SAFETY: the planner state is live; a root made for CREATE INDEX or CLUSTER has no join
        // tree, and one without any query is skipped.
        unsafe {
            let root = self.planner.root;
            if !root.is_null() && !(*root).parse.is_null() {
                rewrite_join_tree((*(*root).parse).jointree.cast(), rewrite);
            }
        }
    }

    /// The same for the quals of row security and security barriers on this relation.
    pub fn rewrite_security_quals(&self, rewrite: &dyn Fn(NodeList<'p>) -> Option<NodeList<'p>>) {
        // SAFETY: simple_rte_array has an entry for every relation that was built; securityQuals is
        // a list of lists of conjuncts.
        unsafe {
            let entries = (*self.planner.root).simple_rte_array;
            if entries.is_null() {
                return;
            }
            let levels = (**entries.add(self.relid() as usize)).securityQuals;
            let count = NodeList::new(levels).len();
            for i in 0..count {
                let cell = (*levels).elements.add(i);
                if let Some(new) = rewrite_conjuncts((*cell).ptr_value.cast(), rewrite) {
                    (*cell).ptr_value = new.cast();
                }
            }
        }
    }

    /// The parent of this relation, and how it maps to it; None when it is not a child.
    pub fn append_member(&self) -> Option<AppendMember<'p>> {
        // SAFETY: both arrays are indexed by range-table index; the first is null in a query
        // without children.
        unsafe {
            let root = self.planner.root;
            if (*root).append_rel_array.is_null() {
                return None;
            }
            let info = NonNull::new(*(*root).append_rel_array.add(self.relid() as usize))?;
            let append = info.as_ref();
            let parent = *(*root).simple_rel_array.add(append.parent_relid as usize);
            Some(AppendMember {
                parent: PlannedRelation::new(self.planner, parent)?,
                translated: NodeList::new(append.translated_vars),
                info,
            })
        }
    }

    /// Clauses on this relation alone.
    pub fn restrictions(&self) -> Vec<Restriction<'p>> {
        self.restrictions_of(self.info().baserestrictinfo)
    }

    /// Clauses that join this relation to others, except those of equivalence classes.
    pub fn join_restrictions(&self) -> Vec<Restriction<'p>> {
        self.restrictions_of(self.info().joininfo)
    }

    fn restrictions_of(&self, list: *mut pg_sys::List) -> Vec<Restriction<'p>> {
        // SAFETY: a list of the planner's, live during planning.
        let list = unsafe { NodeList::new(list) };
        let wrap = |info| Restriction {
            info,
            planner: self.planner,
        };
        list.iter()
            .filter_map(NodeRef::as_restriction)
            .map(wrap)
            .collect()
    }
}

impl<'p> AppendMember<'p> {
    /// An expression in the parent's columns, in terms of the child.
    pub fn in_terms_of_child(&self, node: NodeRef<'p>) -> Option<NodeRef<'p>> {
        // SAFETY: the planner's own structs; the result is a copy.
        unsafe {
            let root = self.parent.planner.root;
            let mut info = self.info.as_ptr();
            NodeRef::new(pg_sys::adjust_appendrel_attrs(
                root,
                node.as_ptr(),
                1,
                &mut info,
            ))
        }
    }
}

impl<'p> Restriction<'p> {
    /// The clause that the planner evaluates.
    pub fn clause(&self) -> Option<NodeRef<'p>> {
        // SAFETY: live during planning.
        unsafe { NodeRef::new((*self.info.as_ptr()).clause) }
    }

    /// Puts an equivalent clause in the place of this one, and resets what the planner has cached
    /// of it.
    pub fn replace_clause(&self, clause: NodeRef<'p>) {
        // SAFETY: live during planning, and no reference to it is held. Nothing else caches what is
        // cleared here: negative costs and selectivities mean 'not computed yet'.
        unsafe {
            let info = self.info.as_ptr();
            (*info).clause = clause.as_ptr();
            (*info).eval_cost.startup = -1.0;
            (*info).norm_selec = -1.0;
            (*info).outer_selec = -1.0;
            (*info).can_join = false;
            (*info).left_relids = std::ptr::null_mut();
            (*info).right_relids = std::ptr::null_mut();
        }
    }

    /// The wrapped clauses at the leaves of an OR clause.
    pub fn or_leaves(&self) -> Vec<Restriction<'p>> {
        let mut leaves = Vec::new();
        // SAFETY: live during planning.
        if let Some(or) = unsafe { NodeRef::new((*self.info.as_ptr()).orclause) } {
            self.collect_leaves(or, &mut leaves);
        }
        leaves
    }

    fn collect_leaves(&self, node: NodeRef<'p>, leaves: &mut Vec<Restriction<'p>>) {
        use super::nodes::Connective::{And, Or};
        if let Some(info) = node.as_restriction() {
            let leaf = Restriction {
                info,
                planner: self.planner,
            };
            let nested = leaf.or_leaves();
            leaves.push(leaf);
            leaves.extend(nested);
        } else if let Some(And(args) | Or(args)) = node.as_connective() {
            args.iter().for_each(|arg| self.collect_leaves(arg, leaves));
        }
    }
}

/// All indexes of a table that is being planned.
fn index_oids(table: Oid) -> Vec<Oid> {
    // SAFETY: the planner holds a lock on the table since the query was parsed or revalidated; the
    // list is a copy of the relcache's.
    unsafe {
        let rel = pg_sys::table_open(table, pg_sys::NoLock as i32);
        let list = pg_sys::RelationGetIndexList(rel);
        let count = NodeList::new(list).len();
        let oids = (0..count)
            .map(|i| (*(*list).elements.add(i)).oid_value)
            .collect();
        pg_sys::list_free(list);
        pg_sys::table_close(rel, pg_sys::NoLock as i32);
        oids
    }
}

/// # Safety
/// `index` is an index of a relation that is being planned.
unsafe fn index_key_of_plan<'p>(index: &pg_sys::IndexOptInfo) -> Option<IndexKey<'p>> {
    // SAFETY: the arrays have an element for each key column; the expressions live as long as the
    // planning.
    unsafe {
        let last = index.nkeycolumns as usize - 1;
        let columns = std::slice::from_raw_parts(index.indexkeys, last + 1);
        let columns: Vec<i16> = columns.iter().map(|column| *column as i16).collect();
        let expressions = NodeList::new(index.indexprs);
        let predicate = NodeList::new(index.indpred);
        Some(IndexKey {
            access_method: index.relam,
            operator_family: *index.opfamily.add(last),
            key: last_key(&columns, expressions)?,
            expressions: expressions.iter().chain(predicate.iter()).collect(),
        })
    }
}

/// # Safety
/// `index` is an index of the table at range-table index `relid`, on which the planner holds a
/// lock.
unsafe fn index_key_of_catalog<'p>(
    planner: Planner<'p>,
    index: Oid,
    relid: u32,
    table: Oid,
    function: FingerprintFunction,
) -> Option<IndexKey<'p>> {
    // SAFETY: the index is open while its relcache entry is read; its expressions are copied into
    // the planner's memory context before it is closed. The lock is kept, as the planner does.
    unsafe {
        let rel = pg_sys::index_open(index, pg_sys::AccessShareLock as i32);
        let expressions = in_terms_of(planner, pg_sys::RelationGetIndexExpressions(rel), relid);
        let predicate = in_terms_of(planner, pg_sys::RelationGetIndexPredicate(rel), relid);
        let count = (*(*rel).rd_index).indnkeyatts as usize;
        let columns = (*(*rel).rd_index).indkey.values.as_slice(count);
        let (family, class_type) = (
            *(*rel).rd_opfamily.add(count - 1),
            *(*rel).rd_opcintype.add(count - 1),
        );
        let made = LastKey {
            number: columns[count - 1],
            expression: expressions.iter().last(),
            made_by: function((*(*rel).rd_rel).relam, family, class_type),
        };
        let made = made.made(planner, table, relid);
        let key = made.map(Indexed::Expression);
        let found = key
            .or_else(|| last_key(columns, expressions))
            .map(|key| IndexKey {
                access_method: (*(*rel).rd_rel).relam,
                operator_family: *(*rel).rd_opfamily.add(count - 1),
                key,
                expressions: expressions.iter().chain(predicate.iter()).collect(),
            });
        pg_sys::index_close(rel, pg_sys::NoLock as i32);
        found
    }
}

/// Index expressions as the planner has them: they are stored as if their table were the first of
/// the query, and simplified as far as that goes without the query.
///
/// # Safety
/// `list` is a copy of the relcache's expressions.
unsafe fn in_terms_of<'p>(
    planner: Planner<'p>,
    list: *mut pg_sys::List,
    relid: u32,
) -> NodeList<'p> {
    // SAFETY: a list of expressions without other references (contract).
    unsafe {
        if relid != 1 && !list.is_null() {
            pg_sys::ChangeVarNodes(list.cast(), 1, relid as i32, 0);
        }
        let nodes: Vec<_> = NodeList::new(list).iter().collect();
        planner.list(
            &nodes
                .iter()
                .map(|node| planner.simplify(*node))
                .collect::<Vec<_>>(),
        )
    }
}

/// The last of an index's key columns, which is the fingerprint: column numbers, with 0 for each of
/// the index's expressions.
fn last_key<'p>(columns: &[i16], expressions: NodeList<'p>) -> Option<Indexed<'p>> {
    let (last, before) = columns.split_last()?;
    if *last != 0 {
        return Some(Indexed::Column(*last));
    }
    let number = before.iter().filter(|column| **column == 0).count();
    expressions.get(number).map(Indexed::Expression)
}

/// # Safety
/// `node` is null or a node of a live join tree.
unsafe fn rewrite_join_tree<'p>(
    node: *mut pg_sys::Node,
    rewrite: &dyn Fn(NodeList<'p>) -> Option<NodeList<'p>>,
) {
    // SAFETY: the tag says which struct it is; quals are lists of conjuncts since the query was
    // preprocessed.
    unsafe {
        let Some(tag) = node.as_ref().map(|node| node.type_) else {
            return;
        };
        pg_sys::check_stack_depth();
        let quals = match tag {
            NodeTag::T_FromExpr => {
                let from: *mut pg_sys::FromExpr = node.cast();
                for child in NodeList::new((*from).fromlist).iter() {
                    rewrite_join_tree(child.as_ptr(), rewrite);
                }
                &mut (*from).quals
            }
            NodeTag::T_JoinExpr => {
                let join: *mut pg_sys::JoinExpr = node.cast();
                rewrite_join_tree((*join).larg, rewrite);
                rewrite_join_tree((*join).rarg, rewrite);
                &mut (*join).quals
            }
            _ => return,
        };
        if let Some(new) = rewrite_conjuncts(*quals, rewrite) {
            *quals = new.cast();
        }
    }
}

/// # Safety
/// `quals` is null or a live list of conjuncts.
unsafe fn rewrite_conjuncts<'p>(
    quals: *mut pg_sys::Node,
    rewrite: &dyn Fn(NodeList<'p>) -> Option<NodeList<'p>>,
) -> Option<*mut pg_sys::List> {
    // SAFETY: the tag says whether it is a list (contract).
    unsafe {
        let is_list = quals
            .as_ref()
            .is_some_and(|node| node.type_ == NodeTag::T_List);
        is_list
            .then(|| NodeList::new(quals.cast()))
            .and_then(rewrite)
            .map(NodeList::as_ptr)
    }
}
