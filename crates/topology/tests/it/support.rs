//! Loading fixtures: one text may hold several files, each behind a line `# file: PATH`. A line `# with: -e NAME` or
//! `# with: --var NAME=VALUE` is an option of the command.

use shardwright_topology::{InputFile, Loaded, Options, load};

pub(crate) const PROJECT: &str = "version: 1\nengines: [bundled, proxysql-2.7]\n";

/// The files of a fixture. Text in front of the first `# file:` line is `topology/FIXTURE.yaml`; a project file is
/// added where the fixture has none.
pub(crate) fn files(name: &str, fixture: &str) -> Vec<InputFile> {
    let mut files: Vec<(String, String)> = vec![(format!("topology/{name}.yaml"), String::new())];
    for line in fixture
        .split_inclusive('\n')
        .filter(|line| !line.starts_with(WITH))
    {
        match line.strip_prefix("# file: ") {
            Some(path) => files.push((path.trim_end().to_owned(), String::new())),
            None => files.last_mut().expect("it starts with one").1.push_str(line),
        }
    }
    if files.len() > 1 && files[0].1.is_empty() {
        files.remove(0);
    }
    if files.iter().all(|(path, _)| path != "shardwright.yaml") {
        files.push(("shardwright.yaml".into(), PROJECT.into()));
    }
    files
        .into_iter()
        .map(|(path, text)| InputFile {
            path,
            bytes: text.into_bytes(),
        })
        .collect()
}

const WITH: &str = "# with: ";

/// The options that a fixture is loaded with.
pub(crate) fn options(fixture: &str) -> Options {
    let now = "2026-11-20T12:00:00Z".parse().expect("it is a time");
    let mut options = Options {
        now: Some(now),
        ..Options::default()
    };
    for option in fixture.lines().filter_map(|line| line.strip_prefix(WITH)) {
        match option.split_once(' ').expect("an option and its value") {
            ("-e", name) => options.environment = Some(name.to_owned()),
            ("--var", given) => {
                let (name, value) = given.split_once('=').expect("NAME=VALUE");
                options.variables.insert(name.to_owned(), value.to_owned());
            }
            (other, _) => panic!("no option is named {other}"),
        }
    }
    options
}

pub(crate) fn load_text(name: &str, fixture: &str) -> Loaded {
    load(files(name, fixture), &options(fixture))
}
