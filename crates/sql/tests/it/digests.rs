//! Digests that a real ProxySQL 2.7.1 was seen to make.

use shardwright_sql::{Digest, DigestOptions};

/// At default settings, with their hashes.
const HASHES: [(&str, &str, u64); 12] = [
    ("SELECT 1", "SELECT ?", 0x1C46_AE52_9DD5_A40E),
    ("# x\nSELECT 1 ; ", "SELECT ?", 0x1C46_AE52_9DD5_A40E),
    ("select 1", "select ?", 0x1E09_2DAE_FFBB_F262),
    (
        "SELECT   *   FROM t WHERE id = 42 AND name='o''brien'",
        "SELECT * FROM t WHERE id = ? AND name=?",
        0x4D7D_CFF8_7DD1_A927,
    ),
    (
        "SELECT * FROM t1 WHERE a=1",
        "SELECT * FROM t1 WHERE a=?",
        0xB7A9_B1FD_EF77_0976,
    ),
    (
        "SELECT * FROM t WHERE id IN ( 1, 2,3 ,4,5,6,7,8,9 )",
        "SELECT * FROM t WHERE id IN (?,?,?,...)",
        0x0879_5263_00B5_BE2D,
    ),
    (
        "INSERT INTO t VALUES (1,2,3,4,5),(6,7,8,9,10)",
        "INSERT INTO t VALUES (?,?,?,...),(?,?,?,...)",
        0xD33A_1BB1_557B_F325,
    ),
    (
        "SELECT -1, +2, 3-4, a-1, a - 1",
        "SELECT ?,?,?-?,a-?,a ?",
        0xF00F_D270_43D2_CFC4,
    ),
    (
        "SELECT /*!40001 SQL_NO_CACHE */ * FROM t",
        "SELECT SQL_NO_CACHE * FROM t",
        0xC5F8_41A5_A4ED_2846,
    ),
    (
        "SELECT NULL, null, 'a'",
        "SELECT NULL,null,?",
        0xF7A3_027F_E43A_DB25,
    ),
    (
        "SELECT 1 ; SELECT 2",
        "SELECT ? ; SELECT ?",
        0x6AFA_E8AC_C938_FDC9,
    ),
    ("select 1 -- aaaa", "select ? aaaa", 0x8B83_6B02_4369_1358),
];

#[test]
fn hashes_are_those_of_the_engine() {
    for (statement, text, hash) in HASHES {
        let digest = Digest::of(statement.as_bytes());
        assert_eq!(String::from_utf8_lossy(&digest.text), text, "{statement}");
        assert_eq!(digest.hash, hash, "{statement}");
    }
}

fn check(options: &DigestOptions, rows: &[(&str, &str)]) {
    for &(statement, text) in rows {
        let digest = Digest::with(statement.as_bytes(), options);
        assert_eq!(
            digest.text.escape_ascii().to_string(),
            text.as_bytes().escape_ascii().to_string(),
            "{statement:?}"
        );
        assert!(digest.is_determined, "{statement:?}");
    }
}

pub(super) const SIGNS_AND_BLANKS: &[(&str, &str)] = &[
    ("SELECT a - b FROM t", "SELECT a  b FROM t"),
    ("SELECT -b FROM t", "SELECT b FROM t"),
    ("SELECT a FROM t ORDER BY - a", "SELECT a FROM t ORDER BY  a"),
    ("SELECT 1 - 1, 1 + 1, a * 2, b / 2", "SELECT ?-?,?+?,a *?,b /?"),
    (
        "SELECT COUNT(*) - 1, VALUES(a) + 1",
        "SELECT COUNT(*) -?,VALUES(a) +?",
    ),
    ("SELECT 'a' - 1, (a) - 1", "SELECT ?-?,(a) -?"),
    ("SELECT +17, +'x' ", "SELECT ?,?"),
    ("SELECT a=+17, b", "SELECT a=?,b"),
    ("SELECT (  a , b  )", "SELECT (a,b)"),
    ("a( - b", "a( b"),
    ("a, - b", "a, b"),
    ("a -)", "a )"),
    ("SELECT\u{b}a\u{c}FROM t", "SELECT\u{b}a\u{c}FROM t"),
    ("  SELECT \t\r\n1 ; ;", "SELECT ?"),
    (";", ";"),
    ("", ""),
];

#[test]
fn signs_and_blanks() {
    check(&DigestOptions::DEFAULT, SIGNS_AND_BLANKS);
}

