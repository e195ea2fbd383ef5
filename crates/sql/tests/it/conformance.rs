//! Digests against a real ProxySQL, where `PROXYSQL_BIN` names one.
//!
//! A rule answers every statement, and each is sent under a schema of its own, so that the rows of
//! `stats_mysql_query_digest` tell which digest is whose. `SHARDWRIGHT_CONFORMANCE=1000000` asks for that many statements;
//! without it the test takes seconds. What is found becomes a row of `digests.rs`, which needs no engine.

mod client;
pub(crate) mod statements;

use std::collections::HashMap;

use mysql::Value;
use mysql::prelude::Queryable;
use shardwright_sql::class::classify;
use shardwright_sql::{Digest, DigestOptions, LexMode, StatementClass};
use shardwright_testkit::{ProxySql, ProxySqlOptions, real_proxysql};

use crate::digests::{COMMENTS, LITERALS, SIGNS_AND_BLANKS};
use client::Client;
use statements::{Chance, statement, statements_of_this_repository};

const LONG: &str = "SHARDWRIGHT_CONFORMANCE";
const QUICK: usize = 16_000;
/// Statements whose rows are read at once.
const BATCH: usize = 4_000;

/// What one engine was asked.
#[derive(Debug, Default)]
struct Tally {
    compared: usize,
    /// Answered by the engine before it keeps statistics, USE left aside.
    without_a_row: usize,
    /// With bytes of an earlier statement.
    undetermined: usize,
    differences: Vec<String>,
}

fn engine(options: &DigestOptions, binary: &std::path::Path) -> ProxySql {
    let DigestOptions {
        lowercase,
        replace_null,
        no_digits,
        keep_comment,
        grouping_limit,
        groups_grouping_limit,
        max_query_length,
        max_digest_length,
    } = options;
    let mut variables = vec![
        format!("query_digests_lowercase={lowercase}"),
        format!("query_digests_replace_null={replace_null}"),
        format!("query_digests_no_digits={no_digits}"),
        format!("query_digests_keep_comment={keep_comment}"),
        format!("query_digests_grouping_limit={grouping_limit}"),
        format!("query_digests_groups_grouping_limit={groups_grouping_limit}"),
        format!("query_digests_max_query_length={max_query_length}"),
        format!("query_digests_max_digest_length={max_digest_length}"),
    ];
    variables.push(format!(
        "query_digests_normalize_digest_text={}",
        keeps_texts_once(options)
    ));
    let proxysql = ProxySql::start(
        binary,
        &ProxySqlOptions {
            mysql_variables: variables,
            ..ProxySqlOptions::default()
        },
    )
    .unwrap();
    proxysql
        .run([
            "INSERT INTO mysql_users (username, password) VALUES ('digests', '')",
            "LOAD MYSQL USERS TO RUNTIME",
            "INSERT INTO mysql_query_rules (rule_id, active, OK_msg, apply) VALUES (1, 1, 'ok', 1)",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
        ])
        .unwrap();
    proxysql
}

/// Some engines run with `normalize_digest_text`: where texts are kept changes nothing about them.
fn keeps_texts_once(options: &DigestOptions) -> bool {
    options.lowercase
}

/// A schema that no statement changes to.
fn schema(number: usize) -> String {
    format!("conformance_{number}")
}

type Rows = HashMap<String, (Vec<u8>, String)>;

/// By schema: the digest text and the hash. The table is empty afterwards.
fn rows(admin: &mut mysql::Conn) -> Rows {
    let sql = "SELECT schemaname, digest_text, digest FROM stats_mysql_query_digest_reset";
    let mut rows = Rows::new();
    for row in admin.query_iter(sql).unwrap() {
        let mut values = row.unwrap().unwrap().into_iter();
        let mut bytes = || match values.next() {
            Some(Value::Bytes(bytes)) => bytes,
            other => panic!("{other:?} is no text"),
        };
        let (schema, text, hash) = (bytes(), bytes(), bytes());
        rows.insert(
            String::from_utf8(schema).unwrap(),
            (text, String::from_utf8(hash).unwrap()),
        );
    }
    rows
}

