//! Topologies built by hand, and statements decided under what they compile to.

pub(crate) mod complete;
pub(crate) mod hostile;
mod loading;
pub(crate) mod maps;

use std::sync::Arc;

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_diagnostics::{Severity, Sources, Span};
use shardwright_rules::{
    Configuration, Decision, EngineId, EngineRule, EngineSettings, Evaluator, HostgroupId, Outcome,
    RegexEngine, SessionView, Statement,
};
use shardwright_sql::LexMode;
use shardwright_topology::model::*;

pub(crate) use loading::*;

/// Name, keys, cluster and schema of a shard.
pub(crate) type ShardLine = (String, Vec<KeyValue>, Option<ClusterId>, Option<String>);

/// A project under construction.
pub(crate) struct Build {
    pub(crate) project: Project,
    definition: DefinitionId,
    clusters: Vec<Cluster>,
    users: Vec<User>,
    maps: Vec<ShardMap>,
    policies: Vec<ReadWritePolicy>,
    blocks: Vec<RuleBlock>,
}

impl Build {
    pub(crate) fn new() -> Self {
        let file = Sources::new().add("topology/test.yaml", "x");
        let span = Span::new(file, 0, 1);
        let mut project = Project::default();
        let definition = project.origins.define(span, span, Vec::new());
        let (clusters, users, maps) = (Vec::new(), Vec::new(), Vec::new());
        let (policies, blocks) = (Vec::new(), Vec::new());
        Self {
            project,
            definition,
            clusters,
            users,
            maps,
            policies,
            blocks,
        }
    }

    pub(crate) fn origin(&mut self, parent: Option<OriginId>, name: &str) -> OriginId {
        self.project
            .origins
            .add_named(parent, name.into(), self.definition, None)
    }

    pub(crate) fn object(&mut self, section: &str, name: &str) -> OriginId {
        let section = self.origin(None, section);
        self.origin(Some(section), name)
    }

    /// A cluster of `servers` servers; more than one is a replication.
    pub(crate) fn cluster(&mut self, name: &str, servers: usize) -> ClusterId {
        let origin = self.object("clusters", name);
        let servers = (0..servers)
            .map(|at| {
                let name = format!("s{at}");
                let parent = self.origin(Some(origin), "servers");
                Server {
                    origin: self.origin(Some(parent), &name),
                    host: format!("{name}.db").into(),
                    name: name.into(),
                    port: 3306,
                    weight: 1,
                    read_weight: None,
                    max_connections: 1_000,
                    server_max_connections: None,
                    max_replication_lag_ms: None,
                    state: ServerState::Online,
                    until: None,
                    reason: None,
                }
            })
            .collect::<Vec<_>>();
        let kind = match servers.len() {
            1 => ClusterKind::Single,
            _ => ClusterKind::Replication {
                read_only_check: ReadOnlyCheck::ReadOnly,
            },
        };
        self.clusters.push(Cluster {
            name: name.into(),
            origin,
            kind,
            servers: Table::new(servers),
            writer_preference: Vec::new(),
            writer_serves_reads: WriterServesReads::LastResort,
            hostgroups: HostgroupPins::default(),
            writers: 1,
            failback: Failback::Manual,
            max_transactions_behind: None,
            on_unknown: Default::default(),
            slow_readers: Default::default(),
            roles_by: RolesBy::Engine,
            tls: ServerTls::Disabled,
        });
        ClusterId(self.clusters.len() as u32 - 1)
    }

    pub(crate) fn clusters_mut(&mut self) -> &mut Vec<Cluster> {
        &mut self.clusters
    }

    pub(crate) fn user(&mut self, name: &str, cluster: ClusterId, schema: Option<&str>) -> &mut User {
        let origin = self.object("users", name);
        self.users.push(User {
            name: name.into(),
            login: name.into(),
            origin,
            password: Secret {
                source: SecretSource::Env("PW".into()),
                previous: None,
            },
            cluster,
            server: None,
            role: Role::Writer,
            reads_only: false,
            schema: schema.map(Into::into),
            max_connections: 10_000,
            transaction_persistent: true,
            annotations: Annotations::Deny,
            statement_timeout_ms: None,
            tls: ClientTls::Optional,
        });
        self.users.last_mut().expect("just added")
    }

