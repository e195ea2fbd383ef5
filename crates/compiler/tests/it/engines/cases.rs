//! The topologies that both engines are given, and what their clients write.

use super::access::ACCESS;

/// A topology, the schemas that its clients are in, and the annotations that they write.
pub(crate) struct Case {
    pub(crate) topology: &'static str,
    pub(crate) schemas: &'static [Option<&'static str>],
    pub(crate) comments: &'static [&'static str],
    pub(crate) users: &'static [&'static str],
}

pub(crate) const CLUSTERS: &str = r#"
version: 1
clusters:
  home: {type: single, servers: {a: {host: home.db}}}
  c$(n):
    for_each: {n: 1..5}
    type: replication
    servers: {w: {host: "w$(n).db"}, r: {host: "r$(n).db"}}
users:
  app: {password: {env: P}, cluster: home, schema: app}
  u_$(n:02): {for_each: {n: [1, 2, 5, 40, 99]}, password: {env: P}, cluster: home}
  u_3: {password: {env: P}, cluster: home}
  at_three: {password: {env: P}, cluster: home, schema: acct_0003}
  at_none: {password: {env: P}, cluster: home, schema: acct_0098}
"#;

pub(crate) const USERS: &[&str] = &["app", "u_01", "u_02", "u_05", "u_40", "u_99", "u_3"];

/// Comments to clients that may have a tenant in their names.
const TENANTS: &[&str] = &[
    "tenant=1",
    "tenant=2",
    "tenant=05",
    "tenant=40",
    "tenant=99",
    "tenant=x",
    "tenant=5 tenant=1",
];

const REGIONS_AND_TENANTS: &[&str] = &[
    "region=eu",
    "region=xx",
    "region=us, tenant=2",
    "tenant=2",
    "tenant=2, region=xx",
    "region=eu tenant=9",
    "tenant=9",
];

pub(super) const ACCOUNTS: &[Option<&str>] = &[
    None,
    Some("app"),
    Some("acct_0003"),
    Some("acct_0005"),
    Some("acct_0098"),
    Some("acct_0099"),
    Some("acct_3"),
    Some("reports"),
];

