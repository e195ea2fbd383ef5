//! The tables, compared with those of a real ProxySQL.

use mysql::prelude::Queryable;
use shardwright_tables::{
    CONNECTION_POOL, Check, Column, FAST_ROUTING, QUERY_DIGEST, QUERY_RULES, RULE_HITS, SERVERS, TABLES,
    TOTALS, Table, USERS, is_client_addr,
};
use shardwright_testkit::{ProxySql, ProxySqlOptions, real_proxysql};

/// Name, type, NOT NULL, default and place in the primary key, of each column.
type Described = Vec<[String; 5]>;

fn described(table: &Table) -> Described {
    let describe = |column: &Column| {
        let of_key = table.primary_key.iter().position(|key| *key == column.name);
        [
            column.name.to_owned(),
            column.sql_type.name().to_owned(),
            u8::from(!column.is_nullable).to_string(),
            column.default.unwrap_or("NULL").to_owned(),
            of_key.map_or(0, |at| at + 1).to_string(),
        ]
    };
    table.columns.iter().map(describe).collect()
}

/// The same of the engine's.
fn told(proxysql: &ProxySql, schema: &str, table: &Table) -> Described {
    let rows = proxysql
        .run([format!("PRAGMA {schema}.table_info({})", table.name)])
        .unwrap();
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
    let describe = |row: &Vec<Option<String>>| -> [String; 5] {
        let cells: Vec<String> = row[1..].iter().map(cell).collect();
        cells.try_into().unwrap()
    };
    rows.iter().map(describe).collect()
}

#[test]
fn columns_are_the_engines() {
    let Some(binary) = real_proxysql("tables and columns compared with a real ProxySQL's") else {
        return;
    };
    let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    for table in TABLES {
        assert_eq!(described(table), told(&proxysql, "main", table), "{}", table.name);
    }
    for table in [&RULE_HITS, &CONNECTION_POOL, &QUERY_DIGEST, &TOTALS] {
        assert_eq!(
            described(table),
            told(&proxysql, "stats", table),
            "{}",
            table.name
        );
    }
}

/// Values on either side of every limit, and some of every other type.
const PROBES: [&str; 29] = [
    "NULL",
    "''",
    "'x'",
    "'5'",
    "'{}'",
    "'{\"a\": 1'",
    "'ONLINE'",
    "'online'",
    "'SHUNNED'",
    "'DETECTING'",
    "'detecting'",
    "'READ_ONLY'",
    "'read_only|innodb_read_only'",
    "-1",
    "0",
    "0.5",
    "1",
    "2",
    "3",
    "4",
    "1000",
    "1001",
    "65535",
    "65536",
    "10000000",
    "10000001",
    "126144000",
    "126144001",
    "2147483648",
];

/// A value that every table takes, another for each column where it must have one.
fn usual(table: &Table, column: &Column, nullable: &'static str) -> String {
    let at = table.columns.iter().position(|known| known == column);
    match (column.default, column.is_nullable, column.is_number()) {
        (Some(default), ..) => default.to_owned(),
        (None, true, false) => nullable.to_owned(),
        (None, true, true) => "NULL".to_owned(),
        (None, false, true) => (at.unwrap() + 1).to_string(),
        (None, false, false) => "'x'".to_owned(),
    }
}

fn insert(table: &Table, probed: &Column, probe: &str, nullable: &'static str) -> String {
    let value = |column: &Column| match column == probed {
        true => probe.to_owned(),
        false => usual(table, column, nullable),
    };
    let values: Vec<String> = table.columns.iter().map(value).collect();
    format!("INSERT INTO {} VALUES ({})", table.name, values.join(", "))
}

/// A real ProxySQL, and SQLite with tables of ours.
struct Sides {
    _proxysql: ProxySql,
    admin: mysql::Conn,
    sqlite: rusqlite::Connection,
}

