//! One generation, ready to run: a configuration with its routing, its users' credentials and its running members.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_rules::roles::WatchedCluster;
use shardwright_rules::{
    Body, Configuration, EngineId, Evaluator, Finder, HostgroupId, MapStep, Member, MemberStatus, Names,
    NativeStep, OnClientGone, Scope, User,
};
use shardwright_sql::Servers;
use shardwright_wire::{CapabilityFlags, ClientSecret, MariadbCapabilities};

use crate::causal::CausalClusters;
use crate::hostgroup_members::{HostgroupMember, HostgroupMembers};
use crate::knowledge::Knowledge;
use crate::members::{MemberRegistry, MemberRuntime};
use crate::secrets::Credentials;
use crate::store::Generation;
use crate::throttles::Gates;
use crate::validate::{self, Certificates, Problem};

/// What decides statements.
pub(crate) type Router = shardwright_routing::RoutingTable;

/// A user that clients log in as.
#[derive(Debug)]
pub(crate) struct UserEntry {
    pub(crate) name: Arc<str>,
    /// Where it stands in [`Configuration::users`].
    pub(crate) position: u32,
    pub(crate) user: User,
    /// `None`: the secret cannot be resolved, so nobody gets in.
    pub(crate) credentials: Option<Credentials>,
}

/// The account that watches servers.
pub(crate) struct MonitorAccount {
    pub(crate) user: Arc<str>,
    pub(crate) secret: ClientSecret,
}

impl std::fmt::Debug for MonitorAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MonitorAccount")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// An immutable generation; published by one swap of a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// 0: nothing was ever applied.
    pub(crate) generation: i64,
    /// Empty for generation 0.
    pub(crate) fingerprint: String,
    /// Whose configuration it is; `None` where the project has no name.
    pub(crate) project: Option<String>,
    /// The serialized configuration; empty for generation 0.
    pub(crate) json: String,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) router: Arc<Router>,
    pub(crate) users: FxHashMap<Arc<str>, Arc<UserEntry>>,
    pub(crate) hostgroups: Arc<FxHashMap<HostgroupId, HostgroupMembers>>,
    /// Schemas that clients name and no server has: shard maps place by schemas of other names.
    /// Names, and the users to whom they stand for what shards hold.
    logical_schemas: FxHashMap<String, Vec<Names>>,
    /// The users that each shard map applies to.
    users_of_maps: Vec<Names>,
    /// Hostgroups that rules written by hand send statements to.
    rule_destinations: BTreeSet<HostgroupId>,
    /// A decision depends on the time since the session's last write.
    pub(crate) is_time_dependent: bool,
    /// A shard map looks for keys in columns: the values of an execution can place it.
    pub(crate) binds_keys: bool,
    /// What becomes of a statement whose client has gone.
    pub(crate) on_client_gone: OnClientGone,
    /// The account that watches servers, with its secret; `None`: there is none, or its secret cannot be resolved.
    pub(crate) monitor: Option<Arc<MonitorAccount>>,
    /// Throttles that statements pass.
    pub(crate) gates: Gates,
    /// The clusters whose readers wait for what a session has written.
    pub(crate) causal: CausalClusters,
}

/// What a snapshot is made with.
pub(crate) struct BuildContext<'a> {
    pub(crate) members: &'a MemberRegistry,
    /// What monitors know: servers keep the roles that they have.
    pub(crate) knowledge: &'a Knowledge,
    pub(crate) allow_secret_commands: bool,
    pub(crate) certificates: Certificates,
    /// What is served: its users may have shown what their secrets do not say.
    pub(crate) served: Option<&'a Snapshot>,
}

impl Snapshot {
    /// The generation before the first: nobody can log in.
    pub(crate) fn empty() -> Self {
        let configuration = Arc::new(Configuration::empty(EngineId::Bundled));
        Self {
            generation: 0,
            fingerprint: String::new(),
            project: None,
            json: String::new(),
            router: Arc::new(Router::new(configuration.clone())),
            configuration,
            users: FxHashMap::default(),
            hostgroups: Arc::default(),
            logical_schemas: FxHashMap::default(),
            users_of_maps: Vec::new(),
            rule_destinations: BTreeSet::new(),
            is_time_dependent: false,
            binds_keys: false,
            on_client_gone: OnClientGone::default(),
            monitor: None,
            gates: Gates::default(),
            causal: CausalClusters::default(),
        }
    }

