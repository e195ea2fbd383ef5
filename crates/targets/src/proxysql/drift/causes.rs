//! Who may have changed a row of a live ProxySQL: what its own tables tell about that.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use shardwright_plan::Timestamp;
use shardwright_rules::tables::SERVERS;

use super::super::change::Change;
use super::super::module::Module;
use super::super::session::{AdminSession, SessionError};

/// What is known, or guessed, of who changed a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Cause {
    /// A run that has not ended wrote it.
    Unfinished {
        /// The run, with what to do about it.
        run: String,
    },
    /// Another project was applied.
    Project {
        /// Its name, where it has one.
        project: Option<String>,
        /// Its run.
        run: String,
        /// `user@host`
        by: Option<String>,
        /// RFC 3339.
        at: Option<String>,
    },
    /// It came over the ProxySQL Cluster: this peer had it first.
    Peer {
        /// `host:port`
        node: String,
        /// When the peer loaded it, RFC 3339.
        at: Option<String>,
    },
    /// The target was restored to a former state, or emptied.
    Restored,
    /// A scheduler of this ProxySQL may have moved the server.
    Scheduler {
        /// Its programs.
        programs: Vec<String>,
    },
    /// Somebody with an admin account: a person, or a tool that leaves no mark.
    Hand {
        /// When the module was loaded last, RFC 3339; `None`: it was not, or that is not known.
        loaded_at: Option<String>,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |at: &Option<String>| at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
        match self {
            Self::Unfinished { run } => write!(f, "an apply that was cut off: {run}"),
            Self::Project {
                project,
                by,
                at: when,
                ..
            } => {
                match project {
                    Some(project) => write!(f, "the project {project} was applied")?,
                    None => f.write_str("a project without a name was applied")?,
                }
                if let Some(by) = by {
                    write!(f, " by {by}")?;
                }
                f.write_str(&at(when))
            }
            Self::Peer { node, at: when } => {
                write!(
                    f,
                    "came over the ProxySQL Cluster, first seen on {node}{}",
                    at(when)
                )
            }
            Self::Restored => f.write_str("restored to a former state, or emptied"),
            Self::Scheduler { programs } => {
                write!(f, "perhaps the scheduler, which runs {}", programs.join(", "))
            }
            Self::Hand { loaded_at: None } => f.write_str("by hand, or a tool that leaves no mark"),
            Self::Hand { loaded_at } => {
                write!(
                    f,
                    "by hand, or a tool that leaves no mark; loaded{}",
                    at(loaded_at)
                )
            }
        }
    }
}

/// When a module was loaded, and where first.
#[derive(Clone, Debug, Default)]
struct Loaded {
    /// Seconds since 1970; a peer that follows has that of the peer it follows.
    epoch: i64,
    /// The peer that had it before all others.
    first: Option<String>,
}

/// What the tables of a ProxySQL tell about changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    pub(super) version: String,
    /// This node, as its targets name it.
    own: String,
    loaded: BTreeMap<Module, Loaded>,
    /// Active programs of the scheduler.
    programs: Vec<String>,
}

impl Evidence {
    pub(super) fn read(session: &mut AdminSession, own: &str) -> Result<Self, SessionError> {
        let one = |row: Vec<Option<String>>, at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let version = session
            .texts("SELECT variable_value FROM global_variables WHERE variable_name = 'admin-version'")?;
        let mut loaded = BTreeMap::new();
        for module in Module::ALL {
            let Some(name) = checksum_of(module) else { continue };
            let own = session.texts(&format!(
                "SELECT epoch, checksum FROM runtime_checksums_values WHERE name = '{name}'"
            ))?;
            let Some(own) = own.into_iter().next() else {
                continue;
            };
            let (epoch, checksum) = (one(own.clone(), 0), one(own, 1));
            let peers = session.texts(&format!(
                "SELECT hostname || ':' || port, changed_at FROM stats_proxysql_servers_checksums \
                 WHERE name = '{name}' AND checksum = '{checksum}'"
            ))?;
            let peers = peers.into_iter().map(|row| {
                let changed_at = one(row.clone(), 1).parse().unwrap_or(i64::MAX);
                (changed_at, one(row, 0))
            });
            loaded.insert(
                module,
                Loaded {
                    epoch: epoch.parse().unwrap_or_default(),
                    first: first_of(peers.collect()),
                },
            );
        }
        let programs =
            session.texts("SELECT filename FROM runtime_scheduler WHERE active = 1 ORDER BY id")?;
        Ok(Self {
            version: version
                .into_iter()
                .next()
                .map(|row| one(row, 0))
                .unwrap_or_default(),
            own: own.to_owned(),
            loaded,
            programs: programs.into_iter().map(|row| one(row, 0)).collect(),
        })
    }

    pub(super) fn cause(&self, change: &Change, is_staged: bool) -> Cause {
        if change.name.is_in(&SERVERS) && !self.programs.is_empty() {
            return Cause::Scheduler {
                programs: self.programs.clone(),
            };
        }
        // What is live and was not applied has been loaded since.
        let loaded = self.loaded.get(&Module::of(&change.name)).filter(|_| !is_staged);
        let at = loaded.and_then(|loaded| Timestamp::from_second(loaded.epoch).ok());
        let at = at.map(|at| at.to_string());
        let first = loaded.and_then(|loaded| loaded.first.as_ref());
        match first.filter(|node| **node != self.own) {
            Some(node) => Cause::Peer {
                node: node.clone(),
                at,
            },
            None => Cause::Hand { loaded_at: at },
        }
    }
}

/// The peer that changed before all others, where that can be told.
fn first_of(mut peers: Vec<(i64, String)>) -> Option<String> {
    peers.sort();
    match peers.as_slice() {
        [(first, node), (second, _), ..] if first < second => Some(node.clone()),
        _ => None,
    }
}

/// What ProxySQL calls the checksum of a module that peers compare; that of servers is of what was loaded, without what
/// the monitor moved.
fn checksum_of(module: Module) -> Option<&'static str> {
    match module {
        Module::AdminVariables => Some("admin_variables"),
        Module::MysqlVariables => Some("mysql_variables"),
        Module::Servers => Some("mysql_servers_v2"),
        Module::QueryRules => Some("mysql_query_rules"),
        Module::Users => Some("mysql_users"),
        Module::Firewall => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_peer_can_be_the_first() {
        let peers = |times: &[i64]| {
            let peers = times.iter().enumerate();
            first_of(peers.map(|(n, time)| (*time, format!("n{n}"))).collect())
        };
        assert_eq!(peers(&[12, 11, 13]).as_deref(), Some("n1"));
        assert_eq!(peers(&[12, 12, 13]), None);
        assert_eq!(peers(&[12]), None);
        assert_eq!(peers(&[]), None);
    }
}
