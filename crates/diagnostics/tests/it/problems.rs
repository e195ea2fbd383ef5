//! Collecting problems and their JSON.

use shardwright_diagnostics::{
    Applicability, Code, Counts, Decided, Diagnostic, Edit, FileId, MAX_KEPT, Problems, Proof, Report,
    Sources, Span, Undecided, Witness, render,
};

const CODE: Code = Code::new("SW999");

fn two_files() -> (Sources, FileId, FileId) {
    let mut sources = Sources::new();
    let one = sources.add("one.yaml", "a: 1\nb: 2\n");
    let two = sources.add("two.yaml", "c: 3\n");
    (sources, one, two)
}

fn messages(problems: &Problems) -> Vec<&str> {
    problems
        .sorted()
        .into_iter()
        .map(|diagnostic| diagnostic.message.as_str())
        .collect()
}

#[test]
fn problems_come_in_file_order_and_those_without_a_place_last() {
    let (_, one, two) = two_files();
    let problems: Problems = [
        Diagnostic::info(CODE, "nowhere"),
        Diagnostic::error(CODE, "two").at(Span::new(two, 0, 1), ""),
        Diagnostic::warning(CODE, "one, later").at(Span::new(one, 5, 6), ""),
        Diagnostic::error(CODE, "one, earlier").at(Span::new(one, 0, 1), ""),
    ]
    .into_iter()
    .collect();
    assert_eq!(
        messages(&problems),
        ["one, earlier", "one, later", "two", "nowhere"]
    );
    assert_eq!(
        problems.counts(),
        Counts {
            error: 2,
            warning: 1,
            info: 1
        }
    );
    assert!(problems.has_errors() && !problems.is_empty());
}

#[test]
fn the_same_problem_is_shown_once_and_counts_its_instances() {
    let (sources, one, _) = two_files();
    let problem = || Diagnostic::error(CODE, "same").at(Span::new(one, 0, 1), "");
    let mut problems: Problems = (1..=200).map(|n| problem().instance(format!("n={n}"))).collect();
    problems.push(problem().instance("n=1"));
    problems.append(
        (201..=205)
            .map(|n| problem().instance(format!("n={n}")))
            .collect(),
    );
    assert_eq!(problems.counts().error, 1);
    let text = render::text::render(&problems, &sources, false);
    assert!(text.contains("in instance n=1 and 204 more\n"), "{text}");
}

#[test]
fn past_the_limit_problems_are_counted_and_errors_take_the_place_of_lesser_ones() {
    let mut problems: Problems = (0..MAX_KEPT + 5)
        .map(|n| Diagnostic::warning(CODE, format!("warning {n}")))
        .collect();
    problems.push(Diagnostic::warning(CODE, format!("warning {}", MAX_KEPT + 1)));
    problems.push(Diagnostic::error(CODE, "the error"));
    assert_eq!(
        problems.counts(),
        Counts {
            error: 1,
            warning: MAX_KEPT + 5,
            info: 0
        }
    );
    assert_eq!(problems.unkept(), 6);
    assert!(messages(&problems).contains(&"the error"));
    let text = render::text::render(&problems, &Sources::new(), false);
    assert!(text.ends_with("and 6 more problems, not shown\n"));

    let mut both = Problems::new();
    both.append(problems.clone());
    both.append(problems);
    assert_eq!(
        both.counts(),
        Counts {
            error: 1,
            warning: MAX_KEPT + 11,
            info: 0
        }
    );
}

#[test]
fn json_has_the_published_shape() {
    let (sources, one, _) = two_files();
    let span = Span::new(one, 5, 9);
    let problems: Problems = [
        Diagnostic::error(CODE, "rule never matches")
            .at(span, "")
            .proof(Proof::Proved)
            .address("query_rules.legacy")
            .rule_ids([20])
            .witness(Witness {
                user: "app".into(),
                schema: "shop".into(),
                query: "SELECT 1".into(),
            })
            .fix(
                Applicability::Unsafe,
                vec![Edit {
                    span,
                    text: "b: 3".into(),
                }],
            ),
        Diagnostic::warning(CODE, "nowhere").instance("n=1"),
    ]
    .into_iter()
    .collect();
    insta::assert_snapshot!(render::json::render(&problems, &sources), @r#"
    {
      "findings": [
        {
          "code": "SW999",
          "severity": "error",
          "proof": "proved",
          "message": "rule never matches",
          "address": "query_rules.legacy",
          "rule_ids": [
            20
          ],
          "file": "one.yaml",
          "line": 2,
          "column": 1,
          "end_line": 2,
          "end_column": 5,
          "notes": [
            {
              "kind": "example",
              "text": "user=app schema=shop  SELECT 1"
            }
          ],
          "witness": {
            "user": "app",
            "schema": "shop",
            "query": "SELECT 1"
          },
          "fix": {
            "applicability": "unsafe",
            "edits": [
              {
                "file": "one.yaml",
                "line": 2,
                "column": 1,
                "end_line": 2,
                "end_column": 5,
                "text": "b: 3"
              }
            ]
          }
        },
        {
          "code": "SW999",
          "severity": "warning",
          "proof": null,
          "message": "nowhere",
          "address": null,
          "instance": "n=1",
          "rule_ids": [],
          "file": null,
          "line": null,
          "column": null,
          "end_line": null,
          "end_column": null,
          "witness": null,
          "fix": null
        }
      ],
      "summary": {
        "error": 1,
        "warning": 1,
        "info": 0
      }
    }
    "#);
    insta::assert_snapshot!(render::json::render(&Problems::new(), &sources), @r#"
    {
      "findings": [],
      "summary": {
        "error": 0,
        "warning": 0,
        "info": 0
      }
    }
    "#);
}

#[test]
fn colour_is_only_where_it_is_wanted() {
    let (sources, one, _) = two_files();
    let problem = Diagnostic::error(CODE, "x").at(Span::new(one, 0, 1), "");
    assert!(render::text::render_one(&problem, &sources, true).contains("\u{1b}["));
    assert!(!render::text::render_one(&problem, &sources, false).contains('\u{1b}'));
}

#[test]
fn what_could_be_decided_is_in_the_summary() {
    let decided = Decided {
        rule_set: "proxysql-2.7".to_owned(),
        asked: 8,
        decided: 6,
        undecided: vec![Undecided {
            construct: "pattern `(?=a)`: look-ahead makes this no regular language".to_owned(),
            rule_ids: vec![10, 20],
        }],
    };
    let report = Report {
        decided: vec![decided],
        ..Report::default()
    };
    insta::assert_snapshot!(render::json::write(&report), @r#"
    {
      "findings": [],
      "summary": {
        "error": 0,
        "warning": 0,
        "info": 0,
        "decided": [
          {
            "rule_set": "proxysql-2.7",
            "asked": 8,
            "decided": 6,
            "share": 0.75,
            "undecided": [
              {
                "construct": "pattern `(?=a)`: look-ahead makes this no regular language",
                "rule_ids": [
                  10,
                  20
                ]
              }
            ]
          }
        ]
      }
    }
    "#);
}
