//! A statement and what the lexer knows of it, found out at most once.

use std::borrow::Cow;
use std::cell::OnceCell;

use shardwright_sql::annotation::{self, FirstComment};
use shardwright_sql::class::called_functions;
use shardwright_sql::columns::Parameters;
use shardwright_sql::comment::{CommentKey, comments, values_in};
use shardwright_sql::digest::digest_into;
use shardwright_sql::skim::Comments;
use shardwright_sql::{
    Digest, DigestOptions, LexMode, Lexer, ReadHazards, Shape, Skim, StatementClass, Token, TokenKind,
};

use crate::{Encoding, KeyValue, KnownText, NamePattern, Names, PendingKind, SentAs, StatementKind};

/// What COMMIT or ROLLBACK makes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd {
    /// It is over.
    Over,
    /// AND CHAIN: another one begins, also where none was open.
    Chained,
}

/// A statement as the client sent it.
#[derive(Debug)]
pub struct Statement<'a> {
    text: &'a [u8],
    mode: LexMode,
    encoding: Encoding,
    sent_as: SentAs,
    /// What an execution binds to its `?`; `None` where that is not known.
    bound: Option<&'a [Option<KeyValue>]>,
    skim: OnceCell<Skim>,
    shape: OnceCell<Shape>,
    digest: OnceCell<Digest>,
    digest_hash: OnceCell<u64>,
    /// The first that was asked for under other settings than the engine's own.
    other_digest: OnceCell<Box<(DigestOptions, Digest)>>,
}

impl<'a> Statement<'a> {
    /// Wraps a text; nothing is read yet.
    pub fn new(text: &'a [u8], mode: LexMode) -> Self {
        Self {
            text,
            mode,
            encoding: Encoding::Utf8mb4,
            sent_as: SentAs::Query,
            bound: None,
            skim: OnceCell::new(),
            shape: OnceCell::new(),
            digest: OnceCell::new(),
            digest_hash: OnceCell::new(),
            other_digest: OnceCell::new(),
        }
    }

    /// The same statement, of whose text this is known.
    #[inline]
    #[must_use]
    pub fn with_known(self, known: &KnownText) -> Self {
        Self {
            skim: known.skim.into(),
            shape: known.shape.into(),
            digest_hash: known.digest_hash.into(),
            ..self
        }
    }

    /// The same statement, in a session of these character sets; without this, it is UTF-8.
    #[inline]
    #[must_use]
    pub fn encoded_in(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// What its bytes beyond ASCII are, and those of its parameters.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The same statement, sent with another command.
    #[must_use]
    pub fn sent_as(self, sent_as: SentAs) -> Self {
        Self { sent_as, ..self }
    }

    /// The same statement with the values that its execution binds to its `?`, in their order; `None` for a value that is no
    /// key, as NULL is none.
    #[must_use]
    pub fn with_bound(self, values: &'a [Option<KeyValue>]) -> Self {
        Self {
            bound: Some(values),
            ..self
        }
    }

    /// Whether the values of its `?` are known: a decision about it may not hold for other values.
    pub fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// What its `?` stand for.
    pub(crate) fn parameters(&self) -> Parameters<'a> {
        match (self.sent_as, self.bound) {
            (SentAs::Prepare, _) => Parameters::Open,
            (_, Some(values)) => Parameters::Bound(values),
            (_, None) => Parameters::Unknown,
        }
    }

    /// The command that it is sent with.
    #[inline]
    pub fn command(&self) -> SentAs {
        self.sent_as
    }

    /// The text as the client sent it.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// How the session's SQL mode changes the lexer.
    pub fn mode(&self) -> LexMode {
        self.mode
    }

