//! Files that are not what they should be: a clear diagnostic, exit 65 or 78, no panic, nothing applied.

use shardwright_testkit::CommandEnvironment;

use crate::support::PROGRAM;

const PROJECT: &str = "version: 1\nengines: [bundled]\n";

/// A topology, and a part of what must be said about it.
fn documents() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let mut bomb = String::from("version: 1\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let previous = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![previous; 9].join(", "));
    }
    let cycle = "version: 1\nclusters: {c: {type: single, servers: {s: {host: h}}}}\nshard_maps:\n"
        .to_owned()
        + "  a: {key: {name: k, type: integer}, key_from: [comment: {}], otherwise: shard_maps.b, shards: {s: {keys: [1], cluster: c}}}\n"
        + "  b: {key: {name: l, type: integer}, key_from: [comment: {}], otherwise: shard_maps.a, shards: {s: {keys: [1], cluster: c}}}\n";
    vec![
        ("malformed", text("version: 1\nclusters: {a: [\n"), "SW101"),
        ("unknown key", text("version: 1\nclustres: {}\n"), "clusters"),
        ("wrong type", text("version: 1\nclusters: 7\n"), "clusters"),
        ("cycle", cycle.into_bytes(), "otherwise"),
        (
            "deep",
            format!(
                "version: 1\nclusters: {}{}\n",
                "[".repeat(5_000),
                "]".repeat(5_000)
            )
            .into_bytes(),
            "SW104",
        ),
        ("alias bomb", bomb.into_bytes(), "SW104"),
        (
            "invalid UTF-8",
            b"version: 1\nusers: {\xff\xfe: {}}\n".to_vec(),
            "SW103",
        ),
        (
            "no such cluster",
            text("version: 1\nusers: {a: {password: {env: A}, cluster: nope}}\n"),
            "nope",
        ),
    ]
}

fn project() -> CommandEnvironment {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write("shardwright.yaml", PROJECT).unwrap();
    environment
}

#[test]
fn bad_documents_end_with_65_from_every_command() {
    for (name, bytes, said) in documents() {
        let environment = project();
        environment.write("topology/a.yaml", bytes).unwrap();
        for command in [
            &["validate"][..],
            &["lint"],
            &["compile"],
            &["plan"],
            &["apply", "--auto-approve"],
        ] {
            let output = environment.run(command).unwrap();
            assert_eq!(output.code(), Some(65), "{name}: {command:?}\n{}", output.stderr);
            let shown = format!("{}{}", output.stdout, output.stderr);
            assert!(shown.contains(said), "{name}: {command:?}\n{shown}");
            assert!(!shown.contains("panicked"), "{name}: {command:?}\n{shown}");
        }
        assert!(
            environment.read("shardwright.lock").is_err(),
            "{name}: nothing is written for a bad topology"
        );
    }
}

#[test]
fn bad_project_files_end_with_78() {
    let empty = CommandEnvironment::new(PROGRAM).unwrap();
    let output = empty.run(["validate"]).unwrap();
    assert_eq!(output.code(), Some(78), "{}", output.stderr);
    assert!(output.stderr.contains("shardwright.yaml"), "{}", output.stderr);
    let output = empty.run(["-C", "elsewhere", "validate"]).unwrap();
    assert_eq!(output.code(), Some(78), "{}", output.stderr);
    assert!(
        output.stderr.contains("there is no directory `elsewhere`"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("project file"), "{}", output.stderr);
    for content in [
        "engines: [",
        "version: 1\nengines: [oracle]\n",
        "version: 9\nengines: [bundled]\n",
        "[]",
        "",
    ] {
        let environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.write("shardwright.yaml", content).unwrap();
        let output = environment.run(["validate"]).unwrap();
        assert_eq!(output.code(), Some(78), "{content:?}\n{}", output.stderr);
        assert!(
            !output.stderr.contains("panicked"),
            "{content:?}\n{}",
            output.stderr
        );
    }
}

#[test]
fn ten_megabytes_are_read_or_refused_and_never_crash() {
    let environment = project();
    let user = |n: usize| {
        format!(
            "  u{n}: {{password: {{env: A}}, cluster: nope, schema: \"{}\"}}\n",
            "x".repeat(900)
        )
    };
    let users: String = (0..11_000).map(user).collect();
    environment
        .write("topology/large.yaml", format!("version: 1\nusers:\n{users}"))
        .unwrap();
    let output = environment.run(["validate"]).unwrap();
    assert_eq!(
        output.code(),
        Some(65),
        "{}",
        output.stderr.chars().take(500).collect::<String>()
    );
    assert!(output.stderr.contains("nope"));
    assert!(
        output.stderr.len() < 4 << 20,
        "{} bytes of diagnostics",
        output.stderr.len()
    );
}
