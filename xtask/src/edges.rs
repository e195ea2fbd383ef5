//! Which of our crates may use which: the table of `docs/architecture.md`, checked against `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// A crate (without the `shardwright-` prefix) and the crates of ours it may use outside tests. Rows stand in an order
/// in which a crate uses only earlier ones, so the table itself cannot hold a cycle.
const ALLOWED: &[(&str, &[&str])] = &[
    ("vocabulary", &[]),
    ("diagnostics", &["vocabulary"]),
    ("documents", &["diagnostics"]),
    ("sql", &["vocabulary"]),
    ("patterns", &[]),
    ("tables", &["vocabulary"]),
    ("rules", &["sql", "patterns", "tables", "vocabulary"]),
    ("routing", &["rules", "sql", "patterns"]),
    ("topology", &["documents", "diagnostics", "tables", "vocabulary"]),
    ("ids", &[]),
    ("layout", &[]),
    ("compiler", &["topology", "rules", "diagnostics", "ids", "layout"]),
    ("prover", &["rules", "routing", "sql", "patterns", "diagnostics"]),
    ("analysis", &["prover", "rules", "sql", "patterns", "diagnostics"]),
    ("simulation", &["prover", "rules", "routing", "sql", "patterns"]),
    ("plan", &["rules", "vocabulary"]),
    ("secrets", &["rules"]),
    ("sends", &[]),
    ("import", &["topology", "rules", "secrets", "sql", "diagnostics"]),
    ("targets", &["plan", "import", "rules", "secrets"]),
    (
        "adopt",
        &[
            "import",
            "compiler",
            "topology",
            "documents",
            "prover",
            "targets",
            "rules",
            "secrets",
            "diagnostics",
        ],
    ),
    ("ledger", &[]),
    ("wire", &[]),
    ("mysqlite", &["wire"]),
    (
        "proxy",
        &["routing", "rules", "secrets", "sends", "sql", "wire", "mysqlite"],
    ),
];

/// May use every crate of the table.
const COMMAND: &str = "shardwright";

/// May use anything of ours, and nothing of ours may use them outside tests.
const UNSHIPPED: &[&str] = &["testkit", "bench", "xtask"];

/// Each of our crates with those of ours it uses outside tests.
pub(crate) type Edges = BTreeMap<String, BTreeSet<String>>;

/// The edges there are. Dev-dependencies are none.
pub(crate) fn workspace(root: &Path) -> io::Result<Edges> {
    let metadata = metadata(root)?;
    let edges = metadata.packages.iter().map(|package| {
        let uses = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.path.is_some() && dependency.kind != DependencyKind::Development)
            .map(|dependency| short(&dependency.name).to_owned());
        (short(&package.name).to_owned(), uses.collect())
    });
    Ok(edges.collect())
}

/// Where cargo puts programs.
pub(crate) fn target_directory(root: &Path) -> io::Result<PathBuf> {
    Ok(metadata(root)?.target_directory.into_std_path_buf())
}

fn metadata(root: &Path) -> io::Result<Metadata> {
    MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(io::Error::other)
}

fn short(package: &str) -> &str {
    package.strip_prefix("shardwright-").unwrap_or(package)
}

/// What is there and not allowed, and what the table names and is not there.
pub(crate) fn problems(edges: &Edges) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, uses) in edges {
        if UNSHIPPED.contains(&name.as_str()) {
            continue;
        }
        let allowed: BTreeSet<&str> = match ALLOWED.iter().find(|(row, _)| row == name) {
            Some((_, allowed)) => allowed.iter().copied().collect(),
            None if name == COMMAND => ALLOWED.iter().map(|(row, _)| *row).collect(),
            None => {
                problems.push(format!("crate {name} is not in the table of xtask/src/edges.rs"));
                continue;
            }
        };
        for used in uses.iter().filter(|used| !allowed.contains(used.as_str())) {
            problems.push(format!("crate {name} may not use {used}"));
        }
    }
    for (row, _) in ALLOWED.iter().filter(|(row, _)| !edges.contains_key(*row)) {
        problems.push(format!(
            "crate {row} is in the table of xtask/src/edges.rs and nowhere else"
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_edges() {
        assert_eq!(problems(&workspace(&crate::root()).unwrap()), [""; 0]);
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (position, (name, uses)) in ALLOWED.iter().enumerate() {
            for used in *uses {
                assert!(
                    ALLOWED[..position].iter().any(|(row, _)| row == used),
                    "{name} uses {used}"
                );
            }
        }
    }

    #[test]
    fn an_edge_outside_the_table_is_found() {
        let mut edges: Edges = ALLOWED
            .iter()
            .map(|(name, _)| ((*name).to_owned(), BTreeSet::new()))
            .collect();
        edges.insert("xtask".to_owned(), BTreeSet::from(["sql".to_owned()]));
        edges.insert(
            COMMAND.to_owned(),
            BTreeSet::from(["proxy".to_owned(), "testkit".to_owned()]),
        );
        edges.insert(
            "rules".to_owned(),
            BTreeSet::from(["sql".to_owned(), "topology".to_owned()]),
        );
        edges.insert("extra".to_owned(), BTreeSet::new());
        edges.remove("wire");
        assert_eq!(
            problems(&edges),
            [
                "crate extra is not in the table of xtask/src/edges.rs",
                "crate rules may not use topology",
                "crate shardwright may not use testkit",
                "crate wire is in the table of xtask/src/edges.rs and nowhere else",
            ]
        );
    }
}
