//! The rows and variables that a configuration wants a ProxySQL to have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;
use shardwright_plan::Facts;
use shardwright_rules::tables::{Cell, FIREWALL_USERS, GLOBAL_VARIABLES, USERS};
use shardwright_rules::{Address, Configuration, FIREWALL_MESSAGE, PLACEHOLDER_PASSWORD, SecretReference};
use shardwright_secrets::{Access, Secret, resolve};

use super::live::Live;
use super::passwords::{DEFAULT_METHOD, is_stored, stored};
use super::row::{Row, RowName, TableName};
use crate::emit::{self, EmitError, FirewallUse, Ownership, Table, variables};

/// A row as it shall be.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// Its columns. Its secret is the one that is live, where that is the right one or nobody can tell.
    pub(super) row: Row,
    /// The object that it is of.
    pub(super) address: Address,
    /// Where its secret is found.
    pub(super) reference: Option<SecretReference>,
    /// Its secret could not be found, and for what reason.
    pub(super) unresolved: Option<String>,
    /// It is read when ProxySQL starts: what is on disk counts.
    pub(super) is_at_start: bool,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) rows: BTreeMap<RowName, Wish>,
    /// Objects of the configuration that others own.
    pub(super) of_others: BTreeSet<Address>,
    /// What a reader of a plan should know.
    pub(super) notes: Vec<String>,
}

/// Where secrets are sought, each once.
#[derive(Debug)]
pub(super) struct Secrets {
    base: PathBuf,
    found: BTreeMap<SecretReference, Result<Secret, String>>,
}

impl Secrets {
    pub(super) fn new(base: PathBuf) -> Self {
        Self {
            base,
            found: BTreeMap::new(),
        }
    }

    /// Whatever was found before is sought again.
    pub(super) fn forget(&mut self) {
        self.found.clear();
    }

    pub(super) fn find(&mut self, reference: &SecretReference) -> Result<Secret, String> {
        let base = &self.base;
        let found = self
            .found
            .entry(reference.clone())
            .or_insert_with(|| resolve(reference, &Access::from(base)).map_err(|error| error.to_string()));
        found.clone()
    }
}

impl Wanted {
    /// What a configuration wants of a ProxySQL that is like this now.
    ///
    /// # Errors
    /// Something of the configuration cannot stand in a table of the engine.
    pub(super) fn new(
        configuration: &Configuration,
        ownership: &Ownership,
        live: &Live,
        secrets: &mut Secrets,
    ) -> Result<Self, EmitError> {
        let (rows, of_others): (Vec<emit::Row>, Vec<emit::Row>) = emit::rows(configuration)?
            .into_iter()
            .partition(|row| ownership.writes(row));
        ownership.check_firewall(&rows)?;
        let mut wanted = Self {
            of_others: of_others.into_iter().map(|row| row.address).collect(),
            ..Self::default()
        };
        wanted.variables(configuration, ownership, live, secrets);
        let method = wanted.method(live);
        let passwords: BTreeMap<&str, &SecretReference> = configuration
            .users
            .iter()
            .filter_map(|user| Some((user.name.as_str(), user.password.as_ref()?)))
            .collect();
        let sides = Sides::of(live);
        for row in rows {
            let table = TableName::of(row.table.definition());
            let filled = whole(table, &row.columns);
            let of_object = match row.table {
                Table::Users => sides.rows(filled),
                _ => vec![filled],
            };
            for mut filled in of_object {
                let reference = match table.secret_column(&filled.facts) {
                    Some(column) => {
                        filled.facts.shift_remove(column);
                        filled.secret = Some(Secret::new(String::new()));
                        passwords.get(filled.text("username")).copied()
                    }
                    None => None,
                };
                let name = RowName::of(table, &filled.facts);
                let mut wish = Wish::new(filled, row.address.clone(), false);
                if let Some(reference) = reference {
                    let held = live.row(&name).and_then(|row| row.secret.as_ref());
                    wish.seek(reference, held, secrets, |secret| {
                        stored(secret, method.as_deref())
                    });
                }
                wanted.rows.insert(name, wish);
            }
        }
        Ok(wanted)
    }

    /// The value that a variable has, or shall have.
    fn method(&self, live: &Live) -> Option<String> {
        let name = RowName::variable(DEFAULT_METHOD);
        let wish = self.rows.get(&name).map(|wish| &wish.row);
        let row = wish.or_else(|| live.row(&name))?;
        Some(row.text("variable_value").to_owned())
    }

    fn variables(
        &mut self,
        configuration: &Configuration,
        ownership: &Ownership,
        live: &Live,
        secrets: &mut Secrets,
    ) {
        let written = variables::variables(configuration);
        let reset = variables::reset(configuration, &ownership.resets);
        let differs = |(name, value): &&(String, String)| live.variable(name) != Some(value);
        let of_node = written.of_node.iter().filter(differs);
        self.notes
            .extend(of_node.map(|(name, _)| variables::left_to_node(name)));
        self.notes.extend(reset.notes);
        let live_now = written.live.into_iter().chain(reset.live);
        for (name, value) in live_now.filter(|(name, _)| !keeps_firewall(name, ownership, live)) {
            self.variable(&name, &value, false);
        }
        for (name, value) in written.at_start.into_iter().chain(reset.at_start) {
            self.variable(&name, &value, true);
        }
        if FirewallUse::of(configuration, ownership) == FirewallUse::Now {
            self.variable(variables::FIREWALL_MESSAGE, FIREWALL_MESSAGE, false);
            self.variable(variables::FIREWALL_ENABLED, "true", false);
        }
        if let Some(reference) = configuration
            .monitor
            .as_ref()
            .and_then(|monitor| monitor.password.as_ref())
        {
            let name = self.variable(variables::MONITOR_PASSWORD, "", false);
            let held = live.row(&name).and_then(|row| row.secret.as_ref());
            let wish = self.rows.get_mut(&name).expect("it was inserted just before");
            wish.seek(reference, held, secrets, Secret::clone);
        }
    }

