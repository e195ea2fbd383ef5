//! Cases about what rules do to statements.

use shardwright_testkit::CommandEnvironment;

use super::{ask, check, copy, folder};
use crate::support::PROGRAM;

#[test]
fn rules_that_are_never_loaded_are_told() {
    check(
        "23-rules-never-loaded",
        &[ask(
            &["lint", "rules.sql"],
            3,
            &[
                "SW168",
                "the script writes MYSQL QUERY RULES and never loads them",
            ],
            &[],
        )],
    );
}

#[test]
fn masking_by_rewriting_stays_right() {
    check(
        "24-masking-by-rewrite",
        &[
            ask(&["lint", "rules.sql"], 3, &["SW503", "SW504"], &[]),
            ask(
                &[
                    "route",
                    "--rules",
                    "rules.sql",
                    "--user",
                    "analyst",
                    "SELECT * FROM staff",
                ],
                0,
                &["refused error 1148: blocked"],
                &[],
            ),
        ],
    );
}

#[test]
fn doubled_backslashes_are_told() {
    check(
        "25-wordpress-cache-rules",
        &[
            ask(
                &["lint", "rules.sql"],
                3,
                &["SW249", "rule 9 asks for a backslash", "SW401"],
                &[],
            ),
            ask(
                &[
                    "route",
                    "--rules",
                    "rules.sql",
                    "SELECT option_value FROM wp7_options WHERE option_name = 'x' LIMIT 1",
                ],
                0,
                &["cached    120000 ms"],
                &[],
            ),
        ],
    );
}

#[test]
fn writes_to_a_hostgroup_without_servers_stay_told() {
    check(
        "26-block-writes-by-empty-hostgroup",
        &[ask(&["lint", "rules.sql"], 3, &["SW701", "hostgroup 9999"], &[])],
    );
}

#[test]
fn a_second_pair_of_one_writer_is_refused_at_its_line() {
    check(
        "27-two-groups-of-readers",
        &[ask(&["lint", "rules.sql"], 3, &["UNIQUE constraint failed"], &[])],
    );
}

#[test]
fn networks_are_no_addresses() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    copy(&folder("28-users-from-allowed-hosts"), "", &environment);
    let _valid = environment.run(["-C", "project", "validate"]).unwrap().success();
    let path = environment.project().join("project/topology/main.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    for wrong in ["10.0.12.0/23", "db.example.org"] {
        std::fs::write(
            &path,
            text.replace("\"10.0.12.%\", \"10.0.13.%\"", &format!("\"{wrong}\"")),
        )
        .unwrap();
        let output = environment.run(["-C", "project", "validate"]).unwrap();
        assert_eq!(output.code(), Some(65), "{output}");
        assert!(
            format!("{}{}", output.stdout, output.stderr).contains("compared as text"),
            "{output}"
        );
    }
}

#[test]
fn tenants_with_hashed_schemas_stay_right() {
    check(
        "30-hashed-schema-names",
        &[ask(
            &[
                "-C",
                "project",
                "route",
                "--user",
                "saas",
                "--schema",
                "tenant_nope",
                "SELECT 1 FROM t",
            ],
            0,
            &["SW352"],
            &[],
        )],
    );
}

#[test]
fn servers_that_tell_gtids_are_seen() {
    check(
        "32-reads-that-wait-for-a-gtid",
        &[
            ask(
                &["lint", "rules.sql"],
                3,
                &["gtid_port of m1.db:3306"],
                &["SW613"],
            ),
            ask(
                &["import", "rules.sql", "-o", "out"],
                0,
                &["gtid_port of m1.db:3306"],
                &[],
            ),
        ],
    );
}

#[test]
fn a_cache_for_everything_stays_told() {
    check(
        "33-cache-all-for-an-orm",
        &[ask(&["lint", "proxysql.cnf"], 3, &["SW606", "SW609"], &[])],
    );
}

#[test]
fn traffic_that_two_digests_move_stays_counted() {
    check(
        "34-digest-rules-and-traffic",
        &[ask(
            &[
                "traffic",
                "diff",
                "before.sql",
                "after.sql",
                "--log",
                "digests.tsv",
            ],
            2,
            &["50.0 % move"],
            &[],
        )],
    );
}

#[test]
fn a_list_of_allowed_statements_with_an_open_end_is_told() {
    check(
        "36-allow-list-by-chains",
        &[ask(
            &["lint", "rules.sql"],
            3,
            &[
                "SW250",
                "the chain with flag 200 has no refusal at its end",
                "SW241",
            ],
            &[],
        )],
    );
}

#[test]
fn an_apostrophe_in_a_comment_loses_its_rule() {
    check(
        "37-apostrophe-in-a-rule-comment",
        &[
            ask(
                &["lint", "proxysql.cnf"],
                3,
                &["SW166", "the engine drops the entry: `comment` holds a quote"],
                &[],
            ),
            ask(
                &[
                    "route",
                    "--rules",
                    "proxysql.cnf",
                    "SELECT a FROM t WHERE id=1 FOR UPDATE",
                ],
                0,
                &["SW166", "hostgroup 20"],
                &[],
            ),
        ],
    );
}
