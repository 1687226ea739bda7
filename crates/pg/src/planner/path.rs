//! An index path that the planner costs: its conditions, the sizes of index and table, and the
//! share of rows that the query reads. `index::handler` receives it, and `index::cost_estimate`
//! reads it. It reads the planner's structs and changes none.

use super::nodes::{NodeList, NodeRef};
use crate::process::compat;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// An index path being costed.
pub struct IndexPath<'p> {
    root: *mut pg_sys::PlannerInfo,
    path: &'p pg_sys::IndexPath,
    loops: f64,
}

/// The planner's cost settings for the index's tablespace.
pub struct PageCosts {
    /// random_page_cost.
    pub random: f64,
    /// seq_page_cost.
    pub sequential: f64,
}

/// The output arguments of amcostestimate.
pub struct CostEstimate {
    /// Cost before the first row.
    pub startup: f64,
    /// Cost of all rows of one scan.
    pub total: f64,
    /// Share of the table's rows that the scan returns.
    pub selectivity: f64,
    /// Pages of the index that one scan reads.
    pub pages: f64,
    /// Whether any other path must be preferred, even one that a setting disables.
    pub never: bool,
}

/// The part of a relation's rows that a query takes.
pub enum RowsTaken {
    /// All rows, or a share that is not known.
    All,
    /// The first ones: this share of them.
    First(f64),
    /// The rows of the first groups, this many of them.
    Groups(f64),
}

impl RowsTaken {
    fn share(share: f64) -> RowsTaken {
        if share > 0.0 && share < 1.0 {
            RowsTaken::First(share)
        } else {
            RowsTaken::All
        }
    }
}

/// A condition that the index searches with.
pub struct IndexCondition<'p> {
    /// Number of the index's column, from 0.
    pub column: usize,
    /// What the column must meet.
    pub test: ConditionTest<'p>,
}

/// The test of a condition on its column. Operators are named by their number in the column's
/// operator family.
pub enum ConditionTest<'p> {
    /// `column operator argument`.
    Operator {
        /// pg_amop.amopstrategy.
        number: u16,
        /// The right operand.
        argument: NodeRef<'p>,
    },
    /// `column operator ANY (array)`, with the number of elements that the planner expects.
    Any {
        /// pg_amop.amopstrategy.
        number: u16,
        /// How many, at least 1.
        elements: f64,
    },
    /// `column IS NULL`.
    IsNull,
    /// `column IS NOT NULL`.
    IsNotNull,
}

/// An ordering operator of the path, and its argument.
pub struct PathOrderBy<'p> {
    /// Number of the index's column, from 0.
    pub column: usize,
    /// Its right operand.
    pub argument: NodeRef<'p>,
}

