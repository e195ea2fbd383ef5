//! Mutants: changes that a statement shows, and changes that are none.

use std::sync::Arc;

use proptest::prelude::*;
use shardwright_prover::KeyedShards;
use shardwright_prover::properties::{Prover, SessionStatement};
use shardwright_routing::RoutingTable;
use shardwright_rules::{Configuration, Evaluator, Statement};
use shardwright_simulation::route_tests::mutants::{Survivor, mutants};

use shardwright_testkit::configuration;

/// The mutants of some rules, each with what is known of it.
fn survivors(yaml: &str) -> Vec<String> {
    let before = Arc::new(configuration(yaml));
    let candidates = Prover::new(&before, KeyedShards::of(&before)).candidates();
    let table = RoutingTable::new(Arc::clone(&before));
    mutants(&before, usize::MAX)
        .iter()
        .map(|mutant| {
            let after = mutant.apply(&before);
            let changed = table.changed(Arc::clone(&after));
            let known = match mutant.survived([&before, &after], [&table, &changed], &candidates) {
                Survivor::Equivalent => "equivalent".to_owned(),
                Survivor::Different(candidate) => differs(&before, &after, &candidate),
                Survivor::Unknown => "unknown".to_owned(),
            };
            format!("{}: {known}", mutant.what)
        })
        .collect()
}

/// What is called different must be.
fn differs(before: &Arc<Configuration>, after: &Arc<Configuration>, candidate: &SessionStatement) -> String {
    let [one, other] = [before, after].map(|configuration| {
        let statement = Statement::new(candidate.query.as_bytes(), Default::default());
        Evaluator::new(Arc::clone(configuration))
            .decide(&candidate.view(), &statement)
            .outcome
    });
    assert_ne!(one, other, "{candidate:?}");
    "different".to_owned()
}

#[test]
fn the_changes_of_a_split() {
    let lines = survivors(
        r#"
rules:
  - {rule_id: 10, match_digest: "^SELECT.*FOR UPDATE", destination_hostgroup: 10, apply: 1}
  - {rule_id: 20, match_digest: "^SELECT", destination_hostgroup: 11, apply: 1}"#,
    );
    insta::assert_snapshot!(lines.join("\n"), @r"
    rule 10 is removed: different
    rule 10 does not apply: different
    rule 10 has no condition match_digest: different
    match_digest of rule 10 matches anywhere: different
    rule 10 sends to hostgroup 20 instead of 10: different
    rules 10 and 20 are swapped: different
    rule 20 is removed: different
    rule 20 does not apply: equivalent
    rule 20 has no condition match_digest: different
    match_digest of rule 20 matches anywhere: different
    rule 20 sends to hostgroup 20 instead of 11: different
    ");
}

#[test]
fn the_changes_of_a_map() {
    let lines = survivors(
        r#"
engine: bundled
rules:
  - rule_id: 1
    native:
      map:
        map: m
        key: tenant
        kind: integer
        finders: [{comment: {word: tenant, form: pairs}}]
        conflict: reject
        unqualified: reject
        shards:
          - {address: shard_maps.m.shards.one, cluster: a, keys: [1]}
          - {address: shard_maps.m.shards.two, cluster: b, ranges: [[2, 9]]}
        missing: {statements: reject, session_setup: allow, begin: reject}
        unknown: reject
  - {rule_id: 2, native: {delay: {delay_ms: 5}}}
  - {rule_id: 3, native: no_multiplex}"#,
    );
    insta::assert_snapshot!(lines.join("\n"), @r"
    query_rules.r.rules[1] is removed: different
    key 1 of m/one belongs to another shard: different
    m/one is on cluster b: different
    the range of m/two that begins at 2 begins one later: different
    m/two is on cluster a: different
    shard map m treats statements without a key differently: different
    shard map m treats session setup without a key differently: different
    shard map m treats BEGIN without a key differently: different
    shard map m treats keys without a shard differently: unknown
    rules 1 and 2 are swapped: unknown
    query_rules.r.rules[2] is removed: different
    query_rules.r.rules[2] delays for longer: different
    rules 2 and 3 are swapped: equivalent
    query_rules.r.rules[3] is removed: different
    ");
}

#[test]
fn so_many_are_spread_evenly() {
    let rules: Vec<String> = (1..=50)
        .map(|id| {
            format!("  - {{rule_id: {id}, match_digest: '^a{id}', destination_hostgroup: 20, apply: 1}}")
        })
        .collect();
    let configuration = configuration(&format!("rules:\n{}", rules.join("\n")));
    let all = mutants(&configuration, usize::MAX);
    for most in [0, 1, 7, 100, all.len()] {
        let some = mutants(&configuration, most);
        assert_eq!(some.len(), most.min(all.len()));
        assert!(some.iter().all(|one| all.contains(one)));
    }
    let ten = mutants(&configuration, 10);
    let ids: Vec<u32> = ten.iter().map(|mutant| mutant.rule_ids[0]).collect();
    assert!(ids.is_sorted() && ids[9] > 40, "{ids:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// What is said to concern some rules changes nothing about statements that match none of them.
    #[test]
    fn others_are_decided_as_before(
        rows in prop::collection::vec((0..2_u32, 0..4_u32, prop::sample::select(vec!["^S", "^U", "t", "x$", "."]), any::<bool>()), 1..6)
    ) {
        let lines: Vec<String> = rows
            .iter()
            .enumerate()
            .map(|(at, (flag, out, pattern, apply))| {
                let jump = if *out > 1 { format!("flagOUT: {}, ", out - 1) } else { String::new() };
                format!(
                    "  - {{rule_id: {}, flagIN: {flag}, {jump}match_digest: '{pattern}', destination_hostgroup: {}, apply: {}}}",
                    at + 1, [10, 11, 20, 30][at % 4], u8::from(*apply)
                )
            })
            .collect();
        let before = Arc::new(configuration(&format!("rules:\n{}\nfast_routing: [{{username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 21}}]", lines.join("\n"))));
        let table = RoutingTable::new(Arc::clone(&before));
        for mutant in mutants(&before, usize::MAX) {
            let Some(positions) = mutant.concerns(&before) else { continue };
            let changed = table.changed(mutant.apply(&before));
            for query in ["SELECT t", "UPDATE x", "t", "x", "S", "DELETE FROM t"] {
                let candidate = SessionStatement { user: "app".into(), schema: Some("shop".into()), query: query.into() };
                let statement = Statement::new(query.as_bytes(), Default::default());
                let usual = table.decide(&candidate.view(), &statement);
                if !usual.hits.iter().any(|hit| positions.contains(&(*hit as usize))) {
                    let other = table_outcome(&changed, &candidate);
                    prop_assert_eq!(usual.outcome, other, "{}: {}", mutant.what, query);
                }
            }
        }
    }
}

fn table_outcome(table: &RoutingTable, candidate: &SessionStatement) -> shardwright_rules::Outcome {
    let statement = Statement::new(candidate.query.as_bytes(), Default::default());
    table.decide(&candidate.view(), &statement).outcome
}
