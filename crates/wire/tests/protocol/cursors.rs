//! Binary rows, and cursors: the client's own, and those of routines.

use shardwright_wire::binary::{BinaryCell, put_row};
use shardwright_wire::{
    ColumnDefinition, ColumnType, EofPacket, OkPacket, OutcomeKind, ResponseShape, StatusFlags, append_packet,
};

use crate::scanner::{AUTOCOMMIT, NEW, OLD, Response, outcome};

#[test]
fn binary_rows_and_cursors() {
    for capabilities in [OLD, NEW] {
        let mut response = Response::new(capabilities);
        let mut writer = response.begin(2);
        writer.row(&mut response.bytes, |out| {
            put_row(out, &[BinaryCell::Null, BinaryCell::LongLong(-1)])
        });
        response.seq = writer.end(&mut response.bytes, AUTOCOMMIT, 0);
        let seen = outcome(&response, ResponseShape::BinaryResults);
        assert_eq!((seen.kind, seen.rows), (OutcomeKind::ResultSet, 1));

        let mut fetched = Response::new(capabilities).payload(b"\0\0a").payload(b"\0\0b");
        let last = StatusFlags::SERVER_STATUS_LAST_ROW_SENT;
        append_packet(&mut fetched.bytes, &mut fetched.seq, |out| match capabilities {
            OLD => EofPacket {
                warnings: 0,
                status: last,
            }
            .encode(out),
            _ => OkPacket {
                status: last,
                ..OkPacket::default()
            }
            .encode_end_of_rows(out, capabilities),
        });
        let seen = outcome(&fetched, ResponseShape::Rows);
        assert_eq!(
            (seen.kind, seen.rows, seen.status),
            (OutcomeKind::ResultSet, 2, Some(last))
        );
    }
    // With EOF packets, the one after the definitions says that the rows wait behind a cursor.
    for (capabilities, end) in [(OLD, &b"\xFE\0\0\x42\0"[..]), (NEW, b"\xFE\0\0\x42\0\0\0")] {
        let opened = Response::new(capabilities)
            .payload(&[1])
            .payload(&definition())
            .payload(end);
        let seen = outcome(&opened, ResponseShape::BinaryResultsOrCursor);
        assert_eq!(
            (seen.kind, seen.rows, seen.has_cursor),
            (OutcomeKind::ResultSet, 0, true)
        );
    }
}

fn definition() -> Vec<u8> {
    let mut definition = Vec::new();
    ColumnDefinition::new("c", ColumnType::MYSQL_TYPE_LONGLONG).encode(&mut definition);
    definition
}

/// The flag of a cursor is set while a routine has one open: rows follow, whatever the client has asked for.
#[test]
fn a_cursor_of_a_routine_is_not_the_clients() {
    let row = b"\0\0\x01\0\0\0\0\0\0\0";
    for shape in [ResponseShape::BinaryResults, ResponseShape::BinaryResultsOrCursor] {
        // More results, a cursor: rows, and the OK of the CALL, which keeps the flag on MySQL.
        let called = Response::new(OLD)
            .payload(&[1])
            .payload(&definition())
            .payload(b"\xFE\0\0\x6A\0")
            .payload(row)
            .payload(b"\xFE\0\0\x6A\0")
            .payload(b"\0\0\0\x62\0\0\0");
        let seen = outcome(&called, shape);
        assert_eq!(
            (seen.kind, seen.rows, seen.results, seen.has_cursor),
            (OutcomeKind::Ok, 1, 2, false)
        );
        let quiet = Response::new(OLD).payload(b"\0\0\0\x62\0\0\0");
        assert!(!outcome(&quiet, shape).has_cursor);
    }
    // OUT parameters: MySQL leaves the flag of more results out of their last EOF, and an OK follows.
    let gave = Response::new(OLD)
        .payload(&[1])
        .payload(&definition())
        .payload(b"\xFE\0\0\x6A\x10")
        .payload(row)
        .payload(b"\xFE\0\0\x62\0")
        .payload(b"\0\0\0\x62\0\0\0");
    let seen = outcome(&gave, ResponseShape::BinaryResults);
    assert_eq!((seen.kind, seen.rows, seen.results), (OutcomeKind::Ok, 1, 2));
    // A function that leaves the flag behind, of a client that asks for no cursor.
    let read = Response::new(OLD)
        .payload(&[1])
        .payload(&definition())
        .payload(b"\xFE\0\0\x62\0")
        .payload(row)
        .payload(b"\xFE\0\0\x62\0");
    let seen = outcome(&read, ResponseShape::BinaryResults);
    assert_eq!((seen.rows, seen.has_cursor), (1, false));
}
