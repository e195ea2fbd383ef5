//! Digest text and hash of a statement: exactly what ProxySQL 2.7.1 makes of the same bytes.
//!
//! The digest decides where `match_digest` and `digest` rules send a statement, so a digest that is merely close is a
//! wrong answer. The engine makes it in four passes over one buffer, and three properties of that buffer reach the text:
//! passes look at neighbours as they stood *before* the pass (`a - b` keeps both blanks around the sign that goes), the
//! buffer is as long as the statement or `max_query_length` and is filled in rounds, and a pass may step over a byte
//! that it never wrote. So the passes here work on one buffer too:
//!
//! | pass | file | what it does |
//! |---|---|---|
//! | 1 | `scan` | copies; literals become `?`, runs of blanks one blank, comments go |
//! | 2 | `signs` | blanks beside `(`, `)`, `,` go, and signs that belong to a literal |
//! | 3 | `lists` | `(?,?,?,?,?)` becomes `(?,?,?,...)` |
//! | 4 | `lists` | more than ten such groups in a row become ten and `,...` |
//!
//! Example: `SELECT a - 1 FROM t WHERE b IN (1, 2, 3, 4, 5)` leaves pass 1 as `SELECT a - ? FROM t WHERE b IN (?, ?, ?,
//! ?, ?)`, pass 2 as `SELECT a -? …(?,?,?,?,?)` and pass 3 as `SELECT a ? FROM t WHERE b IN (?,?,?,...)`.
//!
//! Most statements do not need passes 1 and 2 one after the other: `plain` does both at once where it knows all that comes.
//!
//! **Invariant:** a pass never writes beyond what it has read, so one buffer is enough. When pass 1 fills the buffer, the
//! other passes make room and pass 1 goes on, until the statement ends or nothing was gained (a *round*).
//!
//! Facts are those of `lib/c_tokenizer.cpp` and `lib/Query_Processor.cpp` of 2.7.1, and what the engine answered;
//! `docs/conformance.md` has the figures.

mod beginning;
mod lists;
mod page;
mod plain;
mod scan;
mod signs;

use crate::lex::Span;
use crate::spooky;
pub use beginning::first_word;
use page::Page;
use scan::Scanner;
pub(crate) use scan::is_space;

/// The settings that shape a digest, under their ProxySQL names without `query_digests_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestOptions {
    /// Letters outside of executable comments become lower case (ASCII).
    pub lowercase: bool,
    /// `NULL` becomes `?`.
    pub replace_null: bool,
    /// Digits in names become `?`, one for each run.
    pub no_digits: bool,
    /// Block comments stay, without their `!`.
    pub keep_comment: bool,
    /// Literals of one list that are kept before `...`. The engine reads the low byte as a signed number.
    pub grouping_limit: u32,
    /// Abbreviated lists in a row that are kept before `...`; 0: all. The low byte counts, as above.
    pub groups_grouping_limit: u32,
    /// Longest digest text in bytes.
    pub max_query_length: usize,
    /// Bytes of the text that are hashed.
    pub max_digest_length: usize,
}

impl DigestOptions {
    /// ProxySQL's own.
    pub const DEFAULT: DigestOptions = DigestOptions {
        lowercase: false,
        replace_null: false,
        no_digits: false,
        keep_comment: false,
        grouping_limit: 3,
        groups_grouping_limit: 10,
        max_query_length: 65_000,
        max_digest_length: 2048,
    };

    /// Whether names, NULL and comments are what they are by default.
    fn are_plain(&self) -> bool {
        !(self.lowercase || self.replace_null || self.no_digits || self.keep_comment)
    }
}

impl Default for DigestOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A statement without its literals, and the hash of that text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The digest text.
    pub text: Vec<u8>,
    /// SpookyHash V2 of the text, seed 0; ProxySQL prints it as `0x` and 16 upper-case hexadecimal digits.
    pub hash: u64,
    /// False where the engine's digest holds bytes of some earlier statement. A line comment directly behind a word, with
    /// a blank at the start of the next line (`SELECT a#c⏎ FROM t`), makes the engine step over bytes of its buffer that it
    /// never wrote; this digest has a blank for each.
    pub is_determined: bool,
}

impl Digest {
    /// The digest of a statement under default settings.
    pub fn of(statement: &[u8]) -> Self {
        Self::with(statement, &DigestOptions::DEFAULT)
    }

    /// The digest of a statement.
    pub fn with(statement: &[u8], options: &DigestOptions) -> Self {
        let mut text = Vec::new();
        let is_determined = write(statement, options, &mut text);
        Digest {
            hash: hash_of(&text, options),
            text,
            is_determined,
        }
    }
}

/// Writes the digest text of `statement` into `text`, whatever that held, and returns the hash.
pub fn digest_into(statement: &[u8], options: &DigestOptions, text: &mut Vec<u8>) -> u64 {
    write(statement, options, text);
    hash_of(text, options)
}

/// Where the digest of a statement has its `?` for numbers and strings, each with its quotes; `None` for a statement that takes
/// the long way.
pub(crate) fn plain_literals(statement: &[u8]) -> Option<Vec<Span>> {
    let mut text = Vec::new();
    let mut literals = Vec::new();
    let mut page = Page::new(&mut text, statement.len());
    plain::write(statement, &mut page, |literal| literals.push(literal))?;
    Some(literals)
}

fn hash_of(text: &[u8], options: &DigestOptions) -> u64 {
    spooky::hash64(&text[..text.len().min(options.max_digest_length)])
}

/// False where bytes of the text are not determined.
fn write(statement: &[u8], options: &DigestOptions, text: &mut Vec<u8>) -> bool {
    if options.are_plain() && statement.len() <= options.max_query_length {
        let mut page = Page::new(text, statement.len());
        if let Some(has_lists) = plain::write(statement, &mut page, |_| ()) {
            if has_lists {
                let mut lists = lists::Lists::new(options);
                lists.shorten(&mut page, 0);
                lists.group(&mut page);
            }
            let length = page.finish();
            text.truncate(length);
            return true;
        }
    }
    write_in_passes(statement, options, text)
}

fn write_in_passes(statement: &[u8], options: &DigestOptions, text: &mut Vec<u8>) -> bool {
    let room = statement.len().min(options.max_query_length);
    let mut page = Page::new(text, room);
    let mut scanner = Scanner::new(statement, options, room);
    let mut signs = signs::Signs::default();
    let mut lists = lists::Lists::new(options);
    let mut gained: isize = 0;
    loop {
        scanner.fill(&mut page);
        let filled = page.len;
        signs.squeeze(&mut page, gained, options);
        lists.shorten(&mut page, gained);
        lists.group(&mut page);
        gained = filled as isize - page.len as isize;
        if scanner.at_end() || page.len >= room || gained == 0 {
            break;
        }
        page.next_round();
    }
    let determined = page.determined;
    let length = page.finish();
    text.truncate(length);
    determined
}
