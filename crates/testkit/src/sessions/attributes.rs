//! Query attributes, which clients add to what they say.

use shardwright_wire::{Command, query_attributes};

use super::token::Token;

/// NULL bitmap, that types follow, type and name of one attribute; its value follows.
const ONE: &[u8] = b"\0\x01\xFD\0\x01t";

/// A command as a client says it that speaks of attributes. Every other one has the attribute `t` with the statement's token.
pub(super) fn with_attributes(payload: Vec<u8>, token: Token) -> Vec<u8> {
    let has_one = token.statement & 1 == 1;
    let token = token.to_string().into_bytes();
    let value = [&[token.len() as u8], &token[..]].concat();
    match Command::decode(&payload) {
        Ok(Command::Query(text)) => match has_one {
            true => [b"\x03\x01\x01", ONE, &value, text].concat(),
            false => [b"\x03", query_attributes::NONE, text].concat(),
        },
        Ok(Command::StmtExecute {
            statement_id,
            flags,
            parameters,
        }) => {
            let parameters = execution(parameters, &value, has_one);
            let command = Command::StmtExecute {
                statement_id,
                flags: flags | query_attributes::COUNT_AVAILABLE,
                parameters: &parameters,
            };
            let mut out = Vec::new();
            command.encode(&mut out);
            out
        }
        _ => payload,
    }
}

/// Parameters of an execution, at most one with a type of two bytes.
fn execution(parameters: &[u8], value: &[u8], has_one: bool) -> Vec<u8> {
    match (parameters, has_one) {
        ([], false) => vec![0],
        ([], true) => [b"\x01", ONE, value].concat(),
        ([0, 1, first, second, own @ ..], true) => {
            [&[2, 0, 1, *first, *second, 0][..], b"\xFD\0\x01t", own, value].concat()
        }
        ([0, 1, first, second, own @ ..], false) => [&[1, 0, 1, *first, *second, 0][..], own].concat(),
        (untyped, _) => [b"\x01", untyped].concat(),
    }
}

/// What a server reads: a query without its attributes, and the tokens in the attributes.
///
/// # Panics
/// When the proxy sends attributes that cannot be read.
pub(super) fn read<'a>(command: Command<'a>) -> (Command<'a>, Vec<Token>) {
    let tokens = |bytes: &[u8]| Token::all_in(bytes).collect();
    match command {
        Command::Query(body) => {
            let split = query_attributes::split_query(body);
            let (attributes, text) = split.unwrap_or_else(|error| panic!("attributes: {error}: {body:?}"));
            (Command::Query(text), tokens(attributes))
        }
        Command::StmtExecute {
            flags, parameters, ..
        } if flags & query_attributes::COUNT_AVAILABLE != 0 => {
            let split = query_attributes::split_execution(parameters);
            assert!(split.is_ok(), "attributes: {split:?}: {parameters:?}");
            (command, tokens(parameters))
        }
        _ => (command, Vec::new()),
    }
}
