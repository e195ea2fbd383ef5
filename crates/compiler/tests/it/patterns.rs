//! Patterns that do not compile: said where they are written, for the library of each engine.

use shardwright_compiler::{CODES, Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{EngineId, EngineSettings, RegexEngine};

use crate::support::{loaded, problems};

const TOPOLOGY: &str = r#"
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
users:
  app: {password: {env: P}, cluster: shop}
read_write_policies:
  rw: {reads: {only: [{match_digest: ["^SELECT [a"]}]}}
throttles:
  t: {applies_to: {match_digest: ["^DELETE", "(abc"]}, delay: 5ms}
query_rules:
  raw:
    at: before_all
    rules:
      - {match_digest: "^SELECT (?!a)", cluster: shop, apply: 1}
      - {active: 0, match_digest: "(abc", cluster: shop, apply: 1}
"#;

fn errors(engine: EngineId, regex: RegexEngine) -> Vec<String> {
    let settings = EngineSettings {
        query_processor_iterations: 0,
        regex,
    };
    let options = Options {
        settings: Some(settings),
        ..Options::default()
    };
    let compiled = compile(&loaded(TOPOLOGY), engine, &Lock::default(), &options);
    let mut errors = problems(&compiled, Severity::Error);
    errors.retain(|error| error.contains("does not compile"));
    errors
}

#[test]
fn each_pattern_is_said_once_for_its_library() {
    for engine in EngineId::ALL {
        assert_eq!(errors(engine, RegexEngine::Pcre).len(), 2, "{engine}");
    }
    let re2 = errors(EngineId::Proxysql27, RegexEngine::Re2);
    assert_eq!(re2.len(), 3, "{re2:#?}");
    assert!(re2.iter().all(|error| error.contains("RE2")), "{re2:#?}");
}

/// The pages whose examples are whole topologies: the first shows the finding, the second has put it right.
#[test]
fn whole_examples_show_their_finding_and_how_to_put_it_right() {
    let mut checked = 0;
    for doc in CODES {
        let examples = doc.page.split("```yaml\n").skip(1);
        let examples: Vec<&str> = examples
            .filter_map(|rest| rest.split("```").next())
            .filter(|example| example.starts_with("version: 1\nclusters:"))
            .collect();
        for (example, shows) in examples.into_iter().zip([true, false]) {
            checked += 1;
            let compiled = compile(
                &loaded(example),
                EngineId::Proxysql27,
                &Lock::default(),
                &Options::default(),
            );
            let found = compiled
                .problems
                .sorted()
                .iter()
                .any(|problem| problem.code == doc.code);
            assert_eq!(found, shows, "{}\n{example}", doc.code);
        }
    }
    assert!(checked >= 2, "{checked} examples");
}
