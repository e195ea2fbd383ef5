//! What the analysis warns of, found while the targets are asked.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use shardwright_analysis::{Beside, Finding, OtherUsers, analysis_beside};
use shardwright_plan::{Hazard, Severity};
use shardwright_rules::Configuration;
use shardwright_topology::model::ProjectFile;

use crate::ownership::other_users;

/// The hazards of a configuration: being found, or found.
pub(crate) enum Analysed {
    Running(JoinHandle<Vec<Hazard>>),
    Found(Vec<Hazard>),
}

impl Analysed {
    /// Begins to look for them.
    pub(crate) fn begin(configuration: &Arc<Configuration>, file: &ProjectFile) -> Self {
        let configuration = Arc::clone(configuration);
        let others = other_users(configuration.engine, file);
        Self::Running(thread::spawn(move || hazards(&configuration, &others)))
    }

    /// What was found, as soon as everything is.
    pub(crate) fn hazards(&mut self) -> Vec<Hazard> {
        let found = match std::mem::replace(self, Self::Found(Vec::new())) {
            Self::Running(running) => match running.join() {
                Ok(found) => found,
                Err(panic) => std::panic::resume_unwind(panic),
            },
            Self::Found(found) => found,
        };
        *self = Self::Found(found.clone());
        found
    }
}

/// What the analysis warns of travels with the plan.
pub(crate) fn hazards(configuration: &Configuration, others: &OtherUsers) -> Vec<Hazard> {
    let beside = Beside {
        users: others.clone(),
        ..Beside::default()
    };
    let findings = analysis_beside(configuration, &beside).findings;
    let grave = |finding: &&Finding| finding.severity != Severity::Info;
    let hazards = findings.iter().filter(grave).map(|finding| Hazard {
        code: finding.code.to_string(),
        severity: finding.severity,
        message: finding.message.clone(),
        address: finding.address.clone(),
        is_live: false,
    });
    hazards.collect()
}
