//! Expression trees of a query that is being planned: reading them. [`super::builder`] makes new
//! nodes.
//!
//! Everything here lives as long as the planning of one query (`'p`): the trees, and the nodes that
//! [`Planner`] makes, are in the planner's memory context. Nothing here knows what a fingerprint
//! is.

use std::marker::PhantomData;
use std::ptr::NonNull;

use pgrx::pg_sys;
use pgrx::pg_sys::{NodeTag, Oid};

use crate::process::backend::check_stack_depth;

/// The planning of one query: where new nodes are allocated, and what `'p` stands for.
#[derive(Clone, Copy)]
pub struct Planner<'p> {
    /// The server's state; null outside of a query.
    pub root: *mut pg_sys::PlannerInfo,
    planning: PhantomData<&'p ()>,
}

/// One node of an expression tree.
#[derive(Clone, Copy)]
pub struct NodeRef<'p> {
    node: NonNull<pg_sys::Node>,
    planning: PhantomData<&'p ()>,
}

/// A list of nodes; the server's NIL is the empty list.
#[derive(Clone, Copy)]
pub struct NodeList<'p> {
    list: *mut pg_sys::List,
    planning: PhantomData<&'p ()>,
}

/// A call of a function, written as such or as an operator.
pub struct FunctionCall<'p> {
    /// pg_proc.oid, of an operator too.
    pub function: Oid,
    /// Type of the result.
    pub result_type: Oid,
    /// One or two operands of an operator, or the arguments of the function.
    pub args: NodeList<'p>,
}

/// `left operator right`.
pub struct BinaryOperator<'p> {
    /// pg_operator.oid.
    pub operator: Oid,
    /// The left operand.
    pub left: NodeRef<'p>,
    /// The right operand.
    pub right: NodeRef<'p>,
}

