//! From bytes to a document: decoding, limits, the events of the parser, and its errors as diagnostics.

use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{ErrorKind, Options, Parser, ScanError, options};
use shardwright_diagnostics::{Diagnostic, FileId, Problems, Sources, Span};

use crate::Document;
use crate::builder::Builder;
use crate::codes::{MALFORMED, NOT_UTF8, TOO_LARGE, UNREADABLE};
use crate::limits::{MAX_DEPTH, MAX_FILE_BYTES, NOT_READ, offset, too_deep};
use crate::side_by_side::side_by_side;

/// Comment lines in front of one value; the parser holds them back until it has seen what follows.
const MAX_COMMENTS_IN_A_ROW: usize = 100_000;
/// Texts smaller than this together are read on one thread.
const WORTH_THREADS: usize = 256 * 1024;

/// Reads one file. Whatever the bytes, the file becomes part of `sources` under `path`, and what is wrong with it
/// is in the problems.
pub fn read(sources: &mut Sources, path: &str, bytes: &[u8]) -> (Document, Problems) {
    let decoded = decode(sources, path, bytes);
    parsed(&decoded, sources)
}

/// Reads files as [`read`] does, side by side where they are large; the results are in their order.
pub fn read_all<'f>(
    sources: &mut Sources,
    files: impl IntoIterator<Item = (&'f str, &'f [u8])>,
) -> Vec<(Document, Problems)> {
    let mut size = 0;
    let mut decoded = Vec::new();
    for (path, bytes) in files {
        size += bytes.len();
        decoded.push(decode(sources, path, bytes));
    }
    side_by_side(&decoded, size >= WORTH_THREADS, |file| parsed(file, sources))
}

/// A file among the sources; with the problem where it is not to be parsed.
type Decoded = Result<FileId, (FileId, Box<Diagnostic>)>;

fn parsed(decoded: &Decoded, sources: &Sources) -> (Document, Problems) {
    let mut problems = Problems::new();
    let file = match decoded {
        Ok(file) => *file,
        Err((file, diagnostic)) => {
            problems.push(Diagnostic::clone(diagnostic));
            let document = Document {
                file: *file,
                root: None,
                comments: Vec::new(),
                complete: false,
            };
            return (document, problems);
        }
    };
    let text = sources.text(file);
    let mut builder = Builder::new(file, text, problems);
    for event in Parser::new_from_str_with_options(text, parser_options()) {
        let flow = match event {
            Ok((event, span)) => builder.event(event, &span),
            Err(error) => {
                builder.stop_at(malformed(&error, file, text));
                ControlFlow::Break(())
            }
        };
        if flow.is_break() {
            break;
        }
    }
    builder.finish()
}

/// The problem of a file that could not be read at all.
#[must_use]
pub fn unreadable(path: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(UNREADABLE, format!("cannot read `{path}`: {error}"))
}

pub(crate) fn parser_options() -> Options {
    options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        max_buffered_comment_events: MAX_COMMENTS_IN_A_ROW,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}

/// Adds the text to the sources; with the problem where it is not to be parsed.
fn decode(sources: &mut Sources, path: &str, bytes: &[u8]) -> Decoded {
    if bytes.len() > MAX_FILE_BYTES {
        let file = sources.add(path, "");
        let message = format!("file of {} bytes is larger than {MAX_FILE_BYTES}", bytes.len());
        let diagnostic = Diagnostic::error(TOO_LARGE, message)
            .at(Span::new(file, 0, 0), "")
            .help("split it: the sections of a topology merge over any number of files");
        return Err((file, Box::new(diagnostic)));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(sources.add(path, text)),
        Err(error) => {
            let start = error.valid_up_to();
            let file = sources.add(path, String::from_utf8_lossy(bytes));
            let span = Span::new(
                file,
                offset(start),
                offset(start + char::REPLACEMENT_CHARACTER.len_utf8()),
            );
            let byte = bytes.get(start).copied().unwrap_or_default();
            let mut diagnostic = Diagnostic::error(NOT_UTF8, "file is not UTF-8 text").at(
                span,
                format!("byte 0x{byte:02x} at offset {start} does not start a character"),
            );
            if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
                diagnostic = diagnostic.help("the file looks like UTF-16: save it as UTF-8");
            }
            Err((file, Box::new(diagnostic)))
        }
    }
}

/// The parser's error at the character where it gave up.
fn malformed(error: &ScanError, file: FileId, text: &str) -> Diagnostic {
    let start = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let next = text
        .get(start..)
        .and_then(|rest| rest.chars().next())
        .filter(|next| !matches!(next, '\n' | '\r'));
    let span = Span::new(
        file,
        offset(start),
        offset(start + next.map_or(0, char::len_utf8)),
    );
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => return too_deep(span),
        ErrorKind::TooManyComments => {
            let message = format!("more than {MAX_COMMENTS_IN_A_ROW} comment lines in a row");
            return Diagnostic::error(TOO_LARGE, message).at(span, NOT_READ);
        }
        _ => {}
    }
    let diagnostic = Diagnostic::error(MALFORMED, format!("malformed YAML: {}", error.info())).at(span, "");
    match advice(error.kind()) {
        Some(advice) => diagnostic.help(advice),
        None => diagnostic,
    }
}

const fn advice(kind: &ErrorKind) -> Option<&'static str> {
    use ErrorKind as E;
    match kind {
        E::TabNotAllowed | E::TabInBlockIndentation | E::TabInIndentation | E::TabAtBlockScalarStart => {
            Some("indent with spaces: YAML does not allow tabs here")
        }
        E::ExpectedBlockMappingKey | E::InvalidIndentation | E::ExpectedBlockSequenceEntry => {
            Some("keys of one mapping start in the same column: compare the indentation with the lines above")
        }
        E::MappingValueNotAllowed | E::MappingKeyNotAllowed => {
            Some("text that holds `: ` must be in quotes, and a nested mapping starts on its own line")
        }
        E::SimpleKeyExpected | E::InvalidSimpleKey => {
            Some("a line of a mapping is `key: value`, with a space after the colon")
        }
        E::UnexpectedCharacter { .. } => Some("text that starts with this character must be in quotes"),
        E::UnclosedQuotedScalar | E::InvalidQuotedScalarIndent => Some("is a closing quote missing above?"),
        E::UnknownQuotedScalarEscape => Some("in single quotes a backslash is an ordinary character"),
        E::UnclosedFlowCollection { .. } => Some("the closing bracket is missing"),
        E::UnexpectedEofFlowSequence | E::ExpectedFlowSequenceSeparator => Some("is a `]` or a `,` missing?"),
        E::UnexpectedEofFlowMapping | E::ExpectedFlowMappingSeparator => Some("is a `}` or a `,` missing?"),
        _ => None,
    }
}
