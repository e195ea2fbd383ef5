//! The bundled target over a real connection: an admin port that keeps one configuration in memory.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use shardwright_mysqlite::{
    Answer, Backend, Config, Limits, MysqlError, RowSink, Server, Session, SessionContext, StatusFlags,
    Table, User, Value,
};
use shardwright_plan::{Hazard, Outcome, Plan, Target, TargetPlan, Timestamp, apply};
use shardwright_rules::{
    Cluster, ClusterKind, Configuration, EngineId, HostgroupId, RolesBy, WriterServesReads,
};
use shardwright_secrets::Secret;
use shardwright_targets::{AdminAddress, BundledTarget, Timeouts};

/// What the admin port holds.
#[derive(Default)]
struct Held {
    generation: u64,
    fingerprint: String,
    json: String,
    /// Ends the next apply with this error.
    refuse: Option<&'static str>,
}

struct Admin(Arc<Mutex<Held>>);

impl Backend for Admin {
    fn open_session(&self, _: &SessionContext) -> Result<Box<dyn Session>, MysqlError> {
        Ok(Box::new(Admin(self.0.clone())))
    }
}

fn error(text: &str) -> MysqlError {
    MysqlError::general(1105, text)
}

impl Session for Admin {
    fn use_schema(&mut self, _: &str) -> Result<(), MysqlError> {
        Ok(())
    }

    fn schema(&self) -> Option<&str> {
        None
    }

    fn status(&self) -> StatusFlags {
        StatusFlags::SERVER_STATUS_AUTOCOMMIT
    }

    fn query(&mut self, sql: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let sql = std::str::from_utf8(sql).unwrap();
        let mut held = self.0.lock().unwrap();
        if sql == "SHARDWRIGHT OBSERVE" {
            return Table::of_text(&["generation", "fingerprint", "configuration"])
                .with_row([
                    Value::Int(held.generation as i64),
                    Value::from(held.fingerprint.as_str()),
                    Value::from(held.json.as_str()),
                ])
                .send(rows);
        }
        let (expected, json) = applied(sql).ok_or_else(|| error("FAILED: no such statement"))?;
        if let Some(reason) = held.refuse.take() {
            return Err(error(reason));
        }
        if expected != (held.generation, held.fingerprint.clone()) {
            return Err(error(&format!("STALE: generation is {}", held.generation)));
        }
        let configuration: Configuration = serde_json::from_str(&json).unwrap();
        held.generation += 1;
        held.fingerprint = configuration.fingerprint();
        held.json = json;
        Table::of_text(&["generation", "fingerprint"])
            .with_row([
                Value::Int(held.generation as i64),
                Value::from(held.fingerprint.as_str()),
            ])
            .send(rows)
    }
}

/// The base and the configuration of an APPLY.
fn applied(sql: &str) -> Option<((u64, String), String)> {
    let (generation, rest) = sql.strip_prefix("SHARDWRIGHT APPLY EXPECT ")?.split_once(" '")?;
    let (fingerprint, json) = rest.split_once("' AS '")?;
    let json = json.strip_suffix('\'')?.replace("''", "'");
    Some(((generation.parse().ok()?, fingerprint.to_owned()), json))
}

struct Port {
    held: Arc<Mutex<Held>>,
    server: Server,
}

fn port() -> Port {
    let held = Arc::new(Mutex::new(Held::default()));
    let config = Config {
        users: vec![User {
            name: "admin".into(),
            password: "canary".into(),
        }],
        limits: Limits {
            max_packet: 1 << 30,
            ..Limits::default()
        },
        ..Config::default()
    };
    let server = Server::bind("127.0.0.1:0", config, Arc::new(Admin(held.clone()))).unwrap();
    Port { held, server }
}

fn target(address: SocketAddr, password: &str) -> BundledTarget {
    let address = AdminAddress::parse(&address.to_string()).unwrap();
    let timeouts = Timeouts {
        connect: Duration::from_secs(20),
        answer: Duration::from_secs(120),
    };
    BundledTarget::new("local", address, "admin", Secret::new(password.into()), timeouts)
}

