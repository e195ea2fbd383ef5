//! Texts that the bundled engine takes for reads, as a machine that reads byte by byte.
//!
//! # Idea
//!
//! The bundled engine keeps a SELECT on the writer for a word (`INTO`, `FOR`, `GET_LOCK`), a variable, an executable
//! comment or a second statement outside of literals; for the name of a function only where it is called. The machine follows the lexer through literals, names and comments,
//! and holds each word against the list of these words. Where it would have to remember more, it gives up.
//!
//! # Invariant
//!
//! What the machine accepts is a subset: `sql::Shape` finds nothing in an accepted text that keeps it on the writer, but
//! calls of functions that are not built in, which the claim leaves out. A test compares the machine with the lexer.
//!
//! # Example
//!
//! | text | |
//! |---|---|
//! | `SELECT a FROM t` | accepted |
//! | `/* x */ SELECT 'INTO', f(1);` | accepted |
//! | `SELECT a INTO @b` | refused: a word of the list |
//! | `SELECT row_count FROM t` | accepted: a column |
//! | `WITH c AS (SELECT 1) SELECT 2` | refused, though a read: it does not begin with SELECT |

#[cfg(test)]
mod tests;

use shardwright_patterns::{Automaton, Limits, Undecided};
use shardwright_sql::class::{calls_of_no_read, words_of_no_read};

/// States of the machine: some for each beginning of a word of the list.
const LIMITS: Limits = Limits {
    bytes: 16 << 20,
    states: 5_000,
    tuples: 0,
};

const VERB: &str = "SELECT";

/// The texts of reads.
///
/// # Errors
/// If the machine is too large.
pub(super) fn reads() -> Result<Automaton, Undecided> {
    let words = Words {
        all: words_of_no_read().collect(),
        called: calls_of_no_read().collect(),
    };
    let start = State {
        leads: true,
        at: At::Between,
    };
    Automaton::of_machine(
        start,
        |state, byte| step(&words, state, byte),
        |state| accepts(&words, state),
        &LIMITS,
    )
}

/// What keeps a SELECT on the writer.
struct Words<'w> {
    all: Vec<&'w str>,
    /// Those that count only where they are called.
    called: Vec<&'w str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Nothing but blanks and comments has been read, and a part of SELECT.
    leads: bool,
    at: At,
}

/// Where in a text the machine is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    /// Behind a blank, a sign, a literal or a comment. What a quote opens is a string.
    Between,
    /// In a word. `read`: it in capitals, while a word of the list, or the verb, begins so. `plain`: a string that a quote
    /// opens here may have backslashes that are bytes like others.
    Word {
        read: Option<Vec<u8>>,
        plain: bool,
    },
    /// Behind a word of the list that counts only where it is called, and a blank.
    Named,
    /// In a number; `zero`: it is `0` so far.
    Digits {
        zero: bool,
    },
    /// Behind a dot that follows digits, and digits.
    Fraction,
    /// Behind the `e` of a number's exponent, and its sign.
    Exponent {
        sign: Option<u8>,
    },
    /// In the digits of an exponent.
    Power,
    /// Behind a `/`.
    Slash,
    /// Behind one `-`, or two.
    Dash {
        two: bool,
    },
    LineComment,
    /// In `'…'` or `"…"`; `plain` as in words.
    Quoted {
        quote: u8,
        plain: bool,
        escaped: bool,
    },
    /// Behind a `'…'` whose backslashes may be bytes like others: one more quote goes on with it.
    BehindPlain,
    /// In a name between backticks.
    Name,
    /// Behind `/*`, and behind `/*M`.
    Opened {
        behind_m: bool,
    },
    Comment {
        star: bool,
    },
    /// Behind a semicolon.
    Over,
    /// It is no read, or that is not known.
    Lost,
}

fn accepts(words: &Words<'_>, state: &State) -> bool {
    // The verb alone does not lead.
    !state.leads
        && match &state.at {
            At::Word { read, .. } => !matches!(listed(words, read.as_deref()), Some(Listed::Anywhere)),
            At::Quoted { .. } | At::Name | At::Opened { .. } | At::Comment { .. } | At::Lost => false,
            _ => true,
        }
}

/// What a word of the list needs to count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    Anywhere,
    Called,
}

fn listed(words: &Words<'_>, read: Option<&[u8]>) -> Option<Listed> {
    let is_in = |words: &[&str]| read.is_some_and(|read| words.iter().any(|word| word.as_bytes() == read));
    match (is_in(&words.called), is_in(&words.all)) {
        (true, _) => Some(Listed::Called),
        (false, true) => Some(Listed::Anywhere),
        (false, false) => None,
    }
}

