//! The answer of `route` about one statement, human-readable and as JSON.

use std::collections::BTreeSet;

use serde::Serialize;
use shardwright_diagnostics::shortened;
use shardwright_prover::properties::shard_of;
use shardwright_rules::{Decision, Effects, Outcome};
use shardwright_simulation::Visit;
use shardwright_simulation::supposed::Servers;

use super::assumed::Assumed;
use super::supposed;
use crate::rule_set::RuleSet;
use crate::ui::{Ui, printable};

/// Rules that did not match, shown between two that did.
const MOST_SKIPPED: usize = 6;

/// Why an answer is unsure that ends in a comment.
const OPEN_COMMENT: &str =
    "the statement ends inside a comment, and the engine reads annotations from the memory after it";

/// Characters of a rule's conditions; compiled patterns have thousands.
const MOST_OF_WHY: usize = 160;

/// `route --format json`; keys are only ever added.
#[derive(Serialize)]
pub(crate) struct Answer {
    pub(crate) outcome: &'static str,
    pub(crate) hostgroup: Option<u32>,
    cluster: Option<String>,
    role: Option<String>,
    shard: Option<String>,
    pub(crate) query: String,
    #[serde(skip)]
    rewritten: bool,
    backend_schema: Option<String>,
    /// Tables that are assumed to be base tables; the proxy asks their server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumed_base_tables: Vec<String>,
    /// Key columns that are assumed to compare keys as their map does; the proxy asks their server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumed_key_columns: Vec<String>,
    delay_ms: u32,
    multiplex: bool,
    effects: Effects,
    error: Option<Refused>,
    /// With `--if`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    servers: Option<Servers>,
    evaluations: u32,
    visits: u32,
    /// Rules whose patterns could not be evaluated; the engine may decide differently.
    undecided: Vec<u32>,
    /// What is taken for granted about the session, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumed: Vec<String>,
    /// The answer depends on an assumption, or on the memory of the engine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unsure: bool,
    /// The engine answers, regardless of rules.
    #[serde(skip)]
    is_own: bool,
    path: Vec<Step>,
}

#[derive(Serialize)]
struct Refused {
    code: u16,
    message: String,
}

#[derive(Serialize)]
struct Step {
    rule_id: u32,
    address: String,
    file: Option<String>,
    line: Option<u32>,
    matched: bool,
    why: String,
    flag_out: Option<u32>,
    /// It does not depend on the statement: every statement that reaches the rule ends there.
    #[serde(skip)]
    only_ends: bool,
}

impl Answer {
    /// The result of `sql`, with its path through the rules.
    pub(crate) fn new(set: &RuleSet, sql: &[u8], decision: &Decision, visits: &[Visit]) -> Self {
        let mut answer = Self {
            outcome: "route",
            hostgroup: None,
            cluster: None,
            role: None,
            shard: None,
            query: String::from_utf8_lossy(sql).into_owned(),
            rewritten: false,
            backend_schema: None,
            assumed_base_tables: Vec::new(),
            assumed_key_columns: Vec::new(),
            delay_ms: 0,
            multiplex: true,
            effects: Effects::default(),
            error: None,
            servers: None,
            evaluations: decision.evaluations,
            visits: decision.visits,
            undecided: undecided(set, decision),
            assumed: decision
                .unsure
                .then(|| OPEN_COMMENT.to_owned())
                .into_iter()
                .collect(),
            unsure: decision.unsure,
            is_own: matches!(decision.outcome, Outcome::Own { .. }),
            path: visits.iter().map(|visit| Step::new(set, visit)).collect(),
        };
        match &decision.outcome {
            Outcome::Route(route) => {
                answer.hostgroup = Some(route.hostgroup.0);
                answer.cluster = route.cluster.as_ref().map(ToString::to_string);
                answer.role = route.role.map(|role| role.to_string());
                let by_rules = || shard_of(&set.configuration, decision);
                answer.shard = route
                    .shard
                    .clone()
                    .or_else(by_rules)
                    .map(|shard| shard.to_string());
                if let Some(text) = &route.rewritten {
                    answer.query = String::from_utf8_lossy(text).into_owned();
                    answer.rewritten = text[..] != *sql;
                }
                answer.backend_schema = route.backend_schema.as_ref().map(ToString::to_string);
                let assumed = route.assumed.iter().filter(|table| !table.is_stated);
                answer.assumed_base_tables = assumed
                    .map(|table| format!("{}.{}", table.schema, table.table))
                    .collect();
                let keys = route.assumed.iter().filter_map(|table| {
                    let key = table.key.as_ref()?;
                    Some(format!("{}.{}.{}", table.schema, table.table, key.column))
                });
                answer.assumed_key_columns = keys.collect();
                answer.delay_ms = route.effects.certain_delay_ms().unwrap_or(0);
                answer.multiplex = route.effects.multiplex != Some(0);
                answer.effects = route.effects.clone();
            }
            Outcome::Reject(rejection) => {
                answer.outcome = "reject";
                answer.error = Some(Refused {
                    code: rejection.code,
                    message: rejection.message.clone(),
                });
            }
            Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => answer.outcome = "answer",
        }
        answer
    }

