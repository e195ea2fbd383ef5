//! Real drivers and tools, against a MariaDB and through the proxy in front of it: each feature has the same outcome, or
//! a reason stands in `tests/clients/exceptions.yaml`. The page `docs/clients.md` is made from what the test saw.
//!
//! `SHARDWRIGHT_CLIENTS=all` also runs the clients that are slow to install, and the drivers' own suites; one or more names run
//! these only.
//! `INSTA_UPDATE=always` writes what was seen, and the page.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod estate;
mod exceptions;
mod observed;
mod page;
mod programs;
mod rust_mysql;
mod server_suite;
mod suites;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::estate::Estate;
use crate::exceptions::Exceptions;
use crate::observed::{Features, Observed};
use crate::programs::{PROGRAMS, Program};

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// What was seen stands here.
fn seen(server: &str, program: &Program) -> PathBuf {
    root().join(format!("tests/clients/seen/{server}/{}.txt", program.name))
}

pub(crate) fn updating() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always")
}

/// What the long mode runs beside the clients.
pub(crate) const SUITES_WORD: &str = "suites";
pub(crate) const SERVER_SUITE_WORD: &str = "mariadb-test";

/// The words of `SHARDWRIGHT_CLIENTS`.
fn wanted() -> Vec<String> {
    let wanted = std::env::var("SHARDWRIGHT_CLIENTS").unwrap_or_default();
    let words = wanted.split([',', ' ']).filter(|name| !name.is_empty());
    words.map(str::to_owned).collect()
}

/// Whether the environment asks for this, or for everything.
pub(crate) fn asks_for(what: &str) -> bool {
    wanted().iter().any(|word| word == what || word == "all")
}

/// The clients that the environment asks for.
fn asked() -> Vec<&'static Program> {
    let words = wanted();
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    for name in &names {
        let known = [SUITES_WORD, SERVER_SUITE_WORD, "all"].contains(name)
            || PROGRAMS.iter().any(|program| program.name == *name);
        assert!(known, "SHARDWRIGHT_CLIENTS: no client is called `{name}`");
    }
    let is_asked = |program: &&Program| match names.as_slice() {
        [] => program.fast,
        ["all"] => true,
        names => names.contains(&program.name),
    };
    PROGRAMS.iter().filter(is_asked).collect()
}

/// Runs clients two at a time, each directly and then through the proxy.
fn observe(
    estate: &Estate,
    programs: &[&'static Program],
) -> BTreeMap<&'static str, Result<Observed, String>> {
    let left = Mutex::new(programs.iter());
    let observed = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(program) = { left.lock().unwrap().next() } {
            let both = observed::run_both(estate, program);
            observed.lock().unwrap().insert(program.name, both);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    observed.into_inner().unwrap()
}

#[test]
fn clients_see_no_difference() {
    let programs = asked();
    let features = Features::read(&root().join("tests/clients"));
    let mut failures = Vec::new();
    for (name, observed) in observe(&Estate::start(), &programs) {
        let observed = match observed {
            Ok(observed) => observed,
            Err(failure) => {
                failures.push(format!("{name}: {failure}"));
                continue;
            }
        };
        failures.extend(
            features
                .unknown(&observed)
                .map(|feature| format!("{name}: unknown feature `{feature}`")),
        );
        let program = PROGRAMS.iter().find(|program| program.name == name).unwrap();
        let text = observed.to_string();
        if updating() {
            std::fs::write(seen(estate::server_name(), program), &text).unwrap();
        }
        let expected = std::fs::read_to_string(seen(estate::server_name(), program)).unwrap_or_default();
        if expected != text {
            failures.push(format!(
                "{name}: other outcomes than in {}:\n{}",
                seen(estate::server_name(), program).display(),
                diff(&expected, &text)
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Holds for all clients, also those that did not run now.
#[test]
fn every_difference_has_a_reason_and_the_page_shows_it() {
    let directory = root().join("tests/clients");
    let features = Features::read(&directory);
    let path = root().join("docs/clients.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut fresh = page.clone();
    for server in ["mariadb", "mysql"] {
        let exceptions = Exceptions::read(&directory.join("exceptions.yaml"), server);
        let read = |program: &'static Program| {
            let path = seen(server, program);
            let text = std::fs::read_to_string(&path);
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (program, Observed::parse(&text))
        };
        let all: Vec<_> = PROGRAMS.iter().map(read).collect();
        let problems = exceptions.problems(&all);
        assert!(problems.is_empty(), "{server}: {}", problems.join("\n"));
        fresh = match server {
            "mariadb" => page::refreshed(&fresh, "seen", &page::whole(&features, &exceptions, &all)),
            _ => page::refreshed(&fresh, "seen on MySQL", &page::summary(&exceptions, &all)),
        };
    }
    fresh = page::refreshed(&fresh, "seen of MariaDB's suite", &server_suite::part());
    if updating() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(
            page == fresh,
            "docs/clients.md is stale; INSTA_UPDATE=always writes it:\n{}",
            diff(&page, &fresh)
        );
    }
}

fn diff(old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(0)
        .to_string()
}
