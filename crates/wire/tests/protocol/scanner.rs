//! Where responses end and what they were, however their bytes arrive.

use proptest::prelude::*;
use shardwright_wire::{
    CapabilityFlags, ColumnDefinition, ColumnType, MAX_CHUNK, MysqlError, OkPacket, Outcome, OutcomeKind,
    PrepareOk, ResponseScanner, ResponseShape, ResultSetWriter, ScanError, ScanEvent, SessionChange,
    StatusFlags, append_packet, errors, session_changes, write_packet,
};

pub(crate) const OLD: CapabilityFlags = CapabilityFlags::empty();
pub(crate) const NEW: CapabilityFlags = CapabilityFlags::CLIENT_DEPRECATE_EOF;
pub(crate) const MORE: StatusFlags = StatusFlags::SERVER_MORE_RESULTS_EXISTS;
pub(crate) const AUTOCOMMIT: StatusFlags = StatusFlags::SERVER_STATUS_AUTOCOMMIT;

/// A response that is being written.
pub(crate) struct Response {
    capabilities: CapabilityFlags,
    pub(crate) bytes: Vec<u8>,
    pub(crate) seq: u8,
}

impl Response {
    pub(crate) fn new(capabilities: CapabilityFlags) -> Self {
        Self {
            capabilities,
            bytes: Vec::new(),
            seq: 1,
        }
    }

    pub(crate) fn payload(mut self, payload: &[u8]) -> Self {
        write_packet(&mut self.bytes, &mut self.seq, payload);
        self
    }

    pub(crate) fn ok(mut self, ok: OkPacket<'_>) -> Self {
        append_packet(&mut self.bytes, &mut self.seq, |out| {
            ok.encode(out, self.capabilities)
        });
        self
    }

    fn error(mut self, error: &MysqlError) -> Self {
        append_packet(&mut self.bytes, &mut self.seq, |out| error.encode(out));
        self
    }

    fn rows(mut self, columns: usize, rows: &[&[Option<&[u8]>]], status: StatusFlags) -> Self {
        let mut writer = self.begin(columns);
        for row in rows {
            writer.text_row(&mut self.bytes, row.iter().copied());
        }
        self.seq = writer.end(&mut self.bytes, status, 2);
        self
    }

    pub(crate) fn begin(&mut self, columns: usize) -> ResultSetWriter {
        let columns = vec![ColumnDefinition::new("c", ColumnType::MYSQL_TYPE_VAR_STRING); columns];
        ResultSetWriter::begin(&mut self.bytes, self.seq, self.capabilities, &columns, AUTOCOMMIT)
    }
}

/// Feeds pieces of these sizes until the response is complete, which must be with the last byte.
fn scan(response: &Response, shape: ResponseShape, sizes: impl Iterator<Item = usize>) -> Outcome {
    let mut scanner = ResponseScanner::new(response.capabilities);
    scanner.begin(shape, 1);
    let mut rest = response.bytes.as_slice();
    for size in sizes {
        let (piece, tail) = rest.split_at(size.min(rest.len()));
        let fed = scanner.feed(piece).unwrap();
        assert_eq!(fed.consumed, piece.len());
        rest = tail;
        assert_eq!(
            fed.event == ScanEvent::Complete,
            rest.is_empty(),
            "complete with the last byte and no earlier"
        );
        if rest.is_empty() {
            break;
        }
    }
    assert!(scanner.is_complete());
    scanner.outcome().clone()
}

/// The outcome of a response, which must not depend on how its bytes arrive.
pub(crate) fn outcome(response: &Response, shape: ResponseShape) -> Outcome {
    let whole = scan(response, shape, std::iter::once(response.bytes.len()));
    if response.bytes.len() < 10_000 {
        assert_eq!(scan(response, shape, std::iter::repeat(1)), whole);
        assert_eq!(scan(response, shape, [3, 1, 7, 4].into_iter().cycle()), whole);
    }
    whole
}

