//! Plain reads, told by the few letters that only other statements need.
//!
//! # Idea
//!
//! What keeps a SELECT on the writer are words (`FOR`, `INTO`, `LOCK`, `SQL_CALC_FOUND_ROWS`), calls of some functions
//! (`GET_LOCK(`, `ROW_COUNT(`, `NEXTVAL(`), and variables. A general pattern holds every word against all of them. This one
//! reads runs of signs and letters, many words in one go, and stops only at a letter that such a word cannot do without:
//!
//! | letter | for | what goes on |
//! |---|---|---|
//! | `F` | `FOR` | inside of a word; or with another letter than `O` behind it |
//! | `I` | `INTO` | inside of a word; or `IN` with another letter than `T` behind it, or another letter than `N` |
//! | `K` | `LOCK` | unless a word ends with it |
//! | `Q` | `SQL…` | unless an `L` follows |
//! | `V` | `NEXTVAL`, `SETVAL`, … | at the start of a word, or without an `A` behind it |
//! | `_` | all other functions | the rest of its word, unless a parenthesis follows |
//!
//! It stops at digits too: `1.e5FOR` is a number and a word to servers, so behind a number there is no letter and no dot. Digits
//! behind the verb are different: nothing stands in front of them that they could be the end of. So the first run takes numbers
//! and signs, and `SELECT 1` is read without a stop. A word follows it; each byte can still be read in one way only.
//! What it does not know, such as a comment, an operator that could begin one, a backslash or a quoted name, it leaves to the
//! general pattern.
//!
//! # Invariant
//!
//! What it matches is a read to `sql::Shape`, except for calls of stored functions; a test holds it to that. A name such as
//! `get_lock` that is not called is a column: those it takes, and the general pattern does not.
//!
//! # Example
//!
//! `o.id, MAX(o.total) FROM orders o LIMIT 20`: no number; `o.`; `I` and `D, MAX(o.total) `; `F`, `R` and `OM orders o L`; `I`, inside of a
//! word, and `MIT `; `20`; the end.

use super::{BLANK, Wording};

/// Letters that no word of other statements depends on, for use in a class.
const LETTERS: &str = "A-EGHJL-PR-UW-Z";
/// Signs that may stand anywhere but for dots and parentheses, for use in a class.
const SIGNS: &str = r"!%&+,<=>?\[\]^{|}~)*";