impl Sides {
    fn start(what_is_left_out: &str) -> Option<Self> {
        let binary = real_proxysql(what_is_left_out)?;
        let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
        Some(Self {
            admin: proxysql.admin().unwrap(),
            _proxysql: proxysql,
            sqlite: rusqlite::Connection::open_in_memory().unwrap(),
        })
    }

    /// The table, empty on both sides.
    fn make(&mut self, table: &Table) {
        self.sqlite.execute_batch(&table.definition()).unwrap();
        self.take(&format!("DELETE FROM {}", table.name));
    }

    /// Whether both take a statement; they must agree.
    fn take(&mut self, statement: &str) -> bool {
        let theirs = self.admin.query_drop(statement);
        let ours = self.sqlite.execute(statement, []);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{statement}\n{ours:?}\n{theirs:?}");
        theirs.is_ok()
    }
}

#[test]
fn rows_are_refused_that_the_engine_refuses() {
    let Some(mut sides) = Sides::start("constraints of tables compared with a real ProxySQL's") else {
        return;
    };
    for table in TABLES {
        sides.make(table);
        for column in table.columns {
            let mut taken = 0;
            for (probe, nullable) in PROBES.iter().flat_map(|probe| [(probe, "NULL"), (probe, "'x'")]) {
                if sides.take(&insert(table, column, probe, nullable)) {
                    taken += 1;
                    assert!(sides.take(&format!("DELETE FROM {}", table.name)));
                }
            }
            assert_ne!(taken, 0, "no row of {} was ever taken", table.name);
        }
    }
}

#[test]
fn numbers_past_a_columns_range_are_read_otherwise() {
    let Some(binary) = real_proxysql("ranges of columns compared with what a real ProxySQL reads") else {
        return;
    };
    let mut proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    let most = i64::from(i32::MAX);
    for (table, module) in [
        (&QUERY_RULES, "QUERY RULES"),
        (&FAST_ROUTING, "QUERY RULES"),
        (&USERS, "USERS"),
        (&SERVERS, "SERVERS"),
    ] {
        let open = table.columns.iter().filter(|column| {
            // `max_latency_ms` is kept in microseconds, so that 4294966 is its most; nothing of ours writes it.
            let is_plain =
                !matches!(column.check, Some(Check::Expression(_))) && column.name != "max_latency_ms";
            is_plain && column.range().is_some_and(|range| *range.end() == most)
        });
        for column in open {
            for number in [most, most + 1] {
                let (name, number) = (table.name, number.to_string());
                let active = if *table == QUERY_RULES {
                    "active=1"
                } else {
                    "comment='x'"
                };
                let read = proxysql.run([
                    format!("DELETE FROM {name}"),
                    insert(table, column, &number, "NULL"),
                    format!("UPDATE {name} SET {active}"),
                    format!("LOAD MYSQL {module} TO RUNTIME"),
                    format!("SELECT {} FROM runtime_{name}", column.name),
                ]);
                let is_read = read
                    .as_ref()
                    .is_ok_and(|rows| rows.contains(&vec![Some(number.clone())]));
                let is_taken = number == most.to_string();
                assert_eq!(is_read, is_taken, "{name}.{}={number}: {read:?}", column.name);
                // A destination of fast routing past the range ends 2.7.1 when its rows are shown.
                if read.is_err() {
                    proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
                }
            }
        }
    }
}

