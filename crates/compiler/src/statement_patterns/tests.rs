//! Statements that are recognised whole, and those that are not.

use proptest::prelude::*;
use shardwright_patterns::{Automaton, Dialect, Flags, Inclusion, Limits, Pattern, included};

use super::*;

const READ: Form<'_> = Form {
    verbs: &["SELECT"],
    without: &["FOR", "GET_LOCK*", "INTO", "LOCK"],
    calls: Calls::Any,
    dots: true,
    variables: Variables::None,
    wrapped: true,
    spaced: false,
    plain_reads: false,
};

const SETUP: Form<'_> = Form {
    verbs: &["SET", "SELECT"],
    without: &["FROM", "INTO", "FOR"],
    calls: Calls::Of(&["NOW", "CONCAT", "NOWADAYS"]),
    dots: true,
    variables: Variables::Any,
    wrapped: false,
    spaced: true,
    plain_reads: false,
};

fn compiled(pattern: &str, dialect: Dialect) -> Pattern {
    let pattern = Pattern::compile(pattern, Flags::default(), dialect).expect(pattern);
    assert_eq!(pattern.opaque(), None);
    pattern
}

/// The pattern in both wordings; they must agree.
struct Both([Pattern; 2]);

impl Both {
    fn of(pattern: impl Fn(Wording) -> String) -> Self {
        let word = |possessive| pattern(Wording { possessive });
        Self([
            compiled(&word(true), Dialect::Pcre),
            compiled(&word(false), Dialect::Re2),
        ])
    }

    fn recognises(&self, text: &str) -> bool {
        let [pcre, re2] = self.0.each_ref().map(|pattern| pattern.is_match(text.as_bytes()));
        assert_eq!(pcre, re2, "{text:?}");
        pcre
    }
}

#[test]
fn reads_are_recognised_whole() {
    let read = Both::of(|wording| wording.statement(&READ));
    for (text, expected) in [
        ("SELECT 1", true),
        ("select a.b, `c` from t where d='it''s' and e=\"x\"", true),
        ("/* tenant=5 */ (SELECT a FROM t) UNION (SELECT 2) ;  ", true),
        ("SELECT a/b, a / b, a - b, -1, 0xAF, 10 FROM t -- the end", true),
        ("SELECT a/-1 FROM t", false),
        ("SELECT a # c\nFROM t", true),
        ("SELECT a --\nFROM t", true),
        (
            "SELECT a /* FOR UPDATE */ FROM t WHERE b='FOR' AND c=\"INTO\"",
            true,
        ),
        ("SELECT forx, xfor, fo, forced, get_loc FROM t", true),
        ("SELECT a-b, a/b, a - b, -1 FROM t WHERE c<-1", true),
        ("SELECT GET_LOCK --\n('a',1)", false),
        ("SELECT get_locked FROM t", false),
        ("SELECT a FROM t FOR UPDATE", false),
        ("SELECT a FROM t FOR-- x\nUPDATE", false),
        ("SELECT a FROM t FOR# lock\n UPDATE", false),
        ("SELECT a --\nINTO @x FROM t", false),
        ("SELECT a FROM t WHERE b=0.5FOR UPDATE", false),
        ("SELECT 1FOR UPDATE", false),
        ("SELECT a FROM t WHERE b=1.FOR UPDATE", false),
        ("SELECT a FROM t WHERE b=1.e5FOR UPDATE", false),
        ("SELECT a FROM t WHERE b=a/1.E5FOR UPDATE", false),
        ("SELECT 0.e12INTO @x", false),
        (
            "SELECT 1.e5, 1.5 FROM t AS e1, u AS e WHERE e1.e2 = e.ex AND a_e5x = 2",
            true,
        ),
        ("SELECT a FROM t;\n--\nDELETE FROM t", false),
        ("SELECT 1;;", false),
        ("SELECT /*! 1 */ a", false),
        ("SELECT a /*M!100000 FOR UPDATE */ FROM t", false),
        ("SELECT a FROM t WHERE b='x", false),
        ("SELECT a FROM t /* x", false),
        ("SELECT a FROM t WHERE b='a\\' FOR UPDATE -- '", false),
        ("SELECT a FROM t WHERE b='a\\\\' AND c='\\n'", true),
        ("SELECT a FROM t WHERE b='\0' FOR UPDATE", false),
        ("SELECT 'é', 'é\n' FROM t", true),
        ("SELECT 'é\\\\' , ' FOR UPDATE #'", false),
        ("SELECT @x", false),
        ("SELECTED", false),
        ("", false),
    ] {
        assert_eq!(read.recognises(text), expected, "{text:?}");
    }
}

