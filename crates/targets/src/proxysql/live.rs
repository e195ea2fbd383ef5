//! What a ProxySQL has in memory, or runs, and what of that is ours.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use shardwright_plan::Facts;
use shardwright_rules::PLACEHOLDER_PASSWORD;
use shardwright_rules::tables::GLOBAL_VARIABLES;
use shardwright_secrets::Secret;

use super::alike::read_facts;
use super::beyond::{Beyond, in_two_rows};
use super::change::{Aside, Change};
use super::digest::{sha256_hex, sorted};
use super::left::Left;
use super::mark::{Lease, Mark, is_ours_to_keep};
use super::module::Module;
use super::row::{Row, RowName, TableName};
use super::running::as_written;
use super::session::{AdminSession, Found, Layer, SessionError, of_table};
use super::statements::insertions;
use crate::emit::variables::is_at_start;
use crate::emit::{Ownership, Table};

/// The variable that says which ProxySQL it is; nobody can set it.
const VERSION: &str = "admin-version";
/// How a variable without a value is shown.
const NO_VALUE: &str = "(null)";

/// Every row that a configuration could be about, variables, marks and the lease.
#[derive(Clone, Debug, Default)]
pub struct Live {
    rows: BTreeMap<RowName, Found>,
    /// Variables as the disk has them, by name: what the next start begins with.
    on_disk: BTreeMap<RowName, Row>,
    /// What projects have marked.
    pub(super) marks: Vec<(RowName, Mark)>,
    /// An apply that goes on, or was cut off.
    pub(super) lease: Option<Lease>,
}

