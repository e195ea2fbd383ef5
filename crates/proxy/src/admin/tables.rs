//! The admin tables: their shapes, and when they are filled.

use shardwright_mysqlite::sqlite::{SqliteBackend, SqliteSession};
use shardwright_mysqlite::{Session, Table, Value};
use shardwright_sql::{LexMode, Lexer, TokenKind};
use shardwright_wire::MysqlError;

use super::rows;
use crate::shared::Shared;
use crate::stats::Report;

/// Schemas of the admin port; the first is where sessions begin. SQLite keeps `main` for itself, so what ProxySQL
/// calls `main` has another name inside.
pub(super) const SCHEMAS: [&str; 2] = ["proxy", "stats"];
/// Rows of one INSERT.
const BATCH: usize = 200;

/// A table that is filled when a statement names it.
struct AdminTable {
    name: &'static str,
    /// `name TYPE` of each column.
    columns: &'static [&'static str],
    rows: fn(&Shared, &[Report]) -> Vec<Vec<Value>>,
}

const SERVERS: &[&str] = &[
    "hostgroup_id INT",
    "hostname VARCHAR(255)",
    "port INT",
    "gtid_port INT",
    "status VARCHAR(255)",
    "weight INT",
    "compression INT",
    "max_connections INT",
    "max_replication_lag INT",
    "use_ssl INT",
    "max_latency_ms INT",
    "comment VARCHAR(255)",
];

const RULES: &[&str] = &[
    "rule_id INT",
    "active INT",
    "username VARCHAR(255)",
    "schemaname VARCHAR(255)",
    "flagIN INT",
    "client_addr VARCHAR(255)",
    "proxy_addr VARCHAR(255)",
    "proxy_port INT",
    "digest VARCHAR(255)",
    "match_digest TEXT",
    "match_pattern TEXT",
    "negate_match_pattern INT",
    "re_modifiers VARCHAR(255)",
    "flagOUT INT",
    "replace_pattern TEXT",
    "destination_hostgroup INT",
    "delay INT",
    "error_msg TEXT",
    "OK_msg TEXT",
    "multiplex INT",
    "apply INT",
    "comment TEXT",
    "address VARCHAR(255)",
    "step VARCHAR(255)",
];

const DIGESTS: &[&str] = &[
    "hostgroup INT",
    "schemaname VARCHAR(255)",
    "username VARCHAR(255)",
    "digest VARCHAR(255)",
    "digest_text TEXT",
    "count_star BIGINT",
    "first_seen BIGINT",
    "last_seen BIGINT",
    "sum_time BIGINT",
    "min_time BIGINT",
    "max_time BIGINT",
    "sum_rows_affected BIGINT",
    "sum_rows_sent BIGINT",
];

const TABLES: &[AdminTable] = &[
    AdminTable {
        name: "mysql_servers",
        columns: SERVERS,
        rows: rows::servers,
    },
    AdminTable {
        name: "runtime_mysql_servers",
        columns: SERVERS,
        rows: rows::servers,
    },
    AdminTable {
        name: "mysql_users",
        columns: &[
            "username VARCHAR(255)",
            "active INT",
            "default_hostgroup INT",
            "default_schema VARCHAR(255)",
            "transaction_persistent INT",
            "max_connections INT",
            "frontend_connections INT",
            "comment VARCHAR(255)",
        ],
        rows: rows::users,
    },
    AdminTable {
        name: "mysql_query_rules",
        columns: RULES,
        rows: rows::rules,
    },
    AdminTable {
        name: "runtime_mysql_query_rules",
        columns: RULES,
        rows: rows::rules,
    },
    AdminTable {
        name: "stats_mysql_query_rules",
        columns: &["rule_id INT", "hits BIGINT", "address VARCHAR(255)"],
        rows: rows::rule_hits,
    },
    AdminTable {
        name: "stats_mysql_connection_pool",
        columns: &[
            "hostgroup INT",
            "srv_host VARCHAR(255)",
            "srv_port INT",
            "status VARCHAR(255)",
            "ConnUsed BIGINT",
            "ConnFree BIGINT",
            "ConnOK BIGINT",
            "ConnERR BIGINT",
            "MaxConnUsed BIGINT",
            "Queries BIGINT",
            "Bytes_data_sent BIGINT",
            "Bytes_data_recv BIGINT",
            "Latency_us BIGINT",
        ],
        rows: rows::connection_pool,
    },
    AdminTable {
        name: "stats_mysql_query_digest",
        columns: DIGESTS,
        rows: rows::digests,
    },
    AdminTable {
        name: "stats_mysql_query_digest_reset",
        columns: DIGESTS,
        rows: rows::digests_reset,
    },
    AdminTable {
        name: "stats_mysql_global",
        columns: &["Variable_Name VARCHAR(255)", "Variable_Value VARCHAR(255)"],
        rows: rows::totals,
    },
    AdminTable {
        name: "global_variables",
        columns: &["variable_name VARCHAR(255)", "variable_value VARCHAR(255)"],
        rows: rows::variables,
    },
];

