//! What ProxySQL answers itself, whatever rules say (`MySQL_Session.cpp`, 2.7.1: `handler_special_queries`, `GPFC_QueryUSE`,
//! and `…MYSQL_COM_QUERY_qpo`).
//!
//! Some texts never reach the rules: COMMIT where no transaction is open, `SET autocommit`, `SET NAMES`, a few that client
//! programs send. Others are looked at behind the rules, whose rewrite and messages count, but whose hostgroup and
//! `next_query_flagIN` do not: SET of a variable that the engine follows, `SELECT CONNECTION_ID()`, KILL, SHOW WARNINGS. Of
//! USE not even a message counts.

mod set;

use shardwright_sql::digest::first_word;
use shardwright_sql::{Digest, StatementClass};

use crate::decide::Index;
use crate::decide::evaluation::Evaluation;
use crate::{Outcome, OwnAnswer, Rejection, SentAs, Statement};

pub(super) use set::Verdict;

/// What the engine answers before it looks at rules.
pub(super) fn before_rules(index: &impl Index, evaluation: &Evaluation<'_>) -> Option<Outcome> {
    let statement = evaluation.statement;
    if statement.command() != SentAs::Query {
        return None;
    }
    let text = statement.text();
    let is = |wanted: &str| text.eq_ignore_ascii_case(wanted.as_bytes());
    let begins = |wanted: &str| begins_with(text, wanted);
    let of_client =
        is("select DATABASE(), USER() limit 1") || is(CHARSET_STATUS) || begins("PROXYSQL INTERNAL ");
    if of_client {
        return own(OwnAnswer::OfEngine);
    }
    if evaluation.session.locked_on.is_none() {
        if let Some(switch) = set::autocommit(text) {
            let is_sent =
                switch && evaluation.session.autocommit_off && evaluation.session.transaction.is_some();
            return if is_sent { None } else { own(OwnAnswer::Set) };
        }
        if ends_transaction(statement) && evaluation.session.transaction.is_none() {
            return own(OwnAnswer::NoTransaction);
        }
    }
    // These two are compared byte by byte.
    if text == b"select @@version_comment limit 1" || text == b"select USER()" {
        return own(OwnAnswer::OfEngine);
    }
    if evaluation.session.locked_on.is_none() {
        match set::names(text) {
            Some(Verdict::Refused(rejection)) => return Some(Outcome::Reject(*rejection)),
            Some(_) => return own(OwnAnswer::Set),
            None => {}
        }
    }
    let local_files = index
        .configuration()
        .variables
        .get("mysql-enable_load_data_local_infile");
    if begins("LOAD DATA LOCAL INFILE") && local_files.is_none_or(|value| value != "true" && value != "1") {
        return Some(Outcome::Reject(Rejection {
            code: 1047,
            sqlstate: "HY000",
            refusal: None,
            message: "Unsupported 'LOAD DATA LOCAL INFILE' command".to_owned(),
            address: None,
        }));
    }
    None
}

const CHARSET_STATUS: &str = "select @@character_set_client, @@character_set_connection, @@character_set_server, @@character_set_database limit 1";

/// USE, which changes the session's schema whatever the rules made of it. Told by the digest of the text as it was sent.
pub(super) fn uses_schema(evaluation: &Evaluation<'_>) -> Option<Outcome> {
    let statement = evaluation.statement;
    if statement.command() != SentAs::Query || statement.class() != StatementClass::Use {
        return None;
    }
    let digest = statement.digest_text();
    if !begins_with(digest, "USE ") && !begins_with(digest, "USE`") {
        return None;
    }
    // The name is looked for in what stands before the first NUL.
    let text = statement.text();
    let read = text.iter().position(|byte| *byte == 0).map(|end| &text[..end]);
    match read.filter(|read| shardwright_sql::classify(read, statement.mode()) != StatementClass::Use) {
        Some(read) => Some(Outcome::Reject(Rejection {
            code: 1148,
            sqlstate: "42000",
            refusal: None,
            message: format!("Unable to parse: {}", String::from_utf8_lossy(read)),
            address: None,
        })),
        None => own(OwnAnswer::Schema),
    }
}

