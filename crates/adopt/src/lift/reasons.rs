//! Why a rule stays in the engine's own columns that no recogniser took.

use shardwright_rules::EngineRule;
use shardwright_rules::tables::{Part, RULE_COLUMNS};

use super::matches::conditions;
use crate::draft::{Draft, RuleDraft};

/// What a rule does that no object of the language says; the first thing that holds.
pub(super) fn reason(draft: &Draft, rule: &RuleDraft) -> String {
    let row = &rule.row;
    if rule.flag_in != 0 {
        return format!("chains of rules stay as they are; its flagIN is {}", rule.flag_in);
    }
    if let Some(flag) = row.jumps().next() {
        return format!("chains of rules stay as they are; its flagOUT is {flag}");
    }
    if let Some(why) = columns(row) {
        return why.to_owned();
    }
    if conditions(draft, row).is_none() {
        return unlike(row).to_owned();
    }
    let does = does(row);
    match row.destination_hostgroup {
        Some(_) if does.len() > 1 => {
            format!(
                "it sets destination_hostgroup and {} at once; a project has an object for each",
                listed(&does[1..])
            )
        }
        Some(id) if draft.place(shardwright_rules::HostgroupId(id)).is_none() => {
            format!("no cluster has hostgroup {id}")
        }
        Some(_) if !row.apply => {
            "it places statements without `apply`, so a later rule may place them again".to_owned()
        }
        Some(_) => "it has no condition: it is for whatever no other rule has taken".to_owned(),
        None if does.is_empty() && row.apply => "it only ends the rules".to_owned(),
        None if does.is_empty() => "it sets nothing and ends nothing".to_owned(),
        None if row.is_unconditional() => format!("it sets {} for all statements", listed(&does)),
        None if row.apply => format!("it sets {} and ends the rules at once", listed(&does)),
        None => format!(
            "no section of a project sets {} by these conditions",
            listed(&does)
        ),
    }
}

/// What nothing in the language says.
fn columns(row: &EngineRule) -> Option<&'static str> {
    Some(if row.replace_pattern.is_some() {
        "it rewrites statements"
    } else if row.next_query_flag_in.is_some() {
        "it decides where the session's next statements begin (next_query_flagIN)"
    } else if row.ok_msg.is_some() {
        "it answers statements with OK"
    } else if row.log.is_some() {
        "it decides what is written to the event log"
    } else if row.gtid_from_hostgroup.is_some() {
        "it waits for a GTID"
    } else {
        return None;
    })
}

/// Why a `match` cannot ask for what a rule asks for.
fn unlike(row: &EngineRule) -> &'static str {
    if row.proxy_port.is_some() || row.proxy_addr.is_some() {
        "no listener of mysql-interfaces has its port"
    } else if !row.re_modifiers.caseless {
        "its pattern tells upper case from lower case"
    } else {
        "a match cannot ask for what its columns ask for"
    }
}

/// The columns with an effect that a rule sets, `destination_hostgroup` first.
fn does(row: &EngineRule) -> Vec<&'static str> {
    let set = RULE_COLUMNS.iter().filter(|column| {
        !matches!(column.part, Part::Condition | Part::Matching | Part::Comment)
            && column.name() != "apply"
            && column.get_given(row).is_some()
    });
    let mut names: Vec<&'static str> = set.map(|column| column.name()).collect();
    names.sort_by_key(|name| *name != "destination_hostgroup");
    names
}

/// `a, b and c`
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
