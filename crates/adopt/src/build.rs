//! A draft as the compiler sees it: its files are read and compiled like those of any project.

use std::sync::Arc;

use shardwright_compiler::{Compiled, Lock, compile};
use shardwright_diagnostics::{Diagnostic, Problems, Severity};
use shardwright_rules::Configuration;
use shardwright_topology::model::Project;
use shardwright_topology::{InputFile, Options, load};

use crate::draft::Draft;
use crate::write::{ProjectFile, files};

/// A project that compiles.
#[derive(Debug)]
pub struct Built {
    /// Its files.
    pub files: Vec<ProjectFile>,
    /// What they say.
    pub project: Project,
    /// What the engine gets.
    pub compiled: Compiled,
}

impl Built {
    /// What the engine gets.
    pub fn configuration(&self) -> &Arc<Configuration> {
        &self.compiled.configuration
    }
}

/// Why a draft is no project.
#[derive(Debug)]
pub(crate) struct NotBuilt {
    /// The errors, the first first.
    pub(crate) errors: Vec<Diagnostic>,
    /// The rules that they are about, by their place in the block; of others none.
    pub(crate) rules: Vec<Option<usize>>,
}

/// Reads and compiles.
pub(crate) fn build(draft: &Draft) -> Result<Built, NotBuilt> {
    let files = files(draft);
    let inputs = files.iter().map(|file| InputFile {
        path: file.path.to_owned(),
        bytes: file.text.clone().into_bytes(),
    });
    let loaded = load(inputs.collect(), &Options::default());
    let Some(project) = loaded.project else {
        return Err(NotBuilt::of(&loaded.problems));
    };
    let compiled = compile(&project, draft.engine, &Lock::default(), &Default::default());
    if compiled.problems.has_errors() {
        return Err(NotBuilt::of(&compiled.problems));
    }
    Ok(Built {
        files,
        project,
        compiled,
    })
}

impl NotBuilt {
    fn of(problems: &Problems) -> Self {
        let errors = problems.sorted().into_iter();
        let errors: Vec<Diagnostic> = errors
            .filter(|problem| problem.severity == Severity::Error)
            .cloned()
            .collect();
        let rules = errors.iter().map(rule_of).collect();
        Self { errors, rules }
    }

    /// The first error, in a sentence.
    pub(crate) fn reason(&self) -> String {
        let first = self.errors.first();
        first.map_or_else(
            || "it does not compile".to_owned(),
            |error| format!("{}: {}", error.code, error.message),
        )
    }
}

/// `query_rules.imported.rules[3]`
fn rule_of(error: &Diagnostic) -> Option<usize> {
    let address = error.address.as_deref()?;
    let (_, index) = address.strip_suffix(']')?.rsplit_once(".rules[")?;
    index.parse().ok()
}
