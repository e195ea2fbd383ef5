//! The order in which changes go live, so that no rule ever leads where nobody serves.
//!
//! ProxySQL loads module by module. What new rules need is loaded before them, and what old rules needed goes after them.
//! A hostgroup that is used before and after changes its servers in one load: it is never empty, and never holds servers
//! of both states at a time. Users who go are gone before the rules that kept them in their places; users who come, come
//! after the rules that are for them. The same order serves the way back, with the changes reversed.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::tables::{FIREWALL_RULES, QUERY_RULES, SERVERS, USERS};

use super::change::Change;
use super::live::Live;
use super::mark::is_ours_to_keep;
use super::module::Module;
use super::row::{Row, RowName};
use crate::emit::variables::{AT_START, FIREWALL_ENABLED};

/// Rows that are put in memory, and then loaded together.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) module: Module,
    /// Rows, and what they shall hold; `None`: they go.
    pub(super) rows: Vec<(RowName, Option<Row>)>,
    /// Whether it goes live now; otherwise at the next start.
    pub(super) is_loaded: bool,
}

/// The stages of changes. `live` is what they start from or end at: it tells which servers the hostgroups have.
pub(super) fn stages(changes: &[Change], live: &Live) -> Vec<Stage> {
    let members = Members::after(changes, live);
    let mut sorted: BTreeMap<Place, Vec<(RowName, Option<Row>)>> = BTreeMap::new();
    for change in changes {
        let place = place(change, &members);
        let rows = sorted.entry(place).or_default();
        rows.push((change.name.clone(), change.new.clone()));
    }
    if sorted.contains_key(&Place::Variables) || sorted.contains_key(&Place::FirewallIsOn) {
        wait_for_start(live, sorted.entry(Place::AtStart).or_default());
    }
    let is_only_counted = changes
        .iter()
        .all(|change| Module::of(&change.name) != Module::QueryRules || is_counted(change));
    let stages = sorted.into_iter().map(|(place, rows)| Stage {
        module: place.module(),
        rows,
        is_loaded: !(place == Place::AtStart || (place == Place::Rules && is_only_counted)),
    });
    stages.filter(|stage| !stage.rows.is_empty()).collect()
}

/// A load sets the variables back that wait for the next start; they go on waiting with what the disk has.
fn wait_for_start(live: &Live, rows: &mut Vec<(RowName, Option<Row>)>) {
    for variable in AT_START {
        let name = RowName::variable(variable);
        let is_changed = rows.iter().any(|(changed, _)| *changed == name);
        if let Some(row) = live
            .on_disk(&name)
            .filter(|_| !is_changed && live.row(&name).is_some())
        {
            rows.push((name, Some(row.clone())));
        }
    }
}

/// Whether a change is a mark that counts one generation more: nobody needs the rules to be loaded for that.
fn is_counted(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        return false;
    };
    is_ours_to_keep(&change.name, new) && old.text("comment") == new.text("comment")
}

/// Where in the order a change goes live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    AdminVariables,
    Variables,
    UsersGo,
    Servers,
    FirewallComes,
    Rules,
    UsersCome,
    Firewall,
    FirewallIsOn,
    ServersGo,
    AtStart,
}

impl Place {
    fn module(self) -> Module {
        match self {
            Self::AdminVariables => Module::AdminVariables,
            Self::Variables | Self::FirewallIsOn | Self::AtStart => Module::MysqlVariables,
            Self::UsersGo | Self::UsersCome => Module::Users,
            Self::Servers | Self::ServersGo => Module::Servers,
            Self::FirewallComes | Self::Firewall => Module::Firewall,
            Self::Rules => Module::QueryRules,
        }
    }
}

fn place(change: &Change, members: &Members) -> Place {
    match Module::of(&change.name) {
        Module::AdminVariables => Place::AdminVariables,
        Module::MysqlVariables if change.is_at_start => Place::AtStart,
        Module::MysqlVariables if comes_last(change) => Place::FirewallIsOn,
        Module::MysqlVariables => Place::Variables,
        Module::Users if change.new.is_none() => Place::UsersGo,
        Module::Users => Place::UsersCome,
        Module::QueryRules => Place::Rules,
        // What may be sent under the old rules or the new ones is allowed while they change.
        Module::Firewall if change.name.is_in(&FIREWALL_RULES) && change.old.is_none() => {
            Place::FirewallComes
        }
        Module::Firewall => Place::Firewall,
        Module::Servers if members.are_gone(change) => Place::ServersGo,
        Module::Servers => Place::Servers,
    }
}

