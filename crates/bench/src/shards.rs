//! Projects with any number of shards found by a comment.

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_rules::EngineId;
use shardwright_topology::{InputFile, load};

const PROJECT: &str = "version: 1\nengines: [bundled, proxysql-2.7]\n\
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

/// That project compiled for one engine.
///
/// # Panics
/// When it does not load or compile, which is a defect of this program.
#[must_use]
pub fn compiled(shards: u32, engine: EngineId) -> Compiled {
    let files = project_files(shards)
        .into_iter()
        .map(|(path, text)| InputFile {
            path: path.to_owned(),
            bytes: text.into_bytes(),
        })
        .collect();
    let loaded = load(files, &Default::default());
    let project = loaded.project.expect("the generated project loads");
    let compiled = compile(&project, engine, &Lock::default(), &Options::default());
    assert!(!compiled.problems.has_errors(), "the generated project compiles");
    compiled
}
