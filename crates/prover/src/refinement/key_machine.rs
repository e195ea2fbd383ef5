//! The texts whose comments carry one key, and that of a given set: as a machine that reads byte by byte.
//!
//! # Idea
//!
//! The bundled engine reads keys with a lexer: `word=value` in a comment, between separators. The machine does the same
//! with a finite memory, and gives up where more would be needed. It reads a text up to the first place where
//! `word=` stands behind a byte that is no letter, digit or underscore (an *occurrence*). There it knows
//! whether it is inside a comment and at the beginning of a piece; then it reads the value. Behind the value it only has to see
//! that the comment ends and that no other occurrence follows.
//!
//! # Invariant
//!
//! What the machine accepts is a subset: in an accepted text, `sql::comment_keys` finds exactly one value of the word, and
//! the value is of the set. Each key of a comment begins with an occurrence, since the byte before it is a separator or
//! the `*` that opens the comment. So one occurrence is one key at most. A test compares the machine with the lexer.
//!
//! # Example
//!
//! The word `tenant`, the set {5}:
//!
//! | text | |
//! |---|---|
//! | `/* tenant=5 */ SELECT 1` | accepted |
//! | `/* app=x, tenant='05' */ SELECT 1` | accepted |
//! | `/* tenant=6 */ SELECT 1` | refused: another value |
//! | `SELECT 'tenant=5'` | refused: the occurrence is in no comment |
//! | `/* tenant=5 */ SELECT tenant=5` | refused: two occurrences, though the second is no key |

mod values;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use shardwright_patterns::{Automaton, Limits, Undecided};
use shardwright_rules::{KeyKind, KeyValue};

use values::{Read, Values};

/// States of a machine.
const LIMITS: Limits = Limits {
    bytes: 64 << 20,
    states: 20_000,
    tuples: 0,
};
/// The texts that carry one key of the set behind `word`.
///
/// # Errors
/// If the machine is too large.
pub(super) fn texts_with_key(
    word: &str,
    kind: KeyKind,
    keys: &[KeyValue],
    ranges: &[(i64, i64)],
) -> Result<Automaton, Undecided> {
    let values = Values::of(kind, keys, ranges).ok_or(Undecided::TooLarge {
        states: LIMITS.states,
        bytes: LIMITS.bytes,
    })?;
    let machine = Machine {
        word: word.to_ascii_lowercase().into_bytes(),
        values,
    };
    Automaton::of_machine(
        machine.start(),
        |state, byte| machine.step(state, byte),
        |state| matches!(state.at, At::Behind { closed: true, .. }),
        &LIMITS,
    )
}

/// Whether the machine can look for the word: an occurrence begins behind a byte that no word has.
pub(super) fn reads(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(is_word_byte)
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | b',' | b';')
}

/// Where in a text the machine is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    /// Outside of literals and comments.
    Outside,
    /// Behind a `/` there.
    Slash,
    /// Behind one `-`, or two, there.
    Dash {
        two: bool,
    },
    LineComment,
    /// In `'…'` or `"…"`; `plain`: a backslash may be a byte like others.
    Quoted {
        quote: u8,
        plain: bool,
        escaped: bool,
    },
    /// In a name between backticks.
    Name,
    /// Behind `/*`, and behind `/*M`.
    Opened {
        behind_m: bool,
    },
    /// In a hint, or in an executable comment; `star`: behind a `*`.
    Skipped {
        executable: bool,
        star: bool,
        last: u8,
    },
    /// In a comment without a key so far.
    Comment {
        piece: Piece,
        star: bool,
    },
    /// In the value of the key; a `star` has been read that may end the comment.
    Value {
        quote: Option<u8>,
        closed: bool,
        read: Read,
        star: bool,
    },
    /// Behind the value of the key.
    Behind {
        closed: bool,
        star: bool,
    },
    /// It is not known where the machine is, or the text has another value.
    Lost,
}