/// A configuration of `clusters` clusters whose texts need quoting.
fn configuration(clusters: u32) -> Configuration {
    let cluster = |n: u32| Cluster {
        name: format!("it's \\ \"{n}\"").into(),
        address: format!("clusters.c{n}").into(),
        kind: ClusterKind::Single,
        writer: HostgroupId(n),
        reader: None,
        writer_serves_reads: WriterServesReads::Always,
        on_unknown: Default::default(),
        slow_readers: Default::default(),
        roles_by: RolesBy::Engine,
        candidates: Vec::new(),
    };
    Configuration {
        clusters: (0..clusters).map(cluster).collect(),
        ..Configuration::empty(EngineId::Bundled)
    }
}

fn plan(target: &mut BundledTarget, desired: &Configuration) -> Plan {
    let observed = target.observe().unwrap();
    let part = TargetPlan::new("local", &observed, desired, Vec::<Hazard>::new());
    let hour = Duration::from_secs(3600);
    Plan::new(
        None,
        Timestamp::UNIX_EPOCH,
        hour,
        None,
        vec![(part, Arc::new(desired.clone()))],
    )
}

#[test]
fn a_configuration_goes_there_and_comes_back() {
    let port = port();
    let mut target = target(port.server.local_addr(), "canary");
    assert_eq!(target.observe().unwrap().configuration, None);
    for (generation, clusters) in [(1, 2), (2, 0), (3, 5)] {
        let desired = configuration(clusters);
        let report = apply(&plan(&mut target, &desired), &mut target);
        assert_eq!(report.outcome, Outcome::Applied, "{}", report.message);
        let observed = target.observe().unwrap();
        assert_eq!(observed.generation, generation);
        assert_eq!(observed.fingerprint, desired.fingerprint());
        assert_eq!(observed.configuration, Some(desired));
    }
    let again = plan(&mut target, &configuration(5));
    assert_eq!(apply(&again, &mut target).outcome, Outcome::Unchanged);
}

#[test]
fn statements_and_rows_longer_than_a_packet() {
    let port = port();
    let mut target = target(port.server.local_addr(), "canary");
    let mut desired = configuration(4);
    for cluster in &mut desired.clusters {
        cluster.name = r#"it's a "name" \"#.repeat(1 << 18).into();
    }
    assert!(
        desired.to_json().len() > 1 << 24,
        "longer than a packet of the protocol"
    );
    let report = apply(&plan(&mut target, &desired), &mut target);
    assert_eq!(report.outcome, Outcome::Applied, "{}", report.message);
}

#[test]
fn a_plan_is_applied_once() {
    let port = port();
    let mut target = target(port.server.local_addr(), "canary");
    let (first, second) = (
        plan(&mut target, &configuration(1)),
        plan(&mut target, &configuration(2)),
    );
    assert_eq!(apply(&first, &mut target).outcome, Outcome::Applied);
    for stale in [first, second] {
        assert_eq!(apply(&stale, &mut target).outcome, Outcome::Stale);
    }
    assert_eq!(port.held.lock().unwrap().generation, 1);
}

#[test]
fn refusals_are_told_apart() {
    let port = port();
    let mut target = target(port.server.local_addr(), "canary");
    let plan = plan(&mut target, &configuration(1));
    let mut refused = |reason| {
        port.held.lock().unwrap().refuse = Some(reason);
        let report = apply(&plan, &mut target);
        format!("{:?}: {} {:?}", report.outcome, report.message, report.problems)
    };
    let said = [
        refused("STALE: generation is 7"),
        refused("CONTENDED: another apply is running"),
        refused("FOREIGN: the proxy belongs to the project a, not to the project b"),
        refused("INVALID: clusters.c0: no servers"),
        refused("FAILED: cannot store"),
    ];
    assert_snapshot!(said.join("\n"), @r#"
    Stale: the target has moved: generation is 7 []
    Contended: another change is being made: another apply is running []
    Refused: the target is another project's: the proxy belongs to the project a, not to the project b []
    Rejected: the target rejects the configuration: no servers [Problem { address: Some("clusters.c0"), reason: "no servers" }]
    Restored: the target failed: cannot store []
    "#);
    assert_eq!(port.held.lock().unwrap().generation, 0);
}

#[test]
fn a_wrong_password() {
    let port = port();
    let address = port.server.local_addr();
    let error = target(address, "tweety").observe().unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("target local at {address}: cannot connect: ")),
        "{error}"
    );
    assert!(error.contains("1045") && !error.contains("tweety"), "{error}");
}
