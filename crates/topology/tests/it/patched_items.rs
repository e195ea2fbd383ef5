//! Patches of an environment that reach items of lists by a key.

use crate::valid::load_valid;

const LISTS: &str = "# with: -e prod
# file: shardwright.yaml
version: 1
engines: [proxysql-2.7]
environments: [prod]
targets: {local: {engine: proxysql-2.7, admin: \"127.0.0.1:6032\", user: admin, password: {env: A}}}
# file: topology/t.yaml
variables: {port: {type: integer, default: 3306}}
clusters:
  one: {type: single, servers: {a: {host: a}}}
  two: {type: single, servers: {a: {host: b}}}
users: {app: {password: {env: APP}, cluster: one}}
query_rules:
  legacy:
    rules:
      - {rule_id: 100, match_digest: \"^SELECT a.b\", cluster: one, apply: 1}
      - {rule_id: 200, match_digest: \"^SELECT c\", cluster: one, timeout: 500, apply: 1}
      - {rule_id: 300, match_digest: \"^SELECT d\", cluster: one, apply: 1}
";

#[test]
fn patches_reach_items_of_lists_by_a_key() {
    let rules = |patch: &str| -> Vec<String> {
        let project = load_valid(&format!("{LISTS}# file: env/prod.yaml\npatch:\n{patch}"));
        let rules = project.topology.query_rules[0].rules.iter();
        rules.map(|rule| format!("{rule:?}")).collect()
    };
    let base = rules("  users.app.schema: shop\n");
    assert_eq!(base.len(), 3);
    for address in [
        "rules[rule_id=200]",
        "rules.[rule_id=200]",
        "rules[match_digest=^SELECT c]",
    ] {
        let patched = rules(&format!("  \"query_rules.legacy.{address}.timeout\": 900\n"));
        assert_eq!(patched.len(), 3, "{address}");
        assert!(
            base[1].contains("500") && patched[1].contains("900"),
            "{address}: {patched:?}"
        );
        assert!(!patched[1].contains("500"), "{address}: {patched:?}");
    }
    // A value with dots, a key that was not written, one that goes, and an item that goes.
    let patched = rules(
        "  \"query_rules.legacy.rules[match_digest=^SELECT a.b].timeout\": 700\n  \
         query_rules.legacy.rules[rule_id=200].timeout: null\n  query_rules.legacy.rules[rule_id=300]: null\n",
    );
    assert_eq!(patched.len(), 2);
    assert!(
        patched[0].contains("700") && !patched[1].contains("500"),
        "{patched:?}"
    );
}
