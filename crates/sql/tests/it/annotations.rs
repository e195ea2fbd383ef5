//! Which comments ProxySQL 2.7.1 reads annotations from, and what it reads: every row was seen there.

use shardwright_sql::annotation::{annotations_in, first_comment};

/// What the engine takes for `hostgroup=`, and whether what follows cannot be known.
fn hostgroup(statement: &str) -> (Option<i32>, bool) {
    let Some(comment) = first_comment(statement.as_bytes()) else {
        return (None, false);
    };
    let asked = annotations_in(&comment.text).filter(|annotation| annotation.is("hostgroup"));
    (
        asked.filter_map(|annotation| annotation.number()).last(),
        comment.is_open,
    )
}

#[test]
fn annotations_are_read_as_proxysql_reads_them() {
    for (statement, expect) in [
        ("SELECT 1 /* hostgroup=3 */", Some(3)),
        ("/*+ ;hostgroup=3 */ SELECT 1", Some(3)),
        ("/* cache_ttl=1; HostGroup = 5abc */ SELECT 1", Some(5)),
        ("/*+ hostgroup=3 */ SELECT 1", None),
        ("/* app */ /* hostgroup=3 */ SELECT 1", None),
        ("/* hostgroup=x3 */ SELECT 1", None),
        // Executable comments, without their mark; the digits of a version are part of the key.
        ("SELECT 1 /*! hostgroup=6 */", Some(6)),
        ("SELECT 1 /*!50000 hostgroup=6 */", None),
        ("SELECT 1 /*!50000 ;hostgroup=6 */", Some(6)),
        // An opener in a comment is dropped, behind `/*!` with the byte that follows.
        ("SELECT 1 /* /* hostgroup=2 */", Some(2)),
        ("SELECT 1 /* a; /* hostgroup=2 */", Some(2)),
        ("SELECT 1 /*! /*xhostgroup=2 */", Some(2)),
        ("SELECT 1 /*! /*hostgroup=2 */", None),
        ("SELECT 1 /*/ hostgroup=2 */", None),
        ("SELECT 1 /*/;hostgroup=2 */", Some(2)),
        ("SELECT 2*/*/ /* hostgroup=2 */", None),
        // Pieces between `;` and `=` that are empty do not count.
        ("SELECT 1 /* ;; =hostgroup==2=3; */", None),
        ("SELECT 1 /*;;=hostgroup==2=3; */", Some(2)),
        ("SELECT 1 /* hostgroup= =3 */", None),
        ("SELECT 1 /*\x0bhostgroup\x0c=\x0b2*/", Some(2)),
        // Numbers are read by atoi into 32 bits.
        ("SELECT 1 /* hostgroup=4294967298 */", Some(2)),
        ("SELECT 1 /* hostgroup=4294967295 */", Some(-1)),
        ("SELECT 1 /* hostgroup=99999999999999999999 */", Some(-1)),
        // The comment's text ends at a NUL byte; that of the statement does not.
        ("SELECT 1 /* hostgroup=2\0;hostgroup=3 */", Some(2)),
        ("SELECT 1 /*\0hostgroup=3 */", None),
        ("SELECT '\0' /* hostgroup=2 */", Some(2)),
        // Quotes, line comments and numbers of the tokenizer.
        ("SELECT '/* hostgroup=3 */'", None),
        ("SELECT \"/* hostgroup=3 */\"", None),
        ("SELECT `/* hostgroup=3 */`", Some(3)),
        ("SELECT 'a\\' /* hostgroup=3 */", None),
        ("SELECT 'a''' /* hostgroup=3 */", Some(3)),
        ("# hostgroup=3\nSELECT 1", None),
        ("SELECT 1 # /* hostgroup=3 */", None),
        ("SELECT 1 # x\n/* hostgroup=3 */", Some(3)),
        ("SELECT 1 -- /* hostgroup=3 */", None),
        ("SELECT 1 --\x0b/* hostgroup=3 */", Some(3)),
        ("SELECT 1 --/* hostgroup=3 */", Some(3)),
        ("SELECT 1e-- /* hostgroup=3 */", Some(3)),
        ("SELECT e-- /* hostgroup=3 */", None),
    ] {
        assert_eq!(hostgroup(statement), (expect, false), "{statement:?}");
    }
    assert_eq!(first_comment(b"SELECT 1"), None);
}

#[test]
fn a_comment_without_an_end_is_read_into_what_is_behind_it() {
    assert_eq!(hostgroup("SELECT 1 /* hostgroup=2; "), (Some(2), true));
    assert_eq!(hostgroup("SELECT 1 /*/;"), (None, true));
    assert_eq!(hostgroup("SELECT 1 /* hostgroup=2\0"), (Some(2), false));
    for too_short in ["/*", "SELECT 1 /*x", "SELECT 1 /*!x"] {
        assert_eq!(first_comment(too_short.as_bytes()), None, "{too_short}");
    }
}

#[test]
fn long_comments_and_far_ones_are_not_kept_whole() {
    let length = |body: usize| {
        let statement = format!("/*{}*/", "x".repeat(body));
        first_comment(statement.as_bytes()).map(|comment| (comment.text.len(), comment.is_open))
    };
    assert_eq!(length(1021), Some((1021, false)));
    assert_eq!(length(1022), Some((1021, false)));
    assert_eq!(length(2000), Some((1021, false)));
    let open = format!("/*{}", "x".repeat(1023));
    assert_eq!(
        first_comment(open.as_bytes()).map(|comment| comment.is_open),
        Some(false)
    );
    let at = |offset: usize| {
        let statement = format!("{}/* hostgroup=2 */", "x".repeat(offset));
        first_comment(statement.as_bytes()).is_some()
    };
    assert!(at(64_998));
    assert!(!at(64_999));
}
