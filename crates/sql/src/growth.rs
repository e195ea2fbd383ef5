//! Reading takes work in proportion to a text, whatever is nested in it and whatever is repeated.

use crate::class::Shape;
use crate::columns::{ColumnAnswer, ColumnQuestion, Parameters, catalogue_use, decide, reads_no_rows};
use crate::lex::LexMode;
use crate::rewrite::Edit;
use crate::schema::{TableName, TableQuestion, Unqualified, place, references, table_keys, tables};
use crate::work::counted;
use crate::{InShards, column_names};

const MODE: LexMode = LexMode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    servers: crate::Servers::ANY,
};

/// What begins and ends a construct that a query stands in.
const NESTINGS: [[&str; 2]; 22] = [
    ["WITH x AS (", ") SELECT * FROM x"],
    ["WITH RECURSIVE x AS (", ") SELECT * FROM x"],
    ["WITH x AS (SELECT 1), y AS (", ") SELECT * FROM x, y"],
    ["SELECT * FROM (", ") d"],
    ["SELECT * FROM o JOIN LATERAL (", ") d ON 1 WHERE o.tenant = 7"],
    ["SELECT 1 FROM o WHERE tenant = 7 AND a IN (", ")"],
    ["SELECT 1 FROM o WHERE a IN (", ") AND tenant = 7"],
    ["SELECT 1 FROM o WHERE (a, b) = (", ") OR tenant = 7"],
    ["SELECT 1 FROM o WHERE tenant = 7 AND EXISTS (", ")"],
    ["SELECT 1 FROM o WHERE (((", ") = 1) AND tenant = 7)"],
    ["SELECT (", ") FROM o WHERE tenant = 7"],
    ["SELECT IF((", "), 1, 2) FROM o WHERE tenant = 7"],
    ["SELECT POINT((", "), 1) FROM o WHERE tenant = 7"],
    [
        "SELECT CASE WHEN (",
        ") THEN 1 ELSE 2 END FROM o WHERE tenant = 7",
    ],
    ["SELECT CAST((", ") AS CHAR) FROM o WHERE tenant = 7"],
    ["SELECT 1 FROM o WHERE tenant = 7 GROUP BY a HAVING b = (", ")"],
    ["SELECT 1 FROM o WHERE tenant = 7 ORDER BY (", ")"],
    [
        "SELECT 1 FROM o JOIN p ON o.tenant = p.tenant AND a = (",
        ") WHERE o.tenant = 7",
    ],
    ["SELECT 1 FROM ((", ") d JOIN o ON o.tenant = 7)"],
    [
        "SELECT 1 FROM o LEFT JOIN (p RIGHT JOIN (",
        ") d ON 1) ON 1 WHERE o.tenant = 7",
    ],
    ["(", ") UNION (SELECT 1 FROM o WHERE tenant = 7)"],
    ["SELECT 1 FROM o WHERE tenant = 7 UNION (", ")"],
];

/// Nestings of conditions and calls.
const EXPRESSIONS: [[&str; 2]; 10] = [
    ["(", ")"],
    ["NOT (", ")"],
    ["(a = 1 OR ", ")"],
    ["(tenant = 7 AND ", ")"],
    ["CASE WHEN ", " THEN 1 ELSE 2 END"],
    ["IF(", ", 1, 2)"],
    ["POINT(", ", 1)"],
    ["a IN (1, ", ")"],
    ["tenant IN (7, ", ")"],
    ["tenant = (", ")"],
];

fn nested(depth: usize, outer: [&str; 2], inner: [&str; 2], core: &str) -> String {
    (0..depth).fold(core.to_owned(), |text, level| {
        let [begin, end] = if level % 2 == 0 { inner } else { outer };
        format!("{begin}{text}{end}")
    })
}

fn question(in_shards: InShards) -> ColumnQuestion<'static> {
    ColumnQuestion {
        logical_schema: "shop",
        key_column: "tenant",
        session_schema: Some("shop"),
        in_shards,
        mode: MODE,
        parameters: Parameters::Unknown,
    }
}

/// All that is asked of a statement.
fn read_all(text: &str) {
    let text = text.as_bytes();
    let shape = Shape::of(text, MODE);
    assert!(!shape.unterminated);
    let mut edits = Vec::new();
    for in_shards in [InShards::Present, InShards::Absent] {
        let answer = decide(text, &question(in_shards));
        if let ColumnAnswer::Keys(keys) = answer {
            edits.extend(keys.neutralised);
        }
    }
    reads_no_rows(text, &question(InShards::Present));
    catalogue_use(text, MODE);
    edits.extend(place(text, MODE, "shop", Some("shop"), "s1", Unqualified::Qualify).unwrap_or_default());
    let whole_names = references(text, MODE);
    edits.extend(whole_names.iter().map(|reference| Edit {
        span: reference.span,
        text: b"s1".to_vec(),
    }));
    let _: Result<_, column_names::Unnamed> = column_names::keep(text, MODE, edits);
    let _: Result<_, String> = tables(text, MODE);
    let question = TableQuestion {
        logical_schema: Some("shop"),
        session_schema: Some("shop"),
        mode: MODE,
    };
    table_keys(text, &question, |name| match name.strip_prefix("t_") {
        Some(key) => TableName::Key(key.len()),
        None => TableName::Plain,
    });
}

