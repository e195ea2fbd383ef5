//! Several targets of one project, for tests: stand-ins for ProxySQL and bundled proxies.

use std::net::SocketAddr;

use serde_json::Value;
use shardwright_testkit::{CommandEnvironment, CommandOutput, ProxyOptions, ProxyProcess, StandIn};

use crate::support::{PASSWORD, PROGRAM};

/// A target that runs.
pub(crate) enum Node {
    ProxySql(StandIn),
    Bundled(Box<ProxyProcess>),
}

impl Node {
    fn admin(&self) -> SocketAddr {
        match self {
            Self::ProxySql(node) => node.admin_address(),
            Self::Bundled(node) => node.admin(),
        }
    }

    /// The stand-in for a ProxySQL.
    pub(crate) fn stand_in(&self) -> &StandIn {
        match self {
            Self::ProxySql(node) => node,
            Self::Bundled(_) => panic!("a bundled proxy is no stand-in"),
        }
    }

    /// The process of a bundled proxy.
    pub(crate) fn process(&self) -> &ProxyProcess {
        match self {
            Self::ProxySql(_) => panic!("a stand-in is no process of its own"),
            Self::Bundled(node) => node,
        }
    }
}

/// A project with targets `p1`, `p2`, … of one engine.
pub(crate) struct Fleet {
    pub(crate) environment: CommandEnvironment,
    pub(crate) nodes: Vec<Node>,
    engine: &'static str,
}

pub(crate) const ENGINES: [&str; 2] = ["proxysql-2.7", "bundled"];

impl Fleet {
    pub(crate) fn start(engine: &'static str, targets: usize) -> Self {
        Self::with_variables(engine, targets, |_| Vec::new())
    }

    /// The same where each bundled proxy has variables of its own, by its number.
    pub(crate) fn with_variables(
        engine: &'static str,
        targets: usize,
        variables: impl Fn(usize) -> Vec<(String, String)>,
    ) -> Self {
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.set("APP_PASSWORD", PASSWORD);
        environment.set("PX_ADMIN", "admin");
        environment.set("USER", "dba");
        let start = |number| match engine {
            "bundled" => {
                let options = ProxyOptions {
                    variables: variables(number),
                    ..ProxyOptions::new(environment.outside(&format!("data{number}")))
                };
                Node::Bundled(Box::new(ProxyProcess::start(&environment, options).unwrap()))
            }
            _ => Node::ProxySql(StandIn::start().unwrap()),
        };
        let nodes = (1..=targets).map(start).collect();
        let fleet = Self {
            environment,
            nodes,
            engine,
        };
        fleet.project("");
        fleet.topology(1, "");
        fleet
    }

    /// The project file, with these lines at its end.
    pub(crate) fn project(&self, more: &str) {
        self.project_at(&self.addresses(), more);
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::admin).collect()
    }

    /// The same with targets at these addresses.
    pub(crate) fn project_at(&self, addresses: &[SocketAddr], more: &str) {
        let engine = self.engine;
        let password = if engine == "bundled" {
            "SHARDWRIGHT_ADMIN_PASSWORD"
        } else {
            "PX_ADMIN"
        };
        let mut text = format!("version: 1\nproject: shop\nengines: [{engine}]\ntargets:\n");
        for (at, address) in addresses.iter().enumerate() {
            text.push_str(&format!(
                "  p{}: {{engine: {engine}, admin: \"{address}\", user: admin, password: {{env: {password}}}}}\n",
                at + 1
            ));
        }
        text.push_str(more);
        self.environment.write("shardwright.yaml", text).unwrap();
    }

    /// The project file where the password of a target, by its number, is not at hand.
    pub(crate) fn lacks_password(&self, number: usize, more: &str) {
        self.project(more);
        let text = self.environment.read("shardwright.yaml").unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let line = lines
            .iter_mut()
            .find(|line| line.starts_with(&format!("  p{number}:")));
        let line = line.unwrap();
        let (before, _) = line.split_once("{env: ").unwrap();
        *line = format!("{before}{{env: NO_SUCH_PASSWORD}}}}");
        self.environment
            .write("shardwright.yaml", lines.join("\n") + "\n")
            .unwrap();
    }

    /// A cluster whose servers have this weight, a user, and these lines.
    pub(crate) fn topology(&self, weight: u32, more: &str) {
        let text = format!(
            "version: 1\nclusters:\n  a:\n    type: replication\n    servers:\n      w: {{host: w.db, weight: {weight}}}\n      \
             r: {{host: r.db}}\nusers:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: a}}\n{more}"
        );
        self.environment.write("topology/shop.yaml", text).unwrap();
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.environment.run(arguments).unwrap()
    }

    /// Runs a command that must end with a code; everything that it said.
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code(), Some(code), "{arguments:?}: {output:?}");
        format!("{}{}", output.stdout, output.stderr)
    }

    pub(crate) fn json(&self, code: i32, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(output.code(), Some(code), "{arguments:?}: {output:?}");
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// The generations that the targets run; nothing of those that cannot be read.
    pub(crate) fn generations(&self) -> Vec<Option<u64>> {
        let output = self.run(&["status", "--format", "json"]);
        let status: Value = serde_json::from_str(&output.stdout).unwrap();
        let of = |at: usize| {
            let name = format!("p{}", at + 1);
            let all = status["targets"].as_array().unwrap();
            let target = all.iter().find(|target| target["target"] == name.as_str())?;
            target["generation"].as_u64()
        };
        (0..self.nodes.len()).map(of).collect()
    }
}
