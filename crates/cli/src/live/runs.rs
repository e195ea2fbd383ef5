//! Runs of the targets: who makes the next ones, and the targets of those that a name leads to.

use shardwright_targets::proxysql::{End, Identity, JournalError, PastRun};

use super::{Live, Proxy, targets};
use crate::args::Selection;
use crate::clock;
use crate::commit::{self, Commit};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::Opened;
use crate::state;

/// A run of an apply, with its target.
pub(crate) struct Part {
    pub(crate) run: PastRun,
    pub(crate) live: Live,
    /// The run that took it back.
    pub(crate) taken_back_by: Option<String>,
}

impl Live {
    /// Says where the state of its runs is kept, and names the next one.
    fn keep_run(&mut self, opened: &Opened, identity: Identity) -> Result<(), CommandError> {
        let journal = state::journal(opened)?;
        match &mut self.proxy {
            Proxy::Bundled(target) => target.keep_runs(journal, identity),
            Proxy::ProxySql(target) => target.keep_runs(journal, identity),
        }
        Ok(())
    }
}

/// Says where the state of the runs of targets is kept, and names the next ones, as parts of one apply that changes some of
/// them, as far as that is known; its name.
pub(crate) fn keep_runs<'l>(
    live: impl IntoIterator<Item = &'l mut Live>,
    opened: &Opened,
    changing: Vec<String>,
) -> Result<String, CommandError> {
    let identity = Identity {
        targets: changing,
        ..identity(opened)?
    };
    let mut live: Vec<&mut Live> = live.into_iter().collect();
    let has_parts = live.len() > 1;
    for (at, live) in live.iter_mut().enumerate() {
        let identity = if has_parts {
            identity.part(at + 1)
        } else {
            identity.clone()
        };
        live.keep_run(opened, identity)?;
    }
    Ok(identity.run)
}

/// The same for a command that only reads: why the state of runs cannot be asked, where a secret of it is not at hand.
pub(crate) fn keep_runs_if_known<'l>(
    live: impl IntoIterator<Item = &'l mut Live>,
    opened: &Opened,
) -> Result<Option<String>, CommandError> {
    match keep_runs(live, opened, Vec::new()) {
        Ok(_) => Ok(None),
        Err(error) if error.exit == Exit::Failed => Ok(Some(error.message)),
        Err(error) => Err(error),
    }
}

/// The runs of an apply by its name, or one of them by its own, each with its target; the last one first.
pub(crate) fn parts(opened: &Opened, name: &str) -> Result<Vec<Part>, CommandError> {
    let journal = state::journal(opened)?;
    let failed = |error: &JournalError| {
        let exit = match error {
            JournalError::NoRun(_) => Exit::Usage,
            _ => Exit::Failed,
        };
        CommandError::new(exit, error.to_string())
            .hint("shardwright history lists the applies and their runs")
    };
    let history = journal.history().map_err(|error| failed(&error))?;
    let is_named =
        |run: &PastRun| [run.head.identity.run.as_str(), run.head.identity.of_apply()].contains(&name);
    let taken_back: Vec<Option<String>> = history
        .iter()
        .map(|run| taken_back_by(&history, &run.head.identity.run).map(str::to_owned))
        .collect();
    let mut named: Vec<(PastRun, Option<String>)> = history
        .into_iter()
        .zip(taken_back)
        .filter(|(run, _)| is_named(run))
        .collect();
    named.reverse();
    if named.is_empty() {
        // The store says best that there is no such run.
        journal.run(name).map_err(|error| failed(&error))?;
    }
    // What cannot be read is known before anything is asked of a target.
    for (run, _) in &named {
        journal
            .run(&run.head.identity.run)
            .map_err(|error| failed(&error))?;
    }
    let selection = Selection {
        targets: named.iter().map(|(run, _)| run.head.target.clone()).collect(),
    };
    let mut live = targets(opened, &selection)?;
    keep_runs(&mut live, opened, Vec::new())?;
    let mut parts = Vec::with_capacity(named.len());
    for (run, taken_back_by) in named {
        let at = live.iter().position(|live| live.name() == run.head.target);
        let at = at.ok_or_else(|| CommandError::internal("two runs of an apply have one target"))?;
        parts.push(Part {
            run,
            live: live.swap_remove(at),
            taken_back_by,
        });
    }
    Ok(parts)
}

/// The run that took back another one, and was not taken back itself.
fn taken_back_by<'h>(history: &'h [PastRun], name: &str) -> Option<&'h str> {
    let is_applied = |run: &&PastRun| matches!(run.end(), Some((End::Applied, _)));
    let mut of_it = history
        .iter()
        .rev()
        .filter(|run| run.head.desired == name)
        .filter(is_applied);
    let found = of_it.find(|run| taken_back_by(history, &run.head.identity.run).is_none());
    found.map(|run| run.head.identity.run.as_str())
}

/// An apply that begins now. Two of one second have other names.
fn identity(opened: &Opened) -> Result<Identity, CommandError> {
    let mut random = [0; 4];
    getrandom::fill(&mut random)
        .map_err(|error| CommandError::failed(format!("no random numbers for the name of a run: {error}")))?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let now = clock::now();
    let commit = commit::head(&opened.directory);
    Ok(Identity {
        run: format!("{}-{digits}", now.strftime("%Y%m%d-%H%M%S-%3f")),
        by: state::by(),
        at: now.to_string(),
        is_uncommitted: commit.as_ref().is_some_and(|commit| commit.is_uncommitted),
        commit: commit.map(|Commit { id, .. }| id),
        apply: None,
        targets: Vec::new(),
    })
}
