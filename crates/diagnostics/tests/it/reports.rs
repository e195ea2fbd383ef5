//! Report files: what each format holds, and that it is what the format's readers expect.

use proptest::prelude::*;
use quick_xml::events::Event;
use serde_json::Value;
use shardwright_diagnostics::{
    Applicability, Case, CaseOutcome, Code, CodeDoc, Diagnostic, Edit, NoteKind, Problems, Proof, Report,
    Sources, Span, Tool, Witness, render,
};

const UNKNOWN: Code = Code::new("SW901");
const SHADOWED: Code = Code::new("SW902");
const PAGES: &[CodeDoc] = &[CodeDoc {
    code: UNKNOWN,
    title: "a key is not known",
    page: "Unknown keys are errors.\n",
}];
const TOOL: Tool<'_> = Tool {
    command: "lint",
    version: "0.1.0",
    pages: PAGES,
};

/// An error, a warning of a generator with everything that a finding can carry, and a note without a place.
fn sample() -> Report {
    let mut sources = Sources::new();
    let shop = sources.add("topology/shop 1.yaml", "a: 1\nclustres: {}\n");
    let legacy = sources.add("topology/legacy.yaml", "x:\n  y: 1\n");
    let mut problems = Problems::new();
    problems.push(
        Diagnostic::error(UNKNOWN, "unknown key `clustres`")
            .at(Span::new(shop, 5, 13), "not known here")
            .did_you_mean(Some("clusters")),
    );
    for instance in ["n=1", "n=2", "n=3"] {
        problems.push(
            Diagnostic::warning(SHADOWED, "rule <never> matches, 100%")
                .at(Span::new(legacy, 0, 10), "")
                .also(Span::new(shop, 0, 1), "taken here")
                .with_note(NoteKind::Example, "SELECT 1 /* ]]> & */\nFROM t")
                .instance(instance)
                .address("query_rules.legacy")
                .proof(Proof::Proved)
                .rule_ids([20, 21])
                .witness(Witness {
                    user: "app".to_owned(),
                    schema: String::new(),
                    query: "SELECT 1".to_owned(),
                })
                .fix(
                    Applicability::Unsafe,
                    vec![Edit {
                        span: Span::new(legacy, 3, 3),
                        text: "z: 2\n".to_owned(),
                    }],
                ),
        );
    }
    problems.push(Diagnostic::info(SHADOWED, "nothing is wrong ``` here"));
    Report::new(&problems, &sources, "./shop/")
}

#[test]
fn json_has_every_part() {
    insta::assert_snapshot!(render::json::write(&sample()));
}

