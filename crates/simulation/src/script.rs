//! Statements that one session sends one after the other, each decided in the state that those before it left.

mod commands;

use std::sync::Arc;

use shardwright_rules::{Configuration, Decision, Evaluator, HostgroupId, SentAs};
use shardwright_sql::{LexMode, Lexer, TokenKind};

use crate::parameters::with_values;
use crate::session::Simulated;
use crate::step::Step;
use crate::supposed::Supposed;
use crate::visits::{Visit, note_values, visits};

pub use self::commands::{ScriptError, Scripted, commands};

/// The session that sends a script, as it begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptSession<'s> {
    /// The user who logged in.
    pub user: &'s str,
    /// The schema; the user's when absent.
    pub schema: Option<&'s str>,
    /// The client's address.
    pub client: Option<&'s str>,
    /// The name of the listener.
    pub listener: Option<&'s str>,
    /// The flag that the first statement starts at; 0: as any session's.
    pub flag: u32,
}

/// A statement, where it went, and in which state of the session.
#[derive(Clone, Debug)]
pub struct Sent {
    /// What the script says, without blanks around it.
    pub written: Vec<u8>,
    /// The command that was sent.
    pub sent_as: SentAs,
    /// The statement that was decided; of an execution, as the engine has kept it.
    pub statement: Vec<u8>,
    /// The schema that it was decided in.
    pub schema: Option<String>,
    /// The hostgroup of the open transaction.
    pub transaction: Option<HostgroupId>,
    /// The flag that it started at.
    pub flag: u32,
    /// What became of it.
    pub decision: Decision,
    /// The rules that it met.
    pub visits: Vec<Visit>,
}

/// The statements of a text, which semicolons separate; the comments before a statement are part of it, and so are blanks that
/// its line begins with.
#[must_use]
pub fn statements(text: &[u8]) -> Vec<&[u8]> {
    let mut statements = Vec::new();
    let (mut start, mut is_some) = (0, false);
    for token in Lexer::new(text, LexMode::default()) {
        if token.kind == TokenKind::Semicolon {
            if is_some {
                statements.push(as_written(&text[start..token.span.start], start == 0));
            }
            (start, is_some) = (token.span.end, false);
        } else if token.is_significant() {
            is_some = true;
        }
    }
    if is_some {
        statements.push(as_written(&text[start..], start == 0));
    }
    statements
}

/// A statement without what separates it from others: line breaks, and blanks behind a semicolon on the same line.
fn as_written(text: &[u8], is_first: bool) -> &[u8] {
    let text = text.trim_ascii_end();
    let blanks = text.len() - text.trim_ascii_start().len();
    let line = text[..blanks].iter().rposition(|byte| *byte == b'\n');
    match line {
        Some(end) => &text[end + 1..],
        None if is_first => text,
        None => &text[blanks..],
    }
}

