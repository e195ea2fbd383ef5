//! Compressed connections of clients: the `mysql` crate and the `mariadb` command, with and without TLS, and bytes of none.

use std::io::{Read, Write};
use std::process::{Command, Output};

use mysql::prelude::Queryable;
use mysql::{Compression, Conn, OptsBuilder, SslOpts};
use shardwright_proxy::{Options, TlsFiles};
use shardwright_testkit::{Authority, ClientOptions, Pair};
use shardwright_wire::{CapabilityFlags, FrameCodec, take_packet};

use crate::raw::{RawClient, framed};
use crate::support::{PASSWORD, Setup, TestProxy, USER, heavy, schema, start, value};

fn options(proxy: &TestProxy, schema: Option<&str>) -> OptsBuilder {
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema,
    };
    options
        .tcp(proxy.running().listen_address())
        .compress(Some(Compression::best()))
}

fn with_certificate(pair: &Pair) -> TestProxy {
    let files = TlsFiles {
        certificate: Some(pair.certificate.clone()),
        key: Some(pair.key.clone()),
        ..TlsFiles::default()
    };
    start(&Setup {
        options: Box::new(move |options: &mut Options| options.tls = files.clone()),
        ..Setup::default()
    })
}

/// Statements and answers of many sizes.
fn exercise(client: &mut Conn) {
    let _heavy = heavy();
    for size in [1, 49, 50, 5_000, 70_000, 3_000_000, 17_000_000] {
        let text = "y".repeat(size);
        let (length, same): (usize, String) = client
            .query_first(format!("SELECT LENGTH('{text}'), REPEAT('z', {size})"))
            .unwrap()
            .unwrap();
        assert_eq!((length, same.len()), (size, size));
    }
    let rows: Vec<u32> = client.query("SELECT seq FROM seq_1_to_50000").unwrap();
    assert_eq!((rows.len(), rows[49_999]), (50_000, 50_000));
    let random: Vec<u8> = (0..200_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let back: Vec<u8> = client.exec_first("SELECT ?", (&random,)).unwrap().unwrap();
    assert!(back == random);
    assert_eq!(value(client, "SELECT 1"), "1");
}

#[test]
fn answers_are_the_same_compressed() {
    let proxy = start(&Setup::default());
    exercise(&mut Conn::new(options(&proxy, Some("mysql"))).unwrap());
}

#[test]
fn a_client_that_becomes_another_user_stays_compressed() {
    let proxy = start(&Setup::default());
    let mut client = Conn::new(options(&proxy, None)).unwrap();
    let other = mysql::ChangeUserOpts::new()
        .with_user(Some("other".to_owned()))
        .with_pass(Some(PASSWORD.to_owned()));
    client.change_user(other).unwrap();
    assert!(value(&mut client, "SELECT USER()").starts_with("other@"));
}

#[test]
fn compression_goes_inside_tls() {
    let authority = Authority::new().unwrap();
    let proxy = with_certificate(&authority.issue("proxy", &["127.0.0.1"]).unwrap());
    let trusting = SslOpts::default().with_root_cert_path(Some(authority.certificate()));
    exercise(&mut Conn::new(options(&proxy, Some("mysql")).ssl_opts(Some(trusting))).unwrap());
}

#[test]
fn a_file_reaches_the_server_compressed() {
    let name = schema("compressed_file");
    let proxy = start(&Setup::default());
    let content = "5,five\n".repeat(100_000);
    let options = options(&proxy, Some(&name)).local_infile_handler(Some(mysql::LocalInfileHandler::new(
        move |_, stream| stream.write_all(content.as_bytes()),
    )));
    let mut client = Conn::new(options).unwrap();
    client.query_drop("CREATE TABLE t (a INT, b TEXT)").unwrap();
    client
        .query_drop("LOAD DATA LOCAL INFILE 'a' INTO TABLE t FIELDS TERMINATED BY ','")
        .unwrap();
    assert_eq!(
        value(&mut client, "SELECT COUNT(*) FROM t WHERE a = 5 AND b = 'five'"),
        "100000"
    );
}

fn mariadb(proxy: &TestProxy, arguments: &[&str]) -> Output {
    let port = proxy.running().listen_address().port();
    Command::new("mariadb")
        .args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--protocol=TCP",
            "--host=127.0.0.1",
        ])
        .args([
            &format!("--port={port}"),
            &format!("--user={USER}"),
            &format!("--password={PASSWORD}"),
        ])
        .args(["--compress"])
        .args(arguments)
        .args(["--execute", r"SELECT LENGTH(REPEAT('x', 100000)); \s"])
        .output()
        .unwrap()
}

#[test]
fn the_mariadb_command_compresses() {
    let authority = Authority::new().unwrap();
    let proxy = with_certificate(&authority.issue("proxy", &["127.0.0.1"]).unwrap());
    for arguments in [&["--skip-ssl"][..], &["--ssl"]] {
        let output = mariadb(&proxy, arguments);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("100000"), "{arguments:?}: {output:?}");
        assert!(
            shown.contains("Protocol:\t\tCompressed"),
            "{arguments:?}: {shown}"
        );
    }
}

#[test]
fn frames_of_no_client_end_the_session_and_harm_nobody() {
    let proxy = start(&Setup::default());
    let address = proxy.running().listen_address();
    let compressed = || RawClient::log_in_with(address, CapabilityFlags::CLIENT_COMPRESS);
    let ping = [&[5, 0, 0, 0, 0, 0, 0][..], &framed(0, &[14])].concat();
    for (what, bytes) in [
        (
            "a number too far",
            [&[5, 0, 0, 7, 0, 0, 0][..], &framed(0, &[14])].concat(),
        ),
        (
            "what was not deflated",
            [&[5, 0, 0, 0, 5, 0, 0][..], &framed(0, &[14])].concat(),
        ),
        (
            "16 MiB out of nothing",
            vec![3, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x78, 0x9C, 0x03],
        ),
    ] {
        let mut client = compressed();
        client.stream.write_all(&bytes).unwrap();
        let mut rest = Vec::new();
        let _reset = client.stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{what}: {rest:?}");
    }
    let mut client = compressed();
    client.stream.write_all(&ping).unwrap();
    let (mut codec, mut plain): (FrameCodec, _) = (FrameCodec::default(), Vec::new());
    codec.receive(&ping, &mut Vec::new()).unwrap();
    while take_packet(&plain, 1000).unwrap().is_none() {
        let mut byte = [0];
        client.stream.read_exact(&mut byte).unwrap();
        codec.receive(&byte, &mut plain).unwrap();
    }
    assert_eq!(plain[4], 0, "an OK: {plain:?}");
}
