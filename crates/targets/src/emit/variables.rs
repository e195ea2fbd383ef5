//! The variables of ProxySQL that a configuration sets.

use std::collections::BTreeMap;

use shardwright_rules::tables::NodeVariable;
use shardwright_rules::{Body, ClusterKind, Configuration, RegexEngine, WriterServesReads};

use crate::emit::rows::reference_text;

/// What ProxySQL takes for the lag of a replica whose replication has stopped, in seconds.
const LAG_WHEN_STOPPED_S: u32 = 60;
/// Variables that are read when ProxySQL starts, and set back by `LOAD MYSQL VARIABLES TO RUNTIME` after that.
pub(crate) const AT_START: [&str; 3] = ["mysql-interfaces", "mysql-threads", "mysql-stacksize"];
/// Loading it closes the port that reads the script.
const ADMIN_PORT: &str = "admin-mysql_ifaces";

/// Whether the variable belongs to the node, so that nothing sets it from outside.
fn is_left_to_node(name: &str) -> bool {
    NodeVariable::of(name).is_some_and(NodeVariable::is_left_alone)
}
/// The variables that switch the firewall on and give its message.
pub(crate) const FIREWALL_ENABLED: &str = "mysql-firewall_whitelist_enabled";
pub(crate) const FIREWALL_MESSAGE: &str = "mysql-firewall_whitelist_errormsg";
pub(crate) const HEARTBEAT: &str = "mysql-monitor_replication_lag_use_percona_heartbeat";
pub(crate) const MONITOR_PASSWORD: &str = "mysql-monitor_password";

/// Variables with their values.
pub(crate) struct Variables {
    /// What a reader of the script has to do first.
    pub(crate) notes: Vec<String>,
    /// Those that take effect when they are loaded.
    pub(crate) live: Vec<(String, String)>,
    /// Those that take effect when ProxySQL starts.
    pub(crate) at_start: Vec<(String, String)>,
    /// Those that belong to the node: a file for its first start has them, and nothing sets them later.
    pub(crate) of_node: Vec<(String, String)>,
}

impl Variables {
    fn new(notes: Vec<String>, all: impl IntoIterator<Item = (String, String)>) -> Self {
        let (of_node, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(name, _)| is_left_to_node(name));
        let (at_start, live) = others.into_iter().partition(|(name, _)| is_at_start(name));
        Self {
            notes,
            live,
            at_start,
            of_node,
        }
    }
}

/// What is said of a variable that belongs to the node.
pub(crate) fn left_to_node(name: &str) -> String {
    format!("{name} stays as it is: it belongs to the node.")
}

/// Whether a variable is read when ProxySQL starts, and set back by a load after that.
pub(crate) fn is_at_start(name: &str) -> bool {
    AT_START.contains(&name)
}

/// The variables that rules were compiled for, and those that the project writes.
pub(crate) fn variables(configuration: &Configuration) -> Variables {
    let mut all: Vec<(String, String)> = compiled(configuration)
        .into_iter()
        .map(|(name, value)| (format!("mysql-{name}"), value))
        .collect();
    let mut notes = Vec::new();
    if let Some(monitor) = &configuration.monitor {
        all.push(("mysql-monitor_username".to_owned(), monitor.user.clone()));
        if let Some(table) = &monitor.heartbeat {
            all.push((HEARTBEAT.to_owned(), table.clone()));
        }
        match &monitor.password {
            // A placeholder would make the monitor take every server for broken.
            Some(reference) => notes.push(format!(
                "Set {MONITOR_PASSWORD} to {} first: a script holds no passwords.",
                reference_text(reference)
            )),
            None => all.push((MONITOR_PASSWORD.to_owned(), String::new())),
        }
    }
    if !configuration.listeners.is_empty() {
        let listeners = configuration.listeners.iter();
        let interfaces: Vec<String> = listeners
            .map(|listener| match listener.bind.contains(':') {
                _ if listener.is_socket() => listener.bind.clone(),
                true => format!("[{}]:{}", listener.bind, listener.port),
                false => format!("{}:{}", listener.bind, listener.port),
            })
            .collect();
        all.push(("mysql-interfaces".to_owned(), interfaces.join(";")));
        // The compiler has seen to it that all listeners have the same.
        let mut listeners = configuration.listeners.iter();
        if let Some(trusting) = listeners.find(|listener| !listener.proxy_protocol.is_empty()) {
            let networks = trusting.proxy_protocol.join(",");
            all.push(("mysql-proxy_protocol_networks".to_owned(), networks));
        }
    }
    let written = configuration.variables.iter();
    all.extend(written.map(|(name, value)| (name.clone(), value.clone())));
    Variables::new(notes, all)
}

