//! Input that says nothing, or says something else than it seems: an exit code of its own, and nothing is written.

use std::process::{Command, Stdio};

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::editor::Editor;
use crate::support::{PROGRAM, example, examples, project};

const TOPOLOGY: &str = "version: 1\nclusters:\n  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}\n\
    users:\n  app: {password: {env: P}, cluster: shop, schema: shop}\n  rep: {password: {env: P}, cluster: shop}\n\
    read_write_policies:\n  reads: {applies_to: {schemas: [arch]}, reads: {all: true}}\n";

fn succeeds(environment: &CommandEnvironment, arguments: &[&str]) {
    let output = environment.run(arguments).unwrap();
    assert_eq!(output.code(), Some(0), "{arguments:?}: {}", output.stderr);
}

fn shop() -> CommandEnvironment {
    project("proxysql-2.7, bundled", &[("topology/t.yaml", TOPOLOGY)])
}

#[test]
fn an_empty_file_is_no_rule_set() {
    let environment = shop();
    for (name, text) in [
        ("empty.sql", ""),
        ("comment.sql", "-- nothing\n"),
        ("empty.cnf", "\n"),
    ] {
        environment.write(name, text).unwrap();
        for arguments in [
            vec!["import", name, "-o", "imported"],
            vec!["lint", name],
            vec!["route", "--rules", name, "SELECT 1"],
            vec!["prove", "equivalent", name, "."],
            vec!["traffic", "diff", name, ".", "--log", "topology/t.yaml"],
        ] {
            let output = environment.run(&arguments).unwrap();
            assert_eq!(
                output.code(),
                Some(65),
                "{arguments:?}: {}{}",
                output.stdout,
                output.stderr
            );
            let said = "holds no statement, no row and no setting";
            assert!(output.stderr.contains(said), "{arguments:?}: {}", output.stderr);
        }
    }
    assert!(!environment.project().join("imported").exists());
}

#[test]
fn no_statement_goes_nowhere() {
    let environment = shop();
    environment.write("empty.txt", " \n").unwrap();
    for arguments in [
        vec!["route", "--user", "app", ""],
        vec!["route", "--user", "app", "--file", "empty.txt"],
        vec!["route", "--user", "app"],
    ] {
        let output = environment.run(&arguments).unwrap();
        assert_eq!(output.code(), Some(64), "{arguments:?}: {}", output.stdout);
        assert!(
            output.stderr.contains("there is no statement"),
            "{}",
            output.stderr
        );
    }
}

#[test]
fn options_that_cannot_be_meant_are_refused() {
    let environment = shop();
    for arguments in [
        vec!["route", "--user", "app", "--client", "not an address", "SELECT 1"],
        vec!["route", "--user", "app", "--client", "10.0.0.7:3306", "SELECT 1"],
        vec!["validate", "--var", "a=1", "--var", "a=2"],
        vec!["compile", "-o", "rules.sql"],
    ] {
        let output = environment.run(&arguments).unwrap();
        assert_eq!(output.code(), Some(64), "{arguments:?}: {}", output.stderr);
    }
    assert!(
        !environment.project().join("shardwright.lock").exists(),
        "a lock was written"
    );
    for client in ["10.0.0.7", "::1", "fe80::1%eth0", "localhost"] {
        succeeds(
            &environment,
            &["route", "--user", "app", "--client", client, "SELECT 1"],
        );
    }
}

#[test]
fn fmt_leaves_texts_alone_that_are_no_files_of_a_project() {
    let environment = shop();
    for (name, text) in [
        ("README.md", "some   words\n\n  and more\n"),
        ("passwd", "root\nbin  \n"),
        ("list.yaml", "- a\n-   b\n"),
    ] {
        environment.write(name, text).unwrap();
        for arguments in [
            vec!["fmt", name],
            vec!["fmt", "--check", name],
            vec!["fmt", "topology/t.yaml", name],
        ] {
            let output = environment.run(&arguments).unwrap();
            assert_eq!(output.code(), Some(65), "{arguments:?}: {}", output.stderr);
        }
        assert_eq!(environment.read(name).unwrap(), text);
    }
}

#[test]
fn attributes_of_a_repository_stay_and_what_they_lack_is_told() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write(".gitattributes", "*.png binary\n").unwrap();
    let output = environment.run(["init"]).unwrap().success();
    assert!(
        output.stderr.contains("shardwright.lock merge=union"),
        "{}",
        output.stderr
    );
    assert_eq!(environment.read(".gitattributes").unwrap(), "*.png binary\n");
}

