//! Which tables were base tables when their server was last asked: what a column map takes for granted before it
//! believes a key.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use shardwright_rules::{AssumedTable, HostgroupId};
use shardwright_sql::lex::reads_alike;

/// A change of a table that does not pass through the proxy is noticed after this time.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// Tables that a worker remembers; at more it begins anew.
const MOST: usize = 100_000;

/// When something was learnt: any change of tables, and any new generation, ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Era {
    pub(crate) generation: i64,
    /// Changes of tables that the proxy has seen.
    pub(crate) changes: u64,
}

/// A table that a server was asked for.
pub(crate) struct AskedFor<'a> {
    pub(crate) hostgroup: HostgroupId,
    pub(crate) table: &'a AssumedTable,
    /// When it was asked.
    pub(crate) era: Era,
}

/// What one worker knows.
#[derive(Default)]
pub(crate) struct BaseTables {
    era: Era,
    count: usize,
    base: FxHashMap<(HostgroupId, Arc<str>), FxHashMap<Box<str>, Instant>>,
}

impl BaseTables {
    /// Whether the table was a base table, so short a time ago that it still is.
    pub(crate) fn is_base(
        &mut self,
        era: Era,
        hostgroup: HostgroupId,
        table: &AssumedTable,
        now: Instant,
    ) -> bool {
        self.forget_before(era);
        let of_schema = self.base.get(&(hostgroup, table.schema.clone()));
        of_schema
            .and_then(|tables| tables.get(&*table.table))
            .is_some_and(|asked| now.duration_since(*asked) < KNOWN_FOR)
    }

    /// Remembers a base table, unless something has changed since it was asked for. `era` is that of the answer.
    pub(crate) fn learn(&mut self, asked: &AskedFor<'_>, era: Era, now: Instant) {
        self.forget_before(era);
        if asked.era != era {
            return;
        }
        let AskedFor { hostgroup, table, .. } = *asked;
        if self.count >= MOST {
            self.base.clear();
            self.count = 0;
        }
        let tables = self.base.entry((hostgroup, table.schema.clone())).or_default();
        if tables.insert(table.table.as_str().into(), now).is_none() {
            self.count += 1;
        }
    }

    fn forget_before(&mut self, era: Era) {
        if self.era != era {
            self.base.clear();
            self.count = 0;
            self.era = era;
        }
    }
}

/// Asks for a table: no row if there is none, one if it is a base table, two if it is anything else. The limit stands
/// against the session's `sql_select_limit`.
pub(crate) fn question(table: &AssumedTable) -> String {
    // The connection may be in any sql_mode, and in another character set than the name.
    let literal = |name: &str| match name.is_ascii() && reads_alike(name.as_bytes()) {
        true => format!("'{}'", name.replace('\'', "''")),
        false => {
            name.bytes()
                .fold("_utf8mb4 X'".to_owned(), |hex, byte| format!("{hex}{byte:02X}"))
                + "'"
        }
    };
    let from = format!(
        "FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} AND TABLE_TYPE",
        literal(&table.schema),
        literal(&table.table)
    );
    format!(
        "SELECT 1 {from} <> 'TEMPORARY' UNION ALL SELECT 2 {from} NOT IN ('BASE TABLE', 'SYSTEM VERSIONED', 'TEMPORARY') \
         LIMIT 2"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> AssumedTable {
        AssumedTable {
            schema: "app".into(),
            table: name.to_owned(),
            map: "m".into(),
        }
    }

    #[test]
    fn what_was_learnt_ends_with_a_change_with_a_generation_and_with_time() {
        let hostgroup = HostgroupId(10);
        let era = Era::default();
        let start = Instant::now();
        let mut known = BaseTables::default();
        let bal = table("bal");
        let asked_in = |era| AskedFor {
            hostgroup,
            table: &bal,
            era,
        };
        known.learn(&asked_in(era), era, start);
        assert!(known.is_base(era, hostgroup, &table("bal"), start));
        assert!(!known.is_base(era, hostgroup, &table("other"), start));
        assert!(!known.is_base(era, HostgroupId(20), &table("bal"), start));
        assert!(!known.is_base(era, hostgroup, &table("bal"), start + KNOWN_FOR));
        let changed = Era { changes: 1, ..era };
        assert!(!known.is_base(changed, hostgroup, &table("bal"), start));
        known.learn(&asked_in(era), changed, start);
        assert!(
            !known.is_base(changed, hostgroup, &table("bal"), start),
            "it was asked before the change"
        );
        let generation = Era {
            generation: 2,
            ..changed
        };
        known.learn(&asked_in(generation), generation, start);
        assert!(known.is_base(generation, hostgroup, &table("bal"), start));
    }

    #[test]
    fn names_are_asked_for_as_literals() {
        let asked = question(&table("it's\\"));
        assert!(asked.contains("TABLE_NAME = _utf8mb4 X'697427735C'"), "{asked}");
        let asked = question(&table("it's"));
        assert!(asked.contains("TABLE_NAME = 'it''s'"), "{asked}");
    }
}
