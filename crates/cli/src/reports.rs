//! `--report` and `--annotate`: what a run found, in files and annotations, also when it failed.

mod html;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use shardwright_diagnostics::{Report, Tool, render};

use crate::commands::codes;
use crate::error::CommandError;
use crate::project::replace_file;

/// `--report KIND=FILE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportFile {
    kind: ReportKind,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportKind {
    Json,
    Sarif,
    Junit,
    Markdown,
    Html,
}

impl ReportKind {
    const ALL: [(&'static str, Self); 5] = [
        ("json", Self::Json),
        ("sarif", Self::Sarif),
        ("junit", Self::Junit),
        ("markdown", Self::Markdown),
        ("html", Self::Html),
    ];
}

impl FromStr for ReportFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = ReportKind::ALL.iter().map(|(name, _)| *name).collect();
        let kinds = format!("kinds: {}", names.join(", "));
        let (name, path) = text
            .split_once('=')
            .filter(|(_, path)| !path.is_empty())
            .ok_or_else(|| format!("write KIND=FILE; {kinds}"))?;
        let kind = ReportKind::ALL.into_iter().find(|(known, _)| *known == name);
        let (_, kind) = kind.ok_or_else(|| format!("no report is called {name}; {kinds}"))?;
        Ok(Self {
            kind,
            path: PathBuf::from(path),
        })
    }
}

/// Writes every report file that was asked for; the first one that cannot be written is the error, the others are
/// written all the same.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_kind_and_a_file() {
        let report: ReportFile = "sarif=out/a=b.sarif".parse().unwrap();
        assert_eq!(report.kind, ReportKind::Sarif);
        assert_eq!(report.path, Path::new("out/a=b.sarif"));
        for bad in ["sarif", "sarif=", "=x", "xml=x", ""] {
            let error = bad.parse::<ReportFile>().unwrap_err();
            assert!(
                error.contains("kinds: json, sarif, junit, markdown, html"),
                "{bad}: {error}"
            );
        }
    }
}
