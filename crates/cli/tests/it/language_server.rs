//! What an editor sees of a project, in sessions with the real language server.

mod answers;

use serde_json::{Value, json};
use shardwright_testkit::CommandEnvironment;

use crate::editor::Editor;

const CLUSTERS: &str = "topology/clusters.yaml";
const MAPS: &str = "topology/maps.yaml";

const CLUSTERS_TEXT: &str = r#"version: 1
variables:
  network: {type: text, default: 10.0.0}
clusters:
  shard-$(n:03):
    for_each: {n: 1..3}
    type: single
    servers:
      db: {host: "$(var.network).$(n)"}
  pay:
    type: replication
    writer_preference: [b]
    writer_serves_reads: never
    servers:
      a: {host: a.pay}
      b: {host: b.pay}
"#;

const MAPS_TEXT: &str = r#"version: 1
users:
  app: {password: {env: APP_PASSWORD}, cluster: pay, schema: app}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t$(n): {for_each: {n: 1..3}, keys: [$(n)], cluster: "shard-$(n:03)"}
      t9: {keys: [9], cluster: pay}
    overrides:
      t2: {cluster: pay, reason: moved}
query_rules:
  legacy:
    rules:
      - {match_digest: "^DROP ", username: app, cluster: pay, apply: 1}
read_write_policies:
  reads:
    applies_to: {clusters: ["shard-*", pay]}
    reads: {all: true}
"#;

fn project() -> CommandEnvironment {
    project_for("bundled")
}

fn project_for(engines: &str) -> CommandEnvironment {
    let environment = CommandEnvironment::new(env!("CARGO_BIN_EXE_shardwright")).unwrap();
    environment
        .write("shardwright.yaml", format!("version: 1\nengines: [{engines}]\n"))
        .unwrap();
    environment.write(CLUSTERS, CLUSTERS_TEXT).unwrap();
    environment.write(MAPS, MAPS_TEXT).unwrap();
    environment
}

fn session() -> (CommandEnvironment, Editor) {
    session_in(project())
}

fn session_in(environment: CommandEnvironment) -> (CommandEnvironment, Editor) {
    let (mut editor, _) = Editor::open_project(&environment, &json!({}));
    editor.open(CLUSTERS, CLUSTERS_TEXT);
    editor.open(MAPS, MAPS_TEXT);
    (environment, editor)
}

/// Lines and characters of the first place of `word`, from 0.
fn find(text: &str, word: &str) -> (u32, u32) {
    let at = text.find(word).unwrap();
    let line = text[..at].matches('\n').count();
    (
        line as u32,
        (at - text[..at].rfind('\n').map_or(0, |at| at + 1)) as u32,
    )
}

