//! Secrets are planted wherever a reference can find one, and looked for wherever the program leaves something.

use std::path::Path;

use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, ProxyOptions, ProxyProcess, connect, text_rows,
};

use crate::support::PROGRAM;

/// Part of every planted secret.
const CANARY: &str = "canary";
const FORMATS: [&str; 3] = ["human", "json", "markdown"];

const PROJECT: &str = "version: 1
engines: [bundled, proxysql-2.7]
targets:
  local: {engine: bundled, admin: \"127.0.0.1:$(var.admin_port)\", user: admin, password: {env: ADMIN_REFERENCE}}
";
const TOPOLOGY: &str = "version: 1
variables: {admin_port: {type: integer, default: 1}}
clusters:
  pay: {type: single, servers: {db: {host: 127.0.0.1, port: 1}}}
users:
  by-env: {password: {env: BY_ENV, previous: {env: BEFORE}}, cluster: pay}
  by-file: {password: {file: secrets/file}, cluster: pay}
  by-command: {password: {command: [cat, secrets/command]}, cluster: pay}
shard_maps:
  m:
    applies_to: {users: [by-env]}
    key: {name: k, type: integer}
    key_from: [{comment: {}}]
    shards: {one: {keys: [1], cluster: pay}}
";

/// A project whose secrets all hold the canary.
fn planted() -> CommandEnvironment {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write("shardwright.yaml", PROJECT).unwrap();
    environment.write("topology/pay.yaml", TOPOLOGY).unwrap();
    environment.write("secrets/file", "canary-in-file\n").unwrap();
    environment
        .write("secrets/command", "canary-of-command\n")
        .unwrap();
    environment.set("BY_ENV", "canary-in-env");
    environment.set("BEFORE", "canary-before");
    environment.set("ADMIN_REFERENCE", ADMIN_PASSWORD);
    environment.set("SHARDWRIGHT_LOG", "trace");
    environment.set("RUST_LOG", "trace");
    environment
}

/// Everything that the program said and left, each with a name.
#[derive(Default)]
struct Left(Vec<(String, Vec<u8>)>);

impl Left {
    fn run(&mut self, environment: &CommandEnvironment, arguments: &[&str]) -> Option<i32> {
        let output = environment.run(arguments).unwrap();
        let name = arguments.join(" ");
        let code = output.code();
        self.0
            .push((format!("{name}: stdout"), output.stdout.into_bytes()));
        self.0
            .push((format!("{name}: stderr"), output.stderr.into_bytes()));
        code
    }

    /// The command in every format.
    fn run_in_all_formats(&mut self, environment: &CommandEnvironment, arguments: &[&str]) {
        for format in FORMATS {
            self.run(environment, &[arguments, &["--format", format]].concat());
        }
    }

    /// Every file below a directory, but for those that were planted.
    fn files(&mut self, directory: &Path) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("secrets") {
                self.files(&path);
            } else if path.is_file() {
                self.0
                    .push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }

    #[track_caller]
    fn check(&self, secrets: &[&str]) {
        let holds =
            |bytes: &[u8], secret: &str| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        for (name, bytes) in &self.0 {
            for secret in secrets {
                assert!(
                    !holds(bytes, secret),
                    "{name} holds {secret}\n{}",
                    String::from_utf8_lossy(bytes)
                );
            }
        }
    }
}

#[test]
fn no_command_no_file_and_no_log_holds_a_secret() {
    let mut environment = planted();
    let mut options = ProxyOptions::new(environment.outside("data"));
    options.extra_args.push("--allow-secret-commands".to_owned());
    let proxy = ProxyProcess::start(&environment, options).unwrap();
    let port = format!("admin_port={}", proxy.admin().port());
    let mut left = Left::default();
    for arguments in [
        ["validate"].as_slice(),
        &["validate", "--show", "resolved"],
        &["validate", "--show", "project"],
        &["lint"],
        &["compile", "--stats"],
        &["compile", "--emit", "json"],
        &["compile", "--emit", "tree"],
        &["compile", "--emit", "sql", "--engine", "proxysql-2.7"],
        &["compile", "--emit", "json", "--engine", "proxysql-2.7"],
        &["explain", "users.by-env"],
        &["explain", "shard_maps.m"],
        &["route", "--user", "by-env", "/* k=1 */ SELECT 1"],
        &["plan", "--var", &port],
        &["plan", "--var", &port, "-o", "saved.plan"],
        &["show", "saved.plan"],
        &["diff", "--var", &port],
        &["apply", "--auto-approve", "--var", &port],
        &["diff", "--var", &port],
        // Nobody listens on port 1.
        &["plan"],
        &["apply", "saved.plan", "--auto-approve"],
    ] {
        left.run_in_all_formats(&environment, arguments);
    }
    let applied = left.run(&environment, &["diff", "--var", &port]);
    assert_eq!(
        applied,
        Some(0),
        "the users are there, with their secrets resolved"
    );

    for (user, password) in [
        ("by-env", "canary-in-env"),
        ("by-file", "canary-in-file"),
        ("by-command", "canary-of-command"),
        ("by-env", "canary-that-is-wrong"),
        ("nobody", "canary-of-nobody"),
    ] {
        let login = ClientOptions {
            user,
            password,
            schema: None,
        };
        let said = match connect(proxy.listen(), login) {
            // Nobody listens behind it.
            Ok(mut client) => format!("{:?}", text_rows(&mut client, "SELECT 1")),
            Err(error) => error.to_string(),
        };
        let is_refused = said.contains("1045");
        assert_eq!(
            is_refused,
            !password.starts_with("canary-in") && !password.starts_with("canary-of-c"),
            "{said}"
        );
        left.0.push((format!("login of {user}"), said.into_bytes()));
    }
    left.0
        .push(("the proxy's output".to_owned(), proxy.output().into_bytes()));
    left.files(proxy.data_dir());

    for (name, value) in [
        ("ADMIN_REFERENCE", "canary-wrong-password"),
        ("ADMIN_REFERENCE", ""),
    ] {
        environment.set(name, value);
        assert_ne!(left.run(&environment, &["plan", "--var", &port]), Some(0));
        assert_ne!(
            left.run(&environment, &["apply", "--auto-approve", "--var", &port]),
            Some(0)
        );
    }
    left.0
        .push(("the proxy's output".to_owned(), proxy.output().into_bytes()));
    left.files(&environment.project());
    assert!(left.0.len() > 100, "{}", left.0.len());
    left.check(&[CANARY, ADMIN_PASSWORD]);
}

#[test]
fn a_secret_in_the_place_of_a_reference_is_not_repeated() {
    let environment = planted();
    let project = PROJECT.replace("{env: ADMIN_REFERENCE}", "canary-of-target");
    environment.write("shardwright.yaml", project).unwrap();
    let mut left = Left::default();
    for users in [
        "plain: {password: canary-plain, cluster: pay}",
        "quoted: {password: \"canary-quoted\", cluster: nowhere}",
        "number: {password: [canary-in-list], cluster: pay}",
        "previous: {password: {env: A, previous: canary-previous}, cluster: pay}",
        "both: {password: {env: A, password: canary-inside}, cluster: pay}",
        "deep: {password: {env: A, previous: {value: [canary-deep]}}, cluster: pay}",
        "block:\n    password: |\n      canary-in-block\n    cluster: pay",
    ] {
        environment
            .write("topology/literal.yaml", format!("users:\n  {users}\n"))
            .unwrap();
        for arguments in [
            ["validate"].as_slice(),
            &["validate", "--show", "resolved"],
            &["validate", "--show", "project"],
            &["lint"],
            &["compile", "--emit", "json"],
            &["plan"],
            &["validate", "--var", "db_password=canary-var"],
        ] {
            left.run_in_all_formats(&environment, arguments);
        }
    }
    left.check(&[CANARY]);
}

#[test]
fn a_command_that_fails_is_not_quoted() {
    let environment = planted();
    let script = "#!/bin/sh\necho canary-on-stdout\necho canary-on-stderr >&2\nexit 3\n";
    environment.write("secrets/fails", script).unwrap();
    let project = PROJECT.replace("{env: ADMIN_REFERENCE}", "{command: [sh, secrets/fails]}");
    environment.write("shardwright.yaml", project).unwrap();
    let mut left = Left::default();
    for format in FORMATS {
        assert_eq!(left.run(&environment, &["plan", "--format", format]), Some(1));
    }
    left.check(&[CANARY]);
}

/// Values that are no references, each with a canary, as they stand behind a key in a file that somebody has just broken.
const BROKEN_VALUES: [&str; 14] = [
    "canary",
    "'it's-canary'",
    "\"a\" canary",
    "*canary",
    "&canary x",
    "!canary x",
    "{env: A, secret: canary}",
    "{canary",
    "[canary",
    "'canary",
    "\"canary",
    "@canary",
    "%canary: {",
    "|\n        canary",
];
/// Keys of a secret, right and misspelt.
const KEYS: [&str; 5] = ["password", "pasword", "Password", "passwort", "\"password\""];

#[test]
fn no_broken_file_shows_its_secret() {
    let environment = planted();
    let mut left = Left::default();
    let commands: [&[&str]; 6] = [
        &["validate"],
        &["fmt", "--check"],
        &["fmt", "--diff"],
        &["lint"],
        &["test"],
        &["compile", "--emit", "sql"],
    ];
    for key in KEYS {
        for (at, value) in BROKEN_VALUES.iter().enumerate() {
            let users = format!(
                "users:\n  app: {{cluster: pay, {key}: {value}}}\n  bad:\n    {key}: {value}\n    cluster: pay\n"
            );
            environment.write("topology/broken.yaml", users).unwrap();
            let command = [
                commands[at % commands.len()],
                &["--format", FORMATS[at % FORMATS.len()]],
            ]
            .concat();
            left.run(&environment, &command);
            left.run(&environment, &["validate"]);
            environment.write("topology/broken.yaml", "users: {}\n").unwrap();
            // The other file with secrets.
            let targets = PROJECT.replace("password: {env: ADMIN_REFERENCE}", &format!("{key}: {value}"));
            environment.write("shardwright.yaml", targets).unwrap();
            left.run(&environment, &command);
            environment.write("shardwright.yaml", PROJECT).unwrap();
        }
    }
    left.check(&[CANARY]);
}

#[test]
fn no_broken_rule_file_shows_its_secret() {
    let environment = planted();
    let mut left = Left::default();
    for (name, text) in [
        (
            "a.sql",
            "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'a'canary', 10);\n",
        ),
        (
            "b.sql",
            "INSERT INTO mysql_users (username, password) VALUES ('app', \"a\"canary\");\nINSERT INTO mysql_servers (hostgroup_id) VALUES (10);\n",
        ),
        (
            "c.sql",
            "INSERT INTO mysql_users (username, password)\nVALUES\n('app', 'a'canary'),\n('b', 'canary');\n",
        ),
        ("d.sql", "SET mysql-monitor_password='a'canary';\n"),
        (
            "e.sql",
            "UPDATE mysql_users SET password = 'canary WHERE username = 'app';\n",
        ),
        (
            "f.cnf",
            "mysql_users = (\n  { username = \"app\", password = \"a\"canary\", default_hostgroup = 10 }\n)\n",
        ),
        (
            "g.cnf",
            "admin_variables = { admin_credentials = \"admin:a\"canary\" }\n",
        ),
        ("h.cnf", "mysql_variables = { monitor_password = canary }\n"),
        (
            "i.sql",
            "+----------+----------+\n| username | password |\n+----------+----------+\n| app | a | canary |\n+----------+----------+\n",
        ),
    ] {
        environment.write(name, text).unwrap();
        let path = environment.project().join(name).display().to_string();
        left.run_in_all_formats(&environment, &["lint", &path]);
        left.run_in_all_formats(&environment, &["import", &path, "-o", "imported"]);
        left.run_in_all_formats(&environment, &["prove", "equivalent", &path, &path]);
        left.run_in_all_formats(
            &environment,
            &["route", "--rules", &path, "--user", "app", "SELECT 1"],
        );
    }
    left.check(&[CANARY]);
}
