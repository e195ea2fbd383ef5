//! `next_query_flagIN: 0` where no session is ever at another flag: it changes nothing, like NULL.

use std::borrow::Cow;

use shardwright_rules::{Body, Configuration, EngineRule};

/// Both configurations, without the column where neither ever sets another flag than 0.
pub(super) fn without_idle<'c>(both: [&'c Configuration; 2]) -> [Cow<'c, Configuration>; 2] {
    let set = |wanted: fn(u32) -> bool| {
        let rows = both.iter().flat_map(|configuration| rows(configuration));
        let mut flags = rows.filter_map(|row| row.next_query_flag_in);
        flags.any(wanted)
    };
    if set(|flag| flag != 0) || !set(|flag| flag == 0) {
        return both.map(Cow::Borrowed);
    }
    both.map(|configuration| {
        let mut without = configuration.clone();
        for rule in &mut without.graph.rules {
            if let Body::Engine(row) = &mut rule.body {
                row.next_query_flag_in = None;
            }
        }
        Cow::Owned(without)
    })
}

fn rows(configuration: &Configuration) -> impl Iterator<Item = &EngineRule> {
    configuration
        .graph
        .rules
        .iter()
        .filter_map(|rule| match &rule.body {
            Body::Engine(row) => Some(&**row),
            Body::Native { .. } => None,
        })
}