#[test]
fn problems_come_as_the_text_is_typed() {
    let environment = project();
    let (mut editor, capabilities) = Editor::open_project(&environment, &json!({}));
    assert_eq!(capabilities["positionEncoding"], "utf-16");
    editor.open(
        MAPS,
        &MAPS_TEXT.replace("cluster: pay, schema", "cluster: pya, schema"),
    );
    insta::assert_snapshot!(editor.problems_of(MAPS), @"
    2:48-2:51 error SW125 no cluster is named `pya`
    help: did you mean `pay`?
    ");
    let (line, character) = find(MAPS_TEXT, "pay, schema");
    let range = json!({"start": {"line": line, "character": character}, "end": {"line": line, "character": character + 3}});
    editor.edit(MAPS, json!([{"range": range, "text": "pay"}]));
    assert_eq!(editor.problems_of(MAPS), "");
    assert_eq!(editor.shut_down().code(), Some(0));
}

#[test]
fn problems_stand_in_every_file_that_has_one_and_go_with_it() {
    let (environment, mut editor) = session();
    editor.open("topology/new.yaml", "users:\n  app: {schema: other}\n");
    insta::assert_snapshot!(editor.problems_of("topology/new.yaml"), @"
    1:8-1:14 error SW117 `schema` is defined twice (defined here again)
    help: a value can be set only once in all files: delete one of them
    see: topology/maps.yaml 2:53-2:59 first defined here
    ");
    editor.close("topology/new.yaml");
    assert_eq!(editor.problems_of("topology/new.yaml"), "");
    environment.write("topology/new.yaml", "clusters: []\n").unwrap();
    let changes = json!([{"uri": editor.uri("topology/new.yaml"), "type": 1}]);
    editor.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
    insta::assert_snapshot!(editor.problems_of("topology/new.yaml"), @"
    0:0-0:8 error SW117 `clusters` is defined twice (defined here again)
    help: a value can be set only once in all files: delete one of them
    see: topology/clusters.yaml 3:0-3:8 first defined here
    0:10-0:12 error SW113 expected a mapping of names, found a list
    ");
}

#[test]
fn places_are_counted_as_was_agreed() {
    let environment = project();
    let text = "users:\n  app: {schema: \"ü𝄞\", cluster: pay, clutser: 1, password: {env: A}}\n";
    for (offered, agreed, place) in [
        (json!({}), "utf-16", "1:37-1:44"),
        (json!(["utf-8", "utf-16"]), "utf-8", "1:40-1:47"),
    ] {
        let capabilities = match offered.is_array() {
            true => json!({"general": {"positionEncodings": offered}}),
            false => offered,
        };
        let (mut editor, answer) = Editor::open_project(&environment, &capabilities);
        assert_eq!(answer["positionEncoding"], agreed);
        editor.open(MAPS, text);
        let problems = editor.problems_of(MAPS);
        assert!(
            problems.lines().any(|problem| problem.starts_with(place)),
            "{problems}"
        );
    }
}

#[test]
fn a_text_is_formatted_where_it_differs() {
    let (_environment, mut editor) = session();
    let mut formatted = |text: &str| {
        editor.change(MAPS, text);
        let options = json!({"tabSize": 2, "insertSpaces": true});
        let params = json!({"textDocument": {"uri": editor.uri(MAPS)}, "options": options});
        editor.request("textDocument/formatting", params)
    };
    let answer = formatted("version: 1\nusers:\n    app:   {schema: a}\n\nmoves: {}\n").unwrap();
    assert_eq!(
        answer,
        json!([{
            "range": {"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 0}},
            "newText": "  app: {schema: a}\n",
        }])
    );
    assert_eq!(formatted("version: 1\n"), Ok(Value::Null));
    let refusal = formatted("version: [\n").unwrap_err();
    assert_eq!(refusal["code"], -32803);
}

#[test]
fn a_file_has_an_outline() {
    let (_environment, mut editor) = session();
    let params = json!({"textDocument": {"uri": editor.uri(CLUSTERS)}});
    let answer = editor.request("textDocument/documentSymbol", params).unwrap();
    fn lines(symbols: &Value, depth: usize, text: &mut String) {
        for symbol in symbols.as_array().into_iter().flatten() {
            *text += &format!("{:depth$}{}\n", "", symbol["name"].as_str().unwrap());
            lines(&symbol["children"], depth + 2, text);
        }
    }
    let mut text = String::new();
    lines(&answer, 0, &mut text);
    insta::assert_snapshot!(text, @"
    version
    variables
      network
    clusters
      shard-$(n:03)
        servers
          db
      pay
        servers
          a
          b
    ");
}

#[test]
fn what_is_no_request_is_refused_and_the_session_goes_on() {
    let environment = project();
    let mut editor = Editor::start(&environment);
    let code = |answer: Result<Value, Value>| answer.unwrap_err()["code"].as_i64();
    assert_eq!(
        code(editor.request("textDocument/hover", json!({}))),
        Some(-32002)
    );
    editor.raw(b"Content-Length: 5\r\n\r\n{\"id\"");
    assert_eq!(editor.next()["error"]["code"], -32700);
    editor.send(&json!({"jsonrpc": "2.0"}));
    assert_eq!(editor.next()["error"]["code"], -32600);
    assert_eq!(
        code(editor.request("initialize", json!({"capabilities": 7}))),
        Some(-32602)
    );
    editor.request("initialize", json!({"capabilities": {}})).unwrap();
    assert_eq!(
        code(editor.request("initialize", json!({"capabilities": {}}))),
        Some(-32600)
    );
    assert_eq!(
        code(editor.request("textDocument/nonsense", json!({}))),
        Some(-32601)
    );
    assert_eq!(
        code(editor.request("textDocument/hover", json!([1]))),
        Some(-32602)
    );
    editor.notify("textDocument/didOpen", json!({"textDocument": 1}));
    while editor.next()["method"] != "window/showMessage" {}
    for uri in [
        "untitled:x",
        "file:///",
        "file:///nowhere/topology/x.yaml",
        "https://example.org/topology/x.yaml",
    ] {
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": "a: ["});
        editor.notify("textDocument/didOpen", json!({"textDocument": document}));
        let place =
            json!({"textDocument": {"uri": uri}, "position": {"line": u32::MAX, "character": u32::MAX}});
        for method in ["hover", "completion", "definition", "prepareRename"] {
            assert_eq!(
                editor.request(&format!("textDocument/{method}"), place.clone()),
                Ok(Value::Null),
                "{uri}"
            );
        }
    }
    assert_eq!(editor.shut_down().code(), Some(0));
}

#[test]
fn an_editor_that_goes_away_ends_the_server() {
    let environment = project();
    let (editor, _) = Editor::open_project(&environment, &json!({}));
    assert_eq!(editor.go_away().code(), Some(1));
    let mut editor = Editor::start(&environment);
    editor.raw(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(editor.go_away().code(), Some(1));
}

#[test]
fn texts_of_any_kind_are_answered() {
    let (_environment, mut editor) = session();
    let deep = "[".repeat(100_000);
    let long = "a: ".to_owned() + &"x".repeat(17 * 1024 * 1024);
    let many = "version: 1\nclusters:\n  c$(n): {for_each: {n: 1..9999999}}\n";
    for text in [
        "",
        "\u{feff}",
        "\0",
        "a: &a [*a, *a]",
        "%YAML 9",
        "- - - -",
        &deep,
        &long,
        many,
        "a:\n\tb",
        "x: !!binary a",
    ] {
        editor.change(MAPS, text);
        for method in [
            "hover",
            "completion",
            "definition",
            "documentSymbol",
            "prepareRename",
        ] {
            let answer = editor.request(&format!("textDocument/{method}"), editor.at(MAPS, 0, 3));
            assert!(
                answer.is_ok() || method == "prepareRename",
                "{text:.40}: {answer:?}"
            );
        }
    }
    assert_eq!(editor.shut_down().code(), Some(0));
}
