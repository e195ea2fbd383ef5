//! Statements, and what the patterns answer about them.

use proptest::prelude::*;
use shardwright_patterns::{Dialect, Flags, Pattern};
use shardwright_rules::KeyValue;
use shardwright_sql::annotation::{annotations_in, first_comment};
use shardwright_sql::comment::{CommentKey, comment_keys};
use shardwright_sql::{CommentForm as SqlForm, LexMode};

use super::*;
use crate::key_patterns::integer;

struct Compiled {
    accepts: regex::bytes::Regex,
    repeats: regex::bytes::Regex,
    doubtful: regex::bytes::Regex,
    leaf: Pattern,
    /// That no key of a comment is 17; none where no pattern tells.
    other: Option<[regex::bytes::Regex; 2]>,
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Missing,
    Doubtful,
    Repeated,
    Key(bool),
}

/// Byte mode, as PCRE matches.
fn bytes(pattern: &str) -> regex::bytes::Regex {
    regex::bytes::RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(1 << 26)
        .build()
        .expect(pattern)
}

/// The pattern for one key.
fn leaf(patterns: &KeyPatterns, key: i64) -> Pattern {
    let leaf = patterns.pattern(patterns.number(&integer::pattern(&[(key, key)], patterns.writing)));
    Pattern::compile(&leaf, Flags::default(), Dialect::Pcre).expect("a valid pattern")
}

fn tenant_17(form: &CommentForm) -> Compiled {
    let pcre = Wording { possessive: true };
    let patterns = KeyPatterns::new("tenant", form, KeyKind::Integer, false, pcre);
    Compiled {
        accepts: bytes(&patterns.accepts),
        repeats: bytes(&patterns.repeats.replace("*+", "*").replace("++", "+")),
        doubtful: bytes(&patterns.doubtful),
        leaf: leaf(&patterns, 17),
        other: patterns.other_than(&KeyValue::Integer(17)).map(|other| {
            [
                bytes(&other),
                bytes(patterns.commented().expect("what the other begins with")),
            ]
        }),
    }
}

impl Compiled {
    fn answer(&self, statement: &str) -> Answer {
        let text = statement.as_bytes();
        if self.accepts.is_match(text) {
            if self.repeats.is_match(text) {
                return Answer::Repeated;
            }
            return Answer::Key(self.leaf.is_match(text));
        }
        if self.doubtful.is_match(text) {
            Answer::Doubtful
        } else {
            Answer::Missing
        }
    }
}

#[test]
fn statements() {
    let patterns = tenant_17(&CommentForm::Pairs);
    for (statement, expected) in [
        ("/* tenant=17 */ SELECT 1", Answer::Key(true)),
        ("/*tenant=17*/ SELECT 1", Answer::Key(true)),
        ("/* TENANT=17 */ SELECT 1", Answer::Key(true)),
        ("/* tenant=017 */ SELECT 1", Answer::Key(true)),
        ("/* tenant='17' */ SELECT 1", Answer::Key(true)),
        ("/* tenant=\"17\",x=1 */ SELECT 1", Answer::Key(true)),
        ("/* app='x', tenant=17 */ SELECT 1", Answer::Key(true)),
        ("/*app=x,tenant=17*/ SELECT 1", Answer::Key(true)),
        ("/** tenant=17 */ SELECT 1", Answer::Doubtful),
        ("/*M* tenant=17 */ SELECT 1", Answer::Doubtful),
        (
            "SELECT /*+ MAX_EXECUTION_TIME(10) */ 1 /* tenant=17 */",
            Answer::Key(true),
        ),
        ("SELECT 1 - 2 -- x\n/* tenant=17 */", Answer::Key(true)),
        (
            "# x\nSELECT 5--3/2 /* a */ /* tenant=17 */ FROM t WHERE a='x'",
            Answer::Key(true),
        ),
        ("/* tenant=170 */ SELECT 1", Answer::Key(false)),
        ("/* tenant=1 */ SELECT 1", Answer::Key(false)),
        ("/* tenant=17a */ SELECT 1", Answer::Key(false)),
        ("/* tenant=17.0 */ SELECT 1", Answer::Key(false)),
        ("/* xtenant=17 */ SELECT 1", Answer::Missing),
        ("/* tenant =17 */ SELECT 1", Answer::Missing),
        ("SELECT 1 FROM t WHERE tenant=17", Answer::Missing),
        ("SELECT '/* tenant=17 */'", Answer::Doubtful),
        ("SELECT 'x' /* tenant=17 */", Answer::Doubtful),
        ("/*! tenant=17 */ SELECT 1", Answer::Missing),
        ("/*+ tenant=17 */ SELECT 1", Answer::Missing),
        ("/*M! tenant=17 */ SELECT 1", Answer::Missing),
        ("-- tenant=17\nSELECT 1", Answer::Missing),
        ("-- /* tenant=17 */\nSELECT 1", Answer::Doubtful),
        ("# /* tenant=17 */\nSELECT 1", Answer::Doubtful),
        (
            "/* tenant=17 */ SELECT tenant FROM t WHERE tenant = 18",
            Answer::Key(true),
        ),
        ("/* tenant=17 */ SELECT 1 WHERE xtenant=18", Answer::Key(true)),
        ("/* tenant=17 */ SELECT 1 WHERE tenant=18", Answer::Repeated),
        ("/* tenant=17 */ SELECT 1 /* tenant=17 */", Answer::Repeated),
        ("/* tenant=17 */ SELECT 'tenant=18'", Answer::Repeated),
        ("/* tenant=17 tenant=18 */ SELECT 1", Answer::Repeated),
        ("/* note='x tenant=17 y' */ SELECT 1", Answer::Doubtful),
        ("/* a=b='x c='y tenant=17 z' */ SELECT 1", Answer::Doubtful),
        ("/* tenant='17 x' */ SELECT 1", Answer::Doubtful),
        ("/* tenant=17' */ SELECT 1", Answer::Doubtful),
        ("/* tenant=17", Answer::Doubtful),
        ("/* it's tenant=17 */ SELECT 1", Answer::Key(true)),
    ] {
        assert_eq!(patterns.answer(statement), expected, "{statement}");
    }
}

