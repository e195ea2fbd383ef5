//! Facts about a whole statement, collected in one pass over its tokens.

use std::borrow::Cow;

use super::words::{key_word, number_of};
use super::{MAX_NESTED, ReadHazards, SessionEffects, StatementClass, classify, code_of};
use crate::functions::{self, Call, Meaning, Place, UNKNOWN, call_of, is_keyword};
use crate::lex::{LexMode, Lexer, Token, TokenKind, identifier};

const CREATE: u64 = key_word("CREATE");
const CURRVAL: u64 = key_word("CURRVAL");
const EXPORT: u64 = key_word("EXPORT");
const FOR: u64 = key_word("FOR");
const FROM: u64 = key_word("FROM");
const IN: u64 = key_word("IN");
const INTO: u64 = key_word("INTO");
const LOCK: u64 = key_word("LOCK");
const NEXT: u64 = key_word("NEXT");
const NEXTVAL: u64 = key_word("NEXTVAL");
const PREVIOUS: u64 = key_word("PREVIOUS");
const READ: u64 = key_word("READ");
const REPLACE: u64 = key_word("REPLACE");
const SELECT: u64 = key_word("SELECT");
const SHARE: u64 = key_word("SHARE");
const TABLE: u64 = key_word("TABLE");
const UPDATE: u64 = key_word("UPDATE");
const VALUE: u64 = key_word("VALUE");
const VALUES: u64 = key_word("VALUES");
const WITH: u64 = key_word("WITH");

/// What one pass over the tokens of a statement tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The class of the first statement.
    pub class: StatementClass,
    /// There is a token behind a semicolon.
    pub several: bool,
    /// There is an executable comment.
    pub executable_comment: bool,
    /// The text ends inside a comment, string or quoted name.
    pub unterminated: bool,
    /// There is an executable comment and more than it, so that what the statement is depends on the server's version.
    pub beside_code: bool,
    /// The word FROM stands somewhere, or TABLE does in a SELECT or leads: a SELECT may read a table.
    pub names_table: bool,
    /// A query stands inside: SELECT in a statement that is none, or `(TABLE …`, `(WITH …`, `(VALUES …`.
    pub has_subquery: bool,
    /// Why it is not provably a read; empty if it is.
    pub read_hazards: ReadHazards,
    /// What it leaves in the session.
    pub effects: SessionEffects,
}

impl Shape {
    /// Reads `text` once.
    pub fn of(text: &[u8], mode: LexMode) -> Self {
        Self::of_class(text, mode, classify(text, mode))
    }

    /// The same where the class of the statement, that of [`super::classify`], is known.
    pub fn of_class(text: &[u8], mode: LexMode, class: StatementClass) -> Self {
        let mut shape = Shape {
            class,
            several: false,
            executable_comment: false,
            unterminated: false,
            beside_code: false,
            names_table: false,
            has_subquery: false,
            read_hazards: ReadHazards::NONE,
            effects: effects_of_class(class),
        };
        if class != StatementClass::Select {
            shape.read_hazards |= ReadHazards::NOT_A_SELECT;
        }
        shape.read(text, mode, MAX_NESTED);
        shape.finish();
        shape
    }

    /// Takes in every token of `text`. What an executable comment holds counts as if it were executed.
    fn read(&mut self, text: &[u8], mode: LexMode, depth: usize) {
        let mut window = Window::default();
        let mut behind_semicolon = false;
        let (mut codes, mut others) = (0, 0);
        for token in Lexer::new(text, mode) {
            self.unterminated |= !token.terminated;
            if !token.is_significant() {
                window.adjacent = false;
                continue;
            }
            let mut number = 0;
            match token.kind {
                TokenKind::Semicolon => {
                    behind_semicolon = true;
                    window.push(token, 0);
                    continue;
                }
                TokenKind::ExecutableComment => {
                    codes += 1;
                    self.code(code_of(token.span.of(text)), mode, depth);
                }
                TokenKind::Word => {
                    number = number_of(text, token.span);
                    self.word(token.span.of(text), number, &window);
                }
                TokenKind::LeftParen => self.parenthesis(text, token.span.end, mode, &window),
                TokenKind::UserVariable => {
                    self.effects |= SessionEffects::USER_VARIABLE;
                    self.read_hazards |= ReadHazards::USER_VARIABLE;
                }
                // What stands there is code to one of the servers.
                TokenKind::ReadOtherwise => {
                    codes += 2;
                    self.executable_comment = true;
                }
                TokenKind::SystemVariable => self.system_variable(token.span.of(text)),
                _ => {}
            }
            others += usize::from(token.kind != TokenKind::ExecutableComment);
            self.several |= behind_semicolon;
            window.push(token, number);
        }
        self.beside_code |= codes > 1 || (codes == 1 && others > 0);
    }

    /// True if the statement is provably a read: it may leave the writer.
    pub fn is_safe_read(&self) -> bool {
        self.read_hazards.is_empty()
    }

    /// COMMIT, ROLLBACK, SAVEPOINT, XA: they follow the open transaction.
    pub fn is_transaction_control(&self) -> bool {
        self.class.is_transaction_control() && !self.several
    }

