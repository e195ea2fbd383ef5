//! The demo's statements: each is sent through the proxy, and the statements that the servers received are shown with the decisions.

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Row, Value};
use shardwright_rules::{Decision, Evaluator, Outcome, SessionView, Statement};

use crate::commands::demo::backends::Backends;
use crate::commands::demo::processes::{Environment, ProxyProcess};
use crate::error::CommandError;
use crate::project::Opened;
use crate::ui::Ui;

/// A statement of the demonstration.
struct DemoStatement {
    shows: &'static str,
    /// The user of the session.
    user: &'static str,
    sql: &'static str,
}

const STATEMENTS: [DemoStatement; 13] = [
    DemoStatement {
        shows: "a predicate selects the shard, and the other predicates stay",
        user: "geo",
        sql: "SELECT Name, Population FROM world.City WHERE Continent='Europe' AND CountryCode='ITA' ORDER BY Population DESC LIMIT 1",
    },
    DemoStatement {
        shows: "a key value can contain a space",
        user: "geo",
        sql: "SELECT Name, Population FROM world.Country WHERE Continent = 'North America' ORDER BY Population DESC LIMIT 3",
    },
    DemoStatement {
        shows: "backticks, and a table without a schema",
        user: "geo",
        sql: "SELECT `Name` FROM `Country` WHERE `Continent` IN ('Asia') AND Code LIKE 'J%' ORDER BY Name",
    },
    DemoStatement {
        shows: "a comment selects the shard of a join",
        user: "geo",
        sql: "SELECT /* continent=Europe */ Code, City.Name, City.Population FROM world.Country JOIN world.City ON \
         world.City.CountryCode=world.Country.Code WHERE City.Population > 3000000 ORDER BY City.Population DESC LIMIT 4",
    },
    DemoStatement {
        shows: "a hint or a schema inside a string is only text",
        user: "geo",
        sql: "SELECT 'hello world.City /* continent=Asia */' AS greeting, Name FROM world.Country WHERE Continent='Africa' LIMIT 1",
    },
    DemoStatement {
        shows: "a write",
        user: "geo",
        sql: "UPDATE world.City SET Population = Population + 1 WHERE Continent='Africa' AND Name='Nazret'",
    },
    DemoStatement {
        shows: "a new row finds its shard",
        user: "geo",
        sql: "INSERT INTO world.City (ID, Name, CountryCode, Population, Continent) VALUES (100001, 'Villa Nueva', 'ARG', 18000, 'South America')",
    },
    DemoStatement {
        shows: "a statement about two shards is refused",
        user: "geo",
        sql: "SELECT Name FROM world.Country WHERE Continent='Asia' OR Continent='Europe'",
    },
    DemoStatement {
        shows: "no key",
        user: "geo",
        sql: "SELECT Name FROM world.Country",
    },
    DemoStatement {
        shows: "a key that no shard holds",
        user: "geo",
        sql: "SELECT Name FROM world.Country WHERE Continent='Atlantis'",
    },
    DemoStatement {
        shows: "a key matches only as a whole word",
        user: "geo",
        sql: "SELECT /* continent=Eurasia */ Name FROM world.Country",
    },
    DemoStatement {
        shows: "a comment that names the host",
        user: "host",
        sql: "SELECT /* shard_host_HG=Africa */ City.Name, City.Population FROM world.Country JOIN world.City ON \
         world.City.CountryCode=world.Country.Code WHERE Country.Code='ETH' LIMIT 3",
    },
    DemoStatement {
        shows: "one comment for the host, one for the schema on it",
        user: "both",
        sql: "SELECT /* shard_host_HG=Asia */ /* continent=Asia */ City.Name, City.Population FROM world.Country JOIN world.City ON \
         world.City.CountryCode=world.Country.Code WHERE Country.Code='IND' LIMIT 3",
    },
];