#[test]
fn verbs_share_their_beginnings() {
    let setup = Both::of(|wording| wording.statement(&SETUP));
    for (text, expected) in [
        ("SET NAMES utf8mb4", true),
        (
            "/* connector (Revision: 1) */SELECT  @@session.auto_increment_increment AS a",
            true,
        ),
        ("SELECT NOW(), CONCAT(@@sql_mode, ',X'), now", true),
        ("SELECT NOWADAYS(), NO", true),
        ("SELECT f(1)", false),
        ("SELECT NOWA()", false),
        ("SELECT CONCAT(f(1))", false),
        ("SET @x = f(15)", false),
        ("SET @x = (SELECT 1)", false),
        ("SET @x := -1", true),
        ("SET/**/x=1", false),
        ("SELECT name FROM orders", false),
        ("SELECT name\n--\nFROM orders WHERE id=5", false),
        ("SELECT name#c\nFROM orders", false),
        ("SE", false),
        ("SETS x", false),
    ] {
        assert_eq!(setup.recognises(text), expected, "{text:?}");
    }
}

#[test]
fn a_complete_text_ends_outside_of_literals_and_comments() {
    let complete = Both::of(Wording::complete);
    for (text, expected) in [
        ("", true),
        ("UPDATE t SET a='O\\'Brien' WHERE b=\"\\\"\" -- x", true),
        ("SELECT 5/-1, 5 / 2, - 1, a--1, 3 - -2 # y", true),
        ("SELECT /**/ 1 /***/ + /* ' */ 2 /*! 3 */", true),
        ("UPDATE b SET c='\0' WHERE id=1 /* hostgroup=2 */", false),
        ("SELECT 1 /*/;", false),
        ("SELECT 1 /* x", false),
        ("SELECT `a", false),
        ("SELECT 'a\\'", false),
        ("SELECT 1 /* \0 */", false),
        ("SELECT 1 -- it's\n, 'x'", true),
        ("SELECT 1 # \"", true),
    ] {
        assert_eq!(complete.recognises(text), expected, "{text:?}");
    }
}

#[test]
fn beginnings_stand_behind_any_comment() {
    let begin = Both::of(|wording| wording.beginning(&["BEGIN", "START"]));
    for (text, expected) in [
        ("BEGIN", true),
        ("/*! x */ -- y\n begin work", true),
        ("start transaction", true),
        ("BEGINNING", false),
        ("SELECT 'BEGIN'", false),
    ] {
        assert_eq!(begin.recognises(text), expected, "{text:?}");
    }
}

proptest! {
    #[test]
    fn what_is_recognised_has_none_of_the_words(pieces in prop::collection::vec(prop::sample::select(vec![
        "SELECT", "a", "for", "INTO", "'", "\"", "`", "\\", "--", "-", "/*", "*/", "/", "*", "#", "\n", " ", "(", ")",
        "!", "M!", "1", "0x", ".", ",", "=", ";", "é", "x", "LOCK", "+", "0",
    ]), 0..14)) {
        let text = format!("SELECT {}", pieces.concat());
        let read = Both::of(|wording| wording.statement(&READ));
        if read.recognises(&text) {
            let words: Vec<String> = shardwright_sql::Lexer::new(text.as_bytes(), shardwright_sql::LexMode::default())
                .filter(|token| token.kind == shardwright_sql::TokenKind::Word)
                .map(|token| text[token.span.start..token.span.end].to_ascii_uppercase())
                .collect();
            prop_assert!(!words.iter().any(|word| READ.without.contains(&word.as_str())), "{:?}", text);
            let shape = shardwright_sql::Shape::of(text.as_bytes(), shardwright_sql::LexMode::default());
            prop_assert!(!shape.several, "{:?}", text);
            prop_assert!(Both::of(Wording::complete).recognises(&text), "{:?}", text);
        }
    }
}

/// A text that only one of two patterns recognises; none if PCRE reads the same language by both.
fn told_apart(one: &str, other: &str) -> Option<Vec<u8>> {
    let limits = Limits::default();
    let automaton =
        |text| Automaton::of(&compiled(text, Dialect::Pcre), &limits).expect("within the prover's limits");
    let [one, other] = [one, other].map(automaton);
    let difference = |a: &Automaton, b: &Automaton| match included(a, b, &limits).expect("within the limits")
    {
        Inclusion::Holds => None,
        Inclusion::Refuted { witness } => Some(witness),
    };
    difference(&one, &other).or_else(|| difference(&other, &one))
}

#[test]
fn by_words_and_by_tokens_the_same_is_recognised() {
    let pcre = Wording { possessive: true };
    let words: [&[&str]; 4] = [&[], &["IN"], READ.without, &["FORMAT", "NOWHERE*", "SETVAL"]];
    let mut forms = vec![READ, SETUP];
    for without in words {
        for calls in [Calls::Any, Calls::Of(&["NOW", "FOR", "FOUND"]), Calls::None] {
            for variables in [Variables::None, Variables::OfSystem, Variables::Any] {
                let spaced = variables == Variables::None;
                forms.push(Form {
                    without,
                    calls,
                    variables,
                    spaced,
                    wrapped: !spaced,
                    ..SETUP
                });
            }
        }
    }
    for form in forms {
        let [by_words, by_tokens] = [pcre.statement_by_words(&form), pcre.statement_by_tokens(&form)];
        assert_eq!(told_apart(&by_words, &by_tokens), None, "{form:?}");
    }
}
