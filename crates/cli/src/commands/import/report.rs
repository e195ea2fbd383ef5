//! What an import says: what was written, what is different, what was left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use shardwright_adopt::{Adopted, Difference, Proof, Resisted};

use super::source::Source;
use crate::args::Format;
use crate::error::CommandError;
use crate::ui::{Ui, counted};

/// Lines of one kind that are shown; JSON has them all.
const MOST_SHOWN: usize = 20;
/// Objects whose names stand in one line.
const FEW_OBJECTS: usize = 6;
/// Names of one kind of object; JSON has them all.
const MOST_NAMES: usize = 4;

pub(super) fn print(
    source: &Source,
    adopted: &Adopted,
    directory: &Path,
    files: &[String],
    ui: &Ui,
) -> Result<(), CommandError> {
    if ui.format() == Format::Json {
        return ui.json(&machine(source, adopted, directory, files));
    }
    ui.data(&human(source, adopted, directory))?;
    ui.status(&format!("next: shardwright -C {} validate", directory.display()));
    Ok(())
}

fn machine(source: &Source, adopted: &Adopted, directory: &Path, files: &[String]) -> serde_json::Value {
    let difference = |difference: &Difference| {
        json!({
            "table": difference.table.map(|table| table.name()),
            "what": difference.what,
            "how": difference.how,
            "why": difference.why,
        })
    };
    let differences: Vec<_> = adopted.differences.iter().map(difference).collect();
    let unwritten = adopted.unwritten.iter();
    let unwritten: Vec<_> = unwritten
        .map(|one| json!({"what": one.what, "why": one.why}))
        .collect();
    let inactive = adopted.inactive.iter();
    let inactive: Vec<_> = inactive
        .map(|(id, why)| json!({"rule_id": id, "why": why}))
        .collect();
    let lifts = adopted.lifted.lifts.iter();
    let lifts: Vec<_> = lifts
        .map(|lift| json!({"address": lift.address, "rules": lift.rules}))
        .collect();
    let resisted = adopted.lifted.resisted.iter();
    let resisted: Vec<_> = resisted
        .map(|one| json!({"rule_id": one.rule, "address": one.address, "why": one.why}))
        .collect();
    let open = open(source);
    let (answer, reasons): (&str, &[String]) = match &adopted.proof {
        Proof::Equal if open.is_empty() => ("proved", &[]),
        Proof::Equal => ("undecided", &open),
        Proof::Different(statements) => ("refuted", statements),
        Proof::Open(constructs) => ("undecided", constructs),
    };
    json!({
        "proof": {"answer": answer, "reasons": reasons, "not_covered": adopted.not_covered},
        "lifted": lifts,
        "lifted_rows": adopted.lifted.routes.as_ref().map(|(rows, maps)| json!({"rows": rows, "addresses": maps})),
        "resisted_rows": adopted.lifted.routes_resisted,
        "joined": adopted.lifted.joined,
        "resisted": resisted,
        "source": source.name,
        "directory": directory,
        "files": files,
        "differences": differences,
        "unwritten": unwritten,
        "not_active": inactive,
        "passed_over": passed_over(source),
        "environment": adopted.environment,
    })
}

/// What decides in the source, is not modelled, and may become another thing with the project.
pub(super) fn open(source: &Source) -> Vec<String> {
    let file = &source.file;
    let open = file
        .unmodelled
        .iter()
        .filter(|what| !file.left_as_it_is.contains(what));
    open.cloned().collect()
}

/// What the source holds and nothing of the project says.
fn passed_over(source: &Source) -> Vec<String> {
    let inactive = |message: &&String| !message.ends_with(" is not active");
    let of_file = source.file.beside.passed_over.iter().filter(inactive);
    let unmodelled = source.file.unmodelled.iter();
    of_file.chain(unmodelled).chain(&source.beside).cloned().collect()
}

