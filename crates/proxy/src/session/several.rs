//! Several statements in one text: `BEGIN; UPDATE t SET a = 1 WHERE id = 5; COMMIT`.
//!
//! The idea: the proxy splits the text and runs the statements one by one, each exactly as if the client had sent it alone: it
//! is decided by the rules, its state is tracked, and it is counted. The client gets the answers joined into one
//! ([`shardwright_wire::AnswerSplice`]). Servers never get several statements at once, and their connections do not allow
//! it: where a server would split a text elsewhere than the lexer does, it answers with a syntax error, and nothing runs that
//! was not decided.
//!
//! Invariant: a text runs in one place or not at all. Before the first statement runs, all are decided as far as that can be
//! known in advance: if one is refused, or two belong to different clusters or schemas of shards, the text is refused and
//! the error names the statements. Readers and the writer of a cluster are one place.
//!
//! ```text
//! INSERT INTO t … /* tenant=1 */; SELECT 1; DELETE FROM t … /* tenant=2 */
//!   statement 1 → cluster a      2: anywhere      3 → cluster b      error 1235, nothing runs
//! ```
//!
//! A key in a comment belongs to the statement that the comment is written in. The body of a procedure, function, trigger
//! or event, and a compound statement, is one statement to its end.

use std::sync::Arc;

use shardwright_rules::{
    Address, Destination, Outcome as Decided, PendingKind, SessionView, Statement, Transaction,
};
use shardwright_sql::{LexMode, Lexer, StatementClass, TokenKind};
use shardwright_wire::{AnswerSplice, MysqlError, errors};

use super::bodies::end_of_body;
use super::earlier::is_question;
use super::local_file::local_file;
use super::query::Query;
use super::schema::named_schema;
use super::set_statement::SetPlan;
use super::statement_words::{asks, is_comment_only, kill_text, rejected, unroutable};
use super::{Flow, Session};

/// Statements of one text.
const MAX_PARTS: usize = 10_000;

/// Where the statements of a text belong.
#[derive(PartialEq, Eq)]
struct Place {
    cluster: Option<Address>,
    schema: Option<Arc<str>>,
}

/// What the statements before one have made of the session, as far as it decides where that one goes.
struct Ahead {
    transaction: Option<Transaction>,
    pending: Option<PendingKind>,
    schema: Option<Arc<str>>,
}

impl Session {
    /// Whether a text is to be split.
    pub(super) fn is_split(&self, statement: &Statement<'_>) -> bool {
        self.client.takes_several && self.client.splice.is_none() && statement.has_several()
    }

    /// Runs the statements of a text.
    pub(super) async fn several(&mut self, text: &[u8], query: &Query<'_>) -> Flow {
        let seq = query.frame.next_seq();
        let parts = parts(text, self.mode());
        if let Err(error) = self.is_one_place(&parts) {
            return self.refuse(seq, error).await;
        }
        self.client.splice = Some(AnswerSplice::new(seq));
        let flow = self.run_parts(&parts, query).await;
        self.client.splice = None;
        flow
    }

    /// All statements have the attributes of their text, as on a server.
    async fn run_parts(&mut self, parts: &[&[u8]], query: &Query<'_>) -> Flow {
        let mode = self.settings.mode;
        for (at, part) in parts.iter().enumerate() {
            if let Some(splice) = &mut self.client.splice {
                splice.begin(at + 1 < parts.len());
            }
            let frame = query.frame_of(part);
            let statement = Statement::new(part, self.mode());
            // Servers answer with OK where only a comment is left.
            let is_end = at > 0 && at + 1 == parts.len() && is_comment_only(&statement);
            if is_nothing(&statement) && !is_end {
                let error =
                    errors::PARSE.with("You have an error in your SQL syntax: nothing stands before ';'");
                return self.refuse(frame.next_seq(), error).await;
            }
            if self.settings.mode != mode {
                return self.refuse(frame.next_seq(), read_otherwise()).await;
            }
            Box::pin(self.query(part, query.within(&frame))).await?;
            if self.client.splice.as_ref().is_some_and(AnswerSplice::has_failed) {
                break;
            }
        }
        Ok(())
    }

