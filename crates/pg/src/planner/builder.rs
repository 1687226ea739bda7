//! New nodes of expression trees, in the memory context of the planner.

use pgrx::pg_sys;
use pgrx::pg_sys::{NodeTag, Oid};

use super::nodes::{NodeList, NodeRef, Planner};

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