#[test]
fn a_change_tells_what_it_did() {
    for capabilities in [OLD, NEW] {
        let status = AUTOCOMMIT | StatusFlags::SERVER_STATUS_IN_TRANS;
        let ok = OkPacket {
            affected_rows: 300,
            last_insert_id: 7,
            status,
            warnings: 1,
            ..OkPacket::default()
        };
        let seen = outcome(&Response::new(capabilities).ok(ok), ResponseShape::TextResults);
        assert_eq!(
            (seen.kind, seen.affected_rows, seen.last_insert_id, seen.warnings),
            (OutcomeKind::Ok, 300, 7, 1)
        );
        assert_eq!((seen.status, seen.results), (Some(status), 1));
    }
}

#[test]
fn rows_end_where_the_end_packet_is() {
    for capabilities in [OLD, NEW] {
        let rows: [&[Option<&[u8]>]; 4] = [
            &[Some(b"a"), Some(b"b")],
            // First bytes 0xFB and 0x00, which mean something else in front of a response.
            &[None, None],
            &[Some(b""), Some(b"x")],
            &[Some(&[0xFE; 250]), None],
        ];
        let response = Response::new(capabilities).rows(2, &rows, AUTOCOMMIT);
        let seen = outcome(&response, ResponseShape::TextResults);
        assert_eq!(
            (seen.kind, seen.columns, seen.rows, seen.warnings),
            (OutcomeKind::ResultSet, 2, 4, 2)
        );
        assert_eq!(seen.status, Some(AUTOCOMMIT));
    }
}

#[test]
fn a_row_over_16_mib_is_one_row_whatever_its_continuation_starts_with() {
    for capabilities in [OLD, NEW] {
        for first in [0x00, 0xFB, 0xFE, 0xFF] {
            let mut response = Response::new(capabilities);
            let mut writer = response.begin(1);
            // The length takes nine bytes, so this byte is the first of the continuation.
            let mut value = vec![b'x'; MAX_CHUNK + 3];
            value[MAX_CHUNK - 9] = first;
            writer.text_row(&mut response.bytes, [Some(value.as_slice())]);
            assert_eq!(response.bytes[response.bytes.len() - 12], first);
            // A payload of exactly 16 MiB - 1 is continued by an empty packet.
            writer.text_row(&mut response.bytes, [Some(&value[..MAX_CHUNK - 4])]);
            response.seq = writer.end(&mut response.bytes, AUTOCOMMIT, 0);
            let whole = outcome(&response, ResponseShape::TextResults);
            assert_eq!(
                (whole.kind, whole.rows),
                (OutcomeKind::ResultSet, 2),
                "{first:#x}"
            );
            let pieces = scan(&response, ResponseShape::TextResults, std::iter::repeat(65_537));
            assert_eq!(pieces, whole, "{first:#x}");
        }
    }
}

#[test]
fn an_error_ends_everything() {
    let error = errors::QUERY_INTERRUPTED.with("Query execution was interrupted");
    for capabilities in [OLD, NEW] {
        let first = outcome(
            &Response::new(capabilities).error(&error),
            ResponseShape::TextResults,
        );
        assert_eq!(
            (first.kind, first.error.as_ref()),
            (OutcomeKind::Error, Some(&error))
        );

        let mut response = Response::new(capabilities);
        let mut writer = response.begin(1);
        writer.text_row(&mut response.bytes, [Some(b"a".as_slice())]);
        response.seq = writer.fail(&mut response.bytes, &error);
        let among_rows = outcome(&response, ResponseShape::TextResults);
        assert_eq!(
            (among_rows.kind, among_rows.rows, among_rows.error.as_ref()),
            (OutcomeKind::Error, 1, Some(&error))
        );

        let later = Response::new(capabilities)
            .rows(1, &[&[None]], MORE)
            .error(&error);
        assert_eq!(
            outcome(&later, ResponseShape::TextResults).kind,
            OutcomeKind::Error
        );
    }
}

#[test]
fn results_follow_each_other_while_the_status_says_so() {
    for capabilities in [OLD, NEW] {
        let change = OkPacket {
            affected_rows: 1,
            status: MORE,
            ..OkPacket::default()
        };
        let last = OkPacket {
            affected_rows: 5,
            status: AUTOCOMMIT,
            ..OkPacket::default()
        };
        let response = Response::new(capabilities)
            .rows(2, &[&[None, None]], MORE)
            .ok(change)
            .rows(1, &[], MORE)
            .ok(last);
        let seen = outcome(&response, ResponseShape::TextResults);
        assert_eq!(
            (seen.kind, seen.results, seen.rows, seen.affected_rows),
            (OutcomeKind::Ok, 4, 1, 5)
        );
    }
}

