//! Sessions that store rows in an order drawn at random. A pair of near rows is missed when each of two
//! transactions searches before the other's row can be seen.
//! And rows drawn at random, which a search of long runs must find.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Store,
    Savepoint,
    Release,
    RollBackTo,
    Commit,
    RollBack,
    Prepare,
}

/// A transaction of the schedule. The numbers of its subtransactions follow its own.
struct Transaction {
    number: u32,
    /// Of each open savepoint: its number, and how many rows were entered and stored before.
    savepoints: Vec<(u32, usize, usize)>,
    /// Its rows, and the number of what stores each.
    stored: Vec<(Compared, u32)>,
    /// A row for which those to wait for are still sought.
    searching: Option<(&'static [Compared], Search<'static>)>,
    /// A row that waits until these have ended.
    waiting: Option<(Compared, Vec<u32>)>,
}

struct Schedule {
    all: InProgress<TestMemory>,
    sessions: Vec<Option<Transaction>>,
    prepared: Vec<Transaction>,
    committed: Vec<Compared>,
    next: u32,
    /// Rows that waited, and those that were stored.
    waited: usize,
}

impl Schedule {
    fn new(room: usize) -> Self {
        Self {
            all: in_progress(room),
            sessions: (0..SESSIONS).map(|_| None).collect(),
            prepared: Vec::new(),
            committed: Vec::new(),
            next: 1,
            waited: 0,
        }
    }

    fn transactions(&self) -> impl Iterator<Item = &Transaction> {
        self.sessions.iter().flatten().chain(&self.prepared)
    }

    /// Whether somebody who waits for this number still has to. As the server has it: a savepoint
    /// that is released counts as long as its transaction.
    fn holds(&self, number: u32) -> bool {
        self.transactions().any(|t| {
            let is_own = (t.number..t.number + 1000).contains(&number);
            is_own
                && (number == t.number
                    || t.savepoints.iter().any(|savepoint| savepoint.0 == number)
                    || t.stored.iter().any(|(_, by)| *by == number))
        })
    }

    fn step(&mut self, session: usize, step: Step, row: Compared) -> Result<(), TestCaseError> {
        if self.sessions[session].is_none() {
            let number = self.next;
            self.next += 1000;
            self.sessions[session] = Some(Transaction {
                number,
                savepoints: Vec::new(),
                stored: Vec::new(),
                searching: None,
                waiting: None,
            });
        }
        let holds: Vec<u32> = match &self.sessions[session].as_ref().unwrap().waiting {
            Some((_, waits)) => waits.iter().copied().filter(|&w| self.holds(w)).collect(),
            None => Vec::new(),
        };
        let t = self.sessions[session].as_mut().unwrap();
        if t.waiting.is_some() {
            // A session that waits does nothing else, but may be cancelled.
            if !holds.is_empty() {
                if matches!(step, Step::RollBack) {
                    self.end(session, false);
                }
                return Ok(());
            }
            let (row, _) = t.waiting.take().unwrap();
            return self.search_and_store(session, row);
        }
        if t.searching.is_some() {
            if matches!(step, Step::RollBack) {
                self.end(session, false);
                return Ok(());
            }
            return self.go_on(session);
        }
        match step {
            Step::Store => {
                let by = Writer {
                    slot: session,
                    transaction: t.number,
                    subtransaction: t
                        .savepoints
                        .last()
                        .map_or(t.number, |savepoint| savepoint.0),
                    role: 10,
                };
                // The search lasts as long as the row, and a test is short.
                let rows: &'static [Compared] = Vec::leak(vec![row]);
                let entered = self.all.enter(by, rows, Key::default());
                let search = Search::for_entered(&by, rows, &entered);
                self.sessions[session].as_mut().unwrap().searching = Some((rows, search));
                self.go_on(session)
            }
            Step::Savepoint => {
                if t.savepoints.len() < 4 {
                    let number = t.number + 1 + (self.next % 7) * 100 + t.stored.len() as u32;
                    let entered = self.all.get(session, slot::COUNT) as usize;
                    let t = self.sessions[session].as_mut().unwrap();
                    t.savepoints
                        .push((number.max(t.number + 1), entered, t.stored.len()));
                }
                Ok(())
            }
            Step::Release => {
                t.savepoints.pop();
                Ok(())
            }
            Step::RollBackTo => {
                if let Some((_, entered, stored)) = t.savepoints.pop() {
                    t.stored.truncate(stored);
                    withdraw(&mut self.all, session, entered);
                }
                Ok(())
            }
            Step::Commit => {
                self.end(session, true);
                Ok(())
            }
            Step::RollBack => {
                self.end(session, false);
                Ok(())
            }
            Step::Prepare => {
                if self.prepared.len() < PREPARED && self.all.get(session, slot::COUNT) > 0 {
                    let t = self.sessions[session].take().unwrap();
                    let running: BTreeSet<u32> = self.transactions().map(|t| t.number).collect();
                    let is_running = |transaction| running.contains(&transaction);
                    prop_assert!(self.all.prepare(session, is_running).is_some());
                    self.prepared.push(t);
                } else if let Some(t) = self.prepared.pop() {
                    // Nobody says that it has ended: the next one who enters a row finds out.
                    self.committed
                        .extend(t.stored.iter().map(|(row, _)| row.clone()));
                }
                Ok(())
            }
        }
    }

