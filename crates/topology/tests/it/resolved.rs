//! The resolved topology: what is shown, and that it means what the project means.

use proptest::prelude::*;
use shardwright_diagnostics::render;
use shardwright_topology::model::Topology;
use shardwright_topology::resolved::{Form, Part, Request, write};
use shardwright_topology::{InputFile, Loaded, Options, load};

const SAMPLE: &str = include_str!("../valid/supported.yaml");

fn shown(loaded: &Loaded, (part, form): (Part, Form), only: &[&str]) -> String {
    let only: Vec<String> = only.iter().map(|address| (*address).to_owned()).collect();
    let mut out = Vec::new();
    let request = Request {
        part,
        form,
        only: &only,
    };
    let missed = write(&loaded.documents, &loaded.sources, request, &mut out).expect("memory takes all");
    assert_eq!(missed, [""; 0]);
    String::from_utf8(out).expect("it is text")
}

/// A topology without what is only about where things were written.
fn meaning(topology: &Topology) -> String {
    let mut text = format!("{topology:#?}");
    for part in ["OriginId", "overridden: Some"] {
        let mut plain = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(&format!("{part}(")) {
            plain.push_str(before);
            let close = after.find(')').expect("it is closed");
            rest = &after[close + 1..];
        }
        plain.push_str(rest);
        text = plain;
    }
    text.replace("overridden: None", "")
        .split_whitespace()
        .filter(|word| *word != ",")
        .collect::<Vec<_>>()
        .join(" ")
}

fn check_means_the_same(loaded: &Loaded) -> String {
    let problems = render::text::render(&loaded.problems, &loaded.sources, false);
    let project = loaded.project.as_ref().unwrap_or_else(|| panic!("{problems}"));
    let text = shown(loaded, (Part::Topology, Form::Yaml), &[]);
    let files = [
        ("shardwright.yaml", crate::support::PROJECT),
        ("topology/resolved.yaml", &text),
    ];
    let files = files.map(|(path, text)| InputFile {
        path: path.into(),
        bytes: text.into(),
    });
    let again = load(files.into(), &Options::default());
    let problems = render::text::render(&again.problems, &again.sources, false);
    let second = again
        .project
        .as_ref()
        .unwrap_or_else(|| panic!("{problems}\n{text}"));
    assert_eq!(meaning(&second.topology), meaning(&project.topology), "{text}");
    assert_eq!(
        strip(&shown(&again, (Part::Topology, Form::Yaml), &[])),
        strip(&text),
        "resolving again changes nothing"
    );
    text
}

