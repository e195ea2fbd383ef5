//! Features of the language, each with a statement that shows that it works.

/// A feature, alone.
pub(crate) struct Feature {
    /// As the page calls it.
    pub(crate) name: &'static str,
    /// Its lines, by section of a topology.
    pub(crate) sections: &'static [(&'static str, &'static str)],
    pub(crate) probe: Probe,
}

/// A statement whose decision shows a feature at work, whatever another feature does to other statements.
pub(crate) struct Probe {
    pub(crate) user: &'static str,
    pub(crate) schema: &'static str,
    pub(crate) sql: &'static str,
    pub(crate) shows: Shows,
}

/// The part of a decision that the feature is answerable for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shows {
    Cluster(&'static str),
    /// Readers of the cluster.
    Readers(&'static str),
    Refused,
    DelayMs(u32),
    CacheMs(u32),
    TimeoutMs(u32),
    /// A copy is sent somewhere.
    Mirrored,
    /// The connection stays with the session.
    NotMultiplexed,
}

/// The clusters and users that all features share. Rules are about user `app` unless the feature needs a user of its own.
pub(crate) const CLUSTERS: &str = "version: 1
clusters:
  home: {type: replication, servers: {w: {host: home-w.db}, r: {host: home-r.db}}}
  canary: {type: single, servers: {a: {host: canary.db}}}
  c$(n):
    for_each: {n: 1..5}
    type: replication
    servers: {w: {host: \"w$(n).db\"}, r: {host: \"r$(n).db\"}}
";

const fn app(sql: &'static str, shows: Shows) -> Probe {
    Probe {
        user: "app",
        schema: "app",
        sql,
        shows,
    }
}

pub(crate) const FEATURES: [Feature; 20] = [
    Feature {
        name: "map by comment",
        sections: &[(
            "shard_maps",
            "  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    missing_key: {statements: allow, session_setup: allow}
    shards: {t1: {keys: [1..9], cluster: c1}, t2: {keys: [10..19], cluster: c2}}
",
        )],
        probe: app(
            "/* tenant=12 */ SELECT a FROM orders WHERE id = 1",
            Shows::Cluster("c2"),
        ),
    },
    Feature {
        name: "map by schema",
        sections: &[
            (
                "users",
                "  by_schema: {password: {env: P}, cluster: home, schema: acct_0001}\n",
            ),
            (
                "shard_maps",
                "  accounts:
    applies_to: {users: [by_schema]}
    key: {name: account, type: integer}
    key_from: [{schema: \"acct_$(key:04)\"}]
    missing_key: {statements: allow, session_setup: allow}
    shards: {a1: {keys: [1..9], cluster: c1}, a2: {keys: [10..19], cluster: c3}}
",
            ),
        ],
        probe: Probe {
            user: "by_schema",
            schema: "acct_0012",
            sql: "SELECT a FROM orders WHERE id = 1",
            shows: Shows::Cluster("c3"),
        },
    },
    Feature {
        name: "map in fast routing",
        sections: &[
            (
                "users",
                "  fast: {password: {env: P}, cluster: home, schema: tenant_a}\n",
            ),
            (
                "shard_maps",
                "  fast:
    applies_to: {users: [fast]}
    key: {name: letter, type: text}
    key_from: [{schema: \"tenant_$(key)\"}]
    rule_layout: fast_routing
    missing_key: {statements: allow, session_setup: allow}
    shards: {a: {keys: [a], cluster: c1}, b: {keys: [b], cluster: c4}}
",
            ),
        ],
        probe: Probe {
            user: "fast",
            schema: "tenant_b",
            sql: "SELECT a FROM orders WHERE id = 1",
            shows: Shows::Cluster("c4"),
        },
    },
    Feature {
        name: "map with a refused shard",
        sections: &[
            (
                "users",
                "  moving: {password: {env: P}, cluster: home, schema: app}\n",
            ),
            (
                "shard_maps",
                "  moving:
    applies_to: {users: [moving]}
    key: {name: part, type: integer}
    key_from: [comment: {}]
    missing_key: {statements: allow, session_setup: allow}
    shards: {p1: {keys: [1], cluster: c1}, p2: {keys: [2], refuse: it moves}}
",
            ),
        ],
        probe: Probe {
            user: "moving",
            schema: "app",
            sql: "/* part=2 */ SELECT a FROM orders WHERE id = 1",
            shows: Shows::Refused,
        },
    },
    Feature {
        name: "read/write policy",
        sections: &[(
            "read_write_policies",
            "  reads: {reads: {all: true}, applies_to: {clusters: [home]}}\n",
        )],
        probe: app("SELECT a FROM customers WHERE id = 1", Shows::Readers("home")),
    },
    Feature {
        name: "route to a cluster",
        sections: &[(
            "routes",
            "  facts: {match: {match_digest: \"FROM facts\"}, cluster: c5}\n",
        )],
        probe: app("SELECT a FROM facts WHERE id = 1", Shows::Cluster("c5")),
    },
    Feature {
        name: "route that refuses",
        sections: &[(
            "routes",
            "  no-ddl: {match: {match_digest: \"^DROP \"}, refuse: not here}\n",
        )],
        probe: app("DROP TABLE old", Shows::Refused),
    },
    Feature {
        name: "throttle",
        sections: &[(
            "throttles",
            "  purge: {applies_to: {match_digest: \"^DELETE FROM audit\"}, delay: 2ms, reason: slow disks}\n",
        )],
        probe: app("DELETE FROM audit WHERE id = 1", Shows::DelayMs(2)),
    },
    Feature {
        name: "pooling exception",
        sections: &[(
            "pooling",
            "  exceptions:\n    named-locks: {match: {match_digest: \"GET_LOCK\"}, multiplex: never, reason: locks}\n",
        )],
        probe: app("SELECT GET_LOCK('a', 1)", Shows::NotMultiplexed),
    },
    Feature {
        name: "cache",
        sections: &[(
            "caches",
            "  rates: {match: {match_digest: \"FROM rates\"}, ttl: 2s}\n",
        )],
        probe: app("SELECT a FROM rates WHERE id = 1", Shows::CacheMs(2000)),
    },
    Feature {
        name: "mirror",
        sections: &[(
            "mirrors",
            "  upgrade: {match: {match_digest: \"FROM copied\"}, to: {cluster: canary}}\n",
        )],
        probe: app("SELECT a FROM copied WHERE id = 1", Shows::Mirrored),
    },
    Feature {
        name: "firewall",
        sections: &[
            (
                "users",
                "  fenced: {password: {env: P}, cluster: home, schema: app}\n",
            ),
            (
                "firewall",
                "  fenced: {mode: protecting, allow: {statements: [SELECT a FROM allowed WHERE id = 1]}}\n",
            ),
        ],
        probe: Probe {
            user: "fenced",
            schema: "app",
            sql: "SELECT a FROM secrets WHERE id = 1",
            shows: Shows::Refused,
        },
    },
    Feature {
        name: "rules before all",
        sections: &[(
            "query_rules",
            "  legacy:
    rules:
      - {match_digest: \"FROM legacy\", cluster: c1, apply: 1}
",
        )],
        probe: app("SELECT a FROM legacy WHERE id = 1", Shows::Cluster("c1")),
    },
    Feature {
        name: "rules that jump",
        sections: &[(
            "query_rules",
            "  jumps:
    rules:
      - {match_digest: \"FROM jumped\", flagOUT: 7}
      - {flagIN: 7, match_digest: \"WHERE\", cluster: c2, apply: 1}
",
        )],
        probe: app("SELECT a FROM jumped WHERE id = 1", Shows::Cluster("c2")),
    },
    Feature {
        name: "rules after all",
        sections: &[(
            "query_rules",
            "  last:
    at: after_all
    rules:
      - {match_digest: \"^INSERT INTO last\", cluster: c3, apply: 1}
",
        )],
        probe: app("INSERT INTO last (id) VALUES (1)", Shows::Cluster("c3")),
    },
    Feature {
        name: "fast routing",
        sections: &[(
            "query_rules",
            "  rows:
    rules: []
    fast_routing:
      - {schemaname: archive_2023, cluster: c4}
      - {username: app, schemaname: archive_2024, cluster: c5}
",
        )],
        probe: Probe {
            user: "app",
            schema: "archive_2024",
            sql: "INSERT INTO notes (id) VALUES (1)",
            shows: Shows::Cluster("c5"),
        },
    },
    Feature {
        name: "annotations",
        sections: &[(
            "users",
            "  annotates: {password: {env: P}, cluster: c1, schema: app, annotations: allow}\n",
        )],
        probe: Probe {
            user: "annotates",
            schema: "app",
            sql: "INSERT INTO notes (id) VALUES (1)",
            shows: Shows::Cluster("c1"),
        },
    },
    Feature {
        name: "user who reads only",
        sections: &[(
            "users",
            "  report: {password: {env: P}, cluster: home, schema: app, role: reader}\n",
        )],
        probe: Probe {
            user: "report",
            schema: "app",
            sql: "SELECT a FROM customers WHERE id = 1",
            shows: Shows::Readers("home"),
        },
    },
    Feature {
        name: "statement_timeout",
        sections: &[(
            "users",
            "  slow: {password: {env: P}, cluster: c2, schema: app, statement_timeout: 30s}\n",
        )],
        probe: Probe {
            user: "slow",
            schema: "app",
            sql: "SELECT a FROM customers WHERE id = 1",
            shows: Shows::TimeoutMs(30_000),
        },
    },
    Feature {
        name: "transactions that move",
        sections: &[(
            "users",
            "  moves: {password: {env: P}, cluster: c3, schema: app, transaction_persistent: false}\n",
        )],
        probe: Probe {
            user: "moves",
            schema: "app",
            sql: "UPDATE notes SET a = 1 WHERE id = 1",
            shows: Shows::Cluster("c3"),
        },
    },
];

/// A topology with some features: their lines, section by section.
pub(crate) fn topology(features: &[&Feature]) -> String {
    let mut sections: Vec<(&str, String)> = vec![(
        "users",
        "  app: {password: {env: P}, cluster: home, schema: app}\n".to_owned(),
    )];
    for (section, lines) in features.iter().flat_map(|feature| feature.sections) {
        match sections.iter_mut().find(|(known, _)| known == section) {
            Some((_, text)) => text.push_str(lines),
            None => sections.push((section, (*lines).to_owned())),
        }
    }
    let sections = sections
        .iter()
        .map(|(section, lines)| format!("{section}:\n{lines}"));
    CLUSTERS.to_owned() + &sections.collect::<String>()
}
