//! The columns of a rule: they are the table's, and each is read and written as the same field.

use std::collections::BTreeMap;

use proptest::prelude::*;
use shardwright_tables::{
    Cell, EngineRule, FlagOutChoice, Modifiers, QUERY_RULES, RULE_COLUMNS, RowSource, RuleColumn, rule_column,
};
use shardwright_vocabulary::Words;

/// A row of texts and numbers by name, as a table would hold it.
#[derive(Clone, Debug, Default)]
struct Row {
    numbers: BTreeMap<&'static str, u32>,
    texts: BTreeMap<&'static str, String>,
}

impl Row {
    fn of(rule: &EngineRule) -> Self {
        let mut row = Self::default();
        for column in RULE_COLUMNS {
            match column.get(rule).map(Cell::from) {
                Some(Cell::Integer(number)) => {
                    row.numbers.insert(column.name(), u32::try_from(number).unwrap());
                }
                Some(Cell::Text(text)) => drop(row.texts.insert(column.name(), text)),
                None => {}
            }
        }
        row
    }

    fn stored(&self, column: &RuleColumn) -> Option<&String> {
        self.texts.get(column.name())
    }
}

impl RowSource for Row {
    fn text(&mut self, column: &RuleColumn) -> Option<String> {
        self.stored(column).cloned()
    }

    fn number(&mut self, column: &RuleColumn) -> Option<u32> {
        self.numbers.get(column.name()).copied()
    }

    fn switch(&mut self, column: &RuleColumn) -> Option<bool> {
        self.number(column).map(|number| number == 1)
    }

    fn digest(&mut self, column: &RuleColumn) -> Option<u64> {
        let digits = self.stored(column)?.strip_prefix("0x").unwrap();
        Some(u64::from_str_radix(digits, 16).unwrap())
    }

    fn modifiers(&mut self, column: &RuleColumn) -> Option<Modifiers> {
        let text = self.stored(column)?;
        let known = Modifiers::WORDS.iter().find(|(known, _)| known == text);
        Some(known.unwrap().1)
    }

    fn flag_outs(&mut self, column: &RuleColumn) -> Vec<FlagOutChoice> {
        let Some(text) = self.stored(column) else {
            return Vec::new();
        };
        let mut attributes: BTreeMap<String, Vec<FlagOutChoice>> = serde_json::from_str(text).unwrap();
        attributes.remove("flagOUTs").unwrap()
    }
}

/// A row with another value than a default's in every column.
fn full_row() -> Row {
    let mut row = Row::default();
    for (at, column) in (1..).zip(RULE_COLUMNS) {
        match (column.name(), column.column.range()) {
            ("digest", _) => drop(row.texts.insert("digest", format!("0x{at:016X}"))),
            ("re_modifiers", _) => drop(row.texts.insert("re_modifiers", "GLOBAL".to_owned())),
            ("attributes", _) => drop(
                row.texts
                    .insert("attributes", r#"{"flagOUTs":[{"id":7,"weight":3}]}"#.to_owned()),
            ),
            (name, None) => drop(row.texts.insert(name, format!("text {at}"))),
            (name, Some(range)) => drop(
                row.numbers
                    .insert(name, u32::try_from(i64::from(at).min(*range.end())).unwrap()),
            ),
        }
    }
    row
}

#[test]
fn a_rule_has_every_column_of_the_table_but_three() {
    let names: Vec<&str> = QUERY_RULES.columns.iter().map(|column| column.name).collect();
    let held = RULE_COLUMNS.iter().map(RuleColumn::name);
    let mut all: Vec<&str> = ["rule_id", "active", "flagIN"].into_iter().chain(held).collect();
    let place = |name: &&str| names.iter().position(|known| known == name);
    all.sort_by_key(place);
    assert_eq!(all, names);
    assert!(RULE_COLUMNS.is_sorted_by_key(|column| place(&column.name())));
}

#[test]
fn every_field_of_a_rule_is_a_column() {
    let rule = EngineRule::read(&mut full_row());
    let json = serde_json::to_value(&rule).unwrap();
    let mut fields: Vec<&String> = json.as_object().unwrap().keys().collect();
    let mut known: Vec<&str> = RULE_COLUMNS.iter().map(|column| column.field).collect();
    fields.sort();
    known.sort_unstable();
    assert_eq!(fields, known);
    // A field without a column would keep its default, which JSON leaves out.
    for column in RULE_COLUMNS {
        assert!(column.get_given(&rule).is_some(), "{}", column.name());
    }
}

#[test]
fn what_is_taken_away_is_a_default() {
    let full = EngineRule::read(&mut full_row());
    let mut rule = full.clone();
    for column in RULE_COLUMNS {
        column.clear(&mut rule);
        assert_eq!(column.get_given(&rule), None, "{}", column.name());
    }
    assert_eq!(rule, EngineRule::default());
}

#[test]
fn an_empty_text_of_a_session_is_none_and_an_empty_pattern_is_a_pattern() {
    let mut row = Row::default();
    for name in [
        "username",
        "schemaname",
        "client_addr",
        "proxy_addr",
        "match_digest",
    ] {
        row.texts.insert(name, String::new());
    }
    let rule = EngineRule::read(&mut row);
    let asked: Vec<&str> = RULE_COLUMNS
        .iter()
        .filter(|column| column.is_condition_of(&rule))
        .map(RuleColumn::name)
        .collect();
    assert_eq!(asked, ["match_digest"]);
    assert!(!rule.is_unconditional());
}

#[test]
fn ranges_are_what_the_engine_takes_and_reads_as_it_is() {
    for (name, range) in [
        ("proxy_port", Some(0..=65_535)),
        ("flagOUT", Some(0..=2_147_483_647)),
        ("cache_ttl", Some(1..=2_147_483_647)),
        ("retries", Some(0..=1_000)),
        ("multiplex", Some(0..=2)),
        ("mirror_hostgroup", Some(0..=2_147_483_647)),
        ("log", Some(0..=1)),
        ("digest", None),
    ] {
        assert_eq!(rule_column(name).column.range(), range, "{name}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        texts in prop::collection::btree_map(prop::sample::select(&["username", "match_pattern", "error_msg"][..]), "[a-z']{1,5}", 0..3),
        numbers in prop::collection::btree_map(prop::sample::select(&["proxy_port", "flagOUT", "multiplex", "log", "apply"][..]), 0_u32..2, 0..5),
        digest in any::<Option<u64>>(),
        modifiers in prop::sample::select(Modifiers::WORDS),
        flag_outs in prop::collection::vec((any::<u32>(), any::<u32>()), 0..3),
    ) {
        let row = Row { numbers, texts };
        let mut rule = EngineRule::read(&mut row.clone());
        rule.digest = digest;
        rule.re_modifiers = modifiers.1;
        rule.flag_outs = flag_outs.iter().map(|&(id, weight)| FlagOutChoice { id, weight }).collect();
        prop_assert_eq!(EngineRule::read(&mut Row::of(&rule)), rule);
    }
}
