//! What is answered about keys and names: completion, hover, definitions, references and new names.

use serde_json::{Value, json};

use super::{CLUSTERS, CLUSTERS_TEXT, MAPS, MAPS_TEXT, find, project_for, session, session_in};
use crate::editor::Editor;

/// What is offered where `|` stands in a text of the maps: labels, and what is inserted where it differs.
fn offered(editor: &mut Editor, text: &str) -> Vec<String> {
    let (line, character) = find(text, "|");
    editor.change(MAPS, &text.replace('|', ""));
    let answer = editor
        .request("textDocument/completion", editor.at(MAPS, line, character))
        .unwrap();
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let offer = |item: &Value| {
        let (label, text) = (
            item["label"].as_str().unwrap(),
            item["textEdit"]["newText"].as_str().unwrap(),
        );
        if text.trim_end_matches([':', ' ']) == label {
            label.to_owned()
        } else {
            format!("{label} as {text}")
        }
    };
    items.iter().map(offer).collect()
}

/// The Markdown under the pointer, at the first place of `word`.
fn hover(editor: &mut Editor, path: &str, text: &str, word: &str) -> String {
    let (line, character) = find(text, word);
    let answer = editor
        .request("textDocument/hover", editor.at(path, line, character))
        .unwrap();
    answer["contents"]["value"]
        .as_str()
        .unwrap_or("nothing")
        .to_owned()
}

fn rename(editor: &mut Editor, path: &str, (line, character): (u32, u32), new: &str) -> String {
    let mut params = editor.at(path, line, character);
    params["newName"] = json!(new);
    match editor.request("textDocument/rename", params) {
        Ok(edit) => editor.edits(&edit).join("\n"),
        Err(error) => format!("refused: {}", error["message"].as_str().unwrap()),
    }
}

