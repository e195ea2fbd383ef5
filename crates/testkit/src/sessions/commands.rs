//! What clients say: every command that the proxy knows, and some that nobody does.

use shardwright_wire::Command;

use super::script::Script;
use super::token::Token;

/// What a client does next.
pub(super) enum Deed {
    /// A command, and what its answer may show beside its own token.
    Ask { payload: Vec<u8>, shows: Shows },
    /// What may end the session.
    Rude(Vec<u8>),
    /// COM_CHANGE_USER, and the login that follows.
    ChangeUser,
    /// A part of a command; then the client leaves.
    LeaveWithin(Vec<u8>),
    /// A command; then the client leaves before the answer.
    LeaveBehind(Vec<u8>),
}

/// Which tokens an answer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// That of its statement.
    Own,
    /// Also those of statements that have set something in the session.
    Session,
    /// Those of the statement that was prepared.
    Prepared(Token),
}

/// Statements; `$` becomes the token.
const STATEMENTS: [&str; 45] = [
    "SELECT '$'",
    "SELECT '$' /* b */",
    "BEGIN",
    "COMMIT",
    "INSERT INTO t VALUES ('$')",
    "SELECT '$' FROM t FOR UPDATE",
    "SET autocommit=0",
    "SET autocommit=1",
    "SET @v = '$'",
    "SELECT @v, '$'",
    "ROLLBACK",
    "SELECT '$'; SELECT '$'",
    "INSERT INTO t VALUES ('$'); SELECT '$'; COMMIT",
    "SAVEPOINT a",
    "ROLLBACK TO a",
    "SHOW WARNINGS",
    "SELECT LAST_INSERT_ID()",
    "SELECT FOUND_ROWS(), ROW_COUNT()",
    "USE elsewhere",
    "SET NAMES latin1",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "SET sql_mode = ''",
    "LOCK TABLES t WRITE",
    "UNLOCK TABLES",
    "SELECT GET_LOCK('$', 1)",
    "CALL p('$')",
    "XA START '$'",
    "XA END '$'",
    "LOAD DATA LOCAL INFILE '$' INTO TABLE t",
    "CREATE TEMPORARY TABLE u AS SELECT '$'",
    "START TRANSACTION READ ONLY",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET SESSION sql_select_limit = 5",
    "PREPARE s FROM 'SELECT 1'",
    "EXECUTE s",
    "KILL QUERY 1",
    "SELECT @@autocommit, @@sql_mode, '$'",
    "SELECT '$",
    "/* $ */",
    "INSERT INTO t VALUES ('$') /* b */",
    "INSERT INTO t VALUES ('$') /* tenant=1 */",
    "SELECT '$' FROM t /* tenant=1 */",
    "INSERT INTO t VALUES ('$') /* tenant=2 */",
    "SELECT '$' FROM t /* tenant=2 */",
    "SELECT '$', mysql_query_attribute_string('t')",
];

/// The next command. `prepared`: the statements that the client has, and what their executions show.
pub(super) fn deed(script: &Script, token: Token, prepared: &[(u32, Shows)]) -> Deed {
    let kind = script.byte();
    let statement =
        |kind: u8| STATEMENTS[usize::from(kind) % STATEMENTS.len()].replace('$', &token.to_string());
    let some = || {
        let prepared = prepared.get(script.below(prepared.len()));
        prepared.copied().unwrap_or((1, Shows::Own))
    };
    let own = |command: &Command<'_>| Deed::Ask {
        payload: encoded(command),
        shows: Shows::Own,
    };
    match kind {
        0..=119 => {
            let text = statement(kind);
            let shows = shown_by(text.as_bytes()).unwrap_or(Shows::Own);
            Deed::Ask {
                payload: encoded(&Command::Query(text.as_bytes())),
                shows,
            }
        }
        120..=139 => {
            let text = statement(script.byte());
            let with_parameter = text.replacen("'token", "?, 'token", kind as usize & 1);
            own(&Command::StmtPrepare(with_parameter.as_bytes()))
        }
        140..=169 => {
            let (statement_id, shows) = some();
            let parameters: &[u8] = match kind & 3 {
                // One parameter: no NULL, types bound, a string.
                0 | 1 => &[0, 1, 0xFD, 0, 1, b'x'],
                2 => &[],
                _ => &[0, 0, 1, b'x'],
            };
            let command = Command::StmtExecute {
                statement_id,
                flags: u8::from(kind & 4 != 0),
                parameters,
            };
            Deed::Ask {
                payload: encoded(&command),
                shows,
            }
        }
        170..=184 => {
            let (statement_id, shows) = some();
            let payload = encoded(&Command::StmtFetch {
                statement_id,
                rows: u32::from(kind & 3),
            });
            Deed::Ask { payload, shows }
        }
        185..=189 => own(&Command::StmtReset(some().0)),
        190..=194 => own(&Command::StmtClose(some().0)),
        195..=198 => {
            let (statement_id, data) = (some().0, script.raw());
            Deed::Rude(encoded(&Command::StmtSendLongData {
                statement_id,
                parameter: 0,
                data: &data,
            }))
        }
        199..=206 => own(&Command::ResetConnection),
        207..=212 => Deed::ChangeUser,
        213..=215 => own(&Command::Ping),
        216..=218 => own(&Command::InitDb(b"elsewhere")),
        219..=220 => own(&Command::FieldList {
            table: b"t",
            wildcard: b"",
        }),
        221..=222 => own(&Command::Statistics),
        223..=224 => own(&Command::SetOption {
            multi_statements: kind & 1 == 0,
        }),
        225..=226 => own(&Command::ProcessKill(u32::from(script.byte()))),
        227..=234 => Deed::Rude(script.raw()),
        235..=240 => Deed::LeaveWithin(encoded(&Command::Query(statement(script.byte()).as_bytes()))),
        241..=248 => Deed::LeaveBehind(encoded(&Command::Query(statement(script.byte()).as_bytes()))),
        _ => own(&Command::Query(statement(0).as_bytes())),
    }
}

/// What the answer to a text shows beside the token in it.
pub(super) fn shown_by(text: &[u8]) -> Option<Shows> {
    let has_variable = text.windows(2).any(|window| window == b"@v");
    has_variable.then_some(Shows::Session)
}

fn encoded(command: &Command<'_>) -> Vec<u8> {
    let mut payload = Vec::new();
    command.encode(&mut payload);
    payload
}