/// Lines without their comments.
fn strip(text: &str) -> String {
    text.lines()
        .map(|line| line.split("  # ").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

const SMALL: &str = "# with: -e prod
# with: --var replicas=2
# file: shardwright.yaml
version: 1
engines: [bundled, proxysql-2.7]
environments: [prod]
# file: topology/pay.yaml
version: 1
variables: {region: {default: eu}, replicas: {type: integer, default: 1}, zone: {default: a}}
clusters:
  s-$(n:02):
    for_each: {n: 1..3, except: [2]}
    type: replication
    servers: {db$(k): {for_each: {k: \"1..$(var.replicas)\"}, host: \"s$(n)-$(k).$(var.region)\", port: $(3300 + n)}}
users: {app: {password: {env: APP_PASSWORD}, cluster: s-01}}
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{comment: {exact: \"$(key:03)\"}}, {schema: \"t_$(var.zone)_$(key)\"}]
    shards: {t$(n): {for_each: {n: 1..2}, keys: [$(n), $(n + 10)], cluster: s-01}}
    overrides: {t2: {cluster: s-03, reason: OPS-4411}}
# file: env/prod.yaml
variables: {region: us}
patch:
  clusters.s-03.servers.db2.host: elsewhere
  users.app.schema: \"$$(not a template)\"
";

#[test]
fn values_come_with_their_origins() {
    let loaded = crate::support::load_text("pay", SMALL);
    let text = check_means_the_same(&loaded);
    insta::assert_snapshot!(text);
}

#[test]
fn the_same_is_there_as_data() {
    let loaded = crate::support::load_text("pay", SMALL);
    let only = ["clusters.s-03.servers.db2", "users.app"];
    let text = shown(&loaded, (Part::Topology, Form::Json), &only);
    let data: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(
        data["topology"]["clusters"]["s-03"]["servers"]["db2"]["port"],
        3303
    );
    assert_eq!(data["topology"]["users"]["app"]["schema"], "$(not a template)");
    insta::assert_snapshot!(text);
}

#[test]
fn addresses_choose_what_is_shown() {
    let loaded = crate::support::load_text("pay", SMALL);
    let text = shown(
        &loaded,
        (Part::Topology, Form::Yaml),
        &["clusters.s-01.servers.db1.port"],
    );
    insta::assert_snapshot!(text, @r"
    clusters:
      s-01:  # topology/pay.yaml:4, n=1
        servers:
          db1:  # topology/pay.yaml:7, n=1, k=1
            port: 3301  # topology/pay.yaml:7, n=1, k=1
    ");
    let only = ["clusters.s-02".to_owned(), "clusters".to_owned()];
    let request = Request {
        part: Part::Topology,
        form: Form::Yaml,
        only: &only,
    };
    let missed = write(&loaded.documents, &loaded.sources, request, &mut std::io::sink());
    assert_eq!(missed.expect("a sink takes all"), ["clusters.s-02"]);
}

#[test]
fn the_project_file_is_shown_too() {
    let loaded = crate::support::load_text("supported", SAMPLE);
    let text = shown(
        &loaded,
        (Part::Project, Form::Yaml),
        &["ids", "safety", "targets.local"],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn all_samples_and_examples_mean_the_same_when_resolved() {
    check_means_the_same(&crate::support::load_text("supported", SAMPLE));
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for example in std::fs::read_dir(examples).expect("they are there") {
        let directory = example.expect("it can be listed").path();
        let listed = shardwright_topology::read_project(&directory, &Options::default());
        let environments = listed
            .project
            .map_or_else(Vec::new, |project| project.file.environments);
        let names = environments
            .iter()
            .map(|environment| Some(environment.name.to_string()));
        for environment in names.chain([None]) {
            let options = Options {
                environment,
                ..Options::default()
            };
            let loaded = shardwright_topology::read_project(&directory, &options);
            if loaded.project.is_some() {
                check_means_the_same(&loaded);
            }
        }
    }
}

#[test]
fn secrets_in_the_clear_are_not_shown() {
    let fixture = "# with: --var db_password=canary-1\nvariables: {db_password: {}, api_token: {default: canary-2}}\n\
        clusters: {c: {type: single, servers: {s: {host: h}}}}\n\
        users: {a: {password: canary-3, cluster: c}, b: {password: {env: B, previous: canary-4}, cluster: c}}\n";
    let loaded = crate::support::load_text("secrets", fixture);
    assert!(loaded.project.is_some());
    for form in [Form::Yaml, Form::Json] {
        let text = shown(&loaded, (Part::Topology, form), &[]);
        assert!(!text.contains("canary"), "{text}");
    }
}

/// Any text that the language takes for a name of a schema.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "(NO|017|1_000|12:30|null|~|true|-|- a|a: b|a #b|#|\\*a|&a|!a|%a|@a|`a`)",
        "[ -~]{1,16}",
        "\\PC{1,8}",
    ]
    .prop_filter("only blanks are nothing", |text| !text.trim().is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_topology_means_the_same_when_resolved(
        schema in text(),
        reason in text(),
        region in "[a-z.]{1,6}|[0-9]{1,3}",
        count in 1..6u32,
        servers in 1..3u32,
        width in 1..4usize,
        typed in any::<bool>(),
        patch in 0..4u32,
    ) {
        let quote = |text: &str| serde_json::to_string(&text.replace("$(", "$$(")).expect("text");
        let (schema, reason) = (quote(&schema), quote(&reason));
        let (kind, format) = if typed { ("integer", format!(":0{width}")) } else { ("text", String::new()) };
        let patch = match patch {
            0 => "version: 1".to_owned(),
            1 => format!("patch: {{clusters.c-1x.servers.s1.reason: {reason}}}"),
            2 => format!("patch: {{clusters.c-1x.servers: {{a: {{host: h}}, b: {{host: \"h$(n)\", reason: {reason}}}}}}}"),
            _ => format!("patch: {{users.app.schema: {schema}, clusters.c-1x.tls: verify}}"),
        };
        let fixture = format!(
            "# with: -e prod\n# file: shardwright.yaml\nversion: 1\nengines: [bundled]\nenvironments: [prod]\n\
             # file: topology/t.yaml\nvariables: {{region: {{default: \"{region}\"}}, n: {{type: integer, default: {count}}}}}\n\
             clusters:\n  c-$(n)x:\n    for_each: {{n: \"1..$(var.n)\"}}\n    type: replication\n    servers:\n      \
             s$(k): {{for_each: {{k: 1..{servers}}}, host: \"$(n)-$(k).$(var.region)\", port: $(n * 10), max_connections: $(k)}}\n\
             users: {{app: {{password: {{env: A}}, cluster: c-1x}}, other: {{password: {{file: f}}, cluster: \"c-$(var.n)x\", schema: {schema}}}}}\n\
             shard_maps:\n  m:\n    key: {{name: k, type: {kind}}}\n    key_from: [{{schema: \"t$(var.region)_$(key{format})\"}}, comment: {{}}]\n    \
             shards: {{t$(n): {{for_each: {{n: 1..{count}}}, keys: [$(n:0{width})], cluster: \"c-$(n)x\"}}}}\n\
             # file: env/prod.yaml\n{patch}\n"
        );
        check_means_the_same(&crate::support::load_text("t", &fixture));
    }
}
