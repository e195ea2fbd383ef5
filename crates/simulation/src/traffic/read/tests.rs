//! What is read from logs.

use std::collections::BTreeMap;

use super::*;

fn lines(text: &str) -> String {
    let format = detect(text.as_bytes());
    let mut lines = vec![format!("{format:?}")];
    let unread = read(text.as_bytes(), format, |record| {
        let or = |text: Option<&str>| text.unwrap_or("-").to_owned();
        lines.push(format!(
            "{} {} {} {}x {}{}",
            or(record.user),
            shown(record.schema),
            or(record.client),
            record.count,
            String::from_utf8_lossy(record.text).replace('\n', "\\n"),
            match record.kind {
                Recorded::Statement => "",
                Recorded::Execution => " (execution)",
                Recorded::Digest(_) => " (digest)",
            }
        ));
    })
    .unwrap();
    if unread != Unread::default() {
        lines.push(format!("{unread:?}"));
    }
    lines.join("\n")
}

fn shown(schema: Schema<'_>) -> String {
    match schema {
        Schema::NotRecorded => "-".to_owned(),
        Schema::Unknown => "?".to_owned(),
        Schema::NoSchema => "none".to_owned(),
        Schema::Is(name) => name.to_owned(),
        Schema::OrNone(name) => format!("{name}|none"),
    }
}

/// Logs of real servers, and what the clients know of the statements that they sent: each has its number in a comment. Three
/// sessions take turns, change users and schemas, prepare, call a procedure, fail, and somebody flushes the logs.
const RECORDED: [(&str, &str, &str, &str); 2] = [
    (
        "MariaDB 10.11",
        include_str!("recorded/mariadb-10.11.sent.tsv"),
        include_str!("recorded/mariadb-10.11.general.log"),
        include_str!("recorded/mariadb-10.11.slow.log"),
    ),
    (
        "MySQL 9.7",
        include_str!("recorded/mysql-9.7.sent.tsv"),
        include_str!("recorded/mysql-9.7.general.log"),
        include_str!("recorded/mysql-9.7.slow.log"),
    ),
];

/// A statement as its client knows it: user, schema, kind, text.
type Sent<'t> = (&'t str, &'t str, &'t str, String);

fn sent(text: &str) -> Vec<(u32, Sent<'_>)> {
    text.lines()
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [number, user, schema, kind, text] = cells[..] else {
                panic!("{line}");
            };
            let text = text.replace("\\n", "\n");
            let text = text.trim_end_matches(';').to_owned();
            (number.parse().unwrap(), (user, schema, kind, text))
        })
        .collect()
}

/// The records by the number in their comment, and those without one that no connection sends on its own.
fn numbered(log: &str, format: Format) -> (BTreeMap<u32, String>, Vec<String>) {
    assert_eq!(detect(log.as_bytes()), format);
    let (mut numbered, mut others) = (BTreeMap::new(), Vec::new());
    let unread = read(log.as_bytes(), format, |record| {
        let text = String::from_utf8_lossy(record.text).into_owned();
        let number = text
            .split("/* ")
            .filter_map(|rest| rest.split(" */").next()?.parse().ok())
            .next();
        let kind = match record.kind {
            Recorded::Statement => "statement",
            Recorded::Execution => "execution",
            Recorded::Digest(_) => "digest",
        };
        let schema = shown(record.schema);
        let line = format!("{}\t{schema}\t{kind}\t{text}", record.user.unwrap_or("-"));
        match number {
            Some(number) => assert_eq!(numbered.insert(number, line), None),
            None => others.push(line),
        }
    })
    .unwrap();
    assert_eq!(unread, Unread::default());
    others.retain(|line| !line.contains("\tSET NAMES ") && !line.contains("\tSET @@session.autocommit"));
    (numbered, others)
}

