//! The source file that holds the prices of the ProxySQL profiles.

use std::fmt::Write;

use shardwright_rules::{PatternKind, PatternPrices, Prices, RegexEngine};

/// Where the prices of the ProxySQL profiles stand, from the root of the repository.
pub const FILE: &str = "crates/rules/src/proxysql_prices.rs";

/// `prices` with what was measured in place of what stood there; the other library's prices and that of a look-up stay.
#[must_use]
pub fn refreshed(prices: Prices, regex: RegexEngine, patterns: PatternPrices, visit_ns: f64) -> Prices {
    let mut prices = Prices { visit_ns, ..prices };
    match regex {
        RegexEngine::Pcre => prices.pcre = patterns,
        RegexEngine::Re2 => prices.re2 = patterns,
    }
    prices
}

/// The text of [`FILE`]: prices to a tenth of a nanosecond, and one line on where they are from.
#[must_use]
pub fn file(prices: Prices, source: &str) -> String {
    let source: String = source.chars().filter(|c| !c.is_control()).collect();
    let mut out = format!(
        "//! What ProxySQL's work on rules costs; `cargo xtask bench patterns --write-prices` writes this file.\n\n\
         use crate::prices::{{PatternPrices, Prices}};\n\n\
         /// {source} Columns: about 10 and 150 bytes of text, 2 KB, 1 MB.\n\
         pub(crate) const PROXYSQL_PRICES: Prices = Prices {{\n"
    );
    for (field, patterns) in [("pcre", &prices.pcre), ("re2", &prices.re2)] {
        let mut line = format!("    {field}: PatternPrices([\n");
        let rows = patterns.0;
        let rows =
            rows.map(|[short, usual, long, huge]| format!("[{short:.1}, {usual:.1}, {long:.1}, {huge:.1}],"));
        // Comments stand below each other, as rustfmt puts them.
        let width = rows.iter().map(String::len).max().unwrap_or(0);
        for (kind, row) in PatternKind::ALL.iter().zip(rows) {
            line.push_str(&format!("        {row:width$} // {}\n", kind.name()));
        }
        line.push_str("    ]),\n");
        out.push_str(&line);
    }
    // Writing to a text does not fail.
    let _written = write!(
        out,
        "    visit_ns: {:.1},\n    lookup_ns: {:.1},\n}};\n",
        prices.visit_ns, prices.lookup_ns
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwright_rules::{EngineId, TextLength};

    const CURRENT: &str = include_str!("../../../rules/src/proxysql_prices.rs");

    #[test]
    fn the_file_that_is_written_is_the_one_that_is_built() {
        let prices = EngineId::Proxysql27.profile().prices;
        let source = CURRENT
            .lines()
            .find_map(|line| line.strip_prefix("/// "))
            .and_then(|line| line.strip_suffix(" Columns: about 10 and 150 bytes of text, 2 KB, 1 MB."))
            .unwrap();
        assert_eq!(file(prices, source), CURRENT);
        assert_eq!(EngineId::Proxysql30.profile().prices, prices);
    }

    #[test]
    fn only_what_was_measured_is_replaced() {
        let mut measured = PatternPrices::alike(51.26);
        measured.0[PatternKind::Select as usize] = [1.0, 1_000.04, 3.0, 4.0];
        let prices = EngineId::Proxysql27.profile().prices;
        let pcre = refreshed(prices, RegexEngine::Pcre, measured, 3.94);
        assert_eq!((pcre.pcre, pcre.re2), (measured, prices.re2));
        assert_eq!((pcre.visit_ns, pcre.lookup_ns), (3.94, prices.lookup_ns));
        assert_eq!(pcre.pcre.ns(PatternKind::Select, TextLength::Usual), 1_000.04);
        let re2 = refreshed(prices, RegexEngine::Re2, measured, 3.94);
        assert_eq!((re2.pcre, re2.re2), (prices.pcre, measured));
        let text = file(pcre, "ProxySQL 2.7.3\nconst X");
        assert!(
            text.contains("        [1.0, 1000.0, 3.0, 4.0],  // read or setup\n"),
            "{text}"
        );
        assert!(text.contains("\n/// ProxySQL 2.7.3const X Columns"), "{text}");
    }
}
