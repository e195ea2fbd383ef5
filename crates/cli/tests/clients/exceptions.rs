//! Differences that have a reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::observed::{Feature, Observed, PREPARED};
use crate::programs::Program;

/// One reason, and what it is the reason for.
#[derive(Debug)]
pub(crate) struct Exception {
    /// Empty: every client.
    clients: BTreeSet<String>,
    features: BTreeSet<String>,
    pub(crate) reason: String,
}

impl Exception {
    /// A feature stands for its prepared form, too.
    pub(crate) fn covers(&self, client: &str, feature: &str) -> bool {
        let named = self.features.contains(feature)
            || feature
                .strip_suffix(PREPARED)
                .is_some_and(|text| self.features.contains(text));
        named && (self.clients.is_empty() || self.clients.contains(client))
    }
}

/// All of them, in the order of the file.
pub(crate) struct Exceptions(pub(crate) Vec<Exception>);

impl Exceptions {
    /// Reads those of a server from `exceptions.yaml`: a list of `features`, `clients` and `servers` (left out: all), and
    /// `reason`.
    pub(crate) fn read(path: &Path, server: &str) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let values: Vec<serde_yaml::Mapping> = serde_yaml::from_str(&text).unwrap();
        let words = |value: Option<&serde_yaml::Value>| -> BTreeSet<String> {
            let words = value.map(|value| value.as_sequence().unwrap().iter());
            words
                .into_iter()
                .flatten()
                .map(|word| word.as_str().unwrap().to_owned())
                .collect()
        };
        let exception = |value: &serde_yaml::Mapping| Exception {
            clients: words(value.get("clients")),
            features: words(value.get("features")),
            reason: value.get("reason").unwrap().as_str().unwrap().trim().to_owned(),
        };
        let is_about = |value: &&serde_yaml::Mapping| {
            let servers = words(value.get("servers"));
            servers.is_empty() || servers.contains(server)
        };
        Self(values.iter().filter(is_about).map(exception).collect())
    }

    /// The number of the reason for a difference, from 1.
    pub(crate) fn number(&self, client: &str, feature: &str) -> Option<usize> {
        self.0
            .iter()
            .position(|exception| exception.covers(client, feature))
            .map(|index| index + 1)
    }

    /// Differences without a reason, and reasons without a difference.
    pub(crate) fn problems(&self, all: &[(&Program, Observed)]) -> Vec<String> {
        let differs = |feature: &Feature| feature.proxied.is_some();
        let mut problems = Vec::new();
        for (program, observed) in all {
            for feature in observed
                .differences()
                .filter(|f| self.number(program.name, &f.name).is_none())
            {
                let (direct, proxied) = (&feature.direct, feature.proxied.as_deref().unwrap_or_default());
                problems.push(format!(
                    "{}, {}: no reason in exceptions.yaml for\n  {direct}\n  {proxied}",
                    program.name, feature.name
                ));
            }
        }
        for (index, exception) in self.0.iter().enumerate() {
            let first = |client: &str, name: &str| self.number(client, name) == Some(index + 1);
            let occurs = |client: Option<&str>, feature: Option<&str>| {
                all.iter()
                    .filter(|(program, _)| client.is_none_or(|client| client == program.name))
                    .any(|(program, observed)| {
                        observed
                            .features
                            .iter()
                            .filter(|f| differs(f) && first(program.name, &f.name))
                            .any(|f| {
                                feature.is_none_or(|name| {
                                    f.name.strip_suffix(PREPARED).unwrap_or(&f.name) == name || f.name == name
                                })
                            })
                    })
            };
            let unused = exception
                .clients
                .iter()
                .filter(|client| !occurs(Some(client), None));
            problems.extend(
                unused.map(|client| format!("exception {}: `{client}` does not differ any more", index + 1)),
            );
            let unused = exception
                .features
                .iter()
                .filter(|feature| !occurs(None, Some(feature)));
            problems.extend(
                unused
                    .map(|feature| format!("exception {}: `{feature}` does not differ any more", index + 1)),
            );
        }
        problems
    }
}
