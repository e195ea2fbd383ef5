//! Changes of a rule set. Some keep what it means, some do not, and some do now and then: the analysis is asked which.

use crate::random::Dice;
use crate::rule_sets::{Cell, Row, RuleSet};

/// Patterns that ask nearly or exactly the same.
const OTHER_WORDS: [(&str, &str); 19] = [
    ("^SELECT", r"\ASELECT"),
    ("^SELECT", "^SELECT "),
    ("^SELECT", r"^SELECT\s"),
    ("^select", "^SELECT"),
    ("t1", "t[1]"),
    ("orders", "(?:orders)"),
    (r"id ?= ?\d+", "id ?= ?[0-9]+"),
    ("tenant=1", "tenant[=]1"),
    ("FOR UPDATE$", r"FOR UPDATE\z"),
    ("^(INSERT|UPDATE|DELETE)", "^(DELETE|INSERT|UPDATE)"),
    ("'[^']*'", "'"),
    ("a", "[a]"),
    (".", r"[\s\S]"),
    ("hostgroup", "h(?:ostgroup)"),
    (r"id=\?", "id=[?]"),
    ("^UPDATE .* SET", "^UPDATE .+ SET"),
    ("^$", r"\A\z"),
    (r"\(\?,\?\)", r"[(]\?,\?[)]"),
    ("^SET|^USE", "^(SET|USE)"),
];

/// Patterns and two that ask the same together.
const PARTS: [(&str, [&str; 2]); 5] = [
    ("^(INSERT|UPDATE|DELETE)", ["^INSERT", "^(UPDATE|DELETE)"]),
    ("^COMMIT|^ROLLBACK|^BEGIN", ["^BEGIN|^COMMIT", "^ROLLBACK"]),
    ("^SET|^USE", ["^USE", "^SET"]),
    ("t[12]", ["t1", "t2"]),
    ("^SELECT", ["^SELECT ", "^SELECT"]),
];

const PATTERNS: [&str; 2] = ["match_digest", "match_pattern"];
/// A flag that no jump leads to, and one where no rule is.
const NO_FLAG: usize = 55;

type Change = fn(&mut Dice, &mut RuleSet);

/// Changes that keep the meaning, most of the time.
const KEEPING: [Change; 8] = [
    flags_renamed,
    split_by_user,
    split_by_pattern,
    in_other_words,
    in_other_words,
    idle_condition,
    ends_otherwise,
    dead_rule,
];

/// Changes that seldom do.
const CHANGING: [Change; 9] = [
    swapped,
    swapped,
    removed,
    other_hostgroup,
    condition_removed,
    condition_added,
    negated,
    other_fast_route,
    other_settings,
];

/// The set with one to three changes or more, and other ids; `dead` are positions of rules that match nothing.
pub(crate) fn changed(dice: &mut Dice, original: &RuleSet, dead: &[usize]) -> RuleSet {
    let mut set = original.clone();
    if !dead.is_empty() && dice.one_in(2) {
        set.rules.remove(dice.of(dead));
    }
    let keeps = dice.one_in(2);
    let mut left = 1 + dice.below(3);
    while left > 0 || set == *original {
        left = left.saturating_sub(1);
        let change = if keeps {
            dice.of(&KEEPING)
        } else {
            dice.of(&CHANGING)
        };
        change(dice, &mut set);
    }
    numbered(&mut set, 1 + dice.below(9));
    set
}

/// Puts a rule of the kind that never matches, or seldom does, among the others.
pub(crate) fn dead_rule(dice: &mut Dice, set: &mut RuleSet) {
    let Some(at) = any_rule(dice, set) else {
        return;
    };
    let mut row = set.rules[at].clone();
    row.insert("destination_hostgroup", Cell::Number(dice.below(9)));
    match dice.below(5) {
        // Behind one that takes everything that it asks for.
        0 | 1 => {
            set.rules[at].insert("apply", Cell::Number(1));
        }
        2 => {
            row.insert("username", Cell::text("nobody"));
        }
        3 => {
            row.insert("flagIN", Cell::Number(NO_FLAG));
        }
        _ if !answers(&row) => {
            row.insert("match_digest", Cell::text("^SELECT"));
            row.insert("match_pattern", Cell::text("^INSERT"));
        }
        _ => return,
    }
    set.rules.insert(at + 1, row);
}

/// Ascending ids with gaps.
pub(crate) fn numbered(set: &mut RuleSet, step: usize) {
    for (position, row) in set.rules.iter_mut().enumerate() {
        row.insert("rule_id", Cell::Number((position + 1) * step));
    }
}

/// Rules with a message stay at the statements that they are for: one that met an EXECUTE would end the engine.
fn answers(row: &Row) -> bool {
    row.contains_key("error_msg") || row.contains_key("OK_msg")
}

fn any_rule(dice: &mut Dice, set: &RuleSet) -> Option<usize> {
    (!set.rules.is_empty()).then(|| dice.below(set.rules.len()))
}

fn any_without_message<'s>(dice: &mut Dice, set: &'s mut RuleSet) -> Option<&'s mut Row> {
    let at = any_rule(dice, set)?;
    Some(&mut set.rules[at]).filter(|row| !answers(row))
}

