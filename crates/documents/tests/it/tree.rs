//! What files mean: types, order, spans, comments, aliases and merges.

use std::fmt::Write as _;

use proptest::prelude::*;
use shardwright_diagnostics::{Sources, render};
use shardwright_documents::{
    Document, MAX_FILE_BYTES, Node, Placement, Style, Value, part_of_text, read, to_json,
};

fn good(text: &str) -> (Sources, Document) {
    let mut sources = Sources::new();
    let (document, problems) = read(&mut sources, "f.yaml", text.as_bytes());
    assert!(
        problems.is_empty(),
        "{}",
        render::text::render(&problems, &sources, false)
    );
    assert!(document.complete);
    (sources, document)
}

/// Every key and value with its type and the text that its span covers.
fn outline(text: &str) -> String {
    fn walk(out: &mut String, sources: &Sources, depth: usize, name: &str, node: &Node) {
        let pad = "  ".repeat(depth);
        let written = sources.slice(node.span);
        writeln!(out, "{pad}{name}{} {written:?}", node.value.type_name()).expect("memory");
        match &node.value {
            Value::Sequence(items) => items
                .iter()
                .for_each(|item| walk(out, sources, depth + 1, "- ", item)),
            Value::Mapping(mapping) => {
                for entry in mapping {
                    let key = format!("{}: ", sources.slice(entry.key.span));
                    walk(out, sources, depth + 1, &key, &entry.value);
                }
            }
            _ => {}
        }
    }
    let (sources, document) = good(text);
    let mut out = String::new();
    if let Some(root) = &document.root {
        walk(&mut out, &sources, 0, "", root);
    }
    out
}

