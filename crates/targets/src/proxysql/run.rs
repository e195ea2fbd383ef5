//! Changes carried out on a ProxySQL: staged, read back, loaded, compared with what is live, and saved.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::change::{Aside, Change};
use super::journal::{JournalError, Phase, Run};
use super::live::Live;
use super::mark::{Lease, is_of_mark};
use super::module::Module;
use super::peers::wait_for_newer;
use super::row::{Row, RowName, TableName};
use super::session::{AdminSession, Layer, SessionError};
use super::stages::{Stage, stages};
use super::statements::{Writing, deletions, insertions, writings};
use super::unloaded::unloaded;
use crate::admin::quoted;

/// How many rows a message names.
const NAMED: usize = 10;

/// Why changes are not live and saved.
#[derive(Debug, Error)]
pub(super) enum Fault {
    /// The admin port refused something, or was lost.
    #[error("{doing}: {error}")]
    Session {
        /// What was done.
        doing: String,
        /// What came of it.
        error: SessionError,
    },
    /// A row is not what was written, or not live.
    #[error("{0}")]
    Differs(String),
    /// The state of the run cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Fault {
    /// Whether another connection may do better.
    pub(super) fn is_loss(&self) -> bool {
        matches!(
            self,
            Self::Session {
                error: SessionError::Lost(_),
                ..
            }
        )
    }
}

/// The modules of changes.
pub(super) fn modules(changes: &[Change]) -> BTreeSet<Module> {
    changes.iter().map(|change| Module::of(&change.name)).collect()
}

/// Makes changes live, and checks that they are. Doing it again is harmless.
pub(super) fn make_live(
    session: &mut AdminSession,
    changes: &[Change],
    live: &Live,
    run: &mut Run,
) -> Result<(), Fault> {
    for stage in stages(changes, live) {
        run.note(Phase::Loading {
            module: stage.module.words().to_owned(),
        })?;
        put(session, &stage)?;
        if stage.is_loaded {
            let load = stage.module.load();
            let waited = wait_for_newer(session, stage.module);
            waited.map_err(|error| fault("asking for the cluster's checksums".to_owned(), error))?;
            session.run(&load).map_err(|error| fault(load, error))?;
        }
    }
    verify(session, changes)?;
    run.note(Phase::Verified)?;
    Ok(())
}

/// Saves what is live, and checks that it is saved.
pub(super) fn save(session: &mut AdminSession, changes: &[Change], run: &mut Run) -> Result<(), Fault> {
    run.note(Phase::Saving)?;
    for module in modules(changes) {
        let save = module.save();
        session.run(&save).map_err(|error| fault(save, error))?;
    }
    let differing = differing(session, changes, Layer::Disk)?;
    match differing.is_empty() {
        true => Ok(()),
        false => Err(Fault::Differs(format!("not saved: {}", named(&differing)))),
    }
}

/// Puts in memory again what somebody had staged there, and does not load it.
pub(super) fn shelve(session: &mut AdminSession, changes: &[Change]) -> Result<(), Fault> {
    let mut by_module: BTreeMap<Module, Vec<(RowName, Option<Row>)>> = BTreeMap::new();
    for change in changes {
        if let Aside::After(shelved) = &change.aside {
            let rows = by_module.entry(Module::of(&change.name)).or_default();
            rows.push((change.name.clone(), shelved.row.clone()));
        }
    }
    for (module, rows) in by_module {
        let stage = Stage {
            module,
            rows,
            is_loaded: false,
        };
        put(session, &stage)?;
    }
    Ok(())
}

/// Puts the rows of a stage in memory and reads them back.
fn put(session: &mut AdminSession, stage: &Stage) -> Result<(), Fault> {
    let mut by_table: BTreeMap<TableName, Vec<&(RowName, Option<Row>)>> = BTreeMap::new();
    for row in &stage.rows {
        by_table.entry(row.0.table).or_default().push(row);
    }
    // What goes may stand in the way of what comes, by another key than the primary one.
    for (table, rows) in &by_table {
        let gone: Vec<&RowName> = rows
            .iter()
            .filter(|(_, row)| row.is_none())
            .map(|(name, _)| name)
            .collect();
        for statement in deletions(*table, &gone) {
            run(session, *table, &statement)?;
        }
    }
    for (table, rows) in &by_table {
        let here: Vec<(&RowName, &Row)> = rows
            .iter()
            .filter_map(|(name, row)| Some((name, row.as_ref()?)))
            .collect();
        for writing in writings(*table, &here) {
            write(session, *table, &writing)?;
        }
    }
    for (table, rows) in by_table {
        let memory = read(session, table, Layer::Memory, rows.iter().map(|(name, _)| name))?;
        let wrong: Vec<String> = rows
            .into_iter()
            .filter(|(name, row)| memory.get(name) != row.as_ref())
            .map(|(name, _)| name.to_string())
            .collect();
        if !wrong.is_empty() {
            let message = format!("memory does not hold what was written: {}", named(&wrong));
            return Err(Fault::Differs(message));
        }
    }
    Ok(())
}

