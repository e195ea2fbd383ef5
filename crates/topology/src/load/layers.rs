//! The trees of a project as one topology and one project file: merged, under an environment, with values for variables.

use std::ops::Deref;

use shardwright_diagnostics::Sources;
use shardwright_documents::{Document, Node};

use crate::fields::AnyField;
use crate::project_files::{Options, environment_name, is_environment, is_project_file, is_test_file};
use crate::reporter::Reporter;
use crate::resolve;
use crate::schema;
use crate::tree::context::Context;
use crate::tree::data::Tables;
use crate::tree::overlay::{self, Overlay, Schemas, settle_items};
use crate::tree::structure::Checker;
use crate::tree::variables::{Given, Variables, variables};
use crate::tree::view::{View, merge};

/// The trees of a project's files, and what they were read with. Reads like a slice of the project file and the
/// topology files.
#[derive(Debug, Default)]
pub struct Documents {
    /// The project file, if there is one, then topology files by path.
    files: Vec<Document>,
    has_project_file: bool,
    pub(crate) environments: Vec<Document>,
    pub(crate) tests: Vec<Document>,
    pub(crate) tables: Tables,
    pub(crate) options: Options,
}

impl Deref for Documents {
    type Target = [Document];

    fn deref(&self) -> &[Document] {
        &self.files
    }
}

/// What a file of a project is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Project,
    Topology,
    Environment,
    Test,
}

impl Documents {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            ..Self::default()
        }
    }

    /// What the next file of this path is for. The project file comes first.
    pub(crate) fn kind(&self, path: &str) -> FileKind {
        if is_project_file(path) && !self.has_project_file {
            FileKind::Project
        } else if is_test_file(path) {
            FileKind::Test
        } else if is_environment(path) {
            FileKind::Environment
        } else {
            FileKind::Topology
        }
    }

    pub(crate) fn push(&mut self, kind: FileKind, document: Document) {
        match kind {
            FileKind::Project => {
                self.has_project_file = true;
                self.files.insert(0, document);
            }
            FileKind::Topology => self.files.push(document),
            FileKind::Environment => self.environments.push(document),
            FileKind::Test => self.tests.push(document),
        }
    }

    pub(crate) fn project(&self) -> Option<&Document> {
        self.files.first().filter(|_| self.has_project_file)
    }

    pub(crate) fn topology(&self) -> &[Document] {
        &self.files[usize::from(self.has_project_file)..]
    }

    /// Every file: the project file, topology files, environments, route tests.
    pub fn all(&self) -> impl Iterator<Item = &Document> {
        self.files.iter().chain(&self.environments).chain(&self.tests)
    }

    /// The tree of the project file, if it was read to its end.
    pub(crate) fn project_root(&self) -> Option<&Node> {
        self.project().and_then(complete_root)
    }

    /// The files of environments that the project file lists; others may be about anything.
    pub(crate) fn listed_environments(&self, sources: &Sources) -> Vec<&Document> {
        let names: Vec<&str> = overlay::listed(self.project_root())
            .map(|(name, _)| name)
            .collect();
        let is_listed = |document: &&Document| {
            environment_name(sources.path(document.file)).is_some_and(|name| names.contains(&name))
        };
        self.environments.iter().filter(is_listed).collect()
    }
}

/// The tree of a file that was read to its end; where reading stopped, the last value is cut short.
pub(crate) fn complete_root(document: &Document) -> Option<&Node> {
    document.root.as_ref().filter(|_| document.complete)
}

/// The schemas of the files that an environment is laid over, ready to check them.
pub(crate) struct Checkers {
    pub(crate) project: Checker,
    pub(crate) topology: Checker,
}

impl Checkers {
    pub(crate) fn new() -> Self {
        Self {
            project: Checker::new(schema::bare_project()),
            topology: Checker::new(schema::bare_topology()),
        }
    }
}

/// The chosen environment; every one that is listed is checked.
pub(crate) fn overlay<'d>(
    documents: &'d Documents,
    checkers: &Checkers,
    sources: &Sources,
    report: &mut Reporter,
) -> Option<Overlay<'d>> {
    let chosen = documents.options.environment.as_deref();
    let project = documents.project_root();
    let chosen = overlay::choose(chosen, project, &documents.environments, sources, report);
    let schemas = Schemas {
        project: &checkers.project,
        topology: &checkers.topology,
    };
    let mut overlay = None;
    for document in documents.listed_environments(sources) {
        let Some(root) = complete_root(document) else {
            continue;
        };
        let read = Overlay::read(root, schemas, report);
        if chosen.is_some_and(|chosen| chosen.file == document.file) {
            overlay = Some(read);
        }
    }
    overlay
}

/// What the trees stand for, before it is read as objects.
pub(crate) struct Layers<'d> {
    pub(crate) documents: &'d Documents,
    pub(crate) overlay: Option<Overlay<'d>>,
    /// The topology without the environment.
    pub(crate) base: Option<View<'d>>,
    pub(crate) variables: Variables,
}

impl<'d> Layers<'d> {
    pub(crate) fn new(documents: &'d Documents, overlay: Option<Overlay<'d>>, report: &mut Reporter) -> Self {
        let roots = documents.topology().iter();
        let roots: Vec<&Node> = roots.filter_map(|document| document.root.as_ref()).collect();
        let base = merge(&roots, report);
        let section = base
            .as_ref()
            .and_then(|root| root.get(resolve::root::VARIABLES.name()));
        let section = section.map(|section| section.value);
        let environments: Vec<&str> = overlay::listed(documents.project_root())
            .map(|(name, _)| name)
            .collect();
        let given = Given {
            options: &documents.options.variables,
            environment: overlay.as_ref().and_then(|overlay| overlay.variables),
            environments: &environments,
        };
        let variables = variables(section.as_ref(), given, report);
        Self {
            documents,
            overlay,
            base,
            variables,
        }
    }

    /// Puts whole lists in the place of the items that the environment sets.
    pub(crate) fn settle(&mut self, sources: &Sources, tables: &Tables, report: &mut Reporter) {
        let Some(mut overlay) = self.overlay.take() else {
            return;
        };
        let mut scratch = self.context(sources, Reporter::default(), tables.clone());
        settle_items(&mut overlay.topology, self.base.as_ref(), &mut scratch, report);
        settle_items(
            &mut overlay.project,
            self.project_base().as_ref(),
            &mut scratch,
            report,
        );
        self.overlay = Some(overlay);
    }

    /// The project file alone, for a project of which only a part could be read.
    pub(crate) fn of_project(documents: &'d Documents, overlay: Option<Overlay<'d>>) -> Self {
        Self {
            documents,
            overlay,
            base: None,
            variables: Variables::new(),
        }
    }

    /// What resolution of these layers shares.
    pub(crate) fn context<'s>(&self, sources: &'s Sources, report: Reporter, tables: Tables) -> Context<'s> {
        Context::new(sources, report, self.variables.clone(), tables)
    }

    /// The topology files as one map, as the environment leaves them.
    pub(crate) fn topology(&self) -> Option<View<'_>> {
        let patch = self.overlay.as_ref().map(|overlay| &overlay.topology);
        self.base.clone().map(|root| root.patched(patch))
    }

    /// The project file without the environment.
    pub(crate) fn project_base(&self) -> Option<View<'d>> {
        self.documents.project_root().map(View::of)
    }

    /// The project file, as the environment leaves it.
    pub(crate) fn project(&self) -> Option<View<'_>> {
        let patch = self.overlay.as_ref().map(|overlay| &overlay.project);
        self.project_base().map(|root| root.patched(patch))
    }
}
