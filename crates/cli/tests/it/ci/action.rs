//! The steps of `action.yml`, run in order as the runner of GitHub runs them, in scratch repositories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_yaml::Value;
use shardwright_testkit::CommandEnvironment;

use super::service::Service;
use super::{commit_projects, proxy, repository, shell, shown, succeeds, write_project};
use crate::support::PROGRAM;

/// A run of the action.
struct Run<'e> {
    environment: &'e CommandEnvironment,
    /// Where the repository under review is checked out.
    workspace: PathBuf,
    /// Where the action is.
    action: PathBuf,
    /// What expressions can name, such as `inputs.plan` and `github.event_name`.
    context: BTreeMap<String, String>,
    /// The environment of the job.
    variables: Vec<(String, String)>,
    has_failed: bool,
    /// The names of the steps that ran.
    ran: Vec<String>,
    printed: String,
}

impl<'e> Run<'e> {
    fn new(
        environment: &'e CommandEnvironment,
        workspace: &Path,
        action: &Path,
        inputs: &[(&str, &str)],
    ) -> Self {
        let mut context = BTreeMap::from([
            (
                "runner.temp".to_owned(),
                environment.outside("runner temp").display().to_string(),
            ),
            ("runner.os".to_owned(), "Linux".to_owned()),
            ("runner.arch".to_owned(), "X64".to_owned()),
            ("github.token".to_owned(), "a-token".to_owned()),
            ("github.event_name".to_owned(), "pull_request".to_owned()),
            ("github.event.pull_request.number".to_owned(), "12".to_owned()),
            ("github.action_ref".to_owned(), "main".to_owned()),
        ]);
        let description = description();
        let declared = description["inputs"].as_mapping().unwrap();
        for (name, input) in declared {
            let default = input["default"].as_str().unwrap_or_default();
            let name = name.as_str().unwrap();
            let given = inputs.iter().find(|(given, _)| *given == name);
            let value = given.map_or(default, |(_, value)| value);
            let value = substituted(value, &context, false);
            context.insert(format!("inputs.{name}"), value);
        }
        for (name, _) in inputs {
            assert!(declared.contains_key(*name), "no input {name}");
        }
        Self {
            environment,
            workspace: workspace.to_owned(),
            action: action.to_owned(),
            context,
            variables: vec![("GITHUB_ACTIONS".to_owned(), "true".to_owned())],
            has_failed: false,
            ran: Vec::new(),
            printed: String::new(),
        }
    }