    /// The servers that write now in the cluster of a hostgroup.
    pub(crate) fn writers_beside(&self, hostgroup: HostgroupId) -> impl Iterator<Item = Arc<MemberRuntime>> {
        let cluster = self.configuration.cluster_of(hostgroup);
        let group = cluster.and_then(|cluster| self.hostgroups.get(&cluster.writer));
        let placed = group.into_iter().flat_map(|group| group.placed());
        placed
            .filter(|(_, place)| place.status == MemberStatus::Online)
            .map(|(member, _)| member.runtime.clone())
    }

    /// The members of a hostgroup whose servers write now, by their numbers.
    pub(crate) fn writers_in(&self, hostgroup: HostgroupId) -> Vec<u64> {
        let writers: Vec<_> = self.writers_beside(hostgroup).collect();
        let group = self.hostgroups.get(&hostgroup);
        let members = group.into_iter().flat_map(|group| &group.members);
        members
            .filter(|member| writers.iter().any(|writer| writer.endpoint_is(&member.runtime)))
            .map(|member| member.runtime.number)
            .collect()
    }

    /// A snapshot of a configuration that is about to be applied.
    ///
    /// # Errors
    /// Everything that is wrong with it; secrets that cannot be resolved are wrong.
    pub(crate) fn build(
        generation: i64,
        json: &str,
        context: &BuildContext<'_>,
    ) -> Result<Self, Vec<Problem>> {
        let (snapshot, problems) = Self::build_leniently(generation, json, context)?;
        if problems.is_empty() {
            Ok(snapshot)
        } else {
            Err(problems)
        }
    }

    /// A snapshot of a generation that was served before. A secret that is gone keeps its user out, and everything
    /// else works.
    pub(crate) fn restore(
        generation: &Generation,
        context: &BuildContext<'_>,
    ) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let built = Self::build_leniently(generation.number, &generation.configuration, context);
        built.map(|(snapshot, problems)| (snapshot.of_project(generation.project.clone()), problems))
    }

    fn build_leniently(
        generation: i64,
        json: &str,
        context: &BuildContext<'_>,
    ) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let configuration = Arc::new(validate::parse(json).map_err(|problem| vec![problem])?);
        let mut problems = validate::problems(&configuration, context.certificates);
        let evaluator = Evaluator::new(configuration.clone());
        problems.extend(
            evaluator
                .broken_patterns()
                .map(|broken| Problem::of_pattern(&broken)),
        );
        if !problems.is_empty() {
            return Err(problems);
        }
        let users = users(&configuration, context, &mut problems);
        let router = Arc::new(Router::new(configuration.clone()).prepared());
        let json = configuration.to_json();
        let snapshot = Self {
            generation,
            fingerprint: configuration.fingerprint(),
            project: None,
            json,
            router,
            users,
            hostgroups: Arc::new(hostgroups(&configuration, context)),
            logical_schemas: logical_schemas(&configuration),
            rule_destinations: rule_destinations(&configuration),
            users_of_maps: maps(&configuration)
                .map(|(scope, _)| scope.users.clone())
                .collect(),
            is_time_dependent: is_time_dependent(&configuration),
            binds_keys: binds_keys(&configuration),
            on_client_gone: configuration.on_client_gone(),
            monitor: monitor(&configuration, context, &mut problems),
            causal: CausalClusters::of(&configuration),
            gates: Gates::of(&configuration, context.served.map(|served| &served.gates)),
            configuration,
        };
        Ok((snapshot, problems))
    }

    /// The same generation with its secrets resolved again. A secret that cannot be resolved stays what it was.
    pub(crate) fn with_secrets_reloaded(&self, context: &BuildContext<'_>) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut users = users(&self.configuration, context, &mut problems);
        for (name, entry) in &mut users {
            if entry.credentials.is_none()
                && let Some(before) = self.users.get(name)
            {
                *entry = before.clone();
            }
        }
        let monitor = monitor(&self.configuration, context, &mut problems).or_else(|| self.monitor.clone());
        let reloaded = Self {
            users,
            monitor,
            ..self.clone()
        };
        (reloaded, problems)
    }

    /// The same generation with members that are registered anew.
    pub(crate) fn with_members_registered(&self, context: &BuildContext<'_>) -> Self {
        Self {
            hostgroups: Arc::new(hostgroups(&self.configuration, context)),
            ..self.clone()
        }
    }

    /// Whether this user may be in a schema of this name although servers have none. To users that no map of this
    /// logical schema applies to it is a schema like any other.
    pub(crate) fn is_logical_schema(&self, name: &str, user: &str) -> bool {
        let users = self.logical_schemas.get(name);
        users.is_some_and(|users| users.iter().any(|names| names.contains(user)))
    }

    /// Whether statements of this user that are not reads can only go to the cluster of this hostgroup.
    pub(crate) fn is_only_cluster(&self, hostgroup: HostgroupId, user: &str) -> bool {
        if self.users_of_maps.iter().any(|users| users.contains(user)) {
            return false;
        }
        let cluster_of = |id: HostgroupId| {
            let mut hostgroups = self.configuration.hostgroups.iter();
            hostgroups
                .find(|group| group.id == id)
                .map(|group| &group.cluster)
        };
        let cluster = cluster_of(hostgroup);
        self.rule_destinations
            .iter()
            .all(|&other| cluster_of(other) == cluster)
    }

    /// The same as a project's.
    pub(crate) fn of_project(self, project: Option<String>) -> Self {
        Self { project, ..self }
    }

    /// The durable form.
    pub(crate) fn generation(&self) -> Generation {
        Generation {
            number: self.generation,
            fingerprint: self.fingerprint.clone(),
            project: self.project.clone(),
            configuration: self.json.clone(),
        }
    }

    /// The members, hostgroups in the order of the configuration.
    pub(crate) fn members_in_order(&self) -> impl Iterator<Item = &MemberRuntime> {
        let groups = self.configuration.hostgroups.iter();
        let groups = groups.filter_map(|group| self.hostgroups.get(&group.id));
        groups.flat_map(|group| group.members.iter().map(|member| &*member.runtime))
    }

    /// The version of the first server whose version is known.
    pub(crate) fn server_version(&self) -> Option<String> {
        self.members_in_order().find_map(MemberRuntime::version)
    }

    /// The kinds of the servers whose versions are known; all where none is.
    pub(crate) fn servers(&self) -> Servers {
        let known = self.members_in_order().filter_map(MemberRuntime::servers);
        known.reduce(Servers::and).unwrap_or(Servers::ALL)
    }

    /// Capabilities that some server does not have, as far as is known.
    pub(crate) fn lacks(&self) -> CapabilityFlags {
        self.members_in_order()
            .fold(CapabilityFlags::empty(), |lacks, member| lacks | member.lacks())
    }

    /// MariaDB's further capabilities that all servers have whose greetings are known; none where no greeting is.
    pub(crate) fn mariadb_capabilities(&self) -> MariadbCapabilities {
        let known = self
            .members_in_order()
            .filter_map(MemberRuntime::mariadb_capabilities);
        known
            .reduce(|all, one| all & one)
            .unwrap_or(MariadbCapabilities::empty())
    }

    /// Whether a running member is one of this generation's.
    pub(crate) fn has_member(&self, number: u64) -> bool {
        let mut members = self.hostgroups.values().flat_map(|group| &group.members);
        members.any(|member| member.runtime.number == number)
    }
}

