//! What a session of a row of fast routing pays, by deciding a statement of it: such statements all pass the same rules.

use std::cell::OnceCell;

use shardwright_rules::decide::{Index, RulePatterns, decide};
use shardwright_rules::{Configuration, FastRoute, SessionView, Statement};

/// Rows that are asked about: those of a map differ only where an effect is about some of its schemas.
const MOST_ASKED: usize = 64;
/// A statement without a key: the schema is the session's.
const STATEMENT: &[u8] = b"SELECT 1 FROM t";

/// Evaluations and visits of one statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatementCost {
    pub(super) evaluations: u32,
    pub(super) visits: u32,
}

/// Asks as a session of each of the rows that came from `map`, or of some of many; `user` speaks where a row is for
/// everyone.
pub(super) fn paid(configuration: &Configuration, map: &str, user: &str) -> Vec<StatementCost> {
    let inside = |row: &&FastRoute| {
        let rest = row.address.as_str().strip_prefix(map);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let rows: Vec<&FastRoute> = configuration.graph.fast_routing.iter().filter(inside).collect();
    let patterns: Vec<OnceCell<RulePatterns>> = configuration
        .graph
        .rules
        .iter()
        .map(|_| OnceCell::new())
        .collect();
    let statement = Statement::new(STATEMENT, Default::default());
    let step = rows.len().div_ceil(MOST_ASKED).max(1);
    let asked = rows.into_iter().step_by(step).map(|row| {
        let user = if row.username.is_empty() {
            user
        } else {
            &row.username
        };
        let session = SessionView {
            user,
            schema: Some(&row.schemaname),
            ..SessionView::default()
        };
        let index = RouteIndex {
            configuration,
            patterns: &patterns,
            row,
        };
        let decision = decide(&index, &session, &statement, false);
        StatementCost {
            evaluations: decision.evaluations,
            visits: decision.visits,
        }
    });
    asked.collect()
}

/// Look-ups of one statement; patterns are compiled when they are asked.
struct RouteIndex<'c> {
    configuration: &'c Configuration,
    patterns: &'c [OnceCell<RulePatterns>],
    row: &'c FastRoute,
}

impl Index for RouteIndex<'_> {
    fn configuration(&self) -> &Configuration {
        self.configuration
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        let rule = &self.configuration.graph.rules[position];
        self.patterns[position].get_or_init(|| RulePatterns::of_rule(rule, self.configuration))
    }

    fn fast_route(&self, user: &str, schema: &str, flag: u32) -> Option<&FastRoute> {
        let row = self.row;
        (row.username == user && row.schemaname == schema && row.flag_in == flag).then_some(row)
    }
}
