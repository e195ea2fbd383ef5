//! The same packets as mysql_common writes and reads them.

use mysql_common::constants::{CapabilityFlags, ColumnFlags, ColumnType, MariadbCapabilities, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    AuthPlugin, Column, ComStmtExecuteRequestBuilder, CommonOkPacket, ErrPacket, HandshakePacket,
    HandshakeResponse, OkPacketDeserializer,
};
use mysql_common::proto::{MyDeserialize, MySerialize};
use mysql_common::value::Value;
use proptest::prelude::*;
use shardwright_wire::auth::{Scramble, native_answer, sha2_answer};
use shardwright_wire::binary::{BinaryValue, execute_parameters};
use shardwright_wire::{
    ClientHello, ColumnDefinition, Command, Greeting, LoginRequest, MysqlError, OkPacket, capability,
};

fn serialized(value: &impl MySerialize) -> Vec<u8> {
    let mut out = Vec::new();
    value.serialize(&mut out);
    out
}

proptest! {
    #[test]
    fn greetings(version in "[0-9.a-zA-Z-]{1,20}", id in any::<u32>()) {
        let greeting = Greeting::native(version, id, Scramble::generate().unwrap(), capability::SERVER_BASE, 45);
        let payload = greeting.encode();
        let theirs = HandshakePacket::deserialize((), &mut ParseBuf(&payload)).unwrap();
        prop_assert_eq!(theirs.server_version_str(), greeting.server_version.as_str());
        prop_assert_eq!(theirs.connection_id(), id);
        prop_assert_eq!(theirs.capabilities(), capability::SERVER_BASE);
        prop_assert_eq!(&theirs.nonce()[..20], greeting.scramble.0.as_slice());
        prop_assert_eq!(theirs.auth_plugin(), Some(AuthPlugin::MysqlNativePassword));
        prop_assert_eq!(Greeting::decode(&serialized(&theirs)).unwrap(), greeting);
    }

    #[test]
    fn logins(user in "[a-z]{1,12}", database in prop::option::of("[a-z]{1,12}"), password in "[ -~]{0,20}") {
        let scramble = Scramble::generate().unwrap();
        let answer = native_answer(password.as_bytes(), &scramble);
        let theirs = HandshakeResponse::new(
            Some(answer.clone()), (8, 0, 0), Some(user.as_bytes()), database.as_ref().map(String::as_bytes),
            Some(AuthPlugin::MysqlNativePassword), capability::UNDERSTOOD, None, 1 << 24,
        );
        let ClientHello::Login(ours) = ClientHello::decode(&serialized(&theirs)).unwrap() else { panic!("a login") };
        prop_assert_eq!(&ours.user, user.as_bytes());
        prop_assert_eq!(&ours.auth_response, &answer);
        let sha2 = mysql_common::auth::plugins::caching_sha2_password::scramble_sha256(&scramble.0, password.as_bytes());
        prop_assert_eq!(sha2_answer(password.as_bytes(), &scramble), sha2.map_or_else(Vec::new, |answer| answer.to_vec()));
        prop_assert_eq!(ours.database.as_deref(), database.as_ref().map(String::as_bytes));
    }

    #[test]
    fn columns(names in prop::array::uniform5(prop::collection::vec(any::<u8>(), 0..40)), collation in any::<u16>(),
               length in any::<u32>(), flags in any::<u16>(), decimals in any::<u8>()) {
        let [schema, table, org_table, name, org_name] = names;
        let ours = ColumnDefinition {
            schema, table, org_table, name, org_name, collation, length, decimals,
            column_type: ColumnType::MYSQL_TYPE_BLOB, flags: ColumnFlags::from_bits_truncate(flags),
        };
        let mut payload = Vec::new();
        ours.encode(&mut payload);
        let theirs = Column::deserialize((), &mut ParseBuf(&payload)).unwrap();
        prop_assert_eq!((theirs.schema_ref(), theirs.table_ref()), (ours.schema.as_slice(), ours.table.as_slice()));
        prop_assert_eq!((theirs.name_ref(), theirs.org_name_ref()), (ours.name.as_slice(), ours.org_name.as_slice()));
        prop_assert_eq!(theirs.org_table_ref(), ours.org_table.as_slice());
        prop_assert_eq!((theirs.column_length(), theirs.decimals(), theirs.character_set()), (length, decimals, collation));
        prop_assert_eq!((theirs.column_type(), theirs.flags()), (ours.column_type, ours.flags));
    }

    #[test]
    fn oks_and_errors(rows in any::<u64>(), id in 1_u64.., status in any::<u16>(), message in "[ -~]{0,40}") {
        let status = StatusFlags::from_bits_truncate(status) - StatusFlags::SERVER_SESSION_STATE_CHANGED;
        let ok = OkPacket { affected_rows: rows, last_insert_id: id, status, warnings: 3, ..OkPacket::default() };
        let mut payload = Vec::new();
        ok.encode(&mut payload, CapabilityFlags::empty());
        let theirs = OkPacketDeserializer::<CommonOkPacket>::deserialize(CapabilityFlags::empty(), &mut ParseBuf(&payload));
        let theirs = theirs.unwrap().into_inner();
        prop_assert_eq!((theirs.affected_rows(), theirs.last_insert_id(), theirs.warnings()), (rows, Some(id), 3));
        prop_assert_eq!(theirs.status_flags(), status);

        let error = MysqlError { code: 1064, sqlstate: *b"42000", message };
        let mut payload = Vec::new();
        error.encode(&mut payload);
        let theirs = ErrPacket::deserialize(CapabilityFlags::CLIENT_PROTOCOL_41, &mut ParseBuf(&payload)).unwrap();
        prop_assert_eq!(theirs.server_error().message_str(), error.message.as_str());
        prop_assert_eq!(MysqlError::decode(&serialized(&theirs)).unwrap(), error);
    }

    #[test]
    fn parameters(int in any::<i64>(), uint in any::<u64>(), double in -1e9..1e9_f64, text in "\\PC{0,40}") {
        let values = [Value::Int(int), Value::NULL, Value::UInt(uint), Value::Double(double), Value::Bytes(text.clone().into_bytes())];
        let (theirs, _) = ComStmtExecuteRequestBuilder::new(9).build(&values);
        let payload = serialized(&theirs);
        let Command::StmtExecute { statement_id: 9, parameters, .. } = Command::decode(&payload).unwrap() else {
            panic!("an execution");
        };
        let ours = execute_parameters(parameters, 5, &mut Vec::new(), |_| false).unwrap();
        let unsigned = match ours[2] {
            BinaryValue::Int(value) => value as u64,
            BinaryValue::UInt(value) => value,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(ours[0], BinaryValue::Int(int));
        prop_assert_eq!((ours[1], unsigned, ours[3]), (BinaryValue::Null, uint, BinaryValue::Double(double)));
        prop_assert_eq!(ours[4], BinaryValue::Bytes(text.as_bytes()));
    }
}

// Why these packets are not mysql_common's. When one of these tests fails, see whether ours can go.

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "attempt to subtract with overflow")]
fn a_greeting_with_a_long_challenge_ends_mysql_common() {
    let greeting = Greeting::native("8", 1, Scramble([b'x'; 20]), capability::SERVER_BASE, 45);
    let mut payload = greeting.encode();
    // Behind the protocol version, the version text, the number, the challenge's first part, flags and collation.
    payload[1 + 2 + 4 + 9 + 7] = 0x80;
    assert!(Greeting::decode(&payload).is_err(), "ours refuses it");
    let _ = HandshakePacket::deserialize((), &mut ParseBuf(&payload));
}