impl Live {
    /// Reads what is in memory, and what the next start begins with. `ownership` says which rows are ours.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn read(session: &mut AdminSession, ownership: &Ownership) -> Result<Self, SessionError> {
        let mut live = Self::of(session, ownership, Layer::Memory)?;
        let on_disk = session.rows(TableName::of(&GLOBAL_VARIABLES), Layer::Disk, None)?;
        live.on_disk = on_disk
            .into_iter()
            .map(|(name, found)| (name, found.row))
            .collect();
        Ok(live)
    }

    /// Reads a layer. What runs is told as memory would hold it ([`super::running`]).
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn of(session: &mut AdminSession, ownership: &Ownership, layer: Layer) -> Result<Self, SessionError> {
        let mut live = Self::default();
        for table in Table::ALL {
            let name = TableName::of(table.definition());
            let condition = match table.is_of_firewall() && !ownership.had_firewall {
                true => Some("0".to_owned()),
                false => ownership.condition(table),
            };
            let rows = session.rows(name, layer, condition.as_deref())?;
            live.rows.extend(match layer {
                Layer::Runtime => as_written(session, name, rows)?,
                Layer::Memory | Layer::Disk => rows,
            });
        }
        let variables = TableName::of(&GLOBAL_VARIABLES);
        live.rows.extend(session.rows(variables, layer, Some("0"))?);
        live.take_marks();
        Ok(live)
    }

    #[cfg(test)]
    pub(super) fn of_rows(rows: BTreeMap<RowName, Found>) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }

    /// The rows that are ours to keep are no rules.
    fn take_marks(&mut self) {
        let (kept, rows): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.rows)
            .into_iter()
            .partition(|(name, found)| is_ours_to_keep(name, &found.row));
        self.rows = rows;
        for (name, found) in kept {
            match (Mark::read(&found.row), Lease::read(&found.row)) {
                (Some(mark), _) => self.marks.push((name, mark)),
                (None, Some(lease)) => self.lease = Some(lease),
                (None, None) => {
                    self.rows.insert(name, found);
                }
            }
        }
    }

    /// A row in memory.
    pub fn row(&self, name: &RowName) -> Option<&Row> {
        self.rows.get(name).map(|found| &found.row)
    }

    /// A row of a variable as the disk has it.
    pub(super) fn on_disk(&self, name: &RowName) -> Option<&Row> {
        self.on_disk.get(name)
    }

    /// The value of a variable that is no secret.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.row(&RowName::variable(name))
            .map(|row| row.text("variable_value"))
    }

    /// Which ProxySQL it is, such as `2.7.1-0-g…`; empty where it does not say.
    pub fn version(&self) -> &str {
        self.variable(VERSION).unwrap_or_default()
    }

    /// Names of accounts in a variable of credentials, `NAME:PASSWORD;…`.
    pub(super) fn accounts(&self, variable: &str) -> Vec<String> {
        let row = self.row(&RowName::variable(variable));
        let pairs = row
            .and_then(|row| row.secret.as_ref())
            .map_or("", |secret| secret.expose());
        let names = pairs.split(';').filter_map(|pair| pair.split(':').next());
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// All rows, of others too.
    pub fn rows(&self) -> impl Iterator<Item = (&RowName, &Found)> + Clone {
        self.rows.iter()
    }

    /// Statements that write all of it into empty tables, one on each line; a secret is a placeholder that nobody can log
    /// in with. Variables that have their default are left out, as are those that nobody can set. What reads rule sets from
    /// files reads this too.
    pub fn script(&self, is_default: impl Fn(&str, &str) -> bool) -> String {
        self.statements(is_default, |_| Secret::new(PLACEHOLDER_PASSWORD.to_owned()))
    }

    /// The same with every variable and with the secrets.
    pub fn whole_script(&self) -> Secret {
        Secret::new(self.statements(|_, _| false, Secret::clone))
    }

    fn statements(
        &self,
        is_left_out: impl Fn(&str, &str) -> bool,
        secret: impl Fn(&Secret) -> Secret,
    ) -> String {
        let mut script = String::new();
        for (name, found) in &self.rows {
            let value = found.row.text("variable_value");
            let is_left_out =
                |variable| variable == VERSION || value == NO_VALUE || is_left_out(variable, value);
            if name.variable_name().is_some_and(is_left_out) {
                continue;
            }
            let row = Row {
                facts: found.row.facts.clone(),
                secret: found.row.secret.as_ref().map(&secret),
            };
            for statement in insertions(name.table, &[(name, &row)]) {
                script.push_str(&statement);
                script.push_str(";\n");
            }
        }
        script
    }

    /// The rows of one table.
    pub(super) fn of_table(&self, table: TableName) -> impl Iterator<Item = (&RowName, &Found)> {
        of_table(&self.rows, table)
    }

    /// The tells of rows that no project can say.
    pub(super) fn beyond(&self) -> Beyond {
        Beyond::of(&self.rows)
    }

    /// The users that are in two rows which say the same.
    pub(super) fn in_two_rows(&self) -> BTreeSet<&str> {
        in_two_rows(&self.rows)
    }

    /// The rows after changes, each with whether it is ours.
    pub(super) fn after<'a>(&'a self, changes: &'a [Change]) -> BTreeMap<&'a RowName, (&'a Row, bool)> {
        let rows = self.rows.iter();
        let mut after: BTreeMap<_, _> = rows
            .map(|(name, found)| (name, (&found.row, found.is_ours)))
            .collect();
        for change in changes.iter().filter(|change| !change.is_at_start) {
            match &change.new {
                Some(row) => after.insert(&change.name, (row, self.is_ours_after(change))),
                None => after.remove(&change.name),
            };
        }
        after
    }

    fn is_ours_after(&self, change: &Change) -> bool {
        let known = self.rows.get(&change.name).map(|found| found.is_ours);
        let shelved = change.shelved().map(|shelved| shelved.is_ours);
        known.or(shelved).unwrap_or(true) && change.name.variable_name().is_none()
    }

    /// The same after changes of ours.
    pub(super) fn with(&self, changes: &[Change]) -> Self {
        let mut live = self.clone();
        for change in changes {
            match (&change.new, change.is_at_start) {
                (Some(row), true) => {
                    live.on_disk.insert(change.name.clone(), row.clone());
                }
                (Some(row), false) => {
                    let is_ours = live.is_ours_after(change);
                    let row = row.clone();
                    live.rows.insert(change.name.clone(), Found { row, is_ours });
                }
                (None, _) => {
                    live.rows.remove(&change.name);
                }
            }
        }
        live
    }

    /// The same as it is live, where changes say what memory holds besides.
    pub(super) fn loaded(&self, changes: &[Change]) -> Cow<'_, Self> {
        let staged = changes.iter().filter_map(|change| match &change.aside {
            Aside::Before(_) => Some(Change {
                new: change.old.clone(),
                ..change.clone()
            }),
            Aside::Nothing | Aside::After(_) => None,
        });
        let staged: Vec<Change> = staged.collect();
        match staged.is_empty() {
            true => Cow::Borrowed(self),
            false => Cow::Owned(self.with(&staged)),
        }
    }

    /// A digest of the rows that are ours and of some variables, without secrets: nobody shall guess passwords from it. What no
    /// plan counts as a difference is no part of it ([`super::alike`]).
    pub(super) fn fingerprint(&self, ownership: &Ownership) -> String {
        digest_of(self.told(ownership).map(|(name, facts)| {
            let counted = read_facts(&name, facts);
            (name, Cow::Owned(counted))
        }))
    }

    /// Whether these rows have a fingerprint, of this version or of an earlier one, which had in it what no plan counts.
    pub(super) fn has_fingerprint(&self, ownership: &Ownership, fingerprint: &str) -> bool {
        let whole = || {
            let ours = self.rows.iter().filter(|(_, found)| found.is_ours);
            let rows = ours.map(|(name, found)| (name.clone(), &found.row.facts));
            let rows = rows.chain(self.written_variables(ownership));
            digest_of(rows.map(|(name, facts)| (name, Cow::Borrowed(facts))))
        };
        self.fingerprint(ownership) == fingerprint || whole() == fingerprint
    }

    /// What would be left here now.
    pub(super) fn left(&self, ownership: &Ownership) -> Left {
        Left::of(self.told(ownership))
    }

    /// The rows that are ours and that a project can say, and the variables that were ever written.
    fn told<'a>(&'a self, ownership: &'a Ownership) -> impl Iterator<Item = (RowName, &'a Facts)> {
        let beyond = self.beyond();
        let ours = self
            .rows
            .iter()
            .filter(move |(name, found)| found.is_ours && !beyond.row(name, &found.row));
        let rows = ours.map(|(name, found)| (name.clone(), &found.row.facts));
        rows.chain(self.written_variables(ownership))
    }

    /// The variables that were ever written.
    fn written_variables<'a>(
        &'a self,
        ownership: &'a Ownership,
    ) -> impl Iterator<Item = (RowName, &'a Facts)> {
        ownership.resets.keys().filter_map(|variable| {
            let name = RowName::variable(variable);
            let row = match is_at_start(variable) {
                true => self.on_disk.get(&name),
                false => self.row(&name),
            };
            row.map(|row| (name, &row.facts))
        })
    }
}

