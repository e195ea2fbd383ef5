//! What a running proxy does when it is told to read its files again.

use std::time::Duration;

use nix::sys::signal::Signal;
use shardwright_testkit::{CommandEnvironment, ProxyOptions, ProxyProcess, eventually};

use crate::support::PROGRAM;

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_hangup_reloads_and_does_not_end() {
    let home = CommandEnvironment::new(PROGRAM).unwrap();
    let mut proxy = ProxyProcess::start(&home, ProxyOptions::new(home.outside("data"))).unwrap();
    for count in 1..=2 {
        proxy.signal(Signal::SIGHUP).unwrap();
        let line = "reloaded certificates and passwords";
        eventually(PATIENCE, || proxy.output().matches(line).count() == count);
    }
    assert!(proxy.stop().unwrap().success());
}

#[test]
fn files_that_cannot_be_used_are_named_at_the_start() {
    let home = CommandEnvironment::new(PROGRAM).unwrap();
    home.write("proxy.pem", "no certificate").unwrap();
    for (arguments, expected) in [
        (
            ["--tls-cert=proxy.pem", "--tls-key=proxy.pem"].as_slice(),
            "proxy.pem cannot be used: it holds no certificate in PEM",
        ),
        (
            &["--tls-cert=nowhere.pem", "--tls-key=proxy.pem"],
            "nowhere.pem cannot be used: ",
        ),
        (
            &["--tls-server-ca=proxy.pem"],
            "proxy.pem cannot be used: it holds no certificate in PEM",
        ),
        (&["--tls-cert=proxy.pem"], "--tls-key <FILE>"),
        (&["--tls-client-ca=proxy.pem"], "--tls-cert <FILE>"),
    ] {
        let mut options = ProxyOptions::new(home.outside("data"));
        options.extra_args = arguments.iter().map(ToString::to_string).collect();
        let refused = ProxyProcess::start(&home, options).unwrap_err().to_string();
        assert!(refused.contains(expected), "{arguments:?}: {refused}");
    }
}
