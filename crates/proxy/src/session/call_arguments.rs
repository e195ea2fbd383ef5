//! `CALL p(@a)` where a trigger may have set `@a`, on a connection that the session has no more: if the parameter is OUT, the value
//! is not read, and any connection will do. Only a server knows what the parameter is.

use shardwright_sql::lex::identifier;
use shardwright_sql::{LexMode, Lexer, StatementClass, TokenKind};

use super::Session;
use super::checkout_error::CheckoutError;
use super::held::Held;
use super::holds::Holds;
use super::requirements::Requirements;
use super::routed::RoutedStatement;

impl RoutedStatement<'_> {
    /// Whether user variables that it names may be given a value and not read.
    pub(super) fn may_be_for_output(&self) -> bool {
        self.requirements.hidden_variables.is_some() && self.statement.shape().class == StatementClass::Call
    }
}

impl Session {
    /// A connection for a CALL that was refused one, if all its arguments that nobody may have set are OUT parameters.
    ///
    /// # Errors
    /// The refusal.
    pub(super) async fn check_out_for_output(
        &mut self,
        routed: &RoutedStatement<'_>,
        refusal: CheckoutError,
    ) -> Result<Held, CheckoutError> {
        let statement = routed.statement;
        if !matches!(refusal, CheckoutError::Refused(_)) {
            return Err(refusal);
        }
        let Ok(sent) = self.sent_text(routed) else {
            return Err(refusal);
        };
        let text = sent.as_deref().unwrap_or(statement.text());
        let positions = self.hidden.arguments_of(statement);
        let question = positions.and_then(|positions| count_of_outputs(text, statement.mode(), &positions));
        let Some((question, expected)) = question else {
            return Err(refusal);
        };
        let requirements = Requirements {
            hidden_variables: None,
            ..routed.requirements.clone()
        };
        let Ok(mut held) = self.check_out(&requirements).await else {
            return Err(refusal);
        };
        let found = held.backend.exchange_value(&question).await;
        held.holds.remove(Holds::FOUND_ROWS);
        match found {
            Ok(Some(count)) if count == expected.to_string().as_bytes() => Ok(held),
            Ok(_) => {
                self.return_unused(held, &refusal);
                Err(refusal)
            }
            Err(error) => Err(CheckoutError::Fatal(error.for_client())),
        }
    }
}

/// How many of these parameters of the called procedure are OUT, as a question, and the number if all are.
fn count_of_outputs(text: &[u8], mode: LexMode, positions: &[usize]) -> Option<(Vec<u8>, usize)> {
    let mut tokens = Lexer::new(text, mode).significant();
    if !tokens.next()?.is_word(text, "CALL") {
        return None;
    }
    let mut names = Vec::new();
    loop {
        let token = tokens.next()?;
        names.push(literal(&identifier(&token, text)?)?);
        match tokens.next()?.kind {
            TokenKind::Dot => {}
            TokenKind::LeftParen => break,
            _ => return None,
        }
    }
    let (schema, name) = match names.as_slice() {
        [name] => ("DATABASE()", name),
        [schema, name] => (schema.as_str(), name),
        // A procedure of a package: no server tells of its parameters.
        _ => return None,
    };
    let positions_text: Vec<String> = positions.iter().map(usize::to_string).collect();
    let question = format!(
        "SELECT COUNT(*) FROM information_schema.parameters WHERE routine_type = 'PROCEDURE' AND specific_schema = {schema} \
         AND specific_name = {name} AND parameter_mode = 'OUT' AND ordinal_position IN ({})",
        positions_text.join(", ")
    );
    Some((question.into_bytes(), positions.len()))
}

/// A plain name as a literal that every `sql_mode` reads alike.
fn literal(name: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'\\');
    let plain = name.iter().all(is_plain).then(|| String::from_utf8_lossy(name));
    plain.map(|name| format!("'{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_called_procedure_is_asked_about() {
        for (text, expected) in [
            (
                "CALL p(@a)",
                Some("specific_schema = DATABASE() AND specific_name = 'p' AND"),
            ),
            ("call `s`.`P q`(@a)", None),
            (
                "call `s` . P (@a)",
                Some("specific_schema = 's' AND specific_name = 'P' AND"),
            ),
            ("CALL s.k.p(@a)", None),
            ("CALL p", None),
            ("/*! CALL p(@a) */", None),
        ] {
            let found = count_of_outputs(text.as_bytes(), LexMode::default(), &[1, 3]);
            let found = found.map(|(question, _)| String::from_utf8(question).unwrap());
            assert_eq!(found.is_some(), expected.is_some(), "{text}");
            if let (Some(found), Some(expected)) = (found, expected) {
                assert!(found.contains(expected), "{found}");
                assert!(found.ends_with("IN (1, 3)"), "{found}");
            }
        }
    }
}