#[test]
fn general_logs_of_servers_tell_what_was_sent() {
    for (server, clients, general, _) in RECORDED {
        let (records, others) = numbered(general, Format::General);
        for (number, (user, schema, kind, text)) in sent(clients) {
            let Some(record) = records.get(&number) else {
                // MySQL writes a statement once it has read it, and not what is prepared as a text.
                let is_unwritten = text.starts_with("SELEC ") || text.starts_with("PREPARE ");
                assert!(
                    server.starts_with("MySQL") && is_unwritten,
                    "{server}: {text} is missing"
                );
                continue;
            };
            // The log has what came before the statement, and not whether a USE succeeds.
            let before = match number {
                _ if schema.is_empty() && text.starts_with("DROP ") => "arch",
                _ if schema.is_empty() => "none",
                _ => schema,
            };
            let after_failed_use = record.starts_with(&format!("{user}\tnosuch\t"));
            let after_drop = record.starts_with(&format!("{user}\tarch|none\t"));
            let is_use = text.to_ascii_lowercase().contains("use ");
            let expected = format!("{user}\t{before}\t{kind}\t");
            assert!(
                record.starts_with(&expected) || after_failed_use || after_drop || is_use,
                "{server}: {record:?} is no record of {expected:?} {text:?}"
            );
            assert!(
                record.ends_with(&text) || text.contains("; "),
                "{server}: {record} is not {text}"
            );
        }
        // What EXECUTE as a text runs is written beside it, and was not sent.
        assert!(
            !others.iter().any(|line| line.contains("inner")),
            "{server}: {others:?}"
        );
        assert!(
            others.contains(&"rep\tnone\tstatement\tFLUSH PRIVILEGES".to_owned()),
            "{server}: {others:?}"
        );
    }
}

#[test]
fn slow_logs_of_servers_tell_no_schema_that_is_wrong() {
    for (server, clients, _, slow) in RECORDED {
        let (records, others) = numbered(slow, Format::Slow);
        let mut exact = 0_usize;
        for (number, (user, schema, _, text)) in sent(clients) {
            let Some(record) = records.get(&number) else {
                // Executions are written as what they run; MySQL leaves out what it cannot read, and what is prepared as a text.
                let is_unwritten = ["SELEC ", "PREPARE ", "EXECUTE "]
                    .iter()
                    .any(|verb| text.starts_with(verb));
                assert!(is_unwritten, "{server}: {text} is missing");
                continue;
            };
            let mut cells = record.split('\t');
            assert_eq!(cells.next(), Some(user), "{server}: {record}");
            let told = cells.next().unwrap();
            let schema = if schema.is_empty() { "none" } else { schema };
            exact += usize::from(told == schema);
            assert!(
                told.split('|').any(|name| name == schema),
                "{server}: {record:?} was in {schema}"
            );
        }
        // MariaDB writes the schema of each statement, MySQL only where it changes.
        let expected = if server.starts_with("MariaDB") {
            records.len()
        } else {
            7
        };
        assert!(
            exact >= expected,
            "{server}: {exact} schemas of {} are known",
            records.len()
        );
        // A procedure ran these, and no client sent them; commands of the protocol are no statements.
        let foreign = ["v = 77", "select 78", "select 79", "administrator command"];
        let found = others
            .iter()
            .find(|line| foreign.iter().any(|text| line.contains(text)));
        assert_eq!(found, None, "{server}");
    }
}

