//! Whether a configuration can be run by this proxy: everything that is wrong with it, by address.

use std::collections::HashSet;
use std::fmt;

use shardwright_rules::{
    Body, BrokenPattern, ClientTls, Configuration, EngineId, EngineRule, FORMAT_VERSION, Hostgroup,
    HostgroupId, MapStep, NativeStep, Rule, ServerTls, User,
};

use crate::tls::TlsFiles;

const MAX_JSON: usize = 256 << 20;
const MAX_RULES: usize = 1_000_000;
const MAX_USERS: usize = 100_000;
const MAX_HOSTGROUPS: usize = 200_000;
const MAX_MEMBERS: usize = 1_000;
/// Longest user name of MariaDB; MySQL's is 32.
const MAX_USER_NAME: usize = 128;
const MAX_HOST: usize = 255;

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) address: String,
    pub(crate) reason: String,
}

impl Problem {
    pub(crate) fn new(address: &str, reason: impl Into<String>) -> Self {
        Self {
            address: address.to_owned(),
            reason: reason.into(),
        }
    }

    pub(crate) fn of_pattern(broken: &BrokenPattern<'_>) -> Self {
        let column = broken.column.name();
        Self::new(
            broken.address.as_str(),
            format!("rule {}: {column}: {}", broken.rule_id, broken.error),
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.address, self.reason)
    }
}

/// Reads a serialized configuration.
pub(crate) fn parse(json: &str) -> Result<Configuration, Problem> {
    let problem = |reason: String| Err(Problem::new("configuration", reason));
    if json.len() > MAX_JSON {
        return problem(format!("it is larger than {MAX_JSON} bytes"));
    }
    #[derive(serde::Deserialize)]
    struct Head {
        format: u32,
        engine: String,
    }
    let head: Head = match serde_json::from_str(json) {
        Ok(head) => head,
        Err(error) => return problem(format!("it is not a configuration: {error}")),
    };
    if head.format != FORMAT_VERSION {
        return problem(format!(
            "format {} is not supported, only {FORMAT_VERSION}",
            head.format
        ));
    }
    if head.engine != EngineId::Bundled.name() {
        return problem(format!(
            "it is for engine {}, not for {}",
            head.engine,
            EngineId::Bundled
        ));
    }
    serde_json::from_str(json).or_else(|error| problem(format!("it is not a configuration: {error}")))
}

/// Which certificates the proxy was started with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Certificates {
    for_clients: bool,
    of_clients: bool,
    of_servers: bool,
}

impl Certificates {
    pub(crate) fn of(files: &TlsFiles) -> Self {
        Self {
            for_clients: files.certificate.is_some(),
            of_clients: files.client_ca.is_some(),
            of_servers: files.server_ca.is_some(),
        }
    }
}

/// Everything wrong that can be seen without compiling patterns and resolving secrets.
pub(crate) fn problems(configuration: &Configuration, certificates: Certificates) -> Vec<Problem> {
    let mut check = Check {
        configuration,
        certificates,
        hostgroups: configuration
            .hostgroups
            .iter()
            .map(|hostgroup| hostgroup.id)
            .collect(),
        clusters: configuration
            .clusters
            .iter()
            .map(|cluster| &*cluster.name)
            .collect(),
        problems: Vec::new(),
    };
    check.sizes();
    check.clusters();
    check.hostgroups();
    check.users();
    check.rules();
    check.fast_routing();
    check.problems
}

struct Check<'a> {
    configuration: &'a Configuration,
    certificates: Certificates,
    hostgroups: HashSet<HostgroupId>,
    clusters: HashSet<&'a str>,
    problems: Vec<Problem>,
}

impl<'a> Check<'a> {
    fn problem(&mut self, address: impl fmt::Display, reason: impl Into<String>) {
        self.problems.push(Problem::new(&address.to_string(), reason));
    }

