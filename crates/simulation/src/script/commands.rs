//! What a script says besides SQL: commands of the protocol for prepared statements, by the names that the protocol has
//! for them.

use std::collections::BTreeMap;

use shardwright_rules::KeyValue;
use shardwright_sql::columns::literal;
use shardwright_sql::lex::identifier;
use shardwright_sql::{LexMode, Lexer, Token, TokenKind};

use crate::parameters::parameters;
use crate::step::Command;

/// A command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scripted<'t> {
    /// As it is written.
    pub written: &'t [u8],
    /// The name of a prepared statement; none for a statement that is sent as text.
    prepared: Option<(String, Use)>,
    /// The statement; empty for an execution.
    pub(crate) query: &'t [u8],
    /// The values of an execution, as literals of SQL.
    pub(crate) values: Vec<&'t [u8]>,
    /// The same as keys.
    bound: Vec<Option<KeyValue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Prepare,
    Execute,
}

/// What is wrong with a command of a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// COM_STMT_PREPARE without its parts.
    #[error("COM_STMT_PREPARE is written: COM_STMT_PREPARE name FROM SELECT …")]
    Prepare,
    /// COM_STMT_EXECUTE without its parts.
    #[error(
        "COM_STMT_EXECUTE is written: COM_STMT_EXECUTE name, or COM_STMT_EXECUTE name USING 17, 'x'; values are literals"
    )]
    Execute,
    /// A name that no command before has prepared.
    #[error("COM_STMT_EXECUTE of {0}, which no COM_STMT_PREPARE before it has prepared")]
    NotPrepared(String),
    /// Another number of values than the statement has parameters.
    #[error(
        "COM_STMT_EXECUTE of {name} gives another number of values ({values}) than its statement has parameters ({parameters})"
    )]
    Values {
        /// Of the prepared statement.
        name: String,
        /// `?` in its text.
        parameters: usize,
        /// How many values are written.
        values: usize,
    },
}

impl Scripted<'_> {
    pub(crate) fn command(&self) -> Command<'_> {
        match &self.prepared {
            None => Command::Query,
            Some((name, Use::Prepare)) => Command::Prepare(name),
            Some((name, Use::Execute)) => Command::Execute {
                name,
                values: (!self.bound.is_empty()).then_some(&*self.bound),
            },
        }
    }
}

/// Reads the commands of a script, one for each of its [`super::statements`].
///
/// # Errors
///
/// A command that cannot be read, or that does not fit those before it.
pub fn commands<'t>(statements: &[&'t [u8]]) -> Result<Vec<Scripted<'t>>, ScriptError> {
    let mut parameters_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut commands = Vec::with_capacity(statements.len());
    for text in statements {
        let command = command(text)?;
        match &command.prepared {
            Some((name, Use::Prepare)) => {
                parameters_of.insert(name.clone(), parameters(command.query));
            }
            Some((name, Use::Execute)) => {
                let known = parameters_of.get(name);
                let &parameters = known.ok_or_else(|| ScriptError::NotPrepared(name.clone()))?;
                let values = command.values.len();
                if values > 0 && values != parameters {
                    let name = name.clone();
                    return Err(ScriptError::Values {
                        name,
                        parameters,
                        values,
                    });
                }
            }
            None => {}
        }
        commands.push(command);
    }
    Ok(commands)
}

fn command(text: &[u8]) -> Result<Scripted<'_>, ScriptError> {
    let mut tokens = Lexer::new(text, LexMode::default()).significant();
    let mut scripted = Scripted {
        written: text,
        prepared: None,
        query: text,
        values: Vec::new(),
        bound: Vec::new(),
    };
    let Some(first) = tokens.next() else {
        return Ok(scripted);
    };
    let mut name = || {
        let name = identifier(&tokens.next()?, text)?;
        Some(String::from_utf8_lossy(&name).into_owned())
    };
    if first.is_word(text, "COM_STMT_PREPARE") {
        let name = name().ok_or(ScriptError::Prepare)?;
        let from = tokens.next().filter(|token| token.is_word(text, "FROM"));
        let from = from.ok_or(ScriptError::Prepare)?;
        scripted.query = text[from.span.end..].trim_ascii();
        scripted.prepared = Some((name, Use::Prepare));
        if tokens.next().is_none() {
            return Err(ScriptError::Prepare);
        }
    } else if first.is_word(text, "COM_STMT_EXECUTE") {
        let name = name().ok_or(ScriptError::Execute)?;
        match tokens.next() {
            None => {}
            Some(using) if using.is_word(text, "USING") => {
                scripted.values = values(text, tokens)?;
                let bound = scripted.values.iter();
                scripted.bound = bound.map(|value| literal(value, LexMode::default())).collect();
            }
            Some(_) => return Err(ScriptError::Execute),
        }
        scripted.query = b"";
        scripted.prepared = Some((name, Use::Execute));
    }
    Ok(scripted)
}