    fn variable(&mut self, name: &str, value: &str, is_at_start: bool) -> RowName {
        let table = TableName::of(&GLOBAL_VARIABLES);
        let cells = [("variable_name", name.into()), ("variable_value", value.into())];
        let mut row = whole(table, &cells);
        if let Some(column) = table.secret_column(&row.facts) {
            row.facts.shift_remove(column);
            row.secret = Some(Secret::new(value.to_owned()));
        }
        let row_name = RowName::of(table, &row.facts);
        let wish = Wish::new(row, address_of_variable(name), is_at_start);
        self.rows.insert(row_name.clone(), wish);
        row_name
    }
}

impl Wish {
    #[cfg(test)]
    pub(super) fn of_row(row: Row, address: Address) -> Self {
        Self::new(row, address, false)
    }

    fn new(row: Row, address: Address, is_at_start: bool) -> Self {
        Self {
            row,
            address,
            reference: None,
            unresolved: None,
            is_at_start,
        }
    }

    /// Takes the secret that is live, where it is the one that the reference leads to; else what is stored for it.
    fn seek(
        &mut self,
        reference: &SecretReference,
        held: Option<&Secret>,
        secrets: &mut Secrets,
        stored: impl Fn(&Secret) -> Secret,
    ) {
        self.reference = Some(reference.clone());
        match secrets.find(reference) {
            Ok(secret) if is_stored(held, &secret) => self.row.secret = held.cloned(),
            Ok(secret) => self.row.secret = Some(stored(&secret)),
            Err(reason) => {
                // Nobody can log in with it, should it ever be written.
                let nobody = || Secret::new(PLACEHOLDER_PASSWORD.to_owned());
                self.row.secret = Some(held.cloned().unwrap_or_else(nobody));
                self.unresolved = Some(reason);
            }
        }
    }
}

/// The sides that users have: one by which clients log in, and one for servers. No project says that, and it is a part of the
/// key of a row.
struct Sides<'l> {
    /// What `backend` is in the rows by which clients log in.
    backends: BTreeMap<&'l str, &'l Value>,
    /// The users with a row for each side.
    in_two_rows: BTreeSet<&'l str>,
}

impl<'l> Sides<'l> {
    fn of(live: &'l Live) -> Self {
        let rows = live.of_table(TableName::of(&USERS)).map(|(_, found)| &found.row);
        let users = rows.filter(|row| row.number("frontend") == Some(1));
        Self {
            backends: users
                .filter_map(|row| Some((row.text("username"), row.facts.get("backend")?)))
                .collect(),
            in_two_rows: live.in_two_rows(),
        }
    }

    /// The rows of a user: as many as it has, with the sides that they have. A user who is only for logging in stays one.
    fn rows(&self, user: Row) -> Vec<Row> {
        let name = user.text("username");
        let with = |sides: &[(&str, Value)]| {
            let mut row = user.clone();
            for (side, value) in sides {
                row.facts.insert((*side).to_owned(), value.clone());
            }
            row
        };
        let of_backend = || with(&[("frontend", 0.into()), ("backend", 1.into())]);
        match self.backends.get(name) {
            Some(backend) if self.in_two_rows.contains(name) => {
                vec![with(&[("backend", (*backend).clone())]), of_backend()]
            }
            Some(backend) => vec![with(&[("backend", (*backend).clone())])],
            None => vec![user],
        }
    }
}

/// The firewall stays on for the users of others.
fn keeps_firewall(variable: &str, ownership: &Ownership, live: &Live) -> bool {
    let of_others = || {
        let mut users = live.of_table(TableName::of(&FIREWALL_USERS));
        users.any(|(_, found)| !found.is_ours)
    };
    variable == variables::FIREWALL_ENABLED && ownership.users.is_some() && of_others()
}

/// A row with every column of its table.
fn whole(table: TableName, given: &[(&'static str, Cell)]) -> Row {
    let columns = table.definition().columns.iter();
    let cells = table.definition().row(given);
    let facts = columns.zip(cells).filter_map(|(column, cell)| {
        let value = match cell? {
            Cell::Integer(number) => Value::from(number),
            Cell::Text(text) => Value::from(text),
        };
        Some((column.name.to_owned(), value))
    });
    Row {
        facts: Facts::from_iter(facts),
        secret: None,
    }
}

/// The section of the files that a variable comes from.
pub(super) fn address_of_variable(name: &str) -> Address {
    let address = match name {
        "mysql-interfaces" | "mysql-proxy_protocol_networks" => "listeners",
        variables::FIREWALL_ENABLED | variables::FIREWALL_MESSAGE => "firewall",
        variables::MONITOR_PASSWORD | "mysql-monitor_username" | variables::HEARTBEAT => "monitor",
        _ => "engine_settings",
    };
    Address::from(address)
}

/// The names of the users that shall be able to log in.
pub(super) fn user_names(wanted: &Wanted) -> impl Iterator<Item = (&str, &Address)> {
    let users = wanted.rows.iter().filter(|(name, _)| name.is_in(&USERS));
    users.filter_map(|(name, wish)| Some((name.text(0)?, &wish.address)))
}
