//! The peers in a ProxySQL Cluster: whether somebody applies to one of them, and whether they follow.
//!
//! A node looks at the checksums of its peers (`stats_proxysql_servers_checksums`), and takes over what another node has
//! loaded later. So one node is applied to, and the others are waited for. The table lists the node itself too.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use shardwright_plan::ApplyError;

use super::journal::unfinished;
use super::mark::Lease;
use super::module::Module;
use super::session::{AdminSession, Layer, SessionError};
use crate::admin::{AdminAddress, reason};

/// What peers may take besides the checks that their settings ask for.
const GRACE: Duration = Duration::from_secs(10);
/// The longest that peers are waited for, whatever their settings say.
const LONGEST: Duration = Duration::from_secs(300);

/// How far the clocks of nodes may be apart.
const SKEW: Duration = Duration::from_secs(5);
/// How often it is asked whether a second is over.
const TICK: Duration = Duration::from_millis(50);

const ADDRESSES: &str = "SELECT hostname, port FROM runtime_proxysql_servers";
const SETTINGS: &str = "SELECT variable_name, variable_value FROM runtime_global_variables WHERE variable_name LIKE \
                        'admin-cluster%' AND variable_name NOT LIKE '%password'";

/// Why nothing may be applied now: somebody applies to a peer, or a peer does not say. Whoever applies takes the lease of its
/// own node first, so of two that begin at a time at least one sees the other. A peer that is not there cannot be asked; it
/// does not follow either.
pub(super) fn in_the_way(
    session: &mut AdminSession,
    own: &Lease,
    connect: impl Fn(&AdminAddress) -> mysql::Result<AdminSession>,
) -> Result<Option<ApplyError>, SessionError> {
    for row in session.texts(ADDRESSES)? {
        let [Some(host), Some(port)] = row.as_slice() else {
            continue;
        };
        let Some(address) = AdminAddress::parse(&format!("{}:{port}", bracketed(host))) else {
            continue;
        };
        let held = match connect(&address) {
            Ok(mut peer) => lease_of(&mut peer).map_err(|error| error.to_string()),
            Err(error @ mysql::Error::MySqlError(_)) => Err(reason(&error)),
            Err(_) => continue,
        };
        match held {
            Ok(Some(lease)) if lease.run != own.run => {
                return Ok(Some(ApplyError::Contended(format!(
                    "{lease}, has not ended on its peer {address}: {}",
                    unfinished(&lease.run)
                ))));
            }
            Ok(_) => {}
            Err(reason) => {
                return Ok(Some(ApplyError::Blocked(format!(
                    "its peer {address} cannot be asked whether somebody applies there: {reason}; give the account of this \
                     target access to every node of the cluster"
                ))));
            }
        }
    }
    Ok(None)
}

fn bracketed(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}

fn lease_of(peer: &mut AdminSession) -> Result<Option<Lease>, SessionError> {
    let name = Lease::name();
    let rows = peer.rows_of(name.table, Layer::Memory, &[&name])?;
    Ok(rows.get(&name).and_then(Lease::read))
}

/// Waits until what is loaded of a module now is newer than what this node and its peers run. They tell that by the second: of
/// two loads within one, peers that have taken over the first do not see the second. Where clocks are further apart, the
/// peers that do not follow are named later.
pub(super) fn wait_for_newer(session: &mut AdminSession, module: Module) -> Result<(), SessionError> {
    let Some(name) = module.checksum() else {
        return Ok(());
    };
    let query = format!(
        "SELECT COUNT(*) FROM (SELECT epoch FROM runtime_checksums_values WHERE name = '{name}' UNION ALL SELECT epoch FROM \
         stats_proxysql_servers_checksums WHERE name = '{name}') WHERE epoch >= CAST(strftime('%s', 'now') AS INTEGER) AND \
         EXISTS (SELECT 1 FROM runtime_proxysql_servers)"
    );
    let begun = Instant::now();
    while begun.elapsed() < SKEW {
        let newer = session.texts(&query)?;
        if newer.into_iter().flatten().flatten().next().as_deref() == Some("0") {
            break;
        }
        thread::sleep(TICK);
    }
    Ok(())
}