#[test]
fn what_compile_writes_as_sql_and_as_cnf_is_proved_equal() {
    for name in ["access", "tenants"] {
        let environment = example(name);
        for form in ["sql", "cnf"] {
            let file = format!("rules.{form}");
            let compile = ["compile", "--engine", "proxysql-2.7", "--emit", form, "-o", &file];
            succeeds(&environment, &compile);
        }
        let output = environment
            .run(["prove", "equivalent", "rules.sql", "rules.cnf"])
            .unwrap();
        assert_eq!(output.code(), Some(0), "{name}: {}", output.stdout);
    }
}

/// The users that a project has on ProxySQL.
fn users(environment: &CommandEnvironment) -> Vec<String> {
    let output = environment
        .run(["compile", "--engine", "proxysql-2.7", "--emit", "json"])
        .unwrap()
        .success();
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    let users = json["users"].as_array().unwrap().iter();
    users
        .map(|user| user["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn digests_go_where_they_went_through_the_project_itself() {
    let texts = [
        "SELECT a FROM t WHERE id=?",
        "UPDATE t SET a=? WHERE id=?",
        "INSERT INTO t VALUES (?,...)",
        "BEGIN",
        "SET NAMES utf8mb4",
        "DELETE FROM t WHERE Continent=?",
    ];
    let mut examined = 0;
    for entry in std::fs::read_dir(examples()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let environment = example(&name);
        if !environment
            .read("shardwright.yaml")
            .unwrap()
            .contains("proxysql-2.7")
        {
            continue;
        }
        let mut log =
            String::from("hostgroup,schemaname,username,client_address,digest,digest_text,count_star\n");
        for user in users(&environment) {
            for text in texts {
                for schema in ["", "app", "other"] {
                    log += &format!("1,{schema},\"{user}\",,,\"{text}\",3\n");
                }
            }
        }
        environment.write("digests.csv", &log).unwrap();
        for engine in ["proxysql-2.7", "bundled"] {
            let output = environment
                .run([
                    "traffic",
                    "diff",
                    ".",
                    ".",
                    "--engine",
                    engine,
                    "--log",
                    "digests.csv",
                ])
                .unwrap();
            assert_eq!(
                output.code(),
                Some(0),
                "{name}, {engine}: {}{}",
                output.stdout,
                output.stderr
            );
            assert!(
                output.stdout.contains(": 100 % go the same way"),
                "{name}, {engine}: {}",
                output.stdout
            );
        }
        examined += 1;
    }
    assert!(examined > 5, "{examined} examples");
}

#[test]
fn digests_that_meet_no_changed_rule_are_decided() {
    let environment = example("tenants");
    let compile = [
        "compile",
        "--engine",
        "proxysql-2.7",
        "--emit",
        "sql",
        "-o",
        "a.sql",
    ];
    succeeds(&environment, &compile);
    let a = environment.read("a.sql").unwrap();
    let more = "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) \
        VALUES (9, 1, '^SELECT moved ', 1, 1);\n";
    environment.write("b.sql", format!("{a}\n{more}")).unwrap();
    let log = "schemaname,username,digest_text,count_star\napp,app,SELECT a FROM t WHERE id=?,90\napp,app,SELECT moved FROM t,10\n";
    environment.write("digests.csv", log).unwrap();
    let output = environment
        .run(["traffic", "diff", "a.sql", "b.sql", "--log", "digests.csv"])
        .unwrap();
    assert!(
        output.stdout.contains("90.0 % go the same way"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_diff_that_decides_nothing_says_so_with_its_exit_code() {
    let environment = shop();
    environment
        .write(
            "digests.csv",
            "schemaname,username,digest_text,count_star\nshop,ghost,SELECT ?,1\n",
        )
        .unwrap();
    let output = environment
        .run(["traffic", "diff", ".", ".", "--log", "digests.csv"])
        .unwrap();
    assert_eq!(output.code(), Some(8), "{}", output.stdout);
    let output = environment
        .run([
            "traffic",
            "diff",
            ".",
            ".",
            "--log",
            "digests.csv",
            "--user",
            "ghost",
        ])
        .unwrap();
    assert_eq!(output.code(), Some(64), "{}", output.stdout);
    assert!(output.stderr.contains("users: app, rep"), "{}", output.stderr);
}

/// A slow log of MySQL with one `use`: the statement behind it was sent in that schema, or in none.
#[test]
fn what_a_slow_log_cannot_tell_is_undecided() {
    let environment = shop();
    let changed = TOPOLOGY.replace("[arch]", "[shop]");
    environment
        .write(
            "other/shardwright.yaml",
            "version: 1\nengines: [proxysql-2.7, bundled]\n",
        )
        .unwrap();
    environment.write("other/topology/t.yaml", changed).unwrap();
    let head =
        "# Time: 2026-11-21T10:00:00.1Z\n# User@Host: app[app] @  [10.0.0.7]  Id: 12\n# Query_time: 1.0\n";
    let log = format!(
        "{head}SET timestamp=1;\nSELECT a FROM t;\n{head}use arch;\nSET timestamp=1;\nSELECT b FROM t;\n\
         {head}SET timestamp=1;\nSELECT c FROM t;\n{head}use third;\nSET timestamp=1;\nSELECT d FROM t;\n"
    );
    environment.write("slow.log", log).unwrap();
    let mut shown = String::new();
    for engine in ["proxysql-2.7", "bundled"] {
        let output = environment
            .run([
                "traffic", "diff", ".", "other", "--engine", engine, "--log", "slow.log",
            ])
            .unwrap();
        shown += &output.stdout;
    }
    assert_eq!(
        shown
            .matches("the schema decides, and the log does not tell it")
            .count(),
        2,
        "{shown}"
    );
    assert_eq!(
        shown
            .matches("25.0 % go the same way, 25.0 % move, 50.0 % undecided")
            .count(),
        2,
        "{shown}"
    );
}

/// The number of a hostgroup that a merge has left twice in the lock: the one that a hash gave is the newer one.
#[test]
fn a_number_that_is_twice_in_the_lock_is_told() {
    let clusters = |names: &[&str]| {
        let clusters = names
            .iter()
            .map(|name| format!("  {name}: {{type: single, servers: {{a: {{host: {name}}}}}}}\n"));
        format!(
            "version: 1\nclusters:\n{}users:\n  app: {{password: {{env: P}}, cluster: {}}}\n",
            clusters.collect::<String>(),
            names[0]
        )
    };
    let environment = project("proxysql-2.7", &[("topology/t.yaml", &clusters(&["c-1", "c-2"]))]);
    succeeds(&environment, &["compile"]);
    let lock = environment.read("shardwright.lock").unwrap();
    let established = lock
        .lines()
        .find_map(|line| line.strip_prefix("hostgroups.c-1.writer "))
        .unwrap()
        .to_owned();
    environment
        .write(
            "shardwright.lock",
            format!("hostgroups.aa.writer {established}\n{lock}"),
        )
        .unwrap();
    environment
        .write("topology/t.yaml", clusters(&["aa", "c-1", "c-2"]))
        .unwrap();
    let output = environment.run(["compile"]).unwrap().success();
    assert!(output.stderr.contains("SW324"), "{}", output.stderr);
    let said = format!("the lock has number {established} for hostgroups.");
    assert!(output.stderr.contains(&said), "{}", output.stderr);
}

/// Another process may hold the editor's stream open when the editor is gone.
#[test]
fn the_language_server_ends_when_its_client_is_gone() {
    let environment = shop();
    let mut client = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut editor = Editor::start(&environment);
    let params = serde_json::json!({"processId": client.id(), "rootUri": null, "capabilities": {}, "workspaceFolders": []});
    editor.request("initialize", params).unwrap();
    drop(client.stdin.take());
    client.wait().unwrap();
    assert_eq!(editor.wait().code(), Some(1));
}

/// Half of a character that an editor cuts in two: the edit counts, and the text goes on being followed.
#[test]
fn an_edit_with_half_a_character_is_made() {
    let environment = shop();
    let (mut editor, _) = Editor::open_project(&environment, &serde_json::json!({}));
    editor.open("topology/t.yaml", TOPOLOGY);
    let uri = editor.uri("topology/t.yaml");
    let body = format!(
        r##"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{{"uri":"{uri}","version":2}},"contentChanges":[{{"text":"# \ud83d\nversion: 1\nclustres: {{}}\n"}}]}}}}"##
    );
    editor.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    loop {
        if editor.problems_of("topology/t.yaml").contains("clustres") {
            return;
        }
    }
}
