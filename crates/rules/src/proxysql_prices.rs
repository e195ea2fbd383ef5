//! What ProxySQL's work on rules costs; `cargo xtask bench proxysql --write-prices` writes this file.

use crate::prices::Prices;

/// ProxySQL 2.7.1, with client, proxy and server on one core.
pub(crate) const PROXYSQL_PRICES: Prices = Prices {
    pcre_evaluation_ns: 46.5,
    re2_evaluation_ns: 157.5,
    visit_ns: 4.5,
    lookup_ns: 40.0,
};
