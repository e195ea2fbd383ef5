//! The samples of the language resolve, and mean what they say.

use std::fmt::Write as _;

use shardwright_diagnostics::render;
use shardwright_topology::model::{KeyValue, MissingAction, MissingBegin, Project, SecretSource};

mod support;

fn load_valid(fixture: &str) -> Project {
    let loaded = support::load_text("valid", fixture);
    let shown = render::text::render(&loaded.problems, &loaded.sources, false);
    loaded.project.unwrap_or_else(|| panic!("{shown}"))
}

#[test]
fn the_whole_language_is_accepted_or_said_not_to_be_supported_yet() {
    let loaded = support::load_text("language", include_str!("valid/language.yaml"));
    let other: Vec<&str> = loaded
        .problems
        .sorted()
        .iter()
        .filter(|problem| problem.code.as_str() != "SW190")
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(other, [""; 0]);
    let said: Vec<String> = loaded
        .problems
        .sorted()
        .iter()
        .map(|problem| {
            let place = problem
                .primary
                .as_ref()
                .map(|label| loaded.sources.display(label.span));
            format!("{} {}", place.unwrap_or_default(), problem.message)
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"");
}

#[test]
fn the_supported_part_of_the_language_resolves_without_problems() {
    let loaded = support::load_text("supported", include_str!("valid/supported.yaml"));
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
    insta::assert_snapshot!(summary, @"");
    insta::assert_debug_snapshot!(project.topology.read_write_policies[0], @"");
    insta::assert_debug_snapshot!(project.topology.throttles[0], @"");
    insta::assert_debug_snapshot!(project.file, @"");
}

#[test]
fn shards_know_their_keys_places_and_instances() {
    let loaded = support::load_text("supported", include_str!("valid/supported.yaml"));
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
    assert!(rule.active && rule.apply);
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
         unknown_key: {{cluster: two}}\n    missing_key: {{session_setup: {{cluster: one}}}}\n    shards: {{s: {{keys: [1], cluster: one}}}}\n  \
         b:\n    key: {{name: z, type: text}}\n    key_from: [{{comment: {{name: zone}}}}]\n    shards: {{s: {{keys: [x], schema: y}}}}\n\
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
    assert_eq!(a.missing_key.statements, MissingAction::Reject);
    assert!(matches!(a.missing_key.session_setup, MissingAction::Cluster(_)));
    assert_eq!(a.missing_key.begin, MissingBegin::Reject);
    assert_eq!(b.shards[0].cluster, None);
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
        let options = shardwright_topology::Options { variables };
        shardwright_topology::load(support::files("v", fixture), &options)
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