/// What the engine makes of a statement behind the rules; `text` as they rewrote it.
pub(super) fn behind_rules(evaluation: &Evaluation<'_>, text: &[u8]) -> Verdict {
    let statement = evaluation.statement;
    if statement.command() == SentAs::Execute {
        return Verdict::Sent;
    }
    // Without digests the engine tells none of these.
    if evaluation.digests.is_none() {
        return Verdict::Sent;
    }
    let is = |wanted: &str| text.eq_ignore_ascii_case(wanted.as_bytes());
    // Few statements are of interest, and their digests are only made for them.
    let first = text.trim_ascii_start().first().map(u8::to_ascii_uppercase);
    if !matches!(first, Some(b'S' | b'K' | b'/' | b'#' | b'-' | b'(')) {
        return Verdict::Sent;
    }
    let is_of_interest = |word: &[u8]| {
        let words = ["SET", "SHOW", "KILL"];
        words
            .iter()
            .any(|of_interest| word.eq_ignore_ascii_case(of_interest.as_bytes()))
    };
    let rewritten;
    let digest = if !first_word(text).is_none_or(is_of_interest) {
        &[]
    } else if text == statement.text() {
        statement.digest_text()
    } else {
        rewritten = Digest::of(text);
        &rewritten.text
    };
    if ["SHOW WARNINGS", "SHOW COUNT(*) WARNINGS"]
        .iter()
        .any(|warnings| digest.eq_ignore_ascii_case(warnings.as_bytes()))
    {
        return Verdict::Answered(OwnAnswer::OfEngine);
    }
    if evaluation.session.locked_on.is_none() && begins_with(digest, "SET ") {
        let verdict = set::verdict(
            evaluation.session,
            text,
            digest,
            evaluation.effects.multiplex.is_some(),
        );
        let is_prepared = statement.command() == SentAs::Prepare;
        return match verdict {
            Verdict::Answered(_) if is_prepared => Verdict::Sent,
            verdict => verdict,
        };
    }
    if statement.command() != SentAs::Query {
        return Verdict::Sent;
    }
    let last_insert_id = [
        "SELECT LAST_INSERT_ID()",
        "SELECT LAST_INSERT_ID() FROM DUAL",
        "SELECT LAST_INSERT_ID() LIMIT 1",
        "SELECT @@IDENTITY",
        "SELECT @@IDENTITY LIMIT 1",
    ];
    let is_own = is("SELECT CONNECTION_ID()") || last_insert_id.into_iter().any(is) || kills(digest, text);
    if is_own {
        Verdict::Answered(OwnAnswer::OfEngine)
    } else {
        Verdict::Sent
    }
}

/// `KILL [CONNECTION | QUERY] n`, where nothing else follows.
fn kills(digest: &[u8], text: &[u8]) -> bool {
    if !begins_with(digest, "KILL ") || text.trim_ascii_end().ends_with(b";") {
        return false;
    }
    let text = String::from_utf8_lossy(&set::without_comments(text)).to_ascii_uppercase();
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_number =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) && word != "0";
    match words.as_slice() {
        ["KILL", number] => is_number(number),
        ["KILL", "CONNECTION" | "QUERY", number] => is_number(number),
        _ => false,
    }
}

/// COMMIT or ROLLBACK, and not a byte beside it.
pub(super) fn ends_transaction(statement: &Statement<'_>) -> bool {
    let text = statement.text();
    text.eq_ignore_ascii_case(b"COMMIT") || text.eq_ignore_ascii_case(b"ROLLBACK")
}

pub(super) fn begins_with(text: &[u8], wanted: &str) -> bool {
    text.get(..wanted.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(wanted.as_bytes()))
}

#[expect(clippy::unnecessary_wraps, reason = "what callers return as it is")]
fn own(answer: OwnAnswer) -> Option<Outcome> {
    Some(Outcome::Own {
        answer,
        rewritten: None,
    })
}
