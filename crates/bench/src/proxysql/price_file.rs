//! The source file that holds the prices of the ProxySQL profiles.

use shardwright_rules::{Prices, RegexEngine};

use super::prices::Fitted;

/// Where the prices of the ProxySQL profiles stand, from the root of the repository.
pub const FILE: &str = "crates/rules/src/proxysql_prices.rs";

/// `prices` with what was measured in place of what stood there; the other library's price and that of a look-up stay.
#[must_use]
pub fn refreshed(prices: Prices, regex: RegexEngine, fitted: Fitted) -> Prices {
    let mut prices = Prices {
        visit_ns: fitted.visit_ns,
        ..prices
    };
    match regex {
        RegexEngine::Pcre => prices.pcre_evaluation_ns = fitted.evaluation_ns,
        RegexEngine::Re2 => prices.re2_evaluation_ns = fitted.evaluation_ns,
    }
    prices
}

/// The text of [`FILE`]: prices to a tenth of a nanosecond, and one line on where they are from.
#[must_use]
pub fn file(prices: Prices, source: &str) -> String {
    let source: String = source.chars().filter(|c| !c.is_control()).collect();
    let Prices {
        pcre_evaluation_ns,
        re2_evaluation_ns,
        visit_ns,
        lookup_ns,
    } = prices;
    format!(
        "//! What ProxySQL's work on rules costs; `cargo xtask bench proxysql --write-prices` writes this file.\n\n\
         use crate::prices::Prices;\n\n\
         /// {source}\n\
         pub(crate) const PROXYSQL_PRICES: Prices = Prices {{\n    \
         pcre_evaluation_ns: {pcre_evaluation_ns:.1},\n    re2_evaluation_ns: {re2_evaluation_ns:.1},\n    \
         visit_ns: {visit_ns:.1},\n    lookup_ns: {lookup_ns:.1},\n}};\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwright_rules::EngineId;

    const CURRENT: &str = include_str!("../../../rules/src/proxysql_prices.rs");

    #[test]
    fn the_file_that_is_written_is_the_one_that_is_built() {
        let prices = EngineId::Proxysql27.profile().prices;
        let source = CURRENT
            .lines()
            .find_map(|line| line.strip_prefix("/// "))
            .unwrap();
        assert_eq!(file(prices, source), CURRENT);
        assert_eq!(EngineId::Proxysql30.profile().prices, prices);
    }

    #[test]
    fn only_what_was_measured_is_replaced() {
        let fitted = Fitted {
            evaluation_ns: 51.26,
            visit_ns: 3.94,
            worst_error: 0.01,
        };
        let prices = EngineId::Proxysql27.profile().prices;
        let pcre = refreshed(prices, RegexEngine::Pcre, fitted);
        assert_eq!(
            pcre,
            Prices {
                pcre_evaluation_ns: 51.26,
                visit_ns: 3.94,
                ..prices
            }
        );
        let re2 = refreshed(prices, RegexEngine::Re2, fitted);
        assert_eq!(
            (re2.pcre_evaluation_ns, re2.re2_evaluation_ns),
            (prices.pcre_evaluation_ns, 51.26)
        );
        let text = file(pcre, "ProxySQL 2.7.3\nconst X");
        assert!(text.contains("pcre_evaluation_ns: 51.3,\n"), "{text}");
        assert!(text.contains("\n/// ProxySQL 2.7.3const X\n"), "{text}");
    }
}
