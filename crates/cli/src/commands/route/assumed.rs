//! What an answer assumes about the session if the command line does not set it.

use shardwright_import::fast_forward_message;
use shardwright_rules::{Body, Configuration, EngineRule};
use shardwright_simulation::script::Sent;

use crate::args::Route;
use crate::rule_set::RuleSet;

/// Whether the rules depend on an unknown part of the session, and what was assumed for it.
#[derive(Default)]
pub(crate) struct Assumed {
    /// In words, human-readable.
    pub(crate) lines: Vec<String>,
    /// A rule was taken to match because the client's address is not known: another client may go elsewhere.
    pub(crate) decides: bool,
}

impl Assumed {
    /// What the rule set says that this program does not read, as far as it may decide about a session of this user.
    pub(crate) fn unread(set: &RuleSet, user: &str) -> Self {
        let of_others = set.fast_forward.iter().filter(|other| other.as_str() != user);
        let of_others: Vec<String> = of_others.map(|other| fast_forward_message(other)).collect();
        let lines: Vec<String> = set
            .unmodelled
            .iter()
            .filter(|what| !of_others.contains(what))
            .cloned()
            .collect();
        Self {
            decides: !lines.is_empty(),
            lines,
        }
    }

    pub(crate) fn of(args: &Route, configuration: &Configuration, sent: &Sent) -> Self {
        let mut assumed = Self::default();
        let rows = || {
            configuration
                .graph
                .rules
                .iter()
                .filter_map(|rule| match &rule.body {
                    Body::Engine(row) => Some(row),
                    Body::Native { .. } => None,
                })
        };
        let matched = || {
            let rules = &configuration.graph.rules;
            sent.decision.hits.iter().filter_map(|position| {
                let rule = &rules[*position as usize];
                match &rule.body {
                    Body::Engine(row) => Some((rule.id, row)),
                    Body::Native { .. } => None,
                }
            })
        };
        if args.client.is_none() {
            let taken = matched().find(|(_, row)| names_client(row));
            if let Some((id, row)) = taken {
                assumed.decides = true;
                assumed.lines.push(format!(
                    "a client that rule {id} matches ({}); --client ADDRESS sets another",
                    row.client_addr.as_deref().unwrap_or_default()
                ));
            }
        }
        if args.listener.is_none() && rows().any(|row| names_listener(row)) {
            assumed
                .lines
                .push("no listener: rules for a port do not match; --listener PORT sets one".to_owned());
        }
        let user = args.user.as_deref().unwrap_or_default();
        let own = configuration
            .user(user)
            .and_then(|user| user.default_schema.as_deref());
        if args.schema.is_none()
            && own.is_none()
            && let Some(schema) = configuration.default_schema(user)
            && sent.schema.as_deref() == Some(schema)
            && rows().any(|row| names_schema(row))
        {
            assumed
                .lines
                .push(format!("the default schema {schema}; --schema NAME sets another"));
        }
        assumed
    }
}

/// Whether a rule is for some clients and not for others.
fn names_client(row: &EngineRule) -> bool {
    row.client_addr
        .as_deref()
        .is_some_and(|wanted| !wanted.is_empty() && !wanted.starts_with('%'))
}

fn names_listener(row: &EngineRule) -> bool {
    row.proxy_port.is_some() || row.proxy_addr.as_deref().is_some_and(|wanted| !wanted.is_empty())
}

fn names_schema(row: &EngineRule) -> bool {
    row.schemaname.as_deref().is_some_and(|wanted| !wanted.is_empty())
}