    /// A call of the search: others take their steps before the next one.
    fn go_on(&mut self, session: usize) -> Result<(), TestCaseError> {
        let running: BTreeSet<u32> = self.transactions().map(|t| t.number).collect();
        let is_running = |transaction| running.contains(&transaction);
        let t = self.sessions[session].as_mut().unwrap();
        let Some((rows, mut search)) = t.searching.take() else {
            return Ok(());
        };
        if !self.all.search(&mut search, is_running) {
            t.searching = Some((rows, search));
            return Ok(());
        }
        let (number, row) = (t.number, rows[0].clone());
        let waits: Vec<u32> = search.waits.iter().map(|wait| wait.transaction).collect();
        for wait in &waits {
            prop_assert!(!(number..number + 1000).contains(wait) && *wait < self.next);
        }
        if waits.iter().any(|&w| self.holds(w)) {
            self.waited += 1;
            self.sessions[session].as_mut().unwrap().waiting = Some((row, waits));
            return Ok(());
        }
        self.search_and_store(session, row)
    }

    /// What a trigger does after it has waited. A row that is near one that it sees is not stored;
    /// one that it does not see is missed.
    fn search_and_store(&mut self, session: usize, row: Compared) -> Result<(), TestCaseError> {
        let own = self.sessions[session].as_ref().unwrap();
        let sees = |seen: &Compared| near(seen, &row);
        if self.committed.iter().any(sees) || own.stored.iter().any(|(seen, _)| sees(seen)) {
            return Ok(());
        }
        let number = own.number;
        for other in self.transactions().filter(|t| t.number != number) {
            for (stored, _) in &other.stored {
                prop_assert!(
                    !near(stored, &row),
                    "{:?} and {:?} do not see each other",
                    stored,
                    row
                );
            }
        }
        let t = self.sessions[session].as_mut().unwrap();
        let by = t
            .savepoints
            .last()
            .map_or(t.number, |savepoint| savepoint.0);
        t.stored.push((row, by));
        Ok(())
    }

    fn end(&mut self, session: usize, commits: bool) {
        let t = self.sessions[session].take().unwrap();
        if commits {
            self.committed
                .extend(t.stored.iter().map(|(row, _)| row.clone()));
        }
        end(&mut self.all, session);
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => Just(Step::Store),
        1 => Just(Step::Savepoint),
        1 => Just(Step::Release),
        1 => Just(Step::RollBackTo),
        2 => Just(Step::Commit),
        1 => Just(Step::RollBack),
        1 => Just(Step::Prepare),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_schedule_misses_a_pair(
        steps in prop::collection::vec((0..SESSIONS, any_step(), 0u64..5, 0u32..64, 2u32..5), 1..120),
        room in prop_oneof![Just(0usize), Just(AMPLE)],
        parts in 1u32..5,
    ) {
        let mut schedule = Schedule::new(room);
        for (session, step, centre, bit, place) in steps {
            let mix = simhash_fingerprint::hash::mix;
            let hash = match parts {
                1 => Hash::Fingerprint(mix(centre) ^ 1 << bit),
                // Unlike hashes have some equal parts.
                _ => {
                    let part = |part: u32| mix((centre + u64::from(part)) / 2) ^ ((1 << bit) * u64::from(bit % parts == part));
                    Hash::Parts((0..parts).map(part).collect())
                }
            };
            schedule.step(session, step, row_of(hash, place, 3))?;
        }
    }
}

proptest! {
    /// Long runs find the same rows as one that is read whole, also after rows were withdrawn.
    #[test]
    fn filed_rows_are_found(
        seed: u64,
        radius in 0u32..20,
        left in 0usize..3000,
        centres in 1u64..5,
        parts in 1usize..4,
    ) {
        let mut all = in_progress(AMPLE);
        let random = |i: u64| simhash_fingerprint::hash::mix(seed.wrapping_add(i));
        let drawn = |i: u64| {
            let flips = (0..random(i) % 20).fold(0, |flips, bit| flips | 1 << (random(i + bit) % 64));
            let place = 2 + (i % 3) as u32;
            if parts == 1 {
                return row(random(i % centres) ^ flips, place, radius);
            }
            // Each part has some of the flipped bits.
            let part = |part: u64| {
                random(i % centres + part % 2) ^ flips & random(part) & !random(part ^ 1 << 40)
            };
            row_of(Hash::Parts((0..parts as u64).map(part).collect()), place, radius)
        };
        let mut stored: Vec<Compared> = (0..3000).map(drawn).collect();
        for row in &stored {
            enter(&mut all, writer(0), std::slice::from_ref(row), Key::default(), |_| true);
        }
        withdraw(&mut all, 0, left * parts);
        stored.truncate(left);
        for row in (5000..6000).map(drawn) {
            enter(&mut all, writer(0), std::slice::from_ref(&row), Key::default(), |_| true);
            stored.push(row);
        }
        for sought in (9000..9060).map(drawn) {
            let mut found = Vec::new();
            for run in 0.. {
                if all.near_in_run(0, run, &sought, &mut |row| found.push(row)).is_none() {
                    break;
                }
            }
            let found = found.into_iter().map(|row| row.hash);
            let expected = stored.iter().filter(|row| near(row, &sought)).map(|row| row.hash.clone());
            prop_assert_eq!(found.collect::<BTreeSet<_>>(), expected.collect::<BTreeSet<_>>());
        }
    }
}
