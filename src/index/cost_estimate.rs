//! The cost of an index path (amcostestimate): its conditions, the sizes of index and table, and the share of
//! rows that the query reads, priced by `simhash_hamming::cost`. A path that the index cannot search costs
//! more than any other. Of the planner's structs only the price is changed.

#![allow(unsafe_code)]

use super::opclass::operator;
use pgrx::pg_guard;
use pgrx::pg_sys::{self, NodeTag};
use simhash_base::indexed_row::Tid;
use simhash_hamming::ball::{Ball, NEAR, NEAR_TEXTS};
use simhash_hamming::cost::{Prices, SearchedRows, Work};
use simhash_hamming::cost_nearest::{Nearest, startup};
use simhash_pg::nodes::{NodeList, NodeRef};
use simhash_pg::process::compat;
use simhash_pg::process::memory::work_mem_bytes;

/// The radius that planning assumes where it is not a constant.
const ASSUMED_RADIUS: i32 = NEAR;

/// Pages that `fp = x` is charged for in addition to the search: a b-tree reads as little, and
/// answers it without comparing rows.
const EQUAL_SURCHARGE: f64 = 2.0;

/// A price above that of any path that a setting like enable_seqscan = off disables (1e10, up to
/// PostgreSQL 17).
const NEVER: f64 = 1e12;

#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "the server's signature")]
pub unsafe extern "C-unwind" fn amcostestimate(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
    loops: f64,
    startup: *mut f64,
    total: *mut f64,
    selectivity: *mut f64,
    correlation: *mut f64,
    pages: *mut f64,
) {
    // SAFETY: the planner's arguments of amcostestimate: valid structs and places for five results.
    unsafe {
        let index_path = IndexPath {
            root,
            path: &*path,
            info: &*(*path).indexinfo,
            loops: loops.max(1.0),
        };
        let estimate = estimate(&index_path).unwrap_or_else(|| {
            compat::disable_path(path);
            CostEstimate {
                startup: NEVER,
                total: NEVER,
                selectivity: index_path.selectivity(|_| true),
                pages: f64::from(index_path.info.pages),
            }
        });
        *startup = estimate.startup;
        *total = estimate.total;
        *selectivity = estimate.selectivity;
        // Fingerprints say nothing about where a row lies in the table.
        *correlation = 0.0;
        *pages = estimate.pages;
    }
}

/// The results of amcostestimate: the cost before the first row, and that of all rows of one scan.
struct CostEstimate {
    startup: f64,
    total: f64,
    /// Share of the table's rows that the scan returns.
    selectivity: f64,
    /// Pages of the index that one scan reads.
    pages: f64,
}

/// What the conditions of a path require of the index.
struct Request {
    /// Number of scopes that the conditions pin; None when a scope column is not pinned, so that a
    /// whole key space has to be read.
    scopes: Option<f64>,
    /// How often the executor of a bitmap scan starts the search: for each combination of the values
    /// in lists.
    searches: f64,
    fingerprint: FingerprintCondition,
    /// Whether there is a condition that the index cannot search with. Then all rows are read and
    /// compared again.
    unsearchable: bool,
}

/// The condition on the fingerprint that drives the search.
#[derive(Clone, Copy)]
enum FingerprintCondition {
    Everything,
    Nulls,
    Within { radius: i32, equal: bool },
}

/// Prices an index path; None where any other must be preferred, even one that a setting disables. There is
/// always one, a scan of the table, also for conditions that the index cannot search with.
fn estimate(path: &IndexPath) -> Option<CostEstimate> {
    let request = Request::from_path(path);
    // An index-only scan would have to be safe against VACUUM without visiting the table. The pins
    // for that are not kept, and on a standby they would not help. For a query that needs no column at all,
    // the planner considers one for every index without a mandatory key (amoptionalkey).
    if path.path.path.pathtype == NodeTag::T_IndexOnlyScan || request.unsearchable {
        return None;
    }
    let prices = path.prices();
    Some(match path.order_bys().first() {
        Some(order_by) => in_order(path, &request, *order_by, &prices),
        None => unordered(path, &request, &prices),
    })
}

