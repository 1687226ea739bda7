//! The table of the searches from disk.

use std::fmt::Write as _;

use crate::cold::{CONCURRENCIES, DEPTHS, ROUNDS, STATES, TASKS, concurrency, depth, pages_of};
use crate::report::{Section, short};

/// A row for each kind of search in each kind of session.
pub fn write(section: &Section, out: &mut String) {
    let has = |state| section.measures.iter().any(|m| m.what == state);
    if !has(STATES[0]) {
        return;
    }
    let [first, .., last] = CONCURRENCIES;
    let [one, many] = DEPTHS;
    let settings = CONCURRENCIES.map(|c| c.to_string()).join(" | ");
    let _ = writeln!(
        out,
        "\nCold disk: medians of {ROUNDS} in ms, by effective_io_concurrency, and of reading as many random pages of the index\n"
    );
    let _ = writeln!(
        out,
        "| session, k | pages read | {settings} | {first} over {last} | pread, depth {one} | depth {many} | depth {one} over {many} | share of that gain |"
    );
    let _ = writeln!(out, "|---|---|{}", "---|".repeat(CONCURRENCIES.len() + 5));
    for state in STATES {
        for task in TASKS {
            let k = task.name();
            let value = |peer: String| section.find(state, &peer, &k).map(|m| m.value);
            let pages = section.find(&pages_of(state), &concurrency(first), &k);
            let ratio = |slow, fast| Some(value(slow)? / value(fast)?);
            let gain = ratio(concurrency(first), concurrency(last));
            let most = ratio(depth(one), depth(many));
            let share = gain.zip(most).map(|(gain, most)| 100.0 * gain / most);
            let mut cells = vec![pages.map(|m| m.value)];
            cells.extend(CONCURRENCIES.map(|c| value(concurrency(c))));
            cells.extend([gain, value(depth(one)), value(depth(many)), most]);
            let cells: Vec<String> = (cells.into_iter())
                .map(|v| v.map_or("-".to_owned(), short))
                .collect();
            let share = share.map_or("-".to_owned(), |share| format!("{share:.0} %"));
            let name = state.trim_start_matches(crate::cold::PREFIX);
            let _ = writeln!(out, "| {name}, {k} | {} | {share} |", cells.join(" | "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Measure;

    /// A gain of 3 where plain reads gain 4 is 75 %; what was not measured is a dash.
    #[test]
    fn gains_are_compared() {
        let measure = |what: &str, peer, value| Measure {
            what: what.to_owned(),
            peer,
            k: "8".to_owned(),
            value,
            ..Measure::default()
        };
        let section = Section {
            set: "A".to_owned(),
            rows: 1,
            measures: vec![
                measure(&pages_of(STATES[0]), concurrency(0), 120.0),
                measure(STATES[0], concurrency(0), 12.0),
                measure(STATES[0], concurrency(100), 4.0),
                measure(STATES[0], depth(1), 20.0),
                measure(STATES[0], depth(32), 5.0),
            ],
        };
        let mut text = String::new();
        write(&section, &mut text);
        let row = text.lines().find(|l| l.starts_with("| new session, 8 "));
        let wanted =
            "| new session, 8 | 120 | 12.0 | - | - | 4.00 | 3.00 | 20.0 | 5.00 | 4.00 | 75 % |";
        assert_eq!(row, Some(wanted));
    }
}
