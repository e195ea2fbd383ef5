//! Rules by the admin port of ProxySQL.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::text_rows;

use super::BenchError;

/// Runs a script of `emit::sql`, in which every statement is one line, and counts what is live afterwards: ProxySQL drops
/// rules that it cannot use without an error.
pub(super) fn load(admin: &mut Conn, script: &str, rules: usize) -> Result<(), BenchError> {
    let statements = script
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("--"));
    for statement in statements {
        let refused = |error: mysql::Error| BenchError::Output {
            what: format!("the admin port refused {statement}"),
            output: error.to_string(),
        };
        let text = statement.strip_suffix(';').unwrap_or(statement);
        admin.query_drop(text).map_err(refused)?;
    }
    let rows = text_rows(admin, "SELECT COUNT(*) FROM runtime_mysql_query_rules")?;
    let live = rows.into_iter().flatten().flatten().next().unwrap_or_default();
    if live == rules.to_string() {
        return Ok(());
    }
    Err(BenchError::Output {
        what: "rules that were loaded are not live".to_owned(),
        output: format!("{rules} loaded, {live} live"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    use shardwright_mysqlite::{
        Answer, Backend, Config, MysqlError, RowSink, Server, Session, SessionContext, StatusFlags, Table,
        User, Value,
    };
    use shardwright_rules::RegexEngine;
    use shardwright_testkit::connect;

    use crate::proxysql::process::ADMIN;
    use crate::proxysql::rule_sets::{Layout, rule_set};

    /// An admin port that takes every statement but one, writes it down, and makes rules live when it is told to.
    #[derive(Clone, Default)]
    struct Admin {
        heard: Arc<Mutex<Vec<String>>>,
        refused: &'static str,
        dropped: usize,
    }

    impl Backend for Admin {
        fn open_session(&self, _: &SessionContext) -> Result<Box<dyn Session>, MysqlError> {
            Ok(Box::new(self.clone()))
        }
    }

    impl Session for Admin {
        fn use_schema(&mut self, _: &str) -> Result<(), MysqlError> {
            Ok(())
        }

        fn schema(&self) -> Option<&str> {
            None
        }

        fn status(&self) -> StatusFlags {
            StatusFlags::SERVER_STATUS_AUTOCOMMIT
        }

        fn query(&mut self, sql: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
            let sql = String::from_utf8(sql.to_vec()).unwrap();
            if sql == self.refused {
                return Err(MysqlError::general(1045, "near that: syntax error"));
            }
            let mut heard = self.heard.lock().unwrap();
            let rules = heard
                .iter()
                .filter(|line| line.starts_with("INSERT INTO mysql_query_rules "))
                .count();
            let is_live = heard
                .iter()
                .any(|line| line == "LOAD MYSQL QUERY RULES TO RUNTIME");
            if sql == "SELECT COUNT(*) FROM runtime_mysql_query_rules" {
                let live = if is_live { rules - self.dropped } else { 0 };
                return Table::of_text(&["COUNT(*)"])
                    .with_row([Value::from(live.to_string().as_str())])
                    .send(rows);
            }
            heard.push(sql);
            Ok(Answer::ok())
        }
    }

    /// What loading the tree of 200 shards came to, and the statements that were heard.
    fn loaded(backend: Admin) -> (Result<(), BenchError>, Vec<String>, String) {
        let heard = backend.heard.clone();
        let config = Config {
            users: vec![User {
                name: ADMIN.user.into(),
                password: ADMIN.password.into(),
            }],
            ..Config::default()
        };
        let server = Server::bind("127.0.0.1:0", config, Arc::new(backend)).unwrap();
        let set = rule_set(
            Layout::Tree,
            200,
            "127.0.0.1:4006".parse().unwrap(),
            RegexEngine::Pcre,
        )
        .unwrap();
        let mut admin = connect(server.local_addr(), ADMIN).unwrap();
        let result = load(&mut admin, &set.script, set.rules);
        let heard = heard.lock().unwrap().clone();
        (result, heard, set.script)
    }

    #[test]
    fn every_statement_of_the_script_is_run_in_its_order() {
        let (result, heard, script) = loaded(Admin::default());
        result.unwrap();
        let written: Vec<&str> = script.lines().filter_map(|line| line.strip_suffix(';')).collect();
        assert_eq!(heard, written);
        assert!(
            heard.iter().any(|line| line.contains("'app', 'bench'")),
            "the password is set"
        );
    }

    #[test]
    fn a_refused_statement_and_dropped_rules_are_errors() {
        let refusing = Admin {
            refused: "LOAD MYSQL SERVERS TO RUNTIME",
            ..Admin::default()
        };
        let error = loaded(refusing).0.unwrap_err().to_string();
        assert!(error.contains("refused LOAD MYSQL SERVERS TO RUNTIME"), "{error}");
        assert!(error.contains("syntax error"), "{error}");
        let dropping = Admin {
            dropped: 1,
            ..Admin::default()
        };
        let error = loaded(dropping).0.unwrap_err().to_string();
        assert!(error.contains("330 loaded, 329 live"), "{error}");
    }
}
