//! Loading fixtures: one text may hold several files, each behind a line `# file: PATH`.

use shardwright_topology::{InputFile, Loaded, Options, load};

pub(crate) const PROJECT: &str = "version: 1\nengines: [bundled, proxysql-2.7]\n";

/// The files of a fixture. Text in front of the first `# file:` line is `topology/FIXTURE.yaml`; a project file is
/// added where the fixture has none.
pub(crate) fn files(name: &str, fixture: &str) -> Vec<InputFile> {
    let mut files: Vec<(String, String)> = vec![(format!("topology/{name}.yaml"), String::new())];
    for line in fixture.split_inclusive('\n') {
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

pub(crate) fn load_text(name: &str, fixture: &str) -> Loaded {
    let now = "2026-11-20T12:00:00Z".parse().expect("it is a time");
    let options = Options {
        now: Some(now),
        ..Options::default()
    };
    load(files(name, fixture), &options)
}