/// Writes rows. Where one of them is refused, it is named: SQLite says what is wrong, and not with which row.
fn write(session: &mut AdminSession, table: TableName, writing: &Writing<'_>) -> Result<(), Fault> {
    let Err(refusal) = run(session, table, &writing.statement) else {
        return Ok(());
    };
    if refusal.is_loss() {
        return Err(refusal);
    }
    for row in writing.rows {
        for alone in writings(table, std::slice::from_ref(row)) {
            let written = session.run(&alone.statement);
            written.map_err(|error| fault(format!("writing {}", row.0), error))?;
        }
    }
    Err(refusal)
}

fn run(session: &mut AdminSession, table: TableName, statement: &str) -> Result<u64, Fault> {
    // The statement may hold passwords.
    session
        .run(statement)
        .map_err(|error| fault(format!("writing {table}"), error))
}

/// Nothing of the touched modules may be another in memory than live, and memory must hold what was wanted.
fn verify(session: &mut AdminSession, changes: &[Change]) -> Result<(), Fault> {
    let differing = differing(session, changes, Layer::Memory)?;
    if !differing.is_empty() {
        return Err(Fault::Differs(format!(
            "changed by somebody else meanwhile: {}",
            named(&differing)
        )));
    }
    let mut problems = Vec::new();
    for module in modules(changes) {
        let found = unloaded(session, module);
        problems.extend(found.map_err(|error| fault("reading what is live".to_owned(), error))?);
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Fault::Differs(format!(
            "ProxySQL does not run what was loaded: {}",
            named(&problems)
        ))),
    }
}

/// The rows of changes that a layer holds otherwise. Marks are written again at the end.
fn differing(session: &mut AdminSession, changes: &[Change], layer: Layer) -> Result<Vec<String>, Fault> {
    let tables: BTreeSet<TableName> = changes.iter().map(|change| change.name.table).collect();
    let mut differing = Vec::new();
    for table in tables {
        let of_table = || changes.iter().filter(|change| change.name.table == table);
        let rows = read(session, table, layer, of_table().map(|change| &change.name))?;
        for change in of_table() {
            if !is_of_mark(change) && rows.get(&change.name) != change.new.as_ref() {
                differing.push(change.name.to_string());
            }
        }
    }
    Ok(differing)
}

/// The rows of these names, of one table, as a layer holds them.
fn read<'n>(
    session: &mut AdminSession,
    table: TableName,
    layer: Layer,
    names: impl Iterator<Item = &'n RowName>,
) -> Result<BTreeMap<RowName, Row>, Fault> {
    let names: Vec<&RowName> = names.collect();
    let rows = session.rows_of(table, layer, &names);
    rows.map_err(|error| fault(format!("reading {table}"), error))
}

/// Takes the lease, where nobody has it.
pub(super) fn take_lease(session: &mut AdminSession, lease: &Lease) -> Result<(), SessionError> {
    let (name, row) = (Lease::name(), lease.row());
    // Only an insertion that finds nothing there takes it.
    let insertion = insertions(name.table, &[(&name, &row)]).concat();
    session.run(&insertion).map(|_| ())
}

/// Gives a lease back, also on disk, where a SAVE may have put it.
pub(super) fn give_lease_back(session: &mut AdminSession, run: &str) -> Result<(), SessionError> {
    let name = Lease::name();
    for layer in [Layer::Disk, Layer::Memory] {
        let table = match layer {
            Layer::Disk => "disk.mysql_query_rules",
            Layer::Memory | Layer::Runtime => "mysql_query_rules",
        };
        let id = name.number(0).unwrap_or_default();
        let of_run = quoted(&format!("%\"run\":{}%", serde_json::Value::from(run)));
        session.run(&format!(
            "DELETE FROM {table} WHERE rule_id = {id} AND attributes LIKE {of_run}"
        ))?;
    }
    Ok(())
}

fn fault(doing: String, error: SessionError) -> Fault {
    Fault::Session { doing, error }
}

/// The first of many.
pub(super) fn named(many: &[String]) -> String {
    let mut shown = many.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    if many.len() > NAMED {
        shown.push_str(&format!("; and {} more", many.len() - NAMED));
    }
    shown
}