#[test]
fn nested_queries_are_read_in_proportion() {
    for outer in NESTINGS {
        for inner in NESTINGS {
            for depth in [10, 20, 30] {
                let text = nested(depth, outer, inner, "SELECT 1 FROM o WHERE tenant = 7");
                let work = counted(|| read_all(&text));
                assert!(
                    work <= MOST_OF_A_BYTE * text.len(),
                    "{work} of {}: {text}",
                    text.len()
                );
            }
        }
    }
}

#[test]
fn nested_expressions_are_read_in_proportion() {
    for outer in EXPRESSIONS {
        for inner in EXPRESSIONS {
            for depth in [10, 20, 30, 300] {
                let condition = nested(depth, outer, inner, "tenant = 7");
                for text in [
                    format!("SELECT 1 FROM o WHERE {condition}"),
                    format!("SELECT {condition} FROM o WHERE tenant = 7"),
                    format!("SELECT 1 FROM o WHERE tenant = 7 AND {condition}"),
                ] {
                    let work = counted(|| read_all(&text));
                    assert!(
                        work <= MOST_OF_A_BYTE * text.len(),
                        "{work} of {}: {text}",
                        text.len()
                    );
                }
            }
        }
    }
}

/// Work for a byte of a text, by all readers together.
const MOST_OF_A_BYTE: usize = 100;

/// Texts that repeat a part, which has its number in it.
fn repeated(parts: usize, before: &str, part: &str, between: &str, behind: &str) -> String {
    let parts: Vec<String> = (0..parts)
        .map(|number| part.replace('#', &format!("{number:05}")))
        .collect();
    format!("{before}{}{behind}", parts.join(between))
}

#[test]
fn repeated_parts_are_read_in_proportion() {
    for [before, part, between, behind] in [
        ["SELECT ", "1", ",", " FROM o WHERE tenant=7"],
        ["SELECT ", "shop.o.a# + 1", ",", " FROM shop.o WHERE tenant=7"],
        ["", "SELECT a FROM o WHERE tenant=7", " UNION ", ""],
        ["SELECT 1 FROM o WHERE tenant IN (", "#", ",", ")"],
        ["SELECT 1 FROM o WHERE ", "tenant=7", " AND ", ""],
        ["SELECT 1 FROM o WHERE ", "tenant=#", " OR ", ""],
        ["SELECT 1 FROM o WHERE ", "(tenant=7 AND a=#)", " OR ", ""],
        ["SELECT 1 FROM ", "o a#", ",", " WHERE a00000.tenant=7"],
        ["SELECT 1 FROM o a WHERE ", "a.tenant=#", " OR ", ""],
        [
            "SELECT 1 FROM o x ",
            "JOIN o a# ON x.tenant=a#.tenant",
            " ",
            " WHERE x.tenant=7",
        ],
        [
            "SELECT 1 FROM o x ",
            "RIGHT JOIN o a# USING (tenant)",
            " ",
            " WHERE tenant=7",
        ],
        [
            "SELECT 1 FROM o x ",
            "LEFT JOIN (o a# JOIN o b# ON 1) ON a#.tenant IN (1,2)",
            " ",
            "",
        ],
        [
            "WITH ",
            "x# AS (SELECT 1 FROM o WHERE tenant=7)",
            ",",
            " SELECT 1",
        ],
        [
            "WITH a AS (SELECT 1), b AS (SELECT 2) SELECT 1 FROM ",
            "a x#",
            ",",
            "",
        ],
        ["WITH ", "x# AS (SELECT 1 FROM x#)", ",", " SELECT * FROM x00000"],
        [
            "DELETE ",
            "a#",
            ",",
            " FROM o a00000, o a00001 WHERE a00000.tenant=7",
        ],
        ["INSERT INTO o (tenant,a) VALUES ", "(#,1)", ",", ""],
        [
            "INSERT INTO o (",
            "a#",
            ",",
            ",tenant) SELECT tenant FROM o WHERE tenant=7",
        ],
        ["UPDATE o SET ", "a#=1", ",", " WHERE tenant=7"],
        ["SELECT ", "tenant", ".", " FROM o"],
        ["SELECT ", "tenant IN (", " ", ""],
        ["SELECT ", "POINT(", "", ""],
        ["SELECT ", "JSON_TABLE(", "", ""],
        ["SELECT ", "(SELECT shop.o.a+", "", ""],
        ["SELECT ", "$a", " ", ""],
        ["SELECT ", "/*! 1 */", "", ""],
        ["", "SELECT 1", ";", ""],
        ["SELECT 1 FROM ", "t_#", ",", ""],
        ["SELECT 1 /*", "a", " ", "*/ FROM o"],
    ] {
        let work = |parts| counted(|| read_all(&repeated(parts, before, part, between, behind)));
        let (few, many) = (work(400), work(800));
        assert!(
            2 * many <= 5 * few,
            "{few}, twice as many: {many}: {before}{part}{between}{behind}"
        );
    }
}
