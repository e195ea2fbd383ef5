//! What the tables of an engine would hold otherwise: the rows of the source beside those that the project compiles to.

use std::collections::BTreeMap;

use shardwright_rules::tables::Cell;
use shardwright_rules::{ClusterKind, Configuration, HostgroupId, WriterServesReads};
use shardwright_targets::emit::{self, Table};

use crate::exact::{Unwritten, same_value};

/// A row that is another, or is on one side only; a setting that is another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The table; of settings none.
    pub table: Option<Table>,
    /// The row, by its key: `20 db1.internal:3306`; the setting, by its name.
    pub what: String,
    /// What is different: `weight 1000 → 1001`, `only in the source`.
    pub how: String,
    /// Why, where that is known.
    pub why: Option<&'static str>,
}

impl Difference {
    /// Whether it is that something is not written.
    pub(crate) fn is_lack_of(&self, unwritten: &Unwritten) -> bool {
        let what = match self.table {
            Some(Table::Users) => format!("user {}", self.what),
            None => format!("the variable {}", self.what),
            Some(Table::FastRouting) => {
                return self.how == ONLY_IN_SOURCE && unwritten.what.ends_with("of fast routing");
            }
            Some(Table::FirewallUsers | Table::FirewallRules) => {
                let user = self.what.split(" ''").next().unwrap_or_default();
                format!("the firewall of user {user}")
            }
            Some(_) => return false,
        };
        unwritten.what == what
    }
}

const ONLY_IN_SOURCE: &str = "only in the source";
const NOT_LISTED: &str = "the firewall protects a user without a row, and refuses every statement";
const REFUSES: &str = "executions of prepared statements are refused by this hostgroup";
const MONITOR_MOVES: &str = "the monitor moves servers between the writers and the readers by itself";
const SCHEDULER_MOVES: &str =
    "a program of the scheduler moves servers between the hostgroups of its cluster, and sets their state";
const GROUP_WEIGHTS: &str = "weights of Galera and group replication rank the writers, so no two are equal";
const GALERA_OUT: &str = "the monitor sets servers of Galera back to ONLINE, so one that is out has no row";
const LAG_OF_GROUPS: &str = "servers of Galera and group replication are limited by the transactions that wait, not by the lag of a replica";
const AS_MANY_AS_SERVERS: &str = "a cluster has at most as many writers as it has servers in the file";
const ONE_VALUE: &str = "a server has one value of this for all of its hostgroups";
const READS_OF_GALERA: &str = "with 0, servers that could write and do not would not read either";

type Rows = BTreeMap<(Table, String), (Option<HostgroupId>, Vec<(&'static str, Cell)>)>;

/// The differences between a source and what a project compiles to, by table. Comments say where rows come from and are
/// not compared; passwords are references on both sides.
///
/// # Errors
/// A value of a side that the engine's tables do not take.
pub(crate) fn differences(
    source: &Configuration,
    compiled: &Configuration,
) -> Result<Vec<Difference>, emit::EmitError> {
    let (old, new) = (rows(source)?, rows(compiled)?);
    let mut differences = Vec::new();
    for (key, (hostgroup, before)) in &old {
        let (table, what) = key;
        let how = match new.get(key) {
            None => ONLY_IN_SOURCE.to_owned(),
            Some((_, after)) => match columns(before, after) {
                columns if columns.is_empty() => continue,
                columns => columns,
            },
        };
        differences.push(Difference {
            table: Some(*table),
            what: what.clone(),
            why: why(source, *table, *hostgroup, &how),
            how,
        });
    }
    for ((table, what), (hostgroup, _)) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        let how = "only in the project".to_owned();
        let refuses = hostgroup.is_some_and(|id| compiled.refusing(id).is_some());
        differences.push(Difference {
            table: Some(*table),
            what: what.clone(),
            why: match refuses {
                true => Some(REFUSES),
                false => why(source, *table, *hostgroup, &how),
            },
            how,
        });
    }
    settings(source, compiled, &mut differences);
    Ok(differences)
}

fn rows(configuration: &Configuration) -> Result<Rows, emit::EmitError> {
    let mut rows = Rows::new();
    for row in emit::rows(configuration)? {
        let keys = row.table.definition().primary_key.iter();
        let key: Vec<String> = keys
            .filter(|key| **key != "backend")
            .map(|key| {
                text(
                    row.columns
                        .iter()
                        .find(|(name, _)| name == key)
                        .map(|(_, cell)| cell),
                )
            })
            .collect();
        let hostgroup = row.columns.iter().find(|(name, _)| *name == "hostgroup_id");
        let hostgroup = hostgroup.and_then(|(_, cell)| match cell {
            Cell::Integer(id) => u32::try_from(*id).ok().map(HostgroupId),
            _ => None,
        });
        let compared = row.columns.into_iter();
        let compared = compared.filter(|(name, _)| *name != "comment");
        rows.insert((row.table, key.join(" ")), (hostgroup, compared.collect()));
    }
    Ok(rows)
}

fn text(cell: Option<&Cell>) -> String {
    match cell {
        None => "NULL".to_owned(),
        Some(Cell::Integer(number)) => number.to_string(),
        Some(Cell::Text(text)) if text.is_empty() => "''".to_owned(),
        Some(Cell::Text(text)) => text.clone(),
    }
}

/// `weight 1000 → 1001, max_connections 100 → 1000`
fn columns(before: &[(&'static str, Cell)], after: &[(&'static str, Cell)]) -> String {
    let of = |row: &[(&'static str, Cell)], column: &str| {
        row.iter()
            .find(|(name, _)| *name == column)
            .map(|(_, cell)| cell.clone())
    };
    let mut names: Vec<&'static str> = before.iter().chain(after).map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let changed = names.into_iter().filter_map(|name| {
        let (old, new) = (of(before, name), of(after, name));
        (old != new).then(|| format!("{name} {} → {}", text(old.as_ref()), text(new.as_ref())))
    });
    changed.collect::<Vec<_>>().join(", ")
}