    /// Each key is greater than the one before: in order, and none twice.
    fn ascending<T, K: Ord + fmt::Display>(
        &mut self,
        what: &str,
        items: &'a [T],
        address: impl Fn(&T) -> &str,
        key: impl Fn(&'a T) -> K,
    ) {
        for pair in items.windows(2) {
            let (before, after) = (key(&pair[0]), key(&pair[1]));
            if before == after {
                self.problem(address(&pair[1]), format!("{what} {after} appears twice"));
            } else if before > after {
                self.problem(
                    address(&pair[1]),
                    format!("{what} {after} comes after {what} {before}"),
                );
            }
        }
    }

    fn is_dangling(&mut self, address: &str, what: &str, hostgroup: HostgroupId) {
        if !self.hostgroups.contains(&hostgroup) {
            self.problem(address, format!("{what} {hostgroup} does not exist"));
        }
    }

    fn sizes(&mut self) {
        let configuration = self.configuration;
        for (what, len, limit) in [
            ("rules", configuration.graph.rules.len(), MAX_RULES),
            (
                "fast routing rows",
                configuration.graph.fast_routing.len(),
                MAX_RULES,
            ),
            ("users", configuration.users.len(), MAX_USERS),
            ("hostgroups", configuration.hostgroups.len(), MAX_HOSTGROUPS),
            ("clusters", configuration.clusters.len(), MAX_HOSTGROUPS),
        ] {
            if len > limit {
                self.problem(
                    "configuration",
                    format!("there are {len} {what}, more than the limit of {limit}"),
                );
            }
        }
    }

    fn clusters(&mut self) {
        let clusters = &self.configuration.clusters;
        self.ascending(
            "cluster",
            clusters,
            |cluster| cluster.address.as_str(),
            |cluster| &*cluster.name,
        );
        let mut owned = HashSet::new();
        for cluster in clusters {
            for hostgroup in [Some(cluster.writer), cluster.reader].into_iter().flatten() {
                self.is_dangling(cluster.address.as_str(), "hostgroup", hostgroup);
                if !owned.insert(hostgroup) {
                    self.problem(
                        &cluster.address,
                        format!("hostgroup {hostgroup} belongs to two clusters or roles"),
                    );
                }
            }
        }
    }

    fn hostgroups(&mut self) {
        let hostgroups = &self.configuration.hostgroups;
        self.ascending(
            "hostgroup",
            hostgroups,
            |hostgroup| hostgroup.cluster.as_str(),
            |hostgroup| hostgroup.id,
        );
        for hostgroup in hostgroups {
            if hostgroup.members.len() > MAX_MEMBERS {
                self.problem(
                    &hostgroup.cluster,
                    format!("hostgroup {} has more than {MAX_MEMBERS} members", hostgroup.id),
                );
            }
            self.members(hostgroup);
        }
    }

    fn members(&mut self, hostgroup: &'a Hostgroup) {
        let mut places = HashSet::new();
        for member in &hostgroup.members {
            let address = &member.server;
            if member.host.is_empty() || member.host.len() > MAX_HOST || member.host.contains('\0') {
                self.problem(address, "the host is empty or not a host name");
            }
            if member.max_connections == 0 {
                self.problem(address, "max_connections is 0: nothing could be sent to it");
            }
            if member.tls == ServerTls::Verify && !self.certificates.of_servers {
                let reason = "its certificate is to be checked: start the proxy with --tls-server-ca";
                self.problem(address, reason);
            }
            if member.tier > 1 {
                self.problem(address, format!("tier {} is neither 0 nor 1", member.tier));
            }
            if !places.insert((&member.host, member.port)) {
                self.problem(
                    address,
                    format!(
                        "{}:{} is in hostgroup {} twice",
                        member.host, member.port, hostgroup.id
                    ),
                );
            }
        }
    }

    fn users(&mut self) {
        let users = &self.configuration.users;
        self.ascending(
            "user",
            users,
            |user| user.address.as_str(),
            |user| user.name.as_str(),
        );
        for user in users {
            self.user(user);
        }
    }

    fn user(&mut self, user: &User) {
        self.is_dangling(user.address.as_str(), "default_hostgroup", user.default_hostgroup);
        if user.name.is_empty() || user.name.len() > MAX_USER_NAME || user.name.contains('\0') {
            self.problem(
                &user.address,
                format!("a user name has 1 to {MAX_USER_NAME} bytes and no NUL"),
            );
        }
        let needed = match user.tls {
            ClientTls::Certificate if !self.certificates.of_clients => Some("--tls-client-ca"),
            ClientTls::Required if !self.certificates.for_clients => Some("--tls-cert and --tls-key"),
            ClientTls::Optional | ClientTls::Required | ClientTls::Certificate => None,
        };
        if let Some(options) = needed {
            let reason = format!("the user could not log in with TLS: start the proxy with {options}");
            self.problem(&user.address, reason);
        }
        if user.max_connections == 0 {
            self.problem(&user.address, "max_connections is 0: the user could not log in");
        }
    }

    fn rules(&mut self) {
        let rules = &self.configuration.graph.rules;
        self.ascending("rule", rules, |rule| rule.address.as_str(), |rule| rule.id);
        let highest = self.configuration.engine.profile().max_rule_id;
        for rule in rules {
            if rule.id > highest {
                self.problem(
                    &rule.address,
                    format!("rule {} is past the highest id, {highest}", rule.id),
                );
            }
            match &rule.body {
                Body::Engine(row) => self.engine_rule(rule, row),
                Body::Native { step, .. } => {
                    if let NativeStep::Map(map) = step {
                        self.map(rule, map);
                    }
                }
            }
        }
    }

    fn engine_rule(&mut self, rule: &Rule, row: &EngineRule) {
        let address = rule.address.as_str();
        if let Some(hostgroup) = row.destination_hostgroup {
            self.is_dangling(address, "destination_hostgroup", HostgroupId(hostgroup));
        }
        for lacking in EngineId::Bundled.profile().lacks(row) {
            let column = lacking.column.name();
            self.problem(
                address,
                format!("rule {}: {column} has no effect in this proxy", rule.id),
            );
        }
    }

    fn map(&mut self, rule: &Rule, map: &MapStep) {
        let shards = map
            .shards
            .iter()
            .filter_map(|shard| Some((&shard.address, shard.cluster.as_deref()?)));
        for (address, cluster) in shards {
            if !self.clusters.contains(cluster) {
                self.problem(address, format!("cluster {cluster} does not exist"));
            }
        }
        for cluster in map.clusters_elsewhere() {
            if !self.clusters.contains(cluster) {
                self.problem(&rule.address, format!("cluster {cluster} does not exist"));
            }
        }
        if map
            .remainder
            .as_ref()
            .is_some_and(|remainder| remainder.modulo == 0)
        {
            self.problem(&rule.address, "a remainder by 0");
        }
    }

    fn fast_routing(&mut self) {
        let mut seen = HashSet::new();
        for row in &self.configuration.graph.fast_routing {
            self.is_dangling(row.address.as_str(), "hostgroup", row.hostgroup);
            if !seen.insert((&row.username, &row.schemaname, row.flag_in)) {
                self.problem(
                    &row.address,
                    format!(
                        "a second row of fast routing for user {:?}, schema {:?}, flag {}",
                        row.username, row.schemaname, row.flag_in
                    ),
                );
            }
        }
    }
}
