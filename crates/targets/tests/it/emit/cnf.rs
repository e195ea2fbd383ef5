//! `proxysql.cnf`, read back as ProxySQL 2.7 reads it: settings put into SQL between the quotes that its reader uses.

use shardwright_rules::*;
use shardwright_targets::emit::{self, Row, Table};

use super::configuration::{columns_of, everything};
use super::{expected, stored, tables};

/// A setting's value.
#[derive(Debug, PartialEq)]
enum Setting {
    Integer(i32),
    Text(String),
    Group(Vec<(String, Setting)>),
    List(Vec<Setting>),
}

/// The part of libconfig's grammar that files use: groups, lists, 32-bit integers, strings, `#` comments.
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix('#') {
                Some(comment) => self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest),
                None => return,
            }
        }
    }

    fn takes(&mut self, mark: char) -> bool {
        self.blanks();
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn group(&mut self, end: Option<char>) -> Vec<(String, Setting)> {
        let mut settings = Vec::new();
        loop {
            self.blanks();
            if self.rest.is_empty() || end.is_some_and(|end| self.takes(end)) {
                return settings;
            }
            let length = self
                .rest
                .find(|c: char| !c.is_ascii_alphanumeric() && !"_-*".contains(c))
                .unwrap();
            let (name, rest) = self.rest.split_at(length);
            self.rest = rest;
            assert!(self.takes('='), "{}", self.rest);
            settings.push((name.to_owned(), self.value()));
            self.takes(',');
        }
    }

    fn value(&mut self) -> Setting {
        if self.takes('{') {
            return Setting::Group(self.group(Some('}')));
        }
        if self.takes('(') {
            let mut values = Vec::new();
            while !self.takes(')') {
                values.push(self.value());
                self.takes(',');
            }
            return Setting::List(values);
        }
        if self.takes('"') {
            return Setting::Text(self.string());
        }
        let length = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        Setting::Integer(digits.parse().unwrap())
    }

    fn string(&mut self) -> String {
        let mut text = String::new();
        let mut characters = self.rest.char_indices();
        loop {
            let (at, character) = characters.next().unwrap();
            match character {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return text;
                }
                '\\' => text.push(match characters.next().unwrap().1 {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'f' => '\x0c',
                    'x' => {
                        let digits: String = characters.by_ref().take(2).map(|(_, c)| c).collect();
                        char::from(u8::from_str_radix(&digits, 16).unwrap())
                    }
                    other => other,
                }),
                other => text.push(other),
            }
        }
    }
}

/// The statement that ProxySQL makes of a row: most texts stand in it as they are.
fn insert(table: &str, row: &[(String, Setting)]) -> String {
    let value = |(column, setting): &(String, Setting)| match setting {
        Setting::Integer(number) => number.to_string(),
        Setting::Text(text) if table == "mysql_query_rules" || column == "hostname" || column == "status" => {
            format!("\"{text}\"")
        }
        Setting::Text(text) if column == "comment" || column == "check_type" => {
            format!("'{}'", text.replace('\'', "''"))
        }
        Setting::Text(text) => format!("'{text}'"),
        other => panic!("{other:?}"),
    };
    let columns: Vec<&str> = row.iter().map(|(column, _)| column.as_str()).collect();
    let values: Vec<String> = row.iter().map(value).collect();
    format!(
        "INSERT OR REPLACE INTO {table} ({}) VALUES ({});",
        columns.join(", "),
        values.join(", ")
    )
}

fn script(file: &str) -> String {
    let mut statements = Vec::new();
    for (name, setting) in (Reader { rest: file }).group(None) {
        let Setting::List(rows) = setting else { continue };
        for row in rows {
            let Setting::Group(row) = row else {
                panic!("{row:?}")
            };
            statements.push(insert(&name, &row));
        }
    }
    statements.join("\n")
}

/// A configuration whose every part the file can hold.
fn holdable() -> Configuration {
    let mut configuration = everything();
    configuration.graph.fast_routing.clear();
    let rule = columns_of(&mut configuration, 100);
    rule.flag_outs.clear();
    configuration
}

#[test]
fn what_proxysql_reads_is_what_was_meant() {
    let configuration = holdable();
    let file = emit::cnf(&configuration).unwrap();
    assert_eq!(file, emit::cnf(&configuration.clone()).unwrap());
    let database = tables::load(&[&script(&file)]);
    let rows = emit::rows(&configuration).unwrap();
    for table in Table::ALL {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.table == table).collect();
        for (position, row) in rows.iter().enumerate() {
            assert_eq!(stored(&database, row, position), expected(row), "{row:?}");
        }
    }
}

#[test]
fn patterns_keep_their_meaning_and_texts_their_bytes() {
    let texts = [
        "it's 100%",
        "tab\tline\nbell\u{7}",
        r"\d+\\",
        "\u{e9}\u{1F600}",
        "/* # */ // { } ( )",
    ];
    for text in texts {
        let mut configuration = holdable();
        columns_of(&mut configuration, 100_000).error_msg = Some(text.to_owned());
        let rule = columns_of(&mut configuration, 100);
        rule.match_pattern = Some(format!("{text}[\"'](?:\\\"x)"));
        let file = emit::cnf(&configuration).unwrap();
        let database = tables::load(&[&script(&file)]);
        let read = |column: &str, id: u32| -> String {
            let query = format!("SELECT {column} FROM mysql_query_rules WHERE rule_id = {id}");
            database.query_row(&query, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(read("error_msg", 100_000), text);
        assert_eq!(read("match_pattern", 100), format!(r"{text}[\x22'](?:\x22x)"));
    }
}

#[test]
fn what_the_file_cannot_hold_is_refused() {
    let refusal = |change: fn(&mut Configuration)| {
        let mut configuration = holdable();
        change(&mut configuration);
        emit::cnf(&configuration).unwrap_err().to_string()
    };
    let told = [
        refusal(|configuration| configuration.graph.fast_routing = everything().graph.fast_routing),
        refusal(|configuration| {
            columns_of(configuration, 100).error_msg = Some("say \"no\"".into());
        }),
        refusal(|configuration| configuration.users[0].name = "o'brien".into()),
        refusal(|configuration| {
            let name = "mysql-default_charset".to_owned();
            configuration.variables.insert(name, "a\"b".into());
        }),
    ];
    insta::assert_snapshot!(told.join("\n"), @"
    shard_maps.accounts.shards.a0001: proxysql.cnf cannot hold rows of fast routing; --emit sql can
    query_rules.legacy.rules[0]: error_msg holds a double quote, which the file's reader does not escape; --emit sql can
    users.app: username holds a quote, which the file's reader does not escape; --emit sql can
    mysql-default_charset holds a double quote, which the file's reader does not escape; --emit sql can
    ");
}

#[test]
fn the_file_holds_the_flags_that_are_drawn() {
    let mut configuration = holdable();
    let choice = FlagOutChoice {
        id: 20_000,
        weight: 1,
    };
    columns_of(&mut configuration, 100).flag_outs = vec![choice];
    let file = emit::cnf(&configuration).unwrap();
    let attributes = r#"attributes = "{\"flagOUTs\":[{\"id\":20000,\"weight\":1}]}""#;
    assert!(file.contains(attributes), "{file}");
}
