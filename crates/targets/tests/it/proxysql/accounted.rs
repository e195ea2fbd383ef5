//! Every column of every table of the engine is accounted for where a plan says that nothing routes differently.

use mysql::prelude::Queryable;
use shardwright_plan::Subject;
use shardwright_targets::proxysql::Sight;
use shardwright_testkit::StandIn;

/// Tables that no project holds, so that no plan changes them.
const NOT_HELD: [&str; 11] = [
    "clickhouse_users",
    "coredump_filters",
    "global_settings",
    "global_variables",
    "mysql_collations",
    "mysql_firewall_whitelist_sqli_fingerprints",
    "pgsql_servers",
    "pgsql_users",
    "proxysql_servers",
    "restapi_routes",
    "scheduler",
];

/// What a look for drift does not compare is named beside "no drift": a table that nobody has decided about would not be.
#[test]
fn every_table_of_the_engine_is_looked_at_or_named() {
    let stand_in = StandIn::start().unwrap();
    let mut admin = stand_in.admin().unwrap();
    let mut tables: Vec<String> = Vec::new();
    for schema in ["main", "disk"] {
        let names: Vec<String> = admin
            .query(format!(
                "SELECT name FROM {schema}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'runtime_%' AND name NOT LIKE 'sqlite_%'"
            ))
            .unwrap();
        tables.extend(names);
    }
    assert!(tables.len() > 30, "{tables:?}");
    let undecided: Vec<&String> = tables.iter().filter(|table| Sight::of(table).is_none()).collect();
    assert_eq!(undecided, Vec::<&String>::new());
    // Those that plans write are looked at row by row.
    let rows = tables
        .iter()
        .filter(|table| Sight::of(table) == Some(Sight::Rows));
    assert!(rows.clone().all(|table| !NOT_HELD.contains(&table.as_str())));
    assert_eq!(rows.collect::<std::collections::BTreeSet<_>>().len(), 9);
}

#[test]
fn every_column_of_the_engine_has_a_subject() {
    let stand_in = StandIn::start().unwrap();
    let mut admin = stand_in.admin().unwrap();
    let tables: Vec<String> = admin
        .query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'runtime_%' AND name NOT LIKE 'sqlite_%'")
        .unwrap();
    let mut columns = 0;
    let mut unknown = Vec::new();
    for table in tables.iter().filter(|table| !NOT_HELD.contains(&table.as_str())) {
        let names: Vec<String> = admin
            .query(format!("SELECT name FROM pragma_table_info('{table}')"))
            .unwrap();
        assert!(!names.is_empty(), "{table}");
        for column in names {
            columns += 1;
            if Subject::of_column(table, &column) == Subject::Unknown {
                unknown.push(format!("{table}.{column}"));
            }
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
    assert!(columns > 120, "{columns} columns of {tables:?}");
}