/// Pieces that fit together in ways that tell lexers apart.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "tenant=17",
        "tenant=17",
        "tenant",
        "=",
        "17",
        "x",
        " ",
        " ",
        ",",
        ";",
        "/*",
        "/*",
        "*/",
        "*/",
        "*",
        "/",
        "-",
        "--",
        "-- ",
        "#",
        "\n",
        "'",
        "\"",
        "`",
        "!",
        "+",
        "M!",
        "M",
        "tenant='17'",
        "tenant=18",
        "a='x'",
        "a=",
        "SELECT 1",
        "\\",
        "/* ",
        " */",
        "/*+",
        "/*!",
        "xtenant=17",
        "tenant=17a",
        "TENANT=017",
        "t%65nant=17",
        "%54ENAN%74='17'",
        "tenant='1%37'",
        "%",
        "%37",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// The values of the key in comments that begin before the first quote character.
fn by_grammar(statement: &str, form: SqlForm) -> Vec<String> {
    let first_quote = statement.find(['\'', '"', '`']).unwrap_or(statement.len());
    comment_keys(
        statement.as_bytes(),
        LexMode::default(),
        CommentKey { name: "tenant", form },
    )
    .filter(|(_, span)| span.start < first_quote)
    .map(|(value, _)| String::from_utf8_lossy(&value).into_owned())
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn what_is_routed_has_that_key_and_what_is_missing_has_none(statement in hostile()) {
        for (patterns, form) in forms_of_tenant().iter().zip([SqlForm::Pairs, SqlForm::Sqlcommenter]) {
            let keys = by_grammar(&statement, form);
            match patterns.answer(&statement) {
                Answer::Key(is_17) => {
                    prop_assert_eq!(keys.len(), 1, "{}", statement);
                    prop_assert_eq!(keys[0].parse::<i64>() == Ok(17), is_17, "{}", statement);
                }
                Answer::Missing => prop_assert_eq!(keys.len(), 0, "{}", statement),
                Answer::Doubtful | Answer::Repeated => {}
            }
        }
    }

    #[test]
    fn another_key_than_that_of_the_schema_is_seen_in_real_comments_only(statement in hostile()) {
        let [pairs, encoded] = forms_of_tenant();
        prop_assert!(encoded.other.is_none());
        let [other, commented] = pairs.other.as_ref().expect("a number").each_ref();
        let seen = [other, commented].map(|pattern| pattern.is_match(statement.as_bytes()));
        match pairs.answer(&statement) {
            Answer::Key(is_17) => prop_assert_eq!(seen, [!is_17, true], "{}", statement),
            Answer::Missing => prop_assert_eq!(seen, [false, false], "{}", statement),
            Answer::Doubtful | Answer::Repeated => {}
        }
    }
}

