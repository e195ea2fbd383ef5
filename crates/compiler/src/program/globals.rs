//! Listeners, the monitor's account and engine variables.

use std::collections::BTreeMap;

use shardwright_rules::tables::NodeVariable;
use shardwright_rules::{EngineId, Listener, Monitor, ON_CLIENT_GONE, OnClientGone, Words};
use shardwright_topology::model::{EngineFamily, Topology};

use super::user::password;
use crate::diagnostics::{Diagnostics, UNSUPPORTED};

/// Variables that ProxySQL reads when it starts, and never again.
const SET_ONCE: [&str; 2] = ["mysql-threads", "mysql-stacksize"];

/// ProxySQL's variable for statements whose clients have gone.
const KILLS_WHEN_CLIENT_GONE: &str = "mysql-kill_backend_connection_when_disconnect";

/// Settings that do not route.
#[derive(Clone, Debug, Default)]
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
    if report.engine != EngineId::Bundled {
        differences(topology, report);
    }
    let mut listeners: Vec<Listener> = topology
        .listeners
        .iter()
        .map(|listener| Listener {
            name: listener.name.to_string(),
            address: report.address(listener.origin),
            bind: listener.address.to_string(),
            port: listener.port.unwrap_or(0),
            mode: listener.mode.as_deref().map(str::to_owned),
            proxy_protocol: listener.proxy_protocol.iter().map(ToString::to_string).collect(),
        })
        .collect();
    listeners.sort_by(|a, b| a.name.cmp(&b.name));
    listeners
}

/// What ProxySQL does differently with listeners.
fn differences(topology: &Topology, report: &mut Diagnostics<'_>) {
    if let Some(first) = topology.listeners.first() {
        let what = "ports are opened at start: a change takes effect after a restart";
        report.difference(first.origin, "", what);
    }
    let first = topology.listeners.iter().find(|listener| listener.port.is_some());
    for listener in topology.listeners.iter() {
        if listener.mode.is_some() {
            let what = "everybody may connect to a unix socket: `mode` has no effect";
            report.difference(listener.origin, "mode", what);
        }
        // The variable is one for all ports.
        if let Some(first) = first
            && listener.port.is_some()
            && listener.proxy_protocol != first.proxy_protocol
        {
            let message = format!(
                "{} trusts the same networks on every port: `proxy_protocol` must be that of `{}`",
                report.engine, first.name
            );
            report.error(UNSUPPORTED, listener.origin, "proxy_protocol", &message);
        }
    }
    if let Some(trusting) = topology
        .listeners
        .iter()
        .find(|listener| !listener.proxy_protocol.is_empty())
    {
        let what = "only version 1 of the PROXY protocol is read, and a connection from these networks need not begin with it";
        report.difference(trusting.origin, "proxy_protocol", what);
    }
}

fn monitor(topology: &Topology, report: &mut Diagnostics<'_>) -> Option<Monitor> {
    let monitor = topology.monitor.as_ref()?;
    if monitor.heartbeat.is_some() && report.engine != EngineId::Bundled {
        let what = "heartbeats are compared with the local time of each replica, so servers must run in UTC, and the oldest row of the table counts: delete those of former sources";
        report.difference(monitor.origin, "heartbeat", what);
    }
    Some(Monitor {
        address: report.address(monitor.origin),
        user: monitor.user.to_string(),
        password: password(&monitor.password.source, monitor.origin, report),
        heartbeat: monitor.heartbeat.as_deref().map(str::to_owned),
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
            if NodeVariable::of(name).is_some_and(NodeVariable::is_left_alone) {
                let what = format!(
                    "{name} belongs to the node: hostgroups that refuse lead there, and a plan leaves it as it is"
                );
                report.difference(settings.origin, name, what);
            }
            variables.insert(name.to_string(), value.to_string());
        }
    }
    variables.extend(on_client_gone(topology, report));
    variables
}

/// The variable for statements whose clients have gone, where it is not left to the engine.
fn on_client_gone(topology: &Topology, report: &mut Diagnostics<'_>) -> Option<(String, String)> {
    let pooling = topology.pooling.as_ref()?;
    let wanted = pooling.on_client_gone?;
    if report.engine == EngineId::Bundled {
        return Some((ON_CLIENT_GONE.to_owned(), wanted.word().to_owned()));
    }
    let kills = match wanted {
        OnClientGone::Finish => "false",
        OnClientGone::Kill => "true",
        OnClientGone::KillReads => {
            let what = format!("{} kills writes as well", report.engine);
            report.difference(pooling.origin, "on_client_gone", what);
            "true"
        }
    };
    Some((KILLS_WHEN_CLIENT_GONE.to_owned(), kills.to_owned()))
}