    pub(crate) fn map(
        &mut self,
        name: &str,
        users: &[&str],
        kind: KeyKind,
        key: &str,
        key_from: Vec<Finder>,
    ) -> &mut ShardMap {
        let origin = self.object("shard_maps", name);
        let placement = Placement::Value;
        self.maps.push(ShardMap {
            tables: Default::default(),
            name: name.into(),
            origin,
            applies_to: Scope {
                users: names(users),
                ..Scope::default()
            },
            logical_schema: None,
            key: Key {
                name: key.into(),
                kind,
                domain: Vec::new(),
                placement,
            },
            key_from,
            conflict: Conflict::Reject,
            shards: Table::default(),
            otherwise: None,
            unqualified: Unqualified::Reject,
            missing_key: MissingKey::default(),
            missing_key_by_user: Default::default(),
            unknown_key: UnknownKey::Reject,
            rule_layout: RuleLayout::Auto,
            count_hits_by: CountHitsBy::Cluster,
        });
        self.maps.last_mut().expect("just added")
    }

    /// Gives the last map its shards.
    pub(crate) fn shards(&mut self, shards: Vec<ShardLine>) {
        let map = self.maps.last().expect("a map").origin;
        let section = self.origin(Some(map), "shards");
        let shards = shards
            .into_iter()
            .map(|(name, keys, cluster, schema)| Shard {
                origin: self.origin(Some(section), &name),
                name: name.into(),
                overridden: None,
                keys: keys.into(),
                ranges: Box::default(),
                remainders: Box::default(),
                refuse: None,
                cluster,
                schema: schema.map(Into::into),
            })
            .collect();
        self.maps.last_mut().expect("a map").shards = Table::new(shards);
    }

    pub(crate) fn policy(
        &mut self,
        name: &str,
        clusters: &[&str],
        reads: ReadSelection,
    ) -> &mut ReadWritePolicy {
        let origin = self.object("read_write_policies", name);
        self.policies.push(ReadWritePolicy {
            name: name.into(),
            origin,
            applies_to: Scope {
                clusters: names(clusters),
                ..Scope::default()
            },
            reads,
            writer_hint: None,
            after_write_ms: 0,
            consistency: Consistency::Eventual,
            allow_on_readers: Vec::new(),
            reason: None,
            on_unsupported: OnUnsupported::Error,
        });
        self.policies.last_mut().expect("just added")
    }

    pub(crate) fn block(&mut self, name: &str, at: BlockPlace, rules: Vec<RawRule>) {
        let origin = self.object("query_rules", name);
        let list = self.origin(Some(origin), "rules");
        let rules = rules
            .into_iter()
            .enumerate()
            .map(|(at, rule)| RawRule {
                origin: self.project.origins.add_item(list, at as u32, self.definition),
                ..rule
            })
            .collect();
        self.blocks.push(RuleBlock {
            name: name.into(),
            origin,
            at,
            behind_effects: false,
            rules,
            fast_routing: Vec::new(),
            refusing: Vec::new(),
        });
    }

    pub(crate) fn raw(&mut self) -> RawRule {
        let origin = self.origin(None, "unplaced");
        RawRule {
            origin,
            rule_id: None,
            active: true,
            flag_in: 0,
            cluster: None,
            role: Role::Writer,
            columns: EngineRule::default(),
        }
    }

    pub(crate) fn ids(mut self, ids: IdRanges) -> Self {
        self.project.file.ids = ids;
        self
    }

    pub(crate) fn finish(mut self) -> Project {
        let topology = &mut self.project.topology;
        topology.clusters = Table::new(self.clusters);
        topology.users = Table::new(self.users);
        topology.shard_maps = Table::new(self.maps);
        topology.read_write_policies = Table::new(self.policies);
        topology.query_rules = Table::new(self.blocks);
        self.project
    }
}

pub(crate) fn names(names: &[&str]) -> Names {
    Names {
        any_of: names.iter().map(|name| NamePattern::new(*name)).collect(),
        except: Vec::new(),
    }
}

pub(crate) fn comment(word: &str) -> Finder {
    Finder::Comment {
        word: word.into(),
        form: CommentForm::Pairs,
    }
}

pub(crate) fn schema(prefix: &str, width: Option<u8>) -> Finder {
    Finder::Schema {
        template: KeyTemplate {
            prefix: prefix.into(),
            width,
            suffix: "".into(),
        },
    }
}

pub(crate) fn integers(values: impl IntoIterator<Item = i64>) -> Vec<KeyValue> {
    values.into_iter().map(KeyValue::Integer).collect()
}

pub(crate) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<KeyValue> {
    values
        .into_iter()
        .map(|text| KeyValue::Text(text.into()))
        .collect()
}

