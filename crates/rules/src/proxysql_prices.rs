//! What ProxySQL's work on rules costs; `cargo xtask bench patterns --write-prices` writes this file.

use crate::prices::{PatternPrices, Prices};

/// ProxySQL 2.7.1, with client and proxy on one core. Columns: about 10 and 150 bytes of text, 2 KB, 1 MB.
pub(crate) const PROXYSQL_PRICES: Prices = Prices {
    pcre: PatternPrices([
        [46.5, 46.5, 46.5, 46.5], // complete text
        [46.5, 46.5, 46.5, 46.5], // usual statement
        [46.5, 46.5, 46.5, 46.5], // annotations
        [46.5, 46.5, 46.5, 46.5], // hint in a comment
        [46.5, 46.5, 46.5, 46.5], // key word
        [46.5, 46.5, 46.5, 46.5], // key in a comment
        [46.5, 46.5, 46.5, 46.5], // doubtful key
        [46.5, 46.5, 46.5, 46.5], // second key
        [46.5, 46.5, 46.5, 46.5], // values of a key
        [46.5, 46.5, 46.5, 46.5], // statement with a key column
        [46.5, 46.5, 46.5, 46.5], // logical schema behind a quote
        [46.5, 46.5, 46.5, 46.5], // rewritten schema
        [46.5, 46.5, 46.5, 46.5], // quoted call
        [46.5, 46.5, 46.5, 46.5], // read or setup
        [46.5, 46.5, 46.5, 46.5], // other statement
        [46.5, 46.5, 46.5, 46.5], // first word
        [46.5, 46.5, 46.5, 46.5], // start of the text
        [46.5, 46.5, 46.5, 46.5], // anchored, to the end
        [46.5, 46.5, 46.5, 46.5], // search by a letter
        [46.5, 46.5, 46.5, 46.5], // search at each byte
    ]),
    re2: PatternPrices([
        [157.5, 157.5, 157.5, 157.5], // complete text
        [157.5, 157.5, 157.5, 157.5], // usual statement
        [157.5, 157.5, 157.5, 157.5], // annotations
        [157.5, 157.5, 157.5, 157.5], // hint in a comment
        [157.5, 157.5, 157.5, 157.5], // key word
        [157.5, 157.5, 157.5, 157.5], // key in a comment
        [157.5, 157.5, 157.5, 157.5], // doubtful key
        [157.5, 157.5, 157.5, 157.5], // second key
        [157.5, 157.5, 157.5, 157.5], // values of a key
        [157.5, 157.5, 157.5, 157.5], // statement with a key column
        [157.5, 157.5, 157.5, 157.5], // logical schema behind a quote
        [157.5, 157.5, 157.5, 157.5], // rewritten schema
        [157.5, 157.5, 157.5, 157.5], // quoted call
        [157.5, 157.5, 157.5, 157.5], // read or setup
        [157.5, 157.5, 157.5, 157.5], // other statement
        [157.5, 157.5, 157.5, 157.5], // first word
        [157.5, 157.5, 157.5, 157.5], // start of the text
        [157.5, 157.5, 157.5, 157.5], // anchored, to the end
        [157.5, 157.5, 157.5, 157.5], // search by a letter
        [157.5, 157.5, 157.5, 157.5], // search at each byte
    ]),
    visit_ns: 4.5,
    lookup_ns: 40.0,
};
