//! Two small configurations of one shop: for the bundled engine and for ProxySQL.

use std::sync::Arc;
use std::time::Duration;

use shardwright_plan::render::{View, text};
use shardwright_plan::{Observed, Plan, TargetPlan, Timestamp};
use shardwright_rules::*;

pub(crate) const SIX_HOURS: Duration = Duration::from_secs(6 * 3600);

pub(crate) fn noon() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn cluster(name: &str, writer: u32) -> Cluster {
    Cluster {
        name: name.into(),
        address: format!("clusters.{name}").into(),
        kind: ClusterKind::Replication {
            read_only_check: ReadOnlyCheck::ReadOnly,
        },
        writer: HostgroupId(writer),
        reader: Some(HostgroupId(writer + 1)),
        writer_serves_reads: WriterServesReads::LastResort,
        on_unknown: Default::default(),
        slow_readers: Default::default(),
        roles_by: RolesBy::Engine,
        candidates: Vec::new(),
    }
}

pub(crate) fn member(cluster: &str, server: &str, weight: u32, tier: u8) -> Member {
    Member {
        server: format!("clusters.{cluster}.servers.{server}").into(),
        host: format!("{cluster}-{server}.db"),
        port: 3306,
        weight,
        tier,
        max_connections: 400,
        max_replication_lag_s: 5,
        tls: ServerTls::Disabled,
        status: MemberStatus::Online,
    }
}

fn hostgroups(name: &str, writer: u32) -> [Hostgroup; 2] {
    let hostgroup = |id, role, members| Hostgroup {
        id: HostgroupId(id),
        cluster: format!("clusters.{name}").into(),
        role,
        members,
    };
    [
        hostgroup(writer, Role::Writer, vec![member(name, "s1", 1, 0)]),
        hostgroup(
            writer + 1,
            Role::Reader,
            vec![member(name, "s2", 1, 0), member(name, "s1", 1, 1)],
        ),
    ]
}

fn topology(engine: EngineId) -> Configuration {
    Configuration {
        clusters: vec![cluster("shop-14", 1000), cluster("shop-20", 1002)],
        hostgroups: [hostgroups("shop-14", 1000), hostgroups("shop-20", 1002)].concat(),
        users: vec![User {
            name: "app".into(),
            address: "users.app".into(),
            password: Some(SecretReference::Env("APP_PASSWORD".into())),
            default_hostgroup: HostgroupId(1000),
            default_schema: Some("app".into()),
            max_connections: 2000,
            transaction_persistent: true,
            annotations_allowed: false,
            reads_only: false,
            statement_timeout_ms: None,
            tls: ClientTls::Optional,
        }],
        ..Configuration::empty(engine)
    }
}

pub(crate) fn shard(key: i64, cluster: &str) -> Shard {
    Shard {
        address: format!("shard_maps.tenants.shards.t{key}").into(),
        cluster: Some(cluster.into()),
        schema: None,
        keys: vec![KeyValue::Integer(key)],
        ranges: Vec::new(),
        remainders: Vec::new(),
        refuse: None,
    }
}

pub(crate) fn tenants(shards: Vec<Shard>) -> MapStep {
    MapStep {
        map: "tenants".into(),
        key: "tenant".into(),
        kind: KeyKind::Integer,
        finders: vec![Finder::Comment {
            word: "tenant".into(),
            form: CommentForm::Pairs,
        }],
        conflict: Conflict::Reject,
        logical_schema: None,
        unqualified: Unqualified::Reject,
        tables: StatedTables::default(),
        shards,
        remainder: None,
        missing_by_user: Default::default(),
        missing: MissingKey {
            statements: MissingAction::Reject,
            session_setup: MissingAction::Allow,
            begin: MissingBegin::Reject,
        },
        unknown: UnknownKey::Reject,
        otherwise: None,
    }
}

fn native(id: u32, address: &str, step: NativeStep) -> Rule {
    let scope = Scope {
        users: Names {
            any_of: vec!["app".into()],
            except: Vec::new(),
        },
        ..Scope::default()
    };
    Rule {
        id,
        address: address.into(),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Native {
            scope: Box::new(scope),
            step,
        },
    }
}

/// Two tenants found by a comment, a policy and a delay.
pub(crate) fn bundled() -> Configuration {
    let policy = RoleStep {
        reads: ReadSelection::All,
        writer_hint: None,
        after_write_ms: 500,
        causal: false,
        session_functions_on_readers: false,
    };
    let shards = vec![shard(136, "shop-14"), shard(137, "shop-14")];
    let mut configuration = topology(EngineId::Bundled);
    configuration.graph.rules = vec![
        native(
            100_000,
            "shard_maps.tenants",
            NativeStep::Map(Box::new(tenants(shards))),
        ),
        native(
            100_001,
            "read_write_policies.default",
            NativeStep::Role(Box::new(policy)),
        ),
        native(
            100_002,
            "throttles.purge",
            NativeStep::Delay(DelayStep { delay_ms: 5 }),
        ),
    ];
    configuration
}

