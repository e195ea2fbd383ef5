//! Any project through the loader: no panic, the same answer in any order of files, a project exactly where nothing is wrong.
//!
//! The input is a text with lines `# file: PATH` between files, as the fixtures in `tests/invalid` are.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_diagnostics::render;
use shardwright_topology::{InputFile, Loaded, Options, PROJECT_FILE, load};

const PROJECT: &str = "version: 1\nengines: [bundled, proxysql-2.7]\n";

fuzz_target!(|bytes: &[u8]| {
    if makes_many(bytes) {
        return;
    }
    let mut files = files(bytes);
    let first = load(files.clone(), &Options::default());
    assert_eq!(first.project.is_some(), !first.problems.has_errors());
    assert_eq!(first.project.is_some(), first.fault.is_none());
    let shown = shown(&first);
    let _ = render::json::render(&first.problems, &first.sources);
    if let Some(project) = &first.project {
        let origins = &project.origins;
        for id in origins.iter() {
            let _ = first.sources.display(origins.span(id));
        }
    }
    // Which of two files with one path comes first is the caller's choice.
    if has_paths_twice(&files) {
        return;
    }
    files.reverse();
    let second = load(files, &Options::default());
    assert_eq!(first.project, second.project, "the order of files matters");
    assert_eq!(
        shown,
        self::shown(&second),
        "the order of files matters to problems"
    );
});

fn shown(loaded: &Loaded) -> String {
    render::text::render(&loaded.problems, &loaded.sources, false)
}

fn files(bytes: &[u8]) -> Vec<InputFile> {
    let mut files = vec![InputFile {
        path: "topology/fuzz.yaml".to_owned(),
        bytes: Vec::new(),
    }];
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let path = line
            .strip_prefix(b"# file: ")
            .and_then(|path| std::str::from_utf8(path).ok());
        match (path, files.last_mut()) {
            (Some(path), _) => files.push(InputFile {
                path: path.trim_end().to_owned(),
                bytes: Vec::new(),
            }),
            (None, Some(file)) => file.bytes.extend_from_slice(line),
            (None, None) => {}
        }
    }
    if files.iter().all(|file| file.path != PROJECT_FILE) {
        files.push(InputFile {
            path: PROJECT_FILE.to_owned(),
            bytes: PROJECT.into(),
        });
    }
    files
}

fn has_paths_twice(files: &[InputFile]) -> bool {
    let mut paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    paths.windows(2).any(|pair| pair[0] == pair[1])
}

/// Generators may make two million objects, which is right and slow; here, ranges have three digits on each side.
fn makes_many(bytes: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    bytes.windows(2).enumerate().any(|(at, pair)| {
        let before = bytes[..at].iter().rev().take_while(|byte| is_digit(byte)).count();
        let behind = bytes[at + 2..].iter().skip_while(|byte| **byte == b'-');
        pair == b".." && (before > 3 || behind.take_while(|byte| is_digit(byte)).count() > 3)
    })
}
