//! What a ProxySQL runs, module by module, and whether that is what was applied.

use std::collections::BTreeMap;

use serde::Serialize;
use shardwright_plan::TargetError;
use shardwright_rules::tables::GLOBAL_VARIABLES;

use super::live::Live;
use super::mark::is_ours_to_keep;
use super::module::Module;
use super::row::{Row, RowName, TableName};
use super::session::{AdminSession, Layer, SessionError};
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
    /// Whether everything is as it was applied, live and saved.
    pub fn is_well(&self) -> bool {
        let is_quiet = |module: &ModuleStatus| module.not_live.is_empty() && module.not_saved.is_empty();
        self.is_as_applied != Some(false) && self.unfinished.is_none() && self.modules.iter().all(is_quiet)
    }
}

impl ProxySqlTarget {
    /// What is known of it.
    ///
    /// # Errors
    /// It cannot be reached or read, or is not what the project says.
    pub fn status(&mut self) -> Result<Status, TargetError> {
        let observed = shardwright_plan::Target::observe(self)?;
        // A state that cannot be read may hold a run that has not ended.
        let unfinished =
            shardwright_plan::Target::unfinished(self).unwrap_or_else(|error| Some(error.reason));
        let live = self.read()?;
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
        Ok(Status {
            target: self.name.clone(),
            version: live.version().to_owned(),
            project: observed.project,
            generation: observed.generation,
            run: mark.map(|mark| mark.run.clone()),
            is_as_applied: mark
                .filter(|_| is_ours)
                .map(|mark| mark.rows == observed.fingerprint),
            unfinished,
            waits_for_start: waiting(&mut session, &live).map_err(failed)?,
            modules,
        })
    }
}

/// Rows that are another in memory than on disk. Variables that nobody has ever saved are on disk too.
fn unsaved(session: &mut AdminSession, module: Module) -> Result<Vec<String>, SessionError> {
    let mut found = Vec::new();
    let of_module = |name: &RowName, row: &Row| Module::of(name) == module && !is_ours_to_keep(name, row);
    let mut tables = module.tables();
    if module.variables().is_some() {
        tables.push(TableName::of(&GLOBAL_VARIABLES));
    }
    for table in tables {
        let mut both: BTreeMap<RowName, (Option<Row>, Option<Row>)> = BTreeMap::new();
        for (name, held) in session.rows(table, Layer::Memory, None)? {
            both.entry(name).or_default().0 = Some(held.row);
        }
        for (name, held) in session.rows(table, Layer::Disk, None)? {
            both.entry(name).or_default().1 = Some(held.row);
        }
        for (name, (memory, disk)) in both {
            let is_one = memory
                .as_ref()
                .or(disk.as_ref())
                .is_some_and(|row| of_module(&name, row));
            if is_one && memory != disk {
                found.push(format!("{name} is another in memory than on disk"));
            }
        }
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