#[test]
fn github_escapes_what_its_runner_would_read() {
    insta::assert_snapshot!(render::github::write(&sample()), @r"
    ::error file=shop/topology/shop 1.yaml,line=2,endLine=2,col=1,endColumn=9,title=SW901::unknown key `clustres`%0Ahelp: did you mean `clusters`?
    ::warning file=shop/topology/legacy.yaml,line=1,endLine=3,title=SW902::rule <never> matches, 100%25%0Aexample: SELECT 1 /* ]]> & */%0AFROM t%0Aexample: user=app  SELECT 1%0Ain instance n=1 and 2 more
    ::notice title=SW902::nothing is wrong ``` here
    ");
}

#[test]
fn markdown_keeps_the_users_text_in_fences() {
    insta::assert_snapshot!(render::markdown::write(&sample()));
}

#[test]
fn junit_reads_like_a_test_run() {
    let mut report = sample();
    report.cases = vec![
        Case {
            suite: "tests/routes.yaml".to_owned(),
            name: "reads of tenant 17".to_owned(),
            outcome: CaseOutcome::Passed,
        },
        Case {
            suite: "tests/routes.yaml".to_owned(),
            name: "writes \"quoted\"".to_owned(),
            outcome: CaseOutcome::Failed,
        },
    ];
    report.failure = Some("target px-a1: unreachable".to_owned());
    insta::assert_snapshot!(render::junit::write(&report, TOOL));
}

#[test]
fn a_run_without_problems_is_one_passed_case() {
    insta::assert_snapshot!(render::junit::write(&Report::default(), TOOL), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="shardwright lint" tests="1" failures="0" errors="0">
      <testsuite name="shardwright lint" tests="1" failures="0" errors="0" skipped="0">
        <testcase classname="lint" name="no problems"/>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn sarif_has_every_part() {
    insta::assert_snapshot!(render::sarif::write(&sample(), TOOL));
}

/// The published schema; see `tests/data/sarif/README.md`.
fn sarif_schema() -> jsonschema::Validator {
    let schema: Value =
        serde_json::from_str(include_str!("../data/sarif/sarif-schema-2.1.0.json")).expect("JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

fn violations(schema: &jsonschema::Validator, log: &Value) -> Vec<String> {
    schema
        .iter_errors(log)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn sarif_is_valid_by_the_published_schema() {
    let schema = sarif_schema();
    let mut failed = sample();
    failed.failure = Some("target px-a1: unreachable".to_owned());
    for report in [Report::default(), sample(), failed] {
        let mut log: Value = serde_json::from_str(&render::sarif::write(&report, TOOL)).expect("JSON");
        assert_eq!(violations(&schema, &log), Vec::<String>::new(), "{log:#}");
        log["runs"][0]["results"] = serde_json::json!([{"level": "fatal"}]);
        assert!(!violations(&schema, &log).is_empty(), "the schema is not asked");
    }
}

/// Every element with what `junit-10.xsd` allows in it and requires of it.
fn check_junit(xml: &str) -> usize {
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut path: Vec<String> = Vec::new();
    let mut cases = 0;
    loop {
        let event = reader.read_event().expect("well-formed");
        match &event {
            Event::Start(element) | Event::Empty(element) => {
                let name = element.name().as_ref().to_owned();
                let (parent, required): (&[&str], &[&str]) = match name.as_str() {
                    "testsuites" => (&[], &["tests", "failures", "errors"]),
                    "testsuite" => (&["testsuites"], &["name", "tests", "failures", "errors"]),
                    "testcase" => (&["testsuite"], &["name", "classname"]),
                    "failure" | "error" => (&["testcase"], &["type", "message"]),
                    "skipped" | "system-out" => (&["testcase"], &[]),
                    other => panic!("{other} is not in the schema"),
                };
                assert!(
                    path.last().is_none_or(|last| parent.contains(&last.as_str())),
                    "{name} in {path:?}"
                );
                for attribute in required {
                    assert!(
                        element
                            .try_get_attribute(attribute)
                            .expect("attributes")
                            .is_some(),
                        "{name} without {attribute}"
                    );
                }
                cases += usize::from(name == "testcase");
                if matches!(event, Event::Start(_)) {
                    path.push(name);
                }
            }
            Event::End(_) => {
                path.pop();
            }
            Event::Eof => return cases,
            _ => {}
        }
    }
}

#[test]
fn junit_has_a_case_for_each_problem() {
    assert_eq!(check_junit(&render::junit::write(&sample(), TOOL)), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_the_text_every_format_stays_well_formed(
        path in "([a-z /:%#?<&\"\u{1b}]|\\PC){1,12}",
        text in "([a\n\r\t\0\u{1b}\u{fffe}`<>&'\"%:,]|\\PC){0,40}",
        start in 0u32..50,
        end in 0u32..50,
    ) {
        let mut sources = Sources::new();
        let file = sources.add(path, text.clone());
        let problems: Problems = std::iter::once(
            Diagnostic::error(UNKNOWN, text.clone())
                .at(Span::new(file, start, end), text.clone())
                .also(Span::new(file, end, start), text.clone())
                .help(text.clone())
                .instance(text.clone())
                .address(text.clone()),
        )
        .collect();
        let mut report = Report::new(&problems, &sources, "dir");
        report.failure = Some(text);
        let log: Value = serde_json::from_str(&render::sarif::write(&report, TOOL)).expect("JSON");
        prop_assert_eq!(violations(&sarif_schema(), &log), Vec::<String>::new());
        prop_assert_eq!(check_junit(&render::junit::write(&report, TOOL)), 2);
        prop_assert_eq!(render::github::write(&report).lines().count(), 2);
        let _: Value = serde_json::from_str(&render::json::write(&report)).expect("JSON");
        let markdown = render::markdown::write(&report);
        prop_assert!(markdown.starts_with("### shardwright: 1 error\n"));
    }
}