fn digest_of<'a>(rows: impl Iterator<Item = (RowName, Cow<'a, Facts>)>) -> String {
    let told: Vec<(String, Value)> = rows
        .map(|(name, facts)| (name.to_string(), sorted(&facts)))
        .collect();
    let bytes = serde_json::to_vec(&told).expect("texts and numbers are JSON");
    sha256_hex(&bytes)
}

/// The rows that run of some modules, whoever they are of, as memory would hold them.
pub(super) fn running(
    session: &mut AdminSession,
    modules: &[Module],
) -> Result<BTreeMap<RowName, Row>, SessionError> {
    let mut found = BTreeMap::new();
    for table in modules.iter().flat_map(|module| module.tables()) {
        let rows = session.rows(table, Layer::Runtime, None)?;
        found.extend(as_written(session, table, rows)?);
    }
    if modules.iter().any(|module| module.variables().is_some()) {
        let variables = session.rows(TableName::of(&GLOBAL_VARIABLES), Layer::Runtime, None)?;
        let of_modules = variables
            .into_iter()
            .filter(|(name, _)| modules.contains(&Module::of(name)));
        found.extend(of_modules);
    }
    let rows = found
        .into_iter()
        .filter(|(name, found)| !is_ours_to_keep(name, &found.row));
    Ok(rows.map(|(name, found)| (name, found.row)).collect())
}