/// Sends them all. True when every answer came from the shard that the evaluator names.
pub(super) fn run(
    opened: &Opened,
    evaluator: &Evaluator,
    backends: &Backends,
    environment: &Environment,
    proxy: &ProxyProcess,
    ui: &Ui,
) -> Result<bool, CommandError> {
    let mut all_right = true;
    for (number, DemoStatement { shows, user, sql }) in STATEMENTS.iter().enumerate() {
        let mut client = connect(environment, proxy, user)?;
        backends.take_notes();
        let answer = client.query_iter(sql).and_then(|mut result| {
            let columns: Vec<String> = result
                .columns()
                .as_ref()
                .iter()
                .map(|c| c.name_str().into_owned())
                .collect();
            let rows: Vec<Row> = result.by_ref().collect::<Result<_, _>>()?;
            Ok((columns, rows))
        });
        let affected = client.affected_rows();
        let session = SessionView {
            user,
            schema: Some("world"),
            ..SessionView::default()
        };
        let decision = evaluator.decide(&session, &Statement::new(sql.as_bytes(), Default::default()));
        let seen = backends
            .take_notes()
            .into_iter()
            .rev()
            .find(|(_, text)| is_of(text, &decision, sql));
        ui.data(&format!(
            "\n{} {}\n{}  {sql}\n",
            ui.strong(&format!("{:2}.", number + 1)),
            ui.strong(shows),
            indent(user)
        ))?;
        let mut lines = Vec::new();
        match (&decision.outcome, &seen) {
            (Outcome::Route(route), Some((server, text))) => {
                let shard = route
                    .shard
                    .as_ref()
                    .map_or("no shard".to_owned(), |shard| shard.short());
                lines.push(format!("reached {server} ({shard})"));
                lines.push(format!("sent    {text}"));
                all_right &= route.cluster.as_deref() == Some(*server) && answer.is_ok();
            }
            (Outcome::Route(route), None) => {
                lines.push(format!("reached no server, but {:?} was expected", route.cluster));
                all_right = false;
            }
            (_, Some((server, _))) => {
                lines.push(format!("reached {server}, but a refusal was expected"));
                all_right = false;
            }
            (_, None) => all_right &= answer.is_err(),
        }
        lines.extend(match &answer {
            Ok((columns, rows)) => table(columns, rows, affected),
            Err(error) => vec![format!("refused {}", refusal(error))],
        });
        lines.push(ui.faint(&format!("because {}", opened.decided_at(&decision))));
        for line in lines {
            ui.data(&format!("      {line}\n"))?;
        }
    }
    Ok(all_right)
}

fn indent(user: &str) -> String {
    format!("    {user}>")
}

fn connect(environment: &Environment, proxy: &ProxyProcess, user: &str) -> Result<Conn, CommandError> {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(proxy.listen.ip().to_string()))
        .tcp_port(proxy.listen.port())
        .user(Some(user))
        .pass(Some(environment.user_password()))
        .db_name(Some("world"))
        .prefer_socket(false);
    Conn::new(options)
        .map_err(|error| CommandError::failed(format!("cannot log in to the proxy as {user}: {error}")))
}

/// Whether a server's note is about this statement, and not about one that drivers and pools send.
fn is_of(text: &str, decision: &Decision, sql: &str) -> bool {
    match &decision.outcome {
        Outcome::Route(route) => match &route.rewritten {
            Some(rewritten) => text.as_bytes() == rewritten.as_slice(),
            None => text == sql,
        },
        Outcome::Reject(_) | Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => {
            text == sql
        }
    }
}

fn refusal(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => format!("{} ({}): {}", error.code, error.state, error.message),
        other => other.to_string(),
    }
}

fn table(columns: &[String], rows: &[Row], affected: u64) -> Vec<String> {
    if columns.is_empty() {
        return vec![format!(
            "ok      {affected} row{} changed",
            if affected == 1 { "" } else { "s" }
        )];
    }
    let mut lines = vec![format!("rows    {}", columns.join(" | "))];
    for row in rows {
        let cells: Vec<String> = (0..columns.len()).map(|at| cell(row.as_ref(at))).collect();
        lines.push(format!("        {}", cells.join(" | ")));
    }
    lines
}

fn cell(value: Option<&Value>) -> String {
    match value {
        Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(Value::NULL) | None => "NULL".to_owned(),
        Some(other) => other.as_sql(true),
    }
}
