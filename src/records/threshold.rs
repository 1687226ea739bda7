//! The threshold of pairs of records that nobody gave: the rule is `simhash_records::threshold`. The
//! functions of pairs and of stored records call it; pairs wait in a temporary file until all are
//! compared. A NOTICE says which threshold was taken, and why.

use super::source::{RecordSettings, compare_candidates};
use simhash_base::external_sort::Sorter;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::notice;
use simhash_pg::process::memory::{or_out_of_memory, work_mem_bytes};
use simhash_pg::process::temp_file::TempFiles;
use simhash_records::copies::{Candidate, Copies};
use simhash_records::frequencies::Found;
use simhash_records::partners::Partners;
use simhash_records::report::Report;
use simhash_records::threshold::{LEAST, Scored, ScoredByPair, Why};

/// Calls `each` with every pair of records whose similarity is at least the threshold; returns that. `has_two` says whether
/// they are of two relations.
pub fn compare_from(
    found: &mut Found<TempFiles>,
    settings: &RecordSettings,
    activity: &mut Activity,
    threshold: Option<f64>,
    has_two: bool,
    mut each: impl FnMut(&Copies, Candidate, f64),
) -> f64 {
    if let Some(threshold) = threshold {
        compare_candidates(found, settings, activity, |copies, pair, similarity| {
            if similarity >= threshold {
                each(copies, pair, similarity);
            }
        });
        return threshold;
    }
    let mut report = Report::default();
    let mut waiting = Sorter::new(work_mem_bytes() / 4, ScoredByPair);
    let mut partners = or_out_of_memory(Partners::new(found.copies.records()));
    compare_candidates(found, settings, activity, |copies, pair, similarity| {
        report.add(pair, similarity, copies.count(pair));
        or_out_of_memory(partners.add(pair, similarity));
        if similarity >= LEAST {
            or_out_of_memory(waiting.add(Scored { pair, similarity }, &mut TempFiles));
        }
    });
    or_out_of_memory(report.add_partners(partners, &found.copies));
    let (threshold, why) = report.choose(has_two);
    say(threshold, why);
    for Scored { pair, similarity } in or_out_of_memory(waiting.finish(&mut TempFiles)) {
        check_for_interrupts();
        if similarity >= threshold {
            each(&found.copies, pair, similarity);
        }
    }
    threshold
}

/// Says which threshold is taken.
fn say(threshold: f64, why: Why) {
    let why = match why {
        Why::Kink => "below it pairs become many",
        Why::Agreement => "its pairs agree best with those of which each row is the other's best",
        Why::Unknown => "no other one stands out",
    };
    let hint = "simhash_record_report shows pairs above and below it; 200 labels of simhash_record_sample find a better one.";
    notice(format!("threshold {threshold} is taken: {why}"), Some(hint));
}
