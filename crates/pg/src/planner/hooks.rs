//! How the planner calls the extension: the hook for relations, the requests to support functions,
//! and the arguments of selectivity estimators. Only the module `planner` of the extension answers
//! them. A request without an answer leaves the plan as the server makes it.

use std::sync::OnceLock;

use pgrx::pg_sys;
use pgrx::pg_sys::{NodeTag, Oid};
use pgrx::prelude::*;

use super::nodes::{NodeList, NodeRef, Planner};
use super::planned_relation::PlannedRelation;
use crate::catalog::fingerprint_index::variables;
use crate::process::compat;
use crate::process::error::Error;
use crate::sql::fmgr::Args;

/// Called for each relation of a query after the server has collected what it knows about it, and
/// before it distributes the quals. `parent` means that only the relation's children are scanned.
pub type RelationHook = fn(relation: PlannedRelation<'_>, table: Oid, parent: bool);

static HOOK: OnceLock<RelationHook> = OnceLock::new();

/// Installs `hook`, to be called after those that other libraries have installed. Later calls do
/// nothing.
pub fn on_relation(hook: RelationHook) {
    if HOOK.set(hook).is_ok() {
        compat::install_relation_hook(call);
    }
}

/// # Safety
/// The arguments must be the planner's state and a relation of its query, live during the call.
unsafe fn call(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    table: Oid,
    parent: bool,
) {
    if root.is_null() {
        return;
    }
    // SAFETY: guaranteed by the caller.
    let relation = unsafe { PlannedRelation::new(Planner::new(root), rel) };
    if let (Some(hook), Some(relation)) = (HOOK.get(), relation) {
        hook(relation, table, parent);
    }
}

/// The planner's request to a support function.
pub enum SupportRequest<'p> {
    /// Asks for another expression.
    Simplify(SimplifyRequest<'p>),
    /// Asks for an index condition.
    IndexCondition(IndexConditionRequest<'p>),
    /// Asks for a share of rows.
    Selectivity(SelectivityRequest<'p>),
    /// Another one, to which [`no_answer`] is the answer.
    Other,
}

/// A request for a simpler expression for a call of the function, or of an operator of which it is
/// the implementation.
pub struct SimplifyRequest<'p> {
    request: &'p pg_sys::SupportRequestSimplify,
}

/// A request to turn a call of the function into a condition on an indexed column.
pub struct IndexConditionRequest<'p> {
    request: &'p mut pg_sys::SupportRequestIndexCondition,
}

/// A request for the share of the rows that a call of the function keeps.
pub struct SelectivityRequest<'p> {
    request: &'p mut pg_sys::SupportRequestSelectivity,
}

/// Where a clause is estimated: on rows of one relation, or between two. Only this module makes
/// targets, of what the planner passed together.
#[derive(Clone, Copy)]
pub enum EstimateTarget<'p> {
    /// Rows of one relation.
    Scan(ScanTarget<'p>),
    /// Pairs of rows.
    Join(JoinTarget<'p>),
}

/// One relation, or several with the columns of all but one taken as fixed.
#[derive(Clone, Copy)]
pub struct ScanTarget<'p> {
    pub(super) planner: Planner<'p>,
    /// `varRelid`
    pub(super) relid: i32,
}

/// Two relations, or groups of relations.
#[derive(Clone, Copy)]
pub struct JoinTarget<'p> {
    pub(super) planner: Planner<'p>,
    pub(super) join: *mut pg_sys::SpecialJoinInfo,
    kind: pg_sys::JoinType::Type,
}

impl JoinTarget<'_> {
    /// Returns whether a row of the outer side is kept or dropped by its first match (IN, EXISTS,
    /// NOT EXISTS).
    pub fn is_semi_or_anti(self) -> bool {
        [pg_sys::JoinType::JOIN_SEMI, pg_sys::JoinType::JOIN_ANTI].contains(&self.kind)
    }
}

