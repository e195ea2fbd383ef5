//! Commands that go where a statement would: COM_REFRESH, COM_DEBUG, COM_PROCESS_INFO.

use shardwright_rules::EngineRule;
use shardwright_testkit::Flavour;

use crate::maps::tenants;
use crate::raw::RawClient;
use crate::support::{Setup, rule, server, start, value};

/// MySQL 9 has left COM_REFRESH and COM_PROCESS_INFO behind.
fn has_the_commands() -> bool {
    !Flavour::default().is_mysql()
}

/// The bits of COM_REFRESH.
const LOGS: u8 = 2;
const TABLES: u8 = 4;
const STATUS: u8 = 16;
const THREADS: u8 = 32;

#[test]
fn commands_are_answered_as_the_server_answers_them() {
    if !has_the_commands() {
        return;
    }
    let proxy = start(&Setup::default());
    let mut direct = RawClient::log_in(server().address());
    let mut client = RawClient::log_in(proxy.running().listen_address());
    for payload in [
        &[7, 0][..],
        &[7, LOGS],
        &[7, TABLES],
        &[7, STATUS],
        &[7, THREADS],
        &[7, LOGS | TABLES | THREADS],
        &[13],
    ] {
        assert_eq!(client.code(payload), direct.code(payload), "{payload:?}");
    }
    // Sent after a statement of its own: the session goes on.
    assert_eq!(client.code(b"\x03DO 1"), Some(0));
}

#[test]
fn a_process_list_has_its_rows() {
    if !has_the_commands() {
        return;
    }
    let proxy = start(&Setup::default());
    let mut client = RawClient::log_in(proxy.running().listen_address());
    client.send(0, &[10]);
    let columns = client.packet().unwrap();
    assert!(columns[0] >= 8, "{columns:?}");
    let mut ends = 0;
    while ends < 2 {
        let packet = client.packet().unwrap();
        ends += usize::from(packet[0] == 0xFE && packet.len() < 9);
    }
    assert_eq!(client.code(b"\x03DO 1"), Some(0));
}

/// A rule about FLUSH is about the command, too.
#[test]
fn rules_about_statements_are_about_commands() {
    if !has_the_commands() {
        return;
    }
    let proxy = start(&Setup {
        configuration: Box::new(|configuration| {
            configuration.graph.rules.push(rule(
                90,
                EngineRule {
                    match_pattern: Some("^FLUSH LOCAL LOGS".into()),
                    error_msg: Some("logs are flushed elsewhere".into()),
                    apply: true,
                    ..EngineRule::default()
                },
            ));
            configuration.graph.rules.push(rule(
                91,
                EngineRule {
                    match_pattern: Some("^FLUSH LOCAL STATUS".into()),
                    destination_hostgroup: Some(20),
                    apply: true,
                    ..EngineRule::default()
                },
            ));
            configuration.graph.rules.sort_by_key(|rule| rule.id);
        }),
        ..Setup::default()
    });
    let mut client = RawClient::log_in(proxy.running().listen_address());
    assert_eq!(client.code(&[7, LOGS]), Some(1148));
    assert_eq!(client.code(&[7, TABLES | LOGS]), Some(1148));
    assert_eq!(client.code(&[7, TABLES]), Some(0));
    assert_eq!(client.code(&[7, TABLES | STATUS]), Some(1047), "two hostgroups");
    let mut admin = proxy.admin();
    let queries = "SELECT Queries FROM stats_mysql_connection_pool WHERE hostgroup = 20";
    assert_eq!(value(&mut admin, queries), "0");
}

#[test]
fn a_command_has_no_key() {
    let proxy = tenants("commands_keys");
    let mut client = RawClient::log_in(proxy.running().listen_address());
    assert_eq!(client.code(&[7, LOGS]), Some(1148));
    assert_eq!(client.code(&[13]), Some(1148));
}