    /// SET, USE, SHOW, and SELECT without a table: what drivers send on connect. One that runs stored code or reads
    /// tables of users is none, whatever its first word.
    pub fn is_session_setup(&self) -> bool {
        let by_class = match self.class {
            StatementClass::Select => !self.names_table && !self.read_hazards.intersects(ReadHazards::INTO),
            StatementClass::Set | StatementClass::Use | StatementClass::Show => true,
            _ => false,
        };
        by_class && !self.beside_code && !self.runs_or_reads() && !self.several && !self.unterminated
    }

    /// It may run code that its text does not show, or read tables through a query inside it.
    pub fn runs_or_reads(&self) -> bool {
        self.has_subquery
            || self
                .read_hazards
                .intersects(ReadHazards::UNKNOWN_FUNCTION | ReadHazards::SEQUENCE)
    }

    fn code(&mut self, code: &[u8], mode: LexMode, depth: usize) {
        self.executable_comment = true;
        match depth.checked_sub(1) {
            Some(depth) => self.read(code, mode, depth),
            None => self.beside_code = true,
        }
    }

    fn system_variable(&mut self, written: &[u8]) {
        self.effects |= SessionEffects::READS_SYSTEM_VARIABLE;
        if is_session_answer(written) {
            self.effects |= SessionEffects::READS_SESSION;
            self.read_hazards |= ReadHazards::SESSION_FUNCTION;
        }
    }

    /// A `(`, behind which `behind` stands.
    fn parenthesis(&mut self, text: &[u8], behind: usize, mode: LexMode, window: &Window) {
        if let Some(name) = window.previous
            && name.is_name()
            && let Some(call) = window.called(name, text, behind, mode)
        {
            self.call(call);
        }
    }

    /// A word and its number, which is 0 for long ones.
    #[inline]
    fn word(&mut self, word: &[u8], number: u64, window: &Window) {
        let (before, previous) = (window.word_before, window.previous_word);
        let opens_query = window.previous_is(TokenKind::LeftParen);
        match number {
            SELECT => self.has_subquery |= self.class != StatementClass::Select,
            FROM => self.names_table = true,
            INTO => self.read_hazards |= ReadHazards::INTO,
            WITH | VALUES if opens_query => self.has_subquery = true,
            TABLE if opens_query => {
                self.has_subquery = true;
                self.names_table = true;
            }
            TABLE => {
                self.names_table |= window.previous.is_none() || self.class == StatementClass::Select;
            }
            LOCK if previous == READ => self.effects |= SessionEffects::TABLE_LOCK,
            EXPORT if previous == FOR => self.effects |= SessionEffects::TABLE_LOCK,
            UPDATE if previous == FOR => self.read_hazards |= ReadHazards::LOCKING_READ,
            SHARE if previous == FOR || (previous == IN && before == LOCK) => {
                self.read_hazards |= ReadHazards::LOCKING_READ;
            }
            // `SELECT next value` names a column and gives it another name.
            FOR if previous == VALUE && matches!(before, NEXT | PREVIOUS) => self.sequence(),
            NEXTVAL | CURRVAL if window.previous_is(TokenKind::Dot) => self.sequence(),
            0 => self.long_word(word, previous),
            _ => {}
        }
    }

    fn long_word(&mut self, word: &[u8], previous: u64) {
        if word.eq_ignore_ascii_case(b"TEMPORARY") && matches!(previous, CREATE | REPLACE) {
            self.effects |= SessionEffects::TEMPORARY_TABLE;
        } else if word.eq_ignore_ascii_case(b"SQL_CALC_FOUND_ROWS") {
            self.effects |= SessionEffects::FOUND_ROWS;
            self.read_hazards |= ReadHazards::SESSION_FUNCTION;
        }
    }

    fn sequence(&mut self) {
        self.effects |= SessionEffects::SEQUENCE;
        self.read_hazards |= ReadHazards::SEQUENCE;
    }

    fn call(&mut self, call: Call) {
        match call.meaning {
            Meaning::Pure | Meaning::Keyword | Meaning::Unknown => {}
            Meaning::NamedLock => {
                self.effects |= SessionEffects::NAMED_LOCK;
                self.read_hazards |= ReadHazards::NAMED_LOCK;
            }
            Meaning::Session => {
                self.effects |= SessionEffects::READS_SESSION;
                self.read_hazards |= ReadHazards::SESSION_FUNCTION;
            }
            Meaning::Schema => self.effects |= SessionEffects::READS_SCHEMA,
            Meaning::InsertId => {
                self.effects |= SessionEffects::READS_SESSION | SessionEffects::INSERT_ID;
                self.read_hazards |= ReadHazards::SESSION_FUNCTION;
            }
            Meaning::Sequence => self.sequence(),
            Meaning::Server => self.read_hazards |= ReadHazards::SERVER_FUNCTION,
        }
        if call.is_built_in {
            return;
        }
        self.read_hazards |= ReadHazards::UNKNOWN_FUNCTION;
        // Only where an expression can stand: `INSERT INTO t (a)` and `CREATE TABLE t (a)` call nothing.
        if matches!(
            self.class,
            StatementClass::Select | StatementClass::Do | StatementClass::Set
        ) {
            self.effects |= SessionEffects::UNKNOWN;
        }
    }

