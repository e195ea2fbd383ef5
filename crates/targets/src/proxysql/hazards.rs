//! What a plan for a live ProxySQL warns of, and what an apply refuses.

use std::collections::{BTreeMap, BTreeSet};

pub use shardwright_plan::codes;
use shardwright_plan::{Hazard, Severity};
use shardwright_rules::Address;
use shardwright_rules::tables::{QUERY_RULES, SERVERS, USERS};

use super::change::Change;
use super::changes::address_of;
use super::layers::JOINS;
use super::live::Live;
use super::row::{Row, RowName, TableName};
use super::run::named;
use super::wanted::{Wanted, user_names};

/// Variables that change what the rules mean that are live.
const MEANING: [&str; 7] = [
    "mysql-query_processor_iterations",
    "mysql-query_processor_regex",
    "mysql-query_digests",
    "mysql-query_digests_lowercase",
    "mysql-query_digests_replace_null",
    "mysql-query_digests_no_digits",
    "mysql-query_digests_keep_comment",
];

/// Rows as they will be live, each with whether it is ours.
type After<'a> = BTreeMap<&'a RowName, (&'a Row, bool)>;

pub(super) fn hazard(code: &str, severity: Severity, address: Option<&Address>, message: String) -> Hazard {
    Hazard {
        code: code.to_owned(),
        severity,
        message,
        address: address.cloned(),
        is_live: false,
    }
}

/// What can be told from the rows alone. `live` is what runs; rows of others that are staged may be among the changes.
pub(super) fn of_rows(live: &Live, wanted: &Wanted, changes: &[Change], admin: &str) -> Vec<Hazard> {
    let after = live.after(changes);
    let mut hazards = reserved_users(live, wanted, changes, admin);
    hazards.extend(of_variables(wanted, changes));
    hazards.extend(unresolved(live, wanted));
    hazards.extend(unique_keys(&after, changes));
    hazards.extend(joined_twice(&after, wanted));
    hazards.extend(reused_hostgroups(live, wanted));
    if !wanted.of_others.is_empty() {
        let names: Vec<String> = wanted.of_others.iter().map(ToString::to_string).collect();
        let message = format!(
            "left to others, as `manage` says, and not written: {}",
            named(&names)
        );
        hazards.push(hazard(codes::OF_OTHERS, Severity::Info, None, message));
    }
    for note in &wanted.notes {
        hazards.push(hazard(codes::AT_START, Severity::Info, None, note.clone()));
    }
    hazards
}

/// A user of this name takes the admin port's place: nobody can log in there any more.
fn reserved_users(live: &Live, wanted: &Wanted, changes: &[Change], admin: &str) -> Vec<Hazard> {
    let mut reserved: BTreeSet<String> = BTreeSet::from([admin.to_owned()]);
    for variable in ["admin-admin_credentials", "admin-stats_credentials"] {
        reserved.extend(live.accounts(variable));
    }
    let of_changes = changes
        .iter()
        .filter(|change| change.name.is_in(&USERS) && change.new.is_some())
        .filter_map(|change| Some((change.name.text(0)?, &change.address)));
    let users: BTreeMap<&str, &Address> = of_changes.chain(user_names(wanted)).collect();
    users
        .into_iter()
        .filter(|(name, _)| reserved.contains(*name))
        .map(|(name, address)| {
            let message = format!(
                "{name} is an account of this ProxySQL's admin port: once it is a user, nobody can log in there; rename it"
            );
            hazard(codes::RESERVED_USER, Severity::Error, Some(address), message)
        })
        .collect()
}

fn of_variables(wanted: &Wanted, changes: &[Change]) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    for change in changes {
        let Some(variable) = change.name.variable_name() else {
            continue;
        };
        if change.old.is_none() && wanted.rows.contains_key(&change.name) {
            let message = format!("this ProxySQL has no variable {variable}, and would drop it");
            hazards.push(hazard(
                codes::UNKNOWN_VARIABLE,
                Severity::Error,
                Some(&change.address),
                message,
            ));
        } else if change.is_at_start {
            let message = format!("{variable} is saved to disk, and takes effect when ProxySQL starts next");
            hazards.push(hazard(
                codes::AT_START,
                Severity::Warning,
                Some(&change.address),
                message,
            ));
        } else if MEANING.contains(&variable) {
            let message = format!(
                "{variable} changes before the rules do: for a moment the former rules run with the new value"
            );
            hazards.push(hazard(
                codes::SETTINGS_CHANGE,
                Severity::Warning,
                Some(&change.address),
                message,
            ));
        }
    }
    hazards
}

