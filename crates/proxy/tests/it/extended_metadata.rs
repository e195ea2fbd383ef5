//! MariaDB's extended metadata: the formats of types, which clients see that have asked for them.

use std::net::SocketAddr;

use shardwright_testkit::Flavour;
use shardwright_wire::{BackendCredentials, Command, MariadbCapabilities, ResponseShape};

use crate::raw::{RawClient, credentials};
use crate::support::{Setup, schema, server, start};

const EXTENDED: MariadbCapabilities = MariadbCapabilities::MARIADB_CLIENT_EXTENDED_METADATA;

const TABLE: &str = "CREATE TABLE t (id INT, j JSON, u UUID, n INET6, p POINT); \
    INSERT INTO t VALUES (1, '{}', UUID(), '::1', POINT(1, 2))";

fn log_in(address: SocketAddr, schema: &str, asked: MariadbCapabilities) -> RawClient {
    let credentials = BackendCredentials {
        database: Some(schema.into()),
        mariadb_capabilities: asked,
        ..credentials()
    };
    RawClient::log_in_as(address, &credentials).0
}

/// Answers with columns, as text and prepared; without the number of the statement.
fn answers(client: &mut RawClient) -> Vec<Vec<u8>> {
    let text = b"SELECT * FROM t WHERE id = 1 OR id = 2";
    let mut prepared = client.ask(&Command::StmtPrepare(b"SELECT j, ? FROM t"));
    let id = u32::from_le_bytes(prepared.drain(5..9).collect::<Vec<_>>().try_into().unwrap());
    let executed = client.ask(&Command::StmtExecute {
        statement_id: id,
        flags: 0,
        parameters: &[1, 1, 6, 0],
    });
    let mut fields = Vec::new();
    let list = Command::FieldList {
        table: b"t",
        wildcard: b"",
    };
    list.encode(&mut fields);
    client.send(0, &fields);
    vec![
        client.answer(ResponseShape::Definitions),
        client.ask(&Command::Query(text)),
        prepared,
        executed,
        client.ask(&Command::Query(b"SET @a = 1")),
    ]
}

/// The definition of the only column of an answer.
fn definition(answer: &[u8]) -> Vec<u8> {
    let packet = &answer[5..];
    packet[4..4 + usize::from(packet[0])].to_vec()
}

#[test]
fn clients_see_the_formats_of_types_if_they_ask_for_them() {
    if Flavour::default().is_mysql() {
        return;
    }
    let name = schema("extended_metadata");
    server().run(format!("USE {name}; {TABLE}")).unwrap();
    let proxy = start(&Setup::default());
    let (there, here) = (server().address(), proxy.running().listen_address());
    // By turns: connections for the one kind of clients are not for the other.
    for asked in [
        EXTENDED,
        MariadbCapabilities::empty(),
        EXTENDED,
        MariadbCapabilities::empty(),
    ] {
        let [expected, found] = [there, here].map(|address| answers(&mut log_in(address, &name, asked)));
        assert_eq!(found, expected, "{asked:?}");
        let has_format = found[1].windows(4).any(|bytes| bytes == b"json");
        assert_eq!(has_format, asked == EXTENDED);
        // The proxy answers this itself, as text and prepared.
        let question = Command::Query(b"SELECT CONNECTION_ID()");
        let [expected, found] = [there, here].map(|address| log_in(address, &name, asked).ask(&question));
        assert_eq!(definition(&found), definition(&expected), "{asked:?}");
        // And the warnings of an error of its own.
        let mut client = log_in(here, &name, asked);
        assert_eq!(client.code(b"\x03KILL 'a'"), Some(1047));
        let warnings = client.ask(&Command::Query(b"SHOW WARNINGS"));
        let behind_names = definition_end(&warnings);
        assert_eq!(behind_names == 0, asked == EXTENDED, "{warnings:?}");
    }
}

/// What stands behind the names of the first column of an answer: the length of its extended metadata, or that of what follows.
fn definition_end(answer: &[u8]) -> u8 {
    let packet = &answer[5..];
    let mut rest = &packet[4..];
    for _ in 0..6 {
        rest = &rest[1 + usize::from(rest[0])..];
    }
    rest[0]
}
