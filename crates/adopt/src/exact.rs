//! A rule set as a project that says the same, row for row, as far as the language can.

mod clusters;

use std::collections::BTreeMap;

use shardwright_import::{Beside, RuleFile};
use shardwright_rules::tables::{NodeVariable, interface_of_one_node};
use shardwright_rules::{
    Address, Body, Configuration, Firewall, FirewallMode, Listener, Monitor, Rule, SecretReference, User,
    is_login,
};
use shardwright_topology::{NoSetting, default_value, is_name, setting};

use crate::Secrets;
use crate::draft::{Draft, MonitorDraft, RuleDraft, TargetDraft, UserDraft};
use crate::names::{self, Names};

/// Something of the source that a project cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unwritten {
    /// What it is.
    pub what: String,
    /// Why.
    pub why: String,
}

/// The project, and what it lacks.
pub(crate) fn draft(
    file: &RuleFile,
    target: Option<TargetDraft>,
    secrets: Secrets,
) -> (Draft, Vec<Unwritten>) {
    let source = &file.configuration;
    let mut unwritten = Vec::new();
    let clusters = clusters::clusters(source, &file.beside.scheduled, &mut unwritten);
    let mut draft = Draft {
        engine: source.engine,
        settings: source.settings,
        project: None,
        target,
        clusters,
        users: Vec::new(),
        listeners: listeners(source, &mut unwritten),
        monitor: source
            .monitor
            .as_ref()
            .map(|account| monitor(account, &file.beside, secrets)),
        variables: BTreeMap::new(),
        rules: rules(source, &file.beside, &mut unwritten),
        behind: None,
        among: BTreeMap::new(),
        behind_effects: false,
        routes: source.graph.fast_routing.clone(),
        refusing: source.refusing.clone(),
        firewall: source.firewall.clone(),
        objects: Vec::new(),
    };
    users(source, &file.beside, secrets, &mut draft, &mut unwritten);
    firewall(source, &mut draft, &mut unwritten);
    fast_routing(source, &mut draft, &mut unwritten);
    variables(source, &mut draft, &mut unwritten);
    (draft, unwritten)
}

fn users(
    source: &Configuration,
    beside: &Beside,
    secrets: Secrets,
    draft: &mut Draft,
    unwritten: &mut Vec<Unwritten>,
) {
    let mut objects = Names::default();
    // A login that is a name keeps it, whatever names are made of others.
    let (named, others): (Vec<&User>, Vec<&User>) = source.users.iter().partition(|user| is_name(&user.name));
    for user in named.into_iter().chain(others) {
        let why = if !is_login(&user.name) {
            Some(format!(
                "its name is no login of a project ({})",
                shown(&user.name)
            ))
        } else if draft.place(user.default_hostgroup).is_none() {
            let id = user.default_hostgroup;
            Some(format!(
                "its default hostgroup {id} is no writer or reader of a cluster"
            ))
        } else {
            None
        };
        match why {
            Some(why) => unwritten.push(Unwritten {
                what: format!("user {}", user.name),
                why: format!("{why}; {LEFT}"),
            }),
            None => {
                let object = objects.take(&names::user(&user.name));
                draft.users.push(self::user(user, object, beside, secrets));
            }
        }
    }
    draft.users.sort_by(|a, b| a.name.cmp(&b.name));
}

/// The names of users in files by their logins, of those that are not the same.
pub(crate) fn object_names(draft: &Draft) -> BTreeMap<String, String> {
    let users = draft.users.iter().filter(|user| user.object != user.name);
    users
        .map(|user| (user.name.clone(), user.object.clone()))
        .collect()
}

/// Lists of the users that are written. Once the firewall is on, a user without a list is refused every statement: in the language,
/// a list that allows nothing.
fn firewall(source: &Configuration, draft: &mut Draft, unwritten: &mut Vec<Unwritten>) {
    if source.firewall.is_empty() {
        return;
    }
    let is_written = |list: &Firewall| draft.users.iter().any(|user| user.name == list.user);
    let (mut lists, others): (Vec<Firewall>, Vec<Firewall>) =
        source.firewall.iter().cloned().partition(is_written);
    unwritten.extend(others.into_iter().map(|list| Unwritten {
        what: format!("the firewall of user {}", list.user),
        why: format!("the project has no such user; {LEFT}"),
    }));
    for user in &draft.users {
        if !lists.iter().any(|list| list.user == user.name) {
            lists.push(Firewall {
                user: user.name.clone(),
                address: Address::from(format!("mysql_firewall_whitelist_users.{}", user.name)),
                mode: FirewallMode::Protecting,
                schemas: Vec::new(),
                flags: Vec::new(),
                digests: Vec::new(),
            });
        }
    }
    lists.sort_by(|a, b| a.user.cmp(&b.user));
    draft.firewall = lists;
}

/// Rows of fast routing that the engine looks up. Where its last rule keeps it from that, in the language they would act, so they
/// are left out.
fn fast_routing(source: &Configuration, draft: &mut Draft, unwritten: &mut Vec<Unwritten>) {
    let skips = source.engine.profile().trailing_apply_skips_fast_routing;
    let rules = source.graph.rules.iter();
    let last = rules.rev().find_map(|rule| match &rule.body {
        Body::Engine(row) => Some((rule.id, row)),
        Body::Native { .. } => None,
    });
    let Some((id, _)) = last.filter(|(_, row)| skips && row.apply) else {
        return;
    };
    let what = match std::mem::take(&mut draft.routes).len() {
        0 => return,
        1 => "1 row of fast routing".to_owned(),
        rows => format!("{rows} rows of fast routing"),
    };
    unwritten.push(Unwritten {
        what,
        why: format!(
            "the last rule, {id}, has apply = 1, so ProxySQL looks none of them up (ProxySQL #5620)"
        ),
    });
}

