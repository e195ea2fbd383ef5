//! Two branches that both add shards, merged by git.

use std::process::Command;

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_diagnostics::Severity;

use shardwright_topology::model::Project;

use crate::support::*;

fn project(keys: &[i64]) -> Project {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    tenants(keys, 1).finish()
}

/// The lock after compiling for both engines.
fn locked(project: &Project, lock: &Lock) -> Lock {
    let engine = |lock: &Lock, engine| compile(project, engine, lock, &Options::default()).lock;
    BOTH.into_iter().fold(lock.clone(), |lock, id| engine(&lock, id))
}

/// What git makes of two versions of a file; none: a conflict.
fn merged(base: &Lock, ours: &Lock, theirs: &Lock, options: &[&str]) -> Option<Lock> {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, lock) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        std::fs::write(directory.path().join(name), lock.to_string()).expect("a file");
    }
    let output = Command::new("git")
        .args(["merge-file", "-p"])
        .args(options)
        .args(["ours", "base", "theirs"])
        .current_dir(directory.path())
        .output()
        .expect("git runs");
    let (lock, errors) = Lock::parse(&String::from_utf8(output.stdout).expect("text"));
    assert_eq!(errors.is_empty(), output.status.success(), "{errors:?}");
    errors.is_empty().then_some(lock)
}

/// Ids of the rules that place keys.
fn leaves(compiled: &Compiled) -> Vec<(String, u32)> {
    let rules = compiled.configuration.graph.rules.iter();
    let leaves = rules.filter(|rule| rule.address.as_str().contains(".shards."));
    leaves.map(|rule| (rule.address.to_string(), rule.id)).collect()
}

fn check(added: (i64, i64), options: &[&str], is_clean: bool) {
    let keys: Vec<i64> = (1..=200).map(|key| key * 10).collect();
    let with = |more: &[i64]| project(&[&keys[..], more].concat());
    let base = locked(&with(&[]), &Lock::default());
    let (ours, theirs) = (locked(&with(&[added.0]), &base), locked(&with(&[added.1]), &base));
    let merged = merged(&base, &ours, &theirs, options);
    assert_eq!(merged.is_some(), is_clean, "{added:?} {options:?}");
    let Some(merged) = merged else { return };
    let both = with(&[added.0, added.1]);
    for engine in BOTH {
        let compiled = compile(&both, engine, &merged, &Options::default());
        assert_eq!(problems(&compiled, Severity::Error), Vec::<String>::new());
        let found = leaves(&compiled);
        for (side, lock) in [(added.0, &ours), (added.1, &theirs)] {
            let alone = compile(&with(&[side]), engine, lock, &Options::default());
            let moved = leaves(&alone)
                .into_iter()
                .filter(|leaf| !found.contains(leaf))
                .count();
            assert_eq!(
                moved, 0,
                "{engine}: rules of the branch with {side} have other ids"
            );
        }
        let decider = Decider::new(&compiled);
        for key in [added.0, added.1, 10, 2_000] {
            let statement = format!("/* tenant={key} */ SELECT 1 FROM t");
            assert_eq!(
                decider.short("app", None, &statement),
                format!("shard-{key:03} writer")
            );
        }
    }
}

#[test]
fn branches_that_add_shards_in_different_places_merge() {
    check((333, 1_777), &[], true);
    check((15, 1_999), &[], true);
}

#[test]
fn shards_at_the_same_place_merge_when_git_keeps_the_lines_of_both() {
    check((2_011, 2_012), &[], false);
    check((2_011, 2_012), &["--union"], true);
    check((501, 502), &["--union"], true);
}