fn unresolved(live: &Live, wanted: &Wanted) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    for (name, wish) in &wanted.rows {
        let Some(reason) = &wish.unresolved else { continue };
        let what = match live.row(name) {
            Some(_) => "it is not compared, and stays as it is",
            None => "the user is added by an apply that finds it",
        };
        let message = format!("the password cannot be found here: {reason}; {what}");
        let unresolved = hazard(codes::UNRESOLVED, Severity::Warning, Some(&wish.address), message);
        // A user can be in two rows.
        if hazards.last() != Some(&unresolved) {
            hazards.push(unresolved);
        }
    }
    hazards
}

/// Why changes cannot be carried out from here: a user that is new has no password.
pub(super) fn without_password(wanted: &Wanted, changes: &[Change]) -> Option<String> {
    changes.iter().filter(|change| change.old.is_none()).find_map(|change| {
        let wish = wanted.rows.get(&change.name)?;
        let reason = wish.unresolved.as_ref()?;
        let (code, address) = (codes::UNRESOLVED, &wish.address);
        Some(format!(
            "{code}: {address}: the password cannot be found here: {reason}; the user cannot be added without it"
        ))
    })
}

/// Rows that stand where others shall be, by a key that is unique besides the primary one.
fn unique_keys(after: &After<'_>, changes: &[Change]) -> Vec<Hazard> {
    let mut tables: BTreeMap<TableName, Vec<&Change>> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.new.is_some()) {
        tables.entry(change.name.table).or_default().push(change);
    }
    let mut hazards = Vec::new();
    for (table, changes) in tables {
        for columns in table.definition().unique {
            let values = |row: &Row| -> Vec<Option<String>> {
                let values = columns.iter().map(|column| row.facts.get(*column));
                values.map(|value| value.map(ToString::to_string)).collect()
            };
            let mut holders: BTreeMap<Vec<Option<String>>, Vec<(&RowName, bool)>> = BTreeMap::new();
            for (name, (row, is_ours)) in after.iter().filter(|(name, _)| name.table == table) {
                holders.entry(values(row)).or_default().push((*name, *is_ours));
            }
            for change in &changes {
                let same = change.new.as_ref().and_then(|new| holders.get(&values(new)));
                let others = same.into_iter().flatten();
                for (name, _) in others.filter(|(name, is_ours)| **name != change.name && !is_ours) {
                    let message = format!(
                        "{name} is somebody else's and has the same {}",
                        columns.join(" and ")
                    );
                    hazards.push(hazard(
                        codes::CONFLICT,
                        Severity::Error,
                        Some(&change.address),
                        message,
                    ));
                }
            }
        }
    }
    hazards
}