fn human(source: &Source, adopted: &Adopted, directory: &Path) -> String {
    let mut out = format!("{} → {}\n", source.name, directory.display());
    out += &proof(source, adopted);
    line(&mut out, "written", &written(adopted));
    lifted(&mut out, source, adopted);
    section(&mut out, "kept because", &resisted(adopted));
    section(
        &mut out,
        "different in the engine's tables",
        &differences(adopted),
    );
    let unwritten = adopted.unwritten.iter();
    let unwritten: Vec<String> = unwritten
        .map(|one| format!("{}: {}", one.what, one.why))
        .collect();
    section(&mut out, "not written", &unwritten);
    let refused = adopted
        .inactive
        .iter()
        .filter(|(_, why)| *why != shardwright_adopt::PARKED);
    let refused: Vec<String> = refused.map(|(id, why)| format!("rule {id}: {why}")).collect();
    section(&mut out, "written and not active", &refused);
    section(&mut out, "no part of a project", &passed_over(source));
    if !adopted.secrets.is_empty() {
        let files = counted(adopted.secrets.len(), "file");
        line(
            &mut out,
            "passwords",
            &format!("{files} below secrets/, which only you can read and git ignores"),
        );
    }
    if !adopted.environment.is_empty() {
        line(&mut out, "set", &adopted.environment.join(", "));
    }
    out
}

/// The first line: whether the project sends every statement where the source sends it, and what was not looked at.
fn proof(source: &Source, adopted: &Adopted) -> String {
    let name = &source.name;
    let unmodelled = source.file.unmodelled.iter().chain(&adopted.not_covered);
    let not_covered: Vec<&str> = unmodelled.map(String::as_str).collect();
    let besides = match not_covered.is_empty() {
        true => String::new(),
        false => format!("; not covered: {}", not_covered.join("; ")),
    };
    match &adopted.proof {
        Proof::Equal if open(source).is_empty() => {
            format!("  proved     every statement goes as in {name}{besides}\n")
        }
        Proof::Equal => format!("error: the project is not proved equal to {name}{besides}\n"),
        Proof::Different(statements) => {
            let mut text = format!("error: the project is not equal to {name}{besides}\n");
            for statement in statements {
                text += &format!("  {statement}\n");
            }
            text
        }
        Proof::Open(constructs) => {
            let constructs = constructs.join("; ");
            format!("error: the project is not proved equal to {name}: not decided: {constructs}{besides}\n")
        }
    }
}

/// How many rules became what, and how many stayed.
fn lifted(out: &mut String, source: &Source, adopted: &Adopted) {
    let lifts = &adopted.lifted.lifts;
    let rules: usize = lifts.iter().map(|lift| lift.rules.len()).sum();
    let all = source.file.configuration.graph.rules.len();
    if rules > 0 {
        let objects: Vec<(&str, usize)> = lifts
            .iter()
            .map(|lift| (&*lift.address, lift.rules.len()))
            .collect();
        let text = format!("{rules} of {all} rules");
        if objects.len() <= FEW_OBJECTS {
            line(out, "lifted", &format!("{text}: {}", listed(&objects)));
        } else {
            line(out, "lifted", &text);
            by_kind(out, &objects);
        }
    }
    if let Some((rows, maps)) = &adopted.lifted.routes {
        let rows = match rows {
            1 => "a row".to_owned(),
            rows => format!("{rows} rows"),
        };
        let text = format!("{rows} of fast routing: {}", maps.join(", "));
        line(out, "lifted", &text);
    }
    for joined in &adopted.lifted.joined {
        line(out, "joined", &format!("{joined}, from two hostgroups"));
    }
    if all > rules {
        let raw = adopted
            .built
            .project
            .topology
            .query_rules
            .iter()
            .flat_map(|block| &block.rules);
        let named = raw.filter(|rule| rule.active && rule.cluster.is_some()).count();
        let mut text = format!("{} in the engine's columns", counted(all - rules, "rule"));
        if named > 0 {
            text += &format!(", {named} of them with the name of a cluster");
        }
        line(out, "kept", &text);
    }
}

/// Objects that were made of rules, in one line: `policies.reads (2), routes.reports`.
fn listed(objects: &[(&str, usize)]) -> String {
    let objects = objects.iter().map(|(name, rules)| match rules {
        1 => (*name).to_owned(),
        rules => format!("{name} ({rules})"),
    });
    objects.collect::<Vec<_>>().join(", ")
}

/// The same a line for each kind, with some names: `  14 rules  12 of routes: reports, exports (2), audit and 9 more`.
fn by_kind(out: &mut String, objects: &[(&str, usize)]) {
    let mut kinds: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (address, rules) in objects {
        let (kind, name) = address.split_once('.').unwrap_or((address, address));
        kinds.entry(kind).or_default().push((name, *rules));
    }
    for (kind, objects) in kinds {
        let rules: usize = objects.iter().map(|(_, rules)| rules).sum();
        let shown = listed(&objects[..objects.len().min(MOST_NAMES)]);
        let more = match objects.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = format!("{} of {kind}: {shown}{more}", objects.len());
        writeln!(out, "    {:<9} {what}", counted(rules, "rule")).expect("writing to a string cannot fail");
    }
}

