//! From the files of a project to what they mean.

use std::collections::BTreeMap;

use jiff::Timestamp;
use shardwright_diagnostics::{Diagnostic, Problems, Sources, Span};
use shardwright_documents::{Document, Node};

use crate::allow;
use crate::codes::{MISSING_KEY, NO_PROJECT_FILE, NO_TOPOLOGY};
use crate::context::Context;
use crate::data::{self, ReadData};
use crate::model::{Project, ProjectFile};
use crate::report::Report;
use crate::structure::Checker;
use crate::variables::variables;
use crate::view::merge;
use crate::{resolve, schema, secrets};

/// The name of the project file.
pub const PROJECT_FILE: &str = "shardwright.yaml";
/// The directory of topology files.
pub const TOPOLOGY_DIRECTORY: &str = "topology";

/// The directory of route tests.
pub const TESTS_DIRECTORY: &str = "tests";

/// A file of a project: its path as people shall see it, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// As people shall see it, with `/` between its parts. The file whose name is [`PROJECT_FILE`] outside of
    /// [`TOPOLOGY_DIRECTORY`] is the project file, those under [`TESTS_DIRECTORY`] are route tests; files whose names end
    /// in `.csv` or `.txt` are data files, by their path below the project's directory; all others are topology files.
    pub path: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// What is said beside the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Values for `variables`, which take the place of their defaults (`--var NAME=VALUE`).
    pub variables: BTreeMap<String, String>,
    /// Whether [`crate::read_project`] reads the route tests too.
    pub route_tests: bool,
    /// The time that expiries such as `until` are compared with; none: they are not.
    pub now: Option<Timestamp>,
}

/// Where the errors stand, which decides the exit code; the greater counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// In a document of the topology: 65.
    Document,
    /// In the project file, or there is none: 78.
    ProjectFile,
}

/// The outcome of loading.
#[derive(Debug)]
pub struct Loaded {
    /// The project; none where a problem is an error.
    pub project: Option<Project>,
    /// All problems.
    pub problems: Problems,
    /// The files that spans point into.
    pub sources: Sources,
    /// The trees of the files, for tools that lead people through them.
    pub documents: Vec<Document>,
    /// Where the errors stand; none where there are none.
    pub fault: Option<Fault>,
}

/// Resolves the files of a project. The order of `files` has no influence.
#[must_use]
pub fn load(files: Vec<InputFile>, options: &Options) -> Loaded {
    let is_data = |file: &InputFile| file.path.ends_with(".csv") || file.path.ends_with(".txt");
    let (data, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_data);
    let mut data: BTreeMap<String, Vec<u8>> = data.into_iter().map(|file| (file.path, file.bytes)).collect();
    let mut read = |path: &str| {
        data.remove(path)
            .ok_or_else(|| format!("there is no file `{path}`"))
    };
    load_with(files, options, Reading::default(), &mut read)
}

/// What happened while the files were read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) problems: Problems,
    /// The project file is there and cannot be read.
    pub(crate) project_file_unreadable: bool,
}

/// [`load`] with the problems of reading the files, and a reader of data files.
pub(crate) fn load_with(
    mut files: Vec<InputFile>,
    options: &Options,
    reading: Reading,
    data: &mut ReadData<'_>,
) -> Loaded {
    files.sort_by(|a, b| (!is_project_file(&a.path), &a.path).cmp(&(!is_project_file(&b.path), &b.path)));
    let unreadable = reading.problems.has_errors();
    let mut report = Report::default();
    report.problems.append(reading.problems);
    if reading.project_file_unreadable {
        report.fault_project_file();
    }
    let mut sources = Sources::new();
    let mut project_file = None;
    let mut documents = Vec::new();
    let mut tests = Vec::new();
    for file in &files {
        let (document, problems) = shardwright_documents::read(&mut sources, &file.path, &file.bytes);
        if is_project_file(&file.path) && project_file.is_none() {
            report.set_project_file(document.file);
            if problems.has_errors() {
                report.fault_project_file();
            }
            project_file = Some(document);
        } else if is_test_file(&file.path) {
            tests.push(document);
        } else {
            documents.push(document);
        }
        report.problems.append(problems);
    }
    if project_file.is_none() && !reading.project_file_unreadable {
        let message = format!("there is no project file `{PROJECT_FILE}` here");
        let help = "create one, or name the directory of the project with -C";
        report.push(Diagnostic::error(NO_PROJECT_FILE, message).help(help));
        report.fault_project_file();
    }
    if project_file.is_some() && documents.is_empty() && !unreadable {
        let message =
            format!("the project holds no topology: there is no file `{TOPOLOGY_DIRECTORY}/*.yaml`");
        report.push(Diagnostic::error(NO_TOPOLOGY, message));
    }
    secrets::conceal(project_file.iter().chain(&documents).chain(&tests), &mut sources);
    let complete = !unreadable
        && project_file
            .iter()
            .chain(&documents)
            .chain(&tests)
            .all(|document| document.complete);
    let project = resolve(
        project_file.as_ref(),
        &documents,
        &tests,
        (options, data),
        complete,
        &mut sources,
        &mut report,
    );
    let errors = report.problems.has_errors();
    let fault = match (errors, report.faults_project_file()) {
        (false, _) => None,
        (true, true) => Some(Fault::ProjectFile),
        (true, false) => Some(Fault::Document),
    };
    Loaded {
        project: project.filter(|_| !errors),
        problems: report.problems,
        sources,
        documents: project_file.into_iter().chain(documents).collect(),
        fault,
    }
}