/// Reads the request that a support function got.
pub fn request<'p>(args: &'p Args) -> SupportRequest<'p> {
    let node: *mut pg_sys::Node = args.internal(0);
    // SAFETY: only the server's own code can pass an argument of type internal: to a support
    // function a request node, alive and exclusively ours during this call, whose tag says which
    // one it is.
    unsafe {
        match node.as_ref().map(|node| node.type_) {
            Some(NodeTag::T_SupportRequestSimplify) => SupportRequest::Simplify(SimplifyRequest {
                request: &*node.cast(),
            }),
            Some(NodeTag::T_SupportRequestIndexCondition) => {
                SupportRequest::IndexCondition(IndexConditionRequest {
                    request: &mut *node.cast(),
                })
            }
            Some(NodeTag::T_SupportRequestSelectivity) => {
                SupportRequest::Selectivity(SelectivityRequest {
                    request: &mut *node.cast(),
                })
            }
            _ => SupportRequest::Other,
        }
    }
}

impl<'p> SimplifyRequest<'p> {
    /// The planning of the query.
    pub fn planner(&self) -> Planner<'p> {
        // SAFETY: the request's planner state; null outside of a query.
        unsafe { Planner::new(self.request.root) }
    }

    /// The function that is called, or that implements the operator.
    pub fn function(&self) -> Oid {
        // SAFETY: the call lives as long as the request.
        unsafe { (*self.request.fcall).funcid }
    }

    /// Arguments of the call. The answer may contain them, but not the call itself: the server's
    /// node of it is temporary.
    pub fn args(&self) -> NodeList<'p> {
        // SAFETY: the call lives as long as the request, its arguments as long as the query's tree.
        unsafe { NodeList::new((*self.request.fcall).args) }
    }

    /// Returns an expression of a table, with variables of relation 1, for the relation of the query at
    /// this range-table index. None unless that is the table, and the columns that the expression reads
    /// are among these.
    pub fn in_terms_of(
        &self,
        expression: NodeRef<'p>,
        relid: u32,
        table: Oid,
        columns: &[i16],
    ) -> Option<NodeRef<'p>> {
        if !variables(expression)
            .iter()
            .all(|number| columns.contains(number))
        {
            return None;
        }
        // SAFETY: the planner's state, if there is one, has its query, whose range table is a list of
        // entries; the copy of the expression is ours.
        unsafe {
            let parse = self.request.root.as_ref()?.parse.as_ref()?;
            let place = (relid as usize).checked_sub(1)?;
            let entry: *const pg_sys::RangeTblEntry =
                NodeList::new(parse.rtable).get(place)?.as_ptr();
            if (*entry).rtekind != pg_sys::RTEKind::RTE_RELATION || (*entry).relid != table {
                return None;
            }
            let copy: *mut pg_sys::Node = pg_sys::copyObjectImpl(expression.as_ptr()).cast();
            pg_sys::ChangeVarNodes(copy, 1, relid as i32, 0);
            Some(self.planner().simplify(NodeRef::new(copy)?))
        }
    }

    /// Answers with an expression of the same value and type.
    pub fn answer(self, expression: NodeRef<'p>) -> pg_sys::Datum {
        pg_sys::Datum::from(expression.as_ptr::<pg_sys::Node>())
    }
}

impl<'p> IndexConditionRequest<'p> {
    /// The planning of the query.
    pub fn planner(&self) -> Planner<'p> {
        // SAFETY: the request's planner state.
        unsafe { Planner::new(self.request.root) }
    }

    /// Arguments of the call, written as function or as operator.
    pub fn args(&self) -> Option<NodeList<'p>> {
        // SAFETY: the request's clause lives as long as the request.
        unsafe { NodeRef::new(self.request.node) }?
            .as_call()
            .map(|call| call.args)
    }

    /// The function that was called, or that implements the operator.
    pub fn function(&self) -> Oid {
        self.request.funcid
    }

    /// Number of the argument that is the indexed column.
    pub fn indexed_arg(&self) -> usize {
        self.request.indexarg as usize
    }

    /// Operator family of the index's column, to which operators of the answer must belong.
    pub fn operator_family(&self) -> Oid {
        self.request.opfamily
    }

    /// Returns whether the value is fixed during one scan of the index.
    pub fn is_fixed(&self, node: NodeRef<'p>) -> bool {
        // SAFETY: live nodes of the request's query.
        unsafe {
            pg_sys::is_pseudo_constant_for_index(
                self.request.root,
                node.as_ptr(),
                self.request.index,
            )
        }
    }

    /// Answers with a condition that is equivalent to the call.
    pub fn answer(self, condition: NodeRef<'p>) -> pg_sys::Datum {
        self.request.lossy = false;
        pg_sys::Datum::from(self.planner().list(&[condition]).as_ptr())
    }
}

