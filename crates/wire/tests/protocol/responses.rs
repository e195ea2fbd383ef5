//! What is written is read again.

use proptest::prelude::*;
use shardwright_wire::{
    CapabilityFlags, ClientHello, Command, EofPacket, LoginRequest, MariadbCapabilities, MysqlError,
    OkPacket, PrepareOk, StatusFlags, errors,
};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..40)
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(1_u8.., 1..20)
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

#[test]
fn the_text_of_ok_has_its_length_in_front_for_every_client() {
    let ok = OkPacket {
        info: b"yes",
        ..OkPacket::default()
    };
    for capabilities in [CapabilityFlags::empty(), CapabilityFlags::CLIENT_SESSION_TRACK] {
        let payload = encoded(|out| ok.encode(out, capabilities));
        assert_eq!(payload, b"\x00\x00\x00\x00\x00\x00\x00\x03yes");
        assert_eq!(OkPacket::decode(&payload, capabilities).unwrap(), ok);
    }
}

proptest! {
    #[test]
    fn ok_packets(rows in any::<u64>(), id in any::<u64>(), status in any::<u16>(), warnings in any::<u16>(),
                  info in bytes(), state in bytes(), tracks in any::<bool>()) {
        let capabilities = if tracks { CapabilityFlags::CLIENT_SESSION_TRACK } else { CapabilityFlags::empty() };
        let mut status = StatusFlags::from_bits_retain(status);
        status.set(StatusFlags::SERVER_SESSION_STATE_CHANGED, tracks && !state.is_empty());
        let session_state: &[u8] = if tracks { &state } else { &[] };
        let ok = OkPacket { affected_rows: rows, last_insert_id: id, status, warnings, info: &info, session_state };
        let payload = encoded(|out| ok.encode(out, capabilities));
        prop_assert_eq!(OkPacket::decode(&payload, capabilities).unwrap(), ok);
    }

    #[test]
    fn errors_and_ends(code in any::<u16>(), message in "\\PC{0,40}", warnings in any::<u16>(), status in any::<u16>()) {
        let error = MysqlError { code, sqlstate: *b"42S02", message };
        prop_assert_eq!(MysqlError::decode(&encoded(|out| error.encode(out))).unwrap(), error);
        let eof = EofPacket { warnings, status: StatusFlags::from_bits_retain(status) };
        prop_assert_eq!(EofPacket::decode(&encoded(|out| eof.encode(out))).unwrap(), eof);
        let prepared = PrepareOk { statement_id: u32::from(code) << 16, columns: code, parameters: status, warnings };
        prop_assert_eq!(PrepareOk::decode(&encoded(|out| prepared.encode(out))).unwrap(), prepared);
    }

    #[test]
    fn commands(text in bytes(), table in name(), id in any::<u32>(), number in any::<u16>(), on in any::<bool>()) {
        let commands = [
            Command::Quit, Command::Statistics, Command::ProcessInfo, Command::Debug, Command::Ping,
            Command::ResetConnection, Command::InitDb(&text), Command::Query(&text), Command::ChangeUser(&text),
            Command::StmtPrepare(&text), Command::FieldList { table: &table, wildcard: &text },
            Command::ProcessKill(id), Command::SetOption { multi_statements: on }, Command::StmtClose(id),
            Command::StmtReset(id), Command::StmtFetch { statement_id: id, rows: id.rotate_left(7) },
            Command::StmtExecute { statement_id: id, flags: number as u8, parameters: &text },
            Command::StmtBulkExecute { statement_id: id, flags: number, rows: &text },
            Command::StmtSendLongData { statement_id: id, parameter: number, data: &text },
            Command::Unknown(200),
        ];
        for command in commands {
            let payload = encoded(|out| command.encode(out));
            prop_assert_eq!(Command::decode(&payload).unwrap(), command);
            prop_assert_eq!(payload[0], command.byte());
        }
    }

    #[test]
    fn logins(user in name(), answer in bytes(), database in prop::option::of(name()), plugin in name(),
              attributes in prop::collection::vec((bytes(), bytes()), 0..4), lenenc in any::<bool>(),
              further in any::<u32>()) {
        use CapabilityFlags as C;
        let mut capabilities = C::CLIENT_PROTOCOL_41 | C::CLIENT_SECURE_CONNECTION | C::CLIENT_PLUGIN_AUTH;
        capabilities.set(C::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA, lenenc);
        capabilities.set(C::CLIENT_CONNECT_WITH_DB, database.is_some());
        capabilities.set(C::CLIENT_CONNECT_ATTRS, !attributes.is_empty());
        let login = LoginRequest {
            capabilities, mariadb_capabilities: MariadbCapabilities::from_bits_retain(further), max_packet: 1 << 24,
            collation: 45, user, auth_response: answer, database, plugin: Some(plugin), attributes,
        };
        let payload = login.encode();
        prop_assert_eq!(ClientHello::decode(&payload).unwrap(), ClientHello::Login(login));
    }
}

#[test]
fn error_codes_are_listed_once_and_in_order() {
    let numbers: Vec<u16> = errors::ALL.iter().map(|(_, code)| code.code).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert_eq!(errors::ACCESS_DENIED.with("no").to_string(), "1045 (28000): no");
}

#[test]
fn an_error_before_the_greeting_has_no_state() {
    let payload = encoded(|out| {
        errors::CON_COUNT_ERROR
            .with("Too many connections")
            .encode_before_greeting(out)
    });
    let error = MysqlError::decode(&payload).unwrap();
    assert_eq!(
        (error.code, error.message.as_str()),
        (1040, "Too many connections")
    );
}
