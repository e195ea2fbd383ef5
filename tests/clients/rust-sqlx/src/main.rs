//! The `sqlx` crate: raw SQL is text, queries are statements that the server prepares and the driver keeps.

mod features;
mod report;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions};

use report::{Outcome, error, feature, results, variable};

#[tokio::main]
async fn main() {
    println!("client: sqlx 0.9");
    features::connecting().await;
    features::writing().await;
    features::transactions().await;
    features::reading().await;
    features::ends().await;
    every_statement(false).await;
    every_statement(true).await;
}

/// Where every connection goes.
fn options() -> MySqlConnectOptions {
    MySqlConnectOptions::new()
        .host(&variable("HOST"))
        .port(variable("PORT").parse().unwrap())
        .username(&variable("USER"))
        .password(&variable("PASSWORD"))
        .database(&variable("SCHEMA"))
        .ssl_mode(MySqlSslMode::Disabled)
        .disable_statement_logging()
}

async fn connect() -> sqlx::Result<MySqlConnection> {
    options().connect().await
}

/// All results of a text.
async fn run(connection: &mut MySqlConnection, sql: &str) -> Outcome {
    use sqlx::Executor;
    results(connection.fetch_many(sqlx::raw_sql(AssertSqlSafe(sql.to_owned())))).await
}

/// All results of a prepared statement.
async fn prepared(connection: &mut MySqlConnection, sql: &str) -> Outcome {
    use sqlx::Executor;
    results(connection.fetch_many(sqlx::query(AssertSqlSafe(sql.to_owned())))).await
}

/// Every block on a connection of its own.
async fn every_statement(is_prepared: bool) {
    let text = std::fs::read_to_string(variable("STATEMENTS")).unwrap();
    for block in text.split("\n\n").skip(1) {
        let mut lines = block.trim().lines();
        let name = lines.next().unwrap().trim_start_matches("-- ");
        let mut connection = connect().await.unwrap();
        let mut outcomes = Vec::new();
        for line in lines {
            let sql = line.strip_suffix(';').unwrap();
            let outcome = match is_prepared {
                true => prepared(&mut connection, sql).await,
                false => run(&mut connection, sql).await,
            };
            outcomes.push(outcome.unwrap_or_else(|failed| error(&failed)));
        }
        let suffix = if is_prepared { ", prepared" } else { "" };
        feature(&format!("{name}{suffix}"), async { Ok(outcomes.join(" ; ")) }).await;
    }
}
