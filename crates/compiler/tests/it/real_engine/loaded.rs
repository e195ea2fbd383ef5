//! Emitted rules loaded into a real ProxySQL, and its answers compared with the evaluator's.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_proxy::{RefusingPort, RefusingServer};
use shardwright_rules::{
    Configuration, EngineId, EngineSettings, Evaluator, Outcome, Refuser, RegexEngine, SentAs, SessionView,
    Statement,
};
use shardwright_sql::{LexMode, ReadHazards, Shape};
use shardwright_targets::emit;
use shardwright_testkit::{ClientOptions, EngineClient, ProxySqlOptions, Reply, Rig};
use shardwright_topology::model::Project;

/// A compiled project on a real engine, with a numbered server for each of its hostgroups.
pub(super) struct Loaded {
    pub(super) rig: Rig,
    pub(super) compiled: Compiled,
    evaluator: Evaluator,
    statements: Vec<String>,
    /// Users who only read.
    readers: BTreeSet<String>,
    /// A port for each hostgroup that `shardwright refuse` answers for.
    refusing: RefusingServer,
}

impl Loaded {
    pub(super) fn start(binary: &std::path::Path, project: &Project, threads: u32) -> Self {
        Self::start_with(binary, project, threads, RegexEngine::Pcre)
    }

    pub(super) fn start_with(
        binary: &std::path::Path,
        project: &Project,
        threads: u32,
        regex: RegexEngine,
    ) -> Self {
        let settings = EngineSettings {
            regex,
            ..EngineId::Proxysql27.profile().default_settings()
        };
        let options = Options {
            settings: Some(settings),
            ..Options::default()
        };
        let compiled = compile(project, EngineId::Proxysql27, &Lock::default(), &options);
        let configuration = &compiled.configuration;
        let hostgroups = configuration.hostgroups.iter().map(|hostgroup| hostgroup.id.0);
        let users: Vec<&str> = configuration
            .users
            .iter()
            .map(|user| user.name.as_str())
            .collect();
        let options = ProxySqlOptions {
            threads,
            ..ProxySqlOptions::default()
        };
        let rig = Rig::start(binary, &options, hostgroups, &users).unwrap();
        let ports = configuration.refusing.iter().map(|hostgroup| RefusingPort {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            reason: hostgroup.reason.clone(),
        });
        let users = project.topology.users.iter();
        let readers = users.filter(|user| user.reads_only);
        let loaded = Self {
            readers: readers.map(|user| user.name.to_string()).collect(),
            refusing: RefusingServer::start(&ports.collect::<Vec<_>>()).unwrap(),
            statements: emitted(configuration),
            evaluator: Evaluator::new(compiled.configuration.clone()),
            rig,
            compiled,
        };
        loaded.load();
        loaded
    }

    /// The project's rules, users and who refuses.
    pub(super) fn load(&self) {
        self.rig.load(&self.statements).unwrap();
        let admin = self.rig.proxysql().admin_address();
        let hostgroups = self.compiled.configuration.refusing.iter();
        let refusing = hostgroups
            .zip(self.refusing.addresses())
            .map(|(hostgroup, service)| {
                let refuser = match hostgroup.refuser {
                    Refuser::Admin => admin,
                    Refuser::Service => service,
                };
                format!(
                    "REPLACE INTO mysql_servers (hostgroup_id, hostname, port) VALUES ({}, '{}', {})",
                    hostgroup.id,
                    refuser.ip(),
                    refuser.port()
                )
            });
        let load = "LOAD MYSQL SERVERS TO RUNTIME".to_owned();
        self.rig.proxysql().run(refusing.chain([load])).unwrap();
    }

    /// A tenth of a second to connect is not enough where thousands of servers are loaded or reached.
    pub(super) fn be_patient(&self) {
        let patient = [
            "SET mysql-connect_timeout_server_max='10000'",
            "LOAD MYSQL VARIABLES TO RUNTIME",
        ];
        self.rig.proxysql().run(patient).unwrap();
    }

    pub(super) fn client(&self, user: &str, schema: Option<&str>) -> EngineClient {
        let options = ClientOptions {
            user,
            schema,
            ..ClientOptions::default()
        };
        self.rig.client(0, options).unwrap()
    }

    pub(super) fn expected(&self, user: &str, schema: Option<&str>, sql: &str, sent_as: SentAs) -> Outcome {
        let session = SessionView {
            user,
            schema: Some(schema.unwrap_or("information_schema")),
            client_addr: Some("127.0.0.1"),
            ..SessionView::default()
        };
        let statement = Statement::new(sql.as_bytes(), LexMode::default()).sent_as(sent_as);
        self.evaluator.decide(&session, &statement).outcome
    }