fn monitor(
    configuration: &Configuration,
    context: &BuildContext<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Arc<MonitorAccount>> {
    let monitor = configuration.monitor.as_ref()?;
    let is_used = configuration
        .clusters
        .iter()
        .any(|cluster| !cluster.candidates.is_empty());
    let resolved = is_used
        .then(|| Credentials::resolve(monitor.password.as_ref(), context.allow_secret_commands))?
        .map_err(|error| error.to_string())
        .and_then(|credentials| credentials.secret().ok_or_else(|| NOT_A_HASH.to_owned()));
    match resolved {
        Ok(secret) => Some(Arc::new(MonitorAccount {
            user: Arc::from(monitor.user.as_str()),
            secret,
        })),
        Err(problem) => {
            problems.push(Problem::new(monitor.address.as_str(), problem));
            None
        }
    }
}

/// Why a hash is no secret of a monitor.
const NOT_A_HASH: &str = "the monitor logs in by itself: its secret must be the password, not a hash of it";

fn users(
    configuration: &Configuration,
    context: &BuildContext<'_>,
    problems: &mut Vec<Problem>,
) -> FxHashMap<Arc<str>, Arc<UserEntry>> {
    let mut entry = |(position, user): (u32, &User)| {
        let credentials = Credentials::resolve(user.password.as_ref(), context.allow_secret_commands);
        let credentials = credentials
            .map_err(|error| problems.push(Problem::new(user.address.as_str(), error.to_string())))
            .ok();
        let served = context
            .served
            .and_then(|served| served.users.get(user.name.as_str()));
        let credentials = match (credentials, served.and_then(|served| served.credentials.as_ref())) {
            (Some(credentials), Some(earlier)) => Some(credentials.after(earlier)),
            (credentials, _) => credentials,
        };
        let name: Arc<str> = Arc::from(user.name.as_str());
        let entry = UserEntry {
            name: name.clone(),
            position,
            user: user.clone(),
            credentials,
        };
        (name, Arc::new(entry))
    };
    (0..).zip(&configuration.users).map(&mut entry).collect()
}

fn hostgroups(
    configuration: &Configuration,
    context: &BuildContext<'_>,
) -> FxHashMap<HostgroupId, HostgroupMembers> {
    let registry = context.members;
    let mut hostgroups = FxHashMap::default();
    for hostgroup in &configuration.hostgroups {
        let members = registered(registry, hostgroup.id, &hostgroup.members);
        let places = HostgroupMembers::written_places(hostgroup.role, &hostgroup.members);
        hostgroups.insert(
            hostgroup.id,
            HostgroupMembers::fixed(hostgroup.role, members, places),
        );
    }
    for cluster in &configuration.clusters {
        let Some(watched) = WatchedCluster::of(configuration, cluster) else {
            continue;
        };
        let roles = context.knowledge.suppose(&watched);
        let suspicion = context.knowledge.suspicion(&cluster.address);
        for (role, id) in watched.hostgroups() {
            let members = registered(registry, id, watched.servers.iter().map(|(_, member)| *member));
            let places = watched.places(role, roles.as_ref());
            let group = HostgroupMembers::watched(role, members, places, suspicion.clone());
            hostgroups.insert(id, group);
        }
    }
    hostgroups
}

fn registered<'m>(
    registry: &MemberRegistry,
    hostgroup: HostgroupId,
    members: impl IntoIterator<Item = &'m Member>,
) -> Vec<HostgroupMember> {
    let member = |member: &Member| HostgroupMember {
        runtime: registry.get(hostgroup, member),
        server: member.server.clone(),
    };
    members.into_iter().map(member).collect()
}

