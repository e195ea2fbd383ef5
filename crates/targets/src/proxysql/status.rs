//! What a ProxySQL runs, module by module, and whether that is what was applied.

use serde::Serialize;
use shardwright_plan::{Target, TargetError};
use shardwright_rules::tables::GLOBAL_VARIABLES;
use shardwright_rules::{Configuration, EngineId, SecretReference};

use super::layers::{Rows, Unlike, unlike};
use super::live::Live;
use super::mark::is_ours_to_keep;
use super::module::Module;
use super::row::{RowName, TableName};
use super::session::{AdminSession, Layer, SessionError};
use super::take_back::BEFORE;
use super::target::ProxySqlTarget;
use super::unloaded::unloaded;
use crate::emit::variables::AT_START;

/// What is known of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its name in the project file.
    pub target: String,
    /// As it says it.
    pub version: String,
    /// The project that its rows belong to, of those that concern ours.
    pub project: Option<String>,
    /// How often that was applied; 0: never.
    pub generation: u64,
    /// The run that applied it last.
    pub run: Option<String>,
    /// Whether our rows are those that were applied last; `None`: nothing was applied.
    pub is_as_applied: Option<bool>,
    /// The configuration that was applied last, by its fingerprint.
    pub configuration: Option<String>,
    /// Why what it holds is older than what was applied here, or than what others of the project run; a line each.
    pub behind: Vec<String>,
    /// Secrets that cannot be used here, with the reason; a line each.
    pub unusable: Vec<String>,
    /// A run that has not ended, with what to do.
    pub unfinished: Option<String>,
    /// Variables that wait for the next start.
    pub waits_for_start: Vec<String>,
    /// Module by module.
    pub modules: Vec<ModuleStatus>,
}

/// What is known of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModuleStatus {
    /// As the admin port calls it.
    pub module: String,
    /// Rows that are another in memory than live.
    pub not_live: Vec<String>,
    /// Rows that are another in memory than on disk.
    pub not_saved: Vec<String>,
}

impl Status {
    /// Whether everything is as it was applied last, live and saved, and could be applied again.
    pub fn is_well(&self) -> bool {
        let is_quiet = |module: &ModuleStatus| module.not_live.is_empty() && module.not_saved.is_empty();
        let is_current = self.behind.is_empty() && self.unusable.is_empty();
        is_current
            && self.is_as_applied != Some(false)
            && self.unfinished.is_none()
            && self.modules.iter().all(is_quiet)
    }
}

impl Status {
    /// The run that left its state, and the configuration; `None`: there is none, or the run took another one back.
    fn applied(&self) -> Option<(&String, &String)> {
        let configuration = self.configuration.as_ref()?;
        let is_of_files = !configuration.starts_with(BEFORE);
        self.run.as_ref().zip(Some(configuration)).filter(|_| is_of_files)
    }
}

impl ProxySqlTarget {
    /// The secrets of a configuration that cannot be used from here, with the reason; a line each.
    pub fn unusable_secrets(&mut self, configuration: &Configuration) -> Vec<String> {
        self.secrets.forget();
        let users = configuration.users.iter().filter_map(|user| {
            let is_ours = self.ownership.owns_user(&user.name);
            let reference = user.password.as_ref().filter(|_| is_ours);
            Some((user.address.to_string(), reference?))
        });
        let monitor = configuration.monitor.as_ref();
        let monitor = monitor.and_then(|monitor| Some(("monitor".to_owned(), monitor.password.as_ref()?)));
        let sought: Vec<(String, &SecretReference)> = users.chain(monitor).collect();
        let unusable = sought.into_iter().filter_map(|(address, reference)| {
            let reason = self.secrets.find(reference).err()?;
            Some(format!("{address}: the password cannot be found: {reason}"))
        });
        unusable.collect()
    }