pub(crate) const CASES: &[Case] = &[
    ACCESS,
    Case {
        topology: r#"
shard_maps:
  shops:
    applies_to: {users: [app]}
    key: {name: shop, type: text}
    key_from: [comment: {}]
    shards:
      a: {keys: ["North America", "a", "ab", "a.c"], cluster: c1}
      b: {keys: ["a.b+c", "(x)", "abc", "abcd", "$1"], cluster: c2}
      c: {keys: ["Ünïcode", "日本", "a%b", "50%"], cluster: c3}
      d: {keys: ["abcde", "North", "A", "a b"], cluster: c4}
read_write_policies:
  default:
    applies_to: {clusters: ["c*"]}
    reads: {all: true}
    writer_hint: {comment: {name: primary}}
throttles:
  purge: {applies_to: {statements: [delete]}, delay: 5ms}
"#,
        schemas: &[Some("app"), None],
        comments: &[
            "shop='North America'",
            "shop=North America",
            "shop=North",
            "shop=a",
            "shop=A",
            "shop=a.c",
            "shop=abc",
            "shop=abcd",
            "shop=abcde",
            "shop=(x)",
            "shop=\"a b\"",
            "shop=a b",
            "shop=$1",
            "shop=a%b",
            "shop=日本",
            "shop=Ünïcode",
            "shop='a.b+c'",
            "Shop=a, primary",
            "shop=a;primary=1",
            "primary=0 shop=a",
            "xshop=a",
            "shop=a shop=abc",
            "shop = a",
            "shop=",
            "shop='a",
            "shop='a'b",
        ],
        users: &["app"],
    },
    Case {
        topology: r#"
shard_maps:
  accounts:
    applies_to: {users: [app]}
    key: {name: account, type: integer}
    key_from: [{schema: "acct_$(key:04)"}, {comment: {}}]
    missing_key: {statements: allow}
    shards:
      a$(n:04): {for_each: {n: 0..12}, keys: [$(n)], cluster: "c$(n % 5 + 1)"}
read_write_policies:
  default: {reads: {only: [{match_digest: "^SELECT .* FROM hot"}]}}
"#,
        schemas: &[
            None,
            Some("app"),
            Some("acct_0003"),
            Some("acct_0012"),
            Some("acct_0099"),
            Some("ACCT_0003"),
            Some("acct_3"),
        ],
        comments: &[
            "account=3",
            "account=0003",
            "account=12",
            "account=99",
            "account=x",
            "account=-3",
            "account='3'",
        ],
        users: &["app"],
    },
    Case {
        topology: r#"
shard_maps:
  ids:
    applies_to: {users: [app]}
    key: {name: id, type: integer}
    key_from: [comment: {}]
    unknown_key: {cluster: c4}
    missing_key: {statements: {cluster: c5}}
    shards:
      neg: {keys: [-9223372036854775808..-1], cluster: c1}
      mid: {keys: [0..9999, 20000], cluster: c2}
      big: {keys: [9223372036854775000..9223372036854775807], cluster: c3}
"#,
        schemas: &[None],
        comments: &[
            "id=-1",
            "id=-0",
            "id=0",
            "id=+5",
            "id=0000000000000000000000007",
            "id=9999",
            "id=10000",
            "id=09999",
            "id=20000",
            "id=-9223372036854775808",
            "id=-9223372036854775809",
            "id=9223372036854774999",
            "id=9223372036854775000",
            "id=9223372036854775807",
            "id=9223372036854775808",
            "id=18446744073709551615",
            "id=99999999999999999999999",
            "id=1e3",
            "id=0x10",
            "id=",
        ],
        users: &["app"],
    },
    Case {
        topology: r#"
shard_maps:
  one:
    applies_to: {users: [app]}
    key: {name: one, type: integer, domain: 1..4}
    key_from: [comment: {}]
    otherwise: shard_maps.two
    shards:
      o$(n): {for_each: {n: 1..4}, keys: [$(n)], cluster: "c$(n)"}
  two:
    applies_to: {users: [app]}
    key: {name: two, type: text}
    key_from: [comment: {exact: "$(key)"}]
    missing_key: {statements: {cluster: c3}}
    shards:
      x: {keys: [x, "x y"], cluster: c1}
      z: {keys: [z], cluster: c2}
read_write_policies:
  p: {reads: {except: [{match_digest: "FROM hot"}]}}
query_rules:
  early:
    at: before_all
    rules:
      - {match_digest: "^DROP ", error_msg: "SW999: no drops", apply: 1}
      - {match_digest: "^SELECT .* FROM report_", flagOUT: 500}
      - {flagIN: 500, match_pattern: "x", cluster: c3, role: reader, apply: 1}
  late:
    at: after_all
    rules:
      - {match_digest: "^SELECT 1", cluster: c2, apply: 1}
"#,
        schemas: &[None],
        comments: &[
            "one=1", "one=4", "one=5", "x", "x y", "z", "q", "one=1 x", "ONE=2",
        ],
        users: &["app"],
    },
    Case {
        topology: r#"
shard_maps:
  regions:
    applies_to: {users: [app]}
    key: {name: region, type: text}
    key_from: [comment: {}]
    shards: {eu: {keys: [eu], cluster: c1}, us: {keys: [us], cluster: c2}}
  tenants:
    applies_to: {users: [app]}
    logical_schema: world
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t$(n): {for_each: {n: 1..3}, keys: [$(n)], schema: "tenant_$(n)"}
read_write_policies:
  default: {reads: {all: true}}
"#,
        schemas: &[None, Some("world"), Some("app")],
        comments: &[
            "region=eu",
            "region=us, tenant=2",
            "tenant=2",
            "tenant=2; region=eu",
            "region=eu tenant=9",
            "tenant=1,region=xx",
        ],
        users: &["app"],
    },
    Case {
        topology: r#"
shard_maps:
  places:
    applies_to: {users: [app]}
    key: {name: place, type: text}
    key_from: [{comment: {format: sqlcommenter}}]
    missing_key: {statements: allow, session_setup: reject}
    shards:
      a: {keys: ["a b", "a"], cluster: c1}
      b: {keys: ["b"], cluster: c2}
    overrides:
      b: {cluster: c3, reason: moved}
read_write_policies:
  default: {reads: {all: true}, applies_to: {clusters: [c1, c3]}}
"#,
        schemas: &[None],
        comments: &[
            "place='a%20b'",
            "place='a b'",
            "place='a'",
            "place=a",
            "place='b',x='1'",
            "place='%62'",
            "x='place=a',place='b'",
        ],
        users: &["app"],
    },
    Case {
        topology: r#"
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{user: "u_$(key:02)"}]
    conflict: reject
    missing_key: {statements: allow}
    shards:
      a: {keys: [1..4], cluster: c1}
      b: {keys: [5, 7], cluster: c2}
      c: {keys: [40..49], cluster: c3}
read_write_policies:
  default: {reads: {all: true}, applies_to: {clusters: [c1, c2]}}
"#,
        schemas: &[None, Some("app")],
        comments: TENANTS,
        users: USERS,
    },
    Case {
        topology: r#"
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{user: "u_$(key:02)"}, {comment: {}}]
    conflict: reject
    unknown_key: {cluster: c4}
    shards:
      a: {keys: [1..4], cluster: c1}
      b: {keys: [5, 7], cluster: c2}
      c: {keys: [40..49], cluster: c3}
read_write_policies:
  default: {reads: {all: true}, applies_to: {clusters: [c1, c2]}}
"#,
        schemas: &[None, Some("app")],
        comments: TENANTS,
        users: USERS,
    },
    Case {
        topology: r#"
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{comment: {}}, {user: "u_$(key:02)"}]
    conflict: first
    missing_key: {statements: {cluster: c5}}
    shards:
      a: {keys: [1..4], cluster: c1}
      b: {keys: [5, 7], cluster: c2}
      c: {keys: [40..49], cluster: c3}
read_write_policies:
  default: {reads: {all: true}, applies_to: {clusters: [c1, c2]}}
