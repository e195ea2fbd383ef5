//! One target of an apply that is taken back: by its rows, or by the configuration of before.

use std::sync::Arc;
use std::time::Duration;

use shardwright_plan::safety::{self, Limits, Refusal};
use shardwright_plan::{ApplyReport, Effect, LiveServers, Outcome, Plan, Target, TargetPlan, apply_allowing};
use shardwright_targets::WayBack;
use shardwright_targets::proxysql::End;

use crate::clock;
use crate::live::{Part, Proxy};

/// What taking back a part would change.
pub(super) struct Preview {
    pub(super) way: Way,
}

/// The environment of a plan, and how long it can be applied.
type OfPlan<'p> = (Option<&'p str>, Duration);

/// How a part goes back.
pub(super) enum Way {
    /// It does not have to, for this reason.
    Nothing(String),
    /// A run that was cut off is brought back to its beginning.
    Finish,
    /// The rows of a ProxySQL are written again.
    Rows {
        effects: Vec<Effect>,
        servers: LiveServers,
    },
    /// A bundled proxy is given its former configuration.
    Whole { plan: Box<Plan> },
}

impl Preview {
    pub(super) fn effects(&self) -> &[Effect] {
        match &self.way {
            Way::Nothing(_) | Way::Finish => &[],
            Way::Rows { effects, .. } => effects,
            Way::Whole { plan } => plan.targets.first().map_or(&[], |part| &part.effects),
        }
    }

    /// Whether the run was applied, so that somebody is asked first.
    pub(super) fn is_of_applied(&self) -> bool {
        matches!(self.way, Way::Rows { .. } | Way::Whole { .. })
    }

    /// The limits that it would break.
    pub(super) fn refusals(&self, target: &str, limits: &Limits, allowed: &[String]) -> Vec<Refusal> {
        let servers = match &self.way {
            Way::Nothing(_) | Way::Finish => return Vec::new(),
            Way::Rows { servers, .. } => Some(servers),
            Way::Whole { .. } => None,
        };
        safety::check_taking_back(target, self.effects(), servers, limits, allowed)
    }
}

impl Part {
    /// What taking it back would change. Of a whole apply, a part that changed nothing, or is back already, is passed over.
    ///
    /// # Errors
    /// How it would end instead.
    pub(super) fn preview(
        &mut self,
        of_plan: OfPlan<'_>,
        is_whole: bool,
    ) -> Result<Preview, Box<ApplyReport>> {
        let name = &self.run.head.identity.run;
        if let Some(why) = self.is_over().filter(|_| is_whole) {
            return Ok(Preview {
                way: Way::Nothing(why),
            });
        }
        let is_open = self.run.is_open();
        let way = match &mut self.live.proxy {
            Proxy::ProxySql(_) if is_open => Way::Finish,
            Proxy::ProxySql(target) => {
                let (effects, servers) = target.preview_of_taking_back(name)?;
                Way::Rows { effects, servers }
            }
            Proxy::Bundled(target) => match target.way_back(name) {
                Ok(way) => Way::Whole {
                    plan: Box::new(plan(target.name(), way, of_plan)),
                },
                // It was cut off before it was sent.
                Err(report) if is_whole && is_open && report.outcome == Outcome::Refused => {
                    Way::Nothing(report.message)
                }
                Err(report) => return Err(report),
            },
        };
        Ok(Preview { way })
    }

    fn is_over(&self) -> Option<String> {
        match (&self.taken_back_by, self.run.end()) {
            (Some(run), _) => Some(format!("run {run} took it back")),
            (None, Some((End::Refused | End::Restored, message))) => Some(message.to_owned()),
            (None, _) => None,
        }
    }

    pub(super) fn take_back(&mut self, preview: &Preview, allowed: &[String]) -> ApplyReport {
        let name = self.run.head.identity.run.clone();
        match (&mut self.live.proxy, &preview.way) {
            (Proxy::ProxySql(target), Way::Finish) => {
                target.finish(&name, shardwright_targets::proxysql::Way::Back)
            }
            (Proxy::ProxySql(target), _) => target.take_back(&name),
            (Proxy::Bundled(target), Way::Whole { plan }) => {
                let report = apply_allowing(plan, target, allowed);
                let message = match report.outcome.is_success() {
                    true => format!("run {name} is taken back: {}", report.message),
                    false => report.message,
                };
                ApplyReport {
                    plan: name,
                    message,
                    ..report
                }
            }
            (Proxy::Bundled(target), _) => {
                ApplyReport::not_begun(&name, target.name(), "there is nothing to take back")
            }
        }
    }
}

/// The plan that gives a bundled proxy its former configuration.
fn plan(target: &str, way: WayBack, (environment, expiry): OfPlan<'_>) -> Plan {
    let part = TargetPlan::new(target, &way.observed, &way.before, Vec::new());
    let part = part.for_project(way.project.as_deref());
    let parts = vec![(part, Arc::new(way.before))];
    Plan::new(environment.map(str::to_owned), clock::now(), expiry, None, parts)
}
