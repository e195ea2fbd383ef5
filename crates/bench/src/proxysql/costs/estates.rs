//! Topologies that are made for the measurement.

use shardwright_topology::load;

use super::cases::Case;
use super::scripts::emitted;
use super::workloads::{LONG_READ, Workload};
use crate::BenchError;
use crate::shards::{PROJECT, input_files};

/// Shards, and clusters that each have a run of them.
const SHARDS: u32 = 10_000;
const CLUSTERS: u32 = 100;

/// Shards by comment in runs on clusters, reads split with a hint.
pub(super) fn runs() -> Result<Case, BenchError> {
    let name = format!("{SHARDS} by comment in runs on {CLUSTERS} clusters");
    let run = SHARDS / CLUSTERS;
    let topology = format!(
        "version: 1\n\
         clusters:\n  c$(n:03): {{for_each: {{n: 0..{}}}, type: replication, servers: {{a: {{host: \"a$(n).db\"}}, b: {{host: \"b$(n).db\"}}}}}}\n\
         users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: c000, schema: app}}\n\
         shard_maps:\n  tenants:\n    applies_to: {{users: [app]}}\n    key: {{name: tenant, type: integer, domain: 1..{SHARDS}}}\n    \
         key_from: [comment: {{}}]\n    \
         shards:\n      t$(n:05): {{for_each: {{n: 1..{SHARDS}}}, keys: [$(n)], cluster: \"c$((n - 1) / {run}:03)\"}}\n\
         read_write_policies:\n  default: {{reads: {{all: true}}, writer_hint: {{comment: {{name: primary}}}}}}\n",
        CLUSTERS - 1
    );
    let files = [
        ("shardwright.yaml", PROJECT.to_owned()),
        ("topology/t.yaml", topology),
    ];
    let loaded = load(input_files(files), &Default::default());
    let project = loaded.project.ok_or_else(|| BenchError::Output {
        what: format!("{name} is no project"),
        output: format!("{:?}", loaded.problems.sorted()),
    })?;
    let said = (1..=SHARDS).map(|key| ("app".to_owned(), None, format!("/* tenant={key} */ {LONG_READ}")));
    Ok(Case {
        users: vec!["app".to_owned()],
        sets: emitted(&project, &name)?.sets,
        workloads: vec![Workload::of("150-byte SELECT, comment", said)],
        name,
    })
}
