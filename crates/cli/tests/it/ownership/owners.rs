//! A bundled proxy remembers whose it is.

use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, ProxyOptions, ProxyProcess, connect,
};

use crate::support::{PROGRAM, ask};

/// A project of this name, if any, with one cluster, for the proxy at this port.
fn project(name: Option<&str>, cluster: &str, port: u16) -> CommandEnvironment {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let named = name.map_or_else(String::new, |name| format!("project: {name}\n"));
    let file = format!(
        "version: 1\n{named}engines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"127.0.0.1:{port}\", user: admin, \
         password: {{env: ADMIN}}}}\n"
    );
    environment.write("shardwright.yaml", file).unwrap();
    let topology =
        format!("clusters:\n  {cluster}: {{type: single, servers: {{s1: {{host: {cluster}.db}}}}}}\n");
    environment.write("topology/a.yaml", topology).unwrap();
    environment.set("ADMIN", ADMIN_PASSWORD);
    environment
}

/// Generation and owner, as the proxy tells them.
fn owner(proxy: &ProxyProcess) -> (String, Option<String>) {
    let admin = ClientOptions {
        user: "admin",
        password: ADMIN_PASSWORD,
        schema: None,
    };
    let rows = ask(&mut connect(proxy.admin(), admin).unwrap(), "SHARDWRIGHT OBSERVE").unwrap();
    (rows[0][0].clone().unwrap(), rows[0][3].clone())
}

/// Runs a command that must succeed.
fn succeeds(environment: &CommandEnvironment, arguments: &[&str]) {
    assert_eq!(
        environment.run(arguments).unwrap().code(),
        Some(0),
        "{arguments:?}"
    );
}

fn started() -> (CommandEnvironment, ProxyProcess) {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let options = ProxyOptions::new(environment.outside("data"));
    let proxy = ProxyProcess::start(&environment, options).unwrap();
    (environment, proxy)
}

#[test]
fn another_project_is_refused_until_it_takes_over() {
    let (environment, mut proxy) = started();
    let port = proxy.admin().port();
    let shop = project(Some("shop"), "shop", port);
    let pay = project(Some("pay"), "pay", port);
    let nameless = project(None, "old", port);

    // Nobody with a name has applied to it, so it is anybody's.
    succeeds(&nameless, &["apply", "--auto-approve"]);
    assert_eq!(owner(&proxy), ("1".to_owned(), None));
    let taken = shop.run(["plan"]).unwrap().success().stdout;
    assert!(taken.contains("+ project"), "{taken}");
    succeeds(&shop, &["apply", "--auto-approve"]);
    assert_eq!(owner(&proxy), ("2".to_owned(), Some("shop".to_owned())));

    for arguments in [["plan"].as_slice(), &["apply", "--auto-approve"]] {
        let refused = pay.run(arguments).unwrap();
        assert_eq!(refused.code(), Some(4), "{refused:?}");
        for told in ["project shop", "this project is pay", "--take-over"] {
            assert!(refused.stderr.contains(told), "{refused:?}");
        }
        let refused = nameless.run(arguments).unwrap();
        assert_eq!(refused.code(), Some(4), "{refused:?}");
        assert!(refused.stderr.contains("this project has no name"), "{refused:?}");
    }
    assert_eq!(owner(&proxy), ("2".to_owned(), Some("shop".to_owned())));
    // What differs may be asked for.
    assert_eq!(pay.run(["diff"]).unwrap().code(), Some(2));

    // The owner is as durable as the configuration.
    let ports = shardwright_testkit::Ports::Same;
    proxy.stop().unwrap();
    proxy.restart(&environment, ports).unwrap();
    assert_eq!(owner(&proxy), ("2".to_owned(), Some("shop".to_owned())));
    assert_eq!(pay.run(["plan"]).unwrap().code(), Some(4));

    // A plan that takes over shows it, and is applied as it was saved.
    let saved = pay
        .run(["plan", "--take-over", "-o", "saved.plan"])
        .unwrap()
        .success()
        .stdout;
    assert!(saved.contains("~ project"), "{saved}");
    succeeds(&pay, &["apply", "saved.plan", "--auto-approve"]);
    assert_eq!(owner(&proxy), ("3".to_owned(), Some("pay".to_owned())));
    assert_eq!(shop.run(["apply", "--auto-approve"]).unwrap().code(), Some(4));
    succeeds(&shop, &["apply", "--auto-approve", "--take-over"]);
    assert_eq!(owner(&proxy), ("4".to_owned(), Some("shop".to_owned())));
    proxy.stop().unwrap();
}

#[test]
fn a_saved_plan_is_for_the_owner_that_it_was_made_from() {
    let (_environment, mut proxy) = started();
    let port = proxy.admin().port();
    let shop = project(Some("shop"), "shop", port);
    let pay = project(Some("pay"), "pay", port);
    succeeds(&shop, &["plan", "-o", "saved.plan"]);
    succeeds(&pay, &["apply", "--auto-approve"]);
    assert_eq!(
        shop.run(["apply", "saved.plan", "--auto-approve"])
            .unwrap()
            .code(),
        Some(5)
    );
    assert_eq!(owner(&proxy), ("1".to_owned(), Some("pay".to_owned())));
    // The name alone is a change, so that a proxy that runs the same already is taken too.
    let renamed = project(Some("pay2"), "pay", port);
    let taken = renamed.run(["apply", "--auto-approve", "--take-over"]).unwrap();
    assert_eq!(taken.code(), Some(0), "{taken:?}");
    assert_eq!(owner(&proxy), ("2".to_owned(), Some("pay2".to_owned())));
    let again = renamed.run(["plan", "--detailed-exitcode"]).unwrap();
    assert_eq!(again.code(), Some(0), "{again:?}");
    // The admin port itself refuses, whoever speaks to it.
    let admin = ClientOptions {
        user: "admin",
        password: ADMIN_PASSWORD,
        schema: None,
    };
    let mut admin = connect(proxy.admin(), admin).unwrap();
    let rows = ask(&mut admin, "SHARDWRIGHT OBSERVE").unwrap();
    let cell = |at: usize| rows[0][at].clone().unwrap();
    for (words, told) in [
        (
            "",
            "FOREIGN: the proxy belongs to the project pay2, not to one without a name",
        ),
        (
            " PROJECT 'shop'",
            "FOREIGN: the proxy belongs to the project pay2, not to the project shop",
        ),
        (
            " OWNER 'pay' PROJECT 'shop'",
            "FOREIGN: the proxy belongs to the project pay2, not to the project shop",
        ),
    ] {
        let apply = format!(
            "SHARDWRIGHT APPLY EXPECT {} '{}'{words} AS '{}'",
            cell(0),
            cell(1),
            cell(2)
        );
        let error = ask(&mut admin, &apply).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    proxy.stop().unwrap();
}