/// Creates the tables. Those of statistics are in both schemas, so that they are found with and without `stats.`.
pub(super) fn create(tables: &SqliteBackend) -> Result<(), MysqlError> {
    for schema in SCHEMAS {
        let script: String = in_schema(schema)
            .map(|table| format!("CREATE TABLE {} ({});\n", table.name, table.columns.join(", ")))
            .collect();
        tables.run_script(Some(schema), &script)?;
    }
    Ok(())
}

/// A schema as it is called inside.
pub(super) fn inner_schema(name: &str) -> &str {
    if name.eq_ignore_ascii_case("main") {
        SCHEMAS[0]
    } else {
        name
    }
}

/// A statement with `main.` as it is called inside.
pub(super) fn with_inner_schema(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut tokens = Lexer::new(text.as_bytes(), LexMode::default()).peekable();
    while let Some(token) = tokens.next() {
        let part = &text[token.span.start..token.span.end];
        let is_schema = tokens.peek().is_some_and(|next| next.kind == TokenKind::Dot);
        let is_main = is_schema && (part.eq_ignore_ascii_case("main") || part.eq_ignore_ascii_case("`main`"));
        out.push_str(if is_main { SCHEMAS[0] } else { part });
    }
    out
}

fn in_schema(schema: &str) -> impl Iterator<Item = &'static AdminTable> {
    let is_stats = schema == "stats";
    TABLES
        .iter()
        .filter(move |table| !is_stats || table.name.starts_with("stats_"))
}

/// Fills the tables that a statement names with what is true now.
pub(super) fn fill(shared: &Shared, sqlite: &mut SqliteSession, text: &str) -> Result<(), MysqlError> {
    let lower = text.to_ascii_lowercase();
    let named: Vec<&AdminTable> = TABLES.iter().filter(|table| lower.contains(table.name)).collect();
    if named.is_empty() {
        return Ok(());
    }
    let reports: Vec<Report> = shared
        .workers()
        .iter()
        .filter_map(|worker| worker.report())
        .collect();
    for table in named {
        let rows = (table.rows)(shared, &reports);
        for schema in SCHEMAS
            .into_iter()
            .filter(|schema| in_schema(schema).any(|other| other.name == table.name))
        {
            fill_one(sqlite, schema, table, &rows)?;
        }
    }
    Ok(())
}

fn fill_one(
    sqlite: &mut SqliteSession,
    schema: &str,
    table: &AdminTable,
    rows: &[Vec<Value>],
) -> Result<(), MysqlError> {
    let mut run = |sql: String| sqlite.query(sql.as_bytes(), &mut Table::default()).map(|_| ());
    run(format!("DELETE FROM {schema}.{}", table.name))?;
    for batch in rows.chunks(BATCH) {
        let tuples: Vec<String> = batch
            .iter()
            .map(|row| format!("({})", row.iter().map(literal).collect::<Vec<_>>().join(", ")))
            .collect();
        run(format!(
            "INSERT INTO {schema}.{} VALUES {}",
            table.name,
            tuples.join(", ")
        ))?;
    }
    Ok(())
}

/// A value in MySQL's syntax.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::Text(text) => quoted(text),
        Value::Bytes(bytes) => quoted(&String::from_utf8_lossy(bytes)),
    }
}

fn quoted(text: &str) -> String {
    format!(
        "'{}'",
        text.replace('\0', "").replace('\\', "\\\\").replace('\'', "''")
    )
}