/// `count` shards found by `/* tenant=N */`, each on a cluster of its own with one replica; the user `app`.
pub(crate) fn tenants(keys: impl IntoIterator<Item = i64>, servers: usize) -> Build {
    let mut build = Build::new();
    let home = build.cluster("home", 1);
    let keys: Vec<i64> = keys.into_iter().collect();
    let clusters: Vec<ClusterId> = keys
        .iter()
        .map(|key| build.cluster(&format!("shard-{key:03}"), servers))
        .collect();
    build.user("app", home, Some("app"));
    build.map(
        "tenants",
        &["app"],
        KeyKind::Integer,
        "tenant",
        vec![comment("tenant")],
    );
    let shards = keys
        .iter()
        .zip(clusters)
        .map(|(key, cluster)| (format!("t{key:03}"), integers([*key]), Some(cluster), None));
    build.shards(shards.collect());
    build
}

/// The engine that finds keys by itself, and one for which they become rules.
pub(crate) const BOTH: [EngineId; 2] = [EngineId::Bundled, EngineId::Proxysql27];

/// Compiles, and fails on errors.
pub(crate) fn compiled(project: &Project, engine: EngineId) -> Compiled {
    let compiled = compile(project, engine, &Lock::default(), &Options::default());
    assert_eq!(
        problems(&compiled, Severity::Error),
        Vec::<String>::new(),
        "{engine}"
    );
    compiled
}

/// The same with restarts after jumps, or with RE2.
pub(crate) fn compiled_with(
    project: &Project,
    engine: EngineId,
    iterations: u32,
    regex: RegexEngine,
) -> Compiled {
    let settings = EngineSettings {
        query_processor_iterations: iterations,
        regex,
    };
    compile(
        project,
        engine,
        &Lock::default(),
        &Options {
            settings: Some(settings),
            ..Options::default()
        },
    )
}

/// `CODE: message` of every problem of a severity.
pub(crate) fn problems(compiled: &Compiled, severity: Severity) -> Vec<String> {
    let sorted = compiled.problems.sorted();
    let wanted = sorted.iter().filter(|diagnostic| diagnostic.severity == severity);
    wanted
        .map(|diagnostic| format!("{}: {}", diagnostic.code, diagnostic.message))
        .collect()
}

/// What ProxySQL answers itself (`own`), SET, USE and the end of no transaction, goes nowhere; everything else is as
/// expected. `what` ends with the statement.
#[track_caller]
pub(crate) fn assert_goes(found: &str, expected: &str, what: &str) {
    let is_own = ["SET ", "USE ", "COMMIT", "ROLLBACK"]
        .iter()
        .any(|verb| what.contains(verb));
    assert!(
        found == expected || (found == "own" && is_own),
        "{what}: {found}, expected {expected}"
    );
}

/// Decides statements.
pub(crate) struct Decider {
    pub(crate) configuration: Arc<Configuration>,
    evaluator: Evaluator,
}

impl Decider {
    pub(crate) fn new(compiled: &Compiled) -> Self {
        let configuration = Arc::clone(&compiled.configuration);
        let evaluator = Evaluator::new(configuration.clone());
        let broken: Vec<String> = evaluator
            .broken_patterns()
            .map(|broken| format!("{broken:?}"))
            .collect();
        assert_eq!(broken, Vec::<String>::new());
        Self {
            configuration,
            evaluator,
        }
    }

    /// Where the statements of a user go that nothing places.
    pub(crate) fn home(&self, user: &str) -> HostgroupId {
        self.configuration
            .user(user)
            .map_or(HostgroupId(0), |user| user.default_hostgroup)
    }

    /// Whether the user only reads, on the bundled engine.
    pub(crate) fn reads_only(&self, user: &str) -> bool {
        self.configuration.user(user).is_some_and(|user| user.reads_only)
    }

    pub(crate) fn decision(&self, user: &str, schema: Option<&str>, statement: &str) -> Decision {
        let session = SessionView {
            user,
            schema,
            ..SessionView::default()
        };
        self.evaluator.decide(
            &session,
            &Statement::new(statement.as_bytes(), LexMode::default()),
        )
    }

    /// `shard-001 writer`, the code of a refusal, and the text where it was rewritten.
    pub(crate) fn short(&self, user: &str, schema: Option<&str>, statement: &str) -> String {
        match self.decision(user, schema, statement).outcome {
            Outcome::Route(route) => {
                let cluster = route.cluster.as_deref().unwrap_or("?");
                let role = route.role.map_or_else(String::new, |role| role.to_string());
                let rewritten = route
                    .rewritten
                    .map(|text| format!(": {}", String::from_utf8_lossy(&text)));
                format!("{cluster} {role}{}", rewritten.unwrap_or_default())
            }
            Outcome::Reject(rejection) => rejection
                .message
                .split(':')
                .next()
                .expect("split gives a first part")
                .to_owned(),
            Outcome::Answer { message } => format!("answer {message}"),
            Outcome::Own { .. } => "own".to_owned(),
            Outcome::DeferBegin => "deferred".to_owned(),
        }
    }
}
