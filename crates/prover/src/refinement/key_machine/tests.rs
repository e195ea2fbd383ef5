//! The machine against the lexer.

use proptest::prelude::*;
use shardwright_rules::KeyRef;
use shardwright_sql::{CommentForm, CommentKey, LexMode, Lexer, TokenKind, comment_keys};

use super::*;

const KEY: CommentKey<'static> = CommentKey {
    name: "tenant",
    form: CommentForm::Pairs,
};

fn automaton(kind: KeyKind) -> Automaton {
    let keys = match kind {
        KeyKind::Integer => vec![KeyValue::Integer(5), KeyValue::Integer(-3), KeyValue::Integer(0)],
        KeyKind::Text => vec![KeyValue::Text("eu".into()), KeyValue::Text("e".into())],
    };
    let ranges: &[(i64, i64)] = match kind {
        KeyKind::Integer => &[(98, 131)],
        KeyKind::Text => &[],
    };
    texts_with_key("tenant", kind, &keys, ranges).unwrap()
}

/// A number such as `1.e` without digits behind the exponent, which MySQL reads otherwise than the machine: it forgets the number and
/// a byte behind it. MariaDB refuses the text.
fn has_bare_exponent(text: &[u8]) -> bool {
    Lexer::new(text, LexMode::default()).any(|token| token.kind == TokenKind::Unknown)
}

/// Whether the lexer finds one key, and that of the set.
fn has_key(kind: KeyKind, text: &[u8]) -> bool {
    let values: Vec<_> = comment_keys(text, LexMode::default(), KEY)
        .map(|(value, _)| value)
        .collect();
    let [value] = values.as_slice() else {
        return false;
    };
    match KeyRef::parse_bytes(kind, value) {
        Some(KeyRef::Integer(n)) => matches!(n, -3 | 0 | 5 | 98..=131),
        Some(KeyRef::Text(text)) => matches!(&*text, "eu" | "e"),
        None => false,
    }
}

#[test]
fn what_is_accepted() {
    let of_integers = automaton(KeyKind::Integer);
    for (text, expected) in [
        ("/* tenant=5 */ SELECT 1", true),
        ("/*tenant=5*/SELECT 1", true),
        ("SELECT /* app=x, TENANT='+05' */ 1", true),
        ("/* a='x y' tenant=100, b=2 */ SELECT 'it''s' -- x", true),
        ("/*! 1 */ SELECT 1 /* tenant=-3 */", true),
        ("/* xtenant=9 tenant=5 */ SELECT 1", true),
        ("/* tenant=-0 */", true),
        ("/* tenant=6 */ SELECT 1", false),
        ("/* tenant=132 */ SELECT 1", false),
        ("/* tenant=5x */ SELECT 1", false),
        ("/* tenant=5 */ SELECT tenant=5", false),
        ("SELECT 'tenant=5'", false),
        ("/* a='x tenant=5 ' */ SELECT 1", false),
        ("/* tenant=5", false),
        ("/*+ tenant=5 */ SELECT 1", false),
        ("/*! tenant=5 */ SELECT 1", false),
        ("/*! 'x */ SELECT /* tenant=5 */ 1", false),
        ("# /* tenant=5 */", false),
        ("-- /* tenant=5 */", false),
        ("--/* tenant=5 */", true),
        ("`/* tenant=5 */`", false),
        (r"SELECT x'a''\' '/* tenant=5 */'", false),
    ] {
        assert_eq!(of_integers.accepts(text.as_bytes()), expected, "{text}");
        assert!(!expected || has_key(KeyKind::Integer, text.as_bytes()), "{text}");
    }
    assert!(automaton(KeyKind::Text).accepts(b"/* tenant=\"eu\" */"));
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "/*",
        "*/",
        "/",
        "*",
        "!",
        "M",
        "+",
        "-",
        "--",
        "#",
        "\n",
        " ",
        ",",
        ";",
        "'",
        "\"",
        "`",
        "\\",
        "=",
        "tenant=",
        "tenant=5",
        "TENANT=",
        "tenant",
        "5",
        "05",
        "1",
        "0",
        "eu",
        "e",
        "x",
        "b",
        "@",
        "a=",
        "a=b",
        "'5'",
        "/* tenant=5 */",
        "/* tenant='eu' */",
        "/*tenant=115*/",
        "SELECT 1",
        "/*!",
        ".",
        "x'",
        "--\t",
    ]);
    prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn what_is_accepted_has_one_key_of_the_set(text in pieces()) {
        thread_local! {
            static AUTOMATA: [(KeyKind, Automaton); 2] =
                [KeyKind::Integer, KeyKind::Text].map(|kind| (kind, automaton(kind)));
        }
        AUTOMATA.with(|automata| -> Result<(), TestCaseError> {
            for (kind, automaton) in automata {
                if automaton.accepts(&text) && !has_bare_exponent(&text) {
                    prop_assert!(has_key(*kind, &text), "{kind:?} {:?}", text.escape_ascii().to_string());
                }
            }
            Ok(())
        })?;
    }
}