    fn finish(&mut self) {
        if self.executable_comment {
            self.effects |= SessionEffects::UNKNOWN;
            self.read_hazards |= ReadHazards::EXECUTABLE_COMMENT;
        }
        if self.several {
            self.effects |= SessionEffects::UNKNOWN;
            self.read_hazards |= ReadHazards::SEVERAL_STATEMENTS;
        }
        if self.unterminated {
            self.read_hazards |= ReadHazards::UNTERMINATED;
        }
    }
}

fn effects_of_class(class: StatementClass) -> SessionEffects {
    match class {
        StatementClass::Set => SessionEffects::SET,
        StatementClass::Use => SessionEffects::SCHEMA,
        StatementClass::Lock => SessionEffects::TABLE_LOCK,
        StatementClass::Prepare => SessionEffects::TEXT_PREPARE | SessionEffects::UNKNOWN,
        StatementClass::Handler => SessionEffects::HANDLER,
        StatementClass::Begin | StatementClass::Xa | StatementClass::Savepoint => SessionEffects::TRANSACTION,
        StatementClass::Insert | StatementClass::Replace | StatementClass::Load => SessionEffects::INSERT_ID,
        StatementClass::Call | StatementClass::Other => SessionEffects::UNKNOWN,
        _ => SessionEffects::NONE,
    }
}

/// System variables that answer for the statement before.
fn is_session_answer(raw: &[u8]) -> bool {
    let name = raw.rsplit(|&b| b == b'.' || b == b'@').next().unwrap_or_default();
    let names: [&[u8]; 8] = [
        b"identity",
        b"last_insert_id",
        b"insert_id",
        b"warning_count",
        b"error_count",
        b"last_gtid",
        b"in_transaction",
        b"pseudo_thread_id",
    ];
    let bare = || name.iter().filter(|&&b| b != b'`').map(u8::to_ascii_lowercase);
    names.iter().any(|known| bare().eq(known.iter().copied()))
}

/// The significant tokens just read.
#[derive(Default)]
struct Window {
    previous: Option<Token>,
    before: Option<TokenKind>,
    /// The numbers of the same two, 0 for what is no word.
    previous_word: u64,
    word_before: u64,
    /// No blank and no comment since `previous`.
    adjacent: bool,
}

impl Window {
    #[inline]
    fn push(&mut self, token: Token, word: u64) {
        self.before = self.previous.replace(token).map(|token| token.kind);
        self.word_before = self.previous_word;
        self.previous_word = word;
        self.adjacent = true;
    }

    #[inline]
    fn previous_is(&self, kind: TokenKind) -> bool {
        self.previous.is_some_and(|previous| previous.kind == kind)
    }

    /// What `name` calls, if `name (` is a call; the text goes on at `behind`.
    fn called(&self, name: Token, text: &[u8], behind: usize, mode: LexMode) -> Option<Call> {
        if name.kind == TokenKind::QuotedName {
            return (!functions::names_expression(&text[behind..], mode)).then_some(UNKNOWN);
        }
        let place = Place {
            adjacent: self.adjacent,
            before: self.before,
            rest: &text[behind..],
        };
        call_of(name.span.of(text), place, mode)
    }
}

/// The words without which a SELECT is a read, unless it holds a variable, an executable comment, a call of a function that
/// is not built in, a second statement, or a word of `NEXT VALUE FOR` and locks: all of those hold `FOR` or `LOCK`. In
/// capitals; a statement may hold some of them as names and be a read.
pub fn words_of_no_read() -> impl Iterator<Item = &'static str> {
    ["FOR", "INTO", "LOCK", "SQL_CALC_FOUND_ROWS"]
        .into_iter()
        .chain(functions::calls_of_no_read())
}

/// Those of [`words_of_no_read`] that count only where they are called: a column may have such a name.
pub fn calls_of_no_read() -> impl Iterator<Item = &'static str> {
    // `s.NEXTVAL` needs no parentheses.
    functions::calls_of_no_read().filter(|name| !matches!(*name, "CURRVAL" | "NEXTVAL"))
}

/// The names of the built-in functions of some server, and of the key words that a `(` can follow; `true` for these.
pub fn function_names() -> impl Iterator<Item = (&'static str, bool)> {
    functions::names()
}

/// The names that stand before a `(` as functions do, quotes removed, in order, with repeats. Over-approximates: it
/// also yields names of tables and types (`INSERT INTO t (a)`, `DECIMAL(10)`), never keywords such as `IN`.
pub fn called_functions(text: &[u8], mode: LexMode) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let mut previous: Option<Token> = None;
    Lexer::new(text, mode).significant().filter_map(move |token| {
        let name = previous.replace(token).filter(Token::is_name)?;
        let is_call = token.kind == TokenKind::LeftParen
            && (name.kind == TokenKind::QuotedName || !is_keyword(name.span.of(text), mode.servers));
        if is_call { identifier(&name, text) } else { None }
    })
}
