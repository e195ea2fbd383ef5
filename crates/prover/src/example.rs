//! A statement in a session, and ordinary ones to try first.

use std::collections::BTreeSet;

use memchr::memmem;
use shardwright_diagnostics::Witness;

use crate::languages::{Languages, Lit};
use crate::rule_set::RuleSet;
use crate::session::Session;

/// A statement of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Who sends it.
    pub session: Session,
    /// The statement.
    pub text: Vec<u8>,
}

/// Statements as they are seen every day.
pub const ORDINARY: [&str; 18] = [
    "SELECT a FROM t WHERE id=1",
    "SELECT 1",
    "SELECT a FROM t WHERE id=1 FOR UPDATE",
    "INSERT INTO t (id, a) VALUES (1, 'x')",
    "UPDATE t SET a=1 WHERE id=1",
    "DELETE FROM t WHERE id=1",
    "REPLACE INTO t VALUES (1)",
    "BEGIN",
    "START TRANSACTION",
    "COMMIT",
    "SET NAMES utf8mb4",
    "SHOW TABLES",
    "USE app",
    "CREATE TABLE t (id INT)",
    "DROP TABLE t",
    "CALL p(1)",
    "DELETE FROM t",
    "UPDATE t SET a=1",
];

/// Users whose sessions are tried with ordinary statements.
const MOST_USERS: usize = 16;

impl Example {
    /// As diagnostics show it.
    pub fn witness(&self) -> Witness {
        Witness {
            user: self.session.user.clone(),
            schema: self.session.schema.clone().unwrap_or_default(),
            query: String::from_utf8_lossy(&self.text).into_owned(),
        }
    }

    /// What the witness has no place for: an address, a listener or a flag that matters.
    pub fn circumstances(&self, set: &RuleSet<'_>) -> Option<String> {
        let session = &self.session;
        let (addresses, listeners) = set.session_values.asks();
        let mut parts = Vec::new();
        if addresses {
            parts.push(format!("from {}", session.client_addr));
        }
        if listeners {
            let named = if set.configuration.listeners.is_empty() {
                ", which is assumed: no listener is named"
            } else {
                ""
            };
            parts.push(format!(
                "through {}:{}{named}",
                session.listener.0, session.listener.1
            ));
        }
        if session.flag != 0 {
            parts.push(format!(
                "after a statement that left the session at flag {}",
                session.flag
            ));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// Sessions of the configured users; where there are none, of those that rules name and of another one.
pub fn sessions(set: &RuleSet<'_>) -> Vec<Session> {
    let users = &set.configuration.users;
    let asked = set
        .conditions
        .iter()
        .flatten()
        .filter_map(|condition| condition.row.username.as_deref());
    let anybody = asked.chain(["another"]).filter(|_| users.is_empty());
    let known = users.iter().map(|user| user.name.as_str());
    let mut seen = BTreeSet::new();
    known
        .chain(anybody)
        .filter(|name| !name.is_empty() && seen.insert(*name))
        .take(MOST_USERS)
        .map(|name| Session::of_user(set.configuration, name))
        .collect()
}

/// Statements that may have a digest which is not its own digest: a sign between blanks leaves both, executable comments
/// stay as they are, and what a line comment parts makes a new comment.
pub(crate) fn statements_of(digest: &[u8]) -> Vec<Vec<u8>> {
    let mut signed = Vec::new();
    for (at, &byte) in digest.iter().enumerate() {
        if byte == b' ' && at > 0 && digest[at - 1] == b' ' {
            signed.push(b'-');
        }
        signed.push(byte);
    }
    let between = [b"SELECT a".as_slice(), &signed, b"b FROM t"].concat();
    let mut statements = vec![signed, between, [b"/*!", digest, b"*/"].concat()];
    let find = |what: &[u8], from: usize| Some(from + memmem::find(&digest[from..], what)?);
    if let Some(open) = find(b"/*", 0)
        && let Some(close) = find(b"*/", open + 2)
    {
        let (before, body, behind) = (&digest[..open], &digest[open + 2..close], &digest[close + 2..]);
        let blanks = body.iter().take_while(|&&byte| byte == b' ').count();
        let (blanks, body) = body.split_at(blanks);
        statements.push([before, b"/#\n*", blanks, b"/*!", body, b"*/#c\n*#c\n/", behind].concat());
    }
    statements
}

/// What several patterns show, one behind the other: those that are anchored at the beginning first, those at the end last.
pub(crate) fn together(languages: &Languages, lits: [&[Lit]; 2]) -> Vec<Vec<u8>> {
    let mut shown: Vec<(u8, Vec<u8>)> = Vec::new();
    for &lit in lits.into_iter().flatten() {
        let text = languages.pattern(lit);
        let place = match (text.starts_with('^'), text.ends_with('$')) {
            (true, _) => 0,
            (false, true) => 2,
            (false, false) => 1,
        };
        if let Some(sample) = languages.sample(lit).filter(|sample| !sample.is_empty())
            && !shown.iter().any(|(_, known)| *known == sample)
        {
            shown.push((place, sample));
        }
    }
    if shown.len() < 2 {
        return Vec::new();
    }
    shown.sort_by_key(|(place, _)| *place);
    let joined = shown.into_iter().map(|(_, sample)| sample);
    let joined = joined.collect::<Vec<_>>().join(&b' ');
    vec![[b"SELECT a FROM t ".as_slice(), &joined].concat(), joined]
}

/// Forms in which to put what a rule matches into a statement that comes to its chain; see [`blend`].
pub(crate) const BLENDS: usize = 8;

/// A text that may carry what `own` matches to where `before` comes.
pub(crate) fn blend(form: usize, before: &[u8], own: &[u8]) -> Vec<u8> {
    let close: &[u8] = if own.ends_with(b"*/") { b"" } else { b" */" };
    let parts: [&[u8]; 5] = match form {
        0 => [own, b"", b"", b"", b""],
        1 => [before, b" ", own, b"", b""],
        2 => [own, b" ", before, b"", b""],
        3 => [before, own, b"", b"", b""],
        4 => [b"/*", own, close.trim_ascii_start(), b" ", before],
        5 => [b"/*", own, before, b"", b""],
        6 => [b"/*", own, close.trim_ascii_start(), b"", b""],
        _ => [b"/* ", own, close, b" ", b"SELECT a FROM t WHERE id=1"],
    };
    parts.concat()
}
