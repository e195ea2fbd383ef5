//! Dumps by `mariadb-dump` and `mysqldump`: through the proxy they are the same, byte for byte, with every option that changes what
//! the program asks; or the program fails, and `tests/clients/dumps` has the reason. A dump that is shorter and succeeds fails the
//! test whatever the reason.
//!
//! `SHARDWRIGHT_DUMPS=all` also dumps all schemas of the server. `INSTA_UPDATE=always` writes the part of `docs/clients.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shardwright_testkit::{Flavour, MariaDb, Options};

use crate::pages::{Part, repository};
use crate::support::{PASSWORD, Setup, USER, create_users, start};

const LONG: &str = "SHARDWRIGHT_DUMPS";
/// Where `--tab` writes, in a line of options.
const DIRECTORY: &str = "$tab";
/// Lines about the moment and the program.
const MOMENTS: [&str; 5] = [
    "-- Host:",
    "-- Dump completed",
    "-- MariaDB dump",
    "-- MySQL dump",
    "-- Server version",
];
/// Lines about a position in the binary log, where each dump that flushes logs has its own.
const POSITIONS: [&str; 4] = ["MASTER_LOG_", "SOURCE_LOG_", "gtid_", "GTID_"];
const PART: Part = Part {
    page: "docs/clients.md",
    begin: "<!-- dumps -->\n",
    end: "<!-- end of dumps -->\n",
};

