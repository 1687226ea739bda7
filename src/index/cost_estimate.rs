//! Estimates the cost of an index path. `handler` calls it as amcostestimate. A path that the index
//! cannot search costs more than any other.

#![forbid(unsafe_code)]

use super::opclass::operator;
use simhash_base::tid::Tid;
use simhash_hamming::ball::{Ball, NEAR, NEAR_TEXTS};
use simhash_hamming::cost::{Prices, SearchedRows, Work};
use simhash_hamming::cost_nearest::{Nearest, startup};
use simhash_pg::planner::nodes::NodeRef;
use simhash_pg::planner::path::{
    ConditionTest, CostEstimate, IndexCondition, IndexPath, PathOrderBy, RowsTaken, cpu_costs,
};
use simhash_pg::process::memory::work_mem_bytes;

/// The radius that planning assumes where it is not a constant.
const ASSUMED_RADIUS: i32 = NEAR;

/// Pages that `fp = x` is charged for in addition to the search: a b-tree reads as little, and
/// answers it without comparing rows.
const EQUAL_SURCHARGE: f64 = 2.0;

/// A price above that of any path that a setting like enable_seqscan = off disables (1e10, up to
/// PostgreSQL 17).
const NEVER: f64 = 1e12;

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

/// Prices an index path.
pub fn estimate(path: &IndexPath) -> CostEstimate {
    let request = Request::from_path(path);
    // An index-only scan would have to be safe against VACUUM without visiting the table. The pins
    // for that are not kept, and on a standby they would not help. The planner always has another
    // path, a scan of the table, also for conditions that the index cannot search with.
    if path.is_index_only() || request.unsearchable {
        return CostEstimate {
            startup: NEVER,
            total: NEVER,
            selectivity: path.selectivity(|_| true),
            pages: path.index_pages(),
            never: true,
        };
    }
    let (operator, index_row) = cpu_costs();
    let page_costs = path.page_costs();
    let prices = Prices {
        random_page: page_costs.random,
        sequential_page: page_costs.sequential,
        operator,
        index_row,
    };
    match path.order_bys().first() {
        Some(order_by) => in_order(path, &request, order_by, &prices),
        None => unordered(path, &request, &prices),
    }
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
        never: false,
    }
}

/// A scan in the order of distance returns the rows one by one, and reads on as long as rows are
/// asked for.
fn in_order(
    path: &IndexPath,
    request: &Request,
    by: &PathOrderBy,
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
    let (rows_read, share) = match path.rows_taken() {
        RowsTaken::First(share) if path.loops() <= 1.0 => (share * matches, share),
        // The planner assumes nearly as many groups as rows.
        RowsTaken::Groups(groups) => (nearest.share_of_rings(groups) * matches, groups / matches),
        _ => (matches, 1.0),
    };
    let pages = |rows: f64| path.table_pages(rows) * prices.random_page;
    let at_share = work(rows_read).price_in_order(&prices, rows_read) + pages(rows_read);
    let of_all = total + pages(matches);
    CostEstimate {
        startup: startup(first, at_share, share, of_all).min(total),
        total,
        selectivity,
        pages: all.pages(),
        never: false,
    }
}

/// Returns what a search without scopes has to search: the whole index.
fn index(path: &IndexPath) -> SearchedRows {
    SearchedRows::index(path.index_rows(), path.index_pages())
}

/// Returns the number of rows that the scan returns.
fn matches(path: &IndexPath, selectivity: f64) -> f64 {
    let rows = path.index_rows().max(1.0);
    (path.table_rows() * selectivity).clamp(1.0, rows)
}

/// Returns the prices, lower where the scan is repeated and finds looked-up pages in the cache.
/// Reading a whole key space again costs the same, as the planner assumes for reading a table
/// again.
fn cached(path: &IndexPath, prices: &Prices, work: &Work) -> Prices {
    let pages = work.random_pages;
    let share = path.pages_of_all_loops(pages) / (pages * path.loops()).max(1.0);
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
        let other_order = order_bys.len() > 1 || order_bys.iter().any(|by| by.column != last);
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
    fn farthest(&self, path: &IndexPath, by: &PathOrderBy) -> u32 {
        let radius = |condition: IndexCondition| match condition.test {
            ConditionTest::Operator { number, argument } if condition.column == by.column => {
                let ball = ball(number, argument)?;
                ball.centre.equals(by.argument).then_some(ball.radius)
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
            radius: ball(number, argument).map_or(ASSUMED_RADIUS, |ball| ball.radius),
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

/// A ball, as far as it is known.
struct PlannedBall<'p> {
    centre: Centre<'p>,
    radius: i32,
}

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

/// Returns the ball that an operator and its argument stand for; None when nothing is known of it.
fn ball(number: u16, argument: NodeRef<'_>) -> Option<PlannedBall<'_>> {
    let around = |centre, radius| PlannedBall {
        centre: Centre::Computed(centre),
        radius,
    };
    match number {
        operator::NEAR => Some(around(argument, NEAR)),
        operator::EQUAL => Some(around(argument, 0)),
        operator::SAME => Some(around(argument, NEAR_TEXTS)),
        operator::IN_BALL => {
            if let Some(ball) = argument.as_by_reference().map(Ball::from_bytes) {
                return Some(PlannedBall {
                    centre: Centre::Known(ball.centre),
                    radius: ball.radius,
                });
            }
            let [centre, radius] = argument.as_call()?.args.as_array()?;
            let radius = radius
                .as_integer()
                .map(|radius| radius.clamp(-1, 64) as i32);
            Some(around(centre, radius.unwrap_or(ASSUMED_RADIUS)))
        }
        _ => None,
    }
}
