//! A plan for reviewers: as text, as Markdown for comments, and as JSON for programs.

mod folding;
mod hazards;
mod json;
mod markdown;
mod summary;
mod text;
mod value;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use shardwright_rules::Address;

use crate::safety::Refusal;
use crate::{
    Action, Concern, Effect, Facts, Meaning, ObjectKind, Plan, RowChange, RowKey, TargetPlan, Witness,
};

/// How much of the digest of effects is shown: as much as `apply --expect-effects` needs.
pub const SHOWN_DIGEST: usize = 16;

use folding::lines;
pub use json::json;
pub use markdown::{Marker, inline, markdown};
pub(crate) use summary::Summary;
pub use text::text;
pub use value::show as shown;

/// What a rendering is told besides the plan.
pub struct View<'a> {
    /// The time that the expiry is compared with.
    pub now: Timestamp,
    /// Where an object is written: `topology/shop.yaml:31`.
    pub origin: &'a dyn Fn(&Address) -> Option<String>,
    /// What [`crate::safety::check`] found; `None` where limits were not checked.
    pub refusals: Option<&'a [Refusal]>,
    /// Every object and every row, instead of one line for many alike.
    pub full: bool,
    /// Whether text has colour.
    pub color: bool,
    /// Where the project is in its repository; `None` at the root, or where that is not known.
    pub directory: Option<&'a str>,
}

/// Targets whose effects are the same, which are shown once.
struct Group<'a> {
    targets: Vec<&'a TargetPlan>,
}

impl<'a> Group<'a> {
    fn first(&self) -> &'a TargetPlan {
        self.targets[0]
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.targets.iter().map(|target| &*target.name)
    }

    fn is_of(&self, target: &TargetPlan) -> bool {
        self.first().desired == target.desired && self.first().effects == target.effects
    }
}

fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for target in &plan.targets {
        match groups.iter_mut().find(|group| group.is_of(target)) {
            Some(group) => group.targets.push(target),
            None => groups.push(Group {
                targets: vec![target],
            }),
        }
    }
    groups
}

/// Effects without a plan around them, one line for each.
pub fn effects(effects: &[Effect]) -> String {
    let lines = listing(effects, &|_| None).into_iter();
    lines
        .map(|line| format!("  {} {}  {}\n", line.sign, line.subject, line.what))
        .collect()
}

/// The lines of effects without a plan around them, those that are alike in one. Nothing in them is obeyed by a terminal.
pub fn listing(effects: &[Effect], origin: &dyn Fn(&Address) -> Option<String>) -> Vec<Line> {
    lines(effects, &view_of(origin))
}

/// The line of one effect.
pub fn line_of(effect: &Effect, origin: &dyn Fn(&Address) -> Option<String>) -> Line {
    line(effect, &view_of(origin))
}

fn view_of<'a>(origin: &'a dyn Fn(&Address) -> Option<String>) -> View<'a> {
    View {
        now: Timestamp::UNIX_EPOCH,
        origin,
        refusals: None,
        directory: None,
        full: false,
        color: false,
    }
}

/// One line of a listing.
pub struct Line {
    /// `+`, `~` or `-`.
    pub sign: char,
    /// The object, or how many of a kind.
    pub subject: String,
    /// What changes of it.
    pub what: String,
    /// Where it is written; empty where that is not known.
    pub origin: String,
}

/// One line per shard that moves.
fn moves(plan: &Plan, view: &View<'_>) -> Vec<Line> {
    let lines = plan.moves.iter().map(|shard| {
        let reason = shard.reason.as_deref().map(|reason| format!(" ({reason})"));
        Line {
            sign: '>',
            subject: value::plain(&shard.shard.short()),
            what: value::plain(&(shard.describe() + &reason.unwrap_or_default())),
            origin: (view.origin)(&shard.address)
                .map(|origin| value::plain(&origin))
                .unwrap_or_default(),
        }
    });
    lines.collect()
}

fn line(effect: &Effect, view: &View<'_>) -> Line {
    let mut what = describe(effect);
    if let Some(reason) = &effect.reason {
        what.push_str(&format!(" ({})", value::plain(reason)));
    }
    Line {
        sign: effect.action.sign(),
        subject: value::plain(&subject(effect)),
        what,
        origin: (view.origin)(&effect.address)
            .map(|origin| value::plain(&origin))
            .unwrap_or_default(),
    }
}

