//! Whatever the files hold: no panic, the same answer each time, and an end.

use proptest::prelude::*;
use shardwright_diagnostics::render;
use shardwright_topology::{Fault, InputFile, Loaded, Options, load, read_project};

const SAMPLE: &str = include_str!("../valid/supported.yaml");

fn shown(loaded: &Loaded) -> String {
    render::text::render(&loaded.problems, &loaded.sources, false)
}

fn load_bytes(path: &str, bytes: Vec<u8>) -> Loaded {
    let project = InputFile {
        path: "shardwright.yaml".into(),
        bytes: crate::support::PROJECT.into(),
    };
    load(
        vec![
            project,
            InputFile {
                path: path.into(),
                bytes,
            },
        ],
        &Options::default(),
    )
}

/// Words that steer a text into the deeper parts of resolution.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "clusters",
        "users",
        "shard_maps",
        "shards",
        "key",
        "key_from",
        "keys",
        "ranges",
        "for_each",
        "overrides",
        "servers",
        "type",
        "single",
        "integer",
        "text",
        "comment",
        "schema",
        "one",
        "host",
        "query_rules",
        "rules",
        "otherwise",
        "1..9",
        "$(n)",
        "t$(n)",
        "$(n / 0)",
        "$(key:03)",
        "n",
        "{",
        "}",
        "[",
        "]",
        ", ",
        ": ",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "&a ",
        "*a",
        "null",
        "017",
        "NO",
        "'",
        "\"",
        "!",
        "variables",
        "default",
        "$(var.x)",
        "x",
        "modulo",
        "domain",
    ];
    prop_oneof![8 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,3}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = load_bytes("topology/x.yaml", bytes.clone());
        let _ = load(vec![InputFile { path: "shardwright.yaml".into(), bytes }], &Options::default());
    }

    #[test]
    fn no_words_panic_and_the_answer_is_always_the_same(words in proptest::collection::vec(piece(), 0..80)) {
        let text = words.concat();
        let first = load_bytes("topology/x.yaml", text.clone().into_bytes());
        let second = load_bytes("topology/x.yaml", text.into_bytes());
        prop_assert_eq!(shown(&first), shown(&second));
        prop_assert_eq!(&first.project, &second.project);
        prop_assert_eq!(first.project.is_some(), !first.problems.has_errors());
    }

    #[test]
    fn a_sample_with_a_cut_or_a_changed_place_does_not_panic(at in 0usize..4000, cut in 0usize..40, put in piece()) {
        let mut text = SAMPLE.to_owned();
        let floor = |text: &str, at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let from = floor(&text, at);
        let to = floor(&text, from + cut);
        text.replace_range(from..to, &put);
        let first = crate::support::load_text("sample", &text);
        let second = crate::support::load_text("sample", &text);
        prop_assert_eq!(shown(&first), shown(&second));
    }
}

#[test]
fn the_order_of_files_has_no_influence() {
    let mut files = crate::support::files("sample", SAMPLE);
    let clusters = "clusters:\n  extra: {type: single, servers: {s: {host: h}}}\n";
    files.push(InputFile {
        path: "topology/a.yaml".into(),
        bytes: clusters.into(),
    });
    let forward = load(files.clone(), &Options::default());
    files.reverse();
    let backward = load(files, &Options::default());
    assert_eq!(forward.project, backward.project);
    assert!(forward.project.is_some(), "{}", shown(&forward));
}

#[test]
fn a_directory_is_read_with_its_subdirectories() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    };
    write("shardwright.yaml", crate::support::PROJECT);
    write(
        "topology/b/c.yaml",
        "clusters:\n  two: {type: single, servers: {s: {host: h}}}\n",
    );
    write(
        "topology/a.yaml",
        "clusters:\n  one: {type: single, servers: {s: {host: h}}}\n",
    );
    write("topology/notes.txt", "not YAML: [");
    write("topology/.hidden.yaml", "not YAML: [");
    write("tests/x.yaml", "not YAML: [");
    let loaded = read_project(directory.path(), &Options::default());
    assert_eq!(shown(&loaded), "");
    let project = loaded.project.expect("nothing is wrong");
    assert_eq!(
        project.topology.clusters.names().collect::<Vec<_>>(),
        ["one", "two"]
    );
}