fn flags_renamed(_: &mut Dice, set: &mut RuleSet) {
    let renamed = |flag: usize| match flag {
        1 => 12,
        2 => 11,
        3 => 13,
        other => other,
    };
    for row in set.rules.iter_mut().chain(&mut set.fast_routing) {
        for column in ["flagIN", "flagOUT", "next_query_flagIN"] {
            if let Some(Cell::Number(flag)) = row.get_mut(column) {
                *flag = renamed(*flag);
            }
        }
        if let Some(Cell::Text(weighted)) = row.get_mut("attributes") {
            *weighted = weighted.replace(r#""id":2,"#, r#""id":11,"#);
        }
    }
}

fn split_by_user(dice: &mut Dice, set: &mut RuleSet) {
    let Some(at) = any_rule(dice, set) else {
        return;
    };
    let is_of_all = |user: &Cell| *user == Cell::text("");
    if set.rules[at].get("username").is_none_or(is_of_all) {
        let mut other = set.rules[at].clone();
        set.rules[at].insert("username", Cell::text("app"));
        other.insert("username", Cell::text("batch"));
        set.rules.insert(at + 1, other);
    }
}

fn split_by_pattern(dice: &mut Dice, set: &mut RuleSet) {
    let found = set.rules.iter().enumerate().find_map(|(at, row)| {
        let column = PATTERNS.into_iter().find(|column| row.contains_key(column))?;
        let (_, parts) = PARTS.iter().find(|(whole, _)| row[column] == Cell::text(whole))?;
        (!answers(row)).then_some((at, column, parts))
    });
    let Some((at, column, parts)) = found else {
        return in_other_words(dice, set);
    };
    let mut other = set.rules[at].clone();
    set.rules[at].insert(column, Cell::text(parts[0]));
    other.insert(column, Cell::text(parts[1]));
    set.rules.insert(at + 1, other);
}

fn in_other_words(dice: &mut Dice, set: &mut RuleSet) {
    for _ in 0..8 {
        let column = dice.of(&PATTERNS);
        let Some(Cell::Text(pattern)) = any_without_message(dice, set).and_then(|row| row.get_mut(column))
        else {
            continue;
        };
        let others = OTHER_WORDS
            .iter()
            .filter(|(own, other)| own == pattern || other == pattern);
        let others: Vec<&str> = others
            .map(|(own, other)| if own == pattern { *other } else { *own })
            .collect();
        if !others.is_empty() {
            *pattern = dice.of(&others).to_owned();
            return;
        }
    }
}

/// A condition that every session satisfies.
fn idle_condition(dice: &mut Dice, set: &mut RuleSet) {
    let Some(at) = any_rule(dice, set) else {
        return;
    };
    let row = &mut set.rules[at];
    let (column, idle) = dice.of(&[
        ("client_addr", "%"),
        ("client_addr", ""),
        ("username", ""),
        ("schemaname", ""),
    ]);
    match row.get(column) {
        None => row.insert(column, Cell::text(idle)),
        Some(cell) if *cell == Cell::text(idle) => row.remove(column),
        Some(_) => None,
    };
}

/// `apply`, or a jump to where no rule is.
fn ends_otherwise(dice: &mut Dice, set: &mut RuleSet) {
    let Some(row) = any_without_message(dice, set) else {
        return;
    };
    if row["apply"] == Cell::Number(1) {
        row.insert("apply", Cell::Number(0));
        row.insert("flagOUT", Cell::Number(NO_FLAG + 1));
    } else {
        row.insert("apply", Cell::Number(1));
    }
}

fn swapped(dice: &mut Dice, set: &mut RuleSet) {
    if set.rules.len() > 1 {
        let at = dice.below(set.rules.len() - 1);
        set.rules.swap(at, at + 1);
    }
}

fn removed(dice: &mut Dice, set: &mut RuleSet) {
    if let Some(at) = any_rule(dice, set) {
        set.rules.remove(at);
    }
}

fn other_hostgroup(dice: &mut Dice, set: &mut RuleSet) {
    let hostgroup = Cell::Number(dice.below(9));
    if dice.one_in(6) {
        let at = dice.below(set.users.len());
        set.users[at].insert("default_hostgroup", hostgroup);
    } else if let Some(at) = any_rule(dice, set) {
        set.rules[at].insert("destination_hostgroup", hostgroup);
    }
}

fn condition_removed(dice: &mut Dice, set: &mut RuleSet) {
    let column = dice.of(&["username", "schemaname", "client_addr", "digest", "match_digest"]);
    if let Some(row) = any_without_message(dice, set) {
        row.remove(column);
    }
}

fn condition_added(dice: &mut Dice, set: &mut RuleSet) {
    let (column, value) = dice.of(&[
        ("username", "batch"),
        ("schemaname", "shop"),
        ("client_addr", "127.0.0.2"),
        ("match_digest", "^SELECT"),
        ("match_digest", "t1"),
    ]);
    if let Some(row) = any_without_message(dice, set) {
        row.insert(column, Cell::text(value));
    }
}

fn negated(dice: &mut Dice, set: &mut RuleSet) {
    if let Some(row) = any_without_message(dice, set) {
        let is_negated = row.get("negate_match_pattern") == Some(&Cell::Number(1));
        row.insert("negate_match_pattern", Cell::Number(usize::from(!is_negated)));
    }
}

fn other_fast_route(dice: &mut Dice, set: &mut RuleSet) {
    match dice.below(set.fast_routing.len() + 1) {
        0 => swapped(dice, set),
        at if dice.one_in(2) => drop(set.fast_routing.remove(at - 1)),
        at => {
            set.fast_routing[at - 1].insert("destination_hostgroup", Cell::Number(dice.below(9)));
        }
    }
}

fn other_settings(dice: &mut Dice, set: &mut RuleSet) {
    match dice.below(3) {
        0 => set
            .variables
            .insert("query_processor_iterations", dice.below(6).to_string()),
        1 => set
            .variables
            .insert("query_processor_regex", (1 + dice.below(2)).to_string()),
        _ => set.variables.insert("default_schema", "shop".to_owned()),
    };
}