fn step(words: &Words<'_>, state: &State, byte: u8) -> State {
    let at = next(words, state, byte);
    let is_verb = matches!(&state.at, At::Word { read: Some(read), .. } if read == VERB.as_bytes());
    let leads = state.leads && (!is_verb || is_word_byte(byte));
    let may_lead = match (&state.at, &at) {
        (At::Word { .. }, at) => matches!(at, At::Word { read: Some(_), .. }),
        (At::Slash, at) => matches!(at, At::Opened { .. }),
        (At::Dash { two: false }, at) => matches!(at, At::Dash { .. }),
        (At::Dash { two: true }, at) => matches!(at, At::LineComment) || byte == b'\n',
        (At::Between, At::Between) => is_blank(byte),
        (At::Between, at) => matches!(
            at,
            At::Word { read: Some(_), .. } | At::Slash | At::Dash { .. } | At::LineComment
        ),
        // In comments.
        (_, at) => *at != At::Lost,
    };
    match leads && !may_lead {
        true => State {
            leads: false,
            at: At::Lost,
        },
        false => State { leads, at },
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn next(words: &Words<'_>, state: &State, byte: u8) -> At {
    match &state.at {
        At::Lost => At::Lost,
        At::Between => between(words, false, byte),
        At::BehindPlain => between(words, true, byte),
        At::Word { read, plain } if is_word_byte(byte) => in_word(words, read.as_deref(), byte),
        At::Word { read, plain } => match listed(words, read.as_deref()) {
            Some(Listed::Anywhere) => At::Lost,
            Some(Listed::Called) => named(words, *plain, byte),
            None => between(words, *plain, byte),
        },
        At::Named => named(words, false, byte),
        At::Digits { zero } => match byte {
            b'0'..=b'9' => At::Digits { zero: false },
            b'.' => At::Fraction,
            // `0x1F` is one token, whatever follows.
            b'x' | b'X' if *zero => At::Word {
                read: None,
                plain: true,
            },
            byte if is_word_byte(byte) => At::Lost,
            byte => between(words, false, byte),
        },
        At::Fraction => match byte {
            b'0'..=b'9' => At::Fraction,
            b'e' | b'E' => At::Exponent { sign: None },
            byte => between(words, false, byte),
        },
        // Without a digit behind it, the `e` is a word, and a sign is an operator.
        At::Exponent { sign } => match (sign, byte) {
            (_, b'0'..=b'9') => At::Power,
            (None, b'+' | b'-') => At::Exponent { sign: Some(byte) },
            (None, byte) if is_word_byte(byte) => in_word(words, Some(b"E"), byte),
            (Some(b'-'), byte) => dashes(words, false, byte),
            (_, byte) => between(words, false, byte),
        },
        At::Power => match byte {
            b'0'..=b'9' => At::Power,
            // Another word begins here, and patterns do not see where: they read `0.e+0x1F` as hexadecimal. No word of the list
            // begins with an X.
            b'x' | b'X' => in_word(words, Some(b""), byte),
            byte if is_word_byte(byte) => At::Lost,
            byte => between(words, false, byte),
        },
        At::Slash if byte == b'*' => At::Opened { behind_m: false },
        At::Slash => between(words, false, byte),
        At::Dash { two } => dashes(words, *two, byte),
        At::LineComment if byte == b'\n' => At::Between,
        At::LineComment => At::LineComment,
        &At::Quoted {
            quote,
            plain,
            escaped,
        } => quoted(quote, plain, escaped, byte),
        At::Name if byte == b'`' => At::Between,
        At::Name => At::Name,
        &At::Opened { behind_m } => match byte {
            b'!' => At::Lost,
            b'M' if !behind_m => At::Opened { behind_m: true },
            byte => At::Comment { star: byte == b'*' },
        },
        At::Comment { star: true } if byte == b'/' => At::Between,
        At::Comment { .. } => At::Comment { star: byte == b'*' },
        At::Over => match byte {
            byte if is_blank(byte) || byte == b';' => At::Over,
            _ => At::Lost,
        },
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// One byte more of a word.
fn in_word(words: &Words<'_>, read: Option<&[u8]>, byte: u8) -> At {
    let read = read.and_then(|read| {
        let read = [read, &[byte.to_ascii_uppercase()]].concat();
        let begins = |word: &str| word.as_bytes().starts_with(&read);
        (begins(VERB) || words.all.iter().any(|word| begins(word))).then_some(read)
    });
    At::Word {
        read,
        // `x'…'` and `b'…'`
        plain: matches!(byte, b'x' | b'X' | b'b' | b'B'),
    }
}

/// A byte outside of everything; `plain` as in words.
fn between(words: &Words<'_>, plain: bool, byte: u8) -> At {
    match byte {
        b'\'' | b'"' => At::Quoted {
            quote: byte,
            plain,
            escaped: false,
        },
        b'`' => At::Name,
        b'#' => At::LineComment,
        b'/' => At::Slash,
        b'-' => At::Dash { two: false },
        b';' => At::Over,
        b'0'..=b'9' => At::Digits { zero: byte == b'0' },
        b'@' | b'$' | 0x80.. => At::Lost,
        byte if is_word_byte(byte) => in_word(words, Some(b""), byte),
        _ => At::Between,
    }
}

/// A byte behind a name that must not be called. What may begin a comment may hide the parenthesis.
fn named(words: &Words<'_>, plain: bool, byte: u8) -> At {
    match byte {
        b'(' | b'/' | b'-' | b'#' => At::Lost,
        byte if is_blank(byte) => At::Named,
        byte => between(words, plain, byte),
    }
}

/// `--` opens a comment only before a blank, a control byte or the end of the text.
fn dashes(words: &Words<'_>, two: bool, byte: u8) -> At {
    match (two, byte) {
        (false, b'-') | (true, b'-') => At::Dash { two: true },
        (true, b'\n') => At::Between,
        (true, byte) if is_blank(byte) || byte.is_ascii_control() => At::LineComment,
        _ => between(words, false, byte),
    }
}

fn quoted(quote: u8, plain: bool, escaped: bool, byte: u8) -> At {
    match byte {
        // It ends the string, or does not.
        b'\'' | b'"' if escaped && plain => At::Lost,
        byte if !escaped && byte == quote => match plain {
            true => At::BehindPlain,
            false => At::Between,
        },
        byte => At::Quoted {
            quote,
            plain,
            escaped: !escaped && byte == b'\\',
        },
    }
}