/// What of a piece of a comment has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Piece {
    /// Nothing.
    Begins,
    /// Its name, or all of it where it has no value.
    Name,
    /// Its `=`.
    Equals,
    /// A value without quotes.
    Bare,
    /// A value behind this quote.
    Quoted(u8),
    /// The quote that may end the value.
    Closed,
    /// A quote did not end the value: pieces are not told apart in the rest of the comment.
    Unclear,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    at: At,
    /// Bytes of the word that have been read since a byte that no word has; `None` if other bytes have.
    progress: Option<usize>,
    /// The word began at the beginning of a piece of a comment.
    at_piece: bool,
    /// The byte before, where it can change what a quote begins.
    before: Option<u8>,
}

struct Machine {
    /// In lower case.
    word: Vec<u8>,
    values: Values,
}

impl Machine {
    fn start(&self) -> State {
        State {
            at: At::Outside,
            progress: Some(0),
            at_piece: false,
            before: None,
        }
    }

    fn step(&self, state: &State, byte: u8) -> State {
        if state.at == At::Lost {
            return state.clone();
        }
        if byte == b'=' && state.progress == Some(self.word.len()) {
            return self.occurrence(state);
        }
        let at = self.next(state, byte);
        if at == At::Lost {
            return State { at, ..self.start() };
        }
        let begins_piece = matches!(
            &at,
            At::Comment {
                piece: Piece::Name,
                ..
            }
        ) && !matches!(
            &state.at,
            At::Comment {
                piece: Piece::Name,
                ..
            }
        );
        let progress = if !is_word_byte(byte) {
            Some(0)
        } else {
            state
                .progress
                .filter(|&read| self.word.get(read) == Some(&byte.to_ascii_lowercase()))
                .map(|read| read + 1)
        };
        State {
            at_piece: progress.is_some_and(|read| read > 0)
                && (begins_piece || (state.at_piece && state.progress.is_some_and(|read| read > 0))),
            progress,
            // What a quote behind `x'…'` opens is more of it.
            before: (matches!(byte, b'x' | b'X' | b'b' | b'B' | b'n' | b'N')
                || matches!((&state.at, &at), (At::Quoted { plain: true, .. }, At::Outside)))
            .then_some(byte),
            at,
        }
    }

    /// `word=` has been read.
    fn occurrence(&self, state: &State) -> State {
        let at = match &state.at {
            At::Comment { .. } if state.at_piece => At::Value {
                quote: None,
                closed: false,
                read: Read::Text(Arc::from(&b""[..])),
                star: false,
            },
            _ => At::Lost,
        };
        State { at, ..self.start() }
    }

    fn next(&self, state: &State, byte: u8) -> At {
        match &state.at {
            At::Outside => outside(state.before, byte),
            At::Slash if byte == b'*' => At::Opened { behind_m: false },
            At::Slash => outside(None, byte),
            At::Dash { two: false } if byte == b'-' => At::Dash { two: true },
            At::Dash { two: false } => outside(None, byte),
            At::Dash { two: true } => match byte {
                b'\n' => At::Outside,
                byte if byte == b' ' || byte.is_ascii_control() => At::LineComment,
                b'-' => At::Dash { two: true },
                byte => outside(None, byte),
            },
            At::LineComment if byte == b'\n' => At::Outside,
            At::LineComment => At::LineComment,
            &At::Quoted {
                quote,
                plain,
                escaped,
            } => match byte {
                _ if escaped => At::Quoted {
                    quote,
                    plain,
                    escaped: false,
                },
                b'\\' if plain => At::Lost,
                b'\\' => At::Quoted {
                    quote,
                    plain,
                    escaped: true,
                },
                byte if byte == quote => At::Outside,
                _ => state.at.clone(),
            },
            At::Name if byte == b'`' => At::Outside,
            At::Name => At::Name,
            &At::Opened { behind_m } => opened(behind_m, byte),
            &At::Skipped {
                executable,
                star,
                last,
            } => skipped(executable, star, last, byte),
            &At::Comment { piece, star } => comment(piece, star, byte),
            At::Value {
                quote,
                closed,
                read,
                star,
            } => self.value((*quote, *closed), read, *star, byte),
            At::Behind { closed: true, .. } => state.at.clone(),
            At::Behind { star: true, .. } if byte == b'/' => At::Behind {
                closed: true,
                star: false,
            },
            At::Behind { .. } => At::Behind {
                closed: false,
                star: byte == b'*',
            },
            At::Lost => At::Lost,
        }
    }

