//! Commands that reach the admin port of a running proxy inside TLS.

use shardwright_testkit::{Authority, CommandEnvironment, Pair, ProxyOptions, ProxyProcess};

use crate::support::{PASSWORD, PROGRAM};

const TOPOLOGY: &str = "version: 1\nclusters:\n  a: {type: single, servers: {s: {host: 127.0.0.1}}}\n\
    users:\n  app: {password: {env: APP_PASSWORD}, cluster: a}\n";

fn certificate(pair: &Pair) -> Vec<String> {
    vec![
        format!("--tls-cert={}", pair.certificate.display()),
        format!("--tls-key={}", pair.key.display()),
    ]
}

fn target(home: &CommandEnvironment, proxy: &ProxyProcess, more: &str) {
    let project = format!(
        "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"{}\", user: admin, \
         password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}{more}}}\n",
        proxy.admin()
    );
    home.write("shardwright.yaml", project).unwrap();
}

#[test]
fn a_target_with_authorities_is_reached_inside_tls_and_checked() {
    let (authority, stranger) = (Authority::new().unwrap(), Authority::new().unwrap());
    let mut home = CommandEnvironment::new(PROGRAM).unwrap();
    home.set("APP_PASSWORD", PASSWORD);
    home.write("topology/a.yaml", TOPOLOGY).unwrap();
    for (name, authority) in [("ca.pem", &authority), ("stranger.pem", &stranger)] {
        home.write(name, std::fs::read(authority.certificate()).unwrap())
            .unwrap();
    }
    let mut options = ProxyOptions::new(home.outside("data"));
    options.extra_args = certificate(&authority.issue("proxy", &["127.0.0.1"]).unwrap());
    let proxy = ProxyProcess::start(&home, options).unwrap();

    target(&home, &proxy, ", ca: stranger.pem");
    let refused = home.run(["apply", "--auto-approve"]).unwrap();
    assert_eq!(refused.code(), Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot connect"), "{}", refused.stderr);

    target(&home, &proxy, ", ca: ca.pem");
    for command in [&["apply", "--auto-approve"][..], &["status"]] {
        let _done = home.run(command).unwrap().success();
    }
    target(&home, &proxy, "");
    let plan = home.run(["plan", "--detailed-exitcode"]).unwrap();
    assert_eq!(
        plan.code(),
        Some(0),
        "in the clear on this machine: {}",
        plan.stderr
    );
}

#[test]
fn a_target_with_authorities_is_not_reached_in_the_clear() {
    let authority = Authority::new().unwrap();
    let home = CommandEnvironment::new(PROGRAM).unwrap();
    home.write("ca.pem", std::fs::read(authority.certificate()).unwrap())
        .unwrap();
    let proxy = ProxyProcess::start(&home, ProxyOptions::new(home.outside("data"))).unwrap();
    target(&home, &proxy, ", ca: ca.pem");
    let refused = home.run(["status"]).unwrap();
    assert_ne!(refused.code(), Some(0), "{}", refused.stdout);
}

#[test]
fn an_admin_port_for_others_without_tls_is_a_warning() {
    let authority = Authority::new().unwrap();
    let pair = authority.issue("proxy", &["127.0.0.1"]).unwrap();
    let warning = "the admin port has no TLS";
    for (more, warns) in [(Vec::new(), true), (certificate(&pair), false)] {
        let home = CommandEnvironment::new(PROGRAM).unwrap();
        let mut arguments = vec![
            "proxy",
            "--admin=0.0.0.0:0",
            "--data-dir=data",
            "--checks=203.0.113.1:6070",
        ];
        arguments.extend(more.iter().map(String::as_str));
        // Nobody has the address of the checks, so the proxy ends.
        let ended = home.run(arguments).unwrap();
        assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
        assert_eq!(ended.stderr.contains(warning), warns, "{}", ended.stderr);
    }
}