fn unordered(path: &IndexPath, request: &Request, prices: &Prices) -> CostEstimate {
    let selectivity = request.selectivity(path);
    let matches = matches(path, selectivity);
    let searched = request.searched(path);
    let work = match request.fingerprint {
        FingerprintCondition::Everything => Work::walk(searched),
        FingerprintCondition::Nulls => {
            Work::walk(SearchedRows::index(matches / request.searches, 0.0))
        }
        FingerprintCondition::Within { .. } if request.scopes.is_none() => Work::walk(searched),
        FingerprintCondition::Within { radius, equal } => {
            let mut work = Work::within(radius.max(0) as u32, searched, prices);
            work.random_pages += f64::from(u8::from(equal)) * EQUAL_SURCHARGE;
            work
        }
    };
    let work = work.times(request.searches);
    CostEstimate {
        startup: 0.0,
        total: work.price(&cached(path, prices, &work), matches),
        selectivity,
        pages: work.pages(),
    }
}

/// A scan in the order of distance returns the rows one by one, and reads on as long as rows are
/// asked for.
fn in_order(
    path: &IndexPath,
    request: &Request,
    by: (usize, NodeRef),
    prices: &Prices,
) -> CostEstimate {
    let selectivity = request.selectivity(path);
    let matches = matches(path, selectivity);
    let searched = request.searched(path);
    let nearest = Nearest {
        searched,
        farthest: request.farthest(path, by),
        waiting: (work_mem_bytes() / size_of::<Tid>()) as f64,
    };
    // A ball around the same centre ends the search; others exclude rows that have been met.
    let met = match nearest.farthest {
        u64::BITS => searched.rows / matches,
        _ => 1.0,
    };
    let work = |rows: f64| nearest.first(rows * met, prices);
    let all = work(matches);
    let prices = cached(path, prices, &all);
    let first = work(1.0).price_in_order(&prices, 0.0);
    let total = all.price_in_order(&prices, matches);
    let (rows_read, share) = path.rows_taken(matches, &nearest);
    let pages = |rows: f64| path.table_pages(rows) * prices.random_page;
    let at_share = work(rows_read).price_in_order(&prices, rows_read) + pages(rows_read);
    let of_all = total + pages(matches);
    CostEstimate {
        startup: startup(first, at_share, share, of_all).min(total),
        total,
        selectivity,
        pages: all.pages(),
    }
}

/// Returns what a search without scopes has to search: the whole index.
fn index(path: &IndexPath) -> SearchedRows {
    SearchedRows::index(path.info.tuples, f64::from(path.info.pages))
}

/// Returns the number of rows that the scan returns.
fn matches(path: &IndexPath, selectivity: f64) -> f64 {
    // SAFETY: an index belongs to a table.
    let table_rows = unsafe { (*path.info.rel).tuples };
    (table_rows * selectivity).clamp(1.0, path.info.tuples.max(1.0))
}

/// Returns the prices, lower where the scan is repeated and finds looked-up pages in the cache.
/// Reading a whole key space again costs the same, as the planner assumes for reading a table
/// again.
fn cached(path: &IndexPath, prices: &Prices, work: &Work) -> Prices {
    let pages = work.random_pages;
    let share = path.pages_of_all_loops(pages) / (pages * path.loops).max(1.0);
    Prices {
        random_page: prices.random_page * share.min(1.0),
        ..*prices
    }
}

impl Request {
    fn from_path(path: &IndexPath) -> Request {
        let conditions = path.conditions();
        let last = path.last_column();
        let order_bys = path.order_bys();
        // The executor treats a NULL in the first of several orders as the whole order, and the
        // distance of a scope column is not in the index.
        let other_order =
            order_bys.len() > 1 || order_bys.iter().any(|(column, _)| *column != last);
        let values: Option<Vec<f64>> = (0..last)
            .map(|column| scopes_pinned(&conditions, column))
            .collect();
        let scopes: Option<f64> = values.map(|values| values.iter().product());
        let elements = |c: &IndexCondition| match c.test {
            ConditionTest::Any { elements, .. } => elements,
            _ => 1.0,
        };
        Request {
            // The rows of unpinned scopes do not come in the order of distance.
            unsearchable: other_order
                || conditions
                    .iter()
                    .any(|c| c.column != last && is_unsearchable(c))
                || (scopes.is_none() && !order_bys.is_empty()),
            scopes,
            searches: conditions.iter().map(elements).product(),
            fingerprint: fingerprint_condition(conditions.iter().filter(|c| c.column == last)),
        }
    }

