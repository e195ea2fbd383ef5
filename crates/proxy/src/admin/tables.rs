//! The admin tables: their shapes, and when they are filled.

use shardwright_mysqlite::sqlite::{SqliteBackend, SqliteSession};
use shardwright_mysqlite::{Session, Table, Value};
use shardwright_rules::tables::{self, Column};
use shardwright_sql::{LexMode, Lexer, TokenKind};
use shardwright_wire::MysqlError;

use super::{operations, pausing, problems, refusing, rows, servers, sessions, throttles, withheld};
use crate::admin_accounts::Role;
use crate::shared::Shared;
use crate::stats::WorkerFigures;

/// Schemas of the admin port; the first is where sessions begin. SQLite keeps `main` for itself, so what ProxySQL
/// calls `main` has another name inside.
pub(super) const SCHEMAS: [&str; 2] = ["proxy", "stats"];
/// A look at this table resets its counts for everybody.
const DIGESTS_RESET: &str = "stats_mysql_query_digest_reset";
/// Rows of one INSERT.
const BATCH: usize = 200;

/// A table that is filled when a statement names it. It has the columns of ProxySQL's table, and some more behind them.
struct AdminTable {
    name: &'static str,
    columns: &'static [Column],
    /// `name TYPE` of each column that ProxySQL's table does not have.
    more: &'static [&'static str],
    rows: fn(&Shared, &[WorkerFigures]) -> Vec<Vec<Value>>,
}

const TABLES: &[AdminTable] = &[
    AdminTable::of("mysql_servers", &tables::SERVERS, &[], rows::servers),
    AdminTable::of(
        "runtime_mysql_servers",
        &tables::SERVERS,
        OF_SHARES,
        servers::running,
    ),
    AdminTable {
        name: "stats_shardwright_problems",
        columns: &[],
        more: problems::COLUMNS,
        rows: problems::rows,
    },
    AdminTable {
        name: "stats_shardwright_servers",
        columns: &[],
        more: OF_SERVERS,
        rows: servers::watched,
    },
    AdminTable {
        name: "stats_shardwright_workers",
        columns: &[],
        more: OF_WORKERS,
        rows: rows::workers,
    },
    AdminTable {
        name: "stats_shardwright_pauses",
        columns: &[],
        more: OF_PAUSES,
        rows: pausing::pauses,
    },
    AdminTable {
        name: "stats_shardwright_operations",
        columns: &[],
        more: operations::COLUMNS,
        rows: operations::rows,
    },
    AdminTable {
        name: "stats_shardwright_refused_apps",
        columns: &[],
        more: refusing::COLUMNS,
        rows: refusing::rows,
    },
    AdminTable {
        name: "stats_shardwright_withheld_reads",
        columns: &[],
        more: withheld::COLUMNS,
        rows: withheld::rows,
    },
    AdminTable {
        name: "stats_shardwright_sessions",
        columns: &[],
        more: sessions::COLUMNS,
        rows: sessions::rows,
    },
    AdminTable {
        name: "stats_shardwright_throttles",
        columns: &[],
        more: throttles::COLUMNS,
        rows: throttles::rows,
    },
    AdminTable::of(
        "mysql_users",
        &tables::USERS,
        &["frontend_connections INT"],
        rows::users,
    ),
    AdminTable::of("mysql_query_rules", &tables::QUERY_RULES, OF_RULES, rows::rules),
    AdminTable::of(
        "runtime_mysql_query_rules",
        &tables::QUERY_RULES,
        OF_RULES,
        rows::rules,
    ),
    AdminTable::of(
        "stats_mysql_query_rules",
        &tables::RULE_HITS,
        &["address VARCHAR"],
        rows::rule_hits,
    ),
    AdminTable::of(
        "stats_mysql_connection_pool",
        &tables::CONNECTION_POOL,
        &[],
        rows::connection_pool,
    ),
    AdminTable::of(
        "stats_mysql_query_digest",
        &tables::QUERY_DIGEST,
        &[],
        rows::digests,
    ),
    AdminTable::of(DIGESTS_RESET, &tables::QUERY_DIGEST, &[], rows::digests_reset),
    AdminTable::of("stats_mysql_global", &tables::TOTALS, &[], rows::totals),
    AdminTable::of(
        "global_variables",
        &tables::GLOBAL_VARIABLES,
        &[],
        rows::variables,
    ),
];

/// The part of its weight that a server gets, and how many times slower than the others it answers reads, if they were compared.
const OF_SHARES: &[&str] = &["share_percent REAL", "times_slower REAL"];

/// What monitors know: the roles of each server of a watched cluster, what it says, and since when it answers or does not.
const OF_SERVERS: &[&str] = &[
    "cluster VARCHAR",
    "server VARCHAR",
    "hostname VARCHAR",
    "port INT",
    "writes VARCHAR",
    "reads VARCHAR",
    "seen VARCHAR",
    "since_s INT",
    "lag_ms INT",
    "queue INT",
    "wrote_last INT",
];

/// Threads that serve clients, and how many each has now.
const OF_WORKERS: &[&str] = &["worker INT", "sessions INT"];

/// Clusters whose statements for the writer wait: until when at most, sessions that have something unfinished there, and statements
/// that wait.
const OF_PAUSES: &[&str] = &["cluster VARCHAR", "left_ms INT", "unfinished INT", "waiting INT"];

/// The object of the topology that a rule came from, and the step that the bundled engine takes.
const OF_RULES: &[&str] = &["address VARCHAR", "step VARCHAR"];

impl AdminTable {
    const fn of(
        name: &'static str,
        table: &tables::Table,
        more: &'static [&'static str],
        rows: fn(&Shared, &[WorkerFigures]) -> Vec<Vec<Value>>,
    ) -> Self {
        Self {
            name,
            columns: table.columns,
            more,
            rows,
        }
    }

    /// Without conditions: what the proxy writes there is what it runs.
    fn definition(&self) -> String {
        let columns = self.columns.iter();
        let columns = columns.map(|column| format!("{} {}", column.name, column.sql_type.name()));
        let more = self.more.iter().map(|column| (*column).to_owned());
        let columns: Vec<String> = columns.chain(more).collect();
        format!("CREATE TABLE {} ({});\n", self.name, columns.join(", "))
    }
}

/// Creates the tables. Those of statistics are in both schemas, so that they are found with and without `stats.`.
pub(super) fn create(sqlite: &SqliteBackend) -> Result<(), MysqlError> {
    for schema in SCHEMAS {
        let script: String = in_schema(schema).map(AdminTable::definition).collect();
        sqlite.run_script(Some(schema), &script)?;
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

/// The role that it takes to read the tables that a statement names.
pub(super) fn needs(text: &str) -> Role {
    if text.to_ascii_lowercase().contains(DIGESTS_RESET) {
        Role::Operator
    } else {
        Role::Stats
    }
}

/// Fills the tables that a statement names with what is true now.
pub(super) fn fill(shared: &Shared, sqlite: &mut SqliteSession, text: &str) -> Result<(), MysqlError> {
    let lower = text.to_ascii_lowercase();
    let named: Vec<&AdminTable> = TABLES.iter().filter(|table| lower.contains(table.name)).collect();
    if named.is_empty() {
        return Ok(());
    }
    let figures: Vec<WorkerFigures> = shared
        .workers()
        .iter()
        .filter_map(|worker| worker.figures())
        .collect();
    for table in named {
        let rows = (table.rows)(shared, &figures);
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
