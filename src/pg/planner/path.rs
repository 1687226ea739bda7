//! An index path that the planner wants to know the cost of.

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
    pub random: f64,
    pub sequential: f64,
}

/// The output arguments of amcostestimate.
pub struct Estimate {
    pub startup: f64,
    pub total: f64,
    pub selectivity: f64,
    pub pages: f64,
}

/// The argument of an index condition, as far as it is known at planning time.
pub enum Argument {
    Known(pg_sys::Datum),
    /// The arguments of the function call that will compute it: None where one is not constant.
    Call(Vec<Option<pg_sys::Datum>>),
    Unknown,
}

impl<'p> IndexPath<'p> {
    /// # Safety
    /// The pointers must be what the planner passes to amcostestimate.
    pub unsafe fn from_raw(
        root: *mut pg_sys::PlannerInfo,
        path: *mut pg_sys::IndexPath,
        loops: f64,
    ) -> IndexPath<'p> {
        // SAFETY: the caller's word.
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

    pub fn index_pages(&self) -> f64 {
        f64::from(self.info().pages)
    }

    /// How often the scan is expected to run (the inner side of a nested loop).
    pub fn loops(&self) -> f64 {
        self.loops.max(1.0)
    }

    /// Is it a scan in the order of the ordering operator?
    pub fn is_ordered(&self) -> bool {
        !self.path.indexorderbys.is_null()
    }

    /// Is it an index-only scan? For a query that needs no column at all, the planner considers one
    /// for every index without a mandatory key (amoptionalkey).
    pub fn is_index_only(&self) -> bool {
        self.path.path.pathtype == NodeTag::T_IndexOnlyScan
    }

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

    /// Share of the table's rows that the index conditions and the index's own predicate keep.
    pub fn selectivity(&self) -> f64 {
        // SAFETY: the planner's own structs; the lists are made in the planner's memory.
        unsafe {
            let quals = pg_sys::get_quals_from_indexclauses(self.path.indexclauses);
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

    /// The index conditions that are operators: operator number and argument.
    pub fn operators(&self) -> Vec<(u16, Argument)> {
        // SAFETY: the quals of index clauses are RestrictInfos around the clause that the index
        // executes; the index has one column, hence one operator family.
        unsafe {
            let quals = pg_sys::get_quals_from_indexclauses(self.path.indexclauses);
            let last = self.info().nkeycolumns as usize - 1;
            let family = *self.info().opfamily.add(last);
            elements(quals)
                .filter_map(|qual: *mut pg_sys::RestrictInfo| {
                    let clause = (*qual).clause.cast::<pg_sys::OpExpr>();
                    if (*clause).xpr.type_ != NodeTag::T_OpExpr {
                        return None;
                    }
                    let number = pg_sys::get_op_opfamily_strategy((*clause).opno, family);
                    let argument = elements((*clause).args).nth(1)?;
                    Some((number as u16, argument_of(argument)))
                })
                .collect()
        }
    }
}

/// The pointers in a list.
///
/// # Safety
/// `list` must be NIL or a list of pointers to T.
unsafe fn elements<T>(list: *mut pg_sys::List) -> impl Iterator<Item = *mut T> {
    // SAFETY: the caller's word.
    let n = unsafe { list.as_ref() }.map_or(0, |list| list.length as usize);
    // SAFETY: as above; a list holds `length` cells.
    (0..n).map(move |i| unsafe { (*(*list).elements.add(i)).ptr_value.cast() })
}

/// # Safety
/// `node` must be an expression node.
unsafe fn argument_of(node: *mut pg_sys::Node) -> Argument {
    // SAFETY: the caller's word; the tag says which struct it is.
    unsafe {
        match (*node).type_ {
            NodeTag::T_Const => constant(node).map_or(Argument::Unknown, Argument::Known),
            NodeTag::T_FuncExpr => {
                let args = elements((*node.cast::<pg_sys::FuncExpr>()).args);
                Argument::Call(args.map(|arg| constant(arg)).collect())
            }
            _ => Argument::Unknown,
        }
    }
}

/// # Safety
/// `node` must be an expression node.
unsafe fn constant(node: *mut pg_sys::Node) -> Option<pg_sys::Datum> {
    // SAFETY: the caller's word; the tag says that it is a Const.
    unsafe {
        let is_const = (*node).type_ == NodeTag::T_Const;
        let value = node.cast::<pg_sys::Const>();
        (is_const && !(*value).constisnull).then(|| (*value).constvalue)
    }
}

/// cpu_operator_cost and cpu_index_tuple_cost.
pub fn cpu_costs() -> (f64, f64) {
    // SAFETY: plain settings.
    unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) }
}