    /// The same answer with what it takes for granted.
    pub(crate) fn assuming(mut self, assumed: Assumed) -> Self {
        self.unsure |= assumed.decides;
        self.assumed.extend(assumed.lines);
        self
    }

    /// The same answer with the servers that take it.
    pub(crate) fn served_by(self, servers: Option<Servers>) -> Self {
        Self { servers, ..self }
    }

    /// Where it goes, in a few words: `shop-02 writer (hostgroup 1004)`.
    pub(crate) fn destination(&self) -> String {
        match (&self.error, self.hostgroup) {
            (Some(refused), _) => format!("error {}: {}", refused.code, printable(&refused.message)),
            (None, Some(hostgroup)) => match (&self.cluster, &self.role) {
                (Some(cluster), Some(role)) => format!("{cluster} {role} (hostgroup {hostgroup})"),
                _ => format!("hostgroup {hostgroup}"),
            },
            (None, None) => "by the proxy".to_owned(),
        }
    }

    /// Its other effects, in words: `delayed`, `700 ms`.
    pub(crate) fn effects(&self) -> Vec<(&'static str, String)> {
        let effects = &self.effects;
        let ms = |what, value: Option<u32>| value.filter(|ms| *ms > 0).map(|ms| (what, format!("{ms} ms")));
        let flag =
            |what, value: Option<bool>| value.map(|on| (what, if on { "yes" } else { "no" }.to_owned()));
        let kept = match effects.multiplex {
            Some(0) => Some(("pooling", "the connection stays with the session".to_owned())),
            Some(2) => Some(("pooling", "its variables do not keep the connection".to_owned())),
            _ => None,
        };
        let said = [
            ms("delayed", effects.delay_ms),
            ms("cached", effects.cache_ttl_ms),
            // It sets how results are cached; empty means no caching.
            flag(
                "if empty",
                effects
                    .cache_empty_result
                    .filter(|_| effects.cache_ttl_ms.unwrap_or(0) > 0),
            ),
            ms("timeout", effects.timeout_ms),
            effects.retries.map(|retries| ("retries", retries.to_string())),
            effects
                .mirror_hostgroup
                .map(|copy| ("copied to", format!("hostgroup {copy}"))),
            effects.causal.then(|| {
                (
                    "waits for",
                    "what its session has written, or goes to the writer".to_owned(),
                )
            }),
            flag("logged", effects.log),
            effects
                .next_query_flag_in
                .map(|flag| ("next in", format!("chain {flag}"))),
            kept,
        ];
        let throttled = effects
            .throttles
            .iter()
            .map(|throttled| ("throttled", throttled.throttle.to_string()));
        said.into_iter().flatten().chain(throttled).collect()
    }

    /// The deciding step: the last one that does more than end.
    fn decides(&self) -> Option<&Step> {
        self.path
            .iter()
            .rev()
            .find(|step| step.matched && !step.only_ends)
    }

    fn headline(&self, ui: &Ui) -> String {
        let verb = match (&self.error, self.hostgroup) {
            _ if self.unsure || !self.undecided.is_empty() => "undecided, perhaps",
            (Some(_), _) => "refused",
            (None, Some(_)) => "goes to",
            (None, None) => "answered",
        };
        format!("{} {}", ui.strong(verb), self.destination())
    }

