//! What a worker knows of tables: what a column map takes for granted before it believes a key.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use shardwright_rules::key_column::{
    Cascades, Comparison, Distinction, ForeignKeys, IndexedColumns, KeyColumn, KeyDoubt, KeysOfMap, PassedOn,
    judge,
};
use shardwright_rules::{AssumedKey, AssumedTable, HostgroupId};
use smallvec::SmallVec;

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

/// A key column, and the keys that a map looks for in it.
#[derive(Clone, Debug)]
pub(crate) struct KnownColumn {
    pub(crate) column: KeyColumn,
    pub(crate) keys: KeysOfMap,
    pub(crate) indexed: IndexedColumns,
    /// `None` until a statement depends on them.
    pub(crate) cascades: Option<Cascades>,
}

impl KnownColumn {
    /// Whether the column is what a statement takes it for.
    pub(crate) fn belief(&self, key: &AssumedKey) -> Belief {
        if let Err(why) = judge(&self.column, &self.keys, key) {
            return Belief::False {
                is_a: self.column.description.clone(),
                why,
            };
        }
        if self.indexed.may_pass_on(key) {
            let Some(cascades) = &self.cascades else {
                return Belief::Unknown;
            };
            if let Some(passed_on) = cascades.passed_on(&self.indexed, key) {
                return Belief::PassedOn(passed_on);
            }
        }
        Belief::True {
            comparison: Some(self.column.comparison(&self.keys)),
        }
    }
}

/// What is known of a table for one map.
struct KnownTable {
    map: Arc<str>,
    /// The name of the key column, and what is known of it; `None` where only the table was asked for.
    key: Option<(Arc<str>, KnownColumn)>,
    asked: Instant,
}

/// Whether what a statement takes for granted of a table is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Belief {
    /// It is; and how the key column compares, where there is one.
    True { comparison: Option<Comparison> },
    /// It is not.
    False {
        /// The column's type, human-readable.
        is_a: String,
        why: KeyDoubt,
    },
    /// Foreign keys pass a change of the statement on to a key column.
    PassedOn(PassedOn),
    /// The server must be asked.
    Unknown,
}

/// By the name of the table; one entry for each map that looks for keys in it.
type TablesOfSchema = FxHashMap<Box<str>, SmallVec<[KnownTable; 1]>>;

/// What one worker knows.
#[derive(Default)]
pub(crate) struct BaseTables {
    era: Era,
    count: usize,
    known: FxHashMap<(HostgroupId, Arc<str>), TablesOfSchema>,
    /// The foreign keys of schemas, and when they were asked for.
    foreign_keys: FxHashMap<(HostgroupId, Arc<str>), (Arc<ForeignKeys>, Instant)>,
    /// Whether a server tells the keys of a map apart under a collation: that does not change with tables.
    distinctions: FxHashMap<(HostgroupId, Arc<str>, String), Distinction>,
}

impl BaseTables {
    /// Whether a table is what a statement takes it for, as it was so short a time ago that it still is.
    pub(crate) fn belief(
        &mut self,
        era: Era,
        hostgroup: HostgroupId,
        table: &AssumedTable,
        now: Instant,
    ) -> Belief {
        self.forget_before(era);
        let of_schema = self.known.get(&(hostgroup, table.schema.clone()));
        let Some(known) = of_schema.and_then(|tables| tables.get(&*table.table)) else {
            return Belief::Unknown;
        };
        let mut fresh = known
            .iter()
            .filter(|known| now.duration_since(known.asked) < KNOWN_FOR);
        let Some(key) = &table.key else {
            return fresh
                .next()
                .map_or(Belief::Unknown, |_| Belief::True { comparison: None });
        };
        let of_map = fresh.find_map(|known| {
            let (column, known_column) = known.key.as_ref()?;
            (known.map == table.map && *column == key.column).then_some(known_column)
        });
        of_map.map_or(Belief::Unknown, |known| known.belief(key))
    }