    /// Sends a statement and compares; what the engine answers by itself says nothing about rules.
    pub(super) fn check(
        &self,
        client: &mut EngineClient,
        (user, schema): (&str, Option<&str>),
        sql: &str,
    ) -> bool {
        let reply = client.query(sql);
        let expected = self.expected(user, schema, sql, SentAs::Query);
        let what =
            || format!("{user} in {schema:?}: {sql:?}: the engine gave {reply:?}, expected {expected:?}");
        if let Some(hostgroup) = reply.hostgroup() {
            match self.readers.contains(user) {
                true => self.only_reads(hostgroup, sql),
                false => self.is_safe_there(hostgroup, user, sql),
            }
        }
        match (&reply, &expected) {
            (Reply::Ok(_) | Reply::Rows(_), _) => return false,
            // No server runs such a text: the NUL byte stands outside of literals. What it says behind it is obeyed.
            (Reply::Error(9001, _), Outcome::Route(_)) if sql.contains('\0') => return false,
            (Reply::From { hostgroup, text, .. }, Outcome::Route(route)) => {
                assert_eq!(*hostgroup, route.hostgroup.0, "{}", what());
                if let Some(rewritten) = &route.rewritten {
                    assert_eq!(text.as_bytes(), &**rewritten, "{}", what());
                }
            }
            (Reply::Done(hostgroup), Outcome::Route(route)) => {
                assert_eq!(*hostgroup, route.hostgroup.0, "{}", what());
            }
            (Reply::Error(1148, message), Outcome::Reject(rejection)) => {
                assert_eq!(*message, rejection.message, "{}", what());
            }
            _ => panic!("{}", what()),
        }
        true
    }

    /// What a user who only reads has sent to a server: no writer is asked that has readers, and nothing is written.
    fn only_reads(&self, hostgroup: u32, sql: &str) {
        let mut clusters = self.compiled.configuration.clusters.iter();
        let is_writer = clusters.any(|cluster| cluster.writer.0 == hostgroup && cluster.reader.is_some());
        assert!(!is_writer, "{sql:?} reached a writer");
        if sql.contains('\0') {
            return;
        }
        let statement = Statement::new(sql.as_bytes(), LexMode::default());
        let hazards = statement.shape().read_hazards;
        let harmless =
            ReadHazards::UNKNOWN_FUNCTION | ReadHazards::SESSION_FUNCTION | ReadHazards::USER_VARIABLE;
        let passes = hazards.without(harmless).is_empty()
            || statement.is_session_setup()
                && hazards.without(harmless | ReadHazards::NOT_A_SELECT).is_empty()
                && !statement.sets_the_server()
            || statement.begins()
            || statement.follows_transaction();
        assert!(passes, "{sql:?} of a user who only reads: {hazards:?}");
    }

    /// No write and no lock is where only readers are, but for users who have no other hostgroup and rules that are written
    /// out. A NUL byte outside of a
    /// literal is a syntax error at every server; inside of one, the statement has been refused.
    fn is_safe_there(&self, hostgroup: u32, user: &str, sql: &str) {
        let configuration = &self.compiled.configuration;
        let own = configuration.user(user).map(|user| user.default_hostgroup.0);
        let written = |rule: &shardwright_rules::Rule| rule.address.as_str().starts_with("query_rules.");
        if sql.contains('\0') || own == Some(hostgroup) || configuration.graph.rules.iter().any(written) {
            return;
        }
        let only_readers = configuration
            .clusters
            .iter()
            .any(|cluster| cluster.reader.is_some_and(|reader| reader.0 == hostgroup));
        if only_readers {
            let hazards = Shape::of(sql.as_bytes(), LexMode::default()).read_hazards;
            // Functions that are not built in count as reads there, which a finding says.
            let mut rest = hazards.without(ReadHazards::UNKNOWN_FUNCTION);
            // `t IN SHARE MODE` alone is a syntax error; the lexer is careful.
            let words = regex::Regex::new(r"(?i)\b(?:FOR|LOCK)\b").expect("a valid pattern");
            if !words.is_match(sql) {
                rest = rest.without(ReadHazards::LOCKING_READ);
            }
            assert!(rest.is_empty(), "{sql:?} reached readers: {rest:?}");
        }
    }
}

/// The emitted script, but for the addresses of servers and the passwords of users.
fn emitted(configuration: &Configuration) -> Vec<String> {
    let script = emit::sql(configuration).unwrap();
    let is_of = |statement: &&str| {
        ["mysql_users", "mysql_query_rules", "mysql_firewall"]
            .iter()
            .any(|table| statement.contains(&format!(" INTO {table}")))
            || ["SET mysql-query_processor", "SET mysql-firewall"]
                .iter()
                .any(|start| statement.starts_with(start))
    };
    let statements = script.split(";\n").map(without_comments).filter(is_of);
    let passwords = "UPDATE mysql_users SET password='', default_schema=NULLIF(default_schema, '')";
    statements.chain([passwords]).map(str::to_owned).collect()
}

fn without_comments(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    while let Some(comment) = rest.strip_prefix("--") {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    rest
}