    /// Whether all statements can run, and in one place.
    ///
    /// # Errors
    /// The error for the client.
    fn is_one_place(&mut self, parts: &[&[u8]]) -> Result<(), MysqlError> {
        if parts.len() > MAX_PARTS {
            return Err(errors::PARSE.with(format_args!("more than {MAX_PARTS} statements in one text")));
        }
        let mut ahead = Ahead {
            transaction: self.held.transaction(),
            pending: self.pending.kind(),
            schema: self.settings.schema.clone(),
        };
        let mut first: Option<(usize, Place)> = None;
        for (at, part) in parts.iter().enumerate() {
            let statement = Statement::new(part, self.mode()).encoded_in(self.settings.encoding());
            let number = |error| in_text(error, at, parts.len());
            let Some(place) = self.place_ahead(&statement, &mut ahead).map_err(number)? else {
                continue;
            };
            match &first {
                Some((_, earlier)) if *earlier == place => {}
                Some((earlier, there)) => return Err(two_places((*earlier, there), (at, &place))),
                None => first = Some((at, place)),
            }
        }
        Ok(())
    }

    /// Where a statement will go; `None` where it does not matter, or cannot be known yet.
    fn place_ahead(
        &mut self,
        statement: &Statement<'_>,
        ahead: &mut Ahead,
    ) -> Result<Option<Place>, MysqlError> {
        if is_nothing(statement) || kill_text(statement).is_some() {
            return Ok(None);
        }
        if let Some(error) = unroutable(statement) {
            return Err(error);
        }
        if local_file(statement).is_some() {
            return Err(errors::NOT_SUPPORTED_YET.with("LOAD DATA LOCAL must be sent alone"));
        }
        self.routing.note_state(&self.held, statement);
        let view = SessionView {
            transaction: ahead.transaction,
            transaction_pending: ahead.pending,
            schema: ahead.schema.as_deref(),
            ..self.view()
        };
        let class = statement.shape().class;
        let set = SetPlan::of_statement(statement).ok().flatten();
        if set.is_some_and(|plan| plan.changes_mode(statement.mode())) {
            return Err(read_otherwise());
        }
        let outcome = self.login.snapshot.router.dispatch(&view, statement).outcome;
        let is_deferred = matches!(outcome, Decided::DeferBegin);
        let is_placed = |route: &Destination| route.is_on_shard || !statement.is_session_setup();
        let placed = match outcome {
            Decided::Reject(rejection)
                if rejection.refusal.is_some() && asks(statement) && is_question(statement) =>
            {
                None
            }
            Decided::Reject(rejection) => return Err(rejected(&rejection)),
            Decided::Route(route) => Some(route).filter(is_placed),
            Decided::Answer { .. } | Decided::Own { .. } | Decided::DeferBegin => None,
        };
        let begins = statement.begins() || statement.begins_xa();
        if class == StatementClass::Use {
            ahead.schema = named_schema(statement);
        }
        if statement.transaction_end().is_some() {
            ahead.transaction = None;
            ahead.pending = None;
        } else if begins || is_deferred {
            ahead.pending = Some(statement.pending_kind());
        }
        let is_anywhere = |route: &Destination| match class {
            StatementClass::Use => true,
            StatementClass::Xa => !route.is_on_shard,
            _ => statement.follows_transaction(),
        };
        let Some(route) = placed.filter(|route| !is_anywhere(route)) else {
            return Ok(None);
        };
        if ahead.pending.is_some() && ahead.transaction.is_none() && !begins {
            ahead.transaction = Some(Transaction {
                hostgroup: route.hostgroup,
            });
        }
        let configuration = &self.login.snapshot.configuration;
        let group = configuration
            .hostgroups
            .iter()
            .find(|group| group.id == route.hostgroup);
        Ok(Some(Place {
            cluster: group.map(|group| group.cluster.clone()),
            schema: route.besides().backend_schema.clone(),
        }))
    }
}

