//! Expression trees of a query that is being planned: reading them, and new nodes. `src/planner`, prices of
//! index paths and the readers of index expressions call it.
//!
//! Everything here lives as long as the planning of one query (`'p`): the trees, and the nodes that
//! [`Planner`] makes, are in the planner's memory context. Nothing here knows what a fingerprint is.

use crate::process::backend::check_stack_depth;
use pgrx::pg_sys;
use pgrx::pg_sys::{NodeTag, Oid};
use std::marker::PhantomData;
use std::ptr::NonNull;

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

    /// The function and the arguments of a call with this result, if it has N of them.
    pub fn as_call_of<const N: usize>(self, result: Oid) -> Option<(Oid, [NodeRef<'p>; N])> {
        let call = self.as_call().filter(|call| call.result_type == result)?;
        Some((call.function, call.args.as_array()?))
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

/// `int4 - int4`, `int4 <= int4` and `int4 / int4` of the system catalog, for which the bindings have no name.
const INT4_MINUS_OPERATOR: Oid = Oid::from_u32(555);
const INT4_AT_MOST_OPERATOR: Oid = Oid::from_u32(523);
const INT4_DIVIDED_OPERATOR: Oid = Oid::from_u32(528);

impl<'p> Planner<'p> {
    /// A new list of these nodes; the nodes themselves are shared.
    pub fn list(self, nodes: &[NodeRef<'p>]) -> NodeList<'p> {
        let list = nodes.iter().fold(std::ptr::null_mut(), |list, node| {
            // SAFETY: NIL or the list built so far, in the planner's memory context.
            unsafe { pg_sys::lappend(list, node.as_ptr()) }
        });
        NodeList::from_raw(list)
    }

    /// The conjuncts of a clause.
    pub fn conjuncts(self, clause: NodeRef<'p>) -> NodeList<'p> {
        // SAFETY: the clause is a live boolean expression.
        NodeList::from_raw(unsafe { pg_sys::make_ands_implicit(clause.as_ptr()) })
    }

    /// AND of one or more clauses.
    pub fn and(self, clauses: &[NodeRef<'p>]) -> NodeRef<'p> {
        // SAFETY: a list of live boolean expressions.
        self.built(unsafe { pg_sys::make_ands_explicit(self.list(clauses).as_ptr()) })
    }

    /// OR of two or more clauses.
    pub fn or(self, clauses: &[NodeRef<'p>]) -> NodeRef<'p> {
        // SAFETY: a list of live boolean expressions.
        self.built(unsafe { pg_sys::make_orclause(self.list(clauses).as_ptr()) })
    }

    /// A constant of type integer.
    pub fn int4(self, value: i32) -> NodeRef<'p> {
        self.integer(pg_sys::INT4OID, 4, i64::from(value))
    }

    /// A constant of type bigint.
    pub fn int8(self, value: i64) -> NodeRef<'p> {
        self.integer(pg_sys::INT8OID, 8, value)
    }

    fn integer(self, type_oid: Oid, length: i32, value: i64) -> NodeRef<'p> {
        let datum = pg_sys::Datum::from(value);
        // SAFETY: both integer types are passed by value and have these lengths.
        self.built(unsafe {
            pg_sys::makeConst(type_oid, -1, Oid::INVALID, length, datum, false, true)
        })
    }

    /// `function(args)`.
    pub fn call(self, function: Oid, result: Oid, args: &[NodeRef<'p>]) -> NodeRef<'p> {
        self.function(
            function,
            result,
            args,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        )
    }

    /// `function(arg)` as a query has it, in which the server has put the arguments that have defaults.
    pub fn simplified_call(self, function: Oid, result: Oid, arg: NodeRef<'p>) -> NodeRef<'p> {
        let args = self.list(&[arg]).as_ptr();
        let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        // SAFETY: a live expression; a result of ours has no collation.
        self.simplify(self.built(unsafe {
            let collation = pg_sys::exprCollation(arg.as_ptr());
            pg_sys::makeFuncExpr(function, result, args, Oid::INVALID, collation, form)
        }))
    }

    /// `arg::integer` by one of the system's casts.
    pub fn cast_to_int4(self, cast: u32, arg: NodeRef<'p>) -> NodeRef<'p> {
        let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CAST;
        self.function(Oid::from(cast), pg_sys::INT4OID, &[arg], form)
    }

    fn function(
        self,
        function: Oid,
        result: Oid,
        args: &[NodeRef<'p>],
        form: pg_sys::CoercionForm::Type,
    ) -> NodeRef<'p> {
        let args = self.list(args).as_ptr();
        // SAFETY: the arguments are live expressions; no type of ours has a collation.
        self.built(unsafe {
            pg_sys::makeFuncExpr(function, result, args, Oid::INVALID, Oid::INVALID, form)
        })
    }

    /// `left operator right`, a boolean.
    pub fn condition(self, operator: Oid, left: NodeRef<'p>, right: NodeRef<'p>) -> NodeRef<'p> {
        self.operator(operator, pg_sys::BOOLOID, left, right)
    }

    /// `left - right` of two integers.
    pub fn int4_minus(self, left: NodeRef<'p>, right: NodeRef<'p>) -> NodeRef<'p> {
        self.operator(INT4_MINUS_OPERATOR, pg_sys::INT4OID, left, right)
    }

    /// `left / right` of two integers.
    pub fn int4_divided(self, left: NodeRef<'p>, right: NodeRef<'p>) -> NodeRef<'p> {
        self.operator(INT4_DIVIDED_OPERATOR, pg_sys::INT4OID, left, right)
    }

    /// `left <= right` of two integers.
    pub fn int4_at_most(self, left: NodeRef<'p>, right: NodeRef<'p>) -> NodeRef<'p> {
        self.condition(INT4_AT_MOST_OPERATOR, left, right)
    }

    /// `array[subscript]`, with the subscript that `element` has of another array of this type.
    pub fn same_element(self, element: NodeRef<'p>, array: NodeRef<'p>) -> NodeRef<'p> {
        // SAFETY: the copy is a node of the same struct as `element`, which
        // [`NodeRef::as_element`] has found to be a SubscriptingRef.
        self.built(unsafe {
            let copy: *mut pg_sys::SubscriptingRef =
                pg_sys::copyObjectImpl(element.as_ptr()).cast();
            (*copy).refexpr = array.as_ptr();
            copy
        })
    }

    /// A call of a function or an operator with another first argument.
    pub fn with_first_argument(self, call: NodeRef<'p>, first: NodeRef<'p>) -> NodeRef<'p> {
        // SAFETY: the copy is a node of the same struct, whose list of arguments is its own; a call has
        // arguments where [`NodeRef::as_call`] has found one.
        self.built(unsafe {
            let copy: *mut pg_sys::Node = pg_sys::copyObjectImpl(call.as_ptr()).cast();
            let args = match NodeRef::new(copy).and_then(NodeRef::as_call) {
                Some(call) => call.args.as_ptr(),
                None => std::ptr::null_mut(),
            };
            if let Some(args) = args.as_ref().filter(|args| args.length > 0) {
                (*args.elements).ptr_value = first.as_ptr();
            }
            copy
        })
    }

    /// `left operator right`.
    pub fn operator(
        self,
        operator: Oid,
        result: Oid,
        left: NodeRef<'p>,
        right: NodeRef<'p>,
    ) -> NodeRef<'p> {
        // SAFETY: both sides are live expressions of the operator's argument types.
        self.built(unsafe {
            let node = pg_sys::make_opclause(
                operator,
                result,
                false,
                left.as_ptr(),
                right.as_ptr(),
                Oid::INVALID,
                Oid::INVALID,
            );
            pg_sys::set_opfuncid(node.cast());
            node
        })
    }

    /// `GREATEST(a, b)`: ignores NULLs.
    pub fn greatest(self, a: NodeRef<'p>, b: NodeRef<'p>) -> NodeRef<'p> {
        self.extreme(pg_sys::MinMaxOp::IS_GREATEST, a, b)
    }

    /// `LEAST(a, b)`: ignores NULLs.
    pub fn least(self, a: NodeRef<'p>, b: NodeRef<'p>) -> NodeRef<'p> {
        self.extreme(pg_sys::MinMaxOp::IS_LEAST, a, b)
    }

    fn extreme(self, op: pg_sys::MinMaxOp::Type, a: NodeRef<'p>, b: NodeRef<'p>) -> NodeRef<'p> {
        // SAFETY: palloc0 gives a zeroed node of the right size, which is filled before it is used.
        self.built(unsafe {
            let node: *mut pg_sys::MinMaxExpr =
                pg_sys::palloc0(size_of::<pg_sys::MinMaxExpr>()).cast();
            (*node).xpr.type_ = NodeTag::T_MinMaxExpr;
            (*node).minmaxtype = a.result_type();
            (*node).op = op;
            (*node).args = self.list(&[a, b]).as_ptr();
            (*node).location = -1;
            node
        })
    }

    /// Folds constants and calls of immutable functions over them.
    pub fn simplify(self, node: NodeRef<'p>) -> NodeRef<'p> {
        // SAFETY: a live expression of this query.
        self.built(unsafe { pg_sys::eval_const_expressions(self.root, node.as_ptr()) })
    }

    /// Like [`Self::simplify`], and also replaces parameters and stable functions by their current
    /// values. Only for estimates, never for a plan.
    pub fn estimate(self, node: NodeRef<'p>) -> NodeRef<'p> {
        // SAFETY: a live expression of this query.
        self.built(unsafe { pg_sys::estimate_expression_value(self.root, node.as_ptr()) })
    }

    /// Returns whether the expression uses a column of the relation at range-table index `relid`.
    pub fn mentions_relation(self, node: NodeRef<'p>, relid: u32) -> bool {
        // SAFETY: a live expression of this query.
        unsafe {
            let relids = pg_sys::pull_varnos(self.root, node.as_ptr());
            pg_sys::bms_is_member(relid as i32, relids)
        }
    }
}