pub(crate) fn engine_rule(id: u32, address: &str, flag_in: u32, rule: EngineRule) -> Rule {
    Rule {
        id,
        address: address.into(),
        shards: Vec::new(),
        summary: None,
        flag_in,
        body: Body::Engine(Box::new(rule)),
    }
}

fn leaf(key: u32, hostgroup: u32) -> Rule {
    let address = format!("shard_maps.tenants.shards.t{key}");
    let rule = EngineRule {
        match_pattern: Some(format!(r"^[^'\x22`]*/\*[^*]*\btenant={key}\b")),
        destination_hostgroup: Some(hostgroup),
        apply: true,
        ..EngineRule::default()
    };
    engine_rule(100_000 + key, &address, 20_000, rule)
}

/// The same two tenants as rules, a schema per shard as fast routing, and one raw rule.
pub(crate) fn proxysql() -> Configuration {
    let mut configuration = topology(EngineId::Proxysql27);
    let legacy = EngineRule {
        match_digest: Some("^SELECT .* FROM report_".into()),
        destination_hostgroup: Some(1001),
        apply: true,
        ..EngineRule::default()
    };
    let root = EngineRule {
        username: Some("app".into()),
        flag_out: Some(20_000),
        ..EngineRule::default()
    };
    configuration.graph.rules = vec![
        engine_rule(100, "query_rules.legacy.rules[0]", 0, legacy),
        engine_rule(100_000, "shard_maps.tenants", 0, root),
        leaf(136, 1000),
        leaf(137, 1000),
    ];
    configuration.graph.fast_routing = vec![FastRoute {
        username: "app".into(),
        schemaname: "acct_0001".into(),
        flag_in: 0,
        hostgroup: HostgroupId(1002),
        address: "shard_maps.accounts.shards.a0001".into(),
    }];
    configuration
}

/// The map of [`bundled`].
pub(crate) fn map_of(configuration: &mut Configuration) -> &mut MapStep {
    match &mut configuration.graph.rules[0].body {
        Body::Native {
            step: NativeStep::Map(map),
            ..
        } => map,
        other => panic!("the first rule of the fixture is its map: {other:?}"),
    }
}

/// The columns of the rule of this id of [`proxysql`].
pub(crate) fn columns_of(configuration: &mut Configuration, id: u32) -> &mut EngineRule {
    let rule = configuration.graph.rules.iter_mut().find(|rule| rule.id == id);
    match &mut rule.unwrap().body {
        Body::Engine(engine) => engine,
        other => panic!("the rules of the fixture are engine rules: {other:?}"),
    }
}

/// A target that runs `configuration`.
pub(crate) fn running(generation: u64, configuration: &Configuration) -> Observed {
    Observed {
        generation,
        fingerprint: configuration.fingerprint(),
        project: None,
        configuration: Some(configuration.clone()),
        server_limits: Vec::new(),
    }
}

/// A target before its first configuration.
pub(crate) fn blank() -> Observed {
    Observed {
        generation: 0,
        fingerprint: String::new(),
        project: None,
        configuration: None,
        server_limits: Vec::new(),
    }
}

/// A plan for the targets of these names, which all run `observed`.
pub(crate) fn plan_for(names: &[&str], observed: &Observed, desired: &Configuration) -> Plan {
    let desired = Arc::new(desired.clone());
    let parts = names
        .iter()
        .map(|name| {
            (
                TargetPlan::new(name, observed, &desired, Vec::new()),
                desired.clone(),
            )
        })
        .collect();
    Plan::new(None, noon(), SIX_HOURS, None, parts)
}

pub(crate) fn view<'a>(full: bool) -> View<'a> {
    View {
        now: noon(),
        origin: &|_| None,
        refusals: None,
        directory: None,
        full,
        color: false,
    }
}

/// The lines of a listing that are about objects and rows.
pub(crate) fn listing(observed: &Configuration, desired: &Configuration, full: bool) -> String {
    let plan = plan_for(&["local"], &running(12, observed), desired);
    let text = text(&plan, &view(full));
    let lines = text
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with("  safety"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A part of some things that a change concerns.
pub(crate) fn concern(things: &str, concerned: usize, total: usize) -> shardwright_plan::Concern {
    shardwright_plan::Concern {
        things: things.to_owned(),
        concerned,
        total,
    }
}
