//! `explain users.NAME`: what the user may do, and what is about it.

use std::collections::BTreeSet;

use shardwright_rules::{Address, Body, Rule, SecretReference, User};

use super::Asked;
use super::page::{Line, Page};

pub(super) fn page(asked: &Asked<'_>, user: &User) -> Page {
    let configuration = &asked.built.configuration;
    let home = configuration.hostgroup(user.default_hostgroup);
    let place = home.map(|home| format!("{}, {}", home.cluster, home.role));
    let mut facts = vec![format!(
        "statements that no rule routes go to hostgroup {} ({})",
        user.default_hostgroup,
        place.unwrap_or_default()
    )];
    if user.reads_only {
        facts.push(
            "it only reads: readers take its statements, and everything else is refused (SW363)".to_owned(),
        );
    }
    facts.push(match &user.default_schema {
        Some(schema) => format!("sessions start in schema {schema}"),
        None => "sessions start without a schema".to_owned(),
    });
    facts.push(format!(
        "the password comes from {}",
        source(user.password.as_ref())
    ));
    facts.push(format!("at most {} client connections", user.max_connections));
    facts.push(match user.transaction_persistent {
        true => "a transaction stays on the hostgroup where it began".to_owned(),
        false => "each statement of a transaction is routed separately".to_owned(),
    });
    facts.push(match user.annotations_allowed {
        true => "engine annotations such as /* hostgroup=5 */ are obeyed".to_owned(),
        false => "engine annotations such as /* hostgroup=5 */ are refused".to_owned(),
    });
    // One line for each map, policy, throttle or block.
    let about: BTreeSet<String> = configuration
        .graph
        .rules
        .iter()
        .filter(|rule| is_about(rule, &user.name))
        .map(|rule| section_object(&rule.address))
        .collect();
    let about = about.into_iter().map(|address| {
        let address = Address::new(address);
        Line::at(asked.opened, &address, address.as_str())
    });
    Page::new(
        format!("user {}", user.name),
        "clients log in with it, and so does the proxy on the servers",
    )
    .at(asked.opened, &user.address)
    .group("facts", facts.into_iter().map(Line::text))
    .group_or("rules for its statements", about, "no rules")
}

/// Where a secret is; never what it is.
fn source(password: Option<&SecretReference>) -> String {
    match password {
        None => "nowhere: it is empty".to_owned(),
        Some(SecretReference::Env(name)) => format!("the variable {name} of the proxy's environment"),
        Some(SecretReference::File(path)) => format!("the file {path}"),
        Some(SecretReference::Command(words)) => {
            format!("the command {}", words.first().map_or("", String::as_str))
        }
    }
}

fn is_about(rule: &Rule, user: &str) -> bool {
    match &rule.body {
        Body::Engine(engine) => engine.username.as_deref().is_none_or(|name| name == user),
        Body::Native { scope, .. } => scope.users.contains(user),
    }
}

/// `shard_maps.tenants` of `shard_maps.tenants.shards.t137`.
fn section_object(address: &Address) -> String {
    let mut parts = address.as_str().splitn(3, ['.', '[']);
    let section = parts.next().unwrap_or_default();
    match parts.next() {
        Some(name) => format!("{section}.{name}"),
        None => section.to_owned(),
    }
}
