//! Servers and maps that effects are put behind.

pub(crate) const SERVERS: &str = r#"
version: 1
clusters:
  home: {type: replication, servers: {a: {host: home1}, b: {host: home2}}}
  shard-$(n): {for_each: {n: 1..9}, type: replication, servers: {a: {host: "s$(n)a"}, b: {host: "s$(n)b"}}}
users:
  app: {password: {env: P}, cluster: home, schema: app}
  batch: {password: {env: P}, cluster: shard-1}
"#;

pub(crate) const MAPS: [&str; 6] = [
    r#"
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    missing_key: {statements: {cluster: shard-2}, session_setup: allow, begin: reject}
    unknown_key: {cluster: shard-3}
    shards:
      t$(n): {for_each: {n: 1..9}, keys: [$(n)], cluster: "shard-$(n)"}
read_write_policies:
  default: {reads: {all: true}, writer_hint: {comment: {name: primary}}}
"#,
    r#"
shard_maps:
  accounts:
    applies_to: {users: [app]}
    key: {name: account, type: integer}
    key_from: [{schema: acct_$(key:02)}]
    rule_layout: fast_routing
    shards:
      a$(n): {for_each: {n: 1..20}, keys: [$(n)], cluster: "shard-$(n % 9 + 1)"}
read_write_policies:
  default: {reads: {except: [{match_digest: hot}, {functions: [now]}]}, applies_to: {clusters: ["shard-*"]}}
"#,
    r#"
shard_maps:
  regions:
    applies_to: {users: [app]}
    key: {name: region, type: text}
    key_from: [comment: {}]
    shards: {eu: {keys: [eu], cluster: shard-1}, us: {keys: [us], cluster: shard-2}}
  tenants:
    applies_to: {users: [app]}
    logical_schema: world
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t$(n): {for_each: {n: 1..3}, keys: [$(n)], schema: "tenant_$(n)"}
"#,
    r#"
read_write_policies:
  reports: {reads: {all: true}, applies_to: {users: [app], match_digest: report}}
  others: {reads: {only: [{match_digest: "FROM t"}, {statements: [select], functions: [upper]}]}}
"#,
    r#"
shard_maps:
  tenants:
    applies_to: {users: [app], except_match_digest: "^SHOW"}
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}, {schema: acct_$(key:02)}]
    rule_layout: flat
    missing_key: {statements: allow, session_setup: allow, begin: reject}
    shards:
      t$(n): {for_each: {n: 1..5}, keys: [$(n)], cluster: "shard-$(n)"}
query_rules:
  early: {rules: [{match_digest: "^DROP ", error_msg: "no drops", apply: 1}]}
  late: {at: after_all, rules: [{match_digest: "^SELECT 7", cluster: shard-9, apply: 1}]}
"#,
    r#"
shard_maps:
  owners:
    key: {name: owner, type: text}
    key_from: [user: $(key)]
    unknown_key: {cluster: shard-3}
    shards: {a: {keys: [app], cluster: shard-4}, b: {keys: [other], cluster: shard-5}}
read_write_policies:
  default: {reads: {all: true}, applies_to: {except_clusters: [shard-5], except_functions: [upper]}}
"#,
];
