//! The samples of the language resolve, and mean what they say.

use std::fmt::Write as _;

use shardwright_diagnostics::render;
use shardwright_topology::model::{
    Delay, KeyValue, Managed, MissingAction, MissingBegin, OnUnsupported, Project, ReadSelection, Refuser,
    SecretSource, ServerState, Signal, SignalLevels, SignalSource, StatementKind,
};

pub(crate) fn load_valid(fixture: &str) -> Project {
    let loaded = crate::support::load_text("valid", fixture);
    let shown = render::text::render(&loaded.problems, &loaded.sources, false);
    loaded.project.unwrap_or_else(|| panic!("{shown}"))
}

#[test]
fn the_whole_language_resolves_without_problems() {
    let loaded = crate::support::load_text("language", include_str!("../valid/language.yaml"));
    // Moves are part of the language, and nobody carries them out yet.
    let problems = loaded.problems.sorted();
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["SW341"]);
}

#[test]
fn the_supported_part_of_the_language_resolves_without_problems() {
    let loaded = crate::support::load_text("supported", include_str!("../valid/supported.yaml"));
    assert_eq!(render::text::render(&loaded.problems, &loaded.sources, false), "");
    let project = loaded.project.expect("nothing is wrong");
    let mut summary = String::new();
    for cluster in &project.topology.clusters {
        if ["shard-001", "shard-200", "pay"].contains(&&*cluster.name) {
            let servers: Vec<String> = cluster
                .servers
                .iter()
                .map(|server| format!("{}:{}", server.host, server.port))
                .collect();
            writeln!(
                summary,
                "{} {:?} {}",
                cluster.name,
                cluster.kind,
                servers.join(" ")
            )
            .expect("text");
        }
    }
    for map in &project.topology.shard_maps {
        writeln!(
            summary,
            "{}: {} shards, {:?}, {:?}",
            map.name,
            map.shards.len(),
            map.key,
            map.key_from
        )
        .expect("text");
    }
    insta::assert_snapshot!(summary, @r#"
    shard-001 Replication { read_only_check: ReadOnly } s001-1.eu-west.db.internal:3306 s001-2.eu-west.db.internal:3306 s001-3.eu-west.db.internal:3306
    shard-200 Replication { read_only_check: ReadOnly } s200-1.eu-west.db.internal:3306 s200-2.eu-west.db.internal:3306 s200-3.eu-west.db.internal:3306
    pay Replication { read_only_check: ReadOnly } pxc1.db:3306 pxc2.db:3306 pxc3.db:3306
    tenants: 200 shards, Key { name: "tenant", kind: Integer, domain: [KeyRange { first: 1, last: 200 }], placement: Value }, [Comment { word: "tenant", form: Pairs }, Schema { template: KeyTemplate { prefix: "tenant_", width: Some(3), suffix: "" } }]
    continents: 3 shards, Key { name: "continent", kind: Text, domain: [], placement: Value }, [Comment { word: "continent", form: Pairs }, Column { column: "Continent", in_shards: Absent }]
    accounts: 512 shards, Key { name: "account", kind: Integer, domain: [], placement: Value }, [Schema { template: KeyTemplate { prefix: "acct_", width: Some(4), suffix: "" } }]
    "#);
}

#[test]
fn policies_and_throttles_mean_what_they_say() {
    let project = load_valid(include_str!("../valid/supported.yaml"));
    let policy = &project.topology.read_write_policies[0];
    assert!(policy.applies_to.clusters.contains("shard-017"));
    assert!(!policy.applies_to.clusters.contains("pay"));
    assert!(matches!(&policy.reads, ReadSelection::Only(scopes) if scopes[0].match_digest.len() == 1));
    assert_eq!(
        policy.writer_hint.as_ref().map(|hint| &*hint.word),
        Some("primary")
    );
    assert_eq!(
        (policy.after_write_ms, policy.on_unsupported),
        (500, OnUnsupported::Skip)
    );
    let throttle = &project.topology.throttles[0];
    assert_eq!(throttle.applies_to.statements, [StatementKind::Delete]);
    let levels = SignalLevels {
        start_above: 3_000.0,
        stop_below: 1_000.0,
    };
    assert_eq!(
        throttle.signal,
        Some(Signal {
            source: SignalSource::ReplicationLag,
            levels
        })
    );
    assert_eq!(
        throttle.delay,
        Delay::Range {
            from_ms: 1,
            to_ms: 500
        }
    );
    assert_eq!((throttle.max_concurrent, throttle.hold_ms), (Some(16), 10_000));
    let pay = project.topology.clusters.get_named("pay").expect("it is there");
    assert_eq!(pay.writer_preference, [1, 0]);
    assert_eq!(pay.servers[2].state, ServerState::Draining);
}

#[test]
fn the_project_file_means_what_it_says() {
    let project = load_valid(include_str!("../valid/supported.yaml"));
    let file = &project.file;
    let engines: Vec<&str> = file.engines.iter().map(|engine| engine.name.as_str()).collect();
    assert_eq!(engines, ["bundled", "proxysql-2.7"]);
    assert_eq!(file.ids.rules, 100_000..=199_999);
    assert!(matches!(&file.manage.users, Managed::Listed(names) if names[0].matches("app2")));
    assert_eq!(file.manage.clusters, Managed::All);
    assert_eq!(file.manage.query_rules, Managed::Listed(100_000..=199_999));
    let target = file.targets.get_named("px-a1").expect("it is there");
    assert_eq!(&*target.admin, "px-a1.internal:6032");
    assert!(matches!(&target.password, SecretSource::Env(name) if **name == *"PX_ADMIN"));
    assert_eq!(project.origins.address(target.origin), "targets.px-a1");
    assert_eq!(file.safety.deletes_max, Some(5));
    assert_eq!(file.lint.select.len(), 7);
}

#[test]
fn shards_know_their_keys_places_and_instances() {
    let loaded = crate::support::load_text("supported", include_str!("../valid/supported.yaml"));
    let project = loaded.project.expect("nothing is wrong");
    let topology = &project.topology;
    let tenants = topology.shard_maps.get_named("tenants").expect("it is there");
    let shard = tenants.shards.get_named("t137").expect("it is there");
    assert_eq!(*shard.keys, [KeyValue::Integer(137)]);
    let cluster = topology.cluster(shard.cluster.expect("it has one"));
    assert_eq!(&*cluster.name, "shard-020", "the override holds");
    assert_eq!(
        project.origins.address(shard.origin),
        "shard_maps.tenants.shards.t137"
    );
    assert_eq!(project.origins.instance(shard.origin), Some("n=137"));
    let overridden = shard.overridden.expect("it has an override");
    assert_eq!(
        project.origins.address(overridden),
        "shard_maps.tenants.overrides.t137"
    );
    let text = |span| loaded.sources.slice(span);
    assert_eq!(text(project.origins.span(shard.origin)), "t$(n:03)");
    assert_eq!(
        text(project.origins.field(shard.origin, "cluster")),
        "\"shard-$(n:03)\""
    );
    assert_eq!(
        text(project.origins.field(tenants.origin, "key_from[1].schema")),
        "tenant_$(key:03)"
    );
    assert_eq!(
        text(project.origins.field(tenants.origin, "missing_key.begin")),
        "reject"
    );
    assert_eq!(
        text(project.origins.field(tenants.origin, "logical_schema")),
        "tenants"
    );
    assert_eq!(
        project.origins.find("shard_maps.tenants.shards.t137"),
        Some(shard.origin)
    );
    let accounts = topology.shard_maps.get_named("accounts").expect("it is there");
    let last = accounts.shards.get_named("a0511").expect("it is there");
    assert_eq!(
        &*topology.cluster(last.cluster.expect("it has one")).name,
        "shard-112"
    );
    let rule = &topology.query_rules[0].rules[1];
    assert_eq!(
        project.origins.address(rule.origin),
        "query_rules.legacy.rules[1]"
    );
    assert!(rule.active && rule.columns.apply);
}

const CLUSTERS: &str = "clusters:\n  one: {type: single, servers: {db1: {host: one.db}}}\n  two: {type: single, servers: {db1: {host: two.db}}}\n";

#[test]
fn objects_merge_over_files_and_generators_complete_each_other() {
    let map =
        "shard_maps:\n  m:\n    key: {name: k, type: integer, domain: 1..6}\n    key_from: [{comment: {}}]\n";
    let shards = |range: &str, cluster: &str| {
        format!(
            "shard_maps: {{m: {{shards: {{t$(n): {{for_each: {{n: {range}}}, keys: [$(n)], cluster: {cluster}}}}}}}}}\n"
        )
    };
    let fixture = format!(
        "# file: topology/a.yaml\nversion: 1\n{CLUSTERS}{map}# file: topology/b.yaml\nversion: 1\n{}# file: topology/c/d.yaml\n{}",
        shards("1..3", "one"),
        shards("4..6", "two"),
    );
    let project = load_valid(&fixture);
    let shards: Vec<String> = project.topology.shard_maps[0]
        .shards
        .iter()
        .map(|shard| format!("{}={:?}", shard.name, shard.cluster.map(|id| id.0)))
        .collect();
    assert_eq!(
        shards,
        [
            "t1=Some(0)",
            "t2=Some(0)",
            "t3=Some(0)",
            "t4=Some(1)",
            "t5=Some(1)",
            "t6=Some(1)"
        ]
    );
}

#[test]
fn generators_make_products_and_leave_values_out() {
    let fixture = "clusters:\n  c$(n)-$(z): {for_each: {n: 1..3, z: [a, b], except: [{n: 2}, {n: 3, z: a}]}, type: single, servers: {s: {host: h}}}\n";
    let project = load_valid(fixture);
    let names: Vec<&str> = project.topology.clusters.names().collect();
    assert_eq!(names, ["c1-a", "c1-b", "c3-b"]);
    let origin = project.topology.clusters[2].origin;
    assert_eq!(project.origins.instance(origin), Some("n=3, z=b"));
}

#[test]
fn references_and_defaults() {
    let fixture = format!(
        "{CLUSTERS}users:\n  app: {{password: {{command: [vault, read], previous: {{env: OLD}}}}, cluster: two}}\n\
         shard_maps:\n  a:\n    key: {{name: k, type: integer}}\n    key_from: [{{comment: {{}}}}]\n    otherwise: shard_maps.b\n    \
         unknown_key: {{cluster: two}}\n    shards: {{s: {{keys: [1], cluster: one}}}}\n  \
         b:\n    key: {{name: z, type: text}}\n    missing_key: {{session_setup: {{cluster: one}}}}\n    key_from: [{{comment: {{name: zone}}}}, {{column: {{name: z}}}}]\n    shards: {{s: {{keys: [x], schema: y}}}}\n    logical_schema: w\n    \
         tables: {{base: [t], views: {{v_t: [t, u]}}}}\n\
         query_rules:\n  r: {{at: {{before: a/s}}, rules: [{{error_msg: no}}]}}\n"
    );
    let project = load_valid(&fixture);
    let topology = &project.topology;
    let user = &topology.users[0];
    assert_eq!(&*topology.cluster(user.cluster).name, "two");
    assert!(user.transaction_persistent);
    assert!(matches!(&user.password.source, SecretSource::Command(words) if words.len() == 2));
    let (a, b) = (&topology.shard_maps[0], &topology.shard_maps[1]);
    assert_eq!(a.otherwise.map(|id| &*topology.shard_map(id).name), Some("b"));
    assert_eq!(b.missing_key.statements, MissingAction::Reject);
    assert!(matches!(b.missing_key.session_setup, MissingAction::Cluster(_)));
    assert_eq!(b.missing_key.begin, MissingBegin::Reject);
    assert_eq!(b.shards[0].cluster, None);
    assert!(a.tables.is_empty());
    assert!(b.tables.base.contains("t"));
    assert_eq!(b.tables.views["v_t"].len(), 2);
}

#[test]
fn given_variables_take_the_place_of_defaults() {
    let fixture = "variables: {region: {default: eu}, shards: {type: integer, default: 2}}\n\
        clusters:\n  c$(n): {for_each: {n: 1..$(var.shards)}, type: single, servers: {s: {host: \"db.$(var.region)\"}}}\n";
    let load = |given: &[(&str, &str)]| {
        let variables = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let options = shardwright_topology::Options {
            variables,
            ..Default::default()
        };
        shardwright_topology::load(crate::support::files("v", fixture), &options)
    };
    let hosts = |loaded: &shardwright_topology::Loaded| -> Vec<String> {
        let project = loaded.project.as_ref().expect("nothing is wrong");
        project
            .topology
            .clusters
            .iter()
            .map(|cluster| cluster.servers[0].host.to_string())
            .collect()
    };
    assert_eq!(hosts(&load(&[])), ["db.eu", "db.eu"]);
    assert_eq!(hosts(&load(&[("region", "us"), ("shards", "1")])), ["db.us"]);
    for given in [("regoin", "us"), ("shards", "many")] {
        let loaded = load(&[given]);
        assert!(loaded.project.is_none());
        let codes: Vec<&str> = loaded
            .problems
            .sorted()
            .iter()
            .map(|problem| problem.code.as_str())
            .collect();
        assert_eq!(codes, ["SW128"], "{given:?}");
    }
}

const PATCHED: &str = "# with: -e prod
# file: shardwright.yaml
version: 1
engines: [bundled]
environments: [prod]
targets: {local: {engine: bundled, admin: \"127.0.0.1:6032\", user: admin, password: {env: A}}}
# file: topology/t.yaml
variables: {region: {default: eu}, replicas: {type: integer, default: 1}}
clusters:
  c-$(n:02):
    for_each: {n: 1..3}
    type: replication
    servers:
      s$(k): {for_each: {k: \"1..$(var.replicas)\"}, host: \"s$(n)-$(k).$(var.region)\"}
users: {app: {password: {env: APP}, cluster: c-01}}
";

fn patched(environment: &str) -> Project {
    load_valid(&format!("{PATCHED}# file: env/prod.yaml\n{environment}"))
}

fn hosts(project: &Project) -> Vec<String> {
    let clusters = project.topology.clusters.iter();
    clusters
        .map(|cluster| {
            let servers = cluster.servers.iter();
            servers
                .map(|server| format!("{}={}", server.name, server.host))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn an_environment_gives_variables_their_values() {
    let project = patched("variables: {region: us, replicas: 2}");
    assert_eq!(hosts(&project)[2], "s1=s3-1.us s2=s3-2.us");
    let given = PATCHED.replacen("# file:", "# with: --var region=ap\n# file:", 1);
    let project = load_valid(&format!(
        "{given}# file: env/prod.yaml\nvariables: {{region: us}}"
    ));
    assert_eq!(hosts(&project)[0], "s1=s1-1.ap");
}

#[test]
fn patches_reach_generated_objects_and_only_those() {
    let project = patched(
        "patch:\n  clusters.c-02.servers.s1.host: elsewhere.$(var.region)\n  clusters.c-02.tls: required\n  \
         clusters.c-03.servers: {only: {host: \"one-$(n)\"}}\n",
    );
    assert_eq!(hosts(&project), ["s1=s1-1.eu", "s1=elsewhere.eu", "only=one-3"]);
    let tls: Vec<String> = project
        .topology
        .clusters
        .iter()
        .map(|cluster| format!("{:?}", cluster.tls))
        .collect();
    assert_eq!(tls[1], "Required");
    assert_eq!(tls[0], tls[2]);
}

#[test]
fn patches_set_mappings_and_lists_as_a_whole() {
    let project = patched(
        "variables: {replicas: 3}\npatch:\n  users.app.password: {file: secrets/app}\n  \
         clusters.c-01.writer_preference: [s2, s1]\n  users.app.schema: shop\n",
    );
    let user = &project.topology.users[0];
    assert!(matches!(&user.password.source, SecretSource::File(path) if **path == *"secrets/app"));
    assert_eq!(user.schema.as_deref(), Some("shop"));
    assert_eq!(project.topology.clusters[0].writer_preference, [1, 0]);
}

#[test]
fn an_environment_has_targets_and_limits_of_its_own() {
    let project = patched(
        "patch:\n  targets:\n    px1: {engine: bundled, admin: \"px1:6032\", user: admin, password: {env: P}}\n  \
         safety.plan_expiry: 1h\n  engines: [bundled, proxysql-2.7]\n",
    );
    let names: Vec<&str> = project.file.targets.names().collect();
    assert_eq!(names, ["px1"]);
    assert_eq!(project.file.safety.plan_expiry_ms, Some(3_600_000));
    assert_eq!(project.file.engines.len(), 2);
}

#[test]
fn what_a_patch_sets_is_found_where_it_is_written() {
    let fixture =
        format!("{PATCHED}# file: env/prod.yaml\npatch:\n  clusters.c-02.servers.s1.host: elsewhere\n");
    let loaded = crate::support::load_text("patched", &fixture);
    let project = loaded.project.expect("nothing is wrong");
    let place = |cluster: usize| {
        let server = project.topology.clusters[cluster].servers[0].origin;
        loaded.sources.display(project.origins.field(server, "host"))
    };
    assert_eq!(place(1), "env/prod.yaml:2:34");
    assert_eq!(place(0), place(2));
    assert_eq!(place(0), "topology/t.yaml:7:58");
}

#[test]
fn a_refuser_is_the_admin_port_unless_a_service_is_named() {
    let refuser = |settings: &str| {
        let project = load_valid(&format!("engine_settings:\n  proxysql: {{{settings}}}\n"));
        let (refuser, origin) = project.topology.refuser();
        let (host, port) = project.topology.proxysql_admin();
        (
            refuser.clone(),
            origin.map(|origin| project.origins.address(origin)),
            format!("{host}:{port}"),
        )
    };
    assert_eq!(
        refuser("mysql-threads: 2"),
        (
            Refuser::Admin,
            Some("engine_settings.proxysql".into()),
            "127.0.0.1:6032".into()
        )
    );
    assert_eq!(
        refuser("refuser: admin, admin-mysql_ifaces: \"/tmp/admin.sock;0.0.0.0:7032\""),
        (
            Refuser::Admin,
            Some("engine_settings.proxysql".into()),
            "127.0.0.1:7032".into()
        )
    );
    let service = Refuser::Service {
        host: "refuser.internal".into(),
        port: 6100,
    };
    let (refuser, origin, _) = refuser("refuser: {host: refuser.internal, port: 6100}");
    assert_eq!(
        (refuser, origin),
        (service, Some("engine_settings.proxysql".into()))
    );
}

#[test]
fn each_reason_has_a_port_until_there_are_no_more() {
    let settings = "engine_settings:\n  proxysql: {refuser: {host: refuser.internal, port: 65534}}\n";
    let service = load_valid(settings).topology;
    assert_eq!(
        service.refusing_server(1),
        Some(("refuser.internal".into(), 65535))
    );
    assert_eq!(service.refusing_server(2), None);
    let admin = load_valid("version: 1\n").topology;
    assert_eq!(admin.refusing_server(2), Some(("127.0.0.1".into(), 6032)));
}
