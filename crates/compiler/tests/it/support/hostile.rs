//! Statements that are hard to read.

use proptest::prelude::*;

/// Pieces that fit together in ways that tell readers of statements apart.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let pieces = vec![
        "tenant=1",
        "tenant=2",
        "tenant=17",
        "tenant='2'",
        "TENANT=02",
        "xtenant=1",
        "tenant=1a",
        "tenant",
        "=",
        " ",
        " ",
        ",",
        ";",
        "/* ",
        " */",
        "/*",
        "*/",
        "*",
        "/",
        "-- ",
        "--",
        "#",
        "\n",
        "'",
        "\"",
        "`",
        "!",
        "+",
        "M!",
        "a='x'",
        "SELECT 1 FROM t ",
        "BEGIN",
        "SET a=1",
        "COMMIT",
        "hostgroup=1",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}
