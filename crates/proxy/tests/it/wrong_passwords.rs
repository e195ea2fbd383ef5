//! Wrong passwords at both ports: slowed at the admin port, counted, and never in the way of others.

use std::time::{Duration, Instant};

use mysql::{Conn, OptsBuilder};
use shardwright_testkit::ClientOptions;

use crate::support::{ADMIN_PASSWORD, Setup, TestProxy, USER, mariadb, start, value};

fn total(proxy: &TestProxy, name: &str) -> String {
    let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
    value(&mut proxy.admin(), &sql)
}

/// What the `mariadb` command shows of the admin port.
fn ask(proxy: &TestProxy, password: &str) -> String {
    let to = proxy.running().admin_address();
    mariadb(to, ("admin", password), &["--skip-ssl"], "SELECT 'in'")
}

#[test]
fn the_admin_port_slows_the_address_they_come_from() {
    let proxy = start(&Setup::default());
    for _ in 0..4 {
        let answer = ask(&proxy, "guess");
        assert!(answer.contains("ERROR 1045"), "{answer}");
    }
    let began = Instant::now();
    assert_eq!(ask(&proxy, ADMIN_PASSWORD), "in\n");
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(total(&proxy, "Admin_Access_Denied_Wrong_Password"), "4");
    assert_eq!(total(&proxy, "Admin_Access_Denied_Waiting"), "0");
    assert_eq!(total(&proxy, "Access_Denied_Wrong_Password"), "0");
}

#[test]
fn a_crowd_with_wrong_passwords_leaves_the_port_to_others() {
    let proxy = start(&Setup::default());
    let address = proxy.running().admin_address();
    let guess = || {
        let options = ClientOptions {
            user: "admin",
            password: "guess",
            schema: None,
        };
        let from = "127.0.0.3".parse::<std::net::IpAddr>().unwrap();
        match Conn::new(OptsBuilder::from_opts(options.tcp(address)).bind_address(Some((from, 0)))) {
            Err(mysql::Error::MySqlError(error)) => error.code,
            other => panic!("{other:?}"),
        }
    };
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let guesses: Vec<_> = (0..50).map(|_| scope.spawn(guess)).collect();
        assert_eq!(value(&mut proxy.admin(), "SELECT 1"), "1");
        guesses.into_iter().map(|guess| guess.join().unwrap()).collect()
    });
    assert!(codes.iter().all(|code| [1045, 1129].contains(code)), "{codes:?}");
    let refused = codes.iter().filter(|code| **code == 1129).count();
    assert!(refused > 0, "{codes:?}");
    assert_eq!(total(&proxy, "Admin_Access_Denied_Waiting"), refused.to_string());
}

#[test]
fn those_of_clients_are_counted_and_not_slowed() {
    let proxy = start(&Setup::default());
    for user in [USER, "nobody"] {
        for _ in 0..5 {
            let denied = proxy.try_connect(user, "guess", None).unwrap_err();
            assert!(denied.to_string().contains("1045"), "{denied}");
        }
    }
    assert_eq!(total(&proxy, "Access_Denied_Wrong_Password"), "10");
    assert_eq!(total(&proxy, "Admin_Access_Denied_Wrong_Password"), "0");
}
