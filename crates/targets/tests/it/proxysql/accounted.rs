//! Every column of every table of the engine is accounted for where a plan says that nothing routes differently.

use mysql::prelude::Queryable;
use shardwright_plan::Subject;
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
