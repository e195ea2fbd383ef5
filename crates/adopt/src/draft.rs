//! A project in the making: what will be written, as values that can be changed before they are.

use std::collections::BTreeMap;

use shardwright_rules::{
    ClientTls, EngineId, EngineRule, EngineSettings, Failback, FastRoute, Firewall, HostgroupId, Listener,
    MemberStatus, ReadOnlyCheck, RefusingHostgroup, Role, RolesBy, SecretReference, ServerTls,
    WriterServesReads,
};
use shardwright_topology::SettingValue;

use crate::yaml::Field;

/// A project that is not written yet.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What the project is called: whom its rows on a proxy belong to.
    pub project: Option<String>,
    /// The engine that the rule set is of.
    pub engine: EngineId,
    /// Its settings.
    pub settings: EngineSettings,
    /// Where it runs, if it is live.
    pub target: Option<TargetDraft>,
    /// By name.
    pub clusters: Vec<ClusterDraft>,
    /// By name.
    pub users: Vec<UserDraft>,
    /// By name.
    pub listeners: Vec<Listener>,
    /// The account that watches servers.
    pub monitor: Option<MonitorDraft>,
    /// Variables of the engine.
    pub variables: BTreeMap<String, SettingValue>,
    /// Rules that stay in the engine's own columns, by id.
    pub rules: Vec<RuleDraft>,
    /// The first of them that comes behind the lifted objects; none where all come before.
    pub behind: Option<u32>,
    /// Routes among which the others stand, by the first rule that each says; empty where they come before all routes.
    pub among: BTreeMap<u32, String>,
    /// Whether throttles, pooling exceptions and time limits are set in front of those among routes.
    pub behind_effects: bool,
    /// Rows of fast routing that stay rows.
    pub routes: Vec<FastRoute>,
    /// Hostgroups that refuse, by number.
    pub refusing: Vec<RefusingHostgroup>,
    /// By user.
    pub firewall: Vec<Firewall>,
    /// Objects that rules were lifted to.
    pub objects: Vec<ObjectDraft>,
}

/// A proxy that the project is applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetDraft {
    /// Its name in the project.
    pub name: String,
    /// `host:port` of the admin port.
    pub admin: String,
    /// The admin account.
    pub user: String,
    /// Its password.
    pub password: SecretReference,
}

/// How the servers of a cluster relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterForm {
    /// One server.
    Single,
    /// Servers that are not told apart.
    Hostgroup,
    /// A writer and replicas.
    Replication(ReadOnlyCheck),
    /// Galera.
    Galera,
    /// MySQL group replication.
    GroupReplication,
}

/// The hostgroups of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hostgroups {
    /// Of writers.
    pub writer: HostgroupId,
    /// Of readers.
    pub reader: Option<HostgroupId>,
    /// Of servers that could write, and of those that are out.
    pub group: Option<(HostgroupId, HostgroupId)>,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterDraft {
    /// Its name.
    pub name: String,
    /// How its servers relate.
    pub form: ClusterForm,
    /// Its hostgroups.
    pub hostgroups: Hostgroups,
    /// What readers fall back to; no meaning without readers.
    pub writer_serves_reads: WriterServesReads,
    /// Who moves servers.
    pub roles_by: RolesBy,
    /// Whether a better writer takes over again.
    pub failback: Failback,
    /// Servers that write at once.
    pub writers: u32,
    /// Transactions that a server may be behind.
    pub max_transactions_behind: Option<u32>,
    /// Encryption towards the servers.
    pub tls: ServerTls,
    /// The most wanted writer first.
    pub servers: Vec<ServerDraft>,
}

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerDraft {
    /// Its name.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its share.
    pub weight: u32,
    /// Its share of reads, where that is another.
    pub read_weight: Option<u32>,
    /// Most connections.
    pub max_connections: u32,
    /// Lag past which it takes no reads; 0: not checked.
    pub max_replication_lag_s: u32,
    /// Whether it takes traffic.
    pub state: MemberStatus,
}

/// A user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserDraft {
    /// The name that it logs in with, by which rules and drafts of objects know it.
    pub name: String,
    /// Its name in the files.
    pub object: String,
    /// Where its password is; none for an empty one.
    pub password: Option<SecretReference>,
    /// Where statements go that nothing places.
    pub hostgroup: HostgroupId,
    /// Schema of sessions that name none.
    pub schema: Option<String>,
    /// Most sessions.
    pub max_connections: u32,
    /// Longest time of a statement, ms.
    pub statement_timeout_ms: Option<u32>,
    /// Whether transactions stay.
    pub transaction_persistent: bool,
    /// What its clients must do.
    pub tls: ClientTls,
}

/// The monitor's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorDraft {
    /// Its name.
    pub user: String,
    /// Where its password is; none for an empty one.
    pub password: Option<SecretReference>,
    /// A table of pt-heartbeat.
    pub heartbeat: Option<String>,
}

/// A rule in the engine's own columns.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleDraft {
    /// Its number.
    pub id: u32,
    /// The chain that it is part of.
    pub flag_in: u32,
    /// Whether the engine loads it.
    pub is_active: bool,
    /// Its columns.
    pub row: EngineRule,
    /// What stands above it.
    pub comment: Vec<String>,
}

/// An object that rules were lifted to.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectDraft {
    /// The keys above it: `["throttles"]`, `["pooling", "exceptions"]`.
    pub section: &'static [&'static str],
    /// Its name and its fields.
    pub field: Field,
}

impl ObjectDraft {
    /// `throttles.purge`
    pub fn address(&self) -> String {
        format!("{}.{}", self.section.join("."), self.field.key)
    }
}

impl Draft {
    /// The rules among which every statement begins.
    pub fn entry_rules(&self) -> impl Iterator<Item = &RuleDraft> {
        let rules = self.rules.iter();
        rules.filter(|rule| rule.is_active && rule.flag_in == 0)
    }

    /// The cluster and the role that a hostgroup has.
    pub fn place(&self, hostgroup: HostgroupId) -> Option<(&ClusterDraft, Role)> {
        self.clusters.iter().find_map(|cluster| {
            let role = if cluster.hostgroups.writer == hostgroup {
                Role::Writer
            } else if cluster.hostgroups.reader == Some(hostgroup) {
                Role::Reader
            } else {
                return None;
            };
            Some((cluster, role))
        })
    }

    /// The cluster of a user, with its role there.
    pub fn home(&self, user: &UserDraft) -> Option<(&ClusterDraft, Role)> {
        self.place(user.hostgroup)
    }
}