    /// One byte more of the key's value.
    fn value(&self, (quote, closed): (Option<u8>, bool), read: &Read, star: bool, byte: u8) -> At {
        let done = |closed: bool| match self.values.holds(read) {
            true => At::Behind { closed, star: false },
            false => At::Lost,
        };
        let is_over = quote.is_none() || closed;
        if star {
            // The comment ends, or a `*` is part of the value, which is none of the set unless texts have stars.
            return match byte {
                b'/' if is_over => done(true),
                _ => At::Lost,
            };
        }
        let is_first = quote.is_none() && *read == Read::Text(Arc::from(&b""[..]));
        match byte {
            b'*' => At::Value {
                quote,
                closed,
                read: read.clone(),
                star: true,
            },
            b'\'' | b'"' if is_first => At::Value {
                quote: Some(byte),
                closed: false,
                read: read.clone(),
                star: false,
            },
            byte if is_separator(byte) && is_over => done(false),
            // Behind the closing quote something else: the value is the whole piece, quotes included.
            _ if closed => At::Lost,
            byte if quote == Some(byte) => At::Value {
                quote,
                closed: true,
                read: read.clone(),
                star: false,
            },
            byte => match self.values.read(read, byte) {
                Read::Other => At::Lost,
                read => At::Value {
                    quote,
                    closed,
                    read,
                    star: false,
                },
            },
        }
    }
}

fn outside(before: Option<u8>, byte: u8) -> At {
    match byte {
        b'\'' | b'"' => At::Quoted {
            quote: byte,
            // `x'\'` ends at its second quote, `X\'` where X is a longer word does not.
            plain: before.is_some(),
            escaped: false,
        },
        b'`' => At::Name,
        b'#' => At::LineComment,
        b'/' => At::Slash,
        b'-' => At::Dash { two: false },
        _ => At::Outside,
    }
}

fn opened(behind_m: bool, byte: u8) -> At {
    match byte {
        b'!' => At::Skipped {
            executable: true,
            star: false,
            last: b'!',
        },
        b'+' if !behind_m => At::Skipped {
            executable: false,
            star: false,
            last: b'+',
        },
        b'M' if !behind_m => At::Opened { behind_m: true },
        // `M` has been the first byte of a piece.
        byte if behind_m => comment(Piece::Name, false, byte),
        byte => comment(Piece::Begins, false, byte),
    }
}

/// In an executable comment that holds a quote or another comment it is not known what the lexer reads behind it.
fn skipped(executable: bool, star: bool, last: u8, byte: u8) -> At {
    if star && byte == b'/' {
        return At::Outside;
    }
    let hides =
        matches!(byte, b'\'' | b'"' | b'`' | b'#') || matches!((last, byte), (b'/', b'*') | (b'-', b'-'));
    if executable && hides {
        return At::Lost;
    }
    At::Skipped {
        executable,
        star: byte == b'*',
        last: if matches!(byte, b'/' | b'-') { byte } else { 0 },
    }
}

fn comment(piece: Piece, star: bool, byte: u8) -> At {
    if star && byte == b'/' {
        return At::Outside;
    }
    let next = match (piece, byte) {
        (Piece::Unclear, _) => Piece::Unclear,
        (Piece::Quoted(quote), byte) if byte == quote => Piece::Closed,
        (Piece::Quoted(_), _) => piece,
        (_, byte) if is_separator(byte) => Piece::Begins,
        (Piece::Closed, _) if byte != b'*' => Piece::Unclear,
        (Piece::Begins | Piece::Name, b'=') => Piece::Equals,
        (Piece::Begins | Piece::Name, _) => Piece::Name,
        (Piece::Equals, b'\'' | b'"') => Piece::Quoted(byte),
        (Piece::Equals | Piece::Bare, _) => Piece::Bare,
        // A `*` behind the closing quote: it ends the comment, or the value is not what was closed.
        (Piece::Closed, _) => Piece::Unclear,
    };
    At::Comment {
        piece: next,
        star: byte == b'*',
    }
}