impl<'p> IndexPath<'p> {
    /// # Safety
    /// The pointers must be what the planner passes to amcostestimate.
    pub unsafe fn from_raw(
        root: *mut pg_sys::PlannerInfo,
        path: *mut pg_sys::IndexPath,
        loops: f64,
    ) -> IndexPath<'p> {
        // SAFETY: guaranteed by the caller.
        let path = unsafe { &*path };
        IndexPath { root, path, loops }
    }

    fn info(&self) -> &'p pg_sys::IndexOptInfo {
        // SAFETY: a path's index info lives as long as the planning.
        unsafe { &*self.path.indexinfo }
    }

    /// Rows in the index, by the planner's estimate.
    pub fn index_rows(&self) -> f64 {
        self.info().tuples
    }

    /// Pages of the index, as they are now.
    pub fn index_pages(&self) -> f64 {
        f64::from(self.info().pages)
    }

    /// Returns how often the scan is expected to run (the inner side of a nested loop).
    pub fn loops(&self) -> f64 {
        self.loops.max(1.0)
    }

    /// Returns whether it is an index-only scan. For a query that needs no column at all, the
    /// planner considers one for every index without a mandatory key (amoptionalkey).
    pub fn is_index_only(&self) -> bool {
        self.path.path.pathtype == NodeTag::T_IndexOnlyScan
    }

    /// The cost settings, of the tablespace where it has its own.
    pub fn page_costs(&self) -> PageCosts {
        let mut costs = PageCosts {
            random: 0.0,
            sequential: 0.0,
        };
        // SAFETY: fills two doubles.
        unsafe {
            pg_sys::get_tablespace_page_costs(
                self.info().reltablespace,
                &mut costs.random,
                &mut costs.sequential,
            );
        }
        costs
    }

    /// Rows in the table, by the planner's estimate.
    pub fn table_rows(&self) -> f64 {
        // SAFETY: an index belongs to a table.
        unsafe { (*self.info().rel).tuples }
    }

    /// Share of the table's rows that the index's own predicate and its conditions keep, of the
    /// columns that `keeps` chooses.
    pub fn selectivity(&self, keeps: impl Fn(usize) -> bool) -> f64 {
        // SAFETY: the planner's own structs; the list is made in the planner's memory.
        unsafe {
            let quals = self.quals().filter(|(column, _)| keeps(*column));
            let quals = quals.fold(std::ptr::null_mut(), |list, (_, qual)| {
                pg_sys::lappend(list, qual.cast())
            });
            let quals = pg_sys::add_predicate_to_index_quals(self.path.indexinfo, quals);
            let relation = (*self.info().rel).relid as i32;
            pg_sys::clauselist_selectivity(
                self.root,
                quals,
                relation,
                pg_sys::JoinType::JOIN_INNER,
                std::ptr::null_mut(),
            )
        }
    }

    /// The index's last column.
    pub fn last_column(&self) -> usize {
        (self.info().nkeycolumns - 1) as usize
    }

    /// Pages that all scans together read, each `pages` of them, given what stays in the cache
    /// between the scans.
    pub fn pages_of_all_loops(&self, pages: f64) -> f64 {
        if self.loops() <= 1.0 {
            return pages;
        }
        let total = pages * self.loops();
        // SAFETY: plain arithmetic on the planner's structs.
        unsafe {
            pg_sys::index_pages_fetched(total, self.info().pages, self.index_pages(), self.root)
        }
    }

    /// Pages of the table that looking up `rows` of its rows reads, as the planner counts them
    /// where one row says nothing about the place of the next.
    pub fn table_pages(&self, rows: f64) -> f64 {
        // SAFETY: plain arithmetic on the planner's structs; an index belongs to a table.
        unsafe {
            let pages = (*self.info().rel).pages;
            pg_sys::index_pages_fetched(rows, pages, self.index_pages(), self.root)
        }
    }

    /// Returns what the query takes of this relation's rows, which come in an order that it asks
    /// for.
    pub fn rows_taken(&self) -> RowsTaken {
        // SAFETY: the planner's own structs; the arrays are as long as its relations are many, and
        // a child has an entry in the second.
        unsafe {
            let root = &*self.root;
            let mut relation = &*self.info().rel;
            while relation.reloptkind == pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL {
                let link = *root.append_rel_array.add(relation.relid as usize);
                relation = &**root.simple_rel_array.add((*link).parent_relid as usize);
            }
            let query = &*root.parse;
            let grouped = !query.groupClause.is_null() || !query.distinctClause.is_null();
            let rows = relation.rows * self.share_that_joins_keep(relation.relid);
            // A fraction from 1 on is a number of rows.
            match root.tuple_fraction {
                _ if root.limit_tuples > 0.0 => RowsTaken::share(root.limit_tuples / rows),
                groups if grouped && groups >= 1.0 => RowsTaken::Groups(groups),
                _ if grouped => RowsTaken::All,
                count if count >= 1.0 => RowsTaken::share(count / rows),
                fraction => RowsTaken::share(fraction),
            }
        }
    }

    /// Share of a relation's rows that joins with the others keep, on the assumption that foreign
    /// keys lead to these tables. Each keeps the share that the conditions on it keep of its own
    /// rows. 1 where there are outer or semi-joins.
    fn share_that_joins_keep(&self, relation: u32) -> f64 {
        // SAFETY: the planner's own structs. The sizes of all relations are known before any path
        // is priced.
        unsafe {
            let root = &*self.root;
            if !root.join_info_list.is_null() {
                return 1.0;
            }
            let kept = |other: i32| {
                let other = &**root.simple_rel_array.add(other as usize);
                (other.rows / other.tuples.max(other.rows)).min(1.0)
            };
            (1..root.simple_rel_array_size)
                .filter(|other| *other as u32 != relation)
                .filter(|other| pg_sys::bms_is_member(*other, root.all_baserels))
                .map(kept)
                .product()
        }
    }

    /// The index conditions.
    pub fn conditions(&self) -> Vec<IndexCondition<'p>> {
        self.quals()
            .filter_map(|(column, qual)| {
                // SAFETY: a live RestrictInfo around the clause that the index executes.
                let test = unsafe { self.test(column, (*qual).clause.cast()) }?;
                Some(IndexCondition { column, test })
            })
            .collect()
    }

    /// The ordering operators.
    pub fn order_bys(&self) -> Vec<PathOrderBy<'p>> {
        let columns = integers(self.path.indexorderbycols);
        let expressions = NodeList::from_raw(self.path.indexorderbys);
        let order_by = |(column, expression): (i32, NodeRef<'p>)| {
            Some(PathOrderBy {
                column: column as usize,
                argument: expression.as_binary_operator()?.right,
            })
        };
        columns
            .zip(expressions.iter())
            .filter_map(order_by)
            .collect()
    }

    /// The quals of the index conditions, with the number of their column.
    fn quals(&self) -> impl Iterator<Item = (usize, *mut pg_sys::RestrictInfo)> + use<'p> {
        let clauses = NodeList::from_raw(self.path.indexclauses);
        clauses.iter().flat_map(|clause| {
            // SAFETY: the list's elements are index clauses, with lists of RestrictInfos.
            let clause = unsafe { &*clause.as_ptr::<pg_sys::IndexClause>() };
            let quals = NodeList::from_raw(clause.indexquals);
            quals
                .iter()
                .map(|qual| (clause.indexcol as usize, qual.as_ptr()))
        })
    }

    /// # Safety
    /// `clause` must be a live expression node of a condition on the index's column.
    unsafe fn test(&self, column: usize, clause: *mut pg_sys::Node) -> Option<ConditionTest<'p>> {
        // SAFETY: guaranteed by the caller; the tag says which struct it is. An index has an
        // operator family for each key column.
        unsafe {
            let family = *self.info().opfamily.add(column);
            let number = |operator| pg_sys::get_op_opfamily_strategy(operator, family) as u16;
            match (*clause).type_ {
                NodeTag::T_OpExpr => {
                    let clause = &*clause.cast::<pg_sys::OpExpr>();
                    Some(ConditionTest::Operator {
                        number: number(clause.opno),
                        argument: NodeList::from_raw(clause.args).get(1)?,
                    })
                }
                NodeTag::T_ScalarArrayOpExpr => {
                    let clause = &*clause.cast::<pg_sys::ScalarArrayOpExpr>();
                    let array = NodeList::from_raw(clause.args).get(1)?;
                    Some(ConditionTest::Any {
                        number: number(clause.opno),
                        elements: compat::array_length(self.root, array.as_ptr()).max(1.0),
                    })
                }
                NodeTag::T_NullTest => {
                    let is_null = pg_sys::NullTestType::IS_NULL;
                    let clause = &*clause.cast::<pg_sys::NullTest>();
                    Some(if clause.nulltesttype == is_null {
                        ConditionTest::IsNull
                    } else {
                        ConditionTest::IsNotNull
                    })
                }
                _ => None,
            }
        }
    }
}

/// The numbers in a list of integers.
fn integers<'p>(list: *mut pg_sys::List) -> impl Iterator<Item = i32> + use<'p> {
    // SAFETY: called with lists of integers that live as long as the planning.
    let n = unsafe { list.as_ref() }.map_or(0, |list| list.length as usize);
    // SAFETY: as above; a list holds `length` cells.
    (0..n).map(move |i| unsafe { (*(*list).elements.add(i)).int_value })
}

/// cpu_operator_cost and cpu_index_tuple_cost.
pub fn cpu_costs() -> (f64, f64) {
    // SAFETY: plain settings.
    unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) }
}
