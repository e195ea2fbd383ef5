//! The statements that rules tell apart by their text: reads, session setup, transactions.
//!
//! Each is recognised whole (see [`crate::statement_patterns`]), so what a digest text loses (line comments, its end) and what a NUL byte
//! hides makes a statement unknown, never another one.

use shardwright_rules::{EngineRule, Modifiers, PatternKind};

use crate::key_patterns::text::{any_case, caseless};
use crate::statement_patterns::{Calls, Form, Variables, Wording};

/// What no read holds outside of literals: locks, sequences, INTO, the files and the replication of one server. FOR stands
/// in FOR UPDATE, FOR SHARE and NEXT VALUE FOR. Long names are known by their beginnings, which keeps patterns small.
const READ_WITHOUT: [&str; 21] = [
    "BINLOG_GTID*",
    "CURRVAL",
    "FOR",
    "GET_LOCK*",
    "INTO",
    "IS_FREE_L*",
    "IS_USED_L*",
    "LASTVAL",
    "LOAD_FILE*",
    "LOCK",
    "MASTER_GTID*",
    "MASTER_POS*",
    "NEXTVAL",
    "PS_THREAD*",
    "RELEASE_ALL*",
    "RELEASE_LOCK*",
    "SETVAL",
    "SOURCE_POS*",
    "UUID_SHORT",
    "WAIT_FOR_E*",
    "WAIT_UNTIL*",
];
/// What speaks of the session that it runs in.
const OF_SESSION: [&str; 9] = [
    "CONNECTION_ID",
    "FOUND_ROWS",
    "LAST_INSERT_ID",
    "PS_CURRENT*",
    "ROW_COUNT",
    "SQLCODE",
    "SQLERRM",
    "SQL_CALC*",
    "WSREP_*",
];
/// A quoted name may be that of a function: a quote, blanks, and a parenthesis or a comment. It begins at the first quote, so
/// that a text without quotes is read once.
fn quoted(wording: Wording) -> String {
    let more = wording.more();
    format!(r#"[^`"]*{more}[`"](?:(?s:.*)[`"])?[\t-\r ]*(?:\(|/\*|--|#)"#)
}

/// What session setup does not hold outside of literals: tables, rows that go elsewhere, sequences, `SET STATEMENT … FOR`.
const SETUP_WITHOUT: [&str; 7] = ["FOR", "FROM", "INTO", "NEXTVAL", "SETVAL", "STATEMENT", "TABLE"];
/// Functions that drivers use on connect. Others may be stored ones.
const SETUP_CALLS: [&str; 22] = [
    "COALESCE",
    "CONCAT",
    "CONNECTION_ID",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DATABASE",
    "FOUND_ROWS",
    "IFNULL",
    "LAST_INSERT_ID",
    "NOW",
    "ROW_COUNT",
    "SCHEMA",
    "SESSION_USER",
    "SLEEP",
    "SYSDATE",
    "SYSTEM_USER",
    "TIMEDIFF",
    "TIMESTAMPDIFF",
    "UNIX_TIMESTAMP",
    "USER",
    "UTC_TIMESTAMP",
    "VERSION",
];
/// The tables of the session's own schema, which every shard describes alike.
const DESCRIBES: &str = concat!(
    r"\A[\t-\r ]*SHOW[\t-\r ]+(?:(?:EXTENDED|FULL)[\t-\r ]+){0,2}(?:COLUMNS|FIELDS|INDEX(?:ES)?|KEYS)[\t-\r ]+(?:FROM|IN)[\t-\r ]+",
    r"(?:[0-9A-Z_$]+|`[\x00-_a-\x7f]*`)[\t-\r ]*(?:LIKE[\t-\r ]+'[^'\\]*'[\t-\r ]*)?;?[\t-\r ]*\z"
);

/// A rule for what a quoted name may call; behind it, what is recognised by [`read`] is a read.
pub(super) fn quoted_call(wording: Wording) -> EngineRule {
    text(format!(r"\A{}", quoted(wording)))
}

/// The same for what a comment begins too, which is written from its first slash on. Up to a quote or a slash a text is read in
/// one go: most have neither. Behind that, a comment is sought from slash to slash, and only behind the fourth from byte to byte: a
/// loop would take stack of PCRE for each turn.
pub(super) fn quoted_call_or(wording: Wording, comment: &str) -> EngineRule {
    let (more, quoted) = (wording.more(), quoted(wording));
    text(format!(
        r#"\A[^`"/]*{more}(?:{quoted}|(?:(?:[^/]*{more}/){{0,3}}?[^/]*{more}|(?:[^/]*{more}/){{4}}(?s:.*?)){comment})"#
    ))
}

/// A comment with the word in it. Takes too much rather than too little: the writer is always right.
///
/// Up to the word's first letter a comment is read in one go: most have no such letter.
pub(crate) fn hinted(word: &str, wording: Wording) -> String {
    let first = word.chars().next().map(|first| any_case(&first.to_string()));
    let first = first.unwrap_or_default();
    let first = first.trim_start_matches('[').trim_end_matches(']');
    let more = wording.more();
    let word = caseless(word, wording);
    let stars = r"(?:\*+[^*/][^*]*)";
    format!(r"/\*[^*{first}]*{more}[^*]*(?:{stars}{{0,16}}{word}|{stars}{{16}}\*+[^*/](?s:.*){word})")
}

/// Reads. `for_readers`: only those that ProxySQL itself takes for a SELECT by their digest text, `SELECT `: others open
/// a transaction under `autocommit=0`, and writes would follow it to the reader (`Query_Info::is_select_NOT_for_update`,
/// 2.7.1). With `session_functions`, reads of session state count too.
pub(super) fn read(wording: Wording, for_readers: bool, session_functions: bool) -> EngineRule {
    let mut without = READ_WITHOUT.to_vec();
    if !session_functions {
        without.extend(OF_SESSION);
    }
    let form = Form {
        verbs: &["SELECT"],
        without: &without,
        calls: Calls::Any,
        dots: true,
        variables: if session_functions {
            Variables::Any
        } else {
            Variables::None
        },
        wrapped: !for_readers,
        spaced: for_readers,
        plain_reads: true,
    };
    text(wording.statement(&form))
}

/// Plain reads with nothing in front of the verb: what [`quoted_call_or`] takes is not among them, and [`read`] takes them too.
pub(super) fn plain_read(wording: Wording) -> EngineRule {
    text(format!(r"\A{}", wording.select()))
}

/// Reads of system variables and of nothing else that a session sets.
pub(super) fn reads_of_system_variables(wording: Wording) -> EngineRule {
    let form = Form {
        verbs: &["SELECT"],
        without: &["INTO"],
        calls: Calls::Any,
        dots: true,
        variables: Variables::OfSystem,
        wrapped: false,
        spaced: false,
        plain_reads: true,
    };
    text(wording.statement(&form))
}

/// COMMIT and its kin, which follow the open transaction.
pub(super) fn control(wording: Wording) -> EngineRule {
    plain(
        wording,
        &["COMMIT", "RELEASE SAVEPOINT", "ROLLBACK", "SAVEPOINT", "XA"],
        &[],
    )
}

/// BEGIN, START TRANSACTION, and what may be one.
pub(super) fn begin(wording: Wording) -> EngineRule {
    text(wording.beginning(&["BEGIN", "START"]))
}

/// The end of a transaction, and savepoints in it; without XA, which may begin one.
pub(super) fn ends_transaction(wording: Wording) -> EngineRule {
    plain(
        wording,
        &["COMMIT", "RELEASE SAVEPOINT", "ROLLBACK", "SAVEPOINT"],
        &[],
    )
}

/// A transaction that begins; `BEGIN NOT ATOMIC` is a block of statements.
pub(super) fn transaction(wording: Wording) -> EngineRule {
    plain(wording, &["BEGIN", "START TRANSACTION"], &["NOT"])
}

/// XA, whatever follows.
pub(super) fn xa(wording: Wording) -> EngineRule {
    text(wording.beginning(&["XA"]))
}

/// SET, whatever follows.
pub(super) fn set(wording: Wording) -> EngineRule {
    text(wording.beginning(&["SET"]))
}

/// In a SET, what may set more than the session: variables of the server, passwords, roles that accounts have. Takes too much
/// rather than too little.
pub(super) fn sets_the_server() -> EngineRule {
    text("GLOBAL|PERSIST|PASSWORD|DEFAULT(?s:.*)ROLE".to_owned())
}

/// Session setup, by kind.
pub(super) fn setup(wording: Wording) -> Vec<(&'static str, EngineRule)> {
    let form = Form {
        verbs: &["SELECT", "SET"],
        without: &SETUP_WITHOUT,
        calls: Calls::Of(&SETUP_CALLS),
        dots: true,
        variables: Variables::Any,
        wrapped: false,
        spaced: false,
        plain_reads: false,
    };
    let set = text(wording.statement(&form));
    vec![
        ("setup", set),
        ("show", plain(wording, &["SHOW"], &["FROM", "IN"])),
        ("describe", text(DESCRIBES.to_owned())),
        ("use", plain(wording, &["USE"], &[])),
    ]
}

/// What begins like session setup, whatever follows.
pub(super) fn like_setup(wording: Wording) -> EngineRule {
    text(wording.beginning(&["SET", "SHOW", "USE"]))
}

/// A statement without parentheses, dots and variables, so that it calls nothing and names one schema's objects only.
fn plain(wording: Wording, verbs: &[&str], without: &[&str]) -> EngineRule {
    let form = Form {
        verbs,
        without,
        calls: Calls::None,
        dots: false,
        variables: Variables::None,
        wrapped: false,
        spaced: false,
        plain_reads: false,
    };
    text(wording.statement(&form))
}

/// Every pattern of statements, with its kind.
pub(crate) fn statement_rules(wording: Wording) -> Vec<(PatternKind, &'static str, EngineRule)> {
    let mut rules = vec![
        (PatternKind::QuotedCall, "quoted_call", quoted_call(wording)),
        (
            PatternKind::QuotedCall,
            "quoted_call_or_hint",
            quoted_call_or(wording, &hinted("primary", wording)),
        ),
        (PatternKind::Select, "plain_read", plain_read(wording)),
        (PatternKind::Select, "read", read(wording, true, false)),
        (PatternKind::Select, "read_of_session", read(wording, true, true)),
        (
            PatternKind::Select,
            "system_variables",
            reads_of_system_variables(wording),
        ),
        (PatternKind::Statement, "control", control(wording)),
        (
            PatternKind::Statement,
            "ends_transaction",
            ends_transaction(wording),
        ),
        (PatternKind::Statement, "transaction", transaction(wording)),
        (PatternKind::Beginning, "begin", begin(wording)),
        (PatternKind::Beginning, "xa", xa(wording)),
        (PatternKind::Beginning, "set", set(wording)),
        (PatternKind::Search, "sets_the_server", sets_the_server()),
        (PatternKind::Beginning, "like_setup", like_setup(wording)),
    ];
    for (name, rule) in setup(wording) {
        let kind = match name {
            "setup" => PatternKind::Select,
            "describe" => PatternKind::Through,
            _ => PatternKind::Statement,
        };
        rules.push((kind, name, rule));
    }
    rules
}

/// Texts that end inside of a literal or a comment, or seem to.
pub(crate) fn incomplete(wording: Wording) -> EngineRule {
    EngineRule {
        negate_match_pattern: true,
        ..text(wording.complete())
    }
}

/// A rule that matches the statement without case.
fn text(pattern: String) -> EngineRule {
    EngineRule {
        match_pattern: Some(pattern),
        re_modifiers: Modifiers::default(),
        ..EngineRule::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shardwright_patterns::{Automaton, Dialect, Flags, Inclusion, Limits, Pattern, included};

    use super::*;

    fn automaton(text: &str) -> Automaton {
        let pattern = Pattern::compile(text, Flags::default(), Dialect::Pcre).expect(text);
        Automaton::of(&pattern, &Limits::default()).expect("within the prover's limits")
    }

    /// All statements that are recognised whole, in one wording.
    fn statements(wording: Wording) -> Vec<(&'static str, EngineRule)> {
        let mut rules = setup(wording);
        rules.push(("control", control(wording)));
        rules.push(("system variables", reads_of_system_variables(wording)));
        rules.push(("plain read", plain_read(wording)));
        for (for_readers, session_functions) in [(true, true), (true, false), (false, true), (false, false)] {
            rules.push(("read", read(wording, for_readers, session_functions)));
        }
        rules
    }

    #[test]
    fn what_is_read_in_one_go_first_changes_no_language() {
        let limits = Limits::default();
        // A comment of two bytes: with that of a hint there are more states than the prover takes.
        let comment = r"/\*[^*]*x";
        for possessive in [true, false] {
            let either = automaton(&format!(r"\A{}|{comment}", quoted(Wording { possessive })));
            let stays = quoted_call_or(Wording { possessive }, comment)
                .match_pattern
                .expect("a pattern");
            let stays = automaton(&stays);
            for (inner, outer) in [(&stays, &either), (&either, &stays)] {
                assert_eq!(
                    included(inner, outer, &limits),
                    Ok(Inclusion::Holds),
                    "{possessive}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn a_hint_is_the_word_in_what_looks_like_a_comment(pieces in prop::collection::vec(prop::sample::select(vec![
            "/*", "*/", "*", "/", "primary", "PRIMARY", "p", "rimary", "pri", " ", "x", "/**", "**/", "\n",
        ]), 0..12)) {
            let text = pieces.concat();
            let of = |pattern: &str| {
                Pattern::compile(pattern, Flags::default(), Dialect::Pcre).expect(pattern).is_match(text.as_bytes())
            };
            let plain = of(r"/\*[^*]*(?:\*+[^*/][^*]*)*primary");
            for possessive in [true, false] {
                prop_assert_eq!(of(&hinted("primary", Wording { possessive })), plain, "{}", text);
            }
        }
    }

    #[test]
    fn no_word_that_keeps_a_read_on_the_writer_is_forgotten() {
        for word in shardwright_sql::class::words_of_no_read() {
            let is_out = |out: &&str| match out.strip_suffix('*') {
                Some(beginning) => word.starts_with(beginning),
                None => *out == word,
            };
            assert!(READ_WITHOUT.iter().chain(&OF_SESSION).any(is_out), "{word}");
        }
    }

    #[test]
    fn the_wordings_of_both_libraries_are_one_language() {
        let limits = Limits::default();
        let automaton = |rule: &EngineRule| automaton(rule.match_pattern.as_deref().expect("a pattern"));
        let [pcre, re2] = [true, false].map(|possessive| statements(Wording { possessive }));
        for ((name, one), (_, other)) in pcre.iter().zip(&re2) {
            let (one, other) = (automaton(one), automaton(other));
            for (inner, outer) in [(&one, &other), (&other, &one)] {
                assert_eq!(included(inner, outer, &limits), Ok(Inclusion::Holds), "{name}");
            }
        }
    }
}
