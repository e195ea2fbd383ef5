//! `docs/adopting.md` shows what its commands print. `SHARDWRIGHT_GENERATE=1` writes what they print today.

use std::path::Path;
use std::process::Command;

use shardwright_testkit::CommandEnvironment;

use crate::support::PROGRAM;

/// The first line of a block that is a file says which: `-- rules.sql`.
const FILE: &str = "-- ";

#[test]
fn the_page_shows_what_its_commands_print() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/adopting.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    for name in ["rules.sql", "firewall.sql"] {
        let estate = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/estate");
        let sql = std::fs::read_to_string(estate.join(name)).unwrap();
        environment.write(format!("estate/{name}"), &sql).unwrap();
    }
    let mut fresh = String::new();
    let mut commands = 0;
    let mut blocks = text.split("```");
    while let Some(prose) = blocks.next() {
        fresh += prose;
        let Some(block) = blocks.next() else { break };
        let (language, body) = block.split_once('\n').unwrap();
        fresh += &format!("```{language}\n");
        match language {
            "console" => {
                let lines = body.lines().filter(|line| line.starts_with("$ "));
                for line in lines {
                    let printed = printed(&environment, &line[2..]);
                    fresh += &format!("{line}\n{printed}");
                    commands += 1;
                }
            }
            _ => {
                if let Some((name, _)) = body.strip_prefix(FILE).and_then(|rest| rest.split_once('\n')) {
                    environment.write(name, body).unwrap();
                }
                fresh += body;
            }
        }
        fresh += "```";
    }
    assert!(commands >= 6, "{commands}");
    if std::env::var_os("SHARDWRIGHT_GENERATE").is_some() {
        std::fs::write(&page, &fresh).unwrap();
    }
    let kept = std::fs::read_to_string(&page).unwrap();
    assert!(
        kept == fresh,
        "docs/adopting.md is stale; its commands print this:\n{fresh}"
    );
}

/// What a command prints, with a line break at its end.
fn printed(environment: &CommandEnvironment, command: &str) -> String {
    let printed = match command.strip_prefix("shardwright ") {
        Some(arguments) => {
            let run = environment.run(arguments.split(' ')).unwrap();
            format!("{}{}", run.stdout, run.stderr)
        }
        None => {
            let mut shell = Command::new("sh");
            let run = shell
                .args(["-c", command])
                .current_dir(environment.project())
                .output()
                .unwrap();
            assert!(
                run.status.success(),
                "{command}: {}",
                String::from_utf8_lossy(&run.stderr)
            );
            String::from_utf8(run.stdout).unwrap()
        }
    };
    match printed.trim_end() {
        "" => String::new(),
        text => format!("{text}\n"),
    }
}