/// The statements of a text, without the semicolons between them.
fn parts(text: &[u8], mode: LexMode) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(end) = end_of_statement(rest, mode) {
        parts.push(&rest[..end]);
        rest = &rest[end + 1..];
    }
    if !rest
        .iter()
        .all(|byte| byte.is_ascii_whitespace() || *byte == b';')
    {
        parts.push(rest);
    }
    parts
}

/// Where the semicolon behind the first statement of a text is, if there is one.
fn end_of_statement(text: &[u8], mode: LexMode) -> Option<usize> {
    let semicolon = Lexer::new(text, mode).find(|token| token.kind == TokenKind::Semicolon)?;
    let end = end_of_body(text, mode).unwrap_or(semicolon.span.start);
    (end < text.len()).then_some(end)
}

/// Only blanks and comments: servers answer with an error where a semicolon follows, or another statement went before.
fn is_nothing(statement: &Statement<'_>) -> bool {
    statement.shape().class == StatementClass::Empty
}

/// A server splits the rest of a text as it reads it then.
fn read_otherwise() -> MysqlError {
    errors::NOT_SUPPORTED_YET.with(
        "sql_mode with another reading of quotes or backslashes must be set alone: it decides how the rest of the text is read",
    )
}

fn in_text(error: MysqlError, at: usize, of: usize) -> MysqlError {
    MysqlError {
        message: format!("statement {} of {of}: {}", at + 1, error.message),
        ..error
    }
}

fn two_places((at, here): (usize, &Place), (other_at, there): (usize, &Place)) -> MysqlError {
    let name = |place: &Place| {
        let cluster = place
            .cluster
            .as_ref()
            .map_or("an unknown cluster", |address| address.as_str());
        match &place.schema {
            Some(schema) => format!("{cluster}, schema {schema}"),
            None => cluster.to_owned(),
        }
    };
    errors::NOT_SUPPORTED_YET.with(format_args!(
        "the statements of one text belong to different places: statement {} to {}, statement {} to {}; send them one \
         by one",
        at + 1,
        name(here),
        other_at + 1,
        name(there)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_where_servers_split_them() {
        for (text, expected) in [
            ("SELECT 1; SELECT 2", &["SELECT 1", " SELECT 2"][..]),
            ("SELECT ';'; SELECT 2;", &["SELECT ';'", " SELECT 2"]),
            (
                "SELECT 1 /* ; */; -- a;\nSELECT 2; ",
                &["SELECT 1 /* ; */", " -- a;\nSELECT 2"],
            ),
            ("SELECT `a;b`;;SELECT 2", &["SELECT `a;b`", "", "SELECT 2"]),
            (
                "CREATE TABLE a (b INT); CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
                &[
                    "CREATE TABLE a (b INT)",
                    " CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
                ],
            ),
            (
                "CREATE DEFINER=`a`@`b` TRIGGER t BEFORE INSERT ON x FOR EACH ROW BEGIN SET @a=1; END;",
                &["CREATE DEFINER=`a`@`b` TRIGGER t BEFORE INSERT ON x FOR EACH ROW BEGIN SET @a=1; END"],
            ),
            (
                "CREATE TABLE event (a INT); SELECT 1",
                &["CREATE TABLE event (a INT)", " SELECT 1"],
            ),
            (
                "BEGIN NOT ATOMIC SELECT 1; END",
                &["BEGIN NOT ATOMIC SELECT 1; END"],
            ),
            ("BEGIN; SELECT 1; COMMIT", &["BEGIN", " SELECT 1", " COMMIT"]),
        ] {
            let expected: Vec<&[u8]> = expected.iter().map(|part| part.as_bytes()).collect();
            assert_eq!(parts(text.as_bytes(), LexMode::default()), expected, "{text}");
        }
    }
}
