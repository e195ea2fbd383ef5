//! Whether the body of a trigger may assign a column of the new row.

use shardwright_sql::lex::identifier;
use shardwright_sql::names::folded;
use shardwright_sql::{LexMode, Lexer, Token, TokenKind};

/// Words behind which `NEW.column = …` is a comparison.
const COMPARES: [&str; 9] = [
    "IF", "ELSEIF", "AND", "OR", "NOT", "WHEN", "WHERE", "ON", "RETURN",
];
/// Words of statements that assign to what they name.
const ASSIGNS: [&str; 3] = ["INTO", "CALL", "EXECUTE"];

/// False only if the body cannot assign `NEW.column`, in whatever sql_mode the trigger was made.
pub fn sets_column(body: &[u8], column: &str) -> bool {
    let modes = [(false, false), (true, false), (false, true), (true, true)];
    modes.into_iter().any(|(ansi_quotes, no_backslash_escapes)| {
        let mode = LexMode {
            ansi_quotes,
            no_backslash_escapes,
            ..LexMode::default()
        };
        may_set(body, column, mode)
    })
}

fn may_set(body: &[u8], column: &str, mode: LexMode) -> bool {
    let tokens: Vec<Token> = Lexer::new(body, mode).significant().collect();
    let is_word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(body, word));
    let names =
        |token: &Token, name: &str| identifier(token, body).is_some_and(|written| is_same(&written, name));
    let is_hidden = tokens.iter().any(|token| {
        matches!(
            token.kind,
            TokenKind::ExecutableComment | TokenKind::ReadOtherwise
        )
    });
    let assigns_all = ASSIGNS
        .iter()
        .any(|word| (0..tokens.len()).any(|at| is_word(at, word)));
    let assigns = |at: usize| {
        let signs = [":=", "="];
        let is_target = tokens
            .get(at + 1)
            .is_some_and(|token| signs.iter().any(|sign| token.is_operator(body, sign)));
        let compares = at > 2 && COMPARES.iter().any(|word| is_word(at - 3, word));
        assigns_all || (is_target && !compares)
    };
    let mut named =
        (2..tokens.len()).filter(|&at| names(&tokens[at - 2], "NEW") && names(&tokens[at], column));
    is_hidden || named.any(assigns)
}

fn is_same(name: &[u8], column: &str) -> bool {
    folded(name) == folded(column.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_assign_the_column_is_known() {
        for (body, expected) in [
            ("SET NEW.tenant = 1", true),
            ("BEGIN SET @a = 1, new . `Tenant` := 2; END", true),
            ("SET NEW.\"tenant\" = 1", true),
            ("SELECT 1 INTO NEW.tenant", true),
            ("CALL p(NEW.tenant)", true),
            ("/*!50000 SET NEW.tenant = 1 */", true),
            ("SET `NEW`.tenant = 1", true),
            ("set @x=1, @y=2, `new`.`tenant`='us'", true),
            ("SET \"NEW\".\"tenant\" = 1", true),
            ("SET @x = 'a\\\\', NEW.tenant = 1", true),
            ("SET @a = '\\', NEW.tenant = 1, @b = '\\'", true),
            ("SET @a = 'NEW.tenant = 1'", false),
            ("SET NEW.c = NEW.tenant", false),
            ("IF NEW.tenant = 5 THEN SET NEW.c = 1; END IF", false),
            ("SET NEW.tenants = 1", false),
            ("SET NEW.c = 1", false),
            (
                "IF NEW.tenant IS NULL THEN SIGNAL SQLSTATE '45000'; END IF",
                false,
            ),
        ] {
            assert_eq!(sets_column(body.as_bytes(), "tenant"), expected, "{body}");
        }
    }
}
