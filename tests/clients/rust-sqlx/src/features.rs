//! Calls of this driver.

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlPoolOptions, MySqlSslMode};
use sqlx::{
    AssertSqlSafe, Column, ConnectOptions, Connection, Executor, Row, SqlSafeStr, Statement, TypeInfo,
};

use crate::report::{error, feature, results, then, variable};
use crate::{Outcome, connect, options, prepared, run};

async fn selecting(options: MySqlConnectOptions, sql: &str) -> Outcome {
    run(&mut options.connect().await?, sql).await
}

async fn number(connection: &mut MySqlConnection, sql: String) -> sqlx::Result<i64> {
    // Signed or not: it is small.
    sqlx::query(AssertSqlSafe(sql))
        .fetch_one(connection)
        .await?
        .try_get_unchecked(0)
}

pub(crate) async fn connecting() {
    let schema = format!("SELECT DATABASE() = '{}'", variable("SCHEMA"));
    feature("connect", selecting(options(), &schema)).await;
    feature(
        "connect with a wrong password",
        selecting(options().password("wrong"), "SELECT 1"),
    )
    .await;
    feature(
        "connect as an unknown user",
        selecting(options().username(&variable("UNKNOWN_USER")), "SELECT 1"),
    )
    .await;
    feature(
        "connect to an unknown schema",
        selecting(options().database("nosuch"), "SELECT 1"),
    )
    .await;
    for (name, authority) in [
        ("connect with TLS", "AUTHORITY"),
        ("connect with TLS of another authority", "STRANGER"),
    ] {
        let checked = options()
            .ssl_mode(MySqlSslMode::VerifyIdentity)
            .ssl_ca(variable(authority));
        feature(name, selecting(checked, "SELECT 1")).await;
    }
    let preferred = options().ssl_mode(MySqlSslMode::Preferred);
    feature(
        "connect with TLS if there is TLS",
        selecting(preferred, "SELECT 1"),
    )
    .await;
    feature(
        "connect by unix socket",
        selecting(options().socket(variable("SOCKET")), "SELECT 1"),
    )
    .await;
    // What it sends by itself: sql_mode, time_zone and SET NAMES.
    let first = "SELECT @@sql_mode, @@time_zone, @@character_set_client, @@collation_connection";
    feature("connect with a first statement", selecting(options(), first)).await;
    let latin1 = options().charset("latin1").collation("latin1_swedish_ci");
    feature(
        "character set latin1",
        selecting(latin1, "SELECT 'ne', @@character_set_client"),
    )
    .await;
}

pub(crate) async fn writing() {
    feature("parameters", async {
        let mut connection = connect().await?;
        let columns = "a INT, b BIGINT UNSIGNED, c DOUBLE, d DECIMAL(20,5), e VARCHAR(20), f BLOB, j BOOL";
        run(&mut connection, "DROP TABLE IF EXISTS calls").await?;
        run(&mut connection, &format!("CREATE TABLE calls ({columns})")).await?;
        for is_null in [false, true] {
            sqlx::query("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)")
                .bind((!is_null).then_some(-5))
                .bind((!is_null).then_some(u64::MAX))
                .bind((!is_null).then_some(1.5))
                .bind((!is_null).then_some("12345.67890"))
                .bind((!is_null).then_some("né 👍 '\"\\%"))
                .bind((!is_null).then_some(&b"\x00\xff'\\\n"[..]))
                .bind((!is_null).then_some(true))
                .execute(&mut connection)
                .await?;
        }
        let query = sqlx::query("SELECT * FROM calls WHERE a = ? OR a IS NULL ORDER BY a DESC").bind(-5);
        results(connection.fetch_many(query)).await
    })
    .await;
    feature("last insert id", async {
        let mut connection = connect().await?;
        run(&mut connection, "DROP TABLE IF EXISTS calls").await?;
        let table = "CREATE TABLE calls (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20))";
        run(&mut connection, table).await?;
        let first = sqlx::query("INSERT INTO calls (a) VALUES (?), (?)")
            .bind("x")
            .bind("y");
        let first = first.execute(&mut connection).await?.last_insert_id();
        let second = sqlx::query("UPDATE calls SET id = LAST_INSERT_ID(id + 1000) WHERE a = 'y'");
        let second = second.execute(&mut connection).await?.last_insert_id();
        Ok(format!("{first}, {second}"))
    })
    .await;
    // This driver always asks for found rows.
    feature("found rows", async {
        let mut connection = connect().await?;
        let first = run(&mut connection, "UPDATE calls SET a = 'same' WHERE id <= 1").await?;
        Ok(format!(
            "{first}, {}",
            prepared(&mut connection, "UPDATE calls SET a = 'same' WHERE id <= 2000").await?
        ))
    })
    .await;
}

