//! Every problem that reading a file can report, as people see it.

use shardwright_diagnostics::{Sources, render};
use shardwright_documents::{MAX_FILE_BYTES, read, unreadable};

fn shown(bytes: impl AsRef<[u8]>) -> String {
    let mut sources = Sources::new();
    let (_, problems) = read(&mut sources, "topology/shop.yaml", bytes.as_ref());
    render::text::render(&problems, &sources, false)
}

#[test]
fn unreadable_file() {
    let problem = unreadable("topology/shop.yaml", &std::io::ErrorKind::PermissionDenied.into());
    insta::assert_snapshot!(render::text::render_one(&problem, &Sources::new(), false), @"");
}

#[test]
fn unclosed_mapping() {
    insta::assert_snapshot!(shown("users:\n  app: {cluster: shard-001\n"), @"");
}

#[test]
fn tab_in_the_indentation() {
    insta::assert_snapshot!(shown("users:\n\tapp: 1\n"), @"");
}

#[test]
fn crooked_indentation() {
    insta::assert_snapshot!(shown("users:\n    app: 1\n  ops: 2\n"), @"");
}

#[test]
fn colon_in_unquoted_text() {
    insta::assert_snapshot!(shown("reason: see: OPS-1\n"), @"");
}

#[test]
fn reserved_first_character() {
    insta::assert_snapshot!(shown("user: @app\n"), @"");
}

#[test]
fn unclosed_quote() {
    insta::assert_snapshot!(shown("a: 'x\nb: 1\n"), @"");
}

#[test]
fn word_instead_of_a_pair() {
    insta::assert_snapshot!(shown("a: 1\nclusters\nb: 1\n"), @"");
}

#[test]
fn duplicate_keys_show_both_places() {
    insta::assert_snapshot!(shown("a: 1\nb:\n  x: 1\n  \"x\": 2\na: 3\n"), @"");
}

#[test]
fn not_utf8() {
    insta::assert_snapshot!(shown(b"version: 1\nname: M\xfcller\n"), @"");
}

#[test]
fn utf16() {
    insta::assert_snapshot!(shown(b"\xff\xfea\0:\0"), @"");
}

#[test]
fn too_large() {
    insta::assert_snapshot!(shown(vec![b'#'; MAX_FILE_BYTES + 1]), @"");
}

#[test]
fn nested_too_deep() {
    insta::assert_snapshot!(shown("[".repeat(100_000)), @"");
    let block: String = (0..70)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    insta::assert_snapshot!(shown(block), @"");
    insta::assert_snapshot!(shown(format!("{}{}", "- ".repeat(40), "[".repeat(30))), @"");
}

#[test]
fn alias_bomb() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let alias = format!("*a{}, ", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", alias.repeat(10)));
    }
    insta::assert_snapshot!(shown(bomb), @"");
}

#[test]
fn alias_bomb_of_text() {
    let bomb = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), "*a, ".repeat(1_000));
    insta::assert_snapshot!(shown(bomb), @"");
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
    insta::assert_snapshot!(shown(deep), @"");
}

#[test]
fn several_documents() {
    insta::assert_snapshot!(shown("version: 1\n---\nversion: 2\n---\n"), @"");
}

#[test]
fn unknown_tag() {
    insta::assert_snapshot!(shown("password: !secret app\nn: !!int x\nl: !!map [a]\n"), @"");
}

#[test]
fn key_that_is_not_text() {
    insta::assert_snapshot!(shown("[a, b]: 1\n? {c: d}\n: 2\n"), @"");
}

#[test]
fn merge_of_something_else() {
    insta::assert_snapshot!(shown("a: &a 1\nb: {<<: *a}\n"), @"");
}

#[test]
fn alias_without_anchor() {
    insta::assert_snapshot!(shown("a: &default 1\nb: *defualt\nc: *.internal\n"), @"");
}

#[test]
fn alias_inside_its_anchor() {
    insta::assert_snapshot!(shown("a: &a [*a]\n"), @"");
}
