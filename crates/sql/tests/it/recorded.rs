//! Digests as a ProxySQL 2.7.1 has made them, under its default settings and seven others.

use shardwright_sql::{Digest, DigestOptions};
use shardwright_testkit::{recorded, recorded_bytes};

/// Differences that a failure shows.
const MOST_SHOWN: usize = 20;

/// The settings of the record, by the names that it has for them.
fn settings() -> [(&'static str, DigestOptions); 7] {
    let usual = DigestOptions::DEFAULT;
    [
        (
            "lowercase",
            DigestOptions {
                lowercase: true,
                ..usual
            },
        ),
        (
            "replace_null",
            DigestOptions {
                replace_null: true,
                ..usual
            },
        ),
        (
            "no_digits",
            DigestOptions {
                no_digits: true,
                ..usual
            },
        ),
        (
            "keep_comment",
            DigestOptions {
                keep_comment: true,
                ..usual
            },
        ),
        (
            "grouping_1_2",
            DigestOptions {
                grouping_limit: 1,
                groups_grouping_limit: 2,
                ..usual
            },
        ),
        (
            "short",
            DigestOptions {
                max_query_length: 100,
                max_digest_length: 20,
                ..usual
            },
        ),
        (
            "all",
            DigestOptions {
                lowercase: true,
                replace_null: true,
                no_digits: true,
                keep_comment: true,
                max_query_length: 300,
                ..usual
            },
        ),
    ]
}

#[derive(Default)]
struct Tally {
    compared: usize,
    undetermined: usize,
    differences: Vec<String>,
}

impl Tally {
    /// Compares one digest; `answer` has the engine's text and hash.
    fn compare(&mut self, sql: &[u8], under: &str, options: &DigestOptions, answer: &serde_json::Value) {
        if answer.get("undetermined").is_some() {
            // The engine completes it with bytes of an earlier statement.
            self.undetermined += 1;
            if Digest::with(sql, options).is_determined {
                self.differ(sql, under, "not determined", "determined");
            }
            return;
        }
        let mut ours = Digest::with(sql, options);
        if !ours.is_determined {
            self.undetermined += 1;
            return;
        }
        self.compared += 1;
        // The table shows as much of a text as is hashed.
        ours.text.truncate(options.max_digest_length);
        let text = recorded_bytes(answer, "digest").unwrap();
        let hash = answer["hash"].as_str().unwrap();
        let our_hash = format!("0x{:016X}", ours.hash);
        if (ours.text.as_slice(), our_hash.as_str()) != (text.as_slice(), hash) {
            let engine = format!("{hash} {}", text.escape_ascii());
            self.differ(
                sql,
                under,
                &engine,
                &format!("{our_hash} {}", ours.text.escape_ascii()),
            );
        }
    }

    fn differ(&mut self, sql: &[u8], under: &str, engine: &str, ours: &str) {
        let sql = sql.escape_ascii();
        self.differences.push(format!(
            "{sql}\n  under  {under}\n  engine {engine}\n  ours   {ours}"
        ));
    }
}

#[test]
fn digests_are_those_that_the_engine_made() {
    let settings = settings();
    let mut tally = Tally::default();
    for record in recorded("digests") {
        let sql = recorded_bytes(&record, "sql").unwrap();
        tally.compare(&sql, "default", &DigestOptions::DEFAULT, &record);
        for (name, options) in &settings {
            match record.get("under").map(|under| &under[name]) {
                None | Some(serde_json::Value::Null) => {}
                Some(answer) if answer == "same" => tally.compare(&sql, name, options, &record),
                Some(answer) => tally.compare(&sql, name, options, answer),
            }
        }
    }
    let Tally {
        compared,
        undetermined,
        differences,
    } = tally;
    println!(
        "{compared} digests compared, {} different, {undetermined} not determined",
        differences.len()
    );
    assert!(compared > 200_000, "{compared}");
    let shown = differences.iter().take(MOST_SHOWN).cloned().collect::<Vec<_>>();
    assert!(
        shown.is_empty(),
        "{} differ\n{}",
        differences.len(),
        shown.join("\n")
    );
}
