//! The maps and the tables of the test: three shards, a cluster for unknown keys, and a schema with all rows.

use shardwright_rules::{
    Finder, InShards, KeyKind, KeyValue, MapStep, Remainder, Shard, UnknownKey, Unqualified,
};
use shardwright_testkit::MariaDb;

use super::statements::Generator;
use crate::support::{Setup, TestProxy, map_alone, server, start, tenants_by_comment};

/// Shards of a map; their schemas end in 1 to 3. That of the cluster for unknown keys is the logical one, which ends in 0.
pub(super) const SHARDS: usize = 3;
/// Tables of a layout.
const TABLES: usize = 3;

/// Keys that no collation takes for one another.
const APART: [[&str; 3]; SHARDS] = [["eu", "1", "ä"], ["us", "2", "ё"], ["ap", "10", "漢"]];
/// Keys of which some are one to many collations.
pub(super) const CLOSE: [[&str; 3]; SHARDS] = [["eu", "e", "01"], ["EU", "é", "1"], ["eu ", "ee", "1 "]];

/// How a map places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Texts that it lists.
    Listed,
    /// The same, hard to tell apart.
    Close,
    /// The same, and a cluster for the others.
    WithDefault,
    /// Texts by their hash.
    Hashed,
    /// Integers that it lists, and a cluster for the others.
    Integers,
    /// Integers by their remainder.
    Remainder,
    /// Integers by ranges.
    Ranges,
}

const KINDS: [Kind; 7] = [
    Kind::Listed,
    Kind::Hashed,
    Kind::Close,
    Kind::WithDefault,
    Kind::Integers,
    Kind::Remainder,
    Kind::Ranges,
];

impl Kind {
    pub(super) fn is_text(self) -> bool {
        matches!(
            self,
            Self::Listed | Self::Close | Self::WithDefault | Self::Hashed
        )
    }
}

/// A map, and a table for each of some types of its key column.
pub(super) struct Layout {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) types: Vec<String>,
}

/// Types of columns: those that are no texts, and texts of every collation of the server.
pub(super) fn column_types(server: &MariaDb) -> Vec<String> {
    let plain = [
        "INT",
        "BIGINT",
        "TINYINT",
        "BIGINT UNSIGNED",
        "INT(4) ZEROFILL",
        "DECIMAL(20,0)",
        "DECIMAL(10,2)",
        "FLOAT",
        "DOUBLE",
        "DATE",
        "DATETIME",
        "TIME",
        "YEAR",
        "BIT(16)",
        "ENUM('eu','us','1','01','ä')",
        "SET('eu','us')",
        "BINARY(4)",
        "VARBINARY(20)",
        "BLOB",
        "CHAR(4)",
        "VARCHAR(20)",
        "TEXT",
        "TINYTEXT",
        "JSON",
        "VARCHAR(2)",
        "VARCHAR(20) INVISIBLE",
        "INT INVISIBLE",
    ];
    let of_collations = server
        .run(
            "SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS WHERE CHARACTER_SET_NAME IS NOT NULL \
             AND COLLATION_NAME <> 'binary' ORDER BY CHARACTER_SET_NAME NOT IN ('utf8mb4', 'latin1'), COLLATION_NAME",
        )
        .unwrap();
    let of_collations = of_collations.into_iter().enumerate().map(|(at, row)| {
        let (collation, charset) = (row[0].clone().unwrap(), row[1].clone().unwrap());
        let kind = if at % 3 == 0 { "CHAR(8)" } else { "VARCHAR(20)" };
        format!("{kind} CHARACTER SET {charset} COLLATE {collation}")
    });
    let plain = plain.into_iter().map(str::to_owned);
    plain.chain(of_collations).collect()
}

impl Layout {
    /// The layout of this number: kinds in turn, types at random, the first of them more often.
    pub(super) fn draw(number: usize, types: &[String], generator: &mut Generator) -> Self {
        let kind = KINDS[number % KINDS.len()];
        let often = types.len().min(if kind.is_text() { 120 } else { 24 });
        let drawn = (0..TABLES).map(|_| {
            let among = if generator.one_in(3) { types.len() } else { often };
            types[generator.below(among)].clone()
        });
        Self {
            name: format!("keyval{number}_0"),
            kind,
            types: drawn.collect(),
        }
    }

    /// The schema of a shard, of the rest (0), or of all rows.
    pub(super) fn schema(&self, end: &str) -> String {
        let stem = self.name.strip_suffix('0').unwrap();
        format!("{stem}{end}")
    }

    /// Makes the tables, and starts a proxy with the map.
    pub(super) fn start(&self) -> TestProxy {
        let mut setup = String::new();
        for end in ["0", "1", "2", "3", "all"] {
            let schema = self.schema(end);
            setup += &format!("DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; ");
            for (at, column_type) in self.types.iter().enumerate() {
                setup += &format!("CREATE TABLE {schema}.t{at} (id INT, k {column_type}, c INT); ");
            }
        }
        server()
            .run(setup.trim_end().trim_end_matches(';'))
            .unwrap_or_else(|error| panic!("{:?}: {error}", self.types));
        let map = self.map();
        start(&Setup {
            configuration: Box::new(move |configuration| {
                configuration.graph.rules = map_alone(map.clone());
            }),
            ..Setup::default()
        })
    }

    fn map(&self) -> MapStep {
        let shard = |at: usize| Shard {
            address: format!("shard_maps.tenants.shards.s{}", at + 1).into(),
            cluster: Some(if at == 1 { "b" } else { "a" }.into()),
            schema: Some(self.schema(&(at + 1).to_string()).into()),
            keys: self.keys(at),
            ranges: match (self.kind, at) {
                (Kind::Ranges, 0) => vec![(i64::MIN, 1)],
                (Kind::Ranges, 1) => vec![(2, 9)],
                (Kind::Ranges, _) => vec![(10, i64::MAX)],
                _ => Vec::new(),
            },
            remainders: match self.kind {
                Kind::Hashed | Kind::Remainder => vec![at as u64],
                _ => Vec::new(),
            },
            refuse: None,
        };
        MapStep {
            key: "k".into(),
            kind: if self.kind.is_text() {
                KeyKind::Text
            } else {
                KeyKind::Integer
            },
            finders: vec![Finder::Column {
                column: "k".into(),
                in_shards: InShards::Present,
            }],
            unqualified: Unqualified::Qualify,
            shards: (0..SHARDS).map(shard).collect(),
            remainder: match self.kind {
                Kind::Hashed | Kind::Remainder => Some(Remainder {
                    modulo: 3,
                    hashed: self.kind == Kind::Hashed,
                }),
                _ => None,
            },
            unknown: match self.kind {
                Kind::WithDefault | Kind::Integers => UnknownKey::Cluster("b".into()),
                _ => UnknownKey::Reject,
            },
            ..tenants_by_comment(&self.name)
        }
    }

    fn keys(&self, at: usize) -> Vec<KeyValue> {
        let texts = |keys: [&str; 3]| keys.map(|key| KeyValue::Text(key.into())).to_vec();
        let integers = |keys: [i64; 2]| keys.map(KeyValue::Integer).to_vec();
        match (self.kind, at) {
            (Kind::Listed | Kind::WithDefault, at) => texts(APART[at]),
            (Kind::Close, at) => texts(CLOSE[at]),
            (Kind::Integers, 0) => integers([1, 127]),
            (Kind::Integers, 1) => integers([2, 300]),
            (Kind::Integers, _) => integers([0, 9_007_199_254_740_993]),
            _ => Vec::new(),
        }
    }
}
