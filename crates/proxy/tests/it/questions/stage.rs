//! The servers: two writers with two tenants each, a reader that nobody may write to, and one server with all rows.

use std::collections::BTreeMap;
use std::fmt::Write;

use mysql::Conn;
use shardwright_rules::{
    Body, CommentForm, Conflict, Finder, Hostgroup, HostgroupId, InShards, KeyKind, KeyTemplate, KeyValue,
    MapStep, MissingAction, MissingBegin, MissingKey, NamePattern, Names, NativeStep, ReadSelection, Role,
    RoleStep, Rule, Scope, Shard, StatedTables, UnknownKey, Unqualified, User,
};
use shardwright_testkit::{ClientOptions, MariaDb, Options, text_rows};

use crate::support::{PASSWORD, Setup, TestProxy, member, start};

/// Tenants 1 and 2 are on the first writer, 3 and 4 on the second.
pub(super) const TENANTS: [usize; 4] = [1, 2, 3, 4];

/// Where the key of a session's statements stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    Comment,
    Column,
    Schema,
    Table,
    User,
}

impl Map {
    pub(super) const ALL: [Self; 5] = [Self::Comment, Self::Column, Self::Schema, Self::Table, Self::User];

    pub(super) fn user(self, tenant: usize) -> String {
        match self {
            Self::Comment => "by_comment".to_owned(),
            Self::Column => "by_column".to_owned(),
            Self::Schema => "by_schema".to_owned(),
            Self::Table => "by_table".to_owned(),
            Self::User => format!("u_{tenant}"),
        }
    }

    pub(super) fn schema(self, tenant: usize) -> String {
        match self {
            Self::Schema => format!("acct_{tenant}"),
            _ => "shop".to_owned(),
        }
    }

    fn finders(self) -> Vec<Finder> {
        let template = |prefix: &str| KeyTemplate {
            prefix: prefix.into(),
            width: None,
            suffix: "".into(),
        };
        let comment = Finder::Comment {
            word: "tenant".into(),
            form: CommentForm::Pairs,
        };
        match self {
            Self::Comment => vec![comment],
            Self::Column => vec![
                comment,
                Finder::Column {
                    column: "tenant".into(),
                    in_shards: InShards::Present,
                },
            ],
            Self::Schema => vec![Finder::Schema {
                template: template("acct_"),
            }],
            Self::Table => ["w_", "q_", "g_", "f_"]
                .map(|prefix| Finder::Table {
                    template: template(prefix),
                })
                .into_iter()
                .chain([comment])
                .collect(),
            Self::User => vec![Finder::User {
                template: template("u_"),
            }],
        }
    }

    fn rule(self, id: u32) -> Rule {
        let shard = |cluster: &str, tenants: &[usize]| Shard {
            address: format!("shard_maps.m{id}.shards.{cluster}").into(),
            cluster: Some(cluster.into()),
            schema: None,
            keys: tenants
                .iter()
                .map(|tenant| KeyValue::Integer(*tenant as i64))
                .collect(),
            ranges: Vec::new(),
            remainders: Vec::new(),
            refuse: None,
        };
        let step = MapStep {
            map: format!("m{id}"),
            key: "tenant".into(),
            kind: KeyKind::Integer,
            finders: self.finders(),
            conflict: Conflict::Reject,
            logical_schema: (self != Self::Schema).then(|| "shop".into()),
            unqualified: Unqualified::SessionSchema,
            tables: StatedTables::default(),
            shards: vec![shard("a", &TENANTS[..2]), shard("b", &TENANTS[2..])],
            remainder: None,
            missing_by_user: BTreeMap::new(),
            missing: MissingKey {
                statements: MissingAction::Reject,
                session_setup: MissingAction::Allow,
                begin: MissingBegin::FirstStatement,
            },
            unknown: UnknownKey::Reject,
            otherwise: None,
        };
        let users = TENANTS.map(|tenant| NamePattern::from(self.user(tenant).as_str()));
        rule(
            id,
            Scope {
                users: Names {
                    any_of: users.to_vec(),
                    ..Names::default()
                },
                ..Scope::default()
            },
            NativeStep::Map(Box::new(step)),
        )
    }
}