/// The object as people know it: a rule in the engine's columns by its number, a row of fast routing by its user and schema.
fn subject(effect: &Effect) -> String {
    let written = effect.address.as_str();
    let block = |list: &str| written.split_once(list).map(|(block, _)| block);
    match effect.rows.as_slice() {
        [
            RowChange {
                row: RowKey::Rule(id),
                ..
            },
        ] if let Some(block) = block(".rules[") => {
            format!("{block} rule {id}")
        }
        [
            RowChange {
                row: RowKey::FastRoute {
                    username, schemaname, ..
                },
                ..
            },
        ] if let Some(block) = block(".fast_routing[") => match username.as_str() {
            "" => format!("{block} fast route {schemaname}"),
            user => format!("{block} fast route {user} in {schemaname}"),
        },
        _ => effect.address.short(),
    }
}

/// What changes of an object, in one line.
fn describe(effect: &Effect) -> String {
    let mut parts = changes(effect.action, &effect.old, &effect.new);
    match effect.rows.as_slice() {
        [row] if matches!(effect.kind(), ObjectKind::QueryRule | ObjectKind::FastRoute) => {
            let said = |key: &str| key != "destination_hostgroup" && key != "flag_in";
            let shown = |facts: &Facts| -> Facts {
                let facts = facts.iter().filter(|(key, _)| said(key));
                facts.map(|(key, value)| (key.clone(), value.clone())).collect()
            };
            parts.extend(changes(effect.action, &shown(&row.old), &shown(&row.new)));
            if parts.is_empty() {
                parts.extend(row_counts(effect));
            }
        }
        _ => parts.extend(row_counts(effect)),
    }
    parts.join(", ")
}

fn changes(action: Action, old: &Facts, new: &Facts) -> Vec<String> {
    let come = new.iter().map(|(key, value)| match old.get(key) {
        Some(before) => format!("{} {} → {}", key, value::show(before), value::show(value)),
        None if action == Action::Change => format!("{key} none → {}", value::show(value)),
        None => format!("{key} {}", value::show(value)),
    });
    let gone = old
        .iter()
        .filter(|(key, _)| !new.contains_key(*key))
        .map(|(key, value)| match action {
            Action::Change => format!("{key} {} → none", value::show(value)),
            _ => format!("{key} {}", value::show(value)),
        });
    come.chain(gone).collect()
}

/// `3 rules (+1 ~2)`, for each table.
fn row_counts(effect: &Effect) -> Vec<String> {
    let sort_of = |row: &RowKey| match row {
        RowKey::Rule(_) => 0,
        RowKey::FastRoute { .. } => 1,
        RowKey::Row { .. } => 2,
    };
    // The facts of the object are those of its other rows.
    let other = if effect.old.is_empty() && effect.new.is_empty() {
        3
    } else {
        2
    };
    let sorts = [("rule", "rules"), ("fast route", "fast routes"), ("row", "rows")];
    let mut parts = Vec::new();
    for (sort, (one, many)) in sorts.into_iter().enumerate().take(other) {
        let mut counts: BTreeMap<Action, usize> = BTreeMap::new();
        for row in effect.rows.iter().filter(|row| sort_of(&row.row) == sort) {
            *counts.entry(row.action).or_default() += 1;
        }
        let total: usize = counts.values().sum();
        if total == 0 {
            continue;
        }
        let signed: Vec<String> = counts
            .iter()
            .map(|(action, count)| format!("{}{count}", action.sign()))
            .collect();
        let noun = if total == 1 { one } else { many };
        parts.push(format!("{total} {noun} ({})", signed.join(" ")));
    }
    parts
}

/// `6 h`, `90 s`: the largest unit that leaves no fraction of an hour worth telling.
fn duration(length: Duration) -> String {
    let seconds = length
        .as_secs()
        .saturating_add(u64::from(length.subsec_millis() >= 500));
    let rounded = |unit: u64| seconds.saturating_add(unit / 2) / unit;
    if seconds < 120 {
        format!("{seconds} s")
    } else if rounded(60) < 180 {
        format!("{} min", rounded(60))
    } else if rounded(3600) < 48 {
        format!("{} h", rounded(3600))
    } else {
        format!("{} d", rounded(86_400))
    }
}

/// What stands about limits, approval and expiry; empty parts are left out.
fn safety(plan: &Plan, view: &View<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    match view.refusals {
        Some([]) => parts.push("inside limits".to_owned()),
        Some(refusals) => parts.extend(refusals.iter().map(|refusal| value::plain(&refusal.message))),
        None => {}
    }
    let left = plan.expires_at.duration_since(view.now);
    parts.push(match Duration::try_from(left) {
        Ok(left) if !left.is_zero() => format!("expires in {}", duration(left)),
        _ => format!("expired {} ago", duration(left.unsigned_abs())),
    });
    parts.push(format!(
        "effects {}",
        plan.effect_digest
            .get(..SHOWN_DIGEST)
            .unwrap_or(&plan.effect_digest)
    ));
    parts
}