    /// What is known of it.
    ///
    /// # Errors
    /// It cannot be reached or read, or is not what the project says.
    pub fn status(&mut self) -> Result<Status, TargetError> {
        let observed = self.observe()?;
        let unfinished = self.unfinished();
        let live = self.last_seen()?;
        let failed = |error: SessionError| self.error(&error.to_string());
        let mut session = self.connect().map_err(failed)?;
        let mut modules = Vec::new();
        for module in Module::ALL {
            modules.push(ModuleStatus {
                module: module.words().to_owned(),
                not_live: unloaded(&mut session, module).map_err(failed)?,
                not_saved: unsaved(&mut session, module).map_err(failed)?,
            });
        }
        let mark = self.owner(&live).map(|(_, mark)| mark);
        let is_ours = mark.is_some_and(|mark| mark.project == self.project);
        let (unfinished, older) = match unfinished {
            Ok(unfinished) => {
                let unknown = |error| {
                    Some(format!(
                        "whether it is older than what was applied is not known: {error}"
                    ))
                };
                (unfinished, self.older(mark).unwrap_or_else(unknown))
            }
            // A state that cannot be read may hold a run that has not ended.
            Err(error) => (Some(error.reason), None),
        };
        Ok(Status {
            target: self.name.clone(),
            version: live.version().to_owned(),
            project: observed.project,
            generation: observed.generation,
            run: mark.map(|mark| mark.run.clone()),
            is_as_applied: mark
                .filter(|_| is_ours)
                .map(|mark| live.has_fingerprint(&self.ownership, &mark.rows)),
            configuration: mark.filter(|_| is_ours).map(|mark| mark.configuration.clone()),
            behind: older.into_iter().collect(),
            unusable: Vec::new(),
            unfinished,
            waits_for_start: waiting(&mut session, &live).map_err(failed)?,
            modules,
        })
    }
}

/// Says of each target that others of its project run what was applied later. `engines` are theirs, in the order of the targets.
pub fn tell_behind(statuses: &mut [&mut Status], engines: &[EngineId]) {
    let known = engines
        .iter()
        .copied()
        .zip(statuses.iter().map(|status| (**status).clone()));
    let known: Vec<(EngineId, Status)> = known.collect();
    for (engine, status) in engines.iter().zip(statuses) {
        let Some((own, applied)) = status.applied() else {
            continue;
        };
        let later = known.iter().filter(|(other, sister)| {
            let later = sister
                .applied()
                .filter(|_| other == engine && sister.project == status.project);
            later.is_some_and(|(run, configuration)| *run > *own && configuration != applied)
        });
        let latest = later.max_by(|(_, a), (_, b)| a.run.cmp(&b.run));
        status.behind.extend(latest.map(|(_, sister)| {
            format!(
                "{} runs what was applied later, by run {}: shardwright diff --target {} shows what is missing here",
                sister.target,
                sister.run.as_deref().unwrap_or_default(),
                status.target
            )
        }));
    }
}

/// Rows that are another in memory than on disk. Variables that nobody has ever saved are on disk too.
fn unsaved(session: &mut AdminSession, module: Module) -> Result<Vec<String>, SessionError> {
    let mut found = Vec::new();
    for Unlike {
        memory, other: disk, ..
    } in unlike(session, module, Layer::Disk)?
    {
        let rows: Rows = disk.clone().into_iter().chain(memory.clone()).collect();
        let others = rows
            .iter()
            .filter(|(name, row)| !is_ours_to_keep(name, row) && memory.get(name) != disk.get(name));
        found.extend(others.map(|(name, _)| format!("{name} is another in memory than on disk")));
    }
    Ok(found)
}

/// Variables that have another value on disk than live.
fn waiting(session: &mut AdminSession, live: &Live) -> Result<Vec<String>, SessionError> {
    let runtime = session.rows(TableName::of(&GLOBAL_VARIABLES), Layer::Runtime, None)?;
    let waits = AT_START.into_iter().filter(|variable| {
        let name = RowName::variable(variable);
        let now = runtime.get(&name).map(|found| &found.row);
        live.on_disk(&name).is_some_and(|row| Some(row) != now)
    });
    Ok(waits.map(str::to_owned).collect())
}
