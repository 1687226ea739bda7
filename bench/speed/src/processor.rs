//! Client and backend on one processor, so that no query waits for another processor to wake up.
//! The program `taskset` (util-linux) does it; where it cannot, nothing is bound.

use std::process::Command;

use crate::pq::Client;

/// While it lives, this thread and a backend share one processor; afterwards they may use those of
/// before again.
pub struct SharedProcessor {
    /// Each process with the processors that it could use.
    before: Vec<(String, String)>,
}

/// Runs taskset, and returns what it prints behind the colon.
fn taskset(arguments: &[&str]) -> Option<String> {
    let output = Command::new("taskset").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let list = text.rsplit(':').next().map(|list| list.trim().to_owned());
    list.filter(|_| output.status.success())
}

impl SharedProcessor {
    /// Returns None where the system or the user's rights do not allow it.
    pub fn with(client: &Client) -> Option<Self> {
        let processes = [std::process::id() as i32, client.backend()];
        let mut shared = Self { before: Vec::new() };
        for process in processes.map(|process| process.to_string()) {
            let processors = taskset(&["-pc", &process])?;
            shared.before.push((process, processors));
        }
        let last = shared.before[0].1.rsplit([',', '-']).next()?.to_owned();
        for (process, _) in &shared.before {
            taskset(&["-pc", &last, process])?;
        }
        Some(shared)
    }
}

impl Drop for SharedProcessor {
    fn drop(&mut self) {
        for (process, processors) in &self.before {
            taskset(&["-pc", processors, process]);
        }
    }
}
