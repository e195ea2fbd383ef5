//! Packets that the MySQL internals manual prints, byte for byte.

use shardwright_wire::auth::{Method, Scramble, switch_to};
use shardwright_wire::binary::{BinaryValue, execute_parameters};
use shardwright_wire::{
    CapabilityFlags, ClientHello, ColumnDefinition, ColumnFlags, ColumnType, Command, EofPacket, Greeting,
    MysqlError, OkPacket, Outcome, OutcomeKind, ResponseScanner, ResponseShape, ScanEvent, StatusFlags,
    take_packet,
};

/// Bytes of a hexadecimal dump.
fn hex(dump: &str) -> Vec<u8> {
    dump.split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

fn payload(dump: &str) -> Vec<u8> {
    let bytes = hex(dump);
    let packet = take_packet(&bytes, 1 << 20).unwrap().unwrap();
    assert_eq!(packet.consumed, bytes.len());
    packet.payload.into_owned()
}

fn scan(shape: ResponseShape, dump: &str) -> Outcome {
    let mut scanner = ResponseScanner::new(CapabilityFlags::empty());
    scanner.begin(shape, 1);
    let bytes = hex(dump);
    let fed = scanner.feed(&bytes).unwrap();
    assert_eq!((fed.event, fed.consumed), (ScanEvent::Complete, bytes.len()));
    scanner.outcome().clone()
}

#[test]
fn ok_err_and_eof() {
    let bytes = payload("07 00 00 02 00 00 00 02 00 00 00");
    let ok = OkPacket::decode(&bytes, CapabilityFlags::empty()).unwrap();
    assert_eq!(
        ok,
        OkPacket {
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            ..OkPacket::default()
        }
    );

    let bytes = payload("17 00 00 01 ff 48 04 23 48 59 30 30 30 4e 6f 20 74 61 62 6c 65 73 20 75 73 65 64");
    let error = MysqlError::decode(&bytes).unwrap();
    assert_eq!(error, MysqlError::general(1096, "No tables used"));

    let bytes = payload("05 00 00 05 fe 00 00 02 00");
    let eof = EofPacket::decode(&bytes).unwrap();
    assert_eq!(
        eof,
        EofPacket {
            warnings: 0,
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT
        }
    );
}

#[test]
fn a_greeting_of_mysql_5_5() {
    let bytes = payload(
        "36 00 00 00 0a 35 2e 35 2e 32 2d 6d 32 00 0b 00 00 00 64 76 48 40 49 2d 43 4a 00 ff f7 08 02 00
         00 00 00 00 00 00 00 00 00 00 00 00 00 2a 34 64 7c 63 5a 77 6b 34 5e 5d 3a 00",
    );
    let greeting = Greeting::decode(&bytes).unwrap();
    assert_eq!(
        (greeting.server_version.as_str(), greeting.connection_id),
        ("5.5.2-m2", 11)
    );
    assert_eq!(&greeting.scramble.0, b"dvH@I-CJ*4d|cZwk4^]:");
    assert_eq!((greeting.collation, greeting.is_mariadb()), (8, false));
}

#[test]
fn a_login_with_a_schema_and_a_plugin() {
    let bytes = payload(
        "54 00 00 01 8d a6 0f 00 00 00 00 01 08 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
         00 00 00 00 70 61 6d 00 14 ab 09 ee f6 bc b1 32 3e 61 14 38 65 c0 99 1d 95 7d 75 d4 47 74 65 73
         74 00 6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73 73 77 6f 72 64 00",
    );
    let ClientHello::Login(login) = ClientHello::decode(&bytes).unwrap() else {
        panic!("a login")
    };
    assert_eq!(login.user, b"pam");
    assert_eq!(login.database.as_deref(), Some(b"test".as_slice()));
    assert_eq!(login.plugin.as_deref(), Some(b"mysql_native_password".as_slice()));
    assert_eq!(
        (login.auth_response.len(), login.max_packet, login.collation),
        (20, 1 << 24, 8)
    );
    assert_eq!(login.encode(), bytes);
}

#[test]
fn an_authentication_switch() {
    let bytes = payload(
        "2c 00 00 02 fe 6d 79 73 71 6c 5f 6e 61 74 69 76 65 5f 70 61 73 73 77 6f 72 64 00 7a 51 67 34 69
         36 6f 4e 79 36 3d 72 48 4e 2f 3e 2d 62 29 41 00",
    );
    assert_eq!(
        switch_to(Method::Native, &Scramble(*b"zQg4i6oNy6=rHN/>-b)A")),
        bytes
    );
}

#[test]
fn commands() {
    let query = payload(
        "21 00 00 00 03 73 65 6c 65 63 74 20 40 40 76 65 72 73 69 6f 6e 5f 63 6f 6d 6d 65 6e 74 20 6c 69
         6d 69 74 20 31",
    );
    assert_eq!(
        Command::decode(&query).unwrap(),
        Command::Query(b"select @@version_comment limit 1")
    );
    assert_eq!(
        Command::decode(&payload("05 00 00 00 02 74 65 73 74")).unwrap(),
        Command::InitDb(b"test")
    );

    let execute = payload("12 00 00 00 17 01 00 00 00 00 01 00 00 00 00 01 0f 00 03 66 6f 6f");
    let Command::StmtExecute {
        statement_id: 1,
        flags: 0,
        parameters,
    } = Command::decode(&execute).unwrap()
    else {
        panic!("an execution of statement 1");
    };
    let values = execute_parameters(parameters, 1, &mut Vec::new(), |_| false).unwrap();
    assert_eq!(values, [BinaryValue::Bytes(b"foo")]);
}

#[test]
fn a_text_result() {
    let outcome = scan(
        ResponseShape::TextResults,
        "01 00 00 01 01
         27 00 00 02 03 64 65 66 00 00 00 11 40 40 76 65 72 73 69 6f 6e 5f 63 6f 6d 6d 65 6e 74 00 0c 08
         00 1c 00 00 00 fd 00 00 1f 00 00
         05 00 00 03 fe 00 00 02 00
         1d 00 00 04 1c 4d 79 53 51 4c 20 43 6f 6d 6d 75 6e 69 74 79 20 53 65 72 76 65 72 20 28 47 50 4c 29
         05 00 00 05 fe 00 00 02 00",
    );
    assert_eq!(
        (outcome.kind, outcome.columns, outcome.rows),
        (OutcomeKind::ResultSet, 1, 1)
    );
    assert_eq!(outcome.status, Some(StatusFlags::SERVER_STATUS_AUTOCOMMIT));
}

#[test]
fn an_answer_to_a_prepare() {
    let outcome = scan(
        ResponseShape::Prepare,
        "0c 00 00 01 00 01 00 00 00 01 00 02 00 00 00 00
         17 00 00 02 03 64 65 66 00 00 00 01 3f 00 0c 3f 00 00 00 00 00 fd 80 00 00 00 00
         17 00 00 03 03 64 65 66 00 00 00 01 3f 00 0c 3f 00 00 00 00 00 fd 80 00 00 00 00
         05 00 00 04 fe 00 00 02 00
         1a 00 00 05 03 64 65 66 00 00 00 04 63 6f 6c 31 00 0c 3f 00 00 00 00 00 fd 80 00 1f 00 00
         05 00 00 06 fe 00 00 02 00",
    );
    let prepared = outcome.prepared.unwrap();
    assert_eq!(
        (prepared.statement_id, prepared.columns, prepared.parameters),
        (1, 1, 2)
    );

    let definition =
        payload("1a 00 00 05 03 64 65 66 00 00 00 04 63 6f 6c 31 00 0c 3f 00 00 00 00 00 fd 80 00 1f 00 00");
    let column = ColumnDefinition {
        collation: 63,
        length: 0,
        flags: ColumnFlags::BINARY_FLAG,
        ..ColumnDefinition::new("col1", ColumnType::MYSQL_TYPE_VAR_STRING)
    };
    let mut written = Vec::new();
    column.encode(&mut written);
    assert_eq!(written, definition);
}
