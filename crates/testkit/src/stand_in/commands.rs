//! The statements of the admin port that are no SQL.

use super::loading::{Module, Movement};

/// What a statement asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Accepted and ignored.
    Nothing,
    /// A value by its name.
    Shown(String, String),
    /// `SELECT @@NAME`
    Variable(String),
    /// `SET NAME = VALUE`
    Set(String, String),
    /// LOAD or SAVE.
    Move(Movement, Module),
    /// For SQLite.
    Sql,
}

impl Command {
    pub(super) fn read(sql: &str) -> Self {
        let words: Vec<String> = sql.split_whitespace().map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["BEGIN" | "COMMIT" | "ROLLBACK", ..] | ["START", "TRANSACTION", ..] | ["SET", "NAMES", ..] => {
                Self::Nothing
            }
            ["SET", ..] => set(sql).unwrap_or(Self::Nothing),
            ["SELECT", "VERSION()"] => Self::Shown("version()".to_owned(), "2.7.1-0-gbuild".to_owned()),
            ["SELECT", "DATABASE()"] => Self::Shown("DATABASE()".to_owned(), "admin".to_owned()),
            ["SELECT", "@@MAX_ALLOWED_PACKET"] => {
                Self::Shown("@@max_allowed_packet".to_owned(), "67108864".to_owned())
            }
            ["SELECT", name] if name.starts_with("@@") => Self::Variable(name[2..].to_ascii_lowercase()),
            [verb @ ("LOAD" | "SAVE"), module @ .., way, place] => {
                let movement = Movement::read(verb, way, place);
                let module = Module::read(&module.join(" "));
                movement
                    .zip(module)
                    .map_or(Self::Sql, |(movement, module)| Self::Move(movement, module))
            }
            _ => Self::Sql,
        }
    }
}

fn set(sql: &str) -> Option<Command> {
    let (name, value) = sql[3..].split_once('=')?;
    let name = name.trim().trim_start_matches("@@").trim_matches('`').to_owned();
    let value = value.trim().trim_matches('\'').trim_matches('"').to_owned();
    (name.starts_with("mysql-") || name.starts_with("admin-")).then_some(Command::Set(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_sql() {
        let rules = Module::read("MYSQL QUERY RULES").unwrap();
        for (sql, expected) in [
            ("begin", Command::Nothing),
            (
                "LOAD MYSQL QUERY RULES TO RUNTIME",
                Command::Move(Movement::ToRuntime, rules),
            ),
            (
                "load mysql query rules from memory",
                Command::Move(Movement::ToRuntime, rules),
            ),
            (
                "SAVE MYSQL QUERY RULES TO DISK",
                Command::Move(Movement::ToDisk, rules),
            ),
            (
                "LOAD MYSQL QUERY RULES FROM DISK",
                Command::Move(Movement::FromDisk, rules),
            ),
            (
                "SAVE MYSQL QUERY RULES FROM RUNTIME",
                Command::Move(Movement::FromRuntime, rules),
            ),
            ("LOAD NOTHING TO RUNTIME", Command::Sql),
            ("LOAD MYSQL QUERY RULES TO NOWHERE", Command::Sql),
            (
                "SET mysql-threads='8'",
                Command::Set("mysql-threads".to_owned(), "8".to_owned()),
            ),
            (
                "SELECT @@mysql-threads",
                Command::Variable("mysql-threads".to_owned()),
            ),
            ("SELECT 1 FROM mysql_servers", Command::Sql),
        ] {
            assert_eq!(Command::read(sql), expected, "{sql}");
        }
    }
}
