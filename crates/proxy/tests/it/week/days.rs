//! The days: what happens on each, and how it is mended.

use std::net::{IpAddr, TcpStream};
use std::sync::Arc;

use mysql::{Conn, OptsBuilder};
use shardwright_testkit::{ClientOptions, eventually};

use super::{Week, readers};
use crate::checks::readiness;
use crate::full_servers::burst;
use crate::roles::told;
use crate::support::{PATIENCE, USER, value};

/// A day.
pub(super) struct Day {
    pub(super) name: &'static str,
    /// What happens, for the page.
    pub(super) what: &'static str,
    pub(super) happens: fn(&mut Week),
    /// A server or the proxy ends: each client may lose one statement, and the connections of that process.
    pub(super) ends_statements: bool,
}

pub(super) const DAYS: &[Day] = &[
    Day {
        name: "Monday",
        what: "450 clients at once read from the writer, which takes 151 connections, for 0.2 s each",
        happens: burst_of_reads,
        ends_statements: false,
    },
    Day {
        name: "Tuesday",
        what: "one of two replicas becomes 20 times slower, and recovers",
        happens: slow_replica,
        ends_statements: false,
    },
    Day {
        name: "Wednesday",
        what: "the writer is killed; the replica that has received most is promoted by hand",
        happens: dead_writer,
        ends_statements: true,
    },
    Day {
        name: "Thursday",
        what: "replication is stopped on the replica that is left, and started again",
        happens: stopped_replication,
        ends_statements: false,
    },
    Day {
        name: "Friday",
        what: "1,000 connections that say nothing",
        happens: flood,
        ends_statements: false,
    },
    Day {
        name: "Saturday",
        what: "50 wrong passwords at the clients' port, 10 at the admin port",
        happens: wrong_passwords,
        ends_statements: false,
    },
    Day {
        name: "Sunday",
        what: "the proxy is stopped, and starts on an empty data directory; the configuration is applied again",
        happens: lost_directory,
        ends_statements: true,
    },
];

/// How long reads take on a server that is not slow, s.
const USUAL_S: f64 = 0.002;

fn burst_of_reads(week: &mut Week) {
    assert_eq!(burst(week.proxy(), 450), Vec::<String>::new());
}

fn slow_replica(week: &mut Week) {
    let slow = week.server(2);
    let share = |admin: &mut Conn| {
        let sql = format!(
            "SELECT CAST(share_percent AS INT) FROM runtime_mysql_servers WHERE hostgroup_id = 11 AND port = {}",
            slow.port()
        );
        value(admin, &sql)
    };
    let mut admin = week.proxy().admin();
    readers::set_pace(week.server(1), USUAL_S);
    readers::set_pace(slow, USUAL_S * 20.0);
    eventually(PATIENCE, || share(&mut admin) == "5");
    readers::set_pace(slow, USUAL_S);
    eventually(PATIENCE, || share(&mut admin) == "100");
}

fn dead_writer(week: &mut Week) {
    week.servers.servers[0].kill().unwrap();
    let mut admin = week.proxy().admin();
    eventually(PATIENCE, || {
        told(&mut admin, "a1", "writes").contains("does not answer")
    });
    let survivor = week.servers.most_advanced([1, 2]);
    week.servers.promote(survivor);
    week.servers.follow(3 - survivor, survivor);
    let survivor = format!("a{}", survivor + 1);
    eventually(PATIENCE, || told(&mut admin, &survivor, "writes") == "yes");
}

fn stopped_replication(week: &mut Week) {
    let mut admin = week.proxy().admin();
    let is_replica = |at: &usize| week.server(*at).run("SHOW SLAVE STATUS").unwrap().len() == 1;
    let replica = [1, 2].into_iter().find(is_replica).unwrap();
    let name = format!("a{}", replica + 1);
    eventually(PATIENCE, || told(&mut admin, &name, "reads") == "yes");
    week.server(replica).run("STOP SLAVE").unwrap();
    eventually(PATIENCE, || {
        told(&mut admin, &name, "reads").contains("its replication is stopped")
    });
    week.server(replica).run("START SLAVE").unwrap();
    eventually(PATIENCE, || told(&mut admin, &name, "reads") == "yes");
}

fn flood(week: &mut Week) {
    let silent: Vec<TcpStream> = (0..1000)
        .map(|_| TcpStream::connect(week.address()).unwrap())
        .collect();
    assert_eq!(value(&mut week.proxy().connect(None), "SELECT 1"), "1");
    assert_eq!(value(&mut week.proxy().admin(), "SELECT 1"), "1");
    assert_eq!(readiness(week.proxy(), "/lb-check").0, 200);
    drop(silent);
}

fn wrong_passwords(week: &mut Week) {
    for _ in 0..50 {
        let denied = week.proxy().try_connect(USER, "guess", None).unwrap_err();
        assert!(denied.to_string().contains("1045"), "{denied}");
    }
    let guess = ClientOptions {
        user: "admin",
        password: "guess",
        schema: None,
    };
    let from: IpAddr = [127, 0, 0, 3].into();
    for _ in 0..10 {
        let to = guess.tcp(week.proxy().running().admin_address());
        Conn::new(OptsBuilder::from_opts(to).bind_address(Some((from, 0)))).unwrap_err();
    }
    let denied = |name: &str| {
        let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
        value(&mut week.proxy().admin(), &sql)
    };
    assert_eq!(denied("Access_Denied_Wrong_Password"), "50");
    assert_eq!(denied("Admin_Access_Denied_Wrong_Password"), "10");
}

fn lost_directory(week: &mut Week) {
    let mut proxy = week.proxy.take().unwrap();
    proxy.running.take().unwrap().shutdown();
    week.start_proxy(Arc::new(tempfile::tempdir().unwrap()));
}