    /// The human-readable lines.
    pub(crate) fn lines(&self, ui: &Ui) -> Vec<String> {
        let mut lines = vec![self.headline(ui)];
        lines.extend(self.undecided.iter().map(|id| {
            format!(
                "  undecided what rule {id} matches cannot be evaluated here; the engine may decide differently"
            )
        }));
        lines.extend(self.assumed.iter().map(|what| format!("  assumed   {what}")));
        lines.extend(self.servers.iter().flat_map(supposed::lines));
        lines.extend(self.shard.as_ref().map(|shard| format!("  shard     {shard}")));
        lines.extend(
            self.rewritten
                .then(|| format!("  sent as   {}", printable(&self.query))),
        );
        let schema = self.backend_schema.as_ref();
        lines.extend(schema.map(|schema| format!("  in schema {schema}")));
        lines.extend(
            self.assumed_base_tables
                .iter()
                .map(|table| format!("  assuming  {} is a base table, not a view", printable(table))),
        );
        lines.extend(
            self.assumed_key_columns
                .iter()
                .map(|column| format!("  assuming  {} compares keys as the map does", printable(column))),
        );
        lines.extend(
            self.effects()
                .into_iter()
                .map(|(what, how)| format!("  {what:<9} {how}")),
        );
        let counts = format!(
            "  {} patterns evaluated, {} rules visited",
            self.evaluations, self.visits
        );
        lines.push(ui.faint(&counts));
        lines.push(match (self.decides().is_some(), &self.error) {
            _ if self.is_own => "because the engine answers this itself, regardless of rules".to_owned(),
            (false, None) => "because no rule matched: it goes to the user's cluster".to_owned(),
            (false, Some(_)) => "because it is refused before any rule".to_owned(),
            (true, _) => "because".to_owned(),
        });
        let steps: Vec<&Step> = self
            .path
            .iter()
            .filter(|step| ui.is_verbose() || !step.only_ends)
            .collect();
        for gap in steps.chunk_by(|a, b| !a.matched && !b.matched) {
            lines.extend(shown(gap, ui));
        }
        lines
    }
}

/// A rule that matched, or the last of those that did not before the next one that did.
fn shown(gap: &[&Step], ui: &Ui) -> Vec<String> {
    let (hidden, most) = match ui.is_verbose() {
        true => (0, usize::MAX),
        false => (gap.len().saturating_sub(MOST_SKIPPED), MOST_OF_WHY),
    };
    let mut lines = Vec::new();
    if hidden > 0 {
        lines.push(ui.faint(&format!("  - {hidden} rules that do not match (-v shows them)")));
    }
    for step in &gap[hidden..] {
        let place = match (&step.file, step.line) {
            (Some(file), Some(line)) => format!("  {file}:{line}"),
            _ => String::new(),
        };
        let jump = step
            .flag_out
            .map(|flag| format!(" → chain {flag}"))
            .unwrap_or_default();
        let why = shortened(&step.why, most);
        let why = printable(&why);
        if step.matched {
            lines.push(format!(
                "  rule {} {}{place}\n       {why}{jump}",
                step.rule_id, step.address
            ));
        } else {
            lines.push(ui.faint(&format!(
                "  - rule {} {}{place}: {why}",
                step.rule_id, step.address
            )));
        }
    }
    lines
}

/// The ids of the rules whose patterns could not be evaluated, each once.
fn undecided(set: &RuleSet, decision: &Decision) -> Vec<u32> {
    let rules = &set.configuration.graph.rules;
    let ids = decision
        .unknown
        .iter()
        .map(|position| rules[*position as usize].id);
    ids.collect::<BTreeSet<u32>>().into_iter().collect()
}

impl Step {
    fn new(set: &RuleSet, visit: &Visit) -> Self {
        let (rule_id, address, matched, why, flag_out) = match visit {
            Visit::Matched(step) => (step.rule_id, &step.address, true, &*step.why, step.flag_out),
            Visit::Skipped {
                rule_id,
                address,
                why,
                ..
            } => (*rule_id, address, false, why.as_str(), None),
        };
        let place = set.file_and_line(address);
        Self {
            rule_id,
            address: address.to_string(),
            file: place.as_ref().map(|(file, _)| file.clone()),
            line: place.map(|(_, line)| line),
            matched,
            why: why.to_owned(),
            flag_out,
            only_ends: matched && set.configuration.only_ends(rule_id),
        }
    }
}

impl Answer {
    /// ` by shard_maps.tenants (topology/shop.yaml:31)`: the last rule that matched.
    pub(crate) fn decided_by(&self) -> String {
        let Some(step) = self.decides() else {
            return String::new();
        };
        match (&step.file, step.line) {
            (Some(file), Some(line)) => format!(", by {} ({file}:{line})", step.address),
            _ => format!(", by {}", step.address),
        }
    }
}
