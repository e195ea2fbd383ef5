//! Messages on a stream: `Content-Length: N`, an empty line, N bytes of JSON.
//!
//! `lsp_server` reads them too, but accepts any length and stops at the first message that is not JSON.

use std::io::{self, BufRead, Read, Write};

use lsp_server::{ErrorCode, Message};
use serde_json::json;

/// Longer messages are skipped, in bytes; four times the largest file that is read.
const MAX_MESSAGE_BYTES: u64 = 64 * 1024 * 1024;
/// All headers of a message, in bytes.
const MAX_HEADER_BYTES: u64 = 4 * 1024;

/// What came over the stream.
pub(super) enum Incoming {
    /// A message.
    Message(Message),
    /// Something else of the length of a message.
    Malformed {
        /// The code of JSON-RPC.
        code: ErrorCode,
        /// What is wrong with it.
        reason: String,
    },
}

/// The next message; none at the end of the stream.
///
/// # Errors
/// When the stream cannot be read, or its headers are not those of a message, after which nothing can be found in it.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let Some(length) = read_headers(input)? else {
        return Ok(None);
    };
    if length > MAX_MESSAGE_BYTES {
        let skipped = io::copy(&mut input.take(length), &mut io::sink())?;
        if skipped < length {
            return Ok(None);
        }
        let reason = format!("the message of {length} bytes is longer than {MAX_MESSAGE_BYTES}");
        return Ok(Some(Incoming::Malformed {
            code: ErrorCode::InvalidRequest,
            reason,
        }));
    }
    // Grows with what comes, whatever length was announced.
    let mut body = Vec::new();
    let came = input.take(length).read_to_end(&mut body)?;
    if (came as u64) < length {
        return Ok(None);
    }
    replace_lone_surrogates(&mut body);
    Ok(Some(match serde_json::from_slice(&body) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Malformed {
            code: if error.is_data() {
                ErrorCode::InvalidRequest
            } else {
                ErrorCode::ParseError
            },
            reason: format!("the message is not JSON-RPC: {error}"),
        },
    }))
}

/// Writes `\ufffd` in place of each half of a pair of surrogates that stands alone. Editors that count in UTF-16 send one where
/// a character is cut in two; JSON allows it, and no text of ours can hold it. The count stays the same.
fn replace_lone_surrogates(body: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = body[at..].iter().position(|byte| *byte == b'\\') {
        at += found;
        match (surrogate(body, at), surrogate(body, at + ESCAPE)) {
            (Some(Half::First), Some(Half::Second)) => at += 2 * ESCAPE,
            (Some(_), _) => {
                body[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
                at += ESCAPE;
            }
            // The sign behind the backslash is part of its escape.
            (None, _) => at = (at + 2).min(body.len()),
        }
    }
}

/// The length of `\ud800`.
const ESCAPE: usize = 6;

/// Which half of a pair of surrogates an escape is.
enum Half {
    First,
    Second,
}

fn surrogate(body: &[u8], at: usize) -> Option<Half> {
    let digits = body.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let value = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match value {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

/// The length of the body; none at the end of the stream.
fn read_headers(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut headers = input.take(MAX_HEADER_BYTES);
    let mut length = None;
    loop {
        let mut line = Vec::new();
        headers.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return if headers.limit() == 0 {
                Err(not_a_message(&line))
            } else {
                Ok(None)
            };
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.is_empty() {
            return length.map(Some).ok_or_else(|| not_a_message(&line));
        }
        let Some((name, value)) = text.split_once(':') else {
            return Err(not_a_message(&line));
        };
        if name.trim().eq_ignore_ascii_case("Content-Length") {
            length = Some(value.trim().parse().map_err(|_| not_a_message(&line))?);
        }
    }
}

fn not_a_message(line: &[u8]) -> io::Error {
    let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
    let message = format!("expected the headers of a message with its Content-Length, found {shown:?}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Writes a message.
pub(super) fn write(output: &mut impl Write, message: &Message) -> io::Result<()> {
    message.write(output)
}

/// Answers what could not be read as a message: without an id, by JSON-RPC.
pub(super) fn write_malformed(output: &mut impl Write, code: ErrorCode, reason: &str) -> io::Result<()> {
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code as i32, "message": reason } });
    let body = error.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what_comes(stream: &[u8]) -> Vec<String> {
        let mut input = stream;
        let mut seen = Vec::new();
        loop {
            seen.push(match read(&mut input) {
                Ok(Some(Incoming::Message(Message::Request(request)))) => {
                    format!("request {}", request.method)
                }
                Ok(Some(Incoming::Message(_))) => "message".to_owned(),
                Ok(Some(Incoming::Malformed { code, .. })) => format!("malformed {}", code as i32),
                Ok(None) => return seen,
                Err(error) => {
                    seen.push(error.kind().to_string());
                    return seen;
                }
            });
        }
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn a_message_that_is_none_does_not_hide_the_next() {
        let request = framed(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#);
        let deep = "[".repeat(1_000);
        for (bad, seen) in [
            ("{", "malformed -32700"),
            ("\u{1}", "malformed -32700"),
            (deep.as_str(), "malformed -32700"),
            ("[]", "malformed -32600"),
            ("{}", "malformed -32600"),
            (r#"{"id":[1],"params":7}"#, "malformed -32600"),
        ] {
            let stream = framed(bad) + &request;
            assert_eq!(what_comes(stream.as_bytes()), [seen, "request shutdown"], "{bad}");
        }
    }

    #[test]
    fn half_a_character_does_not_drop_its_message() {
        for (sent, read_as) in [
            (r"a\ud83dz", "a\u{fffd}z"),
            (r"\uDE00", "\u{fffd}"),
            (r"\ud83d\ude00", "\u{1f600}"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
            (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
            (r"\\ud800", "\\ud800"),
            (r"\\\ud800", "\\\u{fffd}"),
            (r"\u00e9\ud8", ""),
        ] {
            let stream = framed(&format!(r#"{{"id":1,"method":"a","params":["{sent}"]}}"#));
            match read(&mut stream.as_bytes()).unwrap().unwrap() {
                Incoming::Message(Message::Request(request)) => {
                    assert_eq!(request.params, json!([read_as]), "{sent}");
                }
                _ => assert!(read_as.is_empty(), "{sent}"),
            }
        }
    }

    #[test]
    fn a_long_message_is_skipped() {
        let long = " ".repeat(usize::try_from(MAX_MESSAGE_BYTES).unwrap() + 1);
        let stream = framed(&long) + &framed(r#"{"id":1,"method":"shutdown"}"#);
        assert_eq!(
            what_comes(stream.as_bytes()),
            ["malformed -32600", "request shutdown"]
        );
    }

    #[test]
    fn what_is_no_stream_of_messages_ends_it() {
        for stream in [
            "GET / HTTP/1.1\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 99999999999999999999999\r\n\r\n",
            "Content-Type: x\r\n\r\n{}",
            "\r\n",
            &"x".repeat(10_000),
        ] {
            assert_eq!(
                what_comes(stream.as_bytes()).last().map(String::as_str),
                Some("invalid data"),
                "{stream:.40}"
            );
        }
    }

    #[test]
    fn a_stream_that_is_cut_short_ends() {
        let stream = framed(r#"{"id":1,"method":"shutdown"}"#);
        for length in 0..stream.len() {
            assert!(what_comes(&stream.as_bytes()[..length]).is_empty(), "{length}");
        }
        assert!(what_comes(b"Content-Length: 18446744073709551615\r\n\r\n{}").is_empty());
    }
}
