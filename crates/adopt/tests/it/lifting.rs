//! Rules as named objects.

use crate::support::{assert_same_routing, files, imported, lifted, lifts};

const SHOP: &str = "
INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1'), (20, 'db2'), (20, 'db3'), (30, 'dwh');
INSERT INTO mysql_users (username, password, default_hostgroup, default_schema) VALUES
  ('app', 'x', 10, 'shop'), ('batch', 'x', 10, 'shop');
";

fn shop(rules: &str) -> String {
    format!("{SHOP}INSERT INTO mysql_query_rules {rules};")
}

#[test]
fn reads_become_the_policy_of_their_cluster() {
    let file = imported(&shop(
        "(rule_id, active, match_digest, destination_hostgroup, delay, timeout, username, apply) VALUES
          (1, 1, '^DELETE FROM audit', NULL, 50, NULL, NULL, 0),
          (2, 1, NULL, NULL, NULL, 60000, 'batch', 0),
          (10, 1, '^SELECT.*FOR UPDATE$', 10, NULL, NULL, NULL, 1),
          (20, 1, '^SELECT .* FROM facts', 30, NULL, NULL, NULL, 1),
          (30, 1, '^SELECT', 20, NULL, NULL, NULL, 1)",
    ));
    let adopted = lifted(&file);
    insta::assert_snapshot!(lifts(&adopted));
    insta::assert_snapshot!(files(&adopted));
    assert_same_routing(&file, &adopted, "a split");
}

#[test]
fn users_become_a_map() {
    let file = imported(&shop(
        "(rule_id, active, username, destination_hostgroup, apply) VALUES (1, 1, 'app', 10, 1), (2, 1, 'batch', 30, 1)",
    ));
    let adopted = lifted(&file);
    insta::assert_snapshot!(lifts(&adopted));
    insta::assert_snapshot!(files(&adopted));
    assert_same_routing(&file, &adopted, "users");
}

#[test]
fn schemas_become_a_map_and_their_reads_policies() {
    let file = imported(
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'a'), (100, 'w0'), (101, 'r0'), (110, 'w1'), (111, 'r1');
         INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 10), ('ops', 'x', 10);
         INSERT INTO mysql_query_rules (rule_id, active, schemaname, match_digest, destination_hostgroup, apply) VALUES
           (1, 1, 's0', '^SELECT.*FOR UPDATE$', 100, 1), (2, 1, 's0', '^SELECT', 101, 1), (3, 1, 's0', NULL, 100, 1),
           (4, 1, 's1', '^SELECT', 111, 1), (5, 1, 's1', NULL, 110, 1);",
    );
    let adopted = lifted(&file);
    insta::assert_snapshot!(lifts(&adopted));
    insta::assert_snapshot!(files(&adopted));
    assert_same_routing(&file, &adopted, "schemas");
}

#[test]
fn rows_of_fast_routing_become_a_map() {
    let file = imported(
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'a'), (20, 'b'), (30, 'c');
         INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 10), ('ops', 'x', 10), ('bi', 'x', 10);
         INSERT INTO mysql_query_rules_fast_routing (username, schemaname, destination_hostgroup, comment) VALUES
           ('app', 's0', 20, ''), ('app', 's1', 30, ''), ('ops', 's0', 20, ''), ('ops', 's1', 30, ''), ('bi', 's0', 30, '');",
    );
    let adopted = lifted(&file);
    assert_eq!(adopted.lifted.routes_resisted, None);
    insta::assert_snapshot!(files(&adopted));
    assert_same_routing(&file, &adopted, "rows");
}

#[test]
fn a_user_of_any_name_is_held_and_keeps_no_rule_from_being_lifted() {
    let odd = "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('svc.app', 'x', 30);";
    let rules = "(rule_id, active, match_digest, destination_hostgroup, apply) VALUES (10, 1, '^SELECT.*FOR UPDATE$', 10, 1),
          (20, 1, '^SELECT .* FROM facts', 30, 1), (30, 1, '^SELECT', 20, 1)";
    let adopted = lifted(&imported(&format!("{odd}{}", shop(rules))));
    assert_eq!(adopted.unwritten, []);
    assert!(
        files(&adopted).contains("svc-app: {login: svc.app,"),
        "{}",
        files(&adopted)
    );
    assert_eq!(adopted.lifted.resisted, [], "{}", lifts(&adopted));
}

#[test]
fn rules_that_no_object_says_keep_their_places_among_routes() {
    let file = imported(&shop(
        "(rule_id, active, username, match_digest, destination_hostgroup, timeout, replace_pattern, match_pattern, apply) VALUES
          (10, 1, 'batch', '^SELECT .* FROM facts', 30, NULL, NULL, NULL, 1),
          (20, 1, NULL, '^SELECT .* FROM facts', 30, 60000, NULL, NULL, 1),
          (30, 1, NULL, '^SELECT .* FROM dim', 30, NULL, NULL, NULL, 1),
          (40, 1, NULL, '^SELECT .* FROM (dim|day)', 20, NULL, NULL, NULL, 1),
          (50, 1, 'batch', NULL, NULL, NULL, 'SELECT 2', '^SELECT 1$', 0),
          (60, 1, NULL, '^SELECT [12?]$', 30, NULL, NULL, NULL, 1),
          (70, 1, 'app', NULL, 20, 1000, NULL, '^SELECT a', 1)",
    ));
    let adopted = lifted(&file);
    insta::assert_snapshot!(lifts(&adopted));
    insta::assert_snapshot!(files(&adopted));
    assert_same_routing(&file, &adopted, "rules that stay");
}
