//! Functions called from SQL: [`fmgr`] exports them and reads their arguments, [`value`],
//! [`value_parts`], [`record`], [`type_output`] and [`key_type`] read values of any type. [`kept_value`]
//! keeps them, [`bigint_array`] reads long arrays of numbers, [`expression`] and [`pair_function`]
//! evaluate. [`rows_out`] returns sets, [`trigger`] and [`trigger_tree`] are a call of a trigger function.

pub mod bigint_array;
pub mod expression;
pub mod fmgr;
pub mod kept_value;
pub mod key_type;
pub mod pair_function;
pub mod record;
pub mod rows_out;
pub mod trigger;
pub mod trigger_tree;
pub mod type_output;
pub mod value;
pub mod value_parts;
