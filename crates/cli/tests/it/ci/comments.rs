//! `ci/comment` against a service that answers as GitHub and GitLab do, and fails as they do.

use std::process::Output;

use shardwright_testkit::CommandEnvironment;

use super::service::{Fault, Service};
use super::{shell, shown};
use crate::support::PROGRAM;

/// Runs `ci/comment` on a plan; gives what it printed.
fn comment(service: &Service, plan: &str, variables: &[(&str, &str)]) -> Output {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment.write("a plan.md", plan).unwrap();
    let known = [service.github(), service.gitlab()].concat();
    let mut all: Vec<(&str, &str)> = known
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    all.extend(variables);
    let script = "\"$SHARDWRIGHT_SOURCE/ci/comment\" 'a plan.md'";
    shell(&environment.project(), &environment.outside("home"), script, &all)
}

const GITHUB: &[(&str, &str)] = &[("PULL_REQUEST", "12"), ("GITHUB_TOKEN", "a-token")];
const GITLAB: &[(&str, &str)] = &[("CI_MERGE_REQUEST_IID", "12"), ("GITLAB_TOKEN", "a-token")];

#[test]
fn a_change_keeps_one_comment_for_each_marker() {
    for variables in [GITHUB, GITLAB] {
        let service = Service::start("a-token");
        // More than a page of what people said, one of them about the marker.
        for number in 0..130 {
            service.say(&format!("comment {number}\n<!-- shardwright:plan env=prod -->"));
        }
        let said = |plan: &str| {
            let output = comment(&service, plan, variables);
            assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
            assert!(!shown(&output).contains("a-token"));
            shown(&output).trim().to_owned()
        };
        let prod = "<!-- shardwright:plan env=prod -->\n### Plan `1` \"quoted\" \\ and\n| ü |\n";
        assert_eq!(said(prod), "created 131");
        assert_eq!(
            said("<!-- shardwright:plan env=staging -->\n### Plan `2`\n"),
            "created 132"
        );
        let later = prod.replace("`1`", "`3`");
        assert_eq!(said(&later), "updated 131");
        assert_eq!(service.comments().len(), 132);
        assert_eq!(service.comments()[130], later);
    }
}

#[test]
fn a_comment_that_cannot_be_written_says_why() {
    let service = Service::start("a-token");
    let plan = "<!-- shardwright:plan -->\n### Plan `1`\n";
    let refused = comment(
        &service,
        plan,
        &[("PULL_REQUEST", "12"), ("GITHUB_TOKEN", "another")],
    );
    assert_ne!(refused.status.code(), Some(0));
    assert!(shown(&refused).contains("401"), "{}", shown(&refused));
    for (plan, variables, expected) in [
        (plan, &[][..], "neither a merge request"),
        (
            "# Notes\n",
            &[("PULL_REQUEST", "12"), ("GITHUB_TOKEN", "a-token")][..],
            "does not begin with the marker",
        ),
    ] {
        let output = comment(&service, plan, variables);
        assert_eq!(output.status.code(), Some(64), "{}", shown(&output));
        assert!(shown(&output).contains(expected), "{}", shown(&output));
    }
    assert_eq!(service.comments().len(), 0);
}

/// Whatever a request does but succeed, the script fails, says so, and claims nothing.
#[test]
fn a_request_that_fails_fails_the_script() {
    const PLAN: &str = "<!-- shardwright:plan env=prod -->\n### Plan `1`\n";
    let faults = [
        (Fault::Status("403 Forbidden"), "403"),
        (Fault::Status("500 Internal Server Error"), "500"),
        (Fault::Close, "Empty reply"),
        (Fault::Nonsense, ""),
    ];
    for variables in [GITHUB, GITLAB] {
        let service = Service::start("a-token");
        let update = if variables == GITHUB { "PATCH" } else { "PUT" };
        for (method, is_there) in [("GET", false), ("POST", false), (update, true)] {
            for (fault, expected) in faults {
                // An update is not read: its status is all.
                if is_there && matches!(fault, Fault::Nonsense) {
                    continue;
                }
                // curl waits before it sends such a request again: once is enough.
                if variables == GITLAB && method != "POST" && expected == "500" {
                    continue;
                }
                service.mend();
                service.fail(method, fault, 10);
                let before = service.comments();
                let output = comment(&service, PLAN, variables);
                assert_ne!(
                    output.status.code(),
                    Some(0),
                    "{method} {expected}: {}",
                    shown(&output)
                );
                let (printed, told) = (
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr),
                );
                assert_eq!(printed, "", "{method} {expected}");
                assert!(
                    told.contains(expected) && !told.contains("a-token"),
                    "{method}: {told}"
                );
                assert_eq!(service.comments(), before, "{method} {expected}");
                let asked = service.mend();
                let of_method = asked.iter().filter(|asked| *asked == method).count();
                // What adds something is never sent twice.
                assert!(method != "POST" || of_method == 1, "{asked:?}");
            }
            if method == "POST" {
                let output = comment(&service, PLAN, variables);
                assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
            }
        }
    }
}

#[test]
fn a_request_that_fails_once_is_sent_again() {
    let service = Service::start("a-token");
    service.fail("GET", Fault::Status("502 Bad Gateway"), 1);
    let plan = "<!-- shardwright:plan -->\n### Plan `1`\n";
    let output = comment(&service, plan, GITHUB);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(service.comments(), [plan]);
}

#[test]
fn a_fork_without_secrets_is_told_so() {
    let service = Service::start("a-token");
    let plan = "<!-- shardwright:plan -->\n### Plan `1`\n";
    for variables in [
        [("PULL_REQUEST", "12"), ("GITHUB_TOKEN", "")],
        [("CI_MERGE_REQUEST_IID", "12"), ("GITLAB_TOKEN", "")],
    ] {
        let output = comment(&service, plan, &variables);
        assert_eq!(output.status.code(), Some(64), "{}", shown(&output));
        assert!(
            shown(&output).contains("a fork has no secrets"),
            "{}",
            shown(&output)
        );
    }
    // Its own token may not write.
    service.fail("POST", Fault::Status("403 Forbidden"), 1);
    let output = comment(&service, plan, GITHUB);
    assert_ne!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(
        shown(&output).contains("Resource not accessible"),
        "{}",
        shown(&output)
    );
    assert_eq!(service.comments().len(), 0);
}
