//! What a client prints, line by line, on both sides.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use crate::estate::Estate;
use crate::programs::Program;

/// How outcomes of a feature begin that was seen through the proxy and is another than directly.
const THROUGH_THE_PROXY: &str = "  proxy: ";

/// One feature of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    pub(crate) name: String,
    pub(crate) direct: String,
    /// `None`: the same.
    pub(crate) proxied: Option<String>,
}

/// All features of one client. As text, a line for each, and a line below it where the proxy differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) client: String,
    pub(crate) features: Vec<Feature>,
}

impl Observed {
    /// Reads what [`fmt::Display`] has written.
    pub(crate) fn parse(text: &str) -> Self {
        let mut observed = Self {
            client: String::new(),
            features: Vec::new(),
        };
        for line in text.lines() {
            if let Some(proxied) = line.strip_prefix(THROUGH_THE_PROXY) {
                observed.features.last_mut().unwrap().proxied = Some(proxied.to_owned());
            } else {
                let (name, direct) = line.split_once(": ").unwrap();
                if name == "client" {
                    direct.clone_into(&mut observed.client);
                } else {
                    let (name, direct) = (name.to_owned(), direct.to_owned());
                    observed.features.push(Feature {
                        name,
                        direct,
                        proxied: None,
                    });
                }
            }
        }
        observed
    }

    /// The outcome of one feature, if the client has it.
    pub(crate) fn feature(&self, name: &str) -> Option<&Feature> {
        self.features.iter().find(|feature| feature.name == name)
    }

    /// Features with another outcome through the proxy.
    pub(crate) fn differences(&self) -> impl Iterator<Item = &Feature> {
        self.features.iter().filter(|feature| feature.proxied.is_some())
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "client: {}", self.client)?;
        for feature in &self.features {
            writeln!(out, "{}: {}", feature.name, feature.direct)?;
            if let Some(proxied) = &feature.proxied {
                writeln!(out, "{THROUGH_THE_PROXY}{proxied}")?;
            }
        }
        Ok(())
    }
}

/// Runs a client directly, then through the proxy, in a schema of its own.
///
/// # Errors
/// How the client failed.
pub(crate) fn run_both(estate: &Estate, program: &Program) -> Result<Observed, String> {
    let schema = format!("c_{}", program.name.replace('-', "_"));
    let version = estate.version();
    let run = |side| {
        estate.new_schema(&schema);
        let output = (program.run)(estate, &side, &schema)?;
        // Names of the test, not of the client: the page would change with each run.
        let text = output.replace(&version, "VERSION").replace(&schema, "SCHEMA");
        Ok::<_, String>(Observed::parse(&text))
    };
    joined(&run(estate.direct())?, &run(estate.proxied())?)
}

fn joined(direct: &Observed, proxied: &Observed) -> Result<Observed, String> {
    let names = |observed: &Observed| {
        observed
            .features
            .iter()
            .map(|f| f.name.clone())
            .collect::<Vec<_>>()
    };
    if names(direct) != names(proxied) {
        return Err(format!("other features through the proxy:\n{direct}\n{proxied}"));
    }
    let pairs = direct.features.iter().zip(&proxied.features);
    let join = |(direct, proxied): (&Feature, &Feature)| Feature {
        proxied: (direct.direct != proxied.direct).then(|| proxied.direct.clone()),
        ..direct.clone()
    };
    Ok(Observed {
        client: direct.client.clone(),
        features: pairs.map(join).collect(),
    })
}

/// The features that clients may print: blocks of statements, and calls with their meaning.
pub(crate) struct Features {
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) statements: Vec<String>,
}

/// How a block is called when its statements are prepared.
pub(crate) const PREPARED: &str = ", prepared";

impl Features {
    pub(crate) fn read(directory: &Path) -> Self {
        let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
        let statements = read("statements.sql");
        let names = statements
            .split("\n\n")
            .skip(1)
            .map(|block| block.lines().next().unwrap());
        let calls = read("calls.txt");
        let call = |line: &str| {
            line.split_once(" | ")
                .map(|(name, what)| (name.to_owned(), what.to_owned()))
        };
        Self {
            calls: calls.lines().filter_map(call).collect(),
            statements: names
                .map(|line| line.trim_start_matches("-- ").to_owned())
                .collect(),
        }
    }

    /// What a client printed and nobody has described.
    pub(crate) fn unknown<'a>(&self, observed: &'a Observed) -> impl Iterator<Item = &'a str> {
        let known: BTreeSet<&str> = self
            .calls
            .iter()
            .map(|(name, _)| name)
            .chain(&self.statements)
            .map(String::as_str)
            .collect();
        let is_known = move |name: &str| {
            known.contains(name.strip_suffix(PREPARED).unwrap_or(name)) || known.contains(name)
        };
        observed
            .features
            .iter()
            .map(|feature| feature.name.as_str())
            .filter(move |name| !is_known(name))
    }
}