fn rule(id: u32, scope: Scope, step: NativeStep) -> Rule {
    Rule {
        id,
        address: format!("steps.s{id}").into(),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Native {
            scope: Box::new(scope),
            step,
        },
    }
}

/// Reads of tables that nobody writes to go to the reader.
fn split() -> Rule {
    let unchanging = ["f", "f_1", "f_2", "f_3", "f_4"].map(NamePattern::from);
    let reads = Scope {
        tables: Names {
            any_of: unchanging.to_vec(),
            ..Names::default()
        },
        ..Scope::default()
    };
    rule(
        2000,
        Scope::default(),
        NativeStep::Role(Box::new(RoleStep {
            reads: ReadSelection::Only(vec![reads]),
            writer_hint: None,
            after_write_ms: 0,
            causal: false,
            session_functions_on_readers: true,
        })),
    )
}

/// Tables of a schema with the rows of some tenants. A row's id tells its tenant.
fn tables(sql: &mut String, schema: &str, tenants: &[usize]) {
    write!(sql, "CREATE DATABASE {schema}; USE {schema};").unwrap();
    let row_tables = |suffix: &str, of: &[usize], sql: &mut String| {
        let rows: Vec<String> = of
            .iter()
            .flat_map(|tenant| (1..=6).map(move |n| format!("({tenant}0{n}, {tenant}, {n})")))
            .collect();
        for table in ["w", "f"] {
            write!(
                sql,
                "CREATE TABLE {table}{suffix} (id INT PRIMARY KEY, tenant INT, p BIGINT);"
            )
            .unwrap();
            if !rows.is_empty() {
                write!(sql, "INSERT INTO {table}{suffix} VALUES {};", rows.join(", ")).unwrap();
            }
        }
        write!(
            sql,
            "CREATE TABLE g{suffix} (tenant INT, p BIGINT);
             CREATE TRIGGER sets{suffix} BEFORE INSERT ON g{suffix} FOR EACH ROW SET @trig = NEW.p * 10;"
        )
        .unwrap();
    };
    row_tables("", tenants, sql);
    for tenant in TENANTS {
        let own = [tenant];
        let of = if tenants.contains(&tenant) { &own[..] } else { &[] };
        row_tables(&format!("_{tenant}"), of, sql);
        write!(
            sql,
            "CREATE TABLE q_{tenant} (id INT AUTO_INCREMENT PRIMARY KEY, tenant INT, p BIGINT, k INT UNIQUE);
             CREATE PROCEDURE sets_{tenant}(v BIGINT) UPDATE w SET p = v WHERE id = {tenant}01 AND tenant = {tenant};"
        )
        .unwrap();
    }
}

fn create(sql: &mut String, tenants: &[usize]) {
    tables(sql, "shop", tenants);
    for tenant in tenants {
        tables(sql, &format!("acct_{tenant}"), &[*tenant]);
    }
}

fn load(server: &MariaDb, tenants: &[usize]) {
    let mut sql = String::new();
    create(&mut sql, tenants);
    server.run(sql).unwrap();
    for user in users() {
        server
            .create_user(&user, PASSWORD, Some("ALL PRIVILEGES ON *.*"))
            .unwrap();
    }
}

fn users() -> Vec<String> {
    let mut users: Vec<String> = Map::ALL
        .iter()
        .flat_map(|map| TENANTS.map(|tenant| map.user(tenant)))
        .collect();
    users.sort();
    users.dedup();
    users
}

pub(super) struct Stage {
    pub(super) proxy: TestProxy,
    writers: [MariaDb; 2],
    reader: MariaDb,
    pub(super) oracle: MariaDb,
}

