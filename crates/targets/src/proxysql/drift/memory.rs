//! What runs remember that a look is compared with: what the last one left, and what it found beside the rows of the project.

use shardwright_rules::{Body, Configuration, Rule};

use super::super::beside::Besides;
use super::super::journal::Run;
use super::super::left::Left;
use super::super::live::Live;
use super::super::mark::Mark;
use super::super::row::RowName;
use super::super::target::ProxySqlTarget;
use super::super::wanted::Wanted;
use crate::emit::variables::FIREWALL_ENABLED;

impl ProxySqlTarget {
    /// What the last run that the history has of this target left.
    pub(super) fn last_of_history(&self) -> Option<Left> {
        self.last_run()?.record.left().cloned()
    }

    /// The last run that the history has of this target; `None` also where it cannot be read.
    fn last_run(&self) -> Option<Run> {
        let (journal, _) = self.journal.as_ref()?;
        let last = journal.last_applied(&self.name).ok()??;
        journal.run(&last.head.identity.run).ok()
    }

    /// What the run of a mark found beside the rows of projects; the reason why nobody remembers that.
    pub(super) fn found_beside(&self, mark: Option<&Mark>) -> Result<Option<Besides>, String> {
        let own = mark.filter(|mark| mark.project == self.project);
        let Some((mark, (journal, _))) = own.zip(self.journal.as_ref()) else {
            return Ok(None);
        };
        let unknown = |reason: &str| {
            Err(format!(
                "tables and variables that no project holds, with those at run {}: {reason}",
                mark.run
            ))
        };
        let run = match journal.run(&mark.run) {
            // The mark of a peer came over the cluster: of this node, its own last run knows.
            Ok(run) if run.record.target != self.name => match self.last_run() {
                Some(own) => own,
                None => {
                    return unknown(&format!(
                        "it was made on {}, and came over the cluster",
                        run.record.target
                    ));
                }
            },
            Ok(run) => run,
            Err(error) => return unknown(&error.to_string()),
        };
        match run.record.besides() {
            Some(besides) => Ok(Some(besides.clone())),
            None => unknown("an earlier version made it, which has not looked at them"),
        }
    }
}

/// The passwords that cannot be compared.
pub(super) fn unresolved(wanted: &Wanted) -> Vec<String> {
    let unresolved = wanted.rows.values().filter_map(|wish| {
        let reason = wish.unresolved.as_ref()?;
        Some(format!("the password of {}: {reason}", wish.address))
    });
    unresolved.collect()
}

/// A firewall that somebody else has switched on beside mirrors of the project, which ends this engine at the first copy.
pub(super) fn firewalled_mirrors(live: &Live, wanted: &Wanted, desired: &Configuration) -> Option<String> {
    let ends = desired.engine.profile().firewalled_mirror_ends_engine;
    let is_ours = wanted.rows.contains_key(&RowName::variable(FIREWALL_ENABLED));
    let is_on = matches!(live.variable(FIREWALL_ENABLED), Some("true" | "1"));
    let mirrors = |rule: &Rule| matches!(&rule.body, Body::Engine(row) if row.mirrors());
    (ends && is_on && !is_ours && desired.graph.rules.iter().any(mirrors)).then(|| {
        format!("{FIREWALL_ENABLED}: the firewall is on beside mirrors, and the first copy of a statement ends ProxySQL (SW248)")
    })
}
