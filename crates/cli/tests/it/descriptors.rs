//! A proxy that runs out of file descriptors says so, goes on, and recovers.

use std::io::Read;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use shardwright_testkit::{CommandEnvironment, ProxyOptions, ProxyProcess, eventually};

use crate::support::PROGRAM;

const PATIENCE: Duration = Duration::from_secs(30);
/// Descriptors that are left for clients.
const LEFT: usize = 8;

/// What a new client is told first.
fn first_packet(proxy: &ProxyProcess) -> (TcpStream, Vec<u8>) {
    let mut stream = TcpStream::connect(proxy.listen()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[0])];
    stream.read_exact(&mut payload).unwrap();
    (stream, payload)
}

#[test]
fn without_descriptors_clients_are_told_and_nothing_spins() {
    let home = CommandEnvironment::new(PROGRAM).unwrap();
    let topology = "version: 1\nclusters: {shop: {type: single, servers: {a: {host: 127.0.0.1}}}}\n";
    home.write("topology/shop.yaml", topology).unwrap();
    let mut options = ProxyOptions::new(home.outside("data"));
    options.extra_args = ["--workers=1", "--login-timeout=3600"].map(str::to_owned).into();
    let mut proxy = ProxyProcess::start(&home, options).unwrap();
    let project = format!(
        "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"{}\", user: admin, \
         password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
        proxy.admin()
    );
    home.write("shardwright.yaml", project).unwrap();
    let applied = home.run(["apply", "--auto-approve"]).unwrap();
    assert_eq!(applied.code(), Some(0), "{}", applied.stderr);
    let pid = proxy.process_id();
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let limit = open + LEFT;
    let lowered = Command::new("prlimit")
        .args([format!("--pid={pid}"), format!("--nofile={limit}:{limit}")])
        .status()
        .unwrap();
    assert!(lowered.success());
    let mut greeted = Vec::new();
    let refusal = loop {
        let (stream, payload) = first_packet(&proxy);
        match payload[0] {
            10 => greeted.push(stream),
            _ => break payload,
        }
        assert!(greeted.len() < limit, "more clients than descriptors");
    };
    assert_eq!(refusal[..3], [0xFF, 0x10, 0x04], "error 1040");
    let text = String::from_utf8_lossy(&refusal).into_owned();
    assert!(text.contains("no file descriptors left (ulimit -n)"), "{text}");
    for _ in 0..20 {
        let (_, payload) = first_packet(&proxy);
        assert_eq!(payload[..3], [0xFF, 0x10, 0x04], "everybody is told");
    }
    let warnings = proxy.output().matches("connections cannot be accepted").count();
    assert_eq!(warnings, 1, "{}", proxy.output());
    assert!(proxy.try_wait().unwrap().is_none(), "it goes on");
    drop(greeted);
    eventually(PATIENCE, || first_packet(&proxy).1[0] == 10);
    assert!(proxy.stop().unwrap().success());
}
