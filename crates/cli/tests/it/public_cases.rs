//! What people asked in public about their rule sets and files, each as a small input of the same structure: the right answer.

mod rules;

use std::path::Path;

use shardwright_testkit::CommandEnvironment;

use crate::support::PROGRAM;

/// A command on the files of a case, and what its output must and must not say.
struct Ask {
    command: &'static [&'static str],
    code: i32,
    says: &'static [&'static str],
    lacks: &'static [&'static str],
}

const fn ask(
    command: &'static [&'static str],
    code: i32,
    says: &'static [&'static str],
    lacks: &'static [&'static str],
) -> Ask {
    Ask {
        command,
        code,
        says,
        lacks,
    }
}

/// The folder of a case with its files.
fn folder(case: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/public_cases")
        .join(case)
}

fn copy(from: &Path, below: &str, environment: &CommandEnvironment) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            copy(&entry.path(), &format!("{name}/"), environment);
        } else {
            environment
                .write(&name, std::fs::read(entry.path()).unwrap())
                .unwrap();
        }
    }
}

fn check(case: &str, asks: &[Ask]) {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    copy(&folder(case), "", &environment);
    let mut wrong = Vec::new();
    for ask in asks {
        let output = environment.run(ask.command).unwrap();
        let all = format!("{}{}", output.stdout, output.stderr);
        let missing = ask.says.iter().filter(|text| !all.contains(**text));
        let found = ask.lacks.iter().filter(|text| all.contains(**text));
        let (missing, found): (Vec<_>, Vec<_>) = (missing.collect(), found.collect());
        if output.code() != Some(ask.code) || !missing.is_empty() || !found.is_empty() {
            wrong.push(format!(
                "{:?}: code {:?}, misses {missing:?}, has {found:?}\n{all}",
                ask.command,
                output.code()
            ));
        }
    }
    assert!(wrong.is_empty(), "{case}\n{}", wrong.join("\n\n"));
}

#[test]
fn a_port_is_named_by_its_number() {
    let of = |file: &'static str, port: &'static str| -> Vec<&'static str> {
        vec![
            "route",
            "--rules",
            file,
            "--user",
            "vaultapp",
            "--schema",
            "vault_0003",
            "--listener",
            port,
            "SELECT 1 FROM t",
        ]
    };
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    copy(&folder("01-ports-flags-fast-routing"), "", &environment);
    for file in ["complete.sql", "rules.sql"] {
        for (port, hostgroup) in [("10000", "hostgroup 3"), ("12000", "hostgroup 4")] {
            let output = environment.run(of(file, port)).unwrap().success();
            assert!(output.stdout.contains(hostgroup), "{file} {port}\n{output}");
        }
    }
    let other = environment.run(of("complete.sql", "7")).unwrap();
    assert_eq!(other.code(), Some(64), "{other}");
    assert!(other.stderr.contains("listeners: listener0 ("), "{other}");
    // A rule set that names no listener may have any.
    let other = environment.run(of("rules.sql", "7")).unwrap().success();
    assert!(other.stdout.contains("no rule matched"), "{other}");
}

#[test]
fn switches_that_the_engine_does_not_read_stay_on() {
    check(
        "03-booleans-in-cnf",
        &[
            ask(
                &["lint", "proxysql.cnf"],
                3,
                &[
                    "it stays active: only 0 and 1 are read",
                    "the engine has no variable mysql-default_hostgroup",
                    "the engine has no variable mysql-mysql-writer_hostgroups",
                ],
                &[],
            ),
            ask(
                &[
                    "route",
                    "--rules",
                    "proxysql.cnf",
                    "--user",
                    "blog",
                    "SELECT a FROM t WHERE id=1 FOR UPDATE",
                ],
                0,
                &["hostgroup 20"],
                &[],
            ),
        ],
    );
}

#[test]
fn json_in_a_file_is_a_text_and_may_hold_a_password() {
    check(
        "04-json-attributes-in-cnf",
        &[
            ask(
                &["lint", "bare-json.cnf"],
                65,
                &["JSON is a text: write it between double quotes"],
                &["63616E6172792D737061726531"],
            ),
            ask(
                &["lint", "escaped.cnf"],
                3,
                &["attributes of user rotating"],
                &["63616E6172792D737061726531"],
            ),
        ],
    );
}

#[test]
fn mistakes_in_a_file_are_told_in_its_words() {
    check(
        "05-unquoted-words-in-cnf",
        &[
            ask(
                &["lint", "unquoted-user.cnf"],
                65,
                &["unquoted-user.cnf:7:22", "the quotes are missing"],
                &["monitor_password=probe", "a value is missing"],
            ),
            ask(
                &["lint", "unquoted-method.cnf"],
                65,
                &["unquoted-method.cnf:7:16", "the quotes are missing"],
                &[],
            ),
            ask(
                &["lint", "single-quotes.cnf"],
                65,
                &["single-quotes.cnf:1:29", "single quotes are none to the engine"],
                &["hostname"],
            ),
            ask(
                &["lint", "missing-brace.cnf"],
                65,
                &["missing-brace.cnf:4:10", "a `{` before it may be missing"],
                &[],
            ),
            ask(
                &["lint", "no-comma.cnf"],
                65,
                &["no-comma.cnf:4:9", "separated by commas"],
                &[],
            ),
            ask(
                &["lint", "twice.cnf"],
                65,
                &["mysql_servers is set twice: the engine does not start"],
                &[],
            ),
        ],
    );
}