fn is_project_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    parts.next() == Some(PROJECT_FILE) && parts.all(|part| part != TOPOLOGY_DIRECTORY)
}

/// Whether a file holds route tests.
fn is_test_file(path: &str) -> bool {
    let mut parts = path.rsplit('/').skip(1);
    let is_test = parts.clone().any(|part| part == TESTS_DIRECTORY);
    is_test && parts.all(|part| part != TOPOLOGY_DIRECTORY)
}

fn resolve(
    project_file: Option<&Document>,
    documents: &[Document],
    tests: &[Document],
    (options, data): (&Options, &mut ReadData<'_>),
    complete: bool,
    sources: &mut Sources,
    report: &mut Report,
) -> Option<Project> {
    let roots: Vec<&Node> = documents
        .iter()
        .filter_map(|document| document.root.as_ref())
        .collect();
    if let Some(root) = project_file.and_then(complete_root) {
        Checker::new(schema::project()).check(root, report);
    }
    let mut checked = documents.iter().filter_map(complete_root).peekable();
    if checked.peek().is_some() {
        let checker = Checker::new(schema::topology());
        checked.for_each(|root| checker.check(root, report));
    }
    // What is missing in a tree may stand in the part of its file that could not be read.
    if !complete {
        let mut context = Context::of_part(sources, std::mem::take(report));
        project_settings(project_file, &mut context);
        *report = context.finish().0;
        return None;
    }
    let root = merge(&roots, report);
    let section = root.as_ref().and_then(|root| root.get("variables"));
    let section = section.map(|section| section.value);
    let variables = variables(section.as_ref(), &options.variables, report);
    let tables = data::read_all(roots.iter().copied(), &variables, data, sources, report);
    let allow_files = allow::read_all(roots.iter().copied(), &variables, data, sources, report);
    let mut context = Context::new(sources, std::mem::take(report), variables, tables);
    context.now = options.now;
    context.allow_files = allow_files;
    let file = project_settings(project_file, &mut context);
    let topology = resolve::topology(root.as_ref(), &mut context);
    let is_whole = !context.report.problems.has_errors();
    let tests: Vec<&Node> = tests.iter().filter_map(complete_root).collect();
    if !tests.is_empty() {
        let checker = Checker::new(schema::tests());
        tests
            .iter()
            .for_each(|root| checker.check(root, &mut context.report));
    }
    let route_tests = resolve::route_tests::route_tests(&tests, &topology, is_whole, &mut context);
    let (found, origins) = context.finish();
    *report = found;
    Some(Project {
        file,
        topology,
        route_tests,
        origins,
    })
}

/// The tree of a file that was read to its end; where reading stopped, the last value is cut short.
fn complete_root(document: &Document) -> Option<&Node> {
    document.root.as_ref().filter(|_| document.complete)
}

fn project_settings(document: Option<&Document>, context: &mut Context<'_>) -> ProjectFile {
    let Some(document) = document.filter(|document| document.complete) else {
        return ProjectFile::default();
    };
    match &document.root {
        Some(root) if root.as_mapping().is_some() => resolve::project::project(root, context),
        Some(_) => ProjectFile::default(),
        None => {
            let span = Span::new(document.file, 0, 0);
            context
                .report
                .push(Diagnostic::error(MISSING_KEY, "the project file is empty").at(span, ""));
            ProjectFile::default()
        }
    }
}