"#,
        schemas: &[None, Some("app")],
        comments: TENANTS,
        users: USERS,
    },
    Case {
        topology: r#"
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{user: "u_$(key:02)"}, {comment: {}}]
    conflict: first
    unknown_key: reject
    shards:
      a: {keys: [1..4], cluster: c1}
      b: {keys: [5, 7], cluster: c2}
      c: {keys: [40..49], cluster: c3}
read_write_policies:
  default: {reads: {all: true}, applies_to: {clusters: [c1, c2]}}
"#,
        schemas: &[None, Some("app")],
        comments: TENANTS,
        users: USERS,
    },
    // A cluster for missing and for unknown keys, and a map that composes.
    Case {
        topology: r#"
shard_maps:
  regions:
    applies_to: {users: [app]}
    key: {name: region, type: text}
    key_from: [comment: {}]
    missing_key: {statements: {cluster: c4}}
    unknown_key: {cluster: c5}
    shards: {eu: {keys: [eu], cluster: c1}, us: {keys: [us], cluster: c2}}
  tenants:
    applies_to: {users: [app]}
    logical_schema: world
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t$(n): {for_each: {n: 1..3}, keys: [$(n)], schema: "tenant_$(n)"}
"#,
        schemas: &[None, Some("world"), Some("app")],
        comments: REGIONS_AND_TENANTS,
        users: &["app"],
    },
    // The same the other way round.
    Case {
        topology: r#"
shard_maps:
  tenants:
    applies_to: {users: [app]}
    logical_schema: world
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    unknown_key: {cluster: c5}
    missing_key: {statements: {cluster: c4}}
    shards:
      t$(n): {for_each: {n: 1..3}, keys: [$(n)], schema: "tenant_$(n)"}
  regions:
    applies_to: {users: [app]}
    key: {name: region, type: text}
    key_from: [comment: {}]
    missing_key: {statements: allow}
    shards: {eu: {keys: [eu], cluster: c1}, us: {keys: [us], cluster: c2}}
"#,
        schemas: &[None, Some("world"), Some("app")],
        comments: REGIONS_AND_TENANTS,
        users: &["app"],
    },
    // Default schemas that are a shard's, and no shard's.
    Case {
        topology: r#"
shard_maps:
  accounts:
    key: {name: account, type: integer}
    key_from: [{schema: "acct_$(key:04)"}, {comment: {}}]
    unknown_key: {cluster: c5}
    missing_key: {statements: allow}
    shards:
      a$(n:04): {for_each: {n: 0..12}, keys: [$(n)], cluster: "c$(n % 4 + 1)"}
"#,
        schemas: ACCOUNTS,
        comments: &["account=3", "account=5", "account=98", "account=99", "account=x"],
        users: &["app", "at_three", "at_none"],
    },
    Case {
        topology: r#"
shard_maps:
  accounts:
    key: {name: account, type: integer}
    key_from: [{schema: "acct_$(key:04)"}]
    missing_key: {statements: {cluster: c5}}
    shards:
      a$(n:04): {for_each: {n: 0..12}, keys: [$(n)], cluster: "c$(n % 4 + 1)"}
"#,
        schemas: ACCOUNTS,
        comments: &["account=3"],
        users: &["app", "at_three", "at_none"],
    },
    // Percent signs, where unknown and missing keys are not refused.
    Case {
        topology: r#"
shard_maps:
  places:
    key: {name: place, type: text}
    key_from: [{comment: {format: sqlcommenter}}]
    unknown_key: {cluster: c5}
    missing_key: {statements: allow}
    shards:
      a: {keys: ["a b", "a"], cluster: c1}
      b: {keys: ["b", "a%20b"], cluster: c2}
"#,
        schemas: &[None],
        comments: &[
            "place='a%20b'",
            "place='a b'",
            "place='%61'",
            "place=%61",
            "pl%61ce='a'",
            "%50LACE='b'",
            "place='a',pl%61ce='b'",
            "path='%2Fx',place='b'",
            "path='%2Fx'",
            "place='100%'",
        ],
        users: &["app"],
    },
    // A user's key, and keys of maps that take the other statements.
    Case {
        topology: r#"
shard_maps:
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{user: "u_$(key:02)"}]
    otherwise: shard_maps.regions
    shards:
      a: {keys: [1..4], cluster: c1}
      b: {keys: [5, 7], cluster: c2}
  regions:
    key: {name: region, type: text}
    key_from: [comment: {}]
    otherwise: shard_maps.zones
    shards: {eu: {keys: [eu], cluster: c3}, us: {keys: [us], cluster: c2}}
  zones:
    key: {name: zone, type: integer}
    key_from: [comment: {exact: "z$(key:02)"}]
    unknown_key: {cluster: c5}
    missing_key: {statements: {cluster: c4}}
    shards: {one: {keys: [1], cluster: c1}, two: {keys: [2], cluster: c2}}
"#,
        schemas: &[None, Some("app")],
        comments: &[
            "region=eu",
            "region=us",
            "region=zz",
            "z01",
            "z2",
            "z99",
            "z002",
            "region=us */ /* z02",
        ],
        users: USERS,
    },
];
