//! Reads the files beside the topology that its trees name, before anything is resolved.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use shardwright_diagnostics::{Diagnostic, Sources};
use shardwright_documents::Node;

use crate::codes::BAD_DATA;
use crate::fields::{AnyField, FOR_EACH};
use crate::reporter::Reporter;
use crate::template;
use crate::tree::data::{MAX_CELLS, MAX_DATA_BYTES, Reader, Tables};
use crate::tree::environment::{Environment, Names};
use crate::tree::generate::{data_column, sources};
use crate::tree::variables::Variables;

/// Data files of one project, and allow files.
const MAX_FILES: usize = 1_000;

/// Gives the bytes of a data file by its path below the project's directory; the error says why not, human-readable.
pub(crate) type ReadData<'r> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'r;

/// Reads the data files that generators below `roots` name.
pub(crate) fn read_all<'n>(
    roots: impl Iterator<Item = &'n Node>,
    variables: &Variables,
    read: &mut ReadData<'_>,
    sources: &mut Sources,
    report: &mut Reporter,
) -> Tables {
    let mut named = Vec::new();
    for root in roots {
        collect(root, &mut named);
    }
    let mut tables = Tables::default();
    let mut cells_left = MAX_CELLS;
    for (path, text) in texts(named, FileUse::Table, variables, read, report) {
        let table = text.and_then(|text| Reader::read(&path, text, &mut cells_left, sources, report));
        tables.insert(path, table.map(Arc::new));
    }
    report.set_data_files(tables.files().collect());
    tables
}

/// The paths of `for_each: {NAME: {from: {csv: PATH}}}`; nodes are at most as deep as the reader of files lets them be.
fn collect<'n>(node: &'n Node, named: &mut Vec<&'n Node>) {
    if let Some(mapping) = node.as_mapping() {
        for entry in mapping {
            if &*entry.key.text == FOR_EACH {
                let variables = entry.value.as_mapping().into_iter().flatten();
                named.extend(variables.filter_map(|variable| {
                    let from = variable.value.as_mapping()?.entry(sources::FROM.name())?;
                    Some(&from.value.as_mapping()?.entry(data_column::CSV.name())?.value)
                }));
            } else {
                collect(&entry.value, named);
            }
        }
    }
    for item in node.as_sequence().unwrap_or_default() {
        collect(item, named);
    }
}

/// What a file beside the topology is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileUse {
    /// A table that generators take instances from.
    Table,
    /// Statements that the firewall lets pass.
    Allow,
}

impl FileUse {
    /// What people call such a file, how its name ends, and an example.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Table => ("data", ".csv", "data/tenants.csv"),
            Self::Allow => ("allow", ".txt", "allow/app.txt"),
        }
    }
}

/// The text of each file that a node names, once for each path; none for one that cannot be used, which is reported where
/// it is named first.
pub(crate) fn texts<'n>(
    named: impl IntoIterator<Item = &'n Node>,
    file_use: FileUse,
    variables: &Variables,
    read: &mut ReadData<'_>,
    report: &mut Reporter,
) -> Vec<(String, Option<String>)> {
    let environment = Environment::default();
    let names = Names {
        environment: &environment,
        variables,
    };
    let mut read_paths = FxHashSet::default();
    let mut texts = Vec::new();
    for node in named {
        // A path that uses the variables of a generator is refused where the generator is read.
        let Some(path) = node.raw().and_then(|raw| template::expand(raw, &names).ok()) else {
            continue;
        };
        if !read_paths.insert(path.to_string()) {
            continue;
        }
        let text = if texts.len() == MAX_FILES {
            Err(format!(
                "the project has more than {MAX_FILES} {} files",
                file_use.words().0
            ))
        } else {
            bytes(&path, file_use, read)
        };
        let text = text.map_err(|why| report.push(Diagnostic::error(BAD_DATA, why).at(node.span, "")));
        texts.push((path.into_owned(), text.ok()));
    }
    texts
}

/// The text of a file below the project's directory; the error says why it cannot be used, human-readable.
fn bytes(path: &str, file_use: FileUse, read: &mut ReadData<'_>) -> Result<String, String> {
    check_path(path, file_use)?;
    let bytes = read(path)?;
    if bytes.len() > MAX_DATA_BYTES {
        return Err(format!("`{path}` is larger than {MAX_DATA_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("`{path}` is not UTF-8 at byte {at}")
    })?;
    if text.contains('\0') {
        return Err(format!("`{path}` contains a NUL byte"));
    }
    Ok(text)
}

/// Whether a path leads to a data file below the project's directory.
fn check_path(path: &str, file_use: FileUse) -> Result<(), String> {
    let (called, ending, example) = file_use.words();
    let inside = !path.starts_with('/')
        && !path.contains(['\\', ':', '\0'])
        && path
            .split('/')
            .all(|part| !part.is_empty() && part != ".." && part != ".");
    if !inside {
        return Err(format!(
            "`{path}` is not a path inside the project's directory, such as {example}"
        ));
    }
    if !path.ends_with(ending) {
        return Err(format!("`{path}` cannot be used: {called} files end in {ending}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_project() {
        for path in [
            "/etc/x.csv",
            "../x.csv",
            "a/../../x.csv",
            "a//x.csv",
            "",
            "x.txt",
            "C:\\x.csv",
            "./x.csv",
        ] {
            assert!(check_path(path, FileUse::Table).is_err(), "{path}");
        }
        assert!(check_path("data/x.csv", FileUse::Table).is_ok());
    }
}