#[test]
fn a_dump_of_an_old_version_is_read_by_its_columns() {
    check(
        "07-dump-of-proxysql-1.4",
        &[
            ask(
                &["lint", "disk.sql"],
                3,
                &["as ProxySQL 1.4 or an earlier version has it"],
                &["values were supplied"],
            ),
            ask(
                &["route", "--rules", "disk.sql", "SELECT a FROM t WHERE id=1"],
                0,
                &["hostgroup"],
                &["values were supplied"],
            ),
        ],
    );
}

#[test]
fn a_column_that_is_not_shown_is_not_known() {
    check(
        "11-printed-table-with-few-columns",
        &[
            ask(
                &["lint", "rules.txt"],
                3,
                &["shown without", "apply"],
                &["claim:   proved", "claim: proved"],
            ),
            ask(
                &["route", "--rules", "rules.txt", "SELECT a FROM t FOR UPDATE"],
                0,
                &["undecided, perhaps"],
                &[],
            ),
        ],
    );
}

#[test]
fn an_anchor_is_for_one_alternative() {
    check(
        "12-alternation-without-parentheses",
        &[
            ask(
                &["lint", "small.sql"],
                3,
                &["SW401", "sends a write to readers", "DESC"],
                &[],
            ),
            ask(&["lint", "rules.sql"], 3, &["SW401"], &["0.0.0.0:6033"]),
        ],
    );
}

#[test]
fn a_temporary_table_and_its_rows_go_to_one_hostgroup() {
    check(
        "14-temporary-tables-on-readers",
        &[ask(
            &["lint", "rules.sql"],
            3,
            &["SW410", "INSERT into the table goes to hostgroup 500"],
            &[],
        )],
    );
}

#[test]
fn no_rule_is_asked_for_a_user_with_fast_forward() {
    check(
        "15-fast-forward-user",
        &[
            ask(
                &[
                    "route",
                    "--rules",
                    "rules.sql",
                    "--user",
                    "bench",
                    "SELECT 1 FROM t",
                ],
                0,
                &["undecided, perhaps", "user bench has fast_forward"],
                &[],
            ),
            ask(
                &["import", "rules.sql", "-o", "out"],
                0,
                &["user bench has fast_forward"],
                &[],
            ),
            ask(
                &["prove", "equivalent", "out", "rules.sql"],
                8,
                &["user bench has fast_forward"],
                &["proved:"],
            ),
        ],
    );
}

#[test]
fn an_empty_flag_of_the_firewall_matches_nothing() {
    check(
        "17-firewall-rows",
        &[ask(
            &[
                "route",
                "--rules",
                "rules.sql",
                "--user",
                "portal",
                "--schema",
                "portal",
                "SELECT 1",
            ],
            0,
            &["refused", "1148"],
            &[],
        )],
    );
}

#[test]
fn hostgroups_of_aurora_are_filled_by_the_engine() {
    for file in ["rules.sql", "proxysql.cnf"] {
        let environment = CommandEnvironment::new(PROGRAM).unwrap();
        copy(&folder("18-aurora-hostgroups"), "", &environment);
        let output = environment.run(["lint", file]).unwrap();
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("SW701"), "{all}");
        assert!(all.contains("mysql_aws_aurora_hostgroups"), "{all}");
        assert!(
            !all.contains("mysql_aws_aurora_hostgroups does not affect routing"),
            "{all}"
        );
        let output = environment
            .run(["import", file, "-o", &format!("out-{file}")])
            .unwrap();
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains("a plan leaves it as it is"), "{all}");
    }
}

#[test]
fn a_template_is_told_once() {
    for (file, place) in [
        ("toolkit.cnf", "line 5"),
        ("helm.cnf", "line 1"),
        ("envsubst.cnf", "line 2"),
    ] {
        let environment = CommandEnvironment::new(PROGRAM).unwrap();
        copy(&folder("19-unrendered-templates"), "", &environment);
        let output = environment.run(["lint", file]).unwrap();
        let all = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code(), Some(65), "{file}\n{all}");
        assert!(
            all.contains("the file is a template") && all.contains(place),
            "{file}\n{all}"
        );
        assert_eq!(all.matches("error[").count(), 1, "{file}\n{all}");
    }
}

#[test]
fn a_rule_with_the_number_0_is_told() {
    check(
        "20-rendered-helm-chart",
        &[
            ask(
                &["import", "proxysql.cnf", "-o", "out"],
                3,
                &[
                    "2 clusters",
                    "rule 0: the numbers of a project begin at 1: a plan removes it, so give it another number first",
                ],
                &["internal error"],
            ),
            ask(&["-C", "out", "validate"], 0, &["valid"], &[]),
            ask(
                &["prove", "equivalent", "out", "proxysql.cnf"],
                3,
                &["refuted", "mysql_query_rules.0"],
                &["proved:"],
            ),
        ],
    );
}
