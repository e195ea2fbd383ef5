//! Names lead to their definition, through generators and over files, also in projects with errors.

use std::fmt::Write as _;

use proptest::prelude::*;
use shardwright_topology::symbols::{Meaning, Symbols, symbols};
use shardwright_topology::{InputFile, Loaded, Options, load};

fn project(files: &[(&str, &str)]) -> (Loaded, Symbols) {
    let project = (
        "shardwright.yaml",
        "version: 1\nengines: [bundled]\nsafety: {protect: [users.*, clusters.pay]}\n",
    );
    let file = |(path, text): &(&str, &str)| InputFile {
        path: (*path).to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let loaded = load(
        files.iter().chain([&project]).map(file).collect(),
        &Options::default(),
    );
    let symbols = symbols(&loaded, &Options::default());
    (loaded, symbols)
}

/// Every name of the topology files: `line:column text = addresses`, definitions with `+`.
fn listed(text: &str) -> String {
    let (loaded, symbols) = project(&[("topology/a.yaml", text)]);
    let mut lines = String::new();
    for symbol in symbols.iter() {
        let place = loaded.sources.display(symbol.span);
        let Some(place) = place.strip_prefix("topology/a.yaml:") else {
            continue;
        };
        let sign = if symbol.is_definition() { "+" } else { " " };
        let meaning = match &symbol.meaning {
            Meaning::Addresses(addresses) => addresses.join(" "),
            Meaning::Glob { section, pattern } => format!("{section}{}", pattern.as_str()),
        };
        writeln!(
            lines,
            "{sign} {place} {} = {meaning}",
            loaded.sources.slice(symbol.span)
        )
        .unwrap();
    }
    lines
}

#[test]
fn generators_define_the_name_of_each_instance() {
    insta::assert_snapshot!(listed(r#"
variables: {base: {type: integer, default: 10}}
clusters:
  c$(n + var.base):
    for_each: {n: 1..2}
    servers: {s$(k): {for_each: {k: [a, b]}, host: "h$(n)$(k)"}}
    writer_preference: [sb, "s$(n)"]
"#), @"
    + 2:13 base = variables.base
    + 4:3 c$(n + var.base) = clusters.c11 clusters.c12
      4:6 n = for_each.1
      4:14 base = variables.base
    + 5:16 n = for_each.1
    + 6:15 s$(k) = clusters.c11.servers.sa clusters.c11.servers.sb clusters.c12.servers.sa clusters.c12.servers.sb
      6:18 k = for_each.2
    + 6:34 k = for_each.2
      6:56 n = for_each.1
      6:60 k = for_each.2
      7:25 sb = clusters.c11.servers.sb clusters.c12.servers.sb
      7:30 s$(n) = clusters.c11.servers.s1 clusters.c12.servers.s2
      7:33 n = for_each.1
    ");
}

#[test]
fn a_test_names_the_listener_of_its_session() {
    insta::assert_snapshot!(listed(r#"
listeners: {reports: {port: 3307, address: 0.0.0.0}}
session: {listener: reports}
"#), @"
    + 2:13 reports = listeners.reports
      3:21 reports = listeners.reports
    ");
}

#[test]
fn references_are_names_globs_and_addresses() {
    insta::assert_snapshot!(listed(r#"
shard_maps:
  m:
    applies_to: {users: [app, "a*"], except_clusters: [x]}
    otherwise: shard_maps.n
    shards: {t$(n): {for_each: {n: 1..2}, cluster: "c$(n % 2)"}}
    overrides: {t2: {cluster: x}}
    unknown_key: {cluster: x}
query_rules:
  r: {at: {before: shard_maps.m}, rules: [{username: app, cluster: x}]}
firewall: {app: {mode: detecting}}
moves: {m/t1: {from: c1, to: x}}
session: {user: app}
route_tests:
  a test:
    for_each: {n: 1..2}
    query: "/* t=$(n) */ SELECT 1"
    expect: {shard: "m/t$(n)", cluster: "c$(n)", rule: query_rules.r, mirror: x}
  another: {script: [{query: x, after: 5ms, session: {user: two}, expect: {shard: [m/t1]}}]}
"#), @"
    + 3:3 m = shard_maps.m
      4:26 app = users.app
      4:32 a* = users.a*
      4:56 x = clusters.x
      5:27 n = shard_maps.n
    + 6:14 t$(n) = shard_maps.m.shards.t1 shard_maps.m.shards.t2
      6:17 n = for_each.1
    + 6:33 n = for_each.1
      6:53 c$(n % 2) = clusters.c0 clusters.c1
      6:56 n = for_each.1
      7:17 t2 = shard_maps.m.shards.t2
      7:31 x = clusters.x
      8:28 x = clusters.x
    + 10:3 r = query_rules.r
      10:31 m = shard_maps.m
      10:54 app = users.app
      10:68 x = clusters.x
      11:12 app = users.app
      12:9 m = shard_maps.m
      12:11 t1 = shard_maps.m.shards.t1
      12:22 c1 = clusters.c1
      12:30 x = clusters.x
      13:17 app = users.app
    + 16:16 n = for_each.2
      17:20 n = for_each.2
      18:22 m = shard_maps.m
      18:24 t$(n) = shard_maps.m.shards.t1 shard_maps.m.shards.t2
      18:27 n = for_each.2
      18:42 c$(n) = clusters.c1 clusters.c2
      18:45 n = for_each.2
      18:68 r = query_rules.r
      18:79 x = clusters.x
      19:61 two = users.two
      19:84 m = shard_maps.m
      19:86 t1 = shard_maps.m.shards.t1
    ");
}

#[test]
fn definitions_and_references_find_each_other() {
    let (loaded, symbols) = project(&[
        (
            "topology/a.yaml",
            "clusters:\n  pay: {type: single}\n  s$(n): {for_each: {n: 1..3}}\n",
        ),
        (
            "topology/b.yaml",
            "clusters: {pay: {tls: required}}\nusers:\n  app: {cluster: s2}\n  two: {cluster: pay}\n",
        ),
    ]);
    let file = |path: &str| {
        loaded
            .sources
            .files()
            .find(|file| loaded.sources.path(*file) == path)
            .unwrap()
    };
    let at = |path: &str, word: &str| {
        let file = file(path);
        let offset = loaded.sources.text(file).find(word).unwrap();
        symbols.at(file, u32::try_from(offset).unwrap()).unwrap()
    };
    let places = |found: Vec<&shardwright_topology::symbols::Symbol>| -> Vec<String> {
        found
            .iter()
            .map(|symbol| loaded.sources.display(symbol.span))
            .collect()
    };
    assert_eq!(
        places(symbols.definitions(at("topology/b.yaml", "s2"))),
        ["topology/a.yaml:3:3"]
    );
    assert_eq!(
        places(symbols.definitions(at("topology/b.yaml", "pay}\n"))),
        ["topology/a.yaml:2:3", "topology/b.yaml:1:12"]
    );
    let pay = at("topology/a.yaml", "pay");
    assert_eq!(
        places(symbols.references(pay.addresses())),
        ["shardwright.yaml:3:38", "topology/b.yaml:4:18"]
    );
    assert_eq!(
        places(symbols.references(at("topology/b.yaml", "app").addresses())),
        ["shardwright.yaml:3:26"]
    );
    assert!(symbols.at(file("topology/a.yaml"), 0).is_none());
    assert_eq!(
        symbols.names("clusters.").collect::<Vec<_>>(),
        ["pay", "s1", "s2", "s3", "pay"]
    );
}

#[test]
fn too_many_instances_leave_names_out() {
    let (_, symbols) = project(&[(
        "topology/a.yaml",
        "clusters:\n  c$(a)-$(b): {for_each: {a: 1..2000, b: 1..2000}}\n  d: {}\n",
    )]);
    assert!(!symbols.complete());
    assert!(symbols.is_defined("clusters.d"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in r#"(clusters|users|shards|for_each|\$\(n\)|n: 1\.\.2|moves|a/b|protect|[:{}\[\], \n"'$(.*)])*"#) {
        let (loaded, symbols) = project(&[("topology/a.yaml", &text)]);
        for symbol in symbols.iter() {
            prop_assert!(symbol.span.range().end <= loaded.sources.text(symbol.span.file).len());
            if symbol.is_definition() && !symbol.addresses().is_empty() {
                prop_assert!(symbols.definitions(symbol).contains(&symbol));
            }
        }
    }
}
