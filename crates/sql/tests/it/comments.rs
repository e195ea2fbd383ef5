//! The comment grammar and ProxySQL's annotations.

use shardwright_sql::{CommentForm, CommentKey, LexMode, comment_keys};

fn values(statement: &str, name: &str, form: CommentForm) -> Vec<String> {
    comment_keys(
        statement.as_bytes(),
        LexMode::default(),
        CommentKey { name, form },
    )
    .map(|(value, _)| String::from_utf8(value.into_owned()).unwrap())
    .collect()
}

#[test]
fn pairs_in_real_comments_only() {
    for (statement, expect) in [
        ("/* tenant=17 */ SELECT 1", vec!["17"]),
        ("SELECT /*tenant=17*/ 1", vec!["17"]),
        ("SELECT 1 /* app=x, TENANT='17';y z */", vec!["17"]),
        ("/* tenant=\"a b\" */ SELECT 1", vec!["a b"]),
        ("/* tenant=17a */ SELECT 1", vec!["17a"]),
        ("/* tenant=17 */ /* tenant=18 */", vec!["17", "18"]),
        ("/* tenant=17 tenant=18 */", vec!["17", "18"]),
        ("/* tenant= */ SELECT 1", vec![""]),
        ("/* tenant='17'a */ SELECT 1", vec!["'17'a"]),
        ("/* tenant='17 */ SELECT 1", vec!["'17"]),
        ("/* tenant==17 */ SELECT 1", vec!["=17"]),
        ("/* xtenant=17 */ SELECT 1", vec![]),
        ("/* x.tenant=17 tenant x=tenant=17 */ SELECT 1", vec![]),
        ("/* x='a tenant=17' */ SELECT 1", vec![]),
        ("/*! tenant=17 */ SELECT 1", vec![]),
        ("/*+ tenant=17 */ SELECT 1", vec![]),
        ("/*M! tenant=17 */ SELECT 1", vec![]),
        ("-- tenant=17\nSELECT 1", vec![]),
        ("# /* tenant=17 */\nSELECT 1", vec![]),
        ("SELECT '/* tenant=17 */'", vec![]),
        ("SELECT \"/* tenant=17 */\"", vec![]),
        ("SELECT `/* tenant=17 */`", vec![]),
        ("SELECT 'it''s /* tenant=17 */'", vec![]),
        ("SELECT 'a\\' /* tenant=17 */'", vec![]),
        ("/* tenant=17", vec![]),
        ("/*! SELECT ' */ /* tenant=17 */ '", vec![]),
    ] {
        assert_eq!(
            values(statement, "tenant", CommentForm::Pairs),
            expect,
            "{statement}"
        );
    }
}

#[test]
fn other_forms() {
    let exact = |statement| values(statement, "", CommentForm::Exact);
    assert_eq!(exact("/* 017 */ SELECT 1 /*x */"), ["017", "x"]);
    assert_eq!(exact("SELECT '/* 017 */'"), Vec::<String>::new());
    let flag = |statement| values(statement, "primary", CommentForm::Flag);
    assert_eq!(flag("/* primary */ SELECT 1"), ["1"]);
    assert_eq!(flag("/* app primary=0 */ SELECT 1"), ["0"]);
    assert_eq!(flag("/* primaryx */ SELECT 1"), Vec::<String>::new());
    let commenter = |statement| values(statement, "tenant", CommentForm::Sqlcommenter);
    assert_eq!(
        commenter("SELECT 1 /*app='x',tenant='a%20b%27\\'%'*/"),
        ["a b''%"]
    );
    assert_eq!(commenter("SELECT 1 /*ten%61nt='7'*/"), ["7"]);
    assert_eq!(
        values("/* primary */", "primary", CommentForm::Pairs),
        Vec::<String>::new()
    );
}