/// AND or OR of several arms.
pub enum Connective<'p> {
    /// All arms must hold.
    And(NodeList<'p>),
    /// One arm must hold.
    Or(NodeList<'p>),
}

impl<'p> NodeRef<'p> {
    /// None for a null pointer.
    ///
    /// # Safety
    /// `node` is null or points to a node that outlives `'p`.
    pub unsafe fn new<T>(node: *mut T) -> Option<Self> {
        NonNull::new(node.cast()).map(|node| Self {
            node,
            planning: PhantomData,
        })
    }

    /// The server's node.
    pub fn as_ptr<T>(self) -> *mut T {
        self.node.as_ptr().cast()
    }

    /// The node as its own struct, if it bears that struct's tag.
    fn cast<T>(self, tag: NodeTag) -> Option<&'p T> {
        // SAFETY: the node outlives 'p (contract of `new`), and its tag says which struct it is;
        // each caller in this file pairs the tag with its struct.
        unsafe { (self.node.as_ref().type_ == tag).then(|| self.node.cast().as_ref()) }
    }

    /// A function call or an operator, whatever its number of arguments.
    pub fn as_call(self) -> Option<FunctionCall<'p>> {
        if let Some(op) = self.cast::<pg_sys::OpExpr>(NodeTag::T_OpExpr) {
            return Some(FunctionCall {
                function: op.opfuncid,
                result_type: op.opresulttype,
                args: NodeList::from_raw(op.args),
            });
        }
        let call = self.cast::<pg_sys::FuncExpr>(NodeTag::T_FuncExpr)?;
        Some(FunctionCall {
            function: call.funcid,
            result_type: call.funcresulttype,
            args: NodeList::from_raw(call.args),
        })
    }

    /// The node as an operator with two operands.
    pub fn as_binary_operator(self) -> Option<BinaryOperator<'p>> {
        let op = self.cast::<pg_sys::OpExpr>(NodeTag::T_OpExpr)?;
        let [left, right] = NodeList::from_raw(op.args).as_array()?;
        Some(BinaryOperator {
            operator: op.opno,
            left,
            right,
        })
    }

    /// The node as AND or OR; NOT is neither.
    pub fn as_connective(self) -> Option<Connective<'p>> {
        let bool_expr = self.cast::<pg_sys::BoolExpr>(NodeTag::T_BoolExpr)?;
        let args = NodeList::from_raw(bool_expr.args);
        match bool_expr.boolop {
            pg_sys::BoolExprType::AND_EXPR => Some(Connective::And(args)),
            pg_sys::BoolExprType::OR_EXPR => Some(Connective::Or(args)),
            _ => None,
        }
    }

    /// Range-table index and column number of a column of this query level.
    pub fn as_column(self) -> Option<(u32, i16)> {
        let var = self.cast::<pg_sys::Var>(NodeTag::T_Var)?;
        (var.varlevelsup == 0).then_some((var.varno as u32, var.varattno))
    }

    /// The array and the subscript of `array[subscript]` with a constant subscript.
    pub fn as_element(self) -> Option<(NodeRef<'p>, i64)> {
        let element = self.cast::<pg_sys::SubscriptingRef>(NodeTag::T_SubscriptingRef)?;
        if !element.reflowerindexpr.is_null() || !element.refassgnexpr.is_null() {
            return None;
        }
        let [subscript] = NodeList::from_raw(element.refupperindexpr).as_array()?;
        // SAFETY: a part of the tree lives as long as the tree.
        let array = unsafe { NodeRef::new(element.refexpr) }?;
        Some((array, subscript.as_integer()?))
    }

    /// The expression of a column that a plan or a query returns.
    pub(crate) fn as_target(self) -> Option<NodeRef<'p>> {
        let target = self.cast::<pg_sys::TargetEntry>(NodeTag::T_TargetEntry)?;
        // SAFETY: a part of the tree lives as long as the tree.
        unsafe { NodeRef::new(target.expr) }
    }

    /// Returns the argument of an `IS NOT NULL` test; None when this is another test.
    pub(crate) fn as_not_null_test(self) -> Option<NodeRef<'p>> {
        let test = self.cast::<pg_sys::NullTest>(NodeTag::T_NullTest)?;
        let is_this = test.nulltesttype == pg_sys::NullTestType::IS_NOT_NULL && !test.argisrow;
        // SAFETY: a part of the tree lives as long as the tree.
        is_this.then(|| unsafe { NodeRef::new(test.arg) })?
    }

    /// Returns whether this is a constant, NULL included.
    pub fn is_constant(self) -> bool {
        self.cast::<pg_sys::Const>(NodeTag::T_Const).is_some()
    }

    /// Type and value of a constant; None when it is NULL or no constant.
    pub fn as_constant(self) -> Option<(Oid, pg_sys::Datum)> {
        let constant = self.cast::<pg_sys::Const>(NodeTag::T_Const)?;
        (!constant.constisnull).then_some((constant.consttype, constant.constvalue))
    }

    /// The value of a constant of type oid.
    pub fn as_oid(self) -> Option<Oid> {
        let (type_id, value) = self.as_constant()?;
        (type_id == pg_sys::OIDOID).then(|| Oid::from_u32(value.value() as u32))
    }

    /// The value of a constant of type smallint, integer or bigint.
    pub fn as_integer(self) -> Option<i64> {
        let (type_oid, value) = self.as_constant()?;
        match type_oid {
            pg_sys::INT2OID => Some(i64::from(value.value() as i16)),
            pg_sys::INT4OID => Some(i64::from(value.value() as i32)),
            pg_sys::INT8OID => Some(value.value() as i64),
            _ => None,
        }
    }

    /// The bytes of a constant of a type of N bytes that is passed by reference.
    pub fn as_by_reference<const N: usize>(self) -> Option<[u8; N]> {
        let constant = self.cast::<pg_sys::Const>(NodeTag::T_Const)?;
        let fits = !constant.constisnull
            && !constant.constbyval
            && usize::try_from(constant.constlen) == Ok(N);
        // SAFETY: a by-reference value of length N is N bytes long.
        fits.then(|| unsafe { constant.constvalue.cast_mut_ptr::<[u8; N]>().read() })
    }

    /// Without the casts that only relabel the type (domains, binary-coercible types).
    pub fn strip_relabel(self) -> Self {
        let mut node = self;
        while let Some(relabel) = node.cast::<pg_sys::RelabelType>(NodeTag::T_RelabelType) {
            // SAFETY: a part of the tree lives as long as the tree.
            match unsafe { NodeRef::new(relabel.arg) } {
                Some(arg) => node = arg,
                None => break,
            }
        }
        node
    }

    /// Type of the expression's value.
    pub fn result_type(self) -> Oid {
        // SAFETY: the node is a live expression.
        unsafe { pg_sys::exprType(self.as_ptr()) }
    }

    /// Structural equality, as the planner matches expressions.
    pub fn equals(self, other: NodeRef<'p>) -> bool {
        // SAFETY: both are live nodes.
        unsafe { pg_sys::equal(self.as_ptr(), other.as_ptr()) }
    }

    /// Returns whether it calls a volatile function.
    pub fn is_volatile(self) -> bool {
        // SAFETY: the node is a live expression.
        unsafe { pg_sys::contain_volatile_functions(self.as_ptr()) }
    }

    /// Returns whether it contains a subquery, planned or not.
    pub fn contains_subplan(self) -> bool {
        // SAFETY: the node is a live expression.
        unsafe { pg_sys::contain_subplans(self.as_ptr()) }
    }

    /// Calls `visit` with each node of this tree, the root included. Descends through the nodes of
    /// which constraints and clauses consist: connectives, NOT, calls, IN, IS NULL and relabelling
    /// casts.
    pub fn visit(self, visit: &mut dyn FnMut(NodeRef<'p>)) {
        check_stack_depth();
        visit(self);
        if let Some(arg) = self.only_child() {
            return arg.visit(visit);
        }
        self.children().iter().for_each(|child| child.visit(visit));
    }

    fn children(self) -> NodeList<'p> {
        if let Some(call) = self.as_call() {
            return call.args;
        }
        if let Some(bool_expr) = self.cast::<pg_sys::BoolExpr>(NodeTag::T_BoolExpr) {
            return NodeList::from_raw(bool_expr.args);
        }
        if let Some(any) = self.cast::<pg_sys::ScalarArrayOpExpr>(NodeTag::T_ScalarArrayOpExpr) {
            return NodeList::from_raw(any.args);
        }
        NodeList::from_raw(std::ptr::null_mut())
    }

    fn only_child(self) -> Option<NodeRef<'p>> {
        let arg = if let Some(test) = self.cast::<pg_sys::NullTest>(NodeTag::T_NullTest) {
            test.arg
        } else if let Some(test) = self.cast::<pg_sys::BooleanTest>(NodeTag::T_BooleanTest) {
            test.arg
        } else {
            self.cast::<pg_sys::RelabelType>(NodeTag::T_RelabelType)?
                .arg
        };
        // SAFETY: a part of the tree lives as long as the tree.
        unsafe { NodeRef::new(arg) }
    }
}

