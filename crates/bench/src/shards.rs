//! Projects with any number of shards found by a comment.

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_rules::EngineId;
use shardwright_topology::{InputFile, load};
use tempfile::TempDir;

use crate::BenchError;

pub(crate) const PROJECT: &str = "version: 1\nengines: [bundled, proxysql-2.7]\n\
    ids: {hostgroups: 1000-1999999, rules: 2000000-19999999, flags: 20000000-29999999}\n";

/// `shardwright.yaml` and `topology/tenants.yaml` of a project with `shards` shards, as paths and texts.
#[must_use]
pub fn project_files(shards: u32) -> [(&'static str, String); 2] {
    let topology = format!(
        "version: 1\n\
         clusters:\n  shard-$(n): {{for_each: {{n: 1..{shards}}}, type: single, servers: {{db: {{host: \"s$(n).db\"}}}}}}\n\
         users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: shard-1, schema: app}}\n\
         shard_maps:\n  tenants:\n    applies_to: {{users: [app]}}\n    key: {{name: tenant, type: integer}}\n    \
         key_from: [comment: {{}}]\n    \
         shards:\n      t$(n): {{for_each: {{n: 1..{shards}}}, keys: [$(n)], cluster: \"shard-$(n)\"}}\n"
    );
    [
        ("shardwright.yaml", PROJECT.to_owned()),
        ("topology/tenants.yaml", topology),
    ]
}

/// Engines that are measured: what later versions of one add costs the compiler nothing else.
pub(crate) const ENGINES: [EngineId; 2] = [EngineId::Bundled, EngineId::Proxysql27];

/// The keys of the shards of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// One for each shard.
    Single,
    /// A range of a hundred for each shard.
    Ranges,
}

/// The files of a project whose shards all lie on one cluster.
pub(crate) fn one_cluster_files(shards: u32, keys: Keys) -> [(&'static str, String); 2] {
    let keys = match keys {
        Keys::Single => "$(n)",
        Keys::Ranges => "\"$(n * 100)..$(n * 100 + 99)\"",
    };
    let topology = format!(
        "version: 1\nclusters:\n  one: {{type: single, servers: {{db: {{host: one.db}}}}}}\n\
         users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: one, schema: app}}\n\
         shard_maps:\n  tenants:\n    applies_to: {{users: [app]}}\n    key: {{name: tenant, type: integer}}\n    \
         key_from: [comment: {{}}]\n    \
         shards:\n      t$(n): {{for_each: {{n: 1..{shards}}}, keys: [{keys}], cluster: one}}\n"
    );
    [
        ("shardwright.yaml", PROJECT.to_owned()),
        ("topology/tenants.yaml", topology),
    ]
}

/// A project of replicated clusters, one for each shard, whose reads go to readers. Keys are found by a comment, or by a
/// comment and the session's schema.
pub(crate) fn split_files(shards: u32, by_schema: bool) -> [(&'static str, String); 2] {
    let finders = if by_schema {
        "[comment: {}, schema: \"tenant_$(key)\"]"
    } else {
        "[comment: {}]"
    };
    let topology = format!(
        "version: 1\n\
         clusters:\n  shard-$(n): {{for_each: {{n: 1..{shards}}}, type: replication, servers: {{a: {{host: \"a$(n).db\"}}, b: {{host: \"b$(n).db\"}}}}}}\n\
         users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: shard-1, schema: app}}\n\
         shard_maps:\n  tenants:\n    applies_to: {{users: [app]}}\n    key: {{name: tenant, type: integer}}\n    \
         key_from: {finders}\n    conflict: reject\n    \
         shards:\n      t$(n): {{for_each: {{n: 1..{shards}}}, keys: [$(n)], cluster: \"shard-$(n)\"}}\n\
         read_write_policies:\n  reads: {{applies_to: {{users: [app]}}, reads: {{all: true}}}}\n"
    );
    [
        ("shardwright.yaml", PROJECT.to_owned()),
        ("topology/tenants.yaml", topology),
    ]
}

/// A new directory with these files.
///
/// # Errors
/// They cannot be written.
pub(crate) fn write_project(files: &[(&str, String)]) -> Result<TempDir, BenchError> {
    let failed = || BenchError::io("writing a project");
    let directory = TempDir::with_prefix("sw-bench-").map_err(failed())?;
    for (path, text) in files {
        let path = directory.path().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed())?;
        }
        std::fs::write(path, text).map_err(failed())?;
    }
    Ok(directory)
}

/// That project compiled for one engine.
///
/// # Panics
/// When it does not load or compile, which is a defect of this program.
#[must_use]
pub fn compiled(shards: u32, engine: EngineId) -> Compiled {
    compiled_from(project_files(shards), engine, &Options::default())
}

/// Files as the loader takes them.
pub(crate) fn input_files(files: [(&'static str, String); 2]) -> Vec<InputFile> {
    let file = |(path, text): (&str, String)| InputFile {
        path: path.to_owned(),
        bytes: text.into_bytes(),
    };
    files.into_iter().map(file).collect()
}

/// The project of these files compiled for one engine.
///
/// # Panics
/// As [`compiled`].
pub(crate) fn compiled_from(
    files: [(&'static str, String); 2],
    engine: EngineId,
    options: &Options,
) -> Compiled {
    let loaded = load(input_files(files), &Default::default());
    let project = loaded.project.expect("the generated project loads");
    let compiled = compile(&project, engine, &Lock::default(), options);
    assert!(!compiled.problems.has_errors(), "the generated project compiles");
    compiled
}
