//! `--report` and `--annotate`: the findings of a run in files and annotations, also if it fails.

mod html;

use std::path::Path;

use shardwright_diagnostics::{Report, Tool, render};

use crate::args::{ReportFile, ReportKind};
use crate::codes;
use crate::error::CommandError;
use crate::files::replace_file;

/// Writes every requested report file; the first one that cannot be written is the error, the others are
/// still written.
pub(crate) fn write(files: &[ReportFile], report: &Report, command: &str) -> Result<(), CommandError> {
    if files.is_empty() {
        return Ok(());
    }
    let pages = codes::pages();
    let tool = Tool {
        command,
        version: env!("CARGO_PKG_VERSION"),
        pages: &pages,
    };
    let written: Vec<Result<(), CommandError>> = files
        .iter()
        .map(|file| {
            let text = match file.kind {
                ReportKind::Json => render::json::write(report),
                ReportKind::Sarif => render::sarif::write(report, tool),
                ReportKind::Junit => render::junit::write(report, tool),
                ReportKind::Markdown => render::markdown::write(report),
                ReportKind::Html => html::write(report, tool),
            };
            write_file(&file.path, &text)
        })
        .collect();
    written.into_iter().collect()
}

/// Regular files are replaced in one step; pipes and devices are written to.
fn write_file(path: &Path, text: &str) -> Result<(), CommandError> {
    let failed =
        |error: std::io::Error| CommandError::failed(format!("cannot write {}: {error}", path.display()));
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => std::fs::write(path, text).map_err(failed),
        _ => replace_file(path, text.as_bytes()),
    }
}
