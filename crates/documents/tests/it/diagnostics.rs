//! Every problem that reading a file can report, as people see it.

use shardwright_diagnostics::{Sources, render};
use shardwright_documents::{CODES, MAX_FILE_BYTES, MAX_VALUES, format, unreadable};

fn shown(bytes: impl AsRef<[u8]>) -> String {
    let mut sources = Sources::new();
    let (_, problems) = format(&mut sources, "topology/shop.yaml", bytes.as_ref());
    render::text::render(&problems, &sources, false)
}

#[test]
fn every_page_is_headed_by_its_code_and_its_example_shows_the_problem() {
    for doc in CODES {
        assert_eq!(
            doc.page.lines().next(),
            Some(&*format!("# {}: {}", doc.code, doc.title))
        );
        let Some((_, example)) = doc.page.split_once("```yaml\n") else {
            continue;
        };
        let example = example.split("```").next().expect("a split has a first part");
        let text = shown(example);
        assert!(text.contains(&format!("[{}]", doc.code)), "{}\n{text}", doc.code);
    }
}

#[test]
fn unreadable_file() {
    let problem = unreadable("topology/shop.yaml", &std::io::ErrorKind::PermissionDenied.into());
    insta::assert_snapshot!(render::text::render_one(&problem, &Sources::new(), false), @r#"
    error[SW100]: cannot read `topology/shop.yaml`: permission denied
     │
     ╰ more: shardwright explain SW100
    "#);
}

#[test]
fn unclosed_mapping() {
    insta::assert_snapshot!(shown("users:\n  app: {cluster: shard-001\n"), @r#"
    error[SW101]: malformed YAML: unclosed bracket '{'
      ╭▸ topology/shop.yaml:2:8
      │
    2 │   app: {cluster: shard-001
      │        ━
      │
      ├ help: the closing bracket is missing
      ╰ more: shardwright explain SW101
    "#);
}

#[test]
fn tab_in_the_indentation() {
    insta::assert_snapshot!(shown("users:\n\tapp: 1\n"), @r#"
    error[SW101]: malformed YAML: tabs disallowed within this context (block indentation)
      ╭▸ topology/shop.yaml:2:2
      │
    2 │     app: 1
      │     ━
      │
      ├ help: indent with spaces: YAML does not allow tabs here
      ╰ more: shardwright explain SW101
    "#);
}

#[test]
fn crooked_indentation() {
    insta::assert_snapshot!(shown("users:\n    app: 1\n  ops: 2\n"), @r#"
    error[SW101]: malformed YAML: while parsing a block mapping, did not find expected key
      ╭▸ topology/shop.yaml:3:3
      │
    3 │   ops: 2
      │   ━
      │
      ├ help: keys of one mapping start in the same column: compare the indentation with the lines above
      ╰ more: shardwright explain SW101
    "#);
}

#[test]
fn colon_in_unquoted_text() {
    insta::assert_snapshot!(shown("reason: see: OPS-1\n"), @r#"
    error[SW101]: malformed YAML: mapping values are not allowed in this context
      ╭▸ topology/shop.yaml:1:12
      │
    1 │ reason: see: OPS-1
      │            ━
      │
      ├ help: text that holds `: ` must be in quotes, and a nested mapping starts on its own line
      ╰ more: shardwright explain SW101
    "#);
}

#[test]
fn reserved_first_character() {
    insta::assert_snapshot!(shown("user: @app\n"), @r#"
    error[SW101]: malformed YAML: unexpected character: `@'
      ╭▸ topology/shop.yaml:1:7
      │
    1 │ user: @app
      │       ━
      │
      ├ help: text that starts with this character must be in quotes
      ╰ more: shardwright explain SW101
    "#);
}

#[test]
fn unclosed_quote() {
    insta::assert_snapshot!(shown("a: 'x\nb: 1\n"), @r#"
    error[SW101]: malformed YAML: invalid indentation in multiline quoted scalar
      ╭▸ topology/shop.yaml:2:1
      │
    2 │ b: 1
      │ ━
      │
      ├ help: is a closing quote missing above?
      ╰ more: shardwright explain SW101
    "#);
}

#[test]
fn word_instead_of_a_pair() {
    insta::assert_snapshot!(shown("a: 1\nclusters\nb: 1\n"), @r#"
    error[SW101]: malformed YAML: simple key expected ':'
      ╭▸ topology/shop.yaml:2:1
      │
    2 │ clusters
      │ ━
      │
      ├ help: a line of a mapping is `key: value`, with a space after the colon
      ╰ more: shardwright explain SW101
    "#);
}

#[test]
fn duplicate_keys_show_both_places() {
    insta::assert_snapshot!(shown("a: 1\nb:\n  x: 1\n  \"x\": 2\na: 3\n"), @r#"
    error[SW102]: key `x` is given twice
      ╭▸ topology/shop.yaml:4:3
      │
    3 │   x: 1
      │   ─ first given here
    4 │   "x": 2
      │   ━━━ given again here
      │
      ╰ more: shardwright explain SW102

    error[SW102]: key `a` is given twice
      ╭▸ topology/shop.yaml:5:1
      │
    1 │ a: 1
      │ ─ first given here
      ┆
    5 │ a: 3
      │ ━ given again here
      │
      ╰ more: shardwright explain SW102
    "#);
}

#[test]
fn not_utf8() {
    insta::assert_snapshot!(shown(b"version: 1\nname: M\xfcller\n"), @r#"
    error[SW103]: file is not UTF-8 text
      ╭▸ topology/shop.yaml:2:8
      │
    2 │ name: M�ller
      │        ━ byte 0xfc at offset 18 does not start a character
      │
      ╰ more: shardwright explain SW103
    "#);
}

#[test]
fn utf16() {
    insta::assert_snapshot!(shown(b"\xff\xfea\0:\0"), @r#"
    error[SW103]: file is not UTF-8 text
      ╭▸ topology/shop.yaml:1:1
      │
    1 │ ��a␀:␀
      │ ━ byte 0xff at offset 0 does not start a character
      │
      ├ help: the file looks like UTF-16: save it as UTF-8
      ╰ more: shardwright explain SW103
    "#);
}

#[test]
fn too_large() {
    insta::assert_snapshot!(shown(vec![b'#'; MAX_FILE_BYTES + 1]), @r#"
    error[SW104]: file of 16777217 bytes is larger than 16777216
      ╭▸ topology/shop.yaml:1:1
      │
    1 │
      │ ━
      │
      ├ help: split it: the sections of a topology merge over any number of files
      ╰ more: shardwright explain SW104
    "#);
}

#[test]
fn nested_too_deep() {
    insta::assert_snapshot!(shown("[".repeat(100_000)), @r#"
    error[SW104]: lists and mappings are nested more than 64 deep
      ╭▸ topology/shop.yaml:1:65
      │
    1 │ [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…
      │                                                                 ━ the rest of the file is not read
      │
      ╰ more: shardwright explain SW104
    "#);
    let block: String = (0..70)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    insta::assert_snapshot!(shown(block), @r#"
    error[SW104]: lists and mappings are nested more than 64 deep
       ╭▸ topology/shop.yaml:65:65
       │
    65 │ …                     a:
       │                       ━ the rest of the file is not read
       │
       ╰ more: shardwright explain SW104
    "#);
    insta::assert_snapshot!(shown(["- ".repeat(40), "[".repeat(30), "]".repeat(30)].concat()), @r#"
    error[SW104]: lists and mappings are nested more than 64 deep
      ╭▸ topology/shop.yaml:1:105
      │
    1 │ …- - - - - - - - - - - - - [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
      │                                                    ━ the rest of the file is not read
      │
      ╰ more: shardwright explain SW104
    "#);
}

#[test]
fn too_many_values() {
    insta::assert_snapshot!(shown(format!("[{}]", "1,".repeat(MAX_VALUES + 1))), @r#"
    error[SW104]: more than 2000000 values in one file
      ╭▸ topology/shop.yaml:1:4000004
      │
      ⸬  
    1 │ …1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,]
      │                                                                                                      ━ the rest of the file is not read
      │
      ╰ more: shardwright explain SW104
    "#);
}

#[test]
fn too_many_comment_lines() {
    insta::assert_snapshot!(shown(format!("a:\n{}  b: 1\n", "#\n".repeat(200_000))), @r#"
    error[SW104]: more than 100000 comment lines in a row
           ╭▸ topology/shop.yaml:100002:1
           │
    100002 │ #
           │ ━ the rest of the file is not read
           │
           ╰ more: shardwright explain SW104
    "#);
}

#[test]
fn too_many_problems_end_the_reading() {
    let text = shown("- *a\n".repeat(5_000));
    assert_eq!(text.matches("error[SW107]").count(), 1_000);
    assert!(text.ends_with("and 1 more problem, not shown\n"));
    let text = shown("a: 1\n".repeat(5_000));
    assert_eq!(text.matches("error[SW102]").count(), 1_000);
}

#[test]
fn alias_bomb() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let alias = format!("*a{}, ", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", alias.repeat(10)));
    }
    insta::assert_snapshot!(shown(bomb), @r#"
    error[SW104]: anchors and aliases expand to more than 200000 values or 16777216 bytes of text
      ╭▸ topology/shop.yaml:5:9
      │
    5 │ a4: &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, ]
      │         ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ the rest of the file is not read
      │
      ├ help: to write many similar objects once, use a generator (`for_each`)
      ╰ more: shardwright explain SW104
    "#);
}

#[test]
fn alias_bomb_of_text() {
    let bomb = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), "*a, ".repeat(1_000));
    insta::assert_snapshot!(shown(bomb), @r#"
    error[SW104]: anchors and aliases expand to more than 200000 values or 16777216 bytes of text
      ╭▸ topology/shop.yaml:2:65
      │
    2 │ b: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a,…
      │                                                                 ━━ the rest of the file is not read
      │
      ├ help: to write many similar objects once, use a generator (`for_each`)
      ╰ more: shardwright explain SW104
    "#);
}

#[test]
fn aliases_that_grow_deep() {
    let step = |level: usize| {
        format!(
            "a{level}: &a{level} {}*a{}{}\n",
            "[".repeat(20),
            level - 1,
            "]".repeat(20)
        )
    };
    let deep: String = std::iter::once("a0: &a0 x\n".to_owned())
        .chain((1..5).map(step))
        .collect();
    insta::assert_snapshot!(shown(deep), @r#"
    error[SW104]: lists and mappings are nested more than 64 deep
      ╭▸ topology/shop.yaml:5:29
      │
    5 │ a4: &a4 [[[[[[[[[[[[[[[[[[[[*a3]]]]]]]]]]]]]]]]]]]]
      │                             ━━━ the rest of the file is not read
      │
      ╰ more: shardwright explain SW104
    "#);
}

#[test]
fn several_documents() {
    insta::assert_snapshot!(shown("version: 1\n---\nversion: 2\n---\n"), @r#"
    error[SW105]: a file holds one YAML document
      ╭▸ topology/shop.yaml:2:1
      │
    2 │ ---
      │ ━━━ a second document starts here and is not read
      │
      ├ help: put it in a file of its own
      ╰ more: shardwright explain SW105
    "#);
}

#[test]
fn unknown_tag() {
    insta::assert_snapshot!(shown("password: !secret app\nn: !!int x\nl: !!map [a]\n"), @r#"
    error[SW106]: tag `…` does not fit this value
      ╭▸ topology/shop.yaml:1:11
      │
    1 │ password: ***********
      │           ━━━━━━━
      │
      ├ help: remove the tag; to make any word text, put it in quotes
      ╰ more: shardwright explain SW106

    error[SW106]: tag `!!int` does not fit this value
      ╭▸ topology/shop.yaml:2:4
      │
    2 │ n: !!int x
      │    ━━━━━
      │
      ├ help: remove the tag; to make any word text, put it in quotes
      ╰ more: shardwright explain SW106

    error[SW106]: tag `!!map` does not fit this value
      ╭▸ topology/shop.yaml:3:4
      │
    3 │ l: !!map [a]
      │    ━━━━━
      │
      ├ help: remove the tag; to make any word text, put it in quotes
      ╰ more: shardwright explain SW106
    "#);
}

#[test]
fn key_that_is_not_text() {
    insta::assert_snapshot!(shown("[a, b]: 1\n? {c: d}\n: 2\n"), @r#"
    error[SW106]: a key must be text, not a list
      ╭▸ topology/shop.yaml:1:1
      │
    1 │ [a, b]: 1
      │ ━━━━━━
      │
      ╰ more: shardwright explain SW106

    error[SW106]: a key must be text, not a mapping
      ╭▸ topology/shop.yaml:2:3
      │
    2 │ ? {c: d}
      │   ━━━━━━
      │
      ╰ more: shardwright explain SW106
    "#);
}

#[test]
fn merge_of_something_else() {
    insta::assert_snapshot!(shown("a: &a 1\nb: {<<: *a}\n"), @r#"
    error[SW106]: `<<` merges mappings, not an integer
      ╭▸ topology/shop.yaml:1:7
      │
    1 │ a: &a 1
      │       ━
    2 │ b: {<<: *a}
      │     ── merged here
      │
      ╰ more: shardwright explain SW106
    "#);
}

#[test]
fn alias_without_anchor() {
    insta::assert_snapshot!(shown("a: &default 1\nb: *defualt\nc: *.internal\n"), @r#"
    error[SW107]: no anchor of this name stands before this alias
      ╭▸ topology/shop.yaml:2:4
      │
    2 │ b: *defualt
      │    ━━━━━━━━
      │
      ├ help: did you mean `*default`?
      ╰ more: shardwright explain SW107

    error[SW107]: no anchor of this name stands before this alias
      ╭▸ topology/shop.yaml:3:4
      │
    3 │ c: *.internal
      │    ━━━━━━━━━━
      │
      ├ help: text that starts with `*` must be in quotes
      ╰ more: shardwright explain SW107
    "#);
}

#[test]
fn alias_inside_its_anchor() {
    insta::assert_snapshot!(shown("a: &a [*a]\n"), @r#"
    error[SW107]: an alias cannot stand inside its own anchor
      ╭▸ topology/shop.yaml:1:8
      │
    1 │ a: &a [*a]
      │        ━━
      │
      ╰ more: shardwright explain SW107
    "#);
}
