//! The distances that the planner itself looks for in the clauses on a relation.
//!
//! The planner prunes partitions, excludes tables by their constraints, and proves the predicates
//! of partial indexes, by comparing expressions node by node. So a clause on one of these distances
//! stays beside its translation.

use std::cell::OnceCell;

use super::own_functions::is_distance;
use simhash_pg::planner::nodes::NodeRef;
use simhash_pg::planner::planned_relation::{AppendMember, PlannedRelation};

/// The distances in a relation's indexes, partition key and constraints; for an ancestor, also
/// those of the relations on the way down to the child that is being planned.
pub struct PlannerDistances<'p> {
    relation: PlannedRelation<'p>,
    /// Expressions and predicates of indexes.
    indexes: Vec<NodeRef<'p>>,
    distances: OnceCell<Vec<NodeRef<'p>>>,
    below: Option<(AppendMember<'p>, Box<PlannerDistances<'p>>)>,
}

impl<'p> PlannerDistances<'p> {
    pub fn for_relation(relation: PlannedRelation<'p>, indexes: Vec<NodeRef<'p>>) -> Self {
        Self {
            relation,
            indexes,
            distances: OnceCell::new(),
            below: None,
        }
    }

    /// Returns the same for the parent of `self`, seen as `member`.
    pub fn of_parent(member: AppendMember<'p>, child: Self) -> Self {
        Self {
            below: Some((member, Box::new(child))),
            ..Self::for_relation(member.parent, Vec::new())
        }
    }

    /// Returns whether the planner looks for this distance, which is in terms of the relation.
    pub fn contains(&self, distance: NodeRef<'p>) -> bool {
        let distances = self.distances.get_or_init(|| self.collect());
        distances.iter().any(|found| found.equals(distance))
            || self.below.as_ref().is_some_and(|(member, child)| {
                member
                    .in_terms_of_child(distance)
                    .is_some_and(|distance| child.contains(distance))
            })
    }

    fn collect(&self) -> Vec<NodeRef<'p>> {
        let mut distances = Vec::new();
        let partitions = self.relation.partition_expressions();
        let constraints = self.relation.excluding_constraints();
        for expression in self.indexes.iter().chain(&partitions).chain(&constraints) {
            expression.visit(&mut |node| {
                if is_distance(node) {
                    distances.push(node);
                }
            });
        }
        distances
    }
}
