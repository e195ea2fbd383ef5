//! Topologies made of what maps, policies and throttles can say, compiled and loaded as a user would.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use shardwright_compiler::{Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{EngineId, MapStep};
use shardwright_testkit::real_proxysql;

use super::keys::{KEYLESS, keyed, keys_of};
use super::loaded::Loaded;
use super::{LIBRARIES, compiled_maps, leaves_state, wanted};
use crate::engines::cases::CLUSTERS;
use crate::support::*;

/// Topologies of a usual run; a long run tries one for each thousand statements that it asks for.
const USUAL: usize = 6;

/// Finders for keys of each type, with the keys that they can carry.
const INTEGERS: [&str; 5] = [
    "[comment: {}]",
    "[comment: {word: tenant_id}]",
    "[{schema: \"acct_$(key:04)\"}]",
    "[{comment: {}}, {schema: \"acct_$(key:04)\"}]",
    "[{user: \"u_$(key:02)\"}, {comment: {}}]",
];
const TEXTS: [&str; 3] = [
    "[comment: {}]",
    "[comment: {format: sqlcommenter}]",
    "[{schema: \"s_$(key)\"}, {comment: {}}]",
];
const INTEGER_SHARDS: [&str; 4] = [
    "{a: {keys: [1..4], cluster: c1}, b: {keys: [5, 7], cluster: c2}, c: {keys: [40..49], cluster: c3}}",
    "{a: {keys: [1], cluster: c1}, b: {keys: [2..9, 17], cluster: c2}}",
    "{s$(n): {for_each: {n: 1..30}, keys: [$(n)], cluster: \"c$(n % 4 + 1)\"}}",
    "{s$(n): {for_each: {n: 0..6}, keys: [\"$(n * 100)..$(n * 100 + 99)\"], cluster: \"c$(n % 4 + 1)\"}}",
];
const TEXT_SHARDS: [&str; 3] = [
    "{eu: {keys: [eu], cluster: c1}, us: {keys: [us], cluster: c2}}",
    "{a: {keys: [a, ab, abc], cluster: c1}, b: {keys: [b, North, x1], cluster: c2}}",
    "{a: {keys: [\"a.b\", \"a-b\"], cluster: c1}, b: {keys: [a, \"a_b\"], cluster: c3}}",
];

/// Routes with rules among them.
const ROUTES: &str = r#"routes:
  dashes: {match: {match_digest: ['\bid = \?', 'FROM s\b']}, cluster: c5}
  deletions: {match: {match_digest: "^DELETE"}, refuse: not here}
  numbers: {match: {match_digest: '^SELECT \?$'}, cluster: c4}
query_rules:
  some_deletions:
    at: {after: routes.dashes}
    rules:
      - {match_digest: "^DELETE FROM t", username: app, cluster: c3, delay: 1, apply: 1}
      - {match_digest: "^SELECT", match_pattern: "7", flagOUT: 5}
      - {flagIN: 5, cluster: c2, apply: 1}
  others:
    at: {before: routes.numbers}
    rules: [{match_digest: "^INSERT", cluster: c1, apply: 1}]
"#;

/// The text of a topology behind [`CLUSTERS`].
fn topology() -> impl Strategy<Value = String> {
    let map = prop_oneof![
        (
            Just("integer"),
            select(INTEGERS.to_vec()),
            select(INTEGER_SHARDS.to_vec())
        ),
        (Just("text"), select(TEXTS.to_vec()), select(TEXT_SHARDS.to_vec())),
    ];
    let keyless = (
        select(vec!["", "    conflict: first\n", "    conflict: reject\n"]),
        select(vec![
            "",
            "    missing_key: {statements: allow}\n",
            "    missing_key: {statements: {cluster: c5}}\n",
            "    missing_key: {statements: {cluster: c5}, session_setup: allow, begin: reject}\n",
        ]),
        select(vec![
            "",
            "    unknown_key: reject\n",
            "    unknown_key: {cluster: c4}\n",
        ]),
        select(vec!["", "    rule_layout: flat\n", "    rule_layout: tree\n"]),
        select(vec!["", "    applies_to: {users: [app]}\n"]),
    );
    let around = (
        select(vec![
            "",
            "read_write_policies:\n  rw: {reads: {all: true}, writer_hint: {comment: {name: primary}}}\n",
            "read_write_policies:\n  rw: {reads: {only: [{match_digest: \"^SELECT .* FROM t\"}]}, applies_to: {clusters: [c1, c2]}}\n",
            "read_write_policies:\n  rw: {reads: {except: [{functions: [now]}]}}\n",
        ]),
        select(vec![
            "",
            "throttles:\n  purge: {applies_to: {statements: [delete, update]}, delay: 2ms}\n",
        ]),
        select(vec!["", "", ROUTES]),
    );
    (map, keyless, around).prop_map(|((kind, finders, shards), keyless, (policy, throttle, routes))| {
        let (conflict, missing, unknown, layout, scope) = keyless;
        format!(
            "{CLUSTERS}shard_maps:\n  tenants:\n{scope}    key: {{name: tenant, type: {kind}}}\n    key_from: {finders}\n\
             {conflict}{missing}{unknown}{layout}    shards: {shards}\n{policy}{throttle}{routes}"
        )
    })
}

#[test]
fn generated_topologies_are_served_as_the_evaluator_says() {
    let Some(binary) = real_proxysql("the emitted rules of generated topologies") else {
        return;
    };
    let wanted = (wanted() / 1_000).max(USUAL);
    let mut runner = TestRunner::default();
    let (mut served, mut refused, mut compared) = (0, 0, 0);
    while served < wanted {
        let text = topology().new_tree(&mut runner).unwrap().current();
        // Not all that can be combined is a topology, and ProxySQL does not run every one that is.
        let project = read(&text, None).project;
        let project = project.filter(|project| {
            let compiled = compile(
                project,
                EngineId::Proxysql27,
                &Lock::default(),
                &Options::default(),
            );
            problems(&compiled, Severity::Error).is_empty()
        });
        let Some(project) = project else {
            refused += 1;
            assert!(
                refused < 20 + 4 * served,
                "{refused} are no topologies, such as\n{text}"
            );
            continue;
        };
        served += 1;
        // Shown where the test fails.
        println!("{text}");
        let library = LIBRARIES[served % LIBRARIES.len()];
        let loaded = Loaded::start_with(&binary, &project, 1, library);
        compared += checked(&loaded, &compiled_maps(&project));
    }
    println!("{served} topologies, {refused} that are none, {compared} statements routed or refused");
    assert!(compared > served * 50, "{compared}");
}

/// Sends every form of keys, and statements without any, for a user with a default schema and one without.
fn checked(loaded: &Loaded, program: &[MapStep]) -> usize {
    let mut statements: Vec<(Option<String>, String)> =
        KEYLESS.iter().map(|sql| (None, (*sql).to_owned())).collect();
    for map in program {
        for key in keys_of(map).iter().take(10) {
            statements.extend(keyed(map, key));
        }
    }
    let mut compared = 0;
    for user in ["app", "u_05"] {
        let home = loaded
            .compiled
            .configuration
            .default_schema(user)
            .map(str::to_owned);
        for (schema, sql) in statements.iter().filter(|(_, sql)| !leaves_state(sql)) {
            let schema = schema.as_deref().or(home.as_deref());
            let mut client = loaded.client(user, schema);
            compared += usize::from(loaded.check(&mut client, (user, schema), sql));
        }
    }
    compared
}
