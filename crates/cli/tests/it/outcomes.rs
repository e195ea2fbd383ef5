//! How every command ends: its exit code, its document with `--format json`, what it writes, and that its reports say the same. The
//! table of `docs/cli-output.md` is what happens here; `SHARDWRIGHT_GENERATE=1` writes it.

mod project;
mod rows;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use shardwright_testkit::{CommandEnvironment, CommandOutput};

use self::project::State;
use self::rows::{ROWS, Row};
use crate::support::PROGRAM;

const BEGIN: &str = "<!-- outcomes -->\n";
const END: &str = "<!-- end -->\n";
/// Keys of a document that the table names.
const MOST_KEYS: usize = 5;

const REPORTS: [&str; 5] = ["json", "sarif", "junit", "markdown", "html"];

/// A row of the table, as it happened.
struct Happened {
    exit: i32,
    document: Value,
    written: Vec<String>,
}

/// The files of the project, but for the reports.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if name.starts_with(".git/") || name.starts_with("reports") {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// What differs; below a directory that is new or holds runs, the directory.
fn written(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let changed = after
        .iter()
        .filter(|(name, text)| before.get(*name) != Some(text));
    let is_new = |directory: &str| {
        let inside = format!("{directory}/");
        !before.keys().any(|known| known.starts_with(&inside))
    };
    let mut names: Vec<String> = changed
        .map(|(name, _)| match name.split_once('/') {
            Some((directory, _)) if directory == ".shardwright" || is_new(directory) => {
                format!("{directory}/")
            }
            _ => name.clone(),
        })
        .collect();
    names.dedup();
    names
}

/// Runs a row; every promise that holds for all rows is checked here.
fn happened(row: &Row) -> Result<Happened, String> {
    let project = project::in_state(row.state);
    let environment = &project.environment;
    let before = files(&environment.project());
    let reports = REPORTS
        .iter()
        .flat_map(|kind| ["--report".to_owned(), format!("{kind}=reports/{kind}")]);
    let words = row.words.iter().map(|word| (*word).to_owned());
    let words: Vec<String> = words.chain(["--format=json".to_owned()]).chain(reports).collect();
    let output = environment.run(&words).unwrap();
    let wrong = |what: String| format!("{}, {}: {what}\n{output}", row.shown(), row.outcome);
    let exit = output.code().unwrap();
    if exit != i32::from(row.exit) {
        return Err(wrong(format!("exit code {exit}, expected {}", row.exit)));
    }
    let document = serde_json::from_str(&output.stdout);
    let document: Value = document.map_err(|error| wrong(format!("not one document: {error}")))?;
    agree(environment, &output).map_err(wrong)?;
    let written = written(&before, &files(&environment.project()));
    Ok(Happened {
        exit,
        document,
        written,
    })
}

/// A failure up to its first address or number, which captured output shows in another form.
fn beginning(failure: &str) -> &str {
    let first = failure.lines().next().unwrap_or_default();
    first
        .split(|letter: char| letter.is_ascii_digit())
        .next()
        .unwrap_or_default()
}

/// Every report says how the run ended.
fn agree(environment: &CommandEnvironment, output: &CommandOutput) -> Result<(), String> {
    let code = output.code().unwrap();
    let report = |kind: &str| {
        environment
            .read(format!("reports/{kind}"))
            .map_err(|error| format!("{kind}: {error}"))
    };
    let json: Value = serde_json::from_str(&report("json")?).unwrap();
    let sarif: Value = serde_json::from_str(&report("sarif")?).unwrap();
    let (junit, markdown, html) = (report("junit")?, report("markdown")?, report("html")?);
    let failure = json["failure"].as_str();
    let explains = [
        "finding error",
        "finding warning",
        "id=\"failure\"",
        "id=\"ending\"",
    ];
    let promises = [
        ("the code in JSON", json["exit_code"] == code),
        (
            "the code in SARIF",
            sarif["runs"][0]["invocations"][0]["exitCode"] == code,
        ),
        (
            "a failed case in JUnit",
            junit.contains("failures=\"0\" errors=\"0\"") == (code == 0),
        ),
        (
            "a reason in Markdown",
            code == 0 || !markdown.starts_with("### shardwright: no problems"),
        ),
        (
            "a reason in HTML",
            code == 0 || explains.iter().any(|part| html.contains(part)),
        ),
        (
            "the reason on the terminal",
            failure.is_none_or(|failure| output.stderr.contains(beginning(failure))),
        ),
    ];
    match promises.into_iter().find(|(_, holds)| !holds) {
        Some((promise, _)) => Err(format!("not so: {promise}\n{json:#}\n{junit}\n{markdown}")),
        None => Ok(()),
    }
}

