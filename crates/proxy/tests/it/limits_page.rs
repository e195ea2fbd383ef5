//! Each limit of `docs/limits.md` is met, and the page shows what the client gets. Others are served meanwhile.

use std::fmt::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use shardwright_proxy::Options;
use shardwright_rules::{Configuration, EngineRule};
use shardwright_wire::Command;

use crate::pages::Part;
use crate::raw::{RawClient, packet};
use crate::support::{PASSWORD, PATIENCE, Setup, TestProxy, USER, heavy, rule, start};

/// `INSTA_UPDATE=always` writes it.
const PART: Part = Part {
    page: "docs/limits.md",
    begin: "<!-- met -->\n",
    end: "<!-- end of met -->\n",
};

/// A limit, and how a client meets it.
struct Limit {
    /// As the page names it, with the value that the test gives it.
    name: &'static str,
    met_by: &'static str,
    options: fn(&mut Options),
    configuration: fn(&mut Configuration),
    max_connections: u32,
    meet: fn(&TestProxy) -> Met,
}

/// The answer of a client at a limit.
enum Met {
    Error(u16, String),
    Closed,
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            name: "",
            met_by: "",
            options: |_| (),
            configuration: |_| (),
            max_connections: 20,
            meet: |_| Met::Closed,
        }
    }
}

fn limits() -> Vec<Limit> {
    vec![
        Limit {
            name: "`--max-connections 1`",
            met_by: "a second client",
            options: |options| options.limits.max_sessions = 1,
            meet: |proxy| {
                let _first = proxy.connect(None);
                refused_login(proxy)
            },
            ..Limit::default()
        },
        Limit {
            name: "`max_connections: 1` of a user",
            met_by: "a second client of the user",
            configuration: |configuration| configuration.users[0].max_connections = 1,
            meet: |proxy| {
                let _first = proxy.connect(None);
                refused_login(proxy)
            },
            ..Limit::default()
        },
        Limit {
            name: "`--max-half-open 1`",
            met_by: "a silent client, if another comes from the same address",
            options: |options| options.limits.max_half_open = Some(1),
            meet: |proxy| {
                let _silent = silent(proxy.running().listen_address());
                first_answer(connect(proxy.running().listen_address()))
            },
            ..Limit::default()
        },
        Limit {
            name: "`--login-timeout`",
            met_by: "a silent client",
            options: |options| options.limits.handshake_timeout = Duration::from_millis(200),
            meet: |proxy| first_answer(silent(proxy.running().listen_address())),
            ..Limit::default()
        },
        Limit {
            name: "`--max-allowed-packet 64K`",
            met_by: "a statement of 100 kB",
            options: |options| options.limits.max_packet = 64 << 10,
            meet: |proxy| long_statement(proxy, 100_000),
            ..Limit::default()
        },
        Limit {
            name: "`--max-memory 64M`",
            met_by: "a statement of 15 MB",
            options: |options| options.limits.max_memory = Some(64 << 20),
            meet: |proxy| long_statement(proxy, 15_000_000),
            ..Limit::default()
        },
        Limit {
            name: "`--checkout-timeout 1`, with `max_connections: 1` of the server",
            met_by: "a statement beside an open transaction",
            options: |options| options.limits.checkout_timeout = Duration::from_secs(1),
            max_connections: 1,
            meet: |proxy| {
                let mut holder = proxy.connect(None);
                holder.query_drop("BEGIN").unwrap();
                met(&mut proxy.connect(None), "SELECT 1")
            },
            ..Limit::default()
        },
        Limit {
            name: "`statement_timeout: 100ms` of a user",
            met_by: "a statement that takes longer",
            configuration: |configuration| configuration.users[0].statement_timeout_ms = Some(100),
            meet: |proxy| met(&mut proxy.connect(None), "SELECT SLEEP(60)"),
            ..Limit::default()
        },
        Limit {
            name: "`timeout: 100ms` of a rule",
            met_by: "a statement that takes longer",
            configuration: |configuration| {
                let timeout = EngineRule {
                    timeout_ms: Some(100),
                    ..EngineRule::default()
                };
                configuration.graph.rules.insert(0, rule(50, timeout));
            },
            meet: |proxy| met(&mut proxy.connect(None), "SELECT SLEEP(60)"),
            ..Limit::default()
        },
        Limit {
            name: "`wait_timeout` of a session",
            met_by: "a client that is silent for longer",
            meet: |proxy| {
                let mut client = RawClient::log_in(proxy.running().listen_address());
                client.ask(&Command::Query(b"SET wait_timeout = 1"));
                met_in(client.packet())
            },
            ..Limit::default()
        },
    ]
}

fn met(client: &mut Conn, sql: &str) -> Met {
    // The error may come behind the names of the columns.
    match client.query::<Row, _>(sql) {
        Err(mysql::Error::MySqlError(error)) => Met::Error(error.code, error.message),
        other => panic!("{sql}: {other:?} is no error"),
    }
}

fn refused_login(proxy: &TestProxy) -> Met {
    match proxy.try_connect(USER, PASSWORD, None) {
        Err(mysql::Error::MySqlError(error)) => Met::Error(error.code, error.message),
        other => panic!("{other:?} is no refused login"),
    }
}

fn long_statement(proxy: &TestProxy, bytes: usize) -> Met {
    let text = format!("SELECT LENGTH('{}')", "x".repeat(bytes));
    met(&mut proxy.connect(None), &text)
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A client that has read the greeting.
fn silent(to: SocketAddr) -> TcpStream {
    let mut stream = connect(to);
    assert_eq!(packet(&mut stream).unwrap()[0], 10, "a greeting");
    stream
}

fn first_answer(mut stream: TcpStream) -> Met {
    met_in(packet(&mut stream))
}

/// What a packet says, if it came.
fn met_in(answer: Option<Vec<u8>>) -> Met {
    let Some(answer) = answer else {
        return Met::Closed;
    };
    assert_eq!(answer[0], 0xFF, "an error");
    let code = u16::from_le_bytes([answer[1], answer[2]]);
    let text = String::from_utf8_lossy(&answer[3..]);
    let message = match text.strip_prefix('#') {
        Some(with_state) => &with_state[5..],
        None => &text,
    };
    Met::Error(code, message.to_owned())
}

#[test]
fn the_page_shows_what_clients_get_at_each_limit() {
    let _alone = heavy();
    let mut table = "| limit | who meets it | what the client gets |\n|---|---|---|\n".to_owned();
    for limit in limits() {
        let (options, configuration) = (limit.options, limit.configuration);
        let proxy = start(&Setup {
            options: Box::new(options),
            configuration: Box::new(configuration),
            max_connections: limit.max_connections,
            ..Setup::default()
        });
        let met = match (limit.meet)(&proxy) {
            Met::Error(code, message) => format!("{code}: {message}"),
            Met::Closed => "the connection is closed".to_owned(),
        };
        writeln!(table, "| {} | {} | {met} |", limit.name, limit.met_by).unwrap();
        shardwright_testkit::eventually(PATIENCE, || {
            let mut client = proxy.try_connect(USER, PASSWORD, None).ok();
            client
                .as_mut()
                .is_some_and(|client| client.query_drop("SELECT 1").is_ok())
        });
    }
    PART.keep(&table);
}