/// The names of the variables that a script for this configuration sets, or that its reader is asked to set.
pub fn written(configuration: &Configuration) -> Vec<String> {
    let Variables { live, at_start, .. } = variables(configuration);
    let mut names: Vec<String> = live.into_iter().chain(at_start).map(|(name, _)| name).collect();
    if configuration.monitor.is_some() {
        names.push(MONITOR_PASSWORD.to_owned());
    }
    if !configuration.firewall.is_empty() {
        names.extend([FIREWALL_ENABLED, FIREWALL_MESSAGE].map(str::to_owned));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The variables that an earlier script may have set and that this configuration does not, with their defaults.
pub(crate) fn reset(configuration: &Configuration, defaults: &BTreeMap<String, String>) -> Variables {
    let written = written(configuration);
    let mut notes = Vec::new();
    let mut all = Vec::new();
    for (name, default) in defaults.iter().filter(|(name, _)| !written.contains(name)) {
        if is_left_to_node(name) && name != ADMIN_PORT {
            notes.push(left_to_node(name));
            continue;
        }
        if name == ADMIN_PORT {
            notes.push(format!(
                "{name} stays as it is: loading its default, {default}, would close the admin port in use."
            ));
            continue;
        }
        if is_at_start(name) {
            notes.push(format!(
                "{name} is {default} again, its default, when ProxySQL starts next."
            ));
        }
        all.push((name.clone(), default.clone()));
    }
    Variables::new(notes, all)
}

/// The variables that change what rules mean, with the values that they were compiled for.
fn compiled(configuration: &Configuration) -> Vec<(&'static str, String)> {
    let settings = &configuration.settings;
    let regex = match settings.regex {
        RegexEngine::Pcre => "1",
        RegexEngine::Re2 => "2",
    };
    let mut variables = vec![
        (
            "query_processor_iterations",
            settings.query_processor_iterations.to_string(),
        ),
        ("query_processor_regex", regex.to_owned()),
    ];
    let reads_digests = configuration.graph.rules.iter().any(|rule| match &rule.body {
        Body::Engine(engine) => engine.digest.is_some() || engine.match_digest.is_some(),
        Body::Native { .. } => false,
    });
    if reads_digests || !configuration.firewall.is_empty() {
        // Without digests the conditions on them are skipped, and their rules match everything.
        variables.push(("query_digests", "true".to_owned()));
        for normalisation in [
            "query_digests_lowercase",
            "query_digests_replace_null",
            "query_digests_no_digits",
            "query_digests_keep_comment",
        ] {
            variables.push((normalisation, "false".to_owned()));
        }
    }
    let mut replicated = configuration
        .clusters
        .iter()
        .filter(|cluster| {
            matches!(cluster.kind, ClusterKind::Replication { .. }) && cluster.roles_by.is_engine()
        })
        .peekable();
    if replicated.peek().is_some() {
        // One switch for all clusters: it is off only where no writer may answer reads.
        let also = replicated.any(|cluster| cluster.writer_serves_reads != WriterServesReads::Never);
        variables.push(("monitor_writer_is_also_reader", also.to_string()));
    }
    let members = configuration
        .hostgroups
        .iter()
        .flat_map(|hostgroup| &hostgroup.members);
    let most_lag = members
        .map(|member| member.max_replication_lag_s)
        .max()
        .unwrap_or(0);
    if most_lag >= LAG_WHEN_STOPPED_S {
        // A replica whose replication has stopped counts as this far behind, and must be beyond every limit.
        variables.push(("monitor_slave_lag_when_null", (most_lag + 1).to_string()));
    }
    variables
}
