//! Where a script holds secrets: no problem shows them.

use shardwright_rules::tables::{Column, Table};
use shardwright_sql::TokenKind;

use super::split::Statement;
use super::{Script, Verb};

impl Script<'_> {
    /// Notes where passwords stand, so that no problem shows them.
    pub(super) fn hide(&mut self, statement: &Statement, table: &Table, name_at: usize, verb: &Verb) {
        let secret_column = table.columns.iter().position(Column::is_secret);
        let about_variables = table.name == "global_variables";
        let rows = statement.rows(self.text);
        match (verb, secret_column) {
            (Verb::Insert, Some(_)) if !rows.is_empty() => {
                let names: Vec<String> =
                    match (self.listed(statement, name_at), self.created.columns(table.name)) {
                        (Some(names), _) => names.iter().map(ToString::to_string).collect(),
                        (None, Some(names)) => names.to_vec(),
                        (None, None) => table
                            .columns
                            .iter()
                            .map(|column| column.name.to_owned())
                            .collect(),
                    };
                let of = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
                let Some(password) = of("password") else {
                    // Another name may be a slip.
                    return self.conceal_literals(statement);
                };
                // A second password stands among the attributes.
                for column in [Some(password), of("attributes")].into_iter().flatten() {
                    for row in &rows {
                        let (from, to) = element(row, column);
                        self.conceal(from, to);
                    }
                }
            }
            (_, None) if !about_variables => {}
            // An expression may put a secret anywhere.
            _ => {
                let held = statement.range.clone();
                let mentions = self.text[held].to_ascii_lowercase();
                if mentions.contains("passw") || mentions.contains("credentials") {
                    self.conceal_literals(statement);
                }
            }
        }
    }

    /// Hides every literal of a statement.
    pub(super) fn conceal_literals(&mut self, statement: &Statement) {
        for token in &statement.tokens {
            if matches!(token.kind, TokenKind::String | TokenKind::QuotedName) {
                self.conceal(token.span.start, token.span.end);
            }
        }
    }

    pub(super) fn conceal(&mut self, from: usize, to: usize) {
        if to > from {
            self.ran.secrets.push(self.at(from, to));
        }
    }
}

/// From where to where the element of a parenthesised list stands; nothing where there are fewer.
pub(super) fn element(row: &[shardwright_sql::Token], wanted: usize) -> (usize, usize) {
    let (mut at, mut depth, mut from) = (0, 0_usize, None);
    for token in row {
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            TokenKind::Comma if depth == 1 => {
                if at == wanted {
                    return (from.unwrap_or(0), token.span.start);
                }
                at += 1;
                continue;
            }
            _ => {}
        }
        if at == wanted && token.kind != TokenKind::LeftParen {
            if depth == 0 {
                return (
                    from.unwrap_or(0),
                    if from.is_some() { token.span.start } else { 0 },
                );
            }
            from = from.or(Some(token.span.start));
        }
    }
    (0, 0)
}