impl<'p> NodeList<'p> {
    /// # Safety
    /// `list` is NIL or a list of nodes that outlives `'p`.
    pub unsafe fn new(list: *mut pg_sys::List) -> Self {
        Self::from_raw(list)
    }

    /// A list inside a node that outlives `'p`.
    pub(super) fn from_raw(list: *mut pg_sys::List) -> Self {
        Self {
            list,
            planning: PhantomData,
        }
    }

    /// The server's list.
    pub fn as_ptr(self) -> *mut pg_sys::List {
        self.list
    }

    /// Number of cells, null ones included.
    pub fn len(self) -> usize {
        if self.list.is_null() {
            return 0;
        }
        // SAFETY: a non-null list is live (contract of `new`).
        unsafe { (*self.list).length as usize }
    }

    /// The node in cell `i`; None beyond the end and for a null cell.
    pub fn get(self, i: usize) -> Option<NodeRef<'p>> {
        if i >= self.len() {
            return None;
        }
        // SAFETY: the list is live and `i` is within its length; its cells hold nodes.
        unsafe { NodeRef::new((*(*self.list).elements.add(i)).ptr_value) }
    }

    /// Null cells are left out.
    pub fn iter(self) -> impl Iterator<Item = NodeRef<'p>> {
        (0..self.len()).filter_map(move |i| self.get(i))
    }

    /// The nodes, when there are exactly `N`.
    pub fn as_array<const N: usize>(self) -> Option<[NodeRef<'p>; N]> {
        if self.len() != N {
            return None;
        }
        self.iter().collect::<Vec<_>>().try_into().ok()
    }
}

impl<'p> Planner<'p> {
    /// # Safety
    /// `root` is null or the planner state of a query whose planning lasts at least for `'p`, and
    /// the current memory context lives as long.
    pub unsafe fn new(root: *mut pg_sys::PlannerInfo) -> Self {
        Self {
            root,
            planning: PhantomData,
        }
    }

    /// A node that one of the server's constructors returned.
    pub(super) fn built<T>(self, node: *mut T) -> NodeRef<'p> {
        match NonNull::new(node.cast()) {
            Some(node) => NodeRef {
                node,
                planning: PhantomData,
            },
            None => unreachable!("the server's node constructors return nodes"),
        }
    }
}
