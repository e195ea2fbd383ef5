//! A bundled proxy that has not seen who writes is told what the project's other proxies do.

use shardwright_plan::{Plan, Target};
use shardwright_rules::Address;
use shardwright_rules::roles::{SisterReport, SisterReports, remembering};
use shardwright_targets::{BundledTarget, Writers};
use shardwright_topology::model;

use super::{Live, Proxy, bundled, side_by_side};
use crate::project::Opened;
use crate::ui::Ui;

/// Where the project's proxies write, each by its name, or that it could not be asked.
type Answers = Vec<(String, Option<Writers>)>;

/// Asks the other proxies of the project about the clusters whose writer a target does not know, and has it told with the plan.
pub(crate) fn tell_writers(plan: &Plan, live: &mut [Live], opened: &Opened, ui: &Ui) {
    let asked = side_by_side(live.iter(), |live| unknown(plan, live));
    let mut answers: Option<Answers> = None;
    for (live, clusters) in live.iter_mut().zip(asked) {
        let Proxy::Bundled(target) = &mut live.proxy else {
            continue;
        };
        if clusters.is_empty() {
            continue;
        }
        let answers = answers.get_or_insert_with(|| ask_all(opened));
        let reports = reports(target, &clusters, answers);
        for (cluster, report) in &reports {
            if let SisterReport::Doubt(doubt) = report {
                ui.message(&format!(
                    "warning: target {}: writes to {cluster} wait: {doubt}",
                    target.name()
                ));
            }
        }
        target.hear(reports);
    }
}

/// The clusters of a plan whose writer depends on what was seen before, and that a target sees no writer of.
fn unknown(plan: &Plan, live: &Live) -> Vec<Address> {
    let change = plan
        .change(live.name())
        .filter(|change| !change.plan.effects.is_empty());
    let (Proxy::Bundled(target), Some(change)) = (&live.proxy, change) else {
        return Vec::new();
    };
    let remembering = remembering(change.desired).map(|watched| watched.cluster.address.clone());
    let remembering: Vec<Address> = remembering.collect();
    if remembering.is_empty() {
        return remembering;
    }
    let known = match target.writers() {
        Ok(Some(known)) => known,
        Ok(None) => return Vec::new(),
        // Who cannot be asked is told everything: a proxy passes over what it knows better.
        Err(_) => Writers::new(),
    };
    let is_unknown = |cluster: &Address| known.get(cluster).is_none_or(Vec::is_empty);
    remembering.into_iter().filter(is_unknown).collect()
}

/// Asks every bundled proxy of the project, also those that are not among the targets of this command.
fn ask_all(opened: &Opened) -> Answers {
    let targets = opened.project.file.targets.iter();
    let targets = targets.filter(|target| target.engine == model::EngineName::Bundled);
    // One whose password is not at hand cannot be asked either.
    let targets = targets.map(|target| (target.name.to_string(), bundled(opened, target).ok()));
    side_by_side(targets, |(name, target)| {
        (name, target.and_then(|target| target.writers().ok()?))
    })
}

/// What the others say of these clusters.
fn reports(target: &BundledTarget, clusters: &[Address], answers: &Answers) -> SisterReports {
    let others = || answers.iter().filter(|(name, _)| name != target.name());
    let report = |cluster: &Address| {
        let of_others = others().map(|(name, writers)| match writers {
            Some(writers) => Ok(writers.get(cluster).cloned().unwrap_or_default()),
            None => Err(name.as_str()),
        });
        Some((cluster.clone(), SisterReport::of(of_others)?))
    };
    clusters.iter().filter_map(report).collect()
}