impl Wording {
    /// Behind SELECT: the rest of a plain read, to be matched without case.
    pub(super) fn plain_read(self) -> String {
        let more = self.more();
        let run = format!(r"[\t-\r {SIGNS}(.{LETTERS}]*{more}");
        let behind_name = format!("[{SIGNS}.{LETTERS}]{run}");
        let behind_number = format!(r"[\t-\r {SIGNS}(]{run}");
        // Each costs something where it fails, so what they begin with is asked once.
        let words = [
            format!(r"I(?:[0-9A-MO-Z]|N(?:[0-9A-SU-Z]|\b)|\b){run}"),
            format!(r"F(?:[0-9A-NP-Z]|\b){run}"),
            format!(r"[KV]{run}"),
        ]
        .join("|");
        let number = format!(r"[0-9]+{more}(?:\.[0-9]+{more})?{more}\b(?:{behind_number})?{more}");
        let inside_of_a_word = [
            format!(r"[FI0-9]{run}"),
            format!(r"K\B{run}"),
            format!(r"V(?:[0-9B-Z]|\b){run}"),
        ]
        .join("|");
        let no_sql = format!(r"Q(?:[0-9A-KM-Z]|\b){run}");
        let stops = [
            format!(r"\b(?:{number}|{words})"),
            format!(r"\B(?:{inside_of_a_word})"),
            format!(r"_\w*{more}\b{BLANK}*{more}(?:{behind_name})?{more}"),
            format!(r"'[^'\\]*{more}'{run}"),
            no_sql.clone(),
        ]
        .join("|");
        let numbers = format!(r"[\t-\r {SIGNS}(0-9]*{more}");
        let end = format!(r";?{more}\z");
        format!(r"{numbers}(?:{end}|\b(?:[{LETTERS}]{run}|{words}|{no_sql})(?:{stops})*{more}{end})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shardwright_patterns::{Automaton, Dialect, Flags, Inclusion, Limits, Pattern, included};
    use shardwright_sql::{LexMode, ReadHazards, Shape};

    use super::*;

    fn pattern(possessive: bool) -> Pattern {
        let text = format!(r"\ASELECT[\t\n\r ]{}", Wording { possessive }.plain_read());
        let flags = Flags {
            caseless: true,
            global: false,
        };
        Pattern::compile(&text, flags, Dialect::Pcre).expect("a valid pattern")
    }

    #[test]
    fn both_wordings_are_one_language() {
        let limits = Limits::default();
        let [pcre, re2] =
            [true, false].map(|possessive| Automaton::of(&pattern(possessive), &limits).expect("small"));
        for (inner, outer) in [(&pcre, &re2), (&re2, &pcre)] {
            assert_eq!(included(inner, outer, &limits), Ok(Inclusion::Holds));
        }
    }

    #[test]
    fn statements() {
        let pattern = pattern(true);
        for (text, expected) in [
            ("SELECT o.id, MAX(o.total) FROM orders o LIMIT 20;", true),
            (
                "SELECT customer_id FROM t WHERE customer_id IN (1, 2.5) AND name = 'FOR é'",
                true,
            ),
            (
                "select inner_id, f.x, i.fk_1 from f join i on f.a=i.b where kind='book ' and v_1 is null",
                true,
            ),
            ("SELECT row_count, get_lock FROM t", true),
            ("SELECT value, interior, forty FROM t", false),
            ("SELECT a FROM t FOR UPDATE", false),
            ("SELECT a FROM t\nfor share", false),
            ("SELECT a INTO b FROM t", false),
            ("SELECT a FROM t LOCK IN SHARE MODE", false),
            ("SELECT SQL_CALC_FOUND_ROWS a FROM t", false),
            ("SELECT 1FOR UPDATE", false),
            ("SELECT 1.FOR UPDATE", false),
            ("SELECT 1.5FOR UPDATE", false),
            ("SELECT 1.e5FOR UPDATE", false),
            ("SELECT 1.5.FOR UPDATE", false),
            ("SELECT 17", true),
            ("SELECT (17), 1+1;", true),
            ("SELECT 1 AS one FROM t WHERE total > 9.99", true),
            ("SELECT 17a FROM t", false),
            ("SELECT 17;;", false),
            ("SELECT 17FOR UPDATE", false),
            ("SELECT .5FOR UPDATE", false),
            ("SELECT 0x1FOR UPDATE", false),
            ("SELECT GET_LOCK ('a', 1)", false),
            ("SELECT row_count\t()", false),
            ("SELECT NEXTVAL(s)", false),
            ("SELECT s.nextval", false),
            ("SELECT a -- FOR\n", false),
            ("SELECT `for`", false),
            ("SELECT @a", false),
            ("SELECT 1; SELECT 2", false),
            ("SELECT 'a", false),
            ("SELECT 'a\\' FOR UPDATE '", false),
        ] {
            assert_eq!(pattern.is_match(text.as_bytes()), expected, "{text}");
        }
        for word in shardwright_sql::class::words_of_no_read() {
            for text in [format!("SELECT {word}(1)"), format!("SELECT a.{word} (1)")] {
                assert!(!pattern.is_match(text.as_bytes()), "{text}");
            }
        }
    }

    fn pieces() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            " ",
            "\n",
            "'",
            "''",
            "'a'",
            "\"",
            "\\",
            "/*",
            "*/",
            "--",
            "-",
            "#",
            "/",
            "*",
            ".",
            ",",
            "(",
            ")",
            ";",
            "@",
            "0",
            "1",
            "e5",
            "1.",
            ".5",
            "0x",
            "FOR",
            "fo",
            "r",
            "UPDATE",
            "INTO",
            "in",
            "t",
            "o",
            "SHARE",
            "LOCK",
            "LOC",
            "k",
            "NEXT",
            "VALUE",
            "val",
            "NEXTVAL",
            "GET_LOCK",
            "uuid_short",
            "_",
            "ROW_COUNT",
            "a",
            "f(",
            "q",
            "l",
            "S",
            "SQL_CALC_FOUND_ROWS",
            "\u{e9}",
            "\x0b",
        ]);
        prop::collection::vec(pieces, 0..14).prop_map(|pieces| format!("SELECT {}", pieces.concat()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn what_it_takes_is_a_read(texts in prop::collection::vec(pieces(), 1..20)) {
            thread_local! {
                static PLAIN: Pattern = pattern(true);
            }
            for text in texts {
                if PLAIN.with(|plain| plain.is_match(text.as_bytes())) {
                    let hazards = Shape::of(text.as_bytes(), LexMode::default()).read_hazards;
                    prop_assert!(hazards.without(ReadHazards::UNKNOWN_FUNCTION).is_empty(), "{text:?} {hazards:?}");
                }
            }
        }
    }
}