#[test]
fn rules_are_dropped_by_their_client_address_as_the_engine_drops_them() {
    let Some(binary) = real_proxysql("client addresses of rules compared with a real ProxySQL's") else {
        return;
    };
    let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    let longest = "f".repeat(45);
    let too_long = "f".repeat(46);
    let addresses = [
        "", "%", "%x", "%%", "x%", "10.%", "10.%.1", "10.0.0.1", &longest, &too_long,
    ];
    let rules = addresses.iter().enumerate().map(|(at, address)| {
        format!(
            "INSERT INTO mysql_query_rules (rule_id, active, client_addr) VALUES ({}, 1, '{address}')",
            at + 1
        )
    });
    let load = "LOAD MYSQL QUERY RULES TO RUNTIME".to_owned();
    proxysql.run(rules.chain([load])).unwrap();
    let loaded: Vec<String> = proxysql
        .run(["SELECT client_addr FROM runtime_mysql_query_rules ORDER BY rule_id"])
        .unwrap()
        .into_iter()
        .map(|row| row[0].clone().unwrap())
        .collect();
    let taken: Vec<&str> = addresses
        .into_iter()
        .filter(|address| is_client_addr(address))
        .collect();
    assert_eq!(taken, loaded);
}

/// A value for a file, another than the default.
fn another(column: &Column, at: usize) -> String {
    let of_name = match column.name {
        "status" => Some("OFFLINE_SOFT"),
        "check_type" => Some("super_read_only"),
        "attributes" => Some(r#"{\"a\":1}"#),
        _ => None,
    };
    match (of_name, column.default, column.check) {
        (Some(text), ..) => format!("\"{text}\""),
        (None, ..) if !column.is_number() => "\"x\"".to_owned(),
        (None, Some("1"), Some(Check::OneOf(_))) => "0".to_owned(),
        (None, _, Some(Check::OneOf(_))) => "1".to_owned(),
        _ => (at + 11).to_string(),
    }
}

#[test]
fn the_file_is_read_as_far_as_the_columns_say() {
    let Some(binary) =
        real_proxysql("columns of proxysql.cnf compared with those that a real ProxySQL reads")
    else {
        return;
    };
    let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
    let mut file = std::fs::read_to_string(proxysql.configuration_file()).unwrap();
    let sections = TABLES.iter().filter(|table| table.file_keys.is_some());
    for table in sections.clone() {
        let columns = table.columns.iter().enumerate();
        let settings: Vec<String> = columns
            .map(|(at, column)| format!("{} = {}", column.name, another(column, at)))
            .collect();
        file.push_str(&format!("\n{} = ( {{ {} }} )\n", table.name, settings.join(", ")));
    }
    std::fs::write(proxysql.configuration_file(), file).unwrap();
    let loads = ["SERVERS", "USERS", "QUERY RULES"].map(|what| format!("LOAD MYSQL {what} FROM CONFIG"));
    proxysql.run(loads).unwrap();
    let (mut unread, mut expected) = (Vec::new(), Vec::new());
    for table in sections {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let rows = proxysql
            .run([format!("SELECT {} FROM {}", names.join(", "), table.name)])
            .unwrap();
        assert_eq!(rows.len(), 1, "{}: {rows:?}", table.name);
        for (at, (column, cell)) in table.columns.iter().zip(&rows[0]).enumerate() {
            let name = format!("{}.{}", table.name, column.name);
            let written = another(column, at).replace('\\', "");
            if cell.as_deref() != Some(written.trim_matches('"')) {
                unread.push(name.clone());
            }
            if !column.is_in_file {
                expected.push(name);
            }
        }
    }
    assert_eq!(expected, unread);
}

#[test]
fn what_must_be_unique_is_refused_twice() {
    let Some(mut sides) = Sides::start("keys of tables compared with a real ProxySQL's") else {
        return;
    };
    for table in TABLES {
        sides.make(table);
        let first = &table.columns[0];
        assert!(sides.take(&insert(table, first, &usual(table, first, "'x'"), "'x'")));
        // Another value in one column, the same in all others: refused where a key is without that column.
        for column in table.columns {
            let others = if column.is_number() {
                ["0", "1", "7"]
            } else {
                ["'y'", "''", "'OFF'"]
            };
            for other in others {
                if sides.take(&insert(table, column, other, "'x'")) {
                    let undone = format!("DELETE FROM {} WHERE {}={other}", table.name, column.name);
                    assert!(sides.take(&undone));
                }
            }
        }
    }
}