#[test]
fn what_a_directory_lacks_is_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let said = |loaded: &Loaded| {
        let codes: Vec<String> = loaded
            .problems
            .sorted()
            .iter()
            .map(|problem| problem.code.to_string())
            .collect();
        (loaded.fault, codes)
    };
    let load = || read_project(directory.path(), &Options::default());
    assert_eq!(
        said(&load()),
        (Some(Fault::ProjectFile), vec!["SW110".to_owned()])
    );
    std::fs::write(directory.path().join("shardwright.yaml"), crate::support::PROJECT)
        .expect("it can be written");
    assert_eq!(said(&load()), (Some(Fault::Document), vec!["SW111".to_owned()]));
    std::fs::create_dir(directory.path().join("topology")).expect("it can be made");
    std::fs::write(directory.path().join("topology/a.yml"), "").expect("it can be written");
    assert_eq!(said(&load()).1, ["SW111", "SW111"]);
    std::fs::create_dir(directory.path().join("topology/b.yaml")).expect("it can be made");
    std::fs::write(directory.path().join("topology/c.yaml"), [0xff, 0xfe]).expect("it can be written");
    assert_eq!(said(&load()).0, Some(Fault::Document));
    std::fs::write(directory.path().join("shardwright.yaml"), "").expect("it can be written");
    assert_eq!(said(&load()).0, Some(Fault::ProjectFile));
    std::fs::remove_file(directory.path().join("shardwright.yaml")).expect("it can be removed");
    std::fs::create_dir(directory.path().join("shardwright.yaml")).expect("it can be made");
    assert_eq!(said(&load()).0, Some(Fault::ProjectFile));
}

#[test]
fn generators_inside_each_other_end_at_the_limit() {
    let nested = "clusters:\n  c$(n):\n    for_each: {n: 1..3}\n    type: replication\n    servers:\n      s$(k): {for_each: {k: 1..1999999}, host: h}\n";
    let loaded = load_bytes("topology/x.yaml", nested.into());
    assert!(shown(&loaded).contains("SW123"), "{}", shown(&loaded));
}

#[test]
fn a_flood_of_problems_ends() {
    let preferred = vec!["s"; 100_000].join(", ");
    let cluster = "clusters:\n  c$(n): {for_each: {n: 1..1000}, type: replication, servers: {s: {host: h}}, writer_preference: [";
    let loaded = load_bytes(
        "topology/x.yaml",
        format!("{cluster}{preferred}]}}\n").into_bytes(),
    );
    assert_eq!(loaded.problems.counts().error, 99_999);
    assert!(loaded.project.is_none());
}

#[test]
fn deep_trees_and_alias_bombs_are_refused() {
    let deep = format!("clusters: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(load_bytes("topology/x.yaml", deep.into_bytes()).project.is_none());
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let one = format!("*a{}, ", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", one.repeat(10)));
    }
    assert!(load_bytes("topology/x.yaml", bomb.into_bytes()).project.is_none());
}

#[test]
fn data_files_stand_below_the_directory_of_the_project() {
    let outside = tempfile::tempdir().expect("a directory");
    let secret = outside.path().join("secret.csv");
    std::fs::write(&secret, "id\n1\n").expect("it can be written");
    let directory = tempfile::tempdir().expect("a directory");
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    };
    let users = |path: &str| {
        let generator = format!("{{from: {{csv: {path}, column: id}}}}");
        let text = format!(
            "clusters:\n  one: {{type: single, servers: {{s: {{host: h}}}}}}\nusers:\n  \
             app_$(n): {{for_each: {{n: {generator}}}, password: {{env: P}}, cluster: one}}\n"
        );
        write("topology/a.yaml", &text);
        read_project(directory.path(), &Options::default())
    };
    write("shardwright.yaml", crate::support::PROJECT);
    write("data/ids.csv", "id,name\n7,seven\n8,eight\n");
    let loaded = users("data/ids.csv");
    assert_eq!(shown(&loaded), "");
    let users_read = loaded.project.expect("nothing is wrong").topology.users;
    assert_eq!(users_read.names().collect::<Vec<_>>(), ["app_7", "app_8"]);

    assert!(shown(&users("data")).contains("data files end in .csv"));
    write("data/bytes.csv", "id\n");
    std::fs::write(directory.path().join("data/bytes.csv"), b"id\n\xff\n").expect("it can be written");
    assert!(shown(&users("data/bytes.csv")).contains("is not UTF-8 at byte 3"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&secret, directory.path().join("link.csv")).expect("it can be made");
        let told = shown(&users("link.csv"));
        assert!(told.contains("is outside the project's directory"), "{told}");
    }
}