fn read(name: &str) -> String {
    let path = repository().join("tests/clients/dumps").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The programs of a server's own distribution.
struct Programs {
    server: &'static str,
    client: PathBuf,
    dump: PathBuf,
}

impl Programs {
    fn of(flavour: &Flavour) -> Self {
        match flavour {
            Flavour::MariaDb => Self {
                server: "mariadb",
                client: "mariadb".into(),
                dump: "mariadb-dump".into(),
            },
            Flavour::MySql(program) => Self {
                server: "mysql",
                client: program.with_file_name("mysql"),
                dump: program.with_file_name("mysqldump"),
            },
        }
    }
}

/// A line of options, and the reason for which the program fails through the proxy.
struct Invocation {
    options: String,
    reason: Option<String>,
}

fn invocations(server: &str) -> Vec<Invocation> {
    let text = read(&format!("{server}.txt"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let invocation = |line: &str| match line.split_once(" | ") {
        Some((options, reason)) => Invocation {
            options: options.to_owned(),
            reason: Some(reason.to_owned()),
        },
        None => Invocation {
            options: line.to_owned(),
            reason: None,
        },
    };
    lines.map(invocation).collect()
}

/// What a program gives: its exit status, the dump, and its complaints.
#[derive(PartialEq, Eq)]
struct Dump {
    status: Option<i32>,
    bytes: Vec<u8>,
    complaints: String,
}

struct Stage {
    programs: Programs,
    server: MariaDb,
    files: tempfile::TempDir,
}

impl Stage {
    fn start() -> Self {
        let flavour = Flavour::default();
        let programs = Programs::of(&flavour);
        let mut options = Options::default().arg("--innodb-stats-persistent=OFF");
        options
            .extra_args
            .extend(flavour.logged().iter().map(|word| (*word).to_owned()));
        let server = MariaDb::start(options).unwrap();
        create_users(&server);
        let stage = Self {
            programs,
            server,
            files: tempfile::tempdir().unwrap(),
        };
        stage.load("schema.sql");
        if stage.programs.server == "mariadb" {
            stage.load("mariadb.sql");
        }
        stage
    }

    fn load(&self, name: &str) {
        let path = repository().join("tests/clients/dumps").join(name);
        let mut command = Command::new(&self.programs.client);
        if self.programs.server == "mariadb" {
            command.arg("--no-defaults");
        }
        let output = command
            .arg(format!("--socket={}", self.server.socket().display()))
            .args(["--user=root", "--default-character-set=utf8mb4"])
            .stdin(File::open(path).unwrap())
            .output()
            .unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {complaints}");
    }

    fn dump(&self, port: u16, options: &str) -> Dump {
        let directory = self.files.path().join("tab");
        if directory.exists() {
            fs::remove_dir_all(&directory).unwrap();
        }
        fs::create_dir(&directory).unwrap();
        open_to_all(self.files.path());
        open_to_all(&directory);
        let written = directory.display().to_string();
        let mut command = Command::new(&self.programs.dump);
        match self.programs.server {
            "mariadb" => command.arg("--no-defaults"),
            _ => command.arg("--get-server-public-key"),
        };
        let output = command
            .args(["--host=127.0.0.1", "--protocol=tcp"])
            .arg(format!("--port={port}"))
            .args([format!("--user={USER}"), format!("--password={PASSWORD}")])
            .args(
                options
                    .split_whitespace()
                    .map(|word| word.replace(DIRECTORY, &written)),
            )
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let mut bytes = without_moments(&output.stdout);
        let mut files: Vec<PathBuf> = fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort_unstable();
        for path in files {
            bytes.extend(path.file_name().unwrap().as_encoded_bytes());
            bytes.extend(without_moments(&fs::read(path).unwrap()));
        }
        Dump {
            status: output.status.code(),
            bytes,
            complaints: String::from_utf8_lossy(&output.stderr).replace(&port.to_string(), "PORT"),
        }
    }
}

/// The server writes files as a user of its own.
fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}

fn without_moments(dump: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(dump.len());
    for line in dump.split_inclusive(|byte| *byte == b'\n') {
        let has = |word: &str| line.windows(word.len()).any(|window| window == word.as_bytes());
        if MOMENTS.iter().any(|word| line.starts_with(word.as_bytes())) {
            continue;
        }
        let is_position = line.len() < 4096 && POSITIONS.into_iter().any(has);
        out.extend(line.iter().filter(|byte| !is_position || !byte.is_ascii_digit()));
    }
    out
}

/// The first line that only one of the two dumps has.
fn difference(direct: &Dump, proxied: &Dump) -> String {
    let (direct_text, proxied_text) = (
        String::from_utf8_lossy(&direct.bytes),
        String::from_utf8_lossy(&proxied.bytes),
    );
    let mut pairs = direct_text.lines().zip(proxied_text.lines());
    let first = pairs.find(|(direct, proxied)| direct != proxied);
    format!(
        "status {:?} for {:?}, {} bytes for {}: {first:?}\n{}",
        proxied.status,
        direct.status,
        proxied.bytes.len(),
        direct.bytes.len(),
        proxied.complaints
    )
}

#[test]
fn dumps_are_whole_or_fail_with_a_reason() {
    let stage = Stage::start();
    let proxy = start(&Setup {
        port: stage.server.port(),
        // One cluster, which must have the schemas.
        configuration: Box::new(|configuration| configuration.graph.rules.clear()),
        ..Setup::default()
    });
    let proxied_port = proxy.running().listen_address().port();
    let is_long = std::env::var(LONG).is_ok_and(|value| value == "all");
    let mut problems = Vec::new();
    for invocation in invocations(stage.programs.server) {
        let options = &invocation.options;
        if options.contains("--all-databases") && !is_long {
            continue;
        }
        let direct = stage.dump(stage.server.port(), options);
        let proxied = stage.dump(proxied_port, options);
        match &invocation.reason {
            None if direct == proxied => {}
            None => problems.push(format!("{options}: {}", difference(&direct, &proxied))),
            Some(_) if direct == proxied => {
                problems.push(format!(
                    "{options}: is the same, and has a reason for a difference"
                ));
            }
            Some(_) if proxied.status == Some(0) => {
                problems.push(format!(
                    "{options}: differs in silence: {}",
                    difference(&direct, &proxied)
                ));
            }
            Some(_) => {}
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The names of options at the beginning of a line of the help.
fn options_of(help: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let name = |line: &str| {
        let line = line.trim_start();
        let long = line
            .strip_prefix("--")
            .or_else(|| line.get(1..)?.get(1..)?.strip_prefix(", --"))?;
        let end = long.find(|c| !is_of_name(c)).unwrap_or(long.len());
        Some(long[..end].to_owned()).filter(|name| !name.is_empty())
    };
    // Behind the options, the help lists the values that they have.
    let options = help
        .split("Variables (--variable-name=value)")
        .next()
        .unwrap_or(help);
    options.lines().filter_map(name).collect()
}

#[test]
fn every_option_of_the_program_is_tried() {
    let programs = Programs::of(&Flavour::default());
    let help = Command::new(&programs.dump).arg("--help").output().unwrap();
    assert!(help.status.success());
    let lines = invocations(programs.server);
    let tried: BTreeSet<&str> = lines
        .iter()
        .flat_map(|invocation| invocation.options.split_whitespace())
        .filter_map(|word| word.strip_prefix("--"))
        .map(|word| word.split_once('=').map_or(word, |(name, _)| name))
        .map(|name| name.strip_prefix("skip-").unwrap_or(name))
        .collect();
    let elsewhere = read("not-asked.txt");
    let elsewhere: BTreeSet<&str> = elsewhere
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect();
    let help = String::from_utf8_lossy(&help.stdout);
    let options = options_of(&help);
    assert!(options.len() > 80, "{options:?}");
    let untried: Vec<&String> = options
        .iter()
        .filter(|name| {
            let bare = name.strip_prefix("skip-").unwrap_or(name);
            !tried.contains(bare) && !elsewhere.contains(bare)
        })
        .collect();
    assert!(untried.is_empty(), "not in tests/clients/dumps: {untried:?}");
}

/// The part of the page about one server.
fn part_of_page(program: &str, lines: &[Invocation]) -> String {
    let same: BTreeSet<&str> = lines
        .iter()
        .filter(|line| line.reason.is_none())
        .flat_map(|line| line.options.split_whitespace())
        .filter(|word| word.starts_with("--"))
        .map(|word| if word.starts_with("--tab") { "--tab" } else { word })
        .collect();
    let count = lines.iter().filter(|line| line.reason.is_none()).count();
    let same: Vec<String> = same.iter().map(|word| format!("`{word}`")).collect();
    let mut out = format!(
        "\n`{program}`, {count} of {} invocations: the same bytes. Options: {}.\n\n| options | why the program fails |\n|---|---|\n",
        lines.len(),
        same.join(", ")
    );
    for line in lines {
        if let Some(reason) = &line.reason {
            writeln!(out, "| `{}` | {reason} |", line.options).unwrap();
        }
    }
    out
}

#[test]
fn the_page_shows_which_dumps_are_the_same() {
    let made = [
        part_of_page("mariadb-dump", &invocations("mariadb")),
        part_of_page("mysqldump", &invocations("mysql")),
    ]
    .concat();
    PART.keep(&made);
}