/// Literals between commas.
fn values(text: &[u8], mut tokens: impl Iterator<Item = Token>) -> Result<Vec<&[u8]>, ScriptError> {
    let mut values = Vec::new();
    loop {
        let mut token = tokens.next().ok_or(ScriptError::Execute)?;
        let start = token.span.start;
        let is_signed = token.is_operator(text, "-");
        if is_signed {
            token = tokens.next().ok_or(ScriptError::Execute)?;
        }
        let is_word = ["NULL", "TRUE", "FALSE"]
            .iter()
            .any(|word| token.is_word(text, word));
        let is_literal = token.kind == TokenKind::Number || (!is_signed && (token.is_string() || is_word));
        if !is_literal || !token.terminated {
            return Err(ScriptError::Execute);
        }
        values.push(&text[start..token.span.end]);
        match tokens.next() {
            None => return Ok(values),
            Some(comma) if comma.kind == TokenKind::Comma => {}
            Some(_) => return Err(ScriptError::Execute),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands_of(script: &str) -> String {
        let statements = super::super::statements(script.as_bytes());
        let commands = match commands(&statements) {
            Ok(commands) => commands,
            Err(error) => return error.to_string(),
        };
        let lines = commands.iter().map(|command| {
            let query = String::from_utf8_lossy(command.query);
            let values: Vec<_> = command
                .values
                .iter()
                .map(|value| String::from_utf8_lossy(value))
                .collect();
            match command.command() {
                Command::Query => format!("send {query}"),
                Command::Prepare(name) => format!("prepare {name}: {query}"),
                Command::Execute { name, .. } => format!("execute {name}: {}", values.join(" ")),
            }
        });
        lines.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn commands_have_the_names_of_the_protocol() {
        let written = "COM_STMT_EXECUTE is written: COM_STMT_EXECUTE name, or COM_STMT_EXECUTE name USING 17, 'x'; \
                       values are literals";
        for (script, expected) in [
            (
                "PREPARE s FROM 'SELECT ?'; EXECUTE s USING @a",
                "send PREPARE s FROM 'SELECT ?'; send EXECUTE s USING @a",
            ),
            (
                "/* first */ com_stmt_prepare `a b` FROM /* tenant=1 */ SELECT ? , '?'; COM_STMT_EXECUTE `a b` USING -1.5",
                "prepare a b: /* tenant=1 */ SELECT ? , '?'; execute a b: -1.5",
            ),
            (
                "COM_STMT_PREPARE s FROM SELECT ?, ?; COM_STMT_EXECUTE s USING 'it''s; x' , NULL; COM_STMT_EXECUTE s",
                "prepare s: SELECT ?, ?; execute s: 'it''s; x' NULL; execute s: ",
            ),
            (
                "COM_STMT_EXECUTE s",
                "COM_STMT_EXECUTE of s, which no COM_STMT_PREPARE before it has prepared",
            ),
            (
                "COM_STMT_PREPARE s FROM SELECT ?; COM_STMT_EXECUTE s USING 1, 2",
                "COM_STMT_EXECUTE of s gives another number of values (2) than its statement has parameters (1)",
            ),
            (
                "COM_STMT_PREPARE s FROM",
                "COM_STMT_PREPARE is written: COM_STMT_PREPARE name FROM SELECT …",
            ),
            (
                "COM_STMT_PREPARE s SELECT 1",
                "COM_STMT_PREPARE is written: COM_STMT_PREPARE name FROM SELECT …",
            ),
            ("COM_STMT_EXECUTE s USING", written),
            ("COM_STMT_EXECUTE s USING a", written),
            ("COM_STMT_EXECUTE s USING 1 2", written),
            ("COM_STMT_EXECUTE s (1)", written),
        ] {
            assert_eq!(commands_of(script), expected, "{script}");
        }
    }
}
