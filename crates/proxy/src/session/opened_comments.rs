//! `SET a=1/*!40101 ,b=2 */`: executable comments inside a SET are opened if every server executes them, as dumps send them.

use shardwright_sql::rewrite::{self, Edit};
use shardwright_sql::{LexMode, Lexer, TokenKind};

use super::statement_words::ExecutableComment;

/// The text as servers read it; `None` if a comment is not for all of them.
pub(super) fn open_comments(text: &[u8], mode: LexMode) -> Option<Vec<u8>> {
    let mut edits = Vec::new();
    for token in Lexer::new(text, mode) {
        match token.kind {
            TokenKind::ExecutableComment => {
                let comment = ExecutableComment::read(token.span.of(text), mode)
                    .filter(|comment| comment.is_for_all)?;
                let has_own = Lexer::new(comment.inside, mode).any(|token| is_code(token.kind));
                if has_own {
                    return None;
                }
                // A blank on each side: a comment ends a word.
                edits.push(Edit {
                    span: token.span,
                    text: [b" ", comment.inside, b" "].concat(),
                });
            }
            kind if is_code(kind) || !token.terminated => return None,
            _ => {}
        }
    }
    Some(rewrite::apply(text, &edits))
}

/// Some servers execute it, and others may not.
fn is_code(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::ExecutableComment | TokenKind::ReadOtherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_every_server_executes_are_opened() {
        for (text, expected) in [
            ("SET a=1/*!40102 ,b=2 */", Some("SET a=1  ,b=2  ")),
            ("SET/*!a=1*/,/*!40101 b*/=2", Some("SET a=1 ,  b =2")),
            ("SET a='/*!40101 x */'/*! */", Some("SET a='/*!40101 x */'   ")),
            ("SET a=1 /*!50700 ,b=2 */", None),
            ("SET a=1 /*!80000 ,b=2 */", None),
            ("SET a=1 /*!100100 ,b=2 */", None),
            ("SET a=1 /*M! ,b=2 */", None),
            ("SET a=1 /*!40101 ,b=/*!40102 2 */ */", None),
            ("SET a=1 /*!40101 ,b=2", None),
        ] {
            let opened = open_comments(text.as_bytes(), LexMode::default());
            assert_eq!(opened.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }
}