/// Hostgroups that two rows join: the engine drops one of them when it loads, and says so in its log only.
fn joined_twice(after: &After<'_>, wanted: &Wanted) -> Vec<Hazard> {
    const COLUMNS: [&str; 4] = [
        "writer_hostgroup",
        "reader_hostgroup",
        "backup_writer_hostgroup",
        "offline_hostgroup",
    ];
    let joins = |name: &RowName| JOINS.iter().any(|table| name.is_in(table));
    let ours = wanted.rows.iter().filter(|(name, _)| joins(name));
    let ours = ours.map(|(name, wish)| (name, &wish.row, wish.address.clone()));
    let of_others = after
        .iter()
        .filter(|(name, (_, is_ours))| joins(name) && !is_ours && !wanted.rows.contains_key(*name))
        .map(|(name, (row, _))| (*name, *row, address_of(name, row)));
    let mut owners: BTreeMap<i64, (&RowName, Address)> = BTreeMap::new();
    let mut hazards = Vec::new();
    for (name, row, address) in of_others.chain(ours) {
        for hostgroup in COLUMNS.iter().filter_map(|column| row.number(column)) {
            match owners.get(&hostgroup) {
                Some((other, _)) if *other != name => {
                    let message = format!(
                        "hostgroup {hostgroup} is also in {other}: ProxySQL would drop one of the rows"
                    );
                    hazards.push(hazard(codes::CONFLICT, Severity::Error, Some(&address), message));
                }
                _ => {
                    owners.insert(hostgroup, (name, address.clone()));
                }
            }
        }
    }
    hazards
}

/// Hostgroups whose servers are of another cluster than before, while rules of both states lead there.
fn reused_hostgroups(live: &Live, wanted: &Wanted) -> Vec<Hazard> {
    let cluster = |address: &Address| {
        let mut parts = address.as_str().split('.');
        match (parts.next(), parts.next()) {
            (Some("clusters"), Some(name)) => Some(name.to_owned()),
            _ => None,
        }
    };
    let mut before: BTreeMap<i64, BTreeSet<String>> = BTreeMap::new();
    for (name, found) in live
        .rows()
        .filter(|(name, found)| name.is_in(&SERVERS) && found.is_ours)
    {
        if let (Some(hostgroup), Some(cluster)) = (name.number(0), cluster(&address_of(name, &found.row))) {
            before.entry(hostgroup).or_default().insert(cluster);
        }
    }
    let mut after: BTreeMap<i64, (BTreeSet<String>, Address)> = BTreeMap::new();
    for (name, wish) in wanted.rows.iter().filter(|(name, _)| name.is_in(&SERVERS)) {
        if let (Some(hostgroup), Some(cluster)) = (name.number(0), cluster(&wish.address)) {
            let entry = after
                .entry(hostgroup)
                .or_insert_with(|| (BTreeSet::new(), wish.address.clone()));
            entry.0.insert(cluster);
        }
    }
    let rules = live.of_table(TableName::of(&QUERY_RULES));
    let led_to: BTreeSet<i64> = rules
        .filter_map(|(_, found)| found.row.number("destination_hostgroup"))
        .collect();
    let mut hazards = Vec::new();
    for (hostgroup, (clusters, address)) in after {
        let Some(former) = before.get(&hostgroup) else {
            continue;
        };
        if former.is_disjoint(&clusters) && led_to.contains(&hostgroup) {
            let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
            let message = format!(
                "hostgroup {hostgroup} has servers of {} and gets those of {}: until the rules are loaded, statements would \
                 go to the wrong ones; give it another number, or apply in two steps",
                list(former),
                list(&clusters)
            );
            hazards.push(hazard(
                codes::REUSED_HOSTGROUP,
                Severity::Error,
                Some(&address),
                message,
            ));
        }
    }
    hazards
}

/// Rows that others have staged, which a load of ours would make live.
pub(super) fn staged(module: &str, rows: &[String]) -> Hazard {
    let message = format!(
        "LOAD {module} would also publish what somebody else has staged: {}; load it, or take it back \
         (SAVE {module} FROM RUNTIME)",
        named(rows)
    );
    hazard(codes::STAGED, Severity::Error, None, message)
}

/// Servers that the monitor has moved, and that a load puts back for a moment.
pub(super) fn placed_again(servers: &[String]) -> Hazard {
    let message = format!(
        "LOAD MYSQL SERVERS puts servers where memory has them until the monitor looks again: {}; save what is live first \
         (SAVE MYSQL SERVERS FROM RUNTIME), or write the present roles in the files",
        named(servers)
    );
    hazard(codes::PLACED_AGAIN, Severity::Warning, None, message)
}