pub(super) const LITERALS: &[(&str, &str)] = &[
    ("SELECT .5, 1., 1e5, 1e-5, 0x1F", "SELECT .?,?,?,?,?"),
    ("SELECT 0xZ, 1.", "SELECT 0xZ,?."),
    ("SELECT 1a", "SELECT ?"),
    ("SELECT 1a, 2", "SELECT 1a,?"),
    ("SELECT t1.x2", "SELECT t1.x2"),
    ("SELECT é1", "SELECT é?"),
    ("SELECT 'it''s', 'a\\'b', \"q\"", "SELECT ?,?,?"),
    ("SELECT 'never closed", "SELECT"),
    ("SELECT `a 1 'x'`", "SELECT `a ? ?`"),
    ("SELECT a\0b; ", "SELECT a"),
    ("VALUES ('4F',?,'é',0,'x')", "VALUES (?,?,?,...)"),
    ("VALUES (1,2,3,4), (1,2,3,4,5)", "VALUES (?,?,?,?),(?,?,?,...)"),
    ("VALUES (1,2,3,4,a)", "VALUES (?,?,?,...)"),
    ("VALUES (1,2,3,4,a,b)", "VALUES (?,?,?,?,a,b)"),
];

#[test]
fn literals() {
    check(&DigestOptions::DEFAULT, LITERALS);
}

pub(super) const COMMENTS: &[(&str, &str)] = &[
    ("/* c */ SELECT 1 /* c */;", "SELECT ?"),
    ("SELECT a FROM t -- x", "SELECT a FROM t"),
    ("SELECT a FROM t # comment", "SELECT a FROM t"),
    ("SELECT a--\nFROM t\nWHERE b", "SELECT aWHERE b"),
    ("SELECT a#c\nFROM t", "SELECT aFROM t"),
    ("SELECT a FROM t FOR UPDATE -- c", "SELECT a FROM t FOR UPDATE"),
    ("-- xy z", "xy z"),
    ("SELECT 1 #ab", "SELECT ? ab"),
    ("SELECT 1 /* open", "SELECT ?"),
    ("/*a", "a"),
    ("SELECT */*/ 1", "SELECT *?"),
    ("SELECT /*! 'x'\ta  b*/ FROM t", "SELECT 'x'\ta  b FROM t"),
    ("SELECT /*!40001 /* x */ 1", "SELECT x ?"),
    ("SELECT /* a /* b */ 1", "SELECT ?"),
];

#[test]
fn comments() {
    check(&DigestOptions::DEFAULT, COMMENTS);
}

#[test]
fn many_lists() {
    let rows = |n: usize| vec!["(1,2,3,4,5)"; n].join(", ");
    let ten = ["(?,?,?,...)"; 10].join(",");
    for (many, digest) in [
        (10, ten.clone()),
        (11, format!("{ten},...")),
        (400, format!("{ten},...")),
    ] {
        check(
            &DigestOptions::DEFAULT,
            &[(
                &format!("INSERT INTO t VALUES {}", rows(many)),
                &format!("INSERT INTO t VALUES {digest}"),
            )],
        );
    }
}

#[test]
fn settings() {
    let usual = DigestOptions::DEFAULT;
    let text = "SELECT A1, t12b3, 12ab , NULL, 5 /* C1 */ FROM T WHERE a IN (1,2,3,4,5)";
    for (options, digest) in [
        (
            DigestOptions {
                lowercase: true,
                ..usual
            },
            "select a1,t12b3,12ab,null,? from t where a in (?,?,?,...)",
        ),
        (
            DigestOptions {
                replace_null: true,
                ..usual
            },
            "SELECT A1,t12b3,12ab,?,? FROM T WHERE a IN (?,?,?,...)",
        ),
        (
            DigestOptions {
                no_digits: true,
                ..usual
            },
            "SELECT A?,t?b?,?ab,NULL,? FROM T WHERE a IN (?,?,?,...)",
        ),
        (
            DigestOptions {
                keep_comment: true,
                ..usual
            },
            "SELECT A1,t12b3,12ab,NULL,?/* C1 */ FROM T WHERE a IN (?,?,?,...)",
        ),
        (
            DigestOptions {
                grouping_limit: 1,
                ..usual
            },
            "SELECT A1,t12b3,12ab,NULL,? FROM T WHERE a IN (?,...)",
        ),
        // The engine reads one byte of the limit: 256 is 0, and 0 shortens nothing.
        (
            DigestOptions {
                grouping_limit: 256,
                ..usual
            },
            "SELECT A1,t12b3,12ab,NULL,? FROM T WHERE a IN (?,?,?,?,?)",
        ),
        (
            DigestOptions {
                max_query_length: 16,
                ..usual
            },
            "SELECT A1,t12b3,",
        ),
    ] {
        check(&options, &[(text, digest)]);
    }
    let cut = DigestOptions {
        max_digest_length: 16,
        ..usual
    };
    assert_eq!(
        Digest::with(b"SELECT a FROM t1", &cut).hash,
        Digest::with(b"SELECT a FROM t12", &cut).hash
    );
}

#[test]
fn bytes_of_earlier_statements() {
    for statement in ["SELECT a#c\n FROM t", "SELECT a-- c\n FROM t"] {
        assert!(!Digest::of(statement.as_bytes()).is_determined, "{statement:?}");
    }
}