    /// The tokens without blanks and comments.
    pub fn tokens(&self) -> impl Iterator<Item = Token> + use<'a> {
        Lexer::new(self.text, self.mode).significant()
    }

    /// What one pass over the tokens tells.
    pub fn shape(&self) -> &Shape {
        self.shape
            .get_or_init(|| Shape::of_class(self.text, self.mode, self.class()))
    }

    /// The class of the first statement: a few tokens tell it.
    #[inline]
    pub fn class(&self) -> StatementClass {
        self.skim().class
    }

    #[inline]
    pub(crate) fn skim(&self) -> &Skim {
        self.skim.get_or_init(|| Skim::of(self.text, self.mode))
    }

    /// Gives every value of a key in the statement's comments to `take`, in order.
    /// False: one of the servers that may run the text may see more comments in it.
    pub(crate) fn each_in_comments(&self, key: CommentKey<'_>, mut take: impl FnMut(Cow<'a, [u8]>)) -> bool {
        match self.skim().comments {
            Comments::None => true,
            Comments::Lone(body) => {
                values_in(body.of(self.text), key).for_each(take);
                true
            }
            Comments::Unread => {
                let mut all = comments(self.text, self.mode);
                for (_, body) in all.by_ref() {
                    values_in(body, key).for_each(&mut take);
                }
                !all.may_be_more()
            }
        }
    }

    /// The body of its only comment, where that stands before everything else.
    #[inline]
    pub fn lone_comment(&self) -> Option<&'a [u8]> {
        match self.skim().comments {
            Comments::Lone(body) => Some(body.of(self.text)),
            Comments::None | Comments::Unread => None,
        }
    }

    /// The comment that ProxySQL reads annotations from.
    pub fn first_comment(&self) -> Option<FirstComment<'a>> {
        let first = self.skim().comments.first(self.text);
        first.unwrap_or_else(|| annotation::first_comment(self.text))
    }

    /// The same of a text of which only so many bytes are read.
    pub(crate) fn first_comment_within(&self, limit: usize) -> Option<FirstComment<'a>> {
        match self.text.get(..limit) {
            Some(read) if limit < self.text.len() => annotation::first_comment(read),
            _ => self.first_comment(),
        }
    }

    /// The digest text, as ProxySQL makes it with its default settings.
    pub fn digest_text(&self) -> &[u8] {
        &self.digest().text
    }

    /// The hash of [`Statement::digest_text`].
    pub fn digest_hash(&self) -> u64 {
        *self.digest_hash.get_or_init(|| self.digest().hash)
    }

    /// The same without memory of its own: the digest text is made in `buffer`, whatever that holds, if it is made at all.
    pub fn digest_hash_in(&self, buffer: &mut Vec<u8>) -> u64 {
        let made = || match self.digest.get() {
            Some(digest) => digest.hash,
            None => digest_into(self.text, &DigestOptions::DEFAULT, buffer),
        };
        *self.digest_hash.get_or_init(made)
    }

    /// The digest under an engine's settings.
    pub fn digest_under(&self, options: &DigestOptions) -> Cow<'_, Digest> {
        if *options == DigestOptions::DEFAULT {
            return Cow::Borrowed(self.digest());
        }
        let made = || Digest::with(self.text, options);
        let (known, digest) = &**self.other_digest.get_or_init(|| Box::new((*options, made())));
        match known == options {
            true => Cow::Borrowed(digest),
            false => Cow::Owned(made()),
        }
    }

    fn digest(&self) -> &Digest {
        self.digest.get_or_init(|| Digest::of(self.text))
    }

    /// The kind that `statements:` in a match names.
    pub fn kind(&self) -> StatementKind {
        self.class().kind()
    }

    /// COMMIT, ROLLBACK, SAVEPOINT, XA: these go where the open transaction is.
    pub fn follows_transaction(&self) -> bool {
        self.class().is_transaction_control() && !self.has_several()
    }

    /// What COMMIT and ROLLBACK make of a transaction; `None` for ROLLBACK TO a savepoint and all other statements.
    pub fn transaction_end(&self) -> Option<TransactionEnd> {
        if !matches!(self.class(), StatementClass::Commit | StatementClass::Rollback) {
            return None;
        }
        let text = self.text();
        let mut before_chain = false;
        let mut end = TransactionEnd::Over;
        for token in Lexer::new(text, self.mode()).significant() {
            let word = token.span.of(text);
            if word.eq_ignore_ascii_case(b"TO") {
                return None;
            }
            if before_chain && word.eq_ignore_ascii_case(b"CHAIN") {
                end = TransactionEnd::Chained;
            }
            before_chain = word.eq_ignore_ascii_case(b"AND");
        }
        Some(end)
    }

    /// BEGIN, START TRANSACTION.
    pub fn begins(&self) -> bool {
        self.class() == StatementClass::Begin
    }

    /// XA START, XA BEGIN.
    pub fn begins_xa(&self) -> bool {
        self.is_xa(&["START", "BEGIN"])
    }

    /// XA START … JOIN, XA START … RESUME.
    pub(crate) fn resumes_xa(&self) -> bool {
        let is_option =
            |token: &Token| token.is_word(self.text(), "JOIN") || token.is_word(self.text(), "RESUME");
        self.begins_xa() && self.tokens().any(|token| is_option(&token))
    }

    /// XA COMMIT, XA ROLLBACK.
    pub fn ends_xa(&self) -> bool {
        self.is_xa(&["COMMIT", "ROLLBACK"])
    }

    /// XA RECOVER.
    pub(crate) fn recovers_xa(&self) -> bool {
        self.is_xa(&["RECOVER"])
    }

    fn is_xa(&self, verbs: &[&str]) -> bool {
        let is_verb = |token: Token| verbs.iter().any(|verb| token.is_word(self.text(), verb));
        self.class() == StatementClass::Xa && self.tokens().nth(1).is_some_and(is_verb)
    }

    /// What of it begins a transaction, where it has to wait for a key.
    pub fn pending_kind(&self) -> PendingKind {
        match self.class() {
            StatementClass::Xa => PendingKind::Xa,
            _ => PendingKind::Local,
        }
    }

    /// SET, USE, SHOW, SELECT without a table.
    pub fn is_session_setup(&self) -> bool {
        self.shape().is_session_setup()
    }

    /// A SET of what is not the session's own: variables of the server, passwords, roles that accounts have.
    pub fn sets_the_server(&self) -> bool {
        if self.class() != StatementClass::Set {
            return false;
        }
        let text = self.text();
        let is_server_variable = |token: Token| {
            let word = token.span.of(text);
            [&b"@@global"[..], b"@@persist"].iter().any(|scope| {
                word.get(..scope.len())
                    .is_some_and(|beginning| beginning.eq_ignore_ascii_case(scope))
            })
        };
        let mut after_default = false;
        self.tokens().any(|token| {
            let is_of_server = ["GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD"]
                .iter()
                .any(|word| token.is_word(text, word))
                || is_server_variable(token)
                || (after_default && token.is_word(text, "ROLE"));
            after_default = token.is_word(text, "DEFAULT");
            is_of_server
        })
    }

    /// There is a second statement behind a semicolon.
    #[inline]
    pub fn has_several(&self) -> bool {
        self.skim().may_be_several && self.shape().several
    }

    /// Provably a read, so that it may leave the writer. With `session_functions`, reads of session state count too.
    pub fn is_safe_read(&self, session_functions: bool) -> bool {
        let opened = if session_functions {
            ReadHazards::SESSION_FUNCTION | ReadHazards::USER_VARIABLE
        } else {
            ReadHazards::NONE
        };
        self.shape().read_hazards.without(opened).is_empty() && !self.may_hide_words()
    }

    /// 0xA0 is a blank to servers in latin1 and its kin, 0xFF in cp852, cp866 and keybcs2, and both are letters to the lexer: it would
    /// see one word in `FOR` and `UPDATE` with such a blank between them.
    fn may_hide_words(&self) -> bool {
        let has_other_blank = |bytes: &[u8]| bytes.iter().any(|byte| matches!(byte, 0xA0 | 0xFF));
        self.encoding == Encoding::Ascii
            && has_other_blank(self.text)
            && self
                .tokens()
                .any(|token| token.kind == TokenKind::Word && has_other_blank(token.span.of(self.text)))
    }

    /// Whether the statement names one of these tables and none of their exceptions, as `table` or `schema.table`. One
    /// whose tables cannot be told names none.
    pub fn names_tables(&self, wanted: &Names) -> bool {
        let Ok(tables) = shardwright_sql::schema::tables(self.text, self.mode) else {
            return false;
        };
        let is_of = |patterns: &[NamePattern]| {
            tables.iter().any(|named| {
                let qualified = named
                    .schema
                    .as_ref()
                    .map(|schema| format!("{schema}.{}", named.table));
                patterns.iter().any(|pattern| {
                    pattern.matches(&named.table)
                        || qualified.as_ref().is_some_and(|name| pattern.matches(name))
                })
            })
        };
        (wanted.any_of.is_empty() || is_of(&wanted.any_of)) && !is_of(&wanted.except)
    }

    /// Whether the statement calls one of these functions; names compare without case.
    pub fn calls_any_of(&self, functions: &[String]) -> bool {
        called_functions(self.text, self.mode).any(|called| {
            functions
                .iter()
                .any(|name| name.as_bytes().eq_ignore_ascii_case(&called))
        })
    }
}

/// The hash of the digest text of a statement, as ProxySQL makes it with its default settings.
pub fn digest_hash(text: &[u8]) -> u64 {
    Digest::of(text).hash
}