#[test]
fn mysql_common_chooses_the_collation_of_a_login() {
    let theirs = HandshakeResponse::new(
        None::<Vec<u8>>,
        (8, 0, 0),
        None::<Vec<u8>>,
        None::<Vec<u8>>,
        None,
        capability::UNDERSTOOD,
        None,
        0,
    );
    assert_eq!(theirs.collation(), 45, "a client's own cannot be passed on");
}

#[test]
fn mysql_common_refuses_a_login_without_the_attributes_it_announces() {
    let login = LoginRequest {
        capabilities: capability::REQUIRED,
        max_packet: 1 << 24,
        mariadb_capabilities: MariadbCapabilities::empty(),
        collation: 45,
        user: b"app".to_vec(),
        auth_response: Vec::new(),
        database: None,
        plugin: None,
        attributes: Vec::new(),
    };
    let mut payload = login.encode();
    let announced = CapabilityFlags::CLIENT_CONNECT_ATTRS | capability::REQUIRED;
    payload[..4].copy_from_slice(&announced.bits().to_le_bytes());
    assert!(ClientHello::decode(&payload).is_ok(), "drivers send it");
    assert!(HandshakeResponse::deserialize((), &mut ParseBuf(&payload)).is_err());
}

#[test]
fn mysql_common_writes_the_length_of_a_column_where_its_collation_belongs() {
    let column = Column::new(ColumnType::MYSQL_TYPE_BLOB)
        .with_column_length(7)
        .with_character_set(63);
    let payload = serialized(&column);
    let read = Column::deserialize((), &mut ParseBuf(&payload)).unwrap();
    assert_eq!((read.character_set(), read.column_length()), (7, 63 << 16));
}
