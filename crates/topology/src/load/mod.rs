//! From the files of a project to what they mean: the steps, in order.
//!
//! In: the bytes of files, read by [`read`]. Out: [`Loaded`], with the project and all problems.

mod allow;
mod data_files;
pub(crate) mod layers;
mod read;

use std::collections::BTreeMap;

use shardwright_diagnostics::{Code, Diagnostic, Problems, Sources, Span};
use shardwright_documents::{Document, Node};

use self::data_files::ReadData;
use self::layers::{Checkers, FileKind, Layers, complete_root, overlay};
use crate::codes::{
    BAD_ARITHMETIC, BAD_NAME, BAD_TEMPLATE, DEFINED_TWICE, LITERAL_SECRET, MISSING_KEY, NO_PROJECT_FILE,
    NO_TOPOLOGY, NOT_TOGETHER, YAML_1_1,
};
use crate::model::{Project, ProjectFile};
use crate::project_files::{InputFile, Options, PROJECT_FILE, TOPOLOGY_DIRECTORY, is_project_file};
use crate::reporter::Reporter;
use crate::tree::context::Context;
use crate::tree::data::Tables;
use crate::tree::overlay::check_hits;
use crate::tree::structure::Checker;
use crate::tree::{secrets, view};
use crate::{resolve, schema};

pub use layers::Documents;
pub use read::{read_project, read_project_with};

/// Where the errors stand, which decides the exit code; the greater counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// In a document of the topology: 65.
    Document,
    /// In the project file, or there is none: 78.
    ProjectFile,
    /// In what was asked for besides the files, such as an environment that the project does not have: 64. What else is wrong
    /// may follow from it.
    Options,
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
    /// The trees of the files, for tools that lead people through them, and for [`crate::editor::resolved`].
    pub documents: Documents,
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
    /// Where the files are, unless in the directory that the program was started in.
    pub(crate) directory: Option<String>,
}

