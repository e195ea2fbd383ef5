//! The machine against the lexer.

use proptest::prelude::*;
use shardwright_sql::{LexMode, Lexer, ReadHazards, Shape, TokenKind};

use super::*;

/// A number such as `1.e` without digits behind the exponent, which MySQL reads otherwise than the machine: it forgets the number and
/// a byte behind it. MariaDB refuses the text.
fn has_bare_exponent(text: &[u8]) -> bool {
    Lexer::new(text, LexMode::default()).any(|token| token.kind == TokenKind::Unknown)
}

/// Whether the text is a read, but for what the claim leaves out.
fn is_read(text: &str) -> bool {
    let hazards = Shape::of(text.as_bytes(), LexMode::default()).read_hazards;
    hazards.without(ReadHazards::UNKNOWN_FUNCTION).is_empty()
}

#[test]
fn what_is_accepted() {
    let reads = reads().unwrap();
    for (text, expected) in [
        ("SELECT a FROM t WHERE id = 1.5 AND b < 1.e5 ;", true),
        ("select\n'x' 'INTO', f(1), \"it\\'s\" -- FOR\n, `into`", true),
        ("/* tenant=5 */ # x\n--\n SELECT 0x1F, x'1f', -1--1", true),
        ("SELECT next value FROM t", true),
        ("SELECT 'a'/1, t.for_all", true),
        ("SELECT row_count, t.uuid_short FROM t", true),
        ("SELECT get_lock, row_count\n('a') FROM t", false),
        ("SELECT row_count /**/ () FROM t", false),
        ("SELECT s.nextval", false),
        ("SELECT a INTO b", false),
        ("SELECT a FROM t FOR UPDATE", false),
        ("SELECT a FROM t LOCK IN SHARE MODE", false),
        ("SELECT 1.FOR UPDATE", false),
        ("SELECT 1.5FOR UPDATE", false),
        ("SELECT 1e5FOR UPDATE", false),
        ("SELECT 1.e5FOR UPDATE", false),
        ("SELECT 0.E+0XA", true),
        ("SELECT t.1e5FOR", false),
        ("SELECT 1.e-- \nFOR UPDATE", false),
        ("SELECT a FROM t FOR", false),
        ("SELECT @a", false),
        ("SELECT /*!1*/ 1", false),
        ("SELECT /*M!1*/ 1", false),
        ("SELECT 1; SELECT 2", false),
        ("SELECT 'a", false),
        ("SELECT x'a''\\' FOR UPDATE '", false),
        ("SELEC", false),
        ("SELECT", false),
        ("UPDATE t SET a=1", false),
        ("(SELECT 1)", false),
        ("1 SELECT 1", false),
        ("'' SELECT 1", false),
        ("SETVAL SELECT 1", false),
        ("- SELECT 1", false),
        ("", false),
    ] {
        assert_eq!(reads.accepts(text.as_bytes()), expected, "{text}");
    }
    for word in words_of_no_read() {
        assert!(!reads.accepts(format!("SELECT {word}(1)").as_bytes()), "{word}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ",
        "\n",
        "'",
        "\"",
        "`",
        "\\",
        "/*",
        "*/",
        "/*!",
        "/*M",
        "!",
        "--",
        "-",
        "+",
        "#",
        "/",
        "*",
        ".",
        ",",
        "(",
        ")",
        ";",
        "@",
        "@@",
        "$",
        "x'",
        "b",
        "n'",
        "0x",
        "0",
        "1",
        "e",
        "e5",
        "1.",
        "FOR",
        "for",
        "UPDATE",
        "INTO",
        "IN",
        "SHARE",
        "LOCK",
        "NEXT",
        "VALUE",
        "NEXTVAL",
        "GET_LOCK",
        "UUID_SHORT",
        "_utf8",
        "SELECT ",
        "SELECT",
        "a",
        "t.",
        "f(",
        "\t",
        "\x0b",
        "\u{e9}",
        "SQL_CALC_FOUND_ROWS",
        "WITH",
    ]);
    (
        prop::sample::select(vec!["SELECT ", "SELECT a ", "", "/* x */ SELECT "]),
        prop::collection::vec(pieces, 0..12),
    )
        .prop_map(|(verb, pieces)| verb.to_owned() + &pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn what_is_accepted_is_a_read(texts in prop::collection::vec(pieces(), 1..20)) {
        thread_local! {
            static READS: Automaton = reads().unwrap();
        }
        for text in texts {
            let accepted = READS.with(|reads| reads.accepts(text.as_bytes()));
            prop_assert!(
                !accepted || is_read(&text) || has_bare_exponent(text.as_bytes()),
                "{text:?}"
            );
        }
    }
}