#[test]
fn a_prepared_statement_comes_with_its_definitions() {
    let definition = |response: Response| {
        let mut payload = Vec::new();
        ColumnDefinition::new("?", ColumnType::MYSQL_TYPE_VAR_STRING).encode(&mut payload);
        response.payload(&payload)
    };
    for capabilities in [OLD, NEW] {
        for (parameters, columns) in [(0, 0), (2, 0), (0, 3), (2, 3)] {
            let prepared = PrepareOk {
                statement_id: 77,
                columns,
                parameters,
                warnings: 0,
            };
            let mut payload = Vec::new();
            prepared.encode(&mut payload);
            let mut response = Response::new(capabilities).payload(&payload);
            for block in [parameters, columns].into_iter().filter(|block| *block > 0) {
                response = (0..block).fold(response, |response, _| definition(response));
                if capabilities == OLD {
                    response = response.payload(b"\xFE\0\0\x02\0");
                }
            }
            let seen = outcome(&response, ResponseShape::Prepare);
            assert_eq!(
                (seen.kind, seen.prepared),
                (OutcomeKind::Prepared, Some(prepared))
            );
        }
    }
    let refused = Response::new(NEW).error(&errors::PARSE.with("no"));
    assert_eq!(outcome(&refused, ResponseShape::Prepare).kind, OutcomeKind::Error);
}

#[test]
fn short_answers() {
    let statistics = Response::new(NEW).payload(b"Uptime: 5  Threads: 1");
    assert_eq!(outcome(&statistics, ResponseShape::Text).kind, OutcomeKind::Text);
    let eof = Response::new(OLD).payload(b"\xFE\0\0\x02\0");
    assert_eq!(outcome(&eof, ResponseShape::Status).kind, OutcomeKind::Ok);
    let mut definition = Vec::new();
    ColumnDefinition::new("c", ColumnType::MYSQL_TYPE_LONGLONG).encode(&mut definition);
    definition.push(0xFB);
    let fields = Response::new(OLD)
        .payload(&definition)
        .payload(&definition)
        .payload(b"\xFE\0\0\x02\0");
    assert_eq!(
        outcome(&fields, ResponseShape::Definitions).kind,
        OutcomeKind::ResultSet
    );
    let mut scanner = ResponseScanner::new(NEW);
    scanner.begin(ResponseShape::None, 1);
    assert!(scanner.is_complete() && scanner.outcome().kind == OutcomeKind::Nothing);
}

#[test]
fn a_file_is_asked_for_and_then_acknowledged() {
    let mut scanner = ResponseScanner::new(NEW);
    scanner.begin(ResponseShape::TextResults, 1);
    let request = Response::new(NEW).payload(b"\xFB/tmp/file.csv").bytes;
    let fed = scanner.feed(&request).unwrap();
    assert_eq!((fed.event, fed.consumed), (ScanEvent::LocalInfile, request.len()));
    assert_eq!(
        scanner.outcome().infile.as_deref(),
        Some(b"/tmp/file.csv".as_slice())
    );
    scanner.resume_after_infile(5);
    let mut answer = Response::new(NEW);
    answer.seq = 5;
    let answer = answer
        .ok(OkPacket {
            affected_rows: 9,
            ..OkPacket::default()
        })
        .bytes;
    assert_eq!(scanner.feed(&answer).unwrap().event, ScanEvent::Complete);
    assert_eq!(
        (scanner.outcome().kind, scanner.outcome().affected_rows),
        (OutcomeKind::Ok, 9)
    );
}

#[test]
fn session_changes_are_kept_up_to_a_limit() {
    let capabilities = NEW | CapabilityFlags::CLIENT_SESSION_TRACK;
    let schema = b"\x01\x05\x04test";
    let ok = OkPacket {
        status: AUTOCOMMIT | StatusFlags::SERVER_SESSION_STATE_CHANGED,
        info: b"done",
        session_state: schema,
        ..OkPacket::default()
    };
    let seen = outcome(&Response::new(capabilities).ok(ok), ResponseShape::TextResults);
    let changes: Vec<_> = session_changes(&seen.session_state).map(Result::unwrap).collect();
    assert_eq!(changes, [SessionChange::Schema(b"test")]);

    let huge = vec![9; 200_000];
    let seen = outcome(
        &Response::new(capabilities).ok(OkPacket {
            session_state: &huge,
            ..ok
        }),
        ResponseShape::TextResults,
    );
    assert!(seen.session_state_truncated && seen.session_state.is_empty());
    assert_eq!(seen.kind, OutcomeKind::Ok);
}

