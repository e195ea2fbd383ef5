//! `fmt`: YAML files in one form.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use shardwright_diagnostics::{Problems, Sources, without_secrets};
use shardwright_documents::{MAX_FILE_BYTES, other_form};
use similar::TextDiff;

use crate::args::{Fmt, Format, Global};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::replace_file;
use crate::project;
use crate::ui::Ui;

/// The files and directories of a project that hold YAML of its users.
const PROJECT_PATHS: [&str; 4] = ["shardwright.yaml", "topology", "tests", "env"];
/// Directories inside each other; also ends circles of symbolic links.
const MAX_DEPTH: usize = 16;
const STANDARD_INPUT: &str = "-";

/// A file that is not in its form.
struct Change {
    /// Its name for users.
    name: String,
    path: PathBuf,
    before: String,
    after: String,
}

pub(crate) fn run(args: &Fmt, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    if args.paths.iter().any(|path| path.as_os_str() == STANDARD_INPUT) {
        return standard_input(args, ui);
    }
    let files = files(args, global)?;
    let mut formatter = Formatter::default();
    let mut changes = Vec::new();
    for (name, path) in &files {
        let bytes = read(path)?;
        check_is_mapping(name, &bytes)?;
        if let Some(after) = formatter.format(name, &bytes)
            && after.as_bytes() != bytes
        {
            changes.push(Change {
                name: name.clone(),
                path: path.clone(),
                before: String::from_utf8_lossy(&bytes).into_owned(),
                after,
            });
        }
    }
    project::show(&formatter.problems, &formatter.sources, ui);
    if args.check {
        report_forms(&changes, ui);
    } else if !args.diff {
        for change in &changes {
            replace_file(&change.path, change.after.as_bytes())?;
        }
    }
    report(&changes, files.len(), &formatter, args, ui)?;
    Ok(formatter.exit(args.check && !changes.is_empty()))
}

/// The files of a run and what is wrong with them.
#[derive(Default)]
struct Formatter {
    sources: Sources,
    problems: Problems,
}

impl Formatter {
    fn format(&mut self, name: &str, bytes: &[u8]) -> Option<String> {
        let (text, problems) = shardwright_documents::format(&mut self.sources, name, bytes);
        self.problems.append(problems);
        text
    }

    fn exit(&self, changed: bool) -> Exit {
        match (self.problems.has_errors(), changed) {
            (true, _) => Exit::BadDocument,
            (false, true) => Exit::Changes,
            (false, false) => Exit::Done,
        }
    }
}

/// Takes files that are not in their form into the reports of the run. The terminal lists them.
fn report_forms(changes: &[Change], ui: &Ui) {
    let mut sources = Sources::new();
    let mut problems = Problems::new();
    for change in changes {
        problems.push(other_form(
            &mut sources,
            &change.name,
            &change.before,
            &change.after,
        ));
    }
    ui.found(&problems, &sources);
}

/// Standard input to standard output; text that cannot be formatted is printed unchanged, for editors that use it as a filter.
fn standard_input(args: &Fmt, ui: &Ui) -> Result<Exit, CommandError> {
    if args.paths.len() > 1 {
        return Err(CommandError::usage("- cannot be combined with files"));
    }
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::failed(format!("cannot read standard input: {error}")))?;
    check_is_mapping("standard input", &bytes)?;
    let mut formatter = Formatter::default();
    let after = formatter.format("standard input", &bytes);
    project::show(&formatter.problems, &formatter.sources, ui);
    let before = String::from_utf8_lossy(&bytes).into_owned();
    let after = after.unwrap_or_else(|| before.clone());
    let changed = after != before;
    if args.check && changed {
        let change = Change {
            name: "standard input".to_owned(),
            path: PathBuf::new(),
            before: before.clone(),
            after: after.clone(),
        };
        report_forms(&[change], ui);
    }
    if args.diff {
        ui.text(&diff("standard input", &before, &after))?;
    } else if !args.check {
        ui.text(&after)?;
    }
    Ok(formatter.exit(args.check && changed))
}

