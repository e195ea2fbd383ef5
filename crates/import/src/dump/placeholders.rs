//! Statements that some other program completes before the engine reads them.

use shardwright_sql::TokenKind;

use super::split::Statement;

/// A mark that some other program replaces before the engine reads the statement: `{{ name }}`, `{% … %}`, `${NAME}`,
/// `$NAME`, `%(name)s`. In a literal it is text.
pub(super) fn placeholder(statement: &Statement, text: &str) -> Option<String> {
    statement.tokens.iter().find_map(|token| {
        let rest = text.get(token.span.start..statement.range.end)?;
        if matches!(token.kind, TokenKind::String | TokenKind::QuotedName) {
            return None;
        }
        let closed = |open: &str, close: &str| {
            let inner = rest.strip_prefix(open)?;
            let end = inner.find(close)?;
            Some(rest[..open.len() + end + close.len()].to_owned())
        };
        let marked = [("{{", "}}"), ("{%", "%}"), ("${", "}"), ("%(", ")s")];
        let name = rest.strip_prefix('$').map(|name| {
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            &name[..end.unwrap_or(name.len())]
        });
        marked
            .into_iter()
            .find_map(|(open, close)| closed(open, close))
            .or_else(|| {
                name.filter(|name| !name.is_empty())
                    .map(|name| format!("${name}"))
            })
    })
}
