//! `ci/drift` and `ci/issue`: drift opens one issue and closes it, and a target that cannot be read is not drift.

use shardwright_testkit::{CommandEnvironment, ReservedPort};

use super::service::{Fault, Service};
use super::{commit_projects, proxy, shell, shown, succeeds, write_project};
use crate::support::PROGRAM;

/// Looks for drift as a scheduled job does; what the scripts said: `drift`, then the issue.
fn look(
    environment: &CommandEnvironment,
    service: &Service,
    folder: &str,
    is_github: bool,
) -> (String, String) {
    let outputs = environment.outside("outputs");
    if outputs.exists() {
        std::fs::remove_file(&outputs).unwrap();
    }
    let script = "code=0\n\"$SHARDWRIGHT_SOURCE/ci/drift\" >/dev/null || code=$?\n\
                  drift=$(sed -n 's/^drift=//p' \"$GITHUB_OUTPUT\")\n\
                  \"$SHARDWRIGHT_SOURCE/ci/issue\" \"$OUT/drift.md\" \"$drift\"\necho \"$drift $code\" >\"$SAID\"";
    let said = environment.outside("said");
    let of_service = if is_github {
        service.github()
    } else {
        service.gitlab()
    };
    let mut variables: Vec<(&str, &str)> = of_service
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    variables.extend([
        ("GITHUB_OUTPUT", outputs.to_str().unwrap()),
        ("SAID", said.to_str().unwrap()),
        ("DIRECTORY", folder),
        ("OUT", "the reports"),
        ("GITHUB_TOKEN", "a-token"),
        ("GITLAB_TOKEN", "a-token"),
    ]);
    let output = shell(
        &environment.project(),
        &environment.outside("home"),
        script,
        &variables,
    );
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    let drift = std::fs::read_to_string(&said).unwrap().trim().to_owned();
    (drift, printed.trim().to_owned())
}

#[test]
fn drift_opens_one_issue_and_its_end_closes_it() {
    for is_github in [true, false] {
        let service = Service::start("a-token");
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        let (first, second) = (
            proxy(&mut environment, "first"),
            proxy(&mut environment, "second"),
        );
        let folders = ["proxies/the first", "proxies/the second"];
        write_project(&environment, folders[0], first.admin().port());
        write_project(&environment, folders[1], second.admin().port());
        commit_projects(&environment, &folders);
        for folder in folders {
            succeeds(
                &environment.project(),
                &environment,
                &format!("shardwright -C '{folder}' apply --auto-approve"),
            );
        }
        let look = |folder: &str| {
            let (drift, issue) = look(&environment, &service, folder, is_github);
            (drift, issue)
        };
        let said = |drift: &str, issue: &str| (drift.to_owned(), issue.to_owned());
        assert_eq!(look(folders[0]), said("false 0", "none"));
        // Somebody changes what the files of one project say, and applies nothing.
        let topology = environment
            .read(format!("{}/topology/shop.yaml", folders[0]))
            .unwrap();
        let other = topology.replace("cluster: one}", "cluster: two}");
        environment
            .write(format!("{}/topology/shop.yaml", folders[0]), other)
            .unwrap();
        assert_eq!(look(folders[0]), said("true 2", "created 1"));
        assert_eq!(look(folders[0]), said("true 2", "updated 1"));
        // The other project has none, and does not end that of the first.
        assert_eq!(look(folders[1]), said("false 0", "none"));
        let issues = service.issues();
        assert_eq!(issues.len(), 1);
        assert!(
            issues[0].is_open && issues[0].text.contains("### Drift\n"),
            "{issues:?}"
        );
        assert_eq!(issues[0].title, "Drift: proxies/the%20first");
        environment
            .write(format!("{}/topology/shop.yaml", folders[0]), topology)
            .unwrap();
        assert_eq!(look(folders[0]), said("false 0", "closed 1"));
        assert!(!service.issues()[0].is_open);
        // Of a target that cannot be read nothing is known: there is no issue about it.
        let port = second.admin().port();
        drop(second);
        assert_ne!(port, 0);
        assert_eq!(look(folders[1]), said("unknown 1", "none"));
        assert_eq!(service.issues().len(), 1);
    }
}

#[test]
fn a_target_that_cannot_be_read_hides_no_drift_of_the_others() {
    let service = Service::start("a-token");
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let live = proxy(&mut environment, "live");
    let nobody = ReservedPort::new().unwrap();
    write_project(&environment, "shop", live.admin().port());
    let project = environment.read("shop/shardwright.yaml").unwrap();
    commit_projects(&environment, &["shop"]);
    succeeds(
        &environment.project(),
        &environment,
        "shardwright -C shop apply --auto-approve",
    );
    let more = format!(
        "{project}  px-2: {{engine: bundled, admin: \"{}\", user: admin, password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
        nobody.address()
    );
    environment.write("shop/shardwright.yaml", more).unwrap();
    assert_eq!(
        look(&environment, &service, "shop", true),
        ("unknown 1".to_owned(), "none".to_owned())
    );
    let report = environment.read("the reports/drift.md").unwrap();
    assert_eq!(report.lines().nth(1), Some("### Drift is not known"), "{report}");
    let topology = environment.read("shop/topology/shop.yaml").unwrap();
    environment
        .write(
            "shop/topology/shop.yaml",
            topology.replace("cluster: one}", "cluster: two}"),
        )
        .unwrap();
    assert_eq!(
        look(&environment, &service, "shop", true),
        ("true 1".to_owned(), "created 1".to_owned())
    );
}

#[test]
fn an_issue_that_cannot_be_written_fails_the_script() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    environment
        .write("drift.md", "<!-- shardwright:drift env=prod -->\n### Drift\n")
        .unwrap();
    environment.write("empty.md", "").unwrap();
    let service = Service::start("a-token");
    let of_service = service.github();
    let run = |words: &str, token: &str| {
        let mut variables: Vec<(&str, &str)> = of_service
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        variables.push(("GITHUB_TOKEN", token));
        let script = format!("\"$SHARDWRIGHT_SOURCE/ci/issue\" {words}");
        shell(
            &environment.project(),
            &environment.outside("home"),
            &script,
            &variables,
        )
    };
    for (method, fault) in [
        ("POST", Fault::Status("403 Forbidden")),
        ("POST", Fault::Nonsense),
        ("GET", Fault::Close),
    ] {
        service.mend();
        service.fail(method, fault, 10);
        let output = run("drift.md true", "a-token");
        assert_ne!(output.status.code(), Some(0), "{method}: {}", shown(&output));
        assert!(output.stdout.is_empty(), "{method}: {}", shown(&output));
    }
    service.mend();
    for (words, token) in [
        ("drift.md true", ""),
        ("drift.md maybe", "a-token"),
        ("empty.md true", "a-token"),
        ("missing.md false", "a-token"),
        ("drift.md", "a-token"),
    ] {
        let output = run(words, token);
        assert_eq!(output.status.code(), Some(64), "{words}: {}", shown(&output));
    }
    assert!(service.issues().is_empty());
}
