//! The same packets as mysql_common writes and reads them.

use mysql_common::constants::{CapabilityFlags, ColumnFlags, ColumnType, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    AuthPlugin, Column, ComStmtExecuteRequestBuilder, CommonOkPacket, ErrPacket, HandshakePacket,
    HandshakeResponse, OkPacketDeserializer,
};
use mysql_common::proto::{MyDeserialize, MySerialize};
use mysql_common::value::Value;
use proptest::prelude::*;
use shardwright_wire::auth::{Scramble, native_answer};
use shardwright_wire::binary::{BinaryValue, execute_parameters};
use shardwright_wire::{ClientHello, ColumnDefinition, Command, Greeting, MysqlError, OkPacket, capability};

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
        prop_assert_eq!(ours.database.as_deref(), database.as_ref().map(String::as_bytes));
    }

    #[test]
    fn columns(schema in "[a-z]{0,9}", table in "[a-z]{0,9}", name in "\\PC{0,9}", length in any::<u32>(), decimals in 0_u8..32) {
        // Read only: mysql_common 0.38 writes the length where the collation belongs.
        let mut ours = ColumnDefinition::new(name.as_bytes(), ColumnType::MYSQL_TYPE_LONGLONG);
        ours.schema = schema.clone().into_bytes();
        ours.table = table.clone().into_bytes();
        ours.flags = ColumnFlags::NOT_NULL_FLAG;
        ours.length = length;
        ours.decimals = decimals;
        let mut payload = Vec::new();
        ours.encode(&mut payload);
        let theirs = Column::deserialize((), &mut ParseBuf(&payload)).unwrap();
        prop_assert_eq!((theirs.schema_str(), theirs.table_str()), (schema.into(), table.into()));
        prop_assert_eq!(theirs.name_str(), name.as_str());
        prop_assert_eq!((theirs.column_length(), theirs.decimals(), theirs.character_set()), (length, decimals, 63));
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
