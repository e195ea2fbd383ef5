//! Everything that one engine needs to route: the value that is compiled, compared, applied and run.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use shardwright_sql::DigestOptions;

use crate::digests;
use crate::{
    Body, Cluster, Decision, EngineId, EngineSettings, Firewall, Hostgroup, HostgroupId, Listener, Monitor,
    OnClientGone, RefusingHostgroup, RuleGraph, Step, User, Words,
};

/// The version of the serialized form of [`Configuration`]; raised when an old reader would misread a new value.
pub const FORMAT_VERSION: u32 = 1;

/// A complete configuration of one engine. Lists are sorted by their key, so equal configurations serialize to equal
/// bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// The engine that this configuration is for.
    pub engine: EngineId,
    /// Engine variables that change what rules mean.
    pub settings: EngineSettings,
    /// Engine variables that do not change what rules mean, as the engine writes them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Ports that clients connect to, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<Listener>,
    /// The account that watches servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Monitor>,
    /// Clusters, by name.
    pub clusters: Vec<Cluster>,
    /// Hostgroups, by id.
    pub hostgroups: Vec<Hostgroup>,
    /// Hostgroups that refuse what is sent to them, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusing: Vec<RefusingHostgroup>,
    /// Frontend users, by name.
    pub users: Vec<User>,
    /// Rules and fast routing.
    pub graph: RuleGraph,
    /// What users may send, by user; empty: everything. Otherwise every user is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub firewall: Vec<Firewall>,
}

/// The bundled engine's variable for statements whose clients have gone.
pub const ON_CLIENT_GONE: &str = "on_client_gone";

/// ProxySQL's variable for the schema of sessions that name none, of users without one.
const DEFAULT_SCHEMA: &str = "mysql-default_schema";

impl Configuration {
    /// A configuration that routes nothing: no user can log in.
    pub fn empty(engine: EngineId) -> Self {
        Self {
            format: FORMAT_VERSION,
            settings: engine.profile().default_settings(),
            engine,
            variables: BTreeMap::new(),
            listeners: Vec::new(),
            monitor: None,
            clusters: Vec::new(),
            hostgroups: Vec::new(),
            refusing: Vec::new(),
            users: Vec::new(),
            graph: RuleGraph::default(),
            firewall: Vec::new(),
        }
    }

    /// The cluster of this name.
    pub fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| &*cluster.name == name)
    }

    /// The cluster that owns a hostgroup.
    pub fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.owns(hostgroup))
    }

    /// A hostgroup as people know it: `shop writer (hostgroup 10)`; without a cluster, `hostgroup 10`.
    pub fn hostgroup_name(&self, id: HostgroupId) -> String {
        match self.cluster_of(id) {
            Some(cluster) => {
                let role = if cluster.writer == id { "writer" } else { "reader" };
                format!("{} {role} (hostgroup {id})", cluster.name)
            }
            None => format!("hostgroup {id}"),
        }
    }

    /// The hostgroup of this id.
    pub fn hostgroup(&self, id: HostgroupId) -> Option<&Hostgroup> {
        self.hostgroups.iter().find(|hostgroup| hostgroup.id == id)
    }

    /// The hostgroup of this id, where it is one that refuses.
    pub fn refusing(&self, id: HostgroupId) -> Option<&RefusingHostgroup> {
        self.refusing.iter().find(|hostgroup| hostgroup.id == id)
    }

    /// How many servers there are. A server that is in several hostgroups is one.
    pub fn server_count(&self) -> usize {
        let members = self.hostgroups.iter().flat_map(|hostgroup| &hostgroup.members);
        members.map(|member| &member.server).collect::<HashSet<_>>().len()
    }

    /// The step that says why a statement goes where it goes: the last one whose rule does more than end the evaluation.
    pub fn deciding_step<'d>(&self, decision: &'d Decision) -> Option<&'d Step> {
        decision
            .path
            .iter()
            .rev()
            .find(|step| !self.only_ends(step.rule_id))
    }

    /// Whether the rule of this id only ends the evaluation of every statement that gets to it.
    pub fn only_ends(&self, rule_id: u32) -> bool {
        let rules = &self.graph.rules;
        // Fast routing is no rule.
        let Ok(at) = rules.binary_search_by_key(&rule_id, |rule| rule.id) else {
            return false;
        };
        matches!(&rules[at].body, Body::Engine(row) if row.only_ends())
    }

    /// The user of this name.
    pub fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| user.name == name)
    }

    /// The schema of a session of this user that names none: the user's own, else the one that the engine is set to,
    /// else the one that the engine has when nothing is set.
    pub fn default_schema(&self, user: &str) -> Option<&str> {
        let own = self.user(user).and_then(|user| user.default_schema.as_deref());
        let of_engine = self.variables.get(DEFAULT_SCHEMA).map(String::as_str);
        own.filter(|schema| !schema.is_empty())
            .or(of_engine.filter(|schema| !schema.is_empty()))
            .or(self.engine.profile().default_schema)
    }

    /// What the bundled engine does with a statement whose client has gone.
    pub fn on_client_gone(&self) -> OnClientGone {
        let said = self.variables.get(ON_CLIENT_GONE).map(String::as_str);
        said.and_then(OnClientGone::of_word).unwrap_or_default()
    }

    /// How the engine makes digests; `None` where it makes none, so that conditions on them are skipped.
    pub fn digests(&self) -> Option<DigestOptions> {
        if !self.engine.is_proxysql() || self.variables.is_empty() {
            return Some(DigestOptions::DEFAULT);
        }
        digests::of_variables(&self.variables)
    }

    /// Whether statements are held against the firewall: lists of users switch it on.
    pub fn firewall_is_on(&self) -> bool {
        let value = self.variables.get("mysql-firewall_whitelist_enabled");
        !self.firewall.is_empty() || value.and_then(|value| digests::is_true(value)) == Some(true)
    }

    /// The canonical serialized form: compact JSON, the same bytes for equal values.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a configuration has string keys only, so JSON can hold it")
    }

    /// SHA-256 of [`Configuration::to_json`] in lower-case hexadecimal: the identity that plans and proxies compare.
    pub fn fingerprint(&self) -> String {
        fingerprint(self.to_json().as_bytes())
    }
}

/// The fingerprint of a configuration, by its serialized form.
pub fn fingerprint(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