#[test]
fn block_style() {
    insta::assert_snapshot!(outline(
        "clusters:\n  pay:   # the money\n    type: galera\n    servers:\n    - pxc1\n    - port: 3306\n\n  # next\n  shop: {}\nusers:\nlast: 'x'\n"
    ), @r#"
    a mapping "clusters:\n  pay:   # the money\n    type: galera\n    servers:\n    - pxc1\n    - port: 3306\n\n  # next\n  shop: {}\nusers:\nlast: 'x'"
      clusters: a mapping "pay:   # the money\n    type: galera\n    servers:\n    - pxc1\n    - port: 3306\n\n  # next\n  shop: {}"
        pay: a mapping "type: galera\n    servers:\n    - pxc1\n    - port: 3306"
          type: text "galera"
          servers: a list "- pxc1\n    - port: 3306"
            - text "pxc1"
            - a mapping "port: 3306"
              port: an integer "3306"
        shop: a mapping "{}"
      users: nothing ""
      last: text "'x'"
    "#);
}

#[test]
fn flow_style_and_scalars() {
    insta::assert_snapshot!(outline(
        "{a: [1, 017, 0x1f, 1.5, true, ~, NO], \"b \\u00fc\": 'it''s', c: \"\", d: , 17: !!str 18, é: &x ü}"
    ), @r#"
    a mapping "{a: [1, 017, 0x1f, 1.5, true, ~, NO], \"b \\u00fc\": 'it''s', c: \"\", d: , 17: !!str 18, é: &x ü}"
      a: a list "[1, 017, 0x1f, 1.5, true, ~, NO]"
        - an integer "1"
        - an integer "017"
        - an integer "0x1f"
        - a number "1.5"
        - a boolean "true"
        - nothing "~"
        - text "NO"
      "b \u00fc": text "'it''s'"
      c: text "\"\""
      d: nothing ""
      17: text "18"
      é: text "ü"
    "#);
}

#[test]
fn block_scalars_end_with_their_text() {
    insta::assert_snapshot!(outline("a: |\n  SELECT 1\n    FROM t\n\nb: >-\n  folded\n  text\n\n# c\nc: 1\n"), @r#"
    a mapping "a: |\n  SELECT 1\n    FROM t\n\nb: >-\n  folded\n  text\n\n# c\nc: 1"
      a: text "SELECT 1\n    FROM t"
      b: text "folded\n  text"
      c: an integer "1"
    "#);
}

#[test]
fn lists_start_at_their_dash_and_absent_values_behind_their_colon() {
    let (sources, document) = good("a:\n- - x\nb:\n  - - y\nc:\nd: # nothing\n\n\ne: {f: , g}\n");
    let root = document.root.expect("a mapping");
    let place = |pointer: &str| sources.display(root.pointer(pointer).expect("present").node.span);
    let pointers = ["/a", "/a/0", "/b", "/b/0", "/c", "/d", "/e/f", "/e/g"];
    insta::assert_debug_snapshot!(pointers.map(|pointer| format!("{pointer} {}", place(pointer))), @r#"
    [
        "/a f.yaml:2:1",
        "/a/0 f.yaml:2:3",
        "/b f.yaml:4:3",
        "/b/0 f.yaml:4:5",
        "/c f.yaml:5:2",
        "/d f.yaml:6:2",
        "/e/f f.yaml:9:6",
        "/e/g f.yaml:9:11",
    ]
    "#);
}

#[test]
fn windows_line_ends_and_byte_order_mark() {
    insta::assert_snapshot!(outline("\u{feff}a: 1\r\nb:\r\n  - x\r\n"), @r#"
    a mapping "a: 1\r\nb:\r\n  - x"
      a: an integer "1"
      b: a list "- x"
        - text "x"
    "#);
}

#[test]
fn empty_files_have_no_root() {
    for text in ["", "\n\n", "# only a comment\n", "---\n...\n"] {
        let (_, document) = good(text);
        assert!(
            document.root.as_ref().is_none_or(Node::is_null),
            "{text:?}: {:?}",
            document.root
        );
    }
}

#[test]
fn aliases_are_copies_with_the_place_of_the_anchor() {
    let (sources, document) = good("a: &a {x: 1}\nb: *a\n");
    let root = document.root.expect("a mapping");
    let copy = root.pointer("/b/x").expect("copied");
    assert_eq!(sources.display(copy.node.span), "f.yaml:1:11");
    assert_eq!(
        sources.display(root.pointer("/b").expect("b").key_span()),
        "f.yaml:2:1"
    );
    assert_eq!(sources.slice(root.span), "a: &a {x: 1}\nb: *a");
}

#[test]
fn own_keys_stand_before_merged_ones_and_earlier_sources_before_later() {
    let (_, document) = good(
        "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 0, w: 0}\nd: {'<<': 1}\ne:\n  <<: *a\n  y: 3\n",
    );
    let json = to_json(&document.root.expect("a mapping"));
    insta::assert_snapshot!(json["c"], @r#"{"x":0,"w":0,"y":1,"z":2}"#);
    insta::assert_snapshot!(json["d"], @r#"{"<<":1}"#);
    insta::assert_snapshot!(json["e"], @r#"{"y":3,"x":1}"#);
}

#[test]
fn comments_are_kept_with_their_places() {
    let (sources, document) =
        good("# one\na: 1  # two\nb: # three\n  - '# not this'\n  # four\nc: |\n  # nor this\n# five");
    let comments: Vec<_> = document
        .comments
        .iter()
        .map(|comment| (sources.slice(comment.span), comment.placement))
        .collect();
    assert_eq!(
        comments,
        [
            ("# one", Placement::OwnLine),
            ("# two", Placement::Trailing),
            ("# three", Placement::Trailing),
            ("# four", Placement::OwnLine),
            ("# five", Placement::OwnLine),
        ]
    );
}

#[test]
fn many_comment_lines_are_no_problem() {
    let (_, document) = good(&format!("a:\n{}  b: 1\n", "  # x\n".repeat(5_000)));
    assert_eq!(document.comments.len(), 5_000);
}

#[test]
fn long_keys_and_wide_maps_are_found() {
    let text: String = (0..10_000).map(|n| format!("t{n}: {{n: {n}}}\n")).collect();
    let (_, document) = good(&text);
    let root = document.root.expect("a mapping");
    for n in [0, 9, 137, 9_999] {
        let found = root.pointer(&format!("/t{n}/n")).expect("present");
        assert_eq!(found.node.as_integer(), Some(n));
    }
    assert!(root.pointer("/t10000").is_none());
}

#[test]
fn pointers_follow_rfc_6901() {
    let (sources, document) = good("a/b: [x, {~: 1}]\n'': 2\n");
    let root = document.root.expect("a mapping");
    for (pointer, expected) in [
        ("", Some("a/b: [x, {~: 1}]\n'': 2")),
        ("/a~1b/0", Some("x")),
        ("/a~1b/1/~0", Some("1")),
        ("/", Some("2")),
    ] {
        assert_eq!(
            root.pointer(pointer).map(|found| sources.slice(found.node.span)),
            expected,
            "{pointer}"
        );
    }
    for pointer in ["/x", "/a~1b/2", "/a~1b/x", "/a~1b/0/0", "x"] {
        assert!(root.pointer(pointer).is_none(), "{pointer}");
    }
}

#[test]
fn a_part_of_a_text_is_found_in_the_file() {
    let text = "p: host-$(n).db\nq: 's $(n)'\nd: \"\\t$(n)\"\nb: |\n  SELECT 1,\n    $(n)\n  FROM t\nf: >\n  a\n  $(n)\n";
    let (sources, document) = good(text);
    let root = document.root.expect("a mapping");
    for (key, expected) in [
        ("p", "1:9"),
        ("q", "2:7"),
        ("d", "3:4"),
        ("b", "6:5"),
        ("f", "9:3"),
    ] {
        let node = root.get(key).expect("present");
        let start = node
            .as_text()
            .and_then(|text| text.find("$(n)"))
            .expect("a generator");
        let span = part_of_text(&sources, node, start..start + 4);
        assert_eq!(sources.display(span), format!("f.yaml:{expected}"), "{key}");
        assert_eq!(sources.slice(span) == "$(n)", !matches!(key, "d" | "f"), "{key}");
    }
}

#[test]
fn what_was_read_before_an_error_is_kept() {
    let mut sources = Sources::new();
    let (document, problems) = read(&mut sources, "f.yaml", b"a: 1\nb: {c: 2, d: [3,\n");
    assert!(problems.has_errors() && !document.complete);
    assert_eq!(
        to_json(&document.root.expect("partial")).to_string(),
        r#"{"a":1,"b":{"c":2,"d":[3]}}"#
    );
}

#[test]
fn files_up_to_the_limit_are_read() {
    let line = "    - {host: s001.db.internal, port: 3306, read_weight: 100}\n";
    let mut text = String::from("clusters:\n  servers:\n");
    while text.len() + line.len() < MAX_FILE_BYTES / 8 {
        text.push_str(line);
    }
    let (_, document) = good(&text);
    let root = document.root.expect("a mapping");
    let servers = root
        .pointer("/clusters/servers")
        .and_then(|found| found.node.as_sequence());
    assert_eq!(servers.map(<[Node]>::len), Some(text.lines().count() - 2));
}

/// Spans lie in the file, children in their parents (aliases aside), and plain words are what was written.
fn check_spans(sources: &Sources, node: &Node, aliases: bool) {
    let text = sources.text(node.span.file);
    let written = text
        .get(node.span.range())
        .expect("a span on character boundaries");
    match &node.value {
        Value::Text {
            text,
            style: Style::Plain,
        } if !written.contains('\n') && !written.contains('\r') => {
            assert_eq!(&**text, written);
        }
        Value::Text {
            style: Style::SingleQuoted,
            ..
        } => assert!(written.starts_with('\'') && written.ends_with('\'')),
        Value::Text {
            style: Style::DoubleQuoted,
            ..
        } => assert!(written.starts_with('"') && written.ends_with('"')),
        Value::Bool { raw, .. } | Value::Integer { raw, .. } | Value::Float { raw, .. } => {
            assert_eq!(&**raw, written)
        }
        _ => {}
    }
    let inside = |child: &Node| {
        let within = node.span.start <= child.span.start && child.span.end <= node.span.end;
        assert!(
            aliases || within,
            "{:?} in {written:?}",
            sources.slice(child.span)
        );
        check_spans(sources, child, aliases);
    };
    match &node.value {
        Value::Sequence(items) => items.iter().for_each(inside),
        Value::Mapping(mapping) => mapping.iter().for_each(|entry| {
            assert!(text.get(entry.key.span.range()).is_some());
            inside(&entry.value);
        }),
        _ => {}
    }
}

/// Reads, renders and walks; the assertion is that nothing panics and all spans hold.
fn survives(bytes: &[u8]) {
    let mut sources = Sources::new();
    let (document, problems) = read(&mut sources, "f.yaml", bytes);
    let _ = render::text::render(&problems, &sources, true);
    let _ = render::json::render(&problems, &sources);
    assert!(document.complete || problems.has_errors());
    for comment in &document.comments {
        assert!(sources.slice(comment.span).starts_with('#'));
    }
    if let Some(root) = &document.root {
        check_spans(&sources, root, bytes.contains(&b'*'));
        let _ = to_json(root);
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes);
    }

    #[test]
    fn no_characters_panic(text in "\\PC{0,80}") {
        survives(text.as_bytes());
    }

    #[test]
    fn no_yaml_like_text_panics(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "a", "b", "ü", "17", "~", ": ", ":", "- ", "-", "? ", "{", "}", "[", "]", ", ", "&a ", "*a", "!t ", "!!str ", "<<",
                "'", "\"", "\\", "|", ">", "|2-\n", "\n", "\n  ", "\n    ", "\r\n", "\t", " ", "#", " # c", "---", "...", "%YAML 1.2\n",
                "@", "\u{feff}", "\u{2028}", "\0",
            ]),
            0..40,
        ),
    ) {
        survives(pieces.concat().as_bytes());
    }

    #[test]
    fn what_is_written_is_read_back(
        pairs in proptest::collection::btree_map("[a-z]{1,6}", ("\\PC{0,20}", any::<i64>()), 1..20),
    ) {
        let json: serde_json::Value = pairs
            .iter()
            .map(|(key, (text, number))| (key.clone(), serde_json::json!({"text": text, "number": number})))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let (_, document) = good(&serde_json::to_string_pretty(&json).expect("JSON is written"));
        prop_assert_eq!(to_json(&document.root.expect("a mapping")), json);
    }
}