    /// Returns what one search has to search.
    fn searched(&self, path: &IndexPath) -> SearchedRows {
        let (index, last) = (index(path), path.last_column());
        match self.scopes {
            Some(scopes) if last > 0 => {
                index.scope(path.selectivity(|column| column != last), scopes)
            }
            _ => index,
        }
    }

    /// Returns the share of the table's rows that the scan returns. Where a whole key space is
    /// read, the conditions on scopes are left to the executor.
    fn selectivity(&self, path: &IndexPath) -> f64 {
        let last = path.last_column();
        path.selectivity(|column| self.scopes.is_some() || column == last)
    }

    /// Returns the last ring of a scan in the order of distance: the radius of a ball around the
    /// same centre.
    fn farthest(&self, path: &IndexPath, by: (usize, NodeRef)) -> u32 {
        let radius = |condition: IndexCondition| match condition.test {
            ConditionTest::Operator { number, argument } if condition.column == by.0 => {
                let (centre, radius) = ball(number, argument)?;
                centre.equals(by.1).then_some(radius)
            }
            _ => None,
        };
        let radii = path.conditions().into_iter().filter_map(radius);
        radii.min().map_or(u64::BITS, |radius| radius.max(0) as u32)
    }
}

/// Returns whether a scope cannot be searched by this.
fn is_unsearchable(condition: &IndexCondition) -> bool {
    match condition.test {
        ConditionTest::Operator { number, .. } | ConditionTest::Any { number, .. } => {
            number != operator::EQUAL
        }
        ConditionTest::IsNull | ConditionTest::IsNotNull => false,
    }
}

/// Returns the number of values that the conditions leave to a scope column; None when it is not
/// pinned.
fn scopes_pinned(conditions: &[IndexCondition], column: usize) -> Option<f64> {
    let values = |condition: &IndexCondition| match condition.test {
        ConditionTest::Operator {
            number: operator::EQUAL,
            ..
        }
        | ConditionTest::IsNull => Some(1.0),
        ConditionTest::Any {
            number: operator::EQUAL,
            elements,
        } => Some(elements),
        _ => None,
    };
    let of_column = conditions.iter().filter(|c| c.column == column);
    of_column.filter_map(values).reduce(f64::min)
}

/// Returns the condition on the fingerprint with the smallest radius.
fn fingerprint_condition<'c, 'p: 'c>(
    conditions: impl Iterator<Item = &'c IndexCondition<'p>>,
) -> FingerprintCondition {
    let read = |condition: &IndexCondition| match condition.test {
        ConditionTest::IsNotNull => FingerprintCondition::Everything,
        ConditionTest::IsNull => FingerprintCondition::Nulls,
        ConditionTest::Operator { number, argument } => FingerprintCondition::Within {
            radius: ball(number, argument).map_or(ASSUMED_RADIUS, |(_, radius)| radius),
            equal: number == operator::EQUAL,
        },
        ConditionTest::Any { number, .. } => FingerprintCondition::Within {
            radius: if number == operator::EQUAL {
                0
            } else {
                ASSUMED_RADIUS
            },
            equal: number == operator::EQUAL,
        },
    };
    let order = |condition: &FingerprintCondition| match condition {
        FingerprintCondition::Nulls => (0, 0),
        FingerprintCondition::Within { radius, .. } => (1, *radius),
        FingerprintCondition::Everything => (2, 0),
    };
    conditions
        .map(read)
        .min_by_key(order)
        .unwrap_or(FingerprintCondition::Everything)
}

/// The centre of a ball, as far as it is known.
enum Centre<'p> {
    Known(i64),
    Computed(NodeRef<'p>),
}