    /// Remembers a base table and its key column, unless something has changed since it was asked for. `era` is that of the
    /// answer, `asked_at` the time of its oldest part.
    pub(crate) fn learn(
        &mut self,
        asked: &AskedFor<'_>,
        column: Option<KnownColumn>,
        era: Era,
        asked_at: Instant,
    ) {
        self.forget_before(era);
        if asked.era != era {
            return;
        }
        let AskedFor { hostgroup, table, .. } = *asked;
        if self.count >= MOST {
            self.known.clear();
            self.foreign_keys.clear();
            self.count = 0;
        }
        let name = table.key.as_ref().map(|key| key.column.clone());
        let tables = self.known.entry((hostgroup, table.schema.clone())).or_default();
        let known = tables.entry(table.table.as_str().into()).or_default();
        known.retain(|known| {
            known.map != table.map || known.key.as_ref().map(|(name, _)| name) != name.as_ref()
        });
        known.push(KnownTable {
            map: table.map.clone(),
            key: name.zip(column),
            asked: asked_at,
        });
        self.count += 1;
    }

    /// The foreign keys of a schema, and when they were asked for.
    pub(crate) fn foreign_keys(
        &mut self,
        era: Era,
        of: &(HostgroupId, Arc<str>),
        now: Instant,
    ) -> Option<(Arc<ForeignKeys>, Instant)> {
        self.forget_before(era);
        let known = self.foreign_keys.get(of)?;
        (now.duration_since(known.1) < KNOWN_FOR).then(|| known.clone())
    }

    /// Remembers the foreign keys of a schema that were asked for in the era `asked`, unless something has changed since.
    pub(crate) fn learn_foreign_keys(
        &mut self,
        (asked, era): (Era, Era),
        of: (HostgroupId, Arc<str>),
        keys: Arc<ForeignKeys>,
        now: Instant,
    ) {
        self.forget_before(era);
        if asked == era {
            self.foreign_keys.insert(of, (keys, now));
        }
    }

    /// Whether a server tells the keys of a map apart under a collation, if it was asked.
    pub(crate) fn distinction(&self, of: &(HostgroupId, Arc<str>, String)) -> Option<Distinction> {
        self.distinctions.get(of).copied()
    }

    /// Remembers the answer.
    pub(crate) fn distinguish(&mut self, of: (HostgroupId, Arc<str>, String), distinction: Distinction) {
        self.distinctions.insert(of, distinction);
    }

    fn forget_before(&mut self, era: Era) {
        if self.era.generation != era.generation {
            self.distinctions.clear();
        }
        if self.era != era {
            self.known.clear();
            self.foreign_keys.clear();
            self.count = 0;
            self.era = era;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> AssumedTable {
        AssumedTable {
            schema: "app".into(),
            table: name.to_owned(),
            map: "m".into(),
            is_stated: false,
            key: None,
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
        let is_base = |known: &mut BaseTables, era, hostgroup, name, now| {
            known.belief(era, hostgroup, &table(name), now) == Belief::True { comparison: None }
        };
        known.learn(&asked_in(era), None, era, start);
        assert!(is_base(&mut known, era, hostgroup, "bal", start));
        assert!(!is_base(&mut known, era, hostgroup, "other", start));
        assert!(!is_base(&mut known, era, HostgroupId(20), "bal", start));
        assert!(!is_base(&mut known, era, hostgroup, "bal", start + KNOWN_FOR));
        let changed = Era { changes: 1, ..era };
        assert!(!is_base(&mut known, changed, hostgroup, "bal", start));
        known.learn(&asked_in(era), None, changed, start);
        assert!(
            !is_base(&mut known, changed, hostgroup, "bal", start),
            "it was asked before the change"
        );
        let generation = Era {
            generation: 2,
            ..changed
        };
        known.learn(&asked_in(generation), None, generation, start);
        assert!(is_base(&mut known, generation, hostgroup, "bal", start));
    }
}