pub(crate) async fn transactions() {
    let (mut first, mut second) = (connect().await.unwrap(), connect().await.unwrap());
    feature("transaction by call", async {
        run(&mut first, "DROP TABLE IF EXISTS calls").await?;
        run(&mut first, "CREATE TABLE calls (id INT PRIMARY KEY, a INT)").await?;
        let mut outer = first.begin().await?;
        run(&mut outer, "INSERT INTO calls VALUES (1, 1)").await?;
        let mut inner = outer.begin().await?;
        run(&mut inner, "INSERT INTO calls VALUES (2, 2)").await?;
        inner.rollback().await?;
        let outside = run(&mut second, "SELECT COUNT(*) FROM calls").await?;
        outer.commit().await?;
        // Dropped: rolled back before the next statement.
        let mut dropped = first.begin().await?;
        run(&mut dropped, "INSERT INTO calls VALUES (3, 3)").await?;
        drop(dropped);
        let own = run(&mut first, "SELECT COUNT(*), @@in_transaction FROM calls").await?;
        Ok(format!(
            "{outside}, {own}, {}",
            run(&mut second, "SELECT * FROM calls").await?
        ))
    })
    .await;
    feature("isolation level", async {
        let mut transaction = first.begin_with("START TRANSACTION READ ONLY").await?;
        run(&mut transaction, "INSERT INTO calls VALUES (4, 4)").await
    })
    .await;
    feature("two connections", async {
        run(&mut second, "SET SESSION innodb_lock_wait_timeout = 1").await?;
        let mut transaction = first.begin().await?;
        run(&mut transaction, "UPDATE calls SET a = 5 WHERE id = 1").await?;
        run(&mut second, "UPDATE calls SET a = 6 WHERE id = 1").await
    })
    .await;
    feature("pool", async {
        let pool = MySqlPoolOptions::new()
            .max_connections(1)
            .connect_with(options())
            .await?;
        run(&mut *pool.acquire().await?, "SET @left = 1").await?;
        run(&mut *pool.acquire().await?, "SELECT @left").await
    })
    .await;
    feature("statement executed many times", async {
        let mut total = 0;
        for round in 0..2 {
            let mut transaction = first.begin().await?;
            for n in 0..100 {
                let query = sqlx::query("SELECT ? + 1, ?").bind(round * 100 + n).bind("é");
                total += query.fetch_one(&mut *transaction).await?.try_get::<i64, _>(0)?;
            }
            transaction.commit().await?;
        }
        Ok(format!("{total}, {} kept", first.cached_statements_size()))
    })
    .await;
}

pub(crate) async fn reading() {
    let mut connection = connect().await.unwrap();
    let many = "SELECT seq, REPEAT('x', 50) FROM seq_1_to_20000";
    feature("unbuffered rows", async {
        let mut rows = sqlx::query(many).fetch(&mut connection);
        let mut total = 0;
        while let Some(row) = rows.try_next().await? {
            total += row.try_get::<u64, _>(0)?;
        }
        Ok(total.to_string())
    })
    .await;
    feature("unbuffered rows that are left", async {
        let first = sqlx::query(many).fetch(&mut connection).try_next().await?;
        let first: u64 = first.unwrap().try_get(0)?;
        then(Ok(first.to_string()), run(&mut connection, "SELECT 2").await)
    })
    .await;
    feature("procedure with several results", async {
        run(
            &mut connection,
            "CREATE PROCEDURE IF NOT EXISTS answers(IN n INT) BEGIN SELECT n; SELECT n + 1, 'x'; END",
        )
        .await?;
        let text = run(&mut connection, "CALL answers(20)").await?;
        Ok(format!(
            "{text}, {}",
            prepared(&mut connection, "CALL answers(21)").await?
        ))
    })
    .await;
    feature(
        "several statements",
        run(&mut connection, "SELECT 1; DO 2; SELECT 'x', 3"),
    )
    .await;
    feature("several statements with an error", async {
        let failed = run(&mut connection, "SELECT 1; SELECT nosuch; SELECT 3").await;
        then(failed, run(&mut connection, "SELECT 4").await)
    })
    .await;
    feature("error with state", async {
        let mut states = Vec::new();
        for sql in [
            "SELEC",
            "SELECT * FROM nosuch",
            "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001",
        ] {
            if let Err(sqlx::Error::Database(failed)) = run(&mut connection, sql).await {
                let number = failed.downcast_ref::<MySqlDatabaseError>().number();
                states.push(format!("{number} {:?} {:?}", failed.code(), failed.kind()));
            }
        }
        Ok(states.join(", "))
    })
    .await;
    feature("metadata", async {
        run(
            &mut connection,
            "CREATE TABLE described (j JSON NOT NULL, u UUID, b BIT(3), n INT UNSIGNED)",
        )
        .await?;
        let sql = "SELECT *, 'x' AS é, NOW(3) AS d, ? AS p FROM described";
        let statement = connection.prepare(SqlSafeStr::into_sql_str(sql)).await?;
        let columns = statement.columns().iter();
        let columns: Vec<String> = columns
            .map(|c| format!("{} {}", c.name(), c.type_info().name()))
            .collect();
        Ok(format!(
            "{}, {:?}",
            columns.join(", "),
            statement.parameters().map(|p| p.right())
        ))
    })
    .await;
}

pub(crate) async fn ends() {
    feature("ping", async {
        connect().await?.ping().await?;
        Ok("ok".to_owned())
    })
    .await;
    feature("kill a connection", async {
        let (mut connection, mut killer) = (connect().await?, connect().await?);
        let own = number(&mut connection, "SELECT CONNECTION_ID()".to_owned()).await?;
        let running = tokio::spawn(async move {
            let sql = "SELECT BENCHMARK(1000000000000, MD5('x')), 'asleep CONNECTION'";
            run(&mut connection, sql).await
        });
        let count = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT BENCH%asleep CONNECTION%' AND db = DATABASE()";
        for _ in 0..1000 {
            if number(&mut killer, count.to_owned()).await? == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        run(&mut killer, &format!("KILL {own}")).await?;
        Ok(running.await.unwrap().unwrap_or_else(|failed| error(&failed)))
    })
    .await;
    feature("time limit of a statement", async {
        let mut connection = connect().await?;
        run(&mut connection, &variable("TIME_LIMIT")).await?;
        run(&mut connection, "SELECT BENCHMARK(1000000000000, MD5('x'))").await
    })
    .await;
    feature("packet of 17 MiB", async {
        let text = "0123456789abcdef".repeat(17 << 16);
        let back: String = sqlx::query_scalar("SELECT ?")
            .bind(&text)
            .fetch_one(&mut connect().await?)
            .await?;
        Ok(format!("equal: {}", back == text))
    })
    .await;
}