/// [`load`] with the problems of reading the files, and a reader of data files.
pub(crate) fn load_with(
    files: Vec<InputFile>,
    options: &Options,
    reading: Reading,
    data: &mut ReadData<'_>,
) -> Loaded {
    let unreadable = reading.problems.has_errors();
    let mut report = Reporter::default();
    report.problems.append(reading.problems);
    if reading.project_file_unreadable {
        report.fault_project_file();
    }
    let mut sources = Sources::new();
    // The schemas are the same whatever stands in the files.
    let (mut documents, checkers) = std::thread::scope(|scope| {
        let checkers = scope.spawn(Checkers::new);
        let documents = read(files, options, &mut sources, &mut report);
        let checkers = checkers.join();
        (
            documents,
            checkers.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    });
    if documents.project().is_none() && !reading.project_file_unreadable {
        let place = reading
            .directory
            .map_or("here".to_owned(), |directory| format!("in `{directory}`"));
        let message = format!("there is no project file `{PROJECT_FILE}` {place}");
        let help = "create one, or name the directory of the project with -C";
        report.push(Diagnostic::error(NO_PROJECT_FILE, message).help(help));
        report.fault_project_file();
    }
    if documents.project().is_some() && documents.topology().is_empty() && !unreadable {
        let message =
            format!("the project holds no topology: there is no file `{TOPOLOGY_DIRECTORY}/*.yaml`");
        report.push(Diagnostic::error(NO_TOPOLOGY, message));
    }
    secrets::conceal(documents.all(), &mut sources);
    let complete = !unreadable && documents.all().all(|document| document.complete);
    let project = resolve(&documents, &checkers, complete, data, &mut sources, &mut report);
    let (project, tables) = project.unzip();
    documents.tables = tables.unwrap_or_default();
    let errors = report.problems.has_errors();
    let fault = errors.then(|| {
        if report.faults_options() {
            Fault::Options
        } else if report.faults_project_file() {
            Fault::ProjectFile
        } else {
            Fault::Document
        }
    });
    Loaded {
        project: project.filter(|_| !errors),
        problems: report.problems,
        sources,
        documents,
        fault,
    }
}

fn read(
    mut files: Vec<InputFile>,
    options: &Options,
    sources: &mut Sources,
    report: &mut Reporter,
) -> Documents {
    files.sort_by(|a, b| (!is_project_file(&a.path), &a.path).cmp(&(!is_project_file(&b.path), &b.path)));
    let mut documents = Documents::new(options);
    let texts = files.iter().map(|file| (&*file.path, &*file.bytes));
    let read = shardwright_documents::read_all(sources, texts);
    for (file, (document, problems)) in files.iter().zip(read) {
        let kind = documents.kind(&file.path);
        if kind == FileKind::Project {
            report.set_project_file(document.file);
            if problems.has_errors() {
                report.fault_project_file();
            }
        }
        documents.push(kind, document);
        report.problems.append(problems);
    }
    documents
}

fn resolve(
    documents: &Documents,
    checkers: &Checkers,
    complete: bool,
    data: &mut ReadData<'_>,
    sources: &mut Sources,
    report: &mut Reporter,
) -> Option<(Project, Tables)> {
    check(&checkers.project, documents.project(), report);
    check(&checkers.topology, documents.topology(), report);
    let environments = documents.listed_environments(sources);
    if !environments.is_empty() {
        check(&Checker::new(schema::bare_environment()), environments, report);
    }
    let overlay = overlay(documents, checkers, sources, report);
    // What is missing in a tree may stand in the part of its file that could not be read.
    if !complete {
        let layers = Layers::of_project(documents, overlay);
        let mut context = Context::of_part(sources, std::mem::take(report));
        project_settings(&layers, &mut context);
        problems_of_part(documents, &mut context);
        *report = context.finish().0;
        return None;
    }
    let mut layers = Layers::new(documents, overlay, report);
    let roots = documents.topology().iter().chain(&documents.environments);
    let roots = roots.filter_map(|document| document.root.as_ref());
    let tests = documents.tests.iter().filter_map(complete_root);
    let tables = data_files::read_all(
        roots.clone().chain(tests).chain(documents.project_root()),
        &layers.variables,
        data,
        sources,
        report,
    );
    let allow_files = allow::read_all(roots, &layers.variables, data, sources, report);
    layers.settle(sources, &tables, report);
    let mut context = layers.context(sources, std::mem::take(report), tables.clone());
    context.now = documents.options.now;
    context.allow_files = allow_files;
    let file = project_settings(&layers, &mut context);
    let topology = resolve::topology(layers.topology().as_ref(), &mut context);
    resolve::capacity::check(&file, &topology, &mut context);
    resolve::ownership::check(&file, &topology, &mut context);
    if let Some(overlay) = &layers.overlay {
        let mut scratch = layers.context(sources, Reporter::default(), tables.clone());
        let report = &mut context.report;
        check_hits(&overlay.topology, layers.base.as_ref(), &mut scratch, report);
        check_hits(
            &overlay.project,
            layers.project_base().as_ref(),
            &mut scratch,
            report,
        );
    }
    let is_whole = !context.report.problems.has_errors();
    let tests: Vec<&Node> = documents.tests.iter().filter_map(complete_root).collect();
    if !tests.is_empty() {
        Checker::new(schema::bare_tests()).check_all(&tests, &mut context.report);
    }
    let tested = resolve::route_tests::Tested {
        topology: &topology,
        is_whole,
        environments: &file.environments,
        chosen: documents.options.environment.as_deref(),
    };
    let tests = resolve::route_tests::route_tests(&tests, tested, &mut context);
    let (found, origins) = context.finish();
    *report = found;
    let mut project = Project {
        file,
        topology,
        route_tests: tests.route_tests,
        properties: tests.properties,
        tests_elsewhere: tests.elsewhere,
        origins,
    };
    resolve::logins::in_words_of_sessions(&mut project);
    Some((project, tables))
}

fn check<'d>(checker: &Checker, documents: impl IntoIterator<Item = &'d Document>, report: &mut Reporter) {
    let roots: Vec<&Node> = documents.into_iter().filter_map(complete_root).collect();
    checker.check_all(&roots, report);
}

/// Problems that no missing text could put right.
const INDEPENDENT: [Code; 7] = [
    DEFINED_TWICE,
    BAD_NAME,
    BAD_TEMPLATE,
    BAD_ARITHMETIC,
    YAML_1_1,
    LITERAL_SECRET,
    NOT_TOGETHER,
];

/// What is wrong with the files that were read to their end, whatever stands in the others.
fn problems_of_part(documents: &Documents, context: &mut Context<'_>) {
    let found = std::mem::take(&mut context.report.problems);
    let roots: Vec<&Node> = documents.topology().iter().filter_map(complete_root).collect();
    let root = view::merge(&roots, &mut context.report);
    resolve::topology(root.as_ref(), context);
    let all = std::mem::replace(&mut context.report.problems, found);
    let independent = all
        .sorted()
        .into_iter()
        .filter(|diagnostic| INDEPENDENT.contains(&diagnostic.code));
    context.report.problems.extend(independent.cloned());
}

fn project_settings(layers: &Layers<'_>, context: &mut Context<'_>) -> ProjectFile {
    let Some(document) = layers.documents.project().filter(|document| document.complete) else {
        return ProjectFile::default();
    };
    match layers.project() {
        Some(root) if root.is_map() => resolve::project::project(&root, context),
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