#[test]
fn exports_of_digests() {
    let header = "hostgroup,schemaname,username,client_address,digest,digest_text,count_star,first_seen";
    let comma = format!(
        "{header}\n1,shop,app,,0x1C46AE529DD5A40E,\"SELECT \"\"a\"\",?\",12,0\n1,shop,app,,x,,12,0\n"
    );
    insta::assert_snapshot!(lines(&comma), @r#"
    Digests
    app shop - 12x SELECT "a",? (digest)
    Unread { lines: 1, too_long: 0 }
    "#);
    let tab = "digest_text\tcount_star\tusername\nSELECT \"x\\n\\t\\\\\"\t3\tapp\n";
    insta::assert_snapshot!(lines(tab), @r#"
    Digests
    app - - 3x SELECT "x\n	\" (digest)
    "#);
    let dump = "BEGIN; INSERT INTO stats_mysql_query_digest VALUES(1,'shop','app','','0x12','SELECT ''?'' \\',7,0),\
                (1,'s','b','','0x1','x',1);\nINSERT INTO stats_mysql_query_digest (count_star, digest_text) VALUES (2, 'y');";
    insta::assert_snapshot!(lines(dump), @r"
    DigestDump
    app shop - 7x SELECT '?' \ (digest)
    b s - 1x x (digest)
    - - - 2x y (digest)
    ");
    let error = read(&b"digest_text,other\nx,1\n"[..], Format::Digests, |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "the export has no column count_star");
}

#[test]
fn general_logs() {
    let mysql = "/usr/sbin/mysqld, Version: 8.0.36. started with:\nTime                 Id Command    Argument\n\
        2026-11-21T10:00:00.123456Z\t   12 Connect\tapp@10.0.0.7 on shop using TCP/IP\n\
        2026-11-21T10:00:00.123456Z\t   12 Query\tSELECT *\n  FROM t;\n\
        2026-11-21T10:00:00.123456Z\t   12 Init DB\tother\n\
        2026-11-21T10:00:00.123456Z\t   12 Prepare\tSELECT ?\n\
        2026-11-21T10:00:00.123456Z\t   12 Execute\tSELECT 1\n\
        2026-11-21T10:00:00.123456Z\t   12 Execute\tSELECT 1, 2\n\
        2026-11-21T10:00:00.123456Z\t   12 Quit\t\n";
    insta::assert_snapshot!(lines(mysql), @r"
    General
    app shop 10.0.0.7 1x SELECT *\n  FROM t
    app other 10.0.0.7 1x SELECT ? (execution)
    app other 10.0.0.7 1x SELECT 1, 2 (digest)
    ");
    let mariadb = "261121 10:00:00\t     3 Connect\troot@localhost on  using Socket\n\t\t     3 Query\tselect 1\n\
        261121 10:00:01\t     4 Query\tselect 2\n";
    insta::assert_snapshot!(lines(mariadb), @r"
    General
    root none localhost 1x select 1
    - ? - 1x select 2
    ");
}

#[test]
fn slow_logs() {
    let head = "# Time: 2026-11-21T10:00:00.1Z\n# User@Host: app[app] @  [10.0.0.7]  Id:    12\n\
        # Query_time: 1.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 0\n";
    let server = "mysqld, Version: 8.0.36 (x). started with:\nTcp port: 3306  Unix socket: /run/s\nTime  Id Command    Argument\n";
    // A file that begins in the middle; a session without `use` is in the last schema that was written, or in none.
    let mysql = format!(
        "{head}SET timestamp=1;\nSELECT 1;\n{head}use shop;\nSET timestamp=1;\nSELECT 2\n# not a head\n;\n\
         {head}SET timestamp=1;\nuse arch;\n{head}SET last_insert_id=4,timestamp=1;\n# Time: it is\nSELECT 3;\n\
         {server}{head}SET timestamp=1;\nSELECT 4;\n{head}SET timestamp=1;\n# administrator command: Ping;\n\
         {head}SET timestamp=1;\nSELECT 5"
    );
    insta::assert_snapshot!(lines(&mysql), @r"
    Slow
    app ? 10.0.0.7 1x SELECT 1
    app shop 10.0.0.7 1x SELECT 2\n# not a head
    app shop|none 10.0.0.7 1x use arch
    app shop|none 10.0.0.7 1x # Time: it is\nSELECT 3
    app none 10.0.0.7 1x SELECT 4
    Unread { lines: 1, too_long: 0 }
    ");
    let schemas = "# User@Host: b[b] @ web1 [] Id: 13\n# Thread_id: 3  Schema: s2  QC_hit: No\nuse `s2`;\nSET timestamp=2;\nDELETE FROM t;\n\
        # User@Host: b[b] @ web1 []\n# Thread_id: 3  Schema:   QC_hit: No\nSET timestamp=2;\nSELECT 1;\n\
        # User@Host: b[b] @ web1 []\n# Thread_id: 3  Schema: my db  QC_hit: No\n# Stored_routine: my db.p\nSET timestamp=2;\nSELECT 2;\n\
        # User@Host: b[b] @ web1 []  Id: 4\n# Schema: my db  Last_errno: 0  Killed: 0\nSET timestamp=2;\nSELECT 3;\n";
    insta::assert_snapshot!(lines(schemas), @r"
    Slow
    b s2 web1 1x DELETE FROM t
    b none web1 1x SELECT 1
    b my db web1 1x SELECT 3
    ");
}

#[test]
fn lists_of_statements() {
    insta::assert_snapshot!(lines("SELECT 1;\n\n/* tenant=1 */ SELECT 2\r\n"), @r"
    Queries
    - - - 1x SELECT 1
    - - - 1x /* tenant=1 */ SELECT 2
    ");
    assert_eq!(detect(b""), Format::Queries);
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), head in 0..4_usize) {
        let heads: [&[u8]; 4] =
            [b"", b"digest_text,count_star\n", b"# User@Host: ", b"INSERT INTO stats_mysql_query_digest VALUES ("];
        let text = [heads[head], &bytes].concat();
        let mut records = 0_u64;
        if read(&text[..], detect(&text), |record| records += u64::from(!record.text.is_empty())).is_err() {
            assert!(head == 1 || records == 0);
        }
    }
}