/// Says what becomes of what no project can hold.
const LEFT: &str = "a plan leaves it as it is";

/// A name whose characters may be of any kind.
fn shown(name: &str) -> String {
    format!("{name:?}")
}

fn user(user: &User, object: String, beside: &Beside, secrets: Secrets) -> UserDraft {
    let has_password = user.password.is_some() || beside.passwords.contains_key(&user.name);
    UserDraft {
        name: user.name.clone(),
        password: has_password
            .then(|| reference(&object, beside.passwords.contains_key(&user.name), secrets)),
        object,
        hostgroup: user.default_hostgroup,
        schema: user.default_schema.clone(),
        max_connections: user.max_connections,
        statement_timeout_ms: user.statement_timeout_ms,
        transaction_persistent: user.transaction_persistent,
        tls: user.tls,
    }
}

/// The file that a secret of the source is written to.
pub(crate) fn secret_file(name: &str) -> String {
    format!("secrets/{name}")
}

/// What the file of the monitor's password is called; a user of that name has another.
pub(crate) const MONITOR_SECRET: &str = "monitor.account";

/// A file for a secret that the source has; else the environment variable that it is expected in.
fn reference(name: &str, is_known: bool, secrets: Secrets) -> SecretReference {
    match secrets {
        Secrets::Files if is_known => SecretReference::File(secret_file(name)),
        Secrets::Files | Secrets::Environment => {
            let name = name.to_ascii_uppercase().replace(['-', '.'], "_");
            SecretReference::Env(format!("{name}_PASSWORD"))
        }
    }
}

fn monitor(monitor: &Monitor, beside: &Beside, secrets: Secrets) -> MonitorDraft {
    let password = monitor.password.as_ref().map(|_| match beside.monitor_password {
        Some(_) if secrets == Secrets::Files => SecretReference::File(secret_file(MONITOR_SECRET)),
        _ => SecretReference::Env("MONITOR_PASSWORD".to_owned()),
    });
    MonitorDraft {
        user: monitor.user.clone(),
        password,
        heartbeat: monitor.heartbeat.clone(),
    }
}

fn rules(source: &Configuration, beside: &Beside, unwritten: &mut Vec<Unwritten>) -> Vec<RuleDraft> {
    let active = source.graph.rules.iter().map(|rule| (rule, true));
    let inactive = beside.inactive.iter().map(|rule| (rule, false));
    let mut rules: Vec<RuleDraft> = active
        .chain(inactive)
        .filter_map(|(rule, is_active)| rule_draft(rule, is_active))
        .collect();
    rules.sort_by_key(|rule| rule.id);
    if rules.first().is_some_and(|rule| rule.id == 0) {
        rules.remove(0);
        unwritten.push(Unwritten {
            what: "rule 0".to_owned(),
            why: "the numbers of a project begin at 1: a plan removes it, so give it another number first"
                .to_owned(),
        });
    }
    rules
}

fn rule_draft(rule: &Rule, is_active: bool) -> Option<RuleDraft> {
    let Body::Engine(row) = &rule.body else {
        return None;
    };
    Some(RuleDraft {
        id: rule.id,
        flag_in: rule.flag_in,
        is_active,
        row: (**row).clone(),
        comment: Vec::new(),
    })
}

/// Interfaces that every node can have. An address of one node is none that its peers can listen on.
fn listeners(source: &Configuration, unwritten: &mut Vec<Unwritten>) -> Vec<Listener> {
    let mut all = source.listeners.iter();
    let Some(of_node) = all.find(|listener| interface_of_one_node(&listener.bind)) else {
        return source.listeners.clone();
    };
    unwritten.push(Unwritten {
        what: "the variable mysql-interfaces".to_owned(),
        why: format!(
            "{} is an address of this node: without `listeners`, a plan leaves the variable as it is",
            of_node.bind
        ),
    });
    Vec::new()
}

/// Variables that are not what ProxySQL starts with.
fn variables(source: &Configuration, draft: &mut Draft, unwritten: &mut Vec<Unwritten>) {
    for (name, value) in &source.variables {
        if default_value(name).is_some_and(|default| same_value(name, default, value)) {
            continue;
        }
        let of_node = NodeVariable::of(name).map(|of_node| Err(NoSetting::Elsewhere(of_node.reason(), "")));
        let why = match of_node.unwrap_or_else(|| setting(name, value)) {
            Ok(value) => {
                draft.variables.insert(name.clone(), value);
                continue;
            }
            Err(NoSetting::Elsewhere(why, _)) => why.to_owned(),
            Err(NoSetting::Unknown) => "ProxySQL 2.7 has no variable of this name".to_owned(),
            Err(NoSetting::BadValue) => format!("ProxySQL 2.7 does not take the value {value}"),
        };
        unwritten.push(Unwritten {
            what: format!("the variable {name}"),
            why,
        });
    }
}

/// Whether two values of a variable are one: switches are written in several ways.
pub(crate) fn same_value(name: &str, one: &str, other: &str) -> bool {
    one == other || matches!((setting(name, one), setting(name, other)), (Ok(one), Ok(other)) if one == other)
}
