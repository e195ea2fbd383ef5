//! The firewall, where it is one list of digests for each user.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_diagnostics::Severity;
use shardwright_rules::{Firewall, FirewallMode};

use super::variables::Variables;
use super::{Lift, digest, filled, text};
use crate::codes::MISREAD;

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
    if users.is_empty() {
        let what = "the firewall is on and lists no user: the engine refuses every statement".to_owned();
        variables.about_firewall(|row| lift.unmodelled(row, what));
    }
    let mut allowed: BTreeMap<String, Allowed> = BTreeMap::new();
    for row in &rules {
        if !lift.flag(row, "active") {
            continue;
        }
        if filled(row, "client_address").is_some() {
            lift.unmodelled(
                row,
                "the firewall allows a digest to some client addresses only".to_owned(),
            );
        }
        let (number, whole) = digest(&text(row, "digest").unwrap_or_default());
        if !whole {
            lift.say(
                Severity::Warning,
                MISREAD,
                row,
                "the engine reads no digest here".to_owned(),
            );
        }
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
            lift.unmodelled(
                row,
                format!("the firewall of user {user} is for some client addresses only"),
            );
        }
        let rows = allowed.remove(&user).unwrap_or_default();
        let list = Firewall {
            address: lift.address(format!("mysql_firewall_whitelist_users.{user}"), row),
            mode: match text(row, "mode").as_deref() {
                Some("PROTECTING") => FirewallMode::Protecting,
                Some("DETECTING") => FirewallMode::Detecting,
                _ => FirewallMode::Disabled,
            },
            schemas: rows
                .iter()
                .map(|(schema, ..)| schema.clone())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            flags: rows
                .iter()
                .map(|(_, flag, _)| *flag)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            digests: rows
                .iter()
                .map(|(.., digest)| *digest)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            user,
        };
        if list.schemas.len() * list.flags.len() * list.digests.len() != rows.len() {
            let what = format!(
                "the firewall allows user {} other digests in other schemas or chains",
                list.user
            );
            lift.unmodelled(row, what);
        }
        lift.configuration.firewall.push(list);
    }
    lift.configuration.firewall.sort_by(|a, b| a.user.cmp(&b.user));
}