fn comes_last(change: &Change) -> bool {
    let is_on = change
        .new
        .as_ref()
        .is_some_and(|row| row.text("variable_value") == "true");
    change.name.variable_name() == Some(FIREWALL_ENABLED) && is_on
}

/// The hostgroups that have servers when everything is done.
struct Members(BTreeSet<i64>);

impl Members {
    fn after(changes: &[Change], live: &Live) -> Self {
        let mut servers: BTreeMap<&RowName, &Row> = live
            .rows()
            .filter(|(name, _)| name.is_in(&SERVERS))
            .map(|(name, found)| (name, &found.row))
            .collect();
        for change in changes.iter().filter(|change| change.name.is_in(&SERVERS)) {
            match &change.new {
                Some(row) => servers.insert(&change.name, row),
                None => servers.remove(&change.name),
            };
        }
        let serving = servers.into_iter().filter(|(_, row)| serves(row));
        Self(serving.filter_map(|(name, _)| name.number(0)).collect())
    }

    /// Whether a change is about hostgroups that have no servers in the end.
    fn are_gone(&self, change: &Change) -> bool {
        if change.name.is_in(&SERVERS) {
            return change
                .name
                .number(0)
                .is_none_or(|hostgroup| !self.0.contains(&hostgroup));
        }
        let Some(old) = change.old.as_ref().filter(|_| change.new.is_none()) else {
            return false;
        };
        let columns = ["writer_hostgroup", "reader_hostgroup"];
        let mut hostgroups = columns.into_iter().filter_map(|column| old.number(column));
        hostgroups.all(|hostgroup| !self.0.contains(&hostgroup))
    }
}

/// Whether a server may be chosen for statements.
fn serves(row: &Row) -> bool {
    row.text("status").eq_ignore_ascii_case("ONLINE")
        && row.number("weight") != Some(0)
        && row.number("max_connections") != Some(0)
}

/// What leads to hostgroups, and the hostgroups that serve, at one time.
#[derive(Clone, Debug, Default)]
struct State<'r> {
    live: BTreeMap<&'r RowName, &'r Row>,
}

impl State<'_> {
    /// Hostgroups that something leads to and that have no servers.
    fn empty(&self) -> BTreeSet<i64> {
        let servers = self
            .live
            .iter()
            .filter(|(name, row)| name.is_in(&SERVERS) && serves(row));
        let serving: BTreeSet<i64> = servers.filter_map(|(name, _)| name.number(0)).collect();
        let mut led_to = BTreeSet::new();
        for (name, row) in &self.live {
            let is_active = row.number("active") != Some(0);
            if name.is_in(&QUERY_RULES) && is_active {
                led_to.extend(row.number("destination_hostgroup").filter(|id| *id >= 0));
            } else if name.is_in(&USERS) && is_active {
                led_to.extend(row.number("default_hostgroup"));
            } else if Module::of(name) == Module::QueryRules && is_active {
                led_to.extend(row.number("destination_hostgroup"));
            }
        }
        led_to.difference(&serving).copied().collect()
    }
}

/// Hostgroups that something would lead to without servers after one of the stages, and that neither the first state nor
/// the last one leaves so.
pub(super) fn emptied(stages: &[Stage], live: &Live) -> BTreeSet<i64> {
    let mut state = State {
        live: live.rows().map(|(name, found)| (name, &found.row)).collect(),
    };
    let mut between = BTreeSet::new();
    let before = state.empty();
    for stage in stages.iter().filter(|stage| stage.is_loaded) {
        for (name, row) in &stage.rows {
            match row {
                Some(row) => state.live.insert(name, row),
                None => state.live.remove(name),
            };
        }
        between.extend(state.empty());
    }
    let after = state.empty();
    between.retain(|hostgroup| !before.contains(hostgroup) && !after.contains(hostgroup));
    between
}