#[test]
fn what_may_be_typed_is_offered() {
    let (_environment, mut editor) = session();
    let mut seen = String::new();
    for text in [
        "|",
        "users:\n  app:\n    cluster: pay\n    |\n",
        "users:\n  app: {cluster: sh|}\n",
        "users:\n  app: {cluster: |\n",
        "users:\n  app: {annotations: |}\n",
        "users:\n  app: {transaction_persistent: |}\n",
        "users:\n  app: {password: |}\n",
        "users: {app: {schema: a}}\nshard_maps:\n  tenants:\n    applies_to: {users: [|]}\n",
        "shard_maps:\n  tenants:\n    shards: {t1: {cluster: pay}}\n    overrides:\n      |\n",
        "shard_maps:\n  a: {key: {name: k}}\n  b: {otherwise: |}\n",
        "shard_maps:\n  a:\n    missing_key:\n      begin: f|\n",
        "shard_maps:\n  a:\n    key_from:\n      - |\n",
        "clusters:\n  c:\n    servers: {x: {host: a}, y: {host: b}}\n    writer_preference: [|]\n",
        "clusters:\n  c:\n    servers:\n      x: {host: \"$(|\"}\n",
        "users:\n  app: {schema: a, cluster: pay} # |\n",
    ] {
        let line = text.lines().find(|line| line.contains('|')).unwrap().trim();
        seen += &format!("{line:<40} {}\n", offered(&mut editor, text).join(", "));
    }
    insta::assert_snapshot!(seen, @r#"
    |                                        version, variables, clusters, users, shard_maps, read_write_policies, routes, throttles, query_rules, pooling, caches, mirrors, firewall, engine_settings, monitor, listeners, moves
    |                                        password, login, role, server, reads_only, schema, max_connections, statement_timeout, transaction_persistent, annotations, tls, for_each
    app: {cluster: sh|}                      shard-001, shard-002, shard-003
    app: {cluster: |                         shard-001, shard-002, shard-003, pay
    app: {annotations: |}                    deny, allow
    app: {transaction_persistent: |}         true, false
    app: {password: |}                       env as {env: }, file as {file: }, command as {command: }, previous as {previous: }
    applies_to: {users: [|]}                 app
    |                                        t1
    b: {otherwise: |}                        a as shard_maps.a, b as shard_maps.b
    begin: f|                                reject, first_statement, allow
    - |                                      comment, schema, column, table, user
    writer_preference: [|]                   x, y
    x: {host: "$(|"}                         network as var.network
    app: {schema: a, cluster: pay} # |
    "#);
}

#[test]
fn hovering_tells_what_a_key_is_for() {
    let (_environment, mut editor) = session();
    insta::assert_snapshot!(hover(&mut editor, MAPS, MAPS_TEXT, "key_from"), @"
    **key_from**: Where to look for the key. If several finders find one, it must be the same.

    Takes a list of finders.
    ");
    insta::assert_snapshot!(hover(&mut editor, MAPS, MAPS_TEXT, "integer"), @"
    **type**: How values compare: exactly, or as integers (017 is 17).

    One of `text`, `integer`.
    ");
    insta::assert_snapshot!(hover(&mut editor, CLUSTERS, CLUSTERS_TEXT, "host"), @"
    **host**: The host name or the address of the server.

    Takes text.

    For example `db1.internal`, `10.0.0.7`.
    ");
}

#[test]
fn hovering_tells_what_an_object_became_on_each_engine() {
    let (_environment, mut editor) = session_in(project_for("bundled, proxysql-2.7"));
    // What rules look like is the compiler's business.
    let filters = [
        (r"(rule|flag|hostgroup|->) \d+", "$1 N"),
        (r"(text|digest)~\S+", "$1~…"),
        (r"(?m)(^rule N flag N: .*\n)+(and \d+ more rules)?", "(rules)\n"),
    ];
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(hover(&mut editor, MAPS, MAPS_TEXT, "tenants"), @"
        **shard_maps.tenants**, written at topology/maps.yaml:5:3

        4 shards by the key tenant

        bundled:
        ```text
        (rules)
        ```

        proxysql-2.7:
        ```text
        (rules)

        ```
        ");
        insta::assert_snapshot!(hover(&mut editor, MAPS, MAPS_TEXT, "t$(n)"), @"
        **shard_maps.tenants.shards.t1** and 2 more, to shard_maps.tenants.shards.t3, written at topology/maps.yaml:10:7

        Shard of 1, on cluster shard-001

        bundled:
        ```text
        on cluster shard-001
        ```

        proxysql-2.7:
        ```text
        (rules)
        ```
        ");
        insta::assert_snapshot!(hover(&mut editor, MAPS, MAPS_TEXT, "pay, schema"), @"
        **clusters.pay**, written at topology/clusters.yaml:10:3

        Replication cluster: a (a.pay:3306), b (b.pay:3306)

        bundled:
        ```text
        hostgroup N (writer): b.pay:3306
        hostgroup N (reader): a.pay:3306
        ```

        proxysql-2.7:
        ```text
        hostgroup N (writer): b.pay:3306
        hostgroup N (reader): a.pay:3306
        ```
        ");
        insta::assert_snapshot!(hover(&mut editor, CLUSTERS, CLUSTERS_TEXT, "network)"), @"
        **variables.network**, written at topology/clusters.yaml:3:3
        ");
    });
}

#[test]
fn names_lead_to_their_definition_and_to_each_other() {
    let (_environment, mut editor) = session();
    let mut seen = String::new();
    for (path, text, word) in [
        (MAPS, MAPS_TEXT, "pay, schema"),
        (MAPS, MAPS_TEXT, "shard-$(n:03)"),
        (MAPS, MAPS_TEXT, "shard-*"),
        (MAPS, MAPS_TEXT, "app]"),
        (MAPS, MAPS_TEXT, "t2"),
        (MAPS, MAPS_TEXT, "n)]"),
        (CLUSTERS, CLUSTERS_TEXT, "b]"),
        (CLUSTERS, CLUSTERS_TEXT, "network)"),
        (CLUSTERS, CLUSTERS_TEXT, "shard-$"),
        (MAPS, MAPS_TEXT, "reason"),
    ] {
        let (line, character) = find(text, word);
        let place = editor.at(path, line, character);
        let found = editor.request("textDocument/definition", place.clone()).unwrap();
        let mut params = place;
        params["context"] = json!({"includeDeclaration": false});
        let references = editor.request("textDocument/references", params).unwrap();
        let (found, references) = (
            editor.places(&found).join(", "),
            editor.places(&references).join("; "),
        );
        seen += &format!("{word}\n  defined: {found}\n  meant: {references}\n");
    }
    insta::assert_snapshot!(seen, @"
    pay, schema
      defined: topology/clusters.yaml 9:2-9:5
      meant: topology/maps.yaml 2:48-2:51; topology/maps.yaml 10:31-10:34; topology/maps.yaml 12:20-12:23; topology/maps.yaml 16:57-16:60; topology/maps.yaml 19:39-19:42
    shard-$(n:03)
      defined: topology/clusters.yaml 4:2-4:15
      meant: topology/maps.yaml 9:59-9:72; topology/maps.yaml 19:29-19:36
    shard-*
      defined: topology/clusters.yaml 4:2-4:15
      meant: topology/maps.yaml 9:59-9:72; topology/maps.yaml 19:29-19:36
    app]
      defined: topology/maps.yaml 2:2-2:5
      meant: topology/maps.yaml 5:25-5:28; topology/maps.yaml 16:43-16:46
    t2
      defined: topology/maps.yaml 9:6-9:11
      meant: topology/maps.yaml 12:6-12:8
    n)]
      defined: topology/maps.yaml 9:25-9:26
      meant: topology/maps.yaml 9:9-9:10; topology/maps.yaml 9:44-9:45; topology/maps.yaml 9:67-9:68
    b]
      defined: topology/clusters.yaml 15:6-15:7
      meant: topology/clusters.yaml 11:24-11:25
    network)
      defined: topology/clusters.yaml 2:2-2:9
      meant: topology/clusters.yaml 8:24-8:31
    shard-$
      defined: topology/clusters.yaml 4:2-4:15
      meant: topology/maps.yaml 9:59-9:72; topology/maps.yaml 19:29-19:36
    reason
      defined: 
      meant:
    ");
}

#[test]
fn a_new_name_is_written_everywhere_or_nowhere() {
    let (_environment, mut editor) = session();
    let pay = find(CLUSTERS_TEXT, "pay");
    insta::assert_snapshot!(rename(&mut editor, CLUSTERS, pay, "billing"), @"
    topology/clusters.yaml 9:2-9:5 billing
    topology/maps.yaml 10:31-10:34 billing
    topology/maps.yaml 12:20-12:23 billing
    topology/maps.yaml 16:57-16:60 billing
    topology/maps.yaml 19:39-19:42 billing
    topology/maps.yaml 2:48-2:51 billing
    ");
    let user = find(MAPS_TEXT, "app]");
    insta::assert_snapshot!(rename(&mut editor, MAPS, user, "2024"), @r#"
    topology/maps.yaml 16:43-16:46 "2024"
    topology/maps.yaml 2:2-2:5 "2024"
    topology/maps.yaml 5:25-5:28 "2024"
    "#);
    let network = find(CLUSTERS_TEXT, "network)");
    insta::assert_snapshot!(rename(&mut editor, CLUSTERS, network, "net"), @"
    topology/clusters.yaml 2:2-2:9 net
    topology/clusters.yaml 8:24-8:31 net
    ");
    let server = find(CLUSTERS_TEXT, "b]");
    insta::assert_snapshot!(rename(&mut editor, CLUSTERS, server, "c"), @"
    topology/clusters.yaml 11:24-11:25 c
    topology/clusters.yaml 15:6-15:7 c
    ");
    let mut refusals = String::new();
    for (path, text, word, new) in [
        (CLUSTERS, CLUSTERS_TEXT, "pay", "shard-002"),
        (CLUSTERS, CLUSTERS_TEXT, "pay", "shard-9"),
        (CLUSTERS, CLUSTERS_TEXT, "pay", "a b"),
        (CLUSTERS, CLUSTERS_TEXT, "shard-$", "host"),
        (MAPS, MAPS_TEXT, "shard-$", "host"),
        (MAPS, MAPS_TEXT, "shard-*", "host"),
        (MAPS, MAPS_TEXT, "t2", "t8"),
        (MAPS, MAPS_TEXT, "t9", "t3"),
        (MAPS, MAPS_TEXT, "reason", "x"),
    ] {
        refusals += &format!(
            "{word} to {new}: {}\n",
            rename(&mut editor, path, find(text, word), new)
        );
    }
    insta::assert_snapshot!(refusals, @"
    pay to shard-002: refused: clusters.shard-002 is already defined, at topology/clusters.yaml:5:3
    pay to shard-9: refused: the pattern `shard-*` at topology/maps.yaml:20:30 matches only one of `pay` and `shard-9`
    pay to a b: refused: `a b` is not a name: names are made of letters, digits, `_` and `-`
    shard-$ to host: refused: the name is made by the generator `shard-$(n:03)` at topology/clusters.yaml:5:3
    shard-$ to host: refused: the name is made by the generator `shard-$(n:03)` at topology/clusters.yaml:5:3
    shard-* to host: refused: `shard-*` is a pattern of names: rename one of the objects that it matches
    t2 to t8: refused: the name is made by the generator `t$(n)` at topology/maps.yaml:10:7
    t9 to t3: refused: shard_maps.tenants.shards.t3 is already defined, at topology/maps.yaml:10:7
    reason to x: refused: there is no name here
    ");
    let prepared = editor
        .request("textDocument/prepareRename", editor.at(CLUSTERS, pay.0, pay.1))
        .unwrap();
    assert_eq!(prepared["placeholder"], "pay");
}

#[test]
fn route_tests_are_part_of_the_project() {
    const TESTS: &str = "tests/routes.yaml";
    let text = r#"version: 1
session: {user: app}
route_tests:
  each key has its shard:
    for_each: {n: 1..3}
    query: "/* tenant=$(n) */ SELECT 1"
    expect: {shard: "tenants/t$(n)", cluster: shard-001}
"#;
    let (_environment, mut editor) = session();
    editor.open(TESTS, &text.replace("cluster: shard-001", "cluster: shard-01"));
    insta::assert_snapshot!(editor.problems_of(TESTS), @"
    6:46-6:54 error SW125 no cluster is named `shard-01`
    in the instance n=1 and 2 more
    help: did you mean `shard-001`?
    ");
    editor.change(TESTS, text);
    assert_eq!(editor.problems_of(TESTS), "");
    let map = find(MAPS_TEXT, "tenants");
    insta::assert_snapshot!(rename(&mut editor, MAPS, map, "customers"), @"
    tests/routes.yaml 6:21-6:28 customers
    topology/maps.yaml 4:2-4:9 customers
    ");
    insta::assert_snapshot!(hover(&mut editor, TESTS, text, "expect"), @"
    **expect**: The expected result. Everything that is written must hold.

    Takes a mapping.
    ");
    let (line, character) = find(text, "shard-001");
    let answer = editor
        .request("textDocument/definition", editor.at(TESTS, line, character))
        .unwrap();
    assert_eq!(editor.places(&answer), ["topology/clusters.yaml 4:2-4:15"]);
}

#[test]
fn a_name_that_was_meant_is_an_action() {
    let (_environment, mut editor) = session();
    let mut seen = String::new();
    for (path, text, wrong) in [
        (
            MAPS,
            MAPS_TEXT.replace("cluster: pay, schema", "cluster: pya, schema"),
            "pya",
        ),
        (
            MAPS,
            MAPS_TEXT.replace("applies_to: {users", "aplies_to: {users"),
            "aplies_to",
        ),
        (
            CLUSTERS,
            CLUSTERS_TEXT.replace("$(var.network)", "$(var.netwrok)"),
            "var.netwrok",
        ),
    ] {
        editor.change(path, &text);
        let (line, character) = find(&text, wrong);
        let position = json!({"line": line, "character": character + 1});
        let params = json!({
            "textDocument": {"uri": editor.uri(path)},
            "range": {"start": position, "end": position},
            "context": {"diagnostics": []},
        });
        let actions = editor.request("textDocument/codeAction", params).unwrap();
        for action in actions.as_array().unwrap() {
            let edits = editor.edits(&action["edit"]).join(" ");
            seen += &format!("{} | {edits}\n", action["title"].as_str().unwrap());
        }
        editor.change(path, if path == MAPS { MAPS_TEXT } else { CLUSTERS_TEXT });
    }
    insta::assert_snapshot!(seen, @"
    Change to `pay` | topology/maps.yaml 2:48-2:51 pay
    Change to `applies_to` | topology/maps.yaml 5:4-5:13 applies_to
    Change to `var.network` | topology/clusters.yaml 8:20-8:31 var.network
    ");
    assert_eq!(editor.shut_down().code(), Some(0));
}