impl Centre<'_> {
    fn equals(&self, node: NodeRef) -> bool {
        match self {
            Centre::Known(centre) => node.as_integer() == Some(*centre),
            Centre::Computed(centre) => centre.equals(node),
        }
    }
}

/// Returns centre and radius of the ball that an operator and its argument stand for; None when nothing is
/// known of it.
fn ball(number: u16, argument: NodeRef<'_>) -> Option<(Centre<'_>, i32)> {
    let around = |centre, radius| Some((Centre::Computed(centre), radius));
    match number {
        operator::NEAR => around(argument, NEAR),
        operator::EQUAL => around(argument, 0),
        operator::SAME => around(argument, NEAR_TEXTS),
        operator::IN_BALL => {
            if let Some(ball) = argument.as_by_reference().map(Ball::from_bytes) {
                return Some((Centre::Known(ball.centre), ball.radius));
            }
            let [centre, radius] = argument.as_call()?.args.as_array()?;
            let radius = radius
                .as_integer()
                .map(|radius| radius.clamp(-1, 64) as i32);
            around(centre, radius.unwrap_or(ASSUMED_RADIUS))
        }
        _ => None,
    }
}

/// An index path being costed, by the planner's structs, which live as long as the planning.
struct IndexPath<'p> {
    root: *mut pg_sys::PlannerInfo,
    path: &'p pg_sys::IndexPath,
    info: &'p pg_sys::IndexOptInfo,
    /// How often the scan is expected to run (the inner side of a nested loop).
    loops: f64,
}

/// A condition that the index searches with.
struct IndexCondition<'p> {
    /// Number of the index's column, from 0.
    column: usize,
    test: ConditionTest<'p>,
}

/// The test of a condition on its column. Operators are named by their number in the column's
/// operator family.
enum ConditionTest<'p> {
    /// `column operator argument`.
    Operator {
        number: u16,
        argument: NodeRef<'p>,
    },
    /// `column operator ANY (array)`, with the number of elements that the planner expects.
    Any {
        number: u16,
        elements: f64,
    },
    IsNull,
    IsNotNull,
}

impl<'p> IndexPath<'p> {
    /// The cost settings, of the tablespace where it has its own.
    fn prices(&self) -> Prices {
        let (mut random_page, mut sequential_page) = (0.0, 0.0);
        let tablespace = self.info.reltablespace;
        // SAFETY: fills two doubles; plain settings.
        unsafe {
            pg_sys::get_tablespace_page_costs(tablespace, &mut random_page, &mut sequential_page);
            Prices {
                random_page,
                sequential_page,
                operator: pg_sys::cpu_operator_cost,
                index_row: pg_sys::cpu_index_tuple_cost,
            }
        }
    }