/// Sends the commands of a script to a configuration; they are taken to succeed.
#[must_use]
pub fn send(
    configuration: &Arc<Configuration>,
    start: &ScriptSession<'_>,
    commands: &[Scripted<'_>],
) -> Vec<Sent> {
    let evaluator = Evaluator::new(Arc::clone(configuration));
    let mut session = Simulated::of(configuration);
    let mut sent = Vec::with_capacity(commands.len());
    for (at, scripted) in commands.iter().enumerate() {
        let step = Step {
            user: start.user,
            schema: start.schema.filter(|_| at == 0),
            client: start.client,
            listener: start.listener,
            after_ms: 0,
            command: scripted.command(),
            query: scripted.query,
            supposed: Supposed::default(),
            expect: None,
        };
        session.turn_to(&step, configuration);
        if at == 0 && start.flag != 0 {
            session.start_at(start.flag);
        }
        let text = session.text(&step);
        let statement = step.command.statement(text.as_deref().unwrap_or_default());
        let view = session.view(&step);
        let (decision, visited) = match &text {
            Ok(_) => {
                let decision = evaluator.decide(&view, &statement);
                let mut visited = visits(&evaluator, &view, &statement, &decision);
                if !scripted.values.is_empty() {
                    let filled = with_values(statement.text(), &scripted.values);
                    note_values(&evaluator, &filled, &mut visited);
                }
                (decision, visited)
            }
            Err(refused) => (refused.decision(), Vec::new()),
        };
        let before = Sent {
            written: scripted.written.to_vec(),
            sent_as: step.command.sent_as(),
            statement: statement.text().to_vec(),
            schema: view.schema.map(str::to_owned),
            transaction: view.transaction.map(|transaction| transaction.hostgroup),
            flag: view.next_query_flag_in.unwrap_or(0),
            decision,
            visits: visited,
        };
        session.after(configuration, step.command, &statement, &before.decision.outcome);
        sent.push(before);
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_separate_statements_and_comments_stay_with_theirs() {
        let text = b"/* tenant=1 */ BEGIN; -- nothing; here\n SELECT ';' ;;\n/* a;b */ COMMIT -- end";
        let shown: Vec<_> = statements(text)
            .iter()
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .collect();
        assert_eq!(
            shown,
            [
                "/* tenant=1 */ BEGIN",
                "-- nothing; here\n SELECT ';'",
                "/* a;b */ COMMIT -- end"
            ]
        );
        assert!(statements(b" ; -- x").is_empty());
        assert_eq!(
            statements(b"  SELECT 1;\n\n \tSELECT 2; SELECT 3 ;\r\nSELECT 4\n"),
            [&b"  SELECT 1"[..], b" \tSELECT 2", b"SELECT 3", b"SELECT 4"]
        );
    }

    /// Where statements of `app` go that the engine does not answer itself, and whose reads `rule` sends to the readers, 11.
    fn hostgroups(engine: &str, rule: &serde_json::Value, texts: &[&str]) -> Vec<u32> {
        let cluster = serde_json::json!({"name": "a", "address": "clusters.a", "kind": {"type": "single"},
            "writer": 10, "reader": 11, "writer_serves_reads": "never"});
        let user = serde_json::json!({"name": "app", "address": "users.app", "password": null,
            "default_hostgroup": 10, "default_schema": null, "max_connections": 1, "transaction_persistent": true,
            "annotations_allowed": false});
        let configuration: Configuration = serde_json::from_value(serde_json::json!({
            "format": 1, "engine": engine, "settings": {"query_processor_iterations": 0, "regex": "pcre"},
            "clusters": [cluster], "hostgroups": [], "users": [user], "graph": {"fast_routing": [],
                "rules": [{"id": 1, "address": "r", "flag_in": 0, "body": rule}]}}))
        .unwrap();
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let session = ScriptSession {
            user: "app",
            ..ScriptSession::default()
        };
        let sent = send(&Arc::new(configuration), &session, &commands(&texts).unwrap());
        sent.iter()
            .filter_map(|sent| match &sent.decision.outcome {
                shardwright_rules::Outcome::Route(route) => Some(route.hostgroup.0),
                shardwright_rules::Outcome::Own { .. } => None,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_read_under_autocommit_0_opens_a_transaction_where_the_engine_opens_one() {
        let step = serde_json::json!({"native": {"scope": {}, "step": {"role": {"reads": "all"}}}});
        let row = serde_json::json!({"engine": {"match_digest": "^\\(*SELECT", "destination_hostgroup": 11, "apply": true}});
        let script = [
            "SELECT a FROM t",
            "SET autocommit=0",
            "SELECT a FROM t",
            "UPDATE t SET a=1",
            "SELECT a FROM t",
        ];
        assert_eq!(hostgroups("bundled", &step, &script), [11, 10, 10, 10, 10]);
        // ProxySQL answers the SET, runs the SELECT with autocommit=1, and opens the transaction with the write.
        assert_eq!(hostgroups("proxysql-2.7", &row, &script), [11, 11, 10, 10]);
        // What it does not take for a SELECT opens one where rules send it, and the write follows.
        let script = ["SET autocommit=0", "(SELECT a FROM t)", "UPDATE t SET a=1"];
        assert_eq!(hostgroups("proxysql-2.7", &row, &script), [11, 11]);
        assert_eq!(hostgroups("bundled", &step, &script), [10, 10, 10]);
    }
}
