//! Listeners, the monitor's account and engine variables.

use std::collections::BTreeMap;

use shardwright_rules::{EngineId, Listener, Monitor};
use shardwright_topology::model::{EngineFamily, Topology};

use super::user::password;
use crate::diagnostics::Diagnostics;

/// Variables that ProxySQL reads when it starts, and never again.
const SET_ONCE: [&str; 2] = ["mysql-threads", "mysql-stacksize"];

/// Settings that do not route.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    /// By name.
    pub listeners: Vec<Listener>,
    /// The account that watches servers.
    pub monitor: Option<Monitor>,
    /// Engine variables.
    pub variables: BTreeMap<String, String>,
}

/// Reads them; what the engine does differently is reported.
pub(super) fn globals(topology: &Topology, report: &mut Diagnostics<'_>) -> Globals {
    Globals {
        listeners: listeners(topology, report),
        monitor: monitor(topology, report),
        variables: variables(topology, report),
    }
}

fn listeners(topology: &Topology, report: &mut Diagnostics<'_>) -> Vec<Listener> {
    if let Some(first) = topology.listeners.first() {
        let what = match report.engine {
            EngineId::Bundled => {
                "a proxy opens the one port of `shardwright proxy --listen`: start one per listener, with its port"
            }
            EngineId::Proxysql27 | EngineId::Proxysql30 => {
                "ports are opened at start: a change takes effect after a restart"
            }
        };
        report.difference(first.origin, "", what);
    }
    let mut listeners: Vec<Listener> = topology
        .listeners
        .iter()
        .map(|listener| Listener {
            name: listener.name.to_string(),
            address: report.address(listener.origin),
            bind: listener.address.to_string(),
            port: listener.port,
        })
        .collect();
    listeners.sort_by(|a, b| a.name.cmp(&b.name));
    listeners
}

fn monitor(topology: &Topology, report: &mut Diagnostics<'_>) -> Option<Monitor> {
    let monitor = topology.monitor.as_ref()?;
    if report.engine == EngineId::Bundled {
        report.difference(
            monitor.origin,
            "",
            "servers are not monitored yet: the account is not used",
        );
    }
    Some(Monitor {
        address: report.address(monitor.origin),
        user: monitor.user.to_string(),
        password: password(&monitor.password.source, monitor.origin, report),
    })
}

fn variables(topology: &Topology, report: &mut Diagnostics<'_>) -> BTreeMap<String, String> {
    let family = match report.engine {
        EngineId::Bundled => EngineFamily::Bundled,
        EngineId::Proxysql27 | EngineId::Proxysql30 => EngineFamily::ProxySql,
    };
    let mut variables = BTreeMap::new();
    for settings in topology
        .engine_settings
        .iter()
        .filter(|settings| settings.family == family)
    {
        for (name, value) in &settings.values {
            if SET_ONCE.contains(&&**name) {
                let what = format!("{name} is read at start: a change takes effect after a restart");
                report.difference(settings.origin, name, what);
            }
            variables.insert(name.to_string(), value.to_string());
        }
    }
    variables
}