impl<'p> SelectivityRequest<'p> {
    /// The planning of the query.
    pub fn planner(&self) -> Planner<'p> {
        // SAFETY: the request's planner state.
        unsafe { Planner::new(self.request.root) }
    }

    /// Arguments of the call.
    pub fn args(&self) -> NodeList<'p> {
        // SAFETY: the request's list lives as long as the request.
        unsafe { NodeList::new(self.request.args) }
    }

    /// The rows of which the share is asked.
    pub fn target(&self) -> EstimateTarget<'p> {
        let planner = self.planner();
        if self.request.is_join {
            EstimateTarget::Join(JoinTarget {
                planner,
                join: self.request.sjinfo,
                kind: self.request.jointype,
            })
        } else {
            EstimateTarget::Scan(ScanTarget {
                planner,
                relid: self.request.varRelid,
            })
        }
    }

    /// Answers with a share from 0 to 1.
    pub fn answer(self, selectivity: f64) -> pg_sys::Datum {
        self.request.selectivity = selectivity;
        pg_sys::Datum::from(std::ptr::from_mut(self.request))
    }
}

/// The result of a support function that has no answer.
pub fn no_answer() -> pg_sys::Datum {
    pg_sys::Datum::from(0usize)
}

/// Arguments of an operator's restriction estimator `(root, operator, args, varRelid)`.
pub fn restriction_args<'p>(args: &'p Args) -> (Planner<'p>, NodeList<'p>, EstimateTarget<'p>) {
    let (planner, operands) = (planner_of(args), operands_of(args));
    let relid = args.get(3).unwrap_or(0);
    let target = EstimateTarget::Scan(ScanTarget { planner, relid });
    (planner, operands, target)
}

/// Arguments of an operator's join estimator `(root, operator, args, jointype, sjinfo)`.
pub fn join_args<'p>(args: &'p Args) -> (Planner<'p>, NodeList<'p>, EstimateTarget<'p>) {
    let (planner, operands) = (planner_of(args), operands_of(args));
    let kind = args
        .get::<i16>(3)
        .map_or(pg_sys::JoinType::JOIN_INNER, |kind| kind as u32);
    let join = node_of(args, 4, NodeTag::T_SpecialJoinInfo);
    let target = EstimateTarget::Join(JoinTarget {
        planner,
        join,
        kind,
    });
    (planner, operands, target)
}

fn planner_of<'p>(args: &'p Args) -> Planner<'p> {
    // SAFETY: the planner's state, which lasts during the call.
    unsafe { Planner::new(node_of(args, 0, NodeTag::T_PlannerInfo)) }
}

fn operands_of<'p>(args: &'p Args) -> NodeList<'p> {
    // SAFETY: the operands of a clause of the query that is being planned.
    unsafe { NodeList::new(node_of(args, 2, NodeTag::T_List)) }
}

/// Argument `i` of type internal as the struct that bears this tag; an ERROR when it is another
/// one. Only the server's own code can pass such an argument: to an estimator, nodes.
fn node_of<T>(args: &Args, i: usize, tag: NodeTag) -> *mut T {
    let node: *mut pg_sys::Node = args.internal(i);
    // SAFETY: null or a live node.
    if unsafe { node.as_ref() }.is_none_or(|node| node.type_ != tag) {
        let message = format!(
            "argument {} of an estimator is not a node of its type",
            i + 1
        );
        Error::new(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message).raise();
    }
    node.cast()
}
