//! What a ProxySQL runs before changes and after them, as rule sets: its rows, whoever they are of.
//!
//! A check of what will be live must not read the configuration of the project: rows of others stay beside it, and with
//! `--staged adopt` more of them go live. A module that the changes do not touch is not loaded, so of it what runs counts,
//! and not what memory holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_rules::tables::GLOBAL_VARIABLES;
use shardwright_rules::{Configuration, EngineId};

use super::change::Change;
use super::live::{Live, running};
use super::module::Module;
use super::row::{Row, RowName};
use super::run::modules;
use super::session::{AdminSession, SessionError};

/// The modules that decide where statements go. What servers there are does not, and the monitor moves them.
const DECIDING: [Module; 4] = [
    Module::MysqlVariables,
    Module::QueryRules,
    Module::Users,
    Module::Firewall,
];

/// How the names of the variables begin that say how digests are made.
const DIGESTS: &str = "mysql-query_digests";

/// Rows read as the rule set that they are.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSet {
    /// What could be read.
    pub configuration: Arc<Configuration>,
    /// What changes where statements go and is no part of it.
    pub unmodelled: Vec<String>,
    /// The first thing that cannot be read; `None`: everything can.
    pub unreadable: Option<String>,
}

/// Rows by name.
pub(super) type Rows<'r> = BTreeMap<&'r RowName, &'r Row>;

/// The rows that run before changes and after them.
pub(super) struct Around<'r> {
    pub(super) before: Rows<'r>,
    pub(super) after: Rows<'r>,
}

/// What runs of modules that are not loaded, where memory may hold something else.
pub(super) struct Beside {
    modules: Vec<Module>,
    rows: BTreeMap<RowName, Row>,
}

impl Beside {
    /// Reads it.
    pub(super) fn read(session: &mut AdminSession, changes: &[Change]) -> Result<Self, SessionError> {
        let loaded = modules(changes);
        let beside = DECIDING.into_iter().filter(|module| !loaded.contains(module));
        let modules: Vec<Module> = beside.collect();
        let rows = running(session, &modules)?;
        Ok(Self { modules, rows })
    }
}

impl<'r> Around<'r> {
    /// `live` is what memory holds, from which the changes were made.
    pub(super) fn of(live: &'r Live, beside: &'r Beside, changes: &'r [Change]) -> Self {
        let is_loaded = |name: &RowName| !beside.modules.contains(&Module::of(name));
        let in_memory = live.rows().filter(|(name, _)| is_loaded(name));
        let mut before: Rows<'r> = in_memory.map(|(name, found)| (name, &found.row)).collect();
        before.extend(&beside.rows);
        let mut after = before.clone();
        for change in changes.iter().filter(|change| !change.is_at_start) {
            for (rows, row) in [(&mut before, &change.old), (&mut after, &change.new)] {
                match row {
                    Some(row) => rows.insert(&change.name, row),
                    None => rows.remove(&change.name),
                };
            }
        }
        Self { before, after }
    }
}

/// Rows as a rule set.
pub(super) fn rule_set(rows: &Rows<'_>, engine: EngineId) -> RuleSet {
    let given = rows
        .iter()
        .map(|(name, row)| (name.table.definition(), &row.facts));
    let file = shardwright_import::read_rows(given, engine);
    let unreadable = file.first_error();
    let mut configuration = file.configuration;
    // They are told as not modelled besides, because proofs do not count with them.
    for (name, row) in rows.iter().filter(|(name, _)| name.is_in(&GLOBAL_VARIABLES)) {
        if let Some(variable) = name
            .variable_name()
            .filter(|variable| variable.starts_with(DIGESTS))
        {
            let value = row.text("variable_value").to_owned();
            configuration.variables.insert(variable.to_owned(), value);
        }
    }
    RuleSet {
        configuration: Arc::new(configuration),
        unmodelled: file.unmodelled,
        unreadable,
    }
}
