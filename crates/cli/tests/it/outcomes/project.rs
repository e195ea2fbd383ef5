//! The projects that commands are run in.

use shardwright_testkit::{CommandEnvironment, ProxyOptions, ProxyProcess, ReservedPort};

use crate::support::PROGRAM;

/// What there is before a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// An empty directory.
    Nothing,
    /// A project whose lock is up to date, two rule sets, a log and a series; nothing listens at the target.
    Compiled,
    /// The same, and nobody compiled it.
    NoLock,
    /// A file is not in its form.
    Untidy,
    /// A key that the language does not have.
    Broken,
    /// The project file is none.
    BadProject,
    /// A rule that is never reached.
    Dead,
    /// A route test that does not hold.
    WrongTest,
    /// The target runs, and nothing was applied yet.
    Live,
    /// The target runs what the project says.
    Applied,
    /// The same, and the project says something else since; `change.plan` is a plan for it.
    Changed,
    /// The same, and the plan was applied already.
    Stale,
}

/// A project, and what runs beside it.
pub(super) struct Project {
    pub(super) environment: CommandEnvironment,
    _proxy: Option<ProxyProcess>,
    _port: Option<ReservedPort>,
}

const TOPOLOGY: &str = "\
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
  bulk: {type: single, servers: {a: {host: c.db}}}
users:
  app: {password: {env: APP_PASSWORD}, cluster: shop, schema: app}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t1: {keys: [1], cluster: shop}
      t2: {keys: [2], cluster: bulk}
";

const TESTS: &str = "\
version: 1
route_tests:
  the first tenant:
    session: {user: app}
    query: /* tenant=1 */ SELECT 1
    expect: {cluster: shop}
";

const DEAD_RULES: &str = "\
query_rules:
  own:
    rules:
      - {match_digest: \"^SELECT x\", cluster: shop, apply: 1}
      - {match_digest: \"^SELECT x\", cluster: bulk, apply: 1}
";

const RULES: &str = "\
INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'a.db'), (2, 'b.db');
INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'secret', 1);
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES (1, 1, '^SELECT', 2, 1);
";

/// A rule that no project can hold, of which nothing is proved.
const BEFORE_ALL: &str = "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES (-5, 1, \
                          '^SELECT', 2, 1);\n";

/// A project in a state.
pub(super) fn in_state(state: State) -> Project {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.set("APP_PASSWORD", "a-password");
    if state == State::Nothing {
        return Project {
            environment,
            _proxy: None,
            _port: None,
        };
    }
    let is_live = matches!(
        state,
        State::Live | State::Applied | State::Changed | State::Stale
    );
    let proxy = is_live.then(|| {
        let options = ProxyOptions::new(environment.outside("data"));
        ProxyProcess::start(&environment, options).unwrap()
    });
    let port = ReservedPort::new().unwrap();
    let admin = proxy
        .as_ref()
        .map_or_else(|| port.address(), |proxy| proxy.admin());
    let shard = |name: &str, cluster: &str| {
        TOPOLOGY.replace(
            &format!("{name}, cluster: shop"),
            &format!("{name}, cluster: {cluster}"),
        )
    };
    let topology = match state {
        State::Broken => format!("{TOPOLOGY}clustres: {{}}\n"),
        State::Dead => format!("{TOPOLOGY}{DEAD_RULES}"),
        _ => TOPOLOGY.to_owned(),
    };
    let tests = match state {
        State::WrongTest => TESTS.replace("{cluster: shop}", "{cluster: bulk}"),
        _ => TESTS.to_owned(),
    };
    let file = match state {
        State::BadProject => "version: 1\nengines: [oracle]\n".to_owned(),
        _ => format!(
            "version: 1\nproject: shop\nengines: [bundled, proxysql-2.7]\ntargets:\n  px-1:\n    engine: bundled\n    admin: \"{admin}\"\n    \
             user: admin\n    password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}\n"
        ),
    };
    let files = [
        ("shardwright.yaml", file.as_str()),
        ("topology/shop.yaml", &topology),
        ("tests/routes.yaml", &tests),
        ("rules.sql", RULES),
        ("other.sql", &RULES.replace("'^SELECT', 2", "'^SELECT', 1")),
        ("odd.sql", &format!("{RULES}{BEFORE_ALL}")),
        ("broken.sql", "INSERT INTO nothing VALUES (1);\n"),
        ("broken.yaml", "a: [\n"),
        ("queries.txt", "SELECT 1 FROM t;\nDELETE FROM t;\n"),
    ];
    for (path, text) in files {
        environment.write(path, text).unwrap();
    }
    let run = |words: &[&str]| drop(environment.run(words).unwrap().success());
    if !matches!(state, State::Broken | State::BadProject) {
        run(&["fmt"]);
    }
    if state == State::Untidy {
        let untidy = environment
            .read("tests/routes.yaml")
            .unwrap()
            .replace("version: 1", "version:   1");
        environment.write("tests/routes.yaml", untidy).unwrap();
    }
    if !matches!(state, State::Broken | State::BadProject | State::NoLock) {
        run(&["compile"]);
    }
    if is_live && state != State::Live {
        run(&["apply", "--auto-approve"]);
    }
    if matches!(state, State::Changed | State::Stale) {
        environment
            .write("topology/shop.yaml", shard("t1: {keys: [1]", "bulk"))
            .unwrap();
        let tests = environment
            .read("tests/routes.yaml")
            .unwrap()
            .replace("cluster: shop", "cluster: bulk");
        environment.write("tests/routes.yaml", tests).unwrap();
        run(&["compile"]);
        run(&["plan", "-o", "change.plan"]);
    }
    if state == State::Stale {
        run(&["apply", "change.plan", "--auto-approve"]);
    }
    Project {
        environment,
        _proxy: proxy,
        _port: Some(port),
    }
}
