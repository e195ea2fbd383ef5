//! Policies, effects and raw rules of a random topology.

use std::fmt::Write as _;

use super::Group;
use crate::composed::dice::Dice;

/// None to two policies.
pub(super) fn policies(groups: &[Group], dice: &mut Dice) -> String {
    let count = dice.below(3);
    if count == 0 {
        return String::new();
    }
    let mut text = "read_write_policies:\n".to_owned();
    for nth in 0..count {
        let scope = match dice.below(4) {
            0 => String::new(),
            1 => ", applies_to: {clusters: [\"c*\"]}".to_owned(),
            _ => format!(", applies_to: {{users: {}}}", dice.of(groups).list()),
        };
        let reads = dice.text(&[
            "all: true",
            "all: true",
            "only: [{match_digest: \"^SELECT .* FROM hot\"}]",
            "except: [{match_digest: \"FROM hot\"}]",
            "except: [{functions: [now]}]",
        ]);
        let hint = dice.text(&[
            "",
            ", writer_hint: {comment: {name: primary}}",
            ", writer_hint: {comment: {name: primary}}",
        ]);
        writeln!(text, "  p{nth}: {{reads: {{{reads}}}{scope}{hint}}}").unwrap();
    }
    text
}

/// Delays, and what keeps connections.
pub(super) fn effects(groups: &[Group], dice: &mut Dice) -> String {
    let mut text = String::new();
    let count = dice.below(3);
    if count > 0 {
        text += "throttles:\n";
    }
    for nth in 0..count {
        let scope = match dice.below(5) {
            0 => "clusters: [c1, c2]".to_owned(),
            1 => "statements: [delete, update], clusters: [\"c*\"]".to_owned(),
            2 => format!("users: {}", dice.of(groups).list()),
            3 => format!("users: {}, statements: [insert, update]", dice.of(groups).list()),
            _ => "match_digest: \"FROM hot\"".to_owned(),
        };
        writeln!(
            text,
            "  w{nth}: {{applies_to: {{{scope}}}, delay: {}ms}}",
            nth + 1
        )
        .unwrap();
    }
    if dice.one_in(5) {
        text += "pooling:\n  exceptions:\n    locks: {match: {functions: [GET_LOCK]}, multiplex: never, reason: a lock}\n";
    }
    text
}

/// Rules that a team had before.
pub(super) fn raw_rules(dice: &mut Dice) -> String {
    let early = dice.text(&[
        "",
        "",
        "",
        "  early:\n    at: before_all\n    rules:\n      - {match_digest: \"^DROP \", error_msg: \"SW999: no drops\", apply: 1}\n",
        "  early:\n    at: before_all\n    rules:\n      - {match_digest: \"^SELECT .* FROM report_\", flagOUT: 500}\n      \
         - {flagIN: 500, cluster: c3, apply: 1}\n",
    ]);
    let late = dice.text(&[
        "",
        "",
        "",
        "  late:\n    at: after_all\n    rules:\n      - {match_digest: \"^SELECT 7\", cluster: c2, apply: 1}\n",
    ]);
    if early.is_empty() && late.is_empty() {
        return String::new();
    }
    format!("query_rules:\n{early}{late}")
}