#[test]
fn bytes_after_the_end_are_not_taken() {
    let mut scanner = ResponseScanner::new(NEW);
    scanner.begin(ResponseShape::Status, 1);
    let mut response = Response::new(NEW).ok(OkPacket::default()).bytes;
    let len = response.len();
    response.extend_from_slice(b"more");
    let fed = scanner.feed(&response).unwrap();
    assert_eq!((fed.event, fed.consumed), (ScanEvent::Complete, len));
    assert_eq!(scanner.feed(b"more"), Err(ScanError::NotExpected));
}

#[test]
fn what_cannot_stand_there_is_refused() {
    let cases: [(&str, ResponseShape, CapabilityFlags, &[u8]); 8] = [
        ("empty packet", ResponseShape::TextResults, NEW, b"\0\0\0\x01"),
        (
            "stale sequence number",
            ResponseShape::TextResults,
            NEW,
            b"\x07\0\0\x02\0\0\0\x02\0\0\0",
        ),
        (
            "EOF first",
            ResponseShape::TextResults,
            OLD,
            b"\x05\0\0\x01\xFE\0\0\x02\0",
        ),
        (
            "file for a ping",
            ResponseShape::Status,
            NEW,
            b"\x02\0\0\x01\xFBx",
        ),
        (
            "count with more behind",
            ResponseShape::TextResults,
            NEW,
            b"\x02\0\0\x01\x01\x01",
        ),
        (
            "too many columns",
            ResponseShape::TextResults,
            NEW,
            b"\x09\0\0\x01\xFE\0\0\0\x01\0\0\0\0",
        ),
        ("truncated OK", ResponseShape::Status, NEW, b"\x02\0\0\x01\0\0"),
        (
            "EOF among definitions",
            ResponseShape::TextResults,
            OLD,
            b"\x01\0\0\x01\x01\x05\0\0\x02\xFE\0\0\x02\0",
        ),
    ];
    for (what, shape, capabilities, bytes) in cases {
        let mut scanner = ResponseScanner::new(capabilities);
        scanner.begin(shape, 1);
        assert!(scanner.feed(bytes).is_err(), "{what}");
    }
}

#[test]
fn a_farewell_may_have_any_number() {
    let mut scanner = ResponseScanner::new(NEW);
    scanner.begin(ResponseShape::TextResults, 1);
    let mut farewell = Response::new(NEW);
    farewell.seq = 0;
    let farewell = farewell
        .error(&errors::CONNECTION_KILLED.with("Connection was killed"))
        .bytes;
    assert_eq!(scanner.feed(&farewell).unwrap().event, ScanEvent::Complete);
    assert_eq!(scanner.outcome().error.as_ref().unwrap().code, 1927);
}

proptest! {
    #[test]
    fn any_results_are_followed(
        results in prop::collection::vec(
            prop::option::of((1_usize..4, prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..9)), 0..5))),
            1..5,
        ),
        deprecates_eof in any::<bool>(),
    ) {
        let mut response = Response::new(if deprecates_eof { NEW } else { OLD });
        let mut rows = 0;
        for (at, result) in results.iter().enumerate() {
            let status = if at + 1 < results.len() { MORE } else { AUTOCOMMIT };
            response = match result {
                None => response.ok(OkPacket { status, ..OkPacket::default() }),
                Some((columns, values)) => {
                    let lines: Vec<Vec<Option<&[u8]>>> = values.iter().map(|value| vec![value.as_deref(); *columns]).collect();
                    rows += lines.len() as u64;
                    let lines: Vec<&[Option<&[u8]>]> = lines.iter().map(Vec::as_slice).collect();
                    response.rows(*columns, &lines, status)
                }
            };
        }
        let seen = outcome(&response, ResponseShape::TextResults);
        prop_assert_eq!((seen.results as usize, seen.rows, seen.status), (results.len(), rows, Some(AUTOCOMMIT)));
    }
}
