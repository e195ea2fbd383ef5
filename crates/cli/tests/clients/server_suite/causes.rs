//! Why a test that passes on the server does not pass through the proxy: a closed list, told apart by what the test saw.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;

use crate::root;

/// One cause.
pub(super) struct Cause {
    pub(super) name: String,
    pub(super) reason: String,
    /// One of these is in what the test's program printed.
    answers: Vec<Regex>,
    /// Only these tests have it; empty for all.
    tests: BTreeSet<String>,
}

/// All causes; the first that fits counts.
pub(super) struct Causes(pub(super) Vec<Cause>);

impl Causes {
    /// From `tests/clients/server-suite.yaml`.
    pub(super) fn read() -> Self {
        let path = root().join("tests/clients/server-suite.yaml");
        let values: Vec<serde_yaml::Mapping> =
            serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        Self(values.iter().map(Cause::read).collect())
    }

    pub(super) fn of(&self, test: &str, printed: &str) -> Option<&str> {
        let fits = |cause: &&Cause| {
            (cause.tests.is_empty() || cause.tests.contains(test))
                && cause.answers.iter().any(|answer| answer.is_match(printed))
        };
        self.0.iter().find(fits).map(|cause| cause.name.as_str())
    }
}

impl Cause {
    fn read(value: &serde_yaml::Mapping) -> Self {
        let text = |name: &str| value[name].as_str().unwrap().trim().to_owned();
        let texts = |name: &str| -> Vec<String> {
            let words = value.get(name).map(|words| words.as_sequence().unwrap().iter());
            let words = words.into_iter().flatten();
            words.map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        let answer = |pattern: &String| Regex::new(&format!("(?m){pattern}")).unwrap();
        Self {
            name: text("cause"),
            reason: text("reason"),
            answers: texts("answers").iter().map(answer).collect(),
            tests: texts("tests").into_iter().collect(),
        }
    }
}
