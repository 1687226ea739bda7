//! The indexed columns and expressions of a relation that is planned. [`super::rewrite`] collects
//! them; a clause is translated only if one of them can serve it.

use pgrx::pg_sys::Oid;

use super::planner_distances::PlannerDistances;
use super::sql_objects::BallConstructor;
use simhash_pg::planner::nodes::{NodeRef, Planner};
use simhash_pg::planner::planned_relation::Indexed;

/// A column or expression on which a relation has an index, and the operator family of that index.
#[derive(Clone, Copy)]
pub struct Target<'p> {
    pub key: Indexed<'p>,
    pub family: Oid,
}

/// The indexed columns and expressions of one relation.
pub struct Targets<'p> {
    /// Range-table index of the relation.
    pub relid: u32,
    pub targets: Vec<Target<'p>>,
    pub planner_distances: PlannerDistances<'p>,
}

impl<'p> Targets<'p> {
    /// Returns the index column or expression that this expression is, if any.
    pub fn find(&self, node: NodeRef<'p>) -> Option<Target<'p>> {
        let bare = node.strip_relabel();
        let column = bare.as_column().filter(|&(relid, _)| relid == self.relid);
        self.targets
            .iter()
            .copied()
            .find(|target| match target.key {
                Indexed::Column(number) => column.is_some_and(|(_, found)| found == number),
                Indexed::Expression(expression) => {
                    node.equals(expression) || bare.equals(expression.strip_relabel())
                }
            })
    }

    /// Returns whether the value is the same for all rows of the relation.
    pub fn is_fixed(&self, planner: Planner<'p>, node: NodeRef<'p>) -> bool {
        !node.is_volatile() && !planner.mentions_relation(node, self.relid)
    }

    /// Returns whether an index serves this expression in a condition with a ball.
    pub fn serves(&self, node: NodeRef<'p>, ball: BallConstructor) -> bool {
        self.find(node)
            .is_some_and(|target| ball.operator_in(target.family).is_some())
    }
}
