//! A function of two values that returns boolean, named by a user, and called for many pairs. The
//! checks of candidate pairs call it. It runs as in a query of the current user: with the same
//! rights, and inlined if it is a simple one in SQL.

use std::ffi::CStr;

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::value::Value;
use crate::process::encoding::name_to_utf8;
use crate::process::memory::MemoryContext;
use crate::spi::query::parameter_list;

/// What the catalog says of a function.
pub struct FunctionDeclaration {
    /// Its name and the types of its arguments, as regprocedure shows them.
    pub signature: String,
    /// pg_proc.prokind.
    pub kind: u8,
    /// pg_proc.proretset.
    pub returns_set: bool,
    /// Type of its result, as declared: it may be a pseudo-type.
    pub result: Oid,
    /// Types of its arguments, as declared.
    pub arguments: Vec<Oid>,
}

impl FunctionDeclaration {
    /// None when there is no such function.
    #[inline]
    pub fn of(function: Oid) -> Option<Self> {
        let (mut types, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: catalog look-ups of a function that exists; a zero-terminated string, and an
        // array of as many types as it says.
        unsafe {
            if pg_sys::get_func_name(function).is_null() {
                return None;
            }
            let signature = CStr::from_ptr(pg_sys::format_procedure(function));
            let result = pg_sys::get_func_signature(function, &mut types, &mut count);
            let arguments = (0..count as usize).map(|i| *types.add(i)).collect();
            Some(Self {
                signature: name_to_utf8(signature.to_bytes()).into_owned(),
                kind: pg_sys::get_func_prokind(function) as u8,
                returns_set: pg_sys::get_func_retset(function),
                result,
                arguments,
            })
        }
    }
}

/// A call of such a function, prepared.
pub struct PairFunction {
    state: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
    parameters: pg_sys::ParamListInfo,
    types: [Oid; 2],
}

impl PairFunction {
    /// The function must take these types and return boolean. The call lives in `memory`. An ERROR
    /// when the current user may not execute it.
    #[inline]
    pub fn new(function: Oid, types: [Oid; 2], memory: MemoryContext) -> Self {
        // SAFETY: an expression of type boolean over two parameters, whose values are set before
        // it is evaluated; all is made in `memory`.
        memory.run(|| unsafe {
            let mut arguments = std::ptr::null_mut();
            for (i, type_id) in types.into_iter().enumerate() {
                arguments = pg_sys::lappend(arguments, parameter(i, type_id).cast());
            }
            let (none, collation) = (Oid::INVALID, pg_sys::get_typcollation(types[0]));
            let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
            let result = pg_sys::BOOLOID;
            let call = pg_sys::makeFuncExpr(function, result, arguments, none, collation, form);
            let planned = pg_sys::expression_planner(call.cast());
            let parameters = parameter_list(&types, &[]);
            let context = pg_sys::CreateStandaloneExprContext();
            (*context).ecxt_param_list_info = parameters;
            Self {
                state: pg_sys::ExecInitExprWithParams(planned, parameters),
                context,
                parameters,
                types,
            }
        })
    }

    /// The types of its arguments.
    #[inline]
    pub fn types(&self) -> [Oid; 2] {
        self.types
    }

    /// Returns whether the function says so of two values; NULL is no. An ERROR when one is of
    /// another type.
    #[inline]
    pub fn holds(&mut self, pair: [Value<'_>; 2]) -> bool {
        let mut null = false;
        // SAFETY: `new` made all three, in memory that outlives self; the list has two parameters.
        // The values live until the call returns, whose result is passed by value. The reset frees
        // what the evaluation allocated.
        unsafe {
            let places = (*self.parameters).params.as_mut_slice(pair.len());
            for ((place, value), type_id) in places.iter_mut().zip(pair).zip(self.types) {
                value.require_type(type_id);
                (place.value, place.isnull) = (value.datum(), false);
            }
            let (state, context) = (self.state, self.context);
            let result = pg_sys::ExecEvalExprSwitchContext(state, context, &mut null);
            MemoryContext::from_raw((*context).ecxt_per_tuple_memory).reset();
            !null && result.value() as u8 != 0
        }
    }
}

/// A parameter of an expression, the first of which has the number 0 here.
fn parameter(i: usize, type_id: Oid) -> *mut pg_sys::Param {
    // SAFETY: palloc0 gives a zeroed node of the right size, which is filled before it is used.
    unsafe {
        let node = pg_sys::palloc0(size_of::<pg_sys::Param>()).cast::<pg_sys::Param>();
        (*node).xpr.type_ = pg_sys::NodeTag::T_Param;
        (*node).paramkind = pg_sys::ParamKind::PARAM_EXTERN;
        (*node).paramid = i as i32 + 1;
        (*node).paramtype = type_id;
        (*node).paramtypmod = -1;
        (*node).paramcollid = pg_sys::get_typcollation(type_id);
        (*node).location = -1;
        node
    }
}