/// The peers that do not run the same as this node in these modules, when they have had the time to follow; each with what
/// it does not follow in.
pub(super) fn behind(
    session: &mut AdminSession,
    modules: &BTreeSet<Module>,
) -> Result<Vec<String>, SessionError> {
    let begun = Instant::now();
    let mut others = differing(session, modules)?;
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let settings = Settings::read(session)?;
    let followed: BTreeSet<Module> = modules
        .iter()
        .copied()
        .filter(|module| settings.follows(*module))
        .collect();
    loop {
        others = differing(session, &followed)?;
        if others.is_empty() || begun.elapsed() >= settings.patience() {
            break;
        }
        thread::sleep(
            settings
                .interval
                .clamp(Duration::from_millis(50), Duration::from_secs(1)),
        );
    }
    let said = others.into_iter();
    Ok(said
        .map(|(peer, names)| format!("{peer} does not follow in {}", names.join(", ")))
        .collect())
}

/// The peers whose checksums of these modules are others than this node's.
fn differing(
    session: &mut AdminSession,
    modules: &BTreeSet<Module>,
) -> Result<BTreeMap<String, Vec<String>>, SessionError> {
    let names: Vec<String> = modules
        .iter()
        .filter_map(|module| module.checksum())
        .map(|name| format!("'{name}'"))
        .collect();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if names.is_empty() {
        return Ok(found);
    }
    let query = format!(
        "SELECT peer.hostname, peer.port, own.name FROM runtime_proxysql_servers peer JOIN runtime_checksums_values own \
         LEFT JOIN stats_proxysql_servers_checksums known ON known.hostname = peer.hostname AND known.port = peer.port \
         AND known.name = own.name WHERE own.name IN ({}) AND known.checksum IS NOT own.checksum ORDER BY 1, 2, 3",
        names.join(", ")
    );
    for row in session.texts(&query)? {
        if let [Some(host), Some(port), Some(name)] = row.as_slice() {
            let peer = format!("{}:{port}", bracketed(host));
            found.entry(peer).or_default().push(name.clone());
        }
    }
    Ok(found)
}

/// What the node says of its cluster.
struct Settings {
    values: BTreeMap<String, String>,
    interval: Duration,
}

impl Settings {
    fn read(session: &mut AdminSession) -> Result<Self, SessionError> {
        let rows = session.texts(SETTINGS)?.into_iter();
        let values: BTreeMap<String, String> = rows
            .filter_map(|row| match row.as_slice() {
                [Some(name), Some(value)] => Some((name.clone(), value.clone())),
                _ => None,
            })
            .collect();
        let interval = values.get("admin-cluster_check_interval_ms");
        let interval = interval.and_then(|text| text.parse().ok()).unwrap_or(1_000);
        Ok(Self {
            values,
            interval: Duration::from_millis(interval),
        })
    }

    /// Whether nodes of this cluster take a module over at all.
    fn follows(&self, module: Module) -> bool {
        let has_account = self
            .values
            .get("admin-cluster_username")
            .is_some_and(|name| !name.is_empty());
        has_account && self.checks(module) > 0
    }

    /// How many checks find another checksum before a node takes it over; 0: it never does.
    fn checks(&self, module: Module) -> u32 {
        let name = match module {
            Module::Servers => "mysql_servers",
            other => other.checksum().unwrap_or_default(),
        };
        let checks = self
            .values
            .get(&format!("admin-cluster_{name}_diffs_before_sync"));
        checks.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// How long the peers have, twice what their settings ask for: checks until they take over, and one until we know.
    fn patience(&self) -> Duration {
        let checks = Module::ALL.into_iter().map(|module| self.checks(module)).max();
        let asked = self.interval.saturating_mul(2 * (checks.unwrap_or_default() + 2));
        (asked + GRACE).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)], interval_ms: u64) -> Settings {
        let values = values
            .iter()
            .map(|(name, value)| (format!("admin-cluster_{name}"), (*value).to_owned()));
        Settings {
            values: values.collect(),
            interval: Duration::from_millis(interval_ms),
        }
    }

    #[test]
    fn a_module_without_checks_or_a_cluster_without_an_account_is_not_waited_for() {
        let checks = [
            ("username", "peer"),
            ("mysql_users_diffs_before_sync", "3"),
            ("mysql_servers_diffs_before_sync", "0"),
        ];
        let cluster = settings(&checks, 1_000);
        assert!(cluster.follows(Module::Users));
        assert!(!cluster.follows(Module::Servers));
        assert!(!cluster.follows(Module::Firewall));
        assert!(!settings(&checks[1..], 1_000).follows(Module::Users));
        assert_eq!(cluster.patience(), Duration::from_secs(20));
        assert_eq!(settings(&checks, 300_000).patience(), LONGEST);
    }
}
