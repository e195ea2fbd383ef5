//! What is read from logs.

use super::*;

fn lines(text: &str) -> String {
    let format = detect(text.as_bytes());
    let mut lines = vec![format!("{format:?}")];
    let unread = read(text.as_bytes(), format, |record| {
        let or = |text: Option<&str>| text.unwrap_or("-").to_owned();
        lines.push(format!(
            "{} {} {} {}x {}{}",
            or(record.user),
            or(record.schema),
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
    Unread { lines: 2, too_long: 0 }
    ");
    let mariadb = "261121 10:00:00\t     3 Connect\troot@localhost on  using Socket\n\t\t     3 Query\tselect 1\n\
        261121 10:00:01\t     4 Query\tselect 2\n";
    insta::assert_snapshot!(lines(mariadb), @r"
    General
    root - localhost 1x select 1
    - - - 1x select 2
    ");
}

#[test]
fn slow_logs() {
    let mysql = "mysqld, Version: 8.0\n# Time: 2026-11-21T10:00:00.1Z\n# User@Host: app[app] @  [10.0.0.7]  Id:    12\n\
        # Query_time: 1.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 0\nuse shop;\nSET timestamp=1;\nSELECT 1\n# not a head\n;\n\
        # Time: 2026-11-21T10:00:01.1Z\n# User@Host: b[b] @ web1 [] Id: 13\n# Thread_id: 3  Schema: s2  QC_hit: No\n\
        SET timestamp=2;\nDELETE FROM t;\n";
    insta::assert_snapshot!(lines(mysql), @r"
    Slow
    app shop 10.0.0.7 1x SELECT 1\n# not a head
    b s2 web1 1x DELETE FROM t
    Unread { lines: 1, too_long: 0 }
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