/// Rules that resisted: those of one kind of object together with the reason of the first, and those of one reason together.
fn resisted(adopted: &Adopted) -> Vec<String> {
    let mut by_kind: BTreeMap<(Option<&str>, &str), Vec<&Resisted>> = BTreeMap::new();
    for one in &adopted.lifted.resisted {
        let key = match &one.address {
            Some(address) => (
                Some(address.rsplit_once('.').map_or(&**address, |(kind, _)| kind)),
                "",
            ),
            None => (None, &*one.why),
        };
        by_kind.entry(key).or_default().push(one);
    }
    let line = |((kind, _), all): ((Option<&str>, &str), Vec<&Resisted>)| {
        let first = all.first().expect("a kind has a rule");
        let ids: Vec<u32> = all.iter().map(|one| one.rule).collect();
        match (kind, &first.address, ids.as_slice()) {
            (_, Some(address), [id]) => format!("rule {id} as {address}: {}", first.why),
            (Some(kind), _, ids) => {
                format!(
                    "rules {} as {kind}; rule {}: {}",
                    ranges(ids),
                    first.rule,
                    first.why
                )
            }
            (None, _, [id]) => format!("rule {id}: {}", first.why),
            (None, _, ids) => format!("rules {}: {}", ranges(ids), first.why),
        }
    };
    let rows = adopted.lifted.routes_resisted.iter();
    let rows = rows.map(|why| format!("rows of fast routing as shard_maps: {why}"));
    by_kind.into_iter().map(line).chain(rows).collect()
}

/// `1, 4-7, 9`
fn ranges(ids: &[u32]) -> String {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    let range = |(first, last): (u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(", ")
}

fn line(out: &mut String, label: &str, text: &str) {
    writeln!(out, "  {label:<10} {text}").expect("writing to a string cannot fail");
}

fn section(out: &mut String, label: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    writeln!(out, "{label}: {}", lines.len()).expect("writing to a string cannot fail");
    for line in lines.iter().take(MOST_SHOWN) {
        writeln!(out, "  {line}").expect("writing to a string cannot fail");
    }
    if lines.len() > MOST_SHOWN {
        let more = lines.len() - MOST_SHOWN;
        writeln!(out, "  and {more} more: --format json has them all")
            .expect("writing to a string cannot fail");
    }
}

fn written(adopted: &Adopted) -> String {
    let topology = &adopted.built.project.topology;
    let blocks = &topology.query_rules;
    let count = |each: &dyn Fn(&shardwright_topology::model::RuleBlock) -> usize| -> usize {
        blocks.iter().map(each).sum()
    };
    let servers: usize = topology
        .clusters
        .iter()
        .map(|cluster| cluster.servers.len())
        .sum();
    let counts = [
        (topology.clusters.len(), "cluster"),
        (servers, "server"),
        (topology.users.len(), "user"),
        (count(&|block| block.rules.len()), "rule"),
        (count(&|block| block.fast_routing.len()), "row of fast routing"),
        (topology.listeners.len(), "listener"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, noun)| match noun {
            "row of fast routing" if count != 1 => format!("{count} rows of fast routing"),
            noun => counted(count, noun),
        })
        .collect();
    counts.join(", ")
}

/// Differences by their reason: what has one is told once for all.
fn differences(adopted: &Adopted) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&Difference>> = BTreeMap::new();
    let mut lines = Vec::new();
    for difference in &adopted.differences {
        match difference.why {
            Some(why) => by_reason.entry(why).or_default().push(difference),
            None => lines.push(one(difference)),
        }
    }
    for (why, differences) in by_reason {
        lines.extend(
            differences
                .into_iter()
                .map(|difference| format!("{} ({why})", one(difference))),
        );
    }
    lines
}

fn one(difference: &Difference) -> String {
    match difference.table {
        Some(table) => format!("{} {}: {}", table.name(), difference.what, difference.how),
        None => format!("{}: {}", difference.what, difference.how),
    }
}
