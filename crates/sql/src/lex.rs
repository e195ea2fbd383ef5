//! One-pass lexer for MySQL and MariaDB statements: tokens with byte spans that tile the text.

pub(crate) mod bytes;
mod code;
mod dollar;
mod scan;
mod text;

use crate::servers::Servers;
use crate::work;
use bytes::{STARTS, Start, is_blank, is_name_byte};
pub(crate) use text::is_plain_introducer;
pub use text::{difference, identifier, reads_alike, string_value};

/// A half-open range of byte offsets into a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes of `text` that the span covers.
    pub fn of<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start..self.end]
    }
}

/// What changes where tokens end: parts of `sql_mode`, and whose server reads the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LexMode {
    /// `ANSI_QUOTES`: `"…"` is an identifier.
    pub ansi_quotes: bool,
    /// `NO_BACKSLASH_ESCAPES`: a backslash in a string is a byte like any other.
    pub no_backslash_escapes: bool,
    /// The servers that may run the text. Where they read it otherwise, there is a token [`TokenKind::ReadOtherwise`].
    pub servers: Servers,
}

impl LexMode {
    /// Whether the two are the same as far as `sql_mode` decides it.
    pub fn is_same_sql_mode(self, other: Self) -> bool {
        let flags = |mode: Self| (mode.ansi_quotes, mode.no_backslash_escapes);
        flags(self) == flags(other)
    }

    /// The same where these servers may run the text.
    #[must_use]
    pub fn on(self, servers: Servers) -> Self {
        Self { servers, ..self }
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A run of blanks and line ends.
    Whitespace,
    /// `/* … */`
    BlockComment,
    /// `/*! … */` or `/*M! … */`: code to a server whose version takes it, and a comment to others. Both end it here.
    ExecutableComment,
    /// `/*+ … */`
    OptimizerHint,
    /// `# …` or `-- …`, without the line end.
    LineComment,
    /// An unquoted identifier or keyword.
    Word,
    /// `` `…` ``, or `"…"` under `ANSI_QUOTES`.
    QuotedName,
    /// `'…'`, or `"…"` without `ANSI_QUOTES`.
    String,
    /// `N'…'`
    NationalString,
    /// `x'…'`
    HexString,
    /// `b'…'`
    BitString,
    /// `$$ … $$`, `$tag$ … $tag$`: the code of a function, to MySQL 9.
    DollarString,
    /// `_utf8mb4` directly before a string.
    Introducer,
    /// An integer, decimal, float, `0x…` or `0b…`.
    Number,
    /// `?`
    Placeholder,
    /// `@name`, `` @`name` ``, `@'name'`; also a bare `@`.
    UserVariable,
    /// `@@name`, `@@session.name`.
    SystemVariable,
    /// An operator of one to three bytes.
    Operator,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `.`
    Dot,
    /// A single byte that starts no token in any statement; or all that follows, where no server takes the text.
    Unknown,
    /// All that follows: the servers that may run the text do not agree where the token ends that begins here.
    ReadOtherwise,
}

/// One token; its text is `span.of(text)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
    /// False when the text ended inside a comment, string or quoted name.
    pub terminated: bool,
}

impl Token {
    /// True for tokens that mean something to the server: neither blanks nor comments. An executable comment does.
    pub fn is_significant(&self) -> bool {
        !matches!(
            self.kind,
            TokenKind::Whitespace
                | TokenKind::BlockComment
                | TokenKind::OptimizerHint
                | TokenKind::LineComment
        )
    }

    /// True for an unquoted word equal to `keyword` without case.
    pub fn is_word(&self, text: &[u8], keyword: &str) -> bool {
        work::count(1);
        self.kind == TokenKind::Word && self.span.of(text).eq_ignore_ascii_case(keyword.as_bytes())
    }

    /// True for the operator `operator`.
    pub fn is_operator(&self, text: &[u8], operator: &str) -> bool {
        self.kind == TokenKind::Operator && self.span.of(text) == operator.as_bytes()
    }

    /// True for a word or a quoted name.
    pub fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::QuotedName)
    }

    /// True for string literals of every form.
    pub fn is_string(&self) -> bool {
        matches!(
            self.kind,
            TokenKind::String | TokenKind::NationalString | TokenKind::HexString | TokenKind::BitString
        )
    }
}

/// Reads tokens from a statement. Never fails: what is malformed becomes [`TokenKind::Unknown`] or an
/// unterminated token. Allocates nothing.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    mode: LexMode,
    previous: Option<TokenKind>,
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of `text`.
    pub fn new(text: &'a [u8], mode: LexMode) -> Self {
        Lexer {
            text,
            at: 0,
            mode,
            previous: None,
        }
    }

    /// Where the next token begins; the length of the text at its end.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The tokens that mean something, without blanks and comments.
    pub fn significant(self) -> impl Iterator<Item = Token> + use<'a> {
        self.filter(Token::is_significant)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    // What most tokens are is found here, without a call.
    #[inline(always)]
    fn next(&mut self) -> Option<Token> {
        let start = self.at;
        let first = *self.text.get(start)?;
        work::count(1);
        let (kind, end, terminated) = match STARTS[usize::from(first)] {
            Start::Blank => (TokenKind::Whitespace, self.run(start + 1, is_blank), true),
            Start::Name => (TokenKind::Word, self.run(start + 1, is_name_byte), true),
            other => self.piece(other, first),
        };
        debug_assert!(end > start && end <= self.text.len());
        self.at = end;
        self.previous = Some(kind);
        Some(Token {
            kind,
            span: Span { start, end },
            terminated,
        })
    }
}
