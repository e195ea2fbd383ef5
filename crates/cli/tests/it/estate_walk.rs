//! A shop's nodes are adopted and changed on a real ProxySQL, as docs/adopting.md tells it. The same statements are sent before and
//! after each apply, and none goes elsewhere but those that the plan named.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use shardwright_testkit::{
    ClientOptions, CommandEnvironment, EngineClient, ProxySql, ProxySqlOptions, Reply, Rig, real_proxysql,
};

use crate::support::PROGRAM;

const HOSTGROUPS: [u32; 15] = [10, 11, 20, 21, 30, 31, 40, 50, 60, 101, 102, 103, 104, 105, 106];
const USERS: [&str; 16] = [
    "app",
    "api",
    "checkout",
    "billing",
    "billing.batch",
    "pay",
    "pay.cron",
    "bi",
    "reports",
    "etl",
    "svc.export",
    "svc.mail",
    "admin_tools",
    "legacy",
    "tenant_app",
    "tenant_jobs",
];
const TABLES: [&str; 14] = [
    "currencies",
    "products",
    "orders",
    "facts_a",
    "dim_a",
    "report_a",
    "carts",
    "stock",
    "sessions",
    "archive_orders",
    "reviews",
    "rates",
    "jobs_queue",
    "t",
];
const SCHEMAS: [&str; 12] = [
    "shop",
    "billing",
    "pay",
    "dwh",
    "catalog",
    "warehouse",
    "archive",
    "legacy_2012",
    "t001",
    "t017",
    "t042",
    "t070",
];

/// The statements of a file of the estate, without servers: those are numbered ones here.
fn rows(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../testkit/estate/{file}.sql"));
    let text = fs::read_to_string(path).unwrap();
    let is_comment = |line: &&str| !line.starts_with("--");
    let text: Vec<&str> = text.lines().filter(is_comment).collect();
    let statements = text.join("\n");
    let statements = statements
        .split(";\n")
        .map(str::trim)
        .filter(|statement| !statement.is_empty());
    statements
        .filter(|statement| !statement.contains("INTO mysql_servers"))
        .map(|statement| statement.trim_end_matches(';').to_owned())
        .collect()
}

/// Loads the rows of a node as an operator would.
fn load(proxysql: &ProxySql, servers: Vec<String>, node: &str) {
    // Numbered servers log anybody in; those of Galera have weights that tell them apart, as the estate has.
    let password = "UPDATE mysql_users SET password = ''".to_owned();
    let weights =
        "UPDATE mysql_servers SET weight = 131 - hostgroup_id WHERE hostgroup_id IN (30, 31)".to_owned();
    // Every node has the same variables, and listens where it listens.
    let variables = [
        "mysql-connect_timeout_server_max='500'",
        "mysql-poll_timeout='100'",
    ]
    .map(|set| format!("SET {set}"));
    let modules = ["SERVERS", "VARIABLES", "USERS", "QUERY RULES", "FIREWALL"];
    let loads = modules.iter().flat_map(|module| {
        let module = format!("MYSQL {module}");
        [
            format!("LOAD {module} TO RUNTIME"),
            format!("SAVE {module} TO DISK"),
        ]
    });
    let rows = [
        rows("rules"),
        rows(node),
        vec![password, weights],
        variables.to_vec(),
    ]
    .concat();
    let emptied = ["DELETE FROM mysql_servers".to_owned()];
    let statements = emptied.into_iter().chain(servers).chain(rows).chain(loads);
    proxysql.run(statements).unwrap();
}

fn texts() -> Vec<String> {
    let of_tables = TABLES.iter().flat_map(|table| {
        [
            format!("SELECT a FROM {table} WHERE id=1"),
            format!("SELECT a FROM {table} WHERE id=1 FOR UPDATE"),
            format!("UPDATE {table} SET a=1 WHERE id=1"),
        ]
    });
    let others = [
        "DELETE FROM sessions WHERE id=1",
        "INSERT INTO clickstream VALUES (1)",
        "SELECT COUNT(*) FROM online_users",
        "INSERT INTO staging_a VALUES (1)",
        "DROP TABLE t",
        "/* route:writer */ SELECT a FROM t",
        "/* route:reader */ SELECT a FROM stock",
    ];
    of_tables.chain(others.map(str::to_owned)).collect()
}

/// Where each statement goes, by user, schema and text.
type Ways = BTreeMap<(&'static str, &'static str, String), String>;

fn ways(address: SocketAddr) -> Ways {
    let mut ways = Ways::new();
    for (nth, user) in USERS.into_iter().enumerate() {
        for (at, schema) in SCHEMAS.into_iter().enumerate() {
            let options = ClientOptions {
                user,
                schema: Some(schema),
                ..ClientOptions::default()
            };
            let mut client = EngineClient::connect(address, options).unwrap();
            // A part of the texts in each session.
            for text in texts().into_iter().skip((nth + at) % 4).step_by(4) {
                let way = match client.query(&text) {
                    Reply::From { hostgroup, .. } | Reply::Done(hostgroup) => {
                        format!("hostgroup {hostgroup}")
                    }
                    Reply::Ok(_) | Reply::Rows(_) => "answered".to_owned(),
                    Reply::Error(code, _) => format!("error {code}"),
                    Reply::Broken(why) => panic!("{user} in {schema}: {text}: {why}"),
                };
                ways.insert((user, schema, text), way);
            }
        }
    }
    ways
}

/// The statements that go another way, in words.
fn elsewhere(before: &Ways, after: &Ways) -> Vec<String> {
    let moved = before.iter().filter(|(asked, way)| after[*asked] != **way);
    moved
        .map(|((user, schema, text), way)| {
            let now = &after[&(*user, *schema, text.clone())];
            format!("{user} in {schema}: {text}: {way} → {now}")
        })
        .collect()
}

