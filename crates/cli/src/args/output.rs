//! How results are written, and where to.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

/// `--format`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Human-readable text
    #[default]
    Human,
    /// One JSON document
    Json,
    /// For a comment on a change
    Markdown,
}

/// `--color`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `--annotate`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Annotate {
    /// Workflow commands of GitHub Actions, on standard error
    Github,
}

/// `--report KIND=FILE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportFile {
    pub(crate) kind: ReportKind,
    pub(crate) path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportKind {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

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