fn compare(proxysql: &ProxySql, options: &DigestOptions, statements: &[Vec<u8>], tally: &mut Tally) {
    let mut admin = proxysql.admin().unwrap();
    let mut client = Client::connect(proxysql.address(), "digests").unwrap();
    rows(&mut admin);
    for statement in statements.chunks(BATCH) {
        for (number, text) in statement.iter().enumerate() {
            client.run_in(&schema(number), text).unwrap_or_else(|error| {
                panic!(
                    "{error} at {:?}\n{}",
                    String::from_utf8_lossy(text),
                    proxysql.log().unwrap()
                )
            });
        }
        let rows = rows(&mut admin);
        for (number, text) in statement.iter().enumerate() {
            let Some((seen, hash)) = rows.get(&schema(number)) else {
                // The engine keeps no statistics of USE, and lines of Rust begin so, too.
                tally.without_a_row += usize::from(classify(text, LexMode::default()) != StatementClass::Use);
                continue;
            };
            let mut ours = Digest::with(text, options);
            if !ours.is_determined {
                tally.undetermined += 1;
                continue;
            }
            tally.compared += 1;
            // The table shows as much as is hashed, unless it keeps each text once.
            if !keeps_texts_once(options) {
                ours.text.truncate(options.max_digest_length);
            }
            if (&ours.text, &format!("0x{:016X}", ours.hash)) != (seen, hash) {
                tally.differences.push(format!(
                    "{:?}\n real {hash} {:?}\n ours 0x{:016X} {:?}",
                    text.escape_ascii().to_string(),
                    seen.escape_ascii().to_string(),
                    ours.hash,
                    ours.text.escape_ascii().to_string()
                ));
            }
        }
    }
}

/// Everything at its default, then every variable at other values.
fn settings() -> Vec<DigestOptions> {
    let usual = DigestOptions::DEFAULT;
    vec![
        usual,
        DigestOptions {
            lowercase: true,
            ..usual
        },
        DigestOptions {
            replace_null: true,
            ..usual
        },
        DigestOptions {
            no_digits: true,
            ..usual
        },
        DigestOptions {
            keep_comment: true,
            ..usual
        },
        DigestOptions {
            grouping_limit: 1,
            groups_grouping_limit: 2,
            ..usual
        },
        DigestOptions {
            grouping_limit: 256,
            groups_grouping_limit: 256,
            ..usual
        },
        DigestOptions {
            grouping_limit: 300,
            groups_grouping_limit: 0,
            ..usual
        },
        DigestOptions {
            max_query_length: 16,
            max_digest_length: 16,
            ..usual
        },
        DigestOptions {
            max_query_length: 100,
            max_digest_length: 20,
            ..usual
        },
        DigestOptions {
            max_query_length: 130,
            grouping_limit: 2,
            groups_grouping_limit: 1,
            ..usual
        },
        DigestOptions {
            max_query_length: 1_048_576,
            max_digest_length: 1_048_576,
            ..usual
        },
        DigestOptions {
            lowercase: true,
            replace_null: true,
            no_digits: true,
            keep_comment: true,
            max_query_length: 300,
            ..usual
        },
    ]
}

#[test]
fn digests_are_those_of_a_real_proxysql() {
    let Some(binary) = real_proxysql("digest texts and hashes compared with the engine's") else {
        return;
    };
    let wanted: usize = std::env::var(LONG).map_or(QUICK, |number| number.parse().unwrap());
    let seed = 12;
    let mut chance = Chance::new(seed);
    let mut total = Tally::default();
    for (number, options) in settings().iter().enumerate() {
        // Half of the statements meet the defaults.
        let share = if number == 0 {
            wanted / 2
        } else {
            wanted / 2 / (settings().len() - 1)
        };
        let proxysql = engine(options, &binary);
        let mut tally = Tally::default();
        if number == 0 {
            let seen = [SIGNS_AND_BLANKS, LITERALS, COMMENTS].concat();
            let seen: Vec<_> = seen
                .iter()
                .map(|(statement, _)| statement.as_bytes().to_vec())
                .collect();
            compare(&proxysql, options, &seen, &mut tally);
            compare(&proxysql, options, &statements_of_this_repository(), &mut tally);
        }
        let mut left = share;
        while left > 0 {
            let batch: Vec<_> = (0..left.min(BATCH)).map(|_| statement(&mut chance)).collect();
            left -= batch.len();
            compare(&proxysql, options, &batch, &mut tally);
            if tally.differences.len() > 20 {
                break;
            }
        }
        println!(
            "{options:?}: {} compared, {} different, {} undetermined, {} without a row",
            tally.compared,
            tally.differences.len(),
            tally.undetermined,
            tally.without_a_row
        );
        assert!(tally.without_a_row * 50 < tally.compared, "{tally:?}");
        total.compared += tally.compared;
        total.undetermined += tally.undetermined;
        total.differences.extend(tally.differences);
    }
    println!(
        "{} compared, {} undetermined, seed {seed}",
        total.compared, total.undetermined
    );
    assert!(total.differences.is_empty(), "{}", total.differences.join("\n"));
}