    fn of_service(mut self, service: &Service) -> Self {
        let variables = service.github().into_iter();
        self.variables
            .extend(variables.map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// Runs every step whose condition holds.
    fn steps(mut self) -> Self {
        let description = description();
        for step in description["runs"]["steps"].as_sequence().unwrap() {
            let name = step["name"].as_str().unwrap();
            let condition = step["if"].as_str().unwrap_or("success()");
            let holds = is_true(&evaluated(condition, &self.context, self.has_failed));
            let runs = holds && (!self.has_failed || condition.contains("always()"));
            if runs {
                self.ran.push(name.to_owned());
                self.step(step);
            }
        }
        self
    }

    fn step(&mut self, step: &Value) {
        let Some(script) = step["run"].as_str() else {
            let used = step["uses"].as_str().unwrap();
            assert!(used.starts_with("actions/cache@"), "{used}");
            let key = substituted(step["with"]["key"].as_str().unwrap(), &self.context, false);
            self.context.insert("cache.key".to_owned(), key);
            // It was found.
            self.context
                .insert("steps.cache.outputs.cache-hit".to_owned(), "true".to_owned());
            return;
        };
        assert!(
            !script.contains("${{"),
            "a script gets values from its environment: {script}"
        );
        let outputs = self.environment.outside("step outputs");
        std::fs::write(&outputs, "").unwrap();
        let mut variables = self.variables.clone();
        variables.push(("GITHUB_OUTPUT".to_owned(), outputs.display().to_string()));
        variables.push(("GITHUB_ACTION_PATH".to_owned(), self.action.display().to_string()));
        for (name, value) in step["env"].as_mapping().into_iter().flatten() {
            let value = substituted(value.as_str().unwrap(), &self.context, self.has_failed);
            variables.push((name.as_str().unwrap().to_owned(), value));
        }
        let variables: Vec<(&str, &str)> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let output = shell(
            &self.workspace,
            &self.environment.outside("home"),
            script,
            &variables,
        );
        self.printed.push_str(&shown(&output));
        self.has_failed |= !output.status.success();
        let id = step["id"].as_str().unwrap_or_default();
        for line in std::fs::read_to_string(&outputs).unwrap().lines() {
            let (name, value) = line.split_once('=').unwrap();
            self.context
                .insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
    }

    /// An output of the action.
    fn output(&self, name: &str) -> String {
        let description = description();
        substituted(
            description["outputs"][name]["value"].as_str().unwrap(),
            &self.context,
            false,
        )
    }
}

fn description() -> Value {
    let text = std::fs::read_to_string(repository().join("action.yml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

/// A text with the values of its `${{ }}`.
fn substituted(text: &str, context: &BTreeMap<String, String>, has_failed: bool) -> String {
    let Some((before, rest)) = text.split_once("${{") else {
        return text.to_owned();
    };
    let (expression, after) = rest.split_once("}}").unwrap();
    let value = evaluated(expression, context, has_failed);
    format!("{before}{value}{}", substituted(after, context, has_failed))
}

/// What an expression of GitHub Actions means, as far as `action.yml` has them: `||`, `&&`, `==`, `!=`, `format`, `always`, names
/// and literals. Truth is any text but the empty one and `false`.
fn evaluated(expression: &str, context: &BTreeMap<String, String>, has_failed: bool) -> String {
    let part = |text: &str| evaluated(text, context, has_failed);
    let expression = expression.trim();
    if let Some((left, right)) = expression.split_once("||") {
        let left = part(left);
        return if is_true(&left) { left } else { part(right) };
    }
    if let Some((left, right)) = expression.split_once("&&") {
        let left = part(left);
        return if is_true(&left) { part(right) } else { left };
    }
    if let Some((left, right)) = expression.split_once("!=") {
        return (part(left) != part(right)).to_string();
    }
    if let Some((left, right)) = expression.split_once("==") {
        return (part(left) == part(right)).to_string();
    }
    if let Some(text) = expression
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
    {
        return text.to_owned();
    }
    if let Some(arguments) = expression
        .strip_prefix("format(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        let (template, value) = arguments.split_once(',').unwrap();
        return part(template).replace("{0}", &part(value));
    }
    match expression {
        "always()" => "true".to_owned(),
        "success()" => (!has_failed).to_string(),
        name => {
            assert!(name.contains('.'), "{name} is not understood");
            context.get(name).cloned().unwrap_or_default()
        }
    }
}

fn is_true(value: &str) -> bool {
    !value.is_empty() && value != "false"
}

#[test]
fn two_projects_in_a_shallow_detached_clone_have_a_comment_each() {
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
    // As actions/checkout does: one commit, no branch.
    let clone = environment.outside("a clone");
    succeeds(
        &environment.project(),
        &environment,
        &format!(
            "git clone --quiet --depth 1 \"file://$PWD\" '{0}'\ngit -C '{0}' checkout --quiet --detach",
            clone.display()
        ),
    );
    let review = |folder: &str| {
        let inputs = [
            ("directory", folder),
            ("plan", "true"),
            ("program", PROGRAM),
            ("reports", "the reports"),
        ];
        Run::new(&environment, &clone, &repository(), &inputs)
            .of_service(&service)
            .steps()
    };
    for (folder, expected) in [
        (folders[0], "created 1"),
        (folders[1], "created 2"),
        (folders[0], "updated 1"),
    ] {
        let run = review(folder);
        assert!(!run.has_failed, "{}", run.printed);
        assert_eq!(run.ran, ["Check", "Comment"]);
        assert_eq!(run.output("changes"), "true");
        assert!(run.printed.contains(expected), "{}", run.printed);
        assert!(clone.join(run.output("plan")).is_file());
    }
    let comments = service.comments();
    assert_eq!(comments.len(), 2);
    assert!(
        comments[0].starts_with("<!-- shardwright:plan directory=proxies/the%20first -->\n"),
        "{}",
        comments[0]
    );
    // What was committed for the pipeline is what a person has: a plan against main needs its commits.
    let output = shell(
        &clone,
        &environment.outside("home"),
        "shardwright -C 'proxies/the first' prove equivalent git:HEAD~1 .",
        &[],
    );
    assert_eq!(output.status.code(), Some(64), "{}", shown(&output));
    assert!(
        shown(&output).contains("the clone is shallow"),
        "{}",
        shown(&output)
    );
}

#[test]
fn a_change_that_is_wrong_has_no_plan_and_no_comment() {
    let service = Service::start("a-token");
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let live = proxy(&mut environment, "live");
    write_project(&environment, "shop", live.admin().port());
    commit_projects(&environment, &["shop"]);
    let topology = environment.read("shop/topology/shop.yaml").unwrap();
    environment
        .write(
            "shop/topology/shop.yaml",
            topology.replace("cluster: one}", "cluster: no}"),
        )
        .unwrap();
    let inputs = [("directory", "shop"), ("plan", "true"), ("program", PROGRAM)];
    let workspace = environment.project();
    let run = Run::new(&environment, &workspace, &repository(), &inputs)
        .of_service(&service)
        .steps();
    assert!(run.has_failed);
    assert_eq!(
        (run.ran, run.context.get("steps.check.outputs.changes")),
        (vec!["Check".to_owned()], None)
    );
    assert!(service.comments().is_empty());
    // Every report is there for the steps of the workflow that upload them.
    for report in ["lint.sarif", "test.xml"] {
        assert!(
            environment.read(format!("shardwright-reports/{report}")).is_ok(),
            "{report}"
        );
    }
}

#[test]
fn a_fork_without_secrets_does_not_pass() {
    let service = Service::start("a-token");
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let live = proxy(&mut environment, "live");
    write_project(&environment, "shop", live.admin().port());
    commit_projects(&environment, &["shop"]);
    let inputs = [("directory", "shop"), ("plan", "true"), ("program", PROGRAM)];
    let workspace = environment.project();
    let mut run = Run::new(&environment, &workspace, &repository(), &inputs).of_service(&service);
    // A secret that is not there is an empty text.
    run.variables
        .push(("SHARDWRIGHT_ADMIN_PASSWORD".to_owned(), String::new()));
    let run = run.steps();
    assert!(run.has_failed, "{}", run.printed);
    assert!(
        run.printed.contains("SHARDWRIGHT_ADMIN_PASSWORD"),
        "{}",
        run.printed
    );
    assert_eq!(run.ran, ["Check"]);
    // Its checks need none.
    let inputs = [("directory", "shop"), ("program", PROGRAM)];
    let mut run = Run::new(&environment, &workspace, &repository(), &inputs).of_service(&service);
    run.variables
        .push(("SHARDWRIGHT_ADMIN_PASSWORD".to_owned(), String::new()));
    let run = run.steps();
    assert!(!run.has_failed, "{}", run.printed);
}

#[test]
fn drift_of_the_action_opens_an_issue_and_fails_the_job() {
    let service = Service::start("a-token");
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let live = proxy(&mut environment, "live");
    write_project(&environment, "shop", live.admin().port());
    commit_projects(&environment, &["shop"]);
    let workspace = environment.project();
    let look = || {
        let inputs = [
            ("directory", "shop"),
            ("drift", "true"),
            ("issue", "true"),
            ("program", PROGRAM),
        ];
        Run::new(&environment, &workspace, &repository(), &inputs)
            .of_service(&service)
            .steps()
    };
    // Nothing was applied yet.
    let run = look();
    assert_eq!(
        (run.has_failed, run.output("drift").as_str()),
        (true, "true"),
        "{}",
        run.printed
    );
    assert_eq!(run.ran, ["Drift", "Issue"]);
    assert!(run.printed.contains("created 1"), "{}", run.printed);
    succeeds(
        &workspace,
        &environment,
        "shardwright -C shop apply --auto-approve",
    );
    let run = look();
    assert_eq!(
        (run.has_failed, run.output("drift").as_str()),
        (false, "false"),
        "{}",
        run.printed
    );
    assert!(run.printed.contains("closed 1"), "{}", run.printed);
}

#[test]
fn the_key_of_the_cache_follows_the_sources() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let action = environment.outside("the action");
    for (path, text) in [
        ("Cargo.toml", "a"),
        ("Cargo.lock", "b"),
        ("crates/cli/src/main.rs", "c"),
        ("docs/rules/SW201.md", "d"),
        ("examples/world/shardwright.yaml", "e"),
        ("schemas/plan.v1.json", "f"),
        (
            "ci/revision",
            &std::fs::read_to_string(repository().join("ci/revision")).unwrap(),
        ),
    ] {
        let path = action.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    succeeds(&action, &environment, "chmod +x ci/revision");
    let workspace = environment.project();
    let key = || {
        let run = Run::new(&environment, &workspace, &action, &[]).steps();
        // The checks that follow have no program.
        assert_eq!(
            run.ran[..2],
            ["Name the revision of the program", "Find the built program"],
            "{}",
            run.printed
        );
        run.context["cache.key"].clone()
    };
    let before = key();
    assert!(
        before.starts_with("shardwright-Linux-X64-") && before.len() > 60,
        "{before}"
    );
    assert_eq!(key(), before);
    std::fs::write(action.join("crates/cli/src/main.rs"), "c2").unwrap();
    assert_ne!(key(), before);
}

#[test]
fn the_templates_name_scripts_that_are_there_and_variables_that_they_read() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    let action = read("action.yml");
    for script in ["check", "comment", "drift", "issue", "revision"] {
        assert!(action.contains(&format!("ci/{script}\"")), "{script}");
    }
    for script in ["check", "comment", "drift", "issue"] {
        assert!(
            read("ci/gitlab.yml").contains(&format!("\"$scripts/{script}\"")),
            "{script}"
        );
        assert!(repository().join("ci").join(script).is_file(), "{script}");
    }
    let check = read("ci/check");
    for variable in [
        "SHARDWRIGHT",
        "DIRECTORY",
        "ENVIRONMENT",
        "BASELINE",
        "PLAN",
        "OUT",
    ] {
        assert!(check.contains(&format!("#   {variable} ")), "{variable}");
        assert!(action.contains(&format!("        {variable}: ")), "{variable}");
    }
}