/// A project in a directory, of a node that runs.
struct Project<'e> {
    environment: &'e CommandEnvironment,
    directory: &'e str,
}

impl Project<'_> {
    fn ends(&self, code: i32, arguments: &[&str]) -> String {
        let output = self
            .environment
            .run([&["-C", self.directory], arguments].concat())
            .unwrap();
        assert_eq!(output.code(), Some(code), "{arguments:?}: {output}");
        format!("{}{}", output.stdout, output.stderr)
    }

    /// Nodes listen where they listen.
    fn leave_listeners(&self) {
        let path = self
            .environment
            .project()
            .join(self.directory)
            .join("topology/engine.yaml");
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once("listeners:\n").expect("the interface is written");
        let is_inside = |line: &&str| line.starts_with(' ') || line.is_empty();
        let behind: Vec<&str> = rest.lines().skip_while(is_inside).collect();
        fs::write(&path, format!("{before}{}\n", behind.join("\n"))).unwrap();
        // What the lock does not know, a plan does not reset.
        let path = self
            .environment
            .project()
            .join(self.directory)
            .join("shardwright.lock");
        let text = fs::read_to_string(&path).unwrap();
        let others: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("mysql-interfaces"))
            .collect();
        fs::write(&path, others.join("\n") + "\n").unwrap();
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.environment.project().join(self.directory).join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}: {text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
    }
}

#[test]
fn a_shop_is_adopted_and_changed_and_no_statement_goes_elsewhere_unnamed() {
    let Some(binary) = real_proxysql("the walk of a shop's nodes") else {
        return;
    };
    let options = ProxySqlOptions::default();
    for node in ["mirrors", "firewall"] {
        let rig = Rig::start(&binary, &options, HOSTGROUPS, &USERS).unwrap();
        load(rig.proxysql(), rig.servers().rows(), node);
        let second = ProxySql::start(&binary, &options).unwrap();
        load(&second, rig.servers().rows(), node);
        let nodes = [rig.proxysql().addresses()[0], second.addresses()[0]];
        let before = nodes.map(ways);
        let asked = before[0].len();
        assert!(asked > 2_000, "{asked}");
        assert_eq!(before[0], before[1]);
        let check = |what: &str, named: &str| {
            for (node, before) in nodes.iter().zip(&before) {
                let moved = elsewhere(before, &ways(*node));
                let unnamed: Vec<&String> = moved
                    .iter()
                    .filter(|way| named.is_empty() || !way.contains(named))
                    .collect();
                assert!(unnamed.is_empty(), "{what}: {unnamed:#?}");
                assert_eq!(moved.is_empty(), named.is_empty(), "{what}: {moved:#?}");
            }
        };
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.set("PX_ADMIN", "admin");
        let source = format!("mysql://admin@{}", rig.proxysql().admin_address());
        for (directory, more) in [("exact", Some("--only-exact")), ("shop", None)] {
            let init = ["init", "--from", &source, "--password-env", "PX_ADMIN"];
            let made = environment
                .run([&init[..], more.as_slice(), &[directory]].concat())
                .unwrap();
            assert_eq!(made.code(), Some(0), "{node}: {made}");
            assert!(made.stdout.contains("proved"), "{node}: {made}");
        }
        let second_target = format!(
            "targets:\n  second: {{engine: proxysql-2.7, admin: \"{}\", user: admin, password: {{env: PX_ADMIN}}}}\n",
            second.admin_address()
        );
        // The rows as they are: nothing changes, on both nodes.
        let exact = Project {
            environment: &environment,
            directory: "exact",
        };
        exact.edit("shardwright.yaml", "targets:\n", &second_target);
        exact.edit("shardwright.yaml", "project: exact", "project: shop");
        exact.leave_listeners();
        // The owner, the message of the firewall, and a row for a user who is refused everything without one.
        let besides = ["  + project ", "  ~ firewall ", "  + firewall.legacy "];
        let plan = exact.ends(0, &["plan"]);
        let changes: Vec<&str> = plan
            .lines()
            .filter(|line| line.starts_with("  +") || line.starts_with("  ~") || line.starts_with("  -"))
            .collect();
        assert!(
            changes
                .iter()
                .all(|line| besides.iter().any(|start| line.starts_with(start))),
            "{node}: {plan}"
        );
        exact.ends(0, &["apply", "--auto-approve"]);
        check("the exact project", "");
        // Rules as objects.
        let shop = Project {
            environment: &environment,
            directory: "shop",
        };
        shop.edit("shardwright.yaml", "targets:\n", &second_target);
        shop.leave_listeners();
        let plan = shop.ends(0, &["plan"]);
        assert!(
            plan.contains("no rule sends a statement elsewhere (proved)"),
            "{node}: {plan}"
        );
        shop.ends(
            0,
            &["apply", "--auto-approve", "--allow", "deletes=lifted to objects"],
        );
        check("the lifted project", "");
        // One tenant moves; the plan names it, and nothing else goes elsewhere.
        shop.edit(
            "topology/rules.yaml",
            "{schemaname: t017, cluster: hg106}",
            "{schemaname: t017, cluster: hg50}",
        );
        let plan = shop.ends(0, &["plan"]);
        assert!(plan.contains("in t017: "), "{node}: {plan}");
        shop.ends(0, &["apply", "--auto-approve"]);
        check("a tenant moves", "in t017:");
        println!("{node}: {asked} statements on each of two nodes, four times");
    }
}
