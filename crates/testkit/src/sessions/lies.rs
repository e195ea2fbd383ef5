//! What a server does in place of an honest answer.
//!
//! A lie never says what only an honest server could: bytes that the proxy cannot tell from the answer to its next command are not
//! sent. So nothing is added behind an answer while the next command has arrived already, or after it could have.

use std::time::Duration;

use shardwright_wire::{MysqlError, StatusFlags};

use super::answers::{Claims, failed, one_packet, packets, tracked_schema};
use super::case::Case;
use super::script::Script;

/// What a server does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Send(Vec<u8>),
    /// A byte at a time.
    SendSlowly(Vec<u8>),
    /// Longer than any deadline of the proxy's.
    Pause(Duration),
    Close,
}

const LONG: Duration = Duration::from_secs(30);

/// What else a lying server says in its answer.
pub(super) fn claims(case: &Case, script: &Script) -> Claims {
    case.claim();
    let mut claims = Claims::default();
    match script.byte() % 8 {
        0 => claims.wrong_status = script.word(),
        1 => claims.wrong_status = StatusFlags::SERVER_MORE_RESULTS_EXISTS.bits(),
        2 => claims.wrong_status = StatusFlags::SERVER_STATUS_IN_TRANS.bits(),
        3 => claims.wrong_status = StatusFlags::SERVER_STATUS_AUTOCOMMIT.bits(),
        4 => {
            let cursor = StatusFlags::SERVER_STATUS_CURSOR_EXISTS | StatusFlags::SERVER_STATUS_LAST_ROW_SENT;
            claims.wrong_status = cursor.bits() & script.word();
        }
        5 => claims.warnings = script.word(),
        6 => claims.tracked = tracked_schema(b"elsewhere"),
        _ => {
            claims.tracked = script.raw();
            claims.more_parameters = u16::from(script.byte() & 7);
        }
    }
    claims
}

/// What becomes of an answer. `is_awaited`: the next command has not arrived.
pub(super) fn lie(case: &Case, script: &Script, mut answer: Vec<u8>, is_awaited: bool) -> Vec<Act> {
    case.lie();
    let cut = script.below(answer.len() + 1);
    let starts = packets(&answer);
    let start = starts
        .get(script.below(starts.len()))
        .copied()
        .unwrap_or_default();
    let kind = script.byte() % 16;
    match kind {
        0 => return vec![Act::Close],
        1 => return vec![Act::Send(answer[..cut].to_vec()), Act::Close],
        2 => return vec![Act::Send(answer[..cut].to_vec()), Act::Pause(LONG), Act::Close],
        3 => return vec![Act::SendSlowly(answer[..cut].to_vec()), Act::Close],
        // Every other lie may put something behind the answer.
        _ if !is_awaited => return vec![Act::Send(answer)],
        _ => case.claim(),
    }
    match kind {
        4 => match answer.get_mut(cut) {
            Some(byte) => *byte ^= script.byte().max(1),
            None => answer.push(script.byte()),
        },
        5 => match answer.get_mut(start + 3) {
            Some(seq) => *seq = seq.wrapping_add(script.byte().max(1)),
            None => answer.push(0),
        },
        6 => {
            let len = [script.byte(), script.byte(), script.byte() & script.byte()];
            if let Some(header) = answer.get_mut(start..start + 3) {
                header.copy_from_slice(&len);
            }
        }
        7 => answer.splice(start..start, script.raw()).for_each(drop),
        8 => answer
            .splice(start..start, one_packet(&script.raw()))
            .for_each(drop),
        // The same answer again, which nobody has asked for.
        9 => answer.extend_from_within(..),
        10 => answer.extend_from_slice(&one_packet(&script.raw())),
        11 => answer.truncate(start),
        12 => {
            let mut error = MysqlError::general(script.word(), "a lie");
            error.message.push_str(&String::from_utf8_lossy(&script.raw()));
            answer = failed(&error);
        }
        13 => answer = one_packet(b"\xFB/etc/passwd"),
        14 => answer = one_packet(&script.raw()),
        _ => answer = script.raw(),
    }
    // All at once: the next command could arrive before the last byte of what is too much.
    match script.byte() % 4 {
        1 => vec![Act::Send(answer), Act::Pause(LONG), Act::Close],
        _ => vec![Act::Send(answer)],
    }
}