/// Several targets in a line: `13 identical, px-b7 unreachable`. None of one target that was reached.
fn targets(plan: &Plan) -> Option<String> {
    let groups = groups(plan);
    let mut parts = match groups.as_slice() {
        [] => Vec::new(),
        [group] if group.targets.len() == 1 => Vec::new(),
        [group] => vec![format!("{} identical", group.targets.len())],
        several => several
            .iter()
            .map(|group| match group.targets.as_slice() {
                [only] => format!("{} by itself", value::plain(&only.name)),
                targets => format!("{} identical", targets.len()),
            })
            .collect(),
    };
    let unreachable = plan.unreachable.iter();
    parts.extend(unreachable.map(|target| format!("{} unreachable", value::plain(&target.name))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `/* tenant=2 */ SELECT 1 of app: two writer → three writer (2 of 16 users, 1 of 400 shards)`, a line for each kind of
/// change; then how many more kinds there are.
fn examples(meaning: &Meaning) -> Vec<String> {
    let mut lines: Vec<String> = meaning.witnesses.iter().map(example).collect();
    if meaning.more_kinds > 0 {
        let noun = if meaning.more_kinds == 1 { "kind" } else { "kinds" };
        lines.push(format!("and {} more {noun} of change", meaning.more_kinds));
    }
    lines
}

fn example(witness: &Witness) -> String {
    let schema = witness.schema.as_ref().map(|schema| format!(" in {schema}"));
    let concerns: Vec<String> = witness.concerns.iter().map(share).collect();
    let concerns = match concerns.is_empty() {
        true => String::new(),
        false => format!(" ({})", concerns.join(", ")),
    };
    value::plain(&format!(
        "{}  of {}{}: {} → {}{concerns}",
        witness.statement,
        witness.user,
        schema.unwrap_or_default(),
        witness.before,
        witness.after
    ))
}

/// `2 of 16 users`
fn share(concern: &Concern) -> String {
    let Concern {
        things,
        concerned,
        total,
    } = concern;
    if concerned == total {
        format!("all {total} {things}")
    } else {
        format!("{concerned} of {total} {things}")
    }
}

/// `2 rules of 412, 0 hostgroups, 0 servers, 0 users`
fn objects(target: &TargetPlan) -> String {
    let counts = &target.counts;
    let mut parts = vec![format!(
        "{} of {}",
        counted(counts.rules.different(), "rule", "rules"),
        counts.rules.total
    )];
    if counts.fast_routes.total > 0 {
        parts.push(format!(
            "{} of {}",
            counted(counts.fast_routes.different(), "fast route", "fast routes"),
            counts.fast_routes.total
        ));
    }
    if counts.shards.total > 0 {
        parts.push(format!(
            "{} of {}",
            counted(counts.shards.different(), "shard", "shards"),
            counts.shards.total
        ));
    }
    parts.push(counted(counts.hostgroups.different(), "hostgroup", "hostgroups"));
    parts.push(counted(counts.servers.different(), "server", "servers"));
    parts.push(counted(counts.users.different(), "user", "users"));
    parts.join(", ")
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `regex evaluations per statement, mean 4.1 → 4.1, worst 9 → 9`
fn cost(target: &TargetPlan) -> Option<String> {
    let cost = target.cost?;
    let mean = |milli: u64| format!("{}.{}", milli / 1000, milli % 1000 / 100);
    Some(format!(
        "regex evaluations per statement, mean {} → {}, worst {} → {}",
        mean(cost.mean_before_milli),
        mean(cost.mean_after_milli),
        cost.worst_before,
        cost.worst_after
    ))
}

/// `no changes: local runs generation 12 already`, for each target of a plan without effects.
fn no_changes(plan: &Plan) -> Vec<String> {
    plan.targets
        .iter()
        .map(|target| {
            format!(
                "no changes: {} runs this configuration as generation {}",
                value::plain(&target.name),
                target.base.generation
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_what_is_left() {
        let second = Duration::from_secs(1);
        for (length, expected) in [
            (Duration::ZERO, "0 s"),
            (90 * second, "90 s"),
            (3599 * second, "60 min"),
            (6 * 3600 * second - Duration::from_millis(1), "6 h"),
            (6 * 3600 * second - second, "6 h"),
            (9000 * second, "150 min"),
            (5 * 3600 * second + 1700 * second, "5 h"),
            (172_799 * second, "2 d"),
            (Duration::MAX, "213503982334601 d"),
        ] {
            assert_eq!(duration(length), expected, "{length:?}");
        }
    }
}
