//! `explain ADDRESS`: where an object is written, and how it was compiled.

use shardwright_compiler::{Explanation, SplitCost, Splits};
use shardwright_diagnostics::did_you_mean;
use shardwright_rules::Address;

use super::{Asked, server, user};
use crate::args::{Explain, Format, Global};
use crate::error::{CommandError, takes_no_file};
use crate::exit::Exit;
use crate::placement::placement;
use crate::project::{self, Built, Opened};
use crate::ui::{Ui, counted};

pub(super) fn run(args: &Explain, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let address = resolve(&opened, &args.what)?;
    let engine = opened.engine(args.engine.as_deref())?;
    let built = opened.build_to_ask(engine, ui)?;
    let asked = Asked {
        opened: &opened,
        built: &built,
    };
    if let Some(user) = built
        .configuration
        .users
        .iter()
        .find(|user| user.address == address)
    {
        return user::page(&asked, user).on(engine).show(ui);
    }
    if address.as_str().starts_with("clusters.") && address.as_str().contains(".servers.") {
        return server::find(&asked, address.as_str())?.on(engine).show(ui);
    }
    let explained = built.compiled.explain(address.as_str()).ok_or_else(|| {
        let place = opened.origin(&address).unwrap_or_default();
        CommandError::usage(format!("{address}, at {place}, has no rules for {engine}")).hint(format!(
            "shardwright validate --show resolved {address} prints its resolved value"
        ))
    })?;
    if ui.format() == Format::Json {
        ui.json(&explained)?;
    } else {
        ui.data(&text(&opened, &built, &explained, ui))?;
    }
    Ok(Exit::Done)
}

/// Rules that are listed one by one.
const MAX_RULES: usize = 12;

fn text(opened: &Opened, built: &Built, explained: &Explanation, ui: &Ui) -> String {
    let origin = opened.origin(&explained.address).unwrap_or_default();
    let mut lines = vec![format!("{}  {origin}", ui.strong(explained.address.as_str()))];
    lines.extend(placement(&built.configuration, &explained.address));
    if !explained.rules.is_empty() {
        lines.push(format!("compiled to {}", counted(explained.rules.len(), "rule")));
    }
    for rule in explained.rules.iter().take(MAX_RULES) {
        let summary = rule.summary.as_ref().map(|summary| format!(": {summary}"));
        lines.push(format!(
            "  rule {:<8} chain {:<6} {}{}",
            rule.id,
            rule.flag_in,
            rule.address,
            summary.unwrap_or_default()
        ));
    }
    if explained.rules.len() > MAX_RULES {
        lines.push(format!(
            "  and {} more; shardwright compile --emit tree shows them all",
            explained.rules.len() - MAX_RULES
        ));
    }
    if let Some(reason) = &explained.reason {
        lines.push(format!("chosen because {reason}"));
    }
    if !explained.candidates.is_empty() {
        lines.push(format!(
            "{:<16}{:>12}{:>12}{:>12}{:>8}{:>8}",
            "layout alone", "evaluations", "visits", "cost ns", "rules", "chains"
        ));
    }
    for layout in &explained.candidates {
        lines.push(format!(
            "{:<16}{:>12.2}{:>12.2}{:>12.0}{:>8}{:>8}",
            layout.name,
            layout.mean_evaluations,
            layout.mean_visits,
            layout.mean_cost_ns,
            layout.rules,
            layout.chains
        ));
    }
    if !explained.candidates.is_empty()
        && let Some(map) = explained.address.as_str().strip_prefix("shard_maps.")
        && let Some(stats) = built.compiled.stats.shard_maps.get(map)
    {
        lines.push(format!(
            "including the rules before it, which every layout has: {:.2} evaluations, {:.2} visits, {:.0} ns; costs are for texts of {} bytes",
            stats.mean_evaluations, stats.mean_visits, stats.mean_cost_ns, built.compiled.stats.text_bytes
        ));
    }
    lines.extend(explained.splits.iter().flat_map(splits));
    lines.join("\n") + "\n"
}

fn splits(compared: &Splits) -> Vec<String> {
    let head = format!(
        "{:<20}{:>12}{:>12}{:>12}{:>12}{:>12}{:>8}{:>8}",
        "reads and writes", "evaluations", "visits", "cost ns", "per read", "per write", "rules", "chains"
    );
    let row = |split: &SplitCost| {
        format!(
            "{:<20}{:>12.2}{:>12.2}{:>12.0}{:>12.0}{:>12.0}{:>8}{:>8}",
            split.name,
            split.mean_evaluations,
            split.mean_visits,
            split.mean_cost_ns,
            split.read_ns,
            split.write_ns,
            split.rules,
            split.chains
        )
    };
    let rows = compared.candidates.iter().map(row);
    [compared.reason.clone(), head].into_iter().chain(rows).collect()
}

/// The address that users mean: in full, `map/shard`, or a name that one thing has.
fn resolve(opened: &Opened, what: &str) -> Result<Address, CommandError> {
    let long = match what.split_once('/') {
        Some((map, shard)) => format!("shard_maps.{map}.shards.{shard}"),
        None => what.to_owned(),
    };
    if opened.find(&long).is_some() {
        return Ok(Address::new(long));
    }
    let known: Vec<String> = opened.addresses().collect();
    let named: Vec<&String> = known
        .iter()
        .filter(|address| address.rsplit_once('.').is_some_and(|(_, name)| name == what))
        .collect();
    match named[..] {
        [] => {}
        [one] => return Ok(Address::new(one.as_str())),
        [one, other, ..] => {
            let error = CommandError::usage(format!("{} objects have the name {what}", named.len()));
            return Err(error.hint(format!("write {one} or {other}")));
        }
    }
    if std::path::Path::new(what).exists() {
        return Err(takes_no_file(what, "explain"));
    }
    let error = CommandError::usage(format!("no object has the address {what}"));
    Err(match did_you_mean(&long, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error
            .hint("addresses look like shard_maps.tenants, tenants/t137, clusters.pay, or codes like SW201"),
    })
}