#[test]
fn other_keys_are_whatever_is_not_written_as_the_key() {
    let wording = Wording { possessive: true };
    let of = |kind| KeyPatterns::new("tenant", &CommentForm::Pairs, kind, false, wording);
    let sees =
        |other: &str, value: &str| bytes(other).is_match(format!("/* tenant={value} */ SELECT 1").as_bytes());
    let number = of(KeyKind::Integer)
        .other_than(&KeyValue::Integer(17))
        .expect("a number");
    for value in ["17", "017", "+17", "'+0017'", "\"17\",x=1"] {
        assert!(!sees(&number, value), "{value}");
    }
    for value in [
        "1", "170", "7", "0", "-17", "17a", "1 7", "''", "'0'", "++17", "0+17", "'+'", "17.0", "x",
    ] {
        assert!(sees(&number, value), "{value}");
    }
    let text = of(KeyKind::Text)
        .other_than(&KeyValue::Text("a.b".into()))
        .expect("a word");
    assert!(!sees(&text, "a.b") && !sees(&text, "'a.b'"));
    for value in ["a", "a.", "axb", "A.b", "a.bc", "''", "b"] {
        assert!(sees(&text, value), "{value}");
    }
    for value in ["", "a b", "é", "a'b", &"a".repeat(33)] {
        assert_eq!(
            of(KeyKind::Text).other_than(&KeyValue::Text(value.into())),
            None,
            "{value}"
        );
    }
    for value in [0, -17] {
        assert_eq!(
            of(KeyKind::Integer).other_than(&KeyValue::Integer(value)),
            None,
            "{value}"
        );
    }
}

/// For pairs, and for pairs that may be percent-encoded.
fn forms_of_tenant() -> &'static [Compiled; 2] {
    static SITES: std::sync::OnceLock<[Compiled; 2]> = std::sync::OnceLock::new();
    SITES.get_or_init(|| [CommentForm::Pairs, CommentForm::Sqlcommenter].map(|form| tenant_17(&form)))
}

#[test]
fn keys_that_proxysql_obeys_as_annotations_pass_the_guards() {
    let wording = Wording { possessive: true };
    let usual = |word: &str| {
        KeyPatterns::new(word, &CommentForm::Pairs, KeyKind::Integer, false, wording).usual(wording)
    };
    for word in ["hostgroup", "Mirror", "7min_gtid", "my-cache_ttl"] {
        assert_eq!(usual(word), None, "{word}");
    }
    assert!(usual("tenant").is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// What skips the guards has its key where they find it, ends outside of literals, and has no annotation.
    #[test]
    fn a_usual_statement_passes_every_guard(sql in usual_pieces()) {
        let wording = Wording { possessive: false };
        let patterns = KeyPatterns::new("tenant", &CommentForm::Pairs, KeyKind::Integer, false, wording);
        let usual = bytes(&patterns.usual(wording).expect("plain comments have one").pattern);
        if usual.is_match(sql.as_bytes()) {
            prop_assert!(bytes(&patterns.accepts).is_match(sql.as_bytes()), "{sql}");
            prop_assert!(bytes(&wording.complete()).is_match(sql.as_bytes()), "{sql}");
            // The guard takes any comment for the first one; ProxySQL obeys the first.
            let comment = first_comment(sql.as_bytes()).expect("it begins with one");
            let obeyed = annotations_in(&comment.text).any(|annotation| annotation.is_known());
            prop_assert!(!obeyed, "{sql}");
            let pcre = Wording { possessive: true };
            let patterns = KeyPatterns::new("tenant", &CommentForm::Pairs, KeyKind::Integer, false, pcre);
            for (key, is_its_own) in [(1, true), (2, false)] {
                prop_assert_eq!(leaf(&patterns, key).is_match(sql.as_bytes()), is_its_own, "{}", sql);
            }
        }
    }
}

fn usual_pieces() -> impl Strategy<Value = String> {
    let pieces = vec![
        "SELECT 1",
        " ",
        "'a'",
        "'",
        "\"",
        "`",
        "/",
        "*",
        "/*",
        "*/",
        "-",
        "--",
        "#",
        "\n",
        ";",
        "\\",
        "hostgroup=2",
        "/* mirror=1 */",
        "!",
        "tenant=2",
        "x",
        "=",
        "''",
        "'/*'",
        "+",
        "M!",
    ];
    let rest = prop::collection::vec(prop::sample::select(pieces), 0..8);
    let fronts = [
        "/* tenant=1 */",
        "/*tenant=1*/",
        "/* TENANT=1\t*/ ",
        "/*! tenant=1 */",
        "/* tenant=1; hostgroup=2 */",
        " /* tenant=1 */",
    ];
    (prop::sample::select(fronts.to_vec()), rest)
        .prop_map(|(front, rest)| format!("{front}{}", rest.concat()))
}