/// Refuses a text that is YAML by chance: any text can be one scalar, and each file of a project is a mapping.
fn check_is_mapping(name: &str, bytes: &[u8]) -> Result<(), CommandError> {
    let (document, problems) = shardwright_documents::read(&mut Sources::new(), name, bytes);
    let is_other = document.root.is_some_and(|root| root.as_mapping().is_none());
    if is_other && !problems.has_errors() {
        let message = format!("{name} is no file of a project: it holds no mapping; nothing was written");
        return Err(CommandError::new(Exit::BadDocument, message)
            .hint("name files such as shardwright.yaml and topology/*.yaml, or none for the whole project"));
    }
    Ok(())
}

fn report(
    changes: &[Change],
    files: usize,
    formatter: &Formatter,
    args: &Fmt,
    ui: &Ui,
) -> Result<(), CommandError> {
    if ui.format() == Format::Json {
        let changed: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
        let fields = serde_json::json!({"changed": changed, "files": files});
        return ui.found_with(&formatter.problems, &formatter.sources, fields);
    }
    if args.diff {
        let diffs: String = changes
            .iter()
            .map(|change| diff(&change.name, &change.before, &change.after))
            .collect();
        ui.data(&diffs)?;
    } else if args.check {
        let names: String = changes
            .iter()
            .map(|change| format!("{}\n", change.name))
            .collect();
        ui.data(&names)?;
    }
    let would = if args.check || args.diff {
        "would be formatted"
    } else {
        "formatted"
    };
    ui.status(&format!("{} of {files} files {would}", changes.len()));
    Ok(())
}

fn diff(name: &str, before: &str, after: &str) -> String {
    let [before, after] = [before, after].map(without_secrets);
    TextDiff::from_lines(&before, &after)
        .unified_diff()
        .header(name, name)
        .to_string()
}

/// What to format, each with its name and path, in order and each once.
fn files(args: &Fmt, global: &Global) -> Result<Vec<(String, PathBuf)>, CommandError> {
    let mut found = Vec::new();
    if args.paths.is_empty() {
        for name in PROJECT_PATHS {
            let path = global.directory.join(name);
            if path.exists() {
                collect(name.to_owned(), path, 0, &mut found)?;
            }
        }
        if found.is_empty() {
            return Err(CommandError::new(
                Exit::BadProject,
                format!("there is no project in {}", global.directory.display()),
            )
            .hint("name files, or the directory of the project with -C"));
        }
    }
    for path in &args.paths {
        collect(path.to_string_lossy().into_owned(), path.clone(), 0, &mut found)?;
    }
    found.dedup();
    Ok(found)
}

fn collect(
    name: String,
    path: PathBuf,
    depth: usize,
    found: &mut Vec<(String, PathBuf)>,
) -> Result<(), CommandError> {
    let failed = |error: io::Error| CommandError::failed(format!("cannot read {name}: {error}"));
    if !fs::metadata(&path).map_err(failed)?.is_dir() {
        // A file that is named is formatted whatever its name; in directories only YAML is.
        if depth == 0 || path.extension().is_some_and(|extension| extension == "yaml") {
            found.push((name, path));
        }
        return Ok(());
    }
    if depth > MAX_DEPTH {
        return Err(CommandError::failed(format!(
            "{name}: directories are nested more than {MAX_DEPTH} deep"
        )));
    }
    let entries = fs::read_dir(&path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut names: Vec<String> = entries
        .map_err(failed)?
        .iter()
        .filter_map(|entry| entry.file_name().into_string().ok())
        // Editors and version control keep their own files here.
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    for inner in names {
        let path = path.join(&inner);
        collect(
            format!("{}/{inner}", name.trim_end_matches('/')),
            path,
            depth + 1,
            found,
        )?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| CommandError::failed(format!("cannot read {}: {error}", path.display())))?;
    Ok(bytes)
}