/// The shard maps, each with the sessions that it applies to.
fn maps(configuration: &Configuration) -> impl Iterator<Item = (&Scope, &MapStep)> {
    configuration
        .graph
        .rules
        .iter()
        .filter_map(|rule| match &rule.body {
            Body::Native {
                scope,
                step: NativeStep::Map(map),
            } => Some((&**scope, &**map)),
            Body::Native { .. } | Body::Engine(_) => None,
        })
}

fn rule_destinations(configuration: &Configuration) -> BTreeSet<HostgroupId> {
    let of_rule = |rule: &shardwright_rules::Rule| match &rule.body {
        Body::Engine(rule) => rule.destination_hostgroup.map(HostgroupId),
        Body::Native { .. } => None,
    };
    let graph = &configuration.graph;
    let fast = graph.fast_routing.iter().map(|route| route.hostgroup);
    graph.rules.iter().filter_map(of_rule).chain(fast).collect()
}

fn logical_schemas(configuration: &Configuration) -> FxHashMap<String, Vec<Names>> {
    let mut logical_schemas: FxHashMap<String, Vec<Names>> = FxHashMap::default();
    for (scope, map) in maps(configuration) {
        let Some(logical) = map.logical_schema.as_deref() else {
            continue;
        };
        let is_elsewhere = |shard: &shardwright_rules::Shard| {
            shard.schema.as_deref().is_some_and(|schema| schema != logical)
        };
        if map.shards.iter().all(is_elsewhere) && scope.schemas.contains(logical) {
            let users = logical_schemas.entry(logical.to_owned()).or_default();
            users.push(scope.users.clone());
        }
    }
    logical_schemas
}

impl Snapshot {
    /// Whether there is a shard map: it may look into statements word by word.
    pub(crate) fn has_maps(&self) -> bool {
        !self.users_of_maps.is_empty()
    }
}

fn binds_keys(configuration: &Configuration) -> bool {
    let in_columns = |finder: &Finder| matches!(finder, Finder::Column { .. });
    maps(configuration).any(|(_, map)| map.finders.iter().any(in_columns))
}

fn is_time_dependent(configuration: &Configuration) -> bool {
    configuration.graph.rules.iter().any(|rule| match &rule.body {
        Body::Native { step, .. } => matches!(step, NativeStep::Role(role) if role.after_write_ms > 0),
        Body::Engine(_) => false,
    })
}