fn line(row: &Row, happened: &Happened) -> String {
    let keys = |map: &serde_json::Map<String, Value>| {
        let mut keys: Vec<String> = map.keys().take(MOST_KEYS).map(|key| format!("`{key}`")).collect();
        if map.len() > MOST_KEYS {
            keys.push("…".to_owned());
        }
        keys.join(", ")
    };
    let document = match &happened.document {
        Value::Object(map) => keys(map),
        Value::Array(items) => match items.first() {
            Some(Value::Object(map)) => format!("a list of {}", keys(map)),
            _ => "a list".to_owned(),
        },
        other => format!("{other}"),
    };
    let written = happened.written.iter().map(|name| format!("`{name}`"));
    let written: Vec<String> = written.collect();
    format!(
        "| `{}` | {} | {} | {document} | {} |\n",
        row.shown(),
        row.outcome,
        happened.exit,
        written.join(", ")
    )
}

#[test]
fn the_table_is_how_every_command_ends() {
    let mut table =
        "| command | it ends so | exit | the document has | it writes |\n|---|---|---|---|---|\n".to_owned();
    let mut wrong = Vec::new();
    for row in ROWS {
        match happened(row) {
            Ok(happened) => table.push_str(&line(row, &happened)),
            Err(why) => wrong.push(why),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli-output.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the table");
    let (known, after) = rest.split_once(END).expect("the table has an end");
    if std::env::var_os("SHARDWRIGHT_GENERATE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(
        known, table,
        "docs/cli-output.md: SHARDWRIGHT_GENERATE=1 writes it anew"
    );
}

#[test]
fn every_command_has_a_row() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let help = environment.run(["--help"]).unwrap().stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let names = commands.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.len() > 30, "{help}");
    for name in names {
        assert!(ROWS.iter().any(|row| row.words.contains(&name)), "{name}");
    }
}

#[test]
fn every_exit_code_that_a_command_can_choose_has_a_row() {
    // Those of failed applies need targets that fail half-way: crates/cli/tests/it/whole_applies.rs.
    for code in [0, 1, 2, 3, 4, 5, 8, 9, 64, 65, 78] {
        assert!(ROWS.iter().any(|row| row.exit == code), "{code}");
    }
}

#[test]
fn help_that_cannot_be_written_fails() {
    let environment = project::in_state(State::Compiled).environment;
    for words in [&["--help"][..], &["--version"], &["lint", "--help"]] {
        let mut command = environment.command();
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let status = command
            .args(words)
            .stdout(full)
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(1), "{words:?}");
    }
}

#[test]
fn colour_means_the_same_for_help_and_bad_lines() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    for words in [
        &["lint", "--help"][..],
        &["lint", "--no-such-flag"],
        &["validate"],
    ] {
        let run = |color: &str| {
            let mut command = environment.command();
            command
                .args(words)
                .args(["--color", color])
                .env_remove("NO_COLOR")
                .env("CLICOLOR_FORCE", "1");
            let output = command.output().unwrap();
            [output.stdout, output.stderr].concat().contains(&0x1b)
        };
        assert!(!run("never"), "{words:?}");
        assert!(words == ["validate"] || run("always"), "{words:?}");
    }
}

#[test]
fn frames_are_plain_where_the_terminal_is_dumb() {
    let mut environment = project::in_state(State::Broken).environment;
    let drawn = |environment: &CommandEnvironment| {
        let output = environment.run(["validate"]).unwrap();
        assert!(output.stderr.contains("error[SW112]"), "{output}");
        output.stderr
    };
    environment.set("TERM", "dumb");
    assert!(drawn(&environment).is_ascii(), "{}", drawn(&environment));
    environment.set("TERM", "xterm");
    assert!(drawn(&environment).contains('╭'), "{}", drawn(&environment));
}
