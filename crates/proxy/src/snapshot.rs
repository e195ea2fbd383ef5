//! One generation, ready to run: a configuration with its routing, its users' credentials and its running members.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_rules::{Body, Configuration, EngineId, Evaluator, HostgroupId, Names, NativeStep, User};

use crate::members::{HostgroupMember, HostgroupMembers, MemberRegistry};
use crate::secrets::Credentials;
use crate::store::Generation;
use crate::validate::{self, Problem};

/// What decides statements.
pub(crate) type Router = shardwright_routing::RoutingTable;

/// A user that clients log in as.
#[derive(Debug)]
pub(crate) struct UserEntry {
    pub(crate) name: Arc<str>,
    pub(crate) user: User,
    /// `None`: the secret cannot be resolved, so nobody gets in.
    pub(crate) credentials: Option<Credentials>,
}

/// An immutable generation; published by one swap of a pointer.
#[derive(Debug)]
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
    pub(crate) router: Router,
    pub(crate) users: FxHashMap<Arc<str>, Arc<UserEntry>>,
    pub(crate) hostgroups: FxHashMap<HostgroupId, HostgroupMembers>,
    /// Schemas that clients name and no server has: shard maps place by schemas of other names.
    /// Names, and the users to whom they stand for what shards hold.
    logical_schemas: FxHashMap<String, Vec<Names>>,
    /// A decision depends on the time since the session's last write.
    pub(crate) is_time_dependent: bool,
}

/// What a snapshot is made with.
pub(crate) struct BuildContext<'a> {
    pub(crate) members: &'a MemberRegistry,
    pub(crate) allow_secret_commands: bool,
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
            router: Router::new(configuration.clone()),
            configuration,
            users: FxHashMap::default(),
            hostgroups: FxHashMap::default(),
            logical_schemas: FxHashMap::default(),
            is_time_dependent: false,
        }
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
        let mut problems = validate::problems(&configuration);
        let evaluator = Evaluator::new(configuration.clone());
        problems.extend(
            evaluator
                .broken_patterns()
                .map(|broken| Problem::of_pattern(&broken)),
        );
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut users = FxHashMap::default();
        for user in &configuration.users {
            let credentials = Credentials::resolve(user.password.as_ref(), context.allow_secret_commands);
            let credentials = credentials
                .map_err(|error| problems.push(Problem::new(user.address.as_str(), error.to_string())))
                .ok();
            let name: Arc<str> = Arc::from(user.name.as_str());
            let entry = UserEntry {
                name: name.clone(),
                user: user.clone(),
                credentials,
            };
            users.insert(name, Arc::new(entry));
        }
        let router = Router::new(configuration.clone()).prepared();
        let json = configuration.to_json();
        let snapshot = Self {
            generation,
            fingerprint: configuration.fingerprint(),
            project: None,
            json,
            router,
            users,
            hostgroups: hostgroups(&configuration, context.members),
            logical_schemas: logical_schemas(&configuration),
            is_time_dependent: is_time_dependent(&configuration),
            configuration,
        };
        Ok((snapshot, problems))
    }

    /// Whether this user may be in a schema of this name although servers have none. To users that no map of this
    /// logical schema applies to it is a schema like any other.
    pub(crate) fn is_logical_schema(&self, name: &str, user: &str) -> bool {
        let users = self.logical_schemas.get(name);
        users.is_some_and(|users| users.iter().any(|names| names.contains(user)))
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

    /// Whether a running member is one of this generation's.
    pub(crate) fn has_member(&self, number: u64) -> bool {
        let mut members = self.hostgroups.values().flat_map(|group| &group.members);
        members.any(|member| member.runtime.number == number)
    }
}

fn hostgroups(
    configuration: &Configuration,
    registry: &MemberRegistry,
) -> FxHashMap<HostgroupId, HostgroupMembers> {
    let entry = |hostgroup: &shardwright_rules::Hostgroup| {
        let members = hostgroup.members.iter().map(|member| HostgroupMember {
            runtime: registry.get(hostgroup.id, member),
            server: member.server.clone(),
            weight: member.weight,
            tier: member.tier,
            status: member.status,
        });
        let members = HostgroupMembers {
            role: hostgroup.role,
            members: members.collect(),
        };
        (hostgroup.id, members)
    };
    configuration.hostgroups.iter().map(entry).collect()
}

fn logical_schemas(configuration: &Configuration) -> FxHashMap<String, Vec<Names>> {
    let mut logical_schemas: FxHashMap<String, Vec<Names>> = FxHashMap::default();
    for rule in &configuration.graph.rules {
        let Body::Native {
            scope,
            step: NativeStep::Map(map),
        } = &rule.body
        else {
            continue;
        };
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

fn is_time_dependent(configuration: &Configuration) -> bool {
    configuration.graph.rules.iter().any(|rule| match &rule.body {
        Body::Native { step, .. } => matches!(step, NativeStep::Role(role) if role.after_write_ms > 0),
        Body::Engine(_) => false,
    })
}