    /// Share of the table's rows that the index's own predicate and its conditions keep, of the
    /// columns that `keeps` chooses.
    fn selectivity(&self, keeps: impl Fn(usize) -> bool) -> f64 {
        // SAFETY: the planner's own structs; the list is made in the planner's memory.
        unsafe {
            let quals = self.quals().filter(|(column, _)| keeps(*column));
            let quals = quals.fold(std::ptr::null_mut(), |list, (_, qual)| {
                pg_sys::lappend(list, qual.cast())
            });
            let quals = pg_sys::add_predicate_to_index_quals(self.path.indexinfo, quals);
            let relation = (*self.info.rel).relid as i32;
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
    fn last_column(&self) -> usize {
        (self.info.nkeycolumns - 1) as usize
    }

    /// Pages that all scans together read, each `pages` of them, given what stays in the cache
    /// between the scans.
    fn pages_of_all_loops(&self, pages: f64) -> f64 {
        if self.loops <= 1.0 {
            return pages;
        }
        let (total, own) = (pages * self.loops, self.info.pages);
        // SAFETY: plain arithmetic on the planner's structs.
        unsafe { pg_sys::index_pages_fetched(total, own, f64::from(own), self.root) }
    }

    /// Pages of the table that looking up `rows` of its rows reads, as the planner counts them
    /// where one row says nothing about the place of the next.
    fn table_pages(&self, rows: f64) -> f64 {
        // SAFETY: plain arithmetic on the planner's structs; an index belongs to a table.
        unsafe {
            let pages = (*self.info.rel).pages;
            pg_sys::index_pages_fetched(rows, pages, f64::from(self.info.pages), self.root)
        }
    }

    /// Returns how many rows the query takes of `matches`, which come in an order that it asks for, and
    /// their share: all where that is not known.
    fn rows_taken(&self, matches: f64, nearest: &Nearest) -> (f64, f64) {
        // SAFETY: the planner's own structs; the arrays are as long as its relations are many, and
        // a child has an entry in the second.
        let share = unsafe {
            let root = &*self.root;
            let mut relation = &*self.info.rel;
            while relation.reloptkind == pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL {
                let link = *root.append_rel_array.add(relation.relid as usize);
                relation = &**root.simple_rel_array.add((*link).parent_relid as usize);
            }
            let query = &*root.parse;
            let grouped = !query.groupClause.is_null() || !query.distinctClause.is_null();
            let rows = relation.rows * self.share_that_joins_keep(relation.relid);
            // A fraction from 1 on is a number of rows.
            match root.tuple_fraction {
                _ if root.limit_tuples > 0.0 => root.limit_tuples / rows,
                // The planner assumes nearly as many groups as rows.
                groups if grouped && groups >= 1.0 => {
                    return (nearest.share_of_rings(groups) * matches, groups / matches);
                }
                _ if grouped => 1.0,
                count if count >= 1.0 => count / rows,
                fraction => fraction,
            }
        };
        match share > 0.0 && share < 1.0 && self.loops <= 1.0 {
            true => (share * matches, share),
            false => (matches, 1.0),
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
    fn conditions(&self) -> Vec<IndexCondition<'p>> {
        self.quals()
            .filter_map(|(column, qual)| {
                // SAFETY: a live RestrictInfo around the clause that the index executes.
                let test = unsafe { self.test(column, (*qual).clause.cast()) }?;
                Some(IndexCondition { column, test })
            })
            .collect()
    }

    /// The ordering operators: the column of each, and its right operand.
    fn order_bys(&self) -> Vec<(usize, NodeRef<'p>)> {
        let columns = self.path.indexorderbycols;
        let column = |i: usize| {
            // SAFETY: a list of integers that lives as long as the planning, with one for each operator.
            unsafe { (*(*columns).elements.add(i)).int_value as usize }
        };
        let operators = list(self.path.indexorderbys).iter().enumerate();
        operators
            .filter_map(|(i, by)| Some((column(i), by.as_binary_operator()?.right)))
            .collect()
    }

    /// The quals of the index conditions, with the number of their column.
    fn quals(&self) -> impl Iterator<Item = (usize, *mut pg_sys::RestrictInfo)> + use<'p> {
        let clauses = list(self.path.indexclauses);
        clauses.iter().flat_map(|clause| {
            // SAFETY: the list's elements are index clauses, with lists of RestrictInfos.
            let clause = unsafe { &*clause.as_ptr::<pg_sys::IndexClause>() };
            let quals = list(clause.indexquals);
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
            let family = *self.info.opfamily.add(column);
            let number = |operator| pg_sys::get_op_opfamily_strategy(operator, family) as u16;
            match (*clause).type_ {
                NodeTag::T_OpExpr => {
                    let clause = &*clause.cast::<pg_sys::OpExpr>();
                    Some(ConditionTest::Operator {
                        number: number(clause.opno),
                        argument: list(clause.args).get(1)?,
                    })
                }
                NodeTag::T_ScalarArrayOpExpr => {
                    let clause = &*clause.cast::<pg_sys::ScalarArrayOpExpr>();
                    let array = list(clause.args).get(1)?;
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

/// A list of nodes in a struct of the planner.
fn list<'p>(list: *mut pg_sys::List) -> NodeList<'p> {
    // SAFETY: called with lists that live as long as the planning.
    unsafe { NodeList::new(list) }
}
