//! Every project under `examples/`, in each of its environments: it validates, is formatted, compiles, lints clean, passes
//! its route tests, and is planned and applied to a running proxy. A new directory there is picked up by itself.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use serde_json::Value;
use shardwright_testkit::{CommandEnvironment, CommandOutput, ProxyOptions, ProxyProcess};

use crate::support::{PROGRAM, examples};

/// Graphs of at most so many rules are kept whole; of larger ones, the numbers.
const SMALL_SET: u64 = 60;

/// Rules of a set that is large.
const LARGE_SET: u64 = 5_000;

/// An example in one environment.
struct Case {
    example: String,
    overlay: Option<String>,
    engines: Vec<String>,
    directory: CommandEnvironment,
}

#[test]
fn every_example_works_from_validation_to_the_proxy() {
    let cases = cases();
    assert!(cases.len() >= 2, "the examples are gone");
    let failures: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = cases
            .iter()
            .map(|case| (case, scope.spawn(|| case.check())))
            .collect();
        running
            .into_iter()
            .filter_map(|(case, thread)| {
                let wrong = match thread.join() {
                    Ok(result) => result.err()?,
                    Err(panic) => {
                        let text = panic.downcast_ref::<String>().cloned();
                        text.unwrap_or_else(|| "a snapshot differs; see above".to_owned())
                    }
                };
                Some(format!("{}: {wrong}", case.name()))
            })
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn cases() -> Vec<Case> {
    let mut directories: Vec<_> = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("shardwright.yaml").is_file())
        .collect();
    directories.sort();
    directories.iter().flat_map(|path| cases_of(path)).collect()
}

/// One case for each environment of the project; one without where it has none.
fn cases_of(example: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(example.join("shardwright.yaml")).unwrap();
    let project: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let words = |field: &str| -> Vec<String> {
        let items = project[field].as_sequence().into_iter().flatten();
        items
            .map(|item| {
                item.as_str()
                    .or_else(|| item["engine"].as_str())
                    .unwrap()
                    .to_owned()
            })
            .collect()
    };
    let mut overlays: Vec<Option<String>> = words("environments").into_iter().map(Some).collect();
    if overlays.is_empty() {
        overlays.push(None);
    }
    overlays
        .into_iter()
        .map(|overlay| Case {
            example: example.file_name().unwrap().to_str().unwrap().to_owned(),
            overlay,
            engines: words("engines"),
            directory: copy(example),
        })
        .collect()
}

/// A copy of a project, and a password behind everything that its secrets refer to.
fn copy(example: &Path) -> CommandEnvironment {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let mut pending = vec![example.to_owned()];
    let mut yaml = String::new();
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let content = std::fs::read(&path).unwrap();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                yaml += &String::from_utf8_lossy(&content);
            }
            environment
                .write(path.strip_prefix(example).unwrap(), content)
                .unwrap();
        }
    }
    keep_secrets(&mut environment, &yaml);
    environment
}

