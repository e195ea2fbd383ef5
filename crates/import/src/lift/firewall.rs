//! The firewall, where it is one list of digests for each user.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value;
use shardwright_diagnostics::Severity;
use shardwright_rules::tables::read_digest;
use shardwright_rules::{Address, Firewall, FirewallMode};

use super::variables::Variables;
use super::{Lift, filled, text};
use crate::codes::MISREAD;
use crate::store::Row;

type Allowed = BTreeSet<(String, u32, u64)>;

/// Lists of the firewall, where it is switched on.
pub(super) fn lift(lift: &mut Lift<'_>, variables: &Variables) {
    let (users, rules) = (
        lift.rows("mysql_firewall_whitelist_users"),
        lift.rows("mysql_firewall_whitelist_rules"),
    );
    if !variables.firewall_enabled() {
        if let Some(row) = users.first().or(rules.first()) {
            lift.ignored(row, "the firewall is not switched on".to_owned());
        }
        return;
    }
    let mut allowed: BTreeMap<String, Allowed> = BTreeMap::new();
    for row in &rules {
        if !lift.flag(row, "active") {
            continue;
        }
        if filled(row, "client_address").is_some() {
            lift.left_as_it_is(
                row,
                "the firewall allows a digest to some client addresses only".to_owned(),
            );
        }
        let (number, whole) = read_digest(&text(row, "digest").unwrap_or_default());
        if !whole {
            lift.say(
                Severity::Warning,
                MISREAD,
                row,
                "the engine reads no digest here".to_owned(),
            );
        }
        let Value::Integer(_) = row.cell("flagIN") else {
            let what = "the engine compares flagIN as text: the row of the firewall never matches".to_owned();
            lift.say(Severity::Warning, MISREAD, row, what);
            continue;
        };
        let flag = lift.count(row, "flagIN").unwrap_or(0);
        let schema = text(row, "schemaname").unwrap_or_default();
        let user = text(row, "username").unwrap_or_default();
        allowed.entry(user).or_default().insert((schema, flag, number));
    }
    for row in &users {
        if !lift.flag(row, "active") {
            continue;
        }
        let user = text(row, "username").unwrap_or_default();
        if filled(row, "client_address").is_some() {
            lift.left_as_it_is(
                row,
                format!("the firewall of user {user} is for some client addresses only"),
            );
        }
        let rows = allowed.remove(&user).unwrap_or_default();
        let address = lift.address(format!("mysql_firewall_whitelist_users.{user}"), row);
        let mode = match text(row, "mode").as_deref() {
            Some("PROTECTING") => FirewallMode::Protecting,
            Some("DETECTING") => FirewallMode::Detecting,
            _ => FirewallMode::Disabled,
        };
        add(lift, row, list(user, address, mode, &rows), rows.len());
    }
    // 2.7.1 protects a user without a row: what the rules name passes, and everything else is refused.
    for (user, rows) in allowed {
        let named = |row: &&Row| lift.flag(row, "active") && text(row, "username").as_deref() == Some(&*user);
        let Some(row) = rules.iter().find(named) else {
            continue;
        };
        let address = lift.address(format!("mysql_firewall_whitelist_rules.{user}"), row);
        let protected = list(user, address, FirewallMode::Protecting, &rows);
        add(lift, row, protected, rows.len());
    }
    if lift.configuration.firewall.is_empty() {
        let users = lift.configuration.users.iter().map(|user| user.name.clone());
        let refused = users.map(|user| {
            let address = Address::from(format!("mysql_firewall_whitelist_users.{user}"));
            list(user, address, FirewallMode::Protecting, &Allowed::new())
        });
        lift.configuration.firewall = refused.collect();
    }
    if lift.configuration.firewall.is_empty() {
        let what = "the firewall is on and lists no user: the engine refuses every statement".to_owned();
        variables.about_firewall(|row| lift.unmodelled(row, what));
    }
    lift.configuration.firewall.sort_by(|a, b| a.user.cmp(&b.user));
}

/// Adds a list of `count` rows; a list has the same digests in each of its schemas and chains.
fn add(lift: &mut Lift<'_>, row: &Row, list: Firewall, count: usize) {
    if list.schemas.len() * list.flags.len() * list.digests.len() != count {
        let what = format!(
            "the firewall allows user {} other digests in other schemas or chains",
            list.user
        );
        lift.unmodelled(row, what);
    }
    lift.configuration.firewall.push(list);
}

fn list(user: String, address: Address, mode: FirewallMode, rows: &Allowed) -> Firewall {
    let schemas: BTreeSet<&String> = rows.iter().map(|(schema, ..)| schema).collect();
    let flags: BTreeSet<u32> = rows.iter().map(|(_, flag, _)| *flag).collect();
    let digests: BTreeSet<u64> = rows.iter().map(|(.., digest)| *digest).collect();
    Firewall {
        user,
        address,
        mode,
        schemas: schemas.into_iter().cloned().collect(),
        flags: flags.into_iter().collect(),
        digests: digests.into_iter().collect(),
    }
}