impl Stage {
    pub(super) fn start() -> Self {
        let start_server = |tenants: &[usize]| {
            let server = MariaDb::start(Options::default()).unwrap();
            load(&server, tenants);
            server
        };
        let writers = [start_server(&TENANTS[..2]), start_server(&TENANTS[2..])];
        let (reader, oracle) = (start_server(&TENANTS), start_server(&TENANTS));
        let ports = [writers[0].port(), writers[1].port(), reader.port()];
        let proxy = start(&Setup {
            configuration: Box::new(move |configuration| {
                let password = configuration.users[0].password.clone();
                configuration.users = users()
                    .into_iter()
                    .map(|name| User {
                        address: format!("users.{name}").into(),
                        name,
                        password: password.clone(),
                        ..configuration.users[0].clone()
                    })
                    .collect();
                for (at, name) in ["a", "b"].into_iter().enumerate() {
                    let reader = HostgroupId(10 * (at as u32 + 1) + 1);
                    configuration.clusters[at].reader = Some(reader);
                    configuration.hostgroups[at].members = vec![member(name, ports[at], 20)];
                    configuration.hostgroups.push(Hostgroup {
                        id: reader,
                        cluster: format!("clusters.{name}").into(),
                        role: Role::Reader,
                        members: vec![member(name, ports[2], 20)],
                    });
                }
                configuration.hostgroups.sort_by_key(|hostgroup| hostgroup.id);
                let maps = Map::ALL.iter().zip(1000..).map(|(map, id)| map.rule(id));
                configuration.graph.rules = maps.chain([split()]).collect();
            }),
            ..Setup::default()
        });
        Self {
            proxy,
            writers,
            reader,
            oracle,
        }
    }

    /// A session on both sides, in the same schema.
    pub(super) fn session(&self, map: Map, tenant: usize) -> (Conn, Conn) {
        let (user, schema) = (map.user(tenant), map.schema(tenant));
        let options = ClientOptions {
            user: &user,
            password: PASSWORD,
            schema: Some(&schema),
        };
        let sharded = self.proxy.try_connect(&user, PASSWORD, Some(&schema)).unwrap();
        (sharded, self.oracle.connect(options).unwrap())
    }
}

/// The tables to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// Those that statements under this map write to.
    Of(Map),
    All,
}

impl Tables {
    fn has(self, schema: &str, table: &str) -> bool {
        let Self::Of(map) = self else {
            return true;
        };
        let has_number = table.contains('_');
        let is_written = match map {
            Map::Table => has_number,
            _ => !has_number || table.starts_with('q'),
        };
        is_written && !table.starts_with('f') && (schema == "shop") != (map == Map::Schema)
    }
}

/// Rows of a table that a tenant has: their number and a sum over them.
type Sums = BTreeMap<(String, i64), (i64, i64)>;

/// Connections that read what was committed, beside the sessions.
pub(super) struct Auditor {
    writers: [Conn; 2],
    reader: Conn,
    oracle: Conn,
    /// The reader's rows at first.
    first: Sums,
}

impl Auditor {
    pub(super) fn new(stage: &Stage) -> Self {
        let root = |server: &MariaDb| server.root().unwrap();
        let mut auditor = Self {
            writers: [root(&stage.writers[0]), root(&stage.writers[1])],
            reader: root(&stage.reader),
            oracle: root(&stage.oracle),
            first: Sums::new(),
        };
        auditor.first = sums(&mut auditor.reader, &TENANTS, Tables::All);
        auditor
    }