/// Sets the variables, writes the files and installs the programs that secrets come from.
fn keep_secrets(environment: &mut CommandEnvironment, yaml: &str) {
    const PASSWORD: &str = "a-password-of-an-example";
    let programs = environment.outside("programs");
    std::fs::create_dir_all(&programs).unwrap();
    environment.set("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    for name in words_behind(yaml, "{env: ").filter(|name| name != "SHARDWRIGHT_ADMIN_PASSWORD") {
        environment.set(&name, PASSWORD);
    }
    for path in words_behind(yaml, "{file: secrets/") {
        environment.write(format!("secrets/{path}"), PASSWORD).unwrap();
    }
    for name in words_behind(yaml, "{command: [") {
        let path = programs.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho {PASSWORD}\n")).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
}

fn words_behind(text: &str, marker: &str) -> impl Iterator<Item = String> {
    text.split(marker).skip(1).map(|rest| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        rest.chars().take_while(|c| is_word(*c)).collect()
    })
}

impl Case {
    fn name(&self) -> String {
        match &self.overlay {
            Some(overlay) => format!("{}-{overlay}", self.example),
            None => self.example.clone(),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.succeeds(&["validate"])?;
        if self.knows("fmt") {
            self.succeeds(&["fmt", "--check"])?;
        }
        for engine in &self.engines {
            self.compiles(engine)?;
        }
        self.route_tests()?;
        if self.engines.iter().any(|engine| engine == "bundled") && !self.has_targets_of_its_own() {
            self.is_applied()?;
        }
        Ok(())
    }

    /// Environments with other targets than `local` are planned and applied in `environments.rs`.
    fn has_targets_of_its_own(&self) -> bool {
        let overlay = self.overlay.iter();
        overlay
            .map(|name| self.directory.read(format!("env/{name}.yaml")).unwrap())
            .any(|text| text.contains("targets:"))
    }

    fn run(&self, arguments: &[&str], more: &[String]) -> CommandOutput {
        let overlay = self.overlay.iter().flat_map(|name| ["-e", name]);
        let arguments = arguments
            .iter()
            .copied()
            .chain(overlay)
            .chain(more.iter().map(String::as_str));
        self.directory.run(arguments).unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) -> Result<CommandOutput, String> {
        ends_with(0, self.run(arguments, &[]), arguments)
    }

    /// Whether there is such a command.
    fn knows(&self, command: &str) -> bool {
        self.directory.run([command, "--help"]).unwrap().code() == Some(0)
    }

    /// Compiles, twice to the same; what the graph looks like is a snapshot.
    fn compiles(&self, engine: &str) -> Result<(), String> {
        let stats = self.succeeds(&["compile", "--engine", engine, "--stats", "--format", "json"])?;
        let stats: Value = serde_json::from_str(&stats.stdout).map_err(|error| error.to_string())?;
        let rules = stats["rules"].as_u64().unwrap_or(0);
        let shown = if rules <= SMALL_SET {
            self.succeeds(&["compile", "--engine", engine, "--emit", "tree"])?
                .stdout
        } else {
            numbers(&stats)
        };
        insta::with_settings!({ snapshot_path => "snapshots/examples", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("{}-{engine}", self.name()), shown);
        });
        // A large set takes minutes where nothing is optimised; `make long` asks for it.
        if cfg!(debug_assertions) && rules > LARGE_SET {
            return Ok(());
        }
        self.succeeds(&["compile", "--engine", engine, "--check"])?;
        self.succeeds(&["lint", "--engine", engine]).map(drop)
    }

    fn route_tests(&self) -> Result<(), String> {
        let output = self.succeeds(&["test", "--format", "json"])?;
        let answer: Value = serde_json::from_str(&output.stdout).map_err(|error| error.to_string())?;
        let counts = answer["engines"].as_array().cloned().unwrap_or_default();
        for engine in &self.engines {
            let ran = counts
                .iter()
                .any(|count| count["engine"] == engine.as_str() && count["cases"].as_u64().unwrap_or(0) > 0);
            if !ran {
                return Err(format!("no route test for {engine}"));
            }
        }
        Ok(())
    }

    /// Makes the target `local` the proxy on this port, and gives the arguments that this takes.
    fn local_target(&self, port: u16) -> Vec<String> {
        let project = self.directory.read("shardwright.yaml").unwrap();
        if project.contains("admin: \"127.0.0.1:$(var.admin_port)\"") {
            return vec!["--var".to_owned(), format!("admin_port={port}")];
        }
        assert!(
            !project.contains("\ntargets:"),
            "an example's target `local` is at $(var.admin_port)"
        );
        let target = format!(
            "targets: {{local: {{engine: bundled, admin: \"127.0.0.1:{port}\", user: admin, password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}}}\n"
        );
        self.directory
            .write("shardwright.yaml", project + &target)
            .unwrap();
        Vec::new()
    }

    /// Planned, applied, and nothing is left to change.
    fn is_applied(&self) -> Result<(), String> {
        let mut options = ProxyOptions::new(self.directory.outside("data"));
        options.extra_args.push("--allow-secret-commands".to_owned());
        let proxy = ProxyProcess::start(&self.directory, options).map_err(|error| error.to_string())?;
        let more = self.local_target(proxy.admin().port());
        let plan = ["plan", "--target", "local", "--detailed-exitcode"];
        ends_with(2, self.run(&plan, &more), &plan)?;
        let apply = ["apply", "--target", "local", "--auto-approve"];
        ends_with(0, self.run(&apply, &more), &apply)?;
        ends_with(0, self.run(&plan, &more), &plan).map(drop)
    }
}

fn ends_with(code: i32, output: CommandOutput, arguments: &[&str]) -> Result<CommandOutput, String> {
    if output.code() == Some(code) {
        return Ok(output);
    }
    Err(format!("{arguments:?}, wanted exit {code}\n{output}"))
}

/// The numbers of `compile --stats` that are whole.
fn numbers(stats: &Value) -> String {
    let mut text = String::new();
    for (name, value) in stats.as_object().into_iter().flatten() {
        match value.as_object() {
            None => writeln!(text, "{name}: {value}").unwrap(),
            Some(maps) => {
                for (map, numbers) in maps {
                    writeln!(text, "{name}.{map}:").unwrap();
                    let whole = numbers
                        .as_object()
                        .into_iter()
                        .flatten()
                        .filter(|(_, value)| !value.is_f64());
                    for (name, value) in whole {
                        writeln!(text, "  {name}: {value}").unwrap();
                    }
                }
            }
        }
    }
    text
}