fn why(
    source: &Configuration,
    table: Table,
    hostgroup: Option<HostgroupId>,
    how: &str,
) -> Option<&'static str> {
    let is_missing = how.starts_with("only");
    match table {
        Table::GaleraHostgroups if how.contains("writer_is_also_reader") => Some(READS_OF_GALERA),
        Table::GaleraHostgroups | Table::GroupReplicationHostgroups if how.starts_with("max_writers") => {
            Some(AS_MANY_AS_SERVERS)
        }
        Table::FirewallUsers if is_missing => Some(NOT_LISTED),
        Table::Servers => {
            let owner = source.clusters.iter().find(|cluster| {
                let group = cluster.kind.group();
                let of_group =
                    |id| group.is_some_and(|group| group.backup_writer == id || group.offline == id);
                hostgroup.is_some_and(|id| cluster.owns(id) || of_group(id))
            });
            let is_moved = !owner?.roles_by.is_engine();
            match &owner?.kind {
                ClusterKind::Single => None,
                _ if is_moved && (is_missing || how.starts_with("status")) => Some(SCHEDULER_MOVES),
                ClusterKind::Replication { .. } if is_missing => Some(MONITOR_MOVES),
                ClusterKind::Galera(_) if how == ONLY_IN_SOURCE => Some(GALERA_OUT),
                ClusterKind::Galera(_) | ClusterKind::GroupReplication(_) if is_missing => {
                    Some(MONITOR_MOVES)
                }
                ClusterKind::Galera(_) | ClusterKind::GroupReplication(_)
                    if how.contains("max_replication_lag") =>
                {
                    Some(LAG_OF_GROUPS)
                }
                ClusterKind::Galera(_) | ClusterKind::GroupReplication(_) if how.starts_with("weight") => {
                    Some(GROUP_WEIGHTS)
                }
                _ => Some(ONE_VALUE),
            }
        }
        _ => None,
    }
}

/// Settings, variables and listeners.
fn settings(source: &Configuration, compiled: &Configuration, differences: &mut Vec<Difference>) {
    let mut differs = |what: &str, old: &str, new: &str| {
        if old != new && !same_value(what, old, new) {
            differences.push(Difference {
                table: None,
                what: what.to_owned(),
                how: format!("{old} → {new}"),
                why: None,
            });
        }
    };
    let default = |name: &str| {
        shardwright_topology::default_value(name)
            .unwrap_or("(not set)")
            .to_owned()
    };
    let value =
        |side: &Configuration, name: &str| side.variables.get(name).cloned().unwrap_or_else(|| default(name));
    let names = source.variables.keys().chain(compiled.variables.keys());
    let mut names: Vec<&String> = names.collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        differs(name, &value(source, name), &value(compiled, name));
    }
    let pair = [source, compiled];
    let iterations = pair.map(|side| side.settings.query_processor_iterations.to_string());
    differs("mysql-query_processor_iterations", &iterations[0], &iterations[1]);
    let regex = pair.map(|side| format!("{:?}", side.settings.regex));
    differs("mysql-query_processor_regex", &regex[0], &regex[1]);
    let listeners = pair.map(|side| {
        let listeners = side.listeners.iter();
        let mut places: Vec<String> = listeners
            .map(|listener| format!("{}:{}", listener.bind, listener.port))
            .collect();
        places.sort();
        places.join(";")
    });
    differs("mysql-interfaces", &listeners[0], &listeners[1]);
    let accounts = pair.map(|side| {
        let account = side.monitor.as_ref();
        account.map_or_else(String::new, |account| {
            format!(
                "{} {}",
                account.user,
                account.heartbeat.as_deref().unwrap_or_default()
            )
        })
    });
    differs("mysql-monitor_username", accounts[0].trim(), accounts[1].trim());
    let [old, new] = pair.map(also_reads);
    if let (Some(old), Some(new)) = (old, new) {
        differs(
            "mysql-monitor_writer_is_also_reader",
            &old.to_string(),
            &new.to_string(),
        );
    }
}

/// One switch for all clusters of type replication; none where there is no such cluster.
fn also_reads(side: &Configuration) -> Option<bool> {
    let mut replicated = side
        .clusters
        .iter()
        .filter(|cluster| {
            matches!(cluster.kind, ClusterKind::Replication { .. }) && cluster.roles_by.is_engine()
        })
        .peekable();
    replicated.peek()?;
    Some(replicated.any(|cluster| cluster.writer_serves_reads != WriterServesReads::Never))
}