    /// A row that one side has and the other has not, or that is on the wrong server.
    pub(super) fn difference(&mut self, tables: Tables) -> Option<String> {
        let mut sharded = Sums::new();
        for (at, tenants) in [&TENANTS[..2], &TENANTS[2..]].into_iter().enumerate() {
            for (place, (count, sum)) in sums(&mut self.writers[at], tenants, tables) {
                if place.0.starts_with("shop.") && !tenants.contains(&(place.1 as usize)) {
                    return Some(format!(
                        "writer {at} has rows of another tenant: {place:?} {count}"
                    ));
                }
                sharded.insert(place, (count, sum));
            }
        }
        let unsharded = sums(&mut self.oracle, &TENANTS, tables);
        if sharded != unsharded {
            let odd: Vec<_> = unsharded
                .iter()
                .filter(|(place, rows)| sharded.get(*place) != Some(*rows))
                .map(|(place, rows)| {
                    format!("{place:?}: {rows:?}, behind the proxy {:?}", sharded.get(place))
                })
                .chain(
                    sharded
                        .iter()
                        .filter(|(place, _)| !unsharded.contains_key(*place))
                        .map(|(place, rows)| format!("{place:?}: only behind the proxy {rows:?}")),
                )
                .collect();
            return Some(odd.join("\n"));
        }
        if tables != Tables::All {
            return None;
        }
        let reader = sums(&mut self.reader, &TENANTS, tables);
        (reader != self.first).then(|| "the reader was written to".to_owned())
    }

    /// Begins anew with small tables.
    pub(super) fn empty(&mut self, map: Map) {
        let [low, high] = &mut self.writers;
        for (server, tenants) in [
            (low, &TENANTS[..2]),
            (high, &TENANTS[2..]),
            (&mut self.oracle, &TENANTS[..]),
        ] {
            let mut sql = String::new();
            for schema in schemas(tenants) {
                let numbered = TENANTS.map(|tenant| [format!("q_{tenant}"), format!("g_{tenant}")]);
                let growing = numbered.into_iter().flatten().chain(["g".to_owned()]);
                for table in growing.filter(|table| Tables::Of(map).has(&schema, table)) {
                    write!(sql, "DELETE FROM {schema}.{table};").unwrap();
                }
            }
            text_rows(server, sql).unwrap();
        }
    }
}

impl Auditor {
    /// Gives every server the rows of the beginning, after a difference.
    pub(super) fn reload(&mut self) {
        let [low, high] = &mut self.writers;
        for (server, tenants) in [
            (low, &TENANTS[..2]),
            (high, &TENANTS[2..]),
            (&mut self.reader, &TENANTS[..]),
            (&mut self.oracle, &TENANTS[..]),
        ] {
            let mut sql = String::new();
            for schema in schemas(&TENANTS) {
                write!(sql, "DROP DATABASE IF EXISTS {schema};").unwrap();
            }
            create(&mut sql, tenants);
            text_rows(server, sql).unwrap();
        }
    }
}

fn schemas(tenants: &[usize]) -> Vec<String> {
    let own = tenants.iter().map(|tenant| format!("acct_{tenant}"));
    ["shop".to_owned()].into_iter().chain(own).collect()
}

/// What a server has. Its own schemas of tenants hold one tenant each.
fn sums(server: &mut Conn, tenants: &[usize], tables: Tables) -> Sums {
    let mut selects = Vec::new();
    for schema in schemas(tenants) {
        let suffixes = TENANTS.map(|tenant| format!("_{tenant}"));
        let all = ["w", "g", "f"]
            .iter()
            .flat_map(|table| {
                let with_suffix = suffixes.iter().map(move |suffix| format!("{table}{suffix}"));
                [(*table).to_owned()].into_iter().chain(with_suffix)
            })
            .chain(TENANTS.map(|tenant| format!("q_{tenant}")));
        for table in all.filter(|table| tables.has(&schema, table)) {
            let id = match table.as_bytes()[0] {
                b'g' => "0",
                _ => "id",
            };
            selects.push(format!(
                "SELECT '{schema}.{table}', tenant, COUNT(*), SUM(CRC32(CONCAT_WS(',', {id}, p))) FROM {schema}.{table} GROUP BY tenant"
            ));
        }
    }
    let rows = text_rows(server, selects.join(" UNION ALL ")).unwrap();
    let number = |cell: &Option<String>| cell.as_deref().unwrap_or("-1").parse::<i64>().unwrap();
    rows.iter()
        .map(|row| {
            let place = (row[0].clone().unwrap(), number(&row[1]));
            (place, (number(&row[2]), number(&row[3])))
        })
        .collect()
}
