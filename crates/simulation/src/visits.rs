//! The rules that a decision looked at, in order, and why those that did not match did not.

use shardwright_patterns::{ErrorKind, Pattern, PatternError};
use shardwright_rules::decide::{Index, RulePatterns};
use shardwright_rules::{
    Address, Body, Chains, Configuration, Decision, EngineRule, NativeStep, Rule, Scope, SessionView,
    Statement, Step,
};
use shardwright_sql::DigestOptions;

/// A rule that a statement met, or something else that decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visit {
    /// A rule matched, or something else decided, as [`Decision::path`] has it.
    Matched(Step),
    /// A rule of the chain was asked and did not match.
    Skipped {
        /// Its position in the rule graph.
        position: usize,
        /// Its id.
        rule_id: u32,
        /// The object that it came from.
        address: Address,
        /// The first of its conditions that does not hold, human-readable.
        why: String,
    },
}

/// A rule that was asked: its position, and the line of the path that it left if it matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) position: usize,
    pub(crate) step: Option<usize>,
}

/// Every rule that was asked before a decision with a path, in order.
pub(crate) fn asked(
    configuration: &Configuration,
    chains: &Chains,
    session: &SessionView<'_>,
    decision: &Decision,
) -> Vec<Asked> {
    let rules = &configuration.graph.rules;
    let mut flag = session.next_query_flag_in.unwrap_or(0);
    let mut budget = configuration.settings.query_processor_iterations;
    let (mut from, mut visits, mut step) = (0, 0_usize, 0);
    let mut hits = decision.hits.iter().map(|hit| *hit as usize).peekable();
    let mut asked = Vec::new();
    while let Some(position) = chains.next(flag, from) {
        visits += position - from + 1;
        // What ended the evaluation was the last that was visited.
        if visits > decision.visits as usize {
            break;
        }
        from = position + 1;
        if hits.peek() != Some(&position) {
            asked.push(Asked { position, step: None });
            continue;
        }
        hits.next();
        let id = rules[position].id;
        while decision.path.get(step).is_some_and(|line| line.rule_id != id) {
            step += 1;
        }
        asked.push(Asked {
            position,
            step: Some(step),
        });
        let jump = decision.path.get(step).and_then(|line| line.flag_out);
        step += 1;
        let applies = matches!(&rules[position].body, Body::Engine(row) if row.apply);
        if applies {
            break;
        }
        if let Some(next) = jump {
            flag = next;
            if budget > 0 {
                budget -= 1;
                from = 0;
            }
        }
    }
    asked
}

/// All that a statement met: what matched, and between it what did not and why. `decision` has a path.
pub fn visits(
    index: &impl Index,
    session: &SessionView<'_>,
    statement: &Statement<'_>,
    decision: &Decision,
) -> Vec<Visit> {
    let configuration = index.configuration();
    let chains = Chains::of(&configuration.graph.rules);
    let mut visits = Vec::new();
    let mut shown = 0;
    for Asked { position, step } in asked(configuration, &chains, session, decision) {
        match step {
            Some(step) => {
                let until = (step + 1).min(decision.path.len());
                visits.extend(decision.path[shown..until].iter().cloned().map(Visit::Matched));
                shown = until;
            }
            None => {
                let rule = &configuration.graph.rules[position];
                visits.push(Visit::Skipped {
                    position,
                    rule_id: rule.id,
                    address: rule.address.clone(),
                    why: why_not(
                        rule,
                        index.patterns(position),
                        session,
                        statement,
                        configuration.digests(),
                    ),
                });
            }
        }
    }
    visits.extend(decision.path[shown..].iter().cloned().map(Visit::Matched));
    visits
}

/// The first condition of a rule that does not hold; of the rule's conditions, that on the text comes last.
fn why_not(
    rule: &Rule,
    patterns: &RulePatterns,
    session: &SessionView<'_>,
    statement: &Statement<'_>,
    digests: Option<DigestOptions>,
) -> String {
    match &rule.body {
        Body::Engine(row) => row_fails(row, patterns, session, statement, digests),
        Body::Native { scope, step } => scope_fails(scope, session).unwrap_or_else(|| match step {
            NativeStep::Map(map) => format!("no {} was found in the statement", map.key),
            NativeStep::Role(_) => "not a read that may leave the writer".to_owned(),
            NativeStep::Delay(_) | NativeStep::Throttle(_) | NativeStep::NoMultiplex => {
                "the statement is not one of those".to_owned()
            }
            NativeStep::StopIfPlaced => "nothing has placed the statement".to_owned(),
        }),
    }
}

fn row_fails(
    row: &EngineRule,
    patterns: &RulePatterns,
    session: &SessionView<'_>,
    statement: &Statement<'_>,
    digests: Option<DigestOptions>,
) -> String {
    if let Some(why) = session_fails(row, session) {
        return why;
    }
    let digest = digests.map(|options| statement.digest_under(&options));
    if let (Some(wanted), Some(digest)) = (row.digest, &digest)
        && wanted != digest.hash
    {
        return format!("digest is not 0x{wanted:016X}");
    }
    let verb = if row.negate_match_pattern {
        "matches, which the rule negates:"
    } else {
        "does not match:"
    };
    if let (Some(text), Some(pattern), Some(digest)) =
        (&row.match_digest, patterns.of_digest().first(), &digest)
    {
        if let Err(error) = pattern {
            return refused("match_digest", error);
        }
        if let Some(why) = given_up("match_digest", pattern, &digest.text) {
            return why;
        }
        if matches(pattern, &digest.text) == row.negate_match_pattern {
            return format!("match_digest {verb} {text}");
        }
    }
    match (&row.match_pattern, patterns.of_text().first()) {
        (Some(_), Some(Err(error))) => refused("match_pattern", error),
        (Some(text), pattern) => pattern
            .and_then(|pattern| given_up("match_pattern", pattern, statement.text()))
            .unwrap_or_else(|| format!("match_pattern {verb} {text}")),
        (None, _) => "its conditions do not hold".to_owned(),
    }
}

fn refused(column: &str, error: &PatternError) -> String {
    if error.kind == ErrorKind::Invalid {
        format!("{column} never matches: {error}")
    } else {
        format!("{column} counts as no match: {error}")
    }
}

fn given_up(column: &str, pattern: &Result<Pattern, PatternError>, text: &[u8]) -> Option<String> {
    let pattern = pattern.as_ref().ok()?;
    let why = || format!("{column} counts as no match: the search was given up");
    pattern.finds(text).is_none().then(why)
}

/// Says which rows, of those that an execution's text passed by, its values would have matched.
pub(crate) fn note_values(index: &impl Index, with_values: &[u8], visits: &mut [Visit]) {
    for visit in visits {
        let Visit::Skipped { position, why, .. } = visit else {
            continue;
        };
        let Body::Engine(row) = &index.configuration().graph.rules[*position].body else {
            continue;
        };
        let pattern = index.patterns(*position).of_text().first();
        let is_it = why.starts_with("match_pattern ")
            && pattern.is_some_and(|pattern| matches(pattern, with_values) != row.negate_match_pattern);
        if is_it {
            why.push_str("; it would match with the values in the text, where an execution has `?`");
        }
    }
}

fn matches(pattern: &Result<Pattern, PatternError>, text: &[u8]) -> bool {
    pattern.as_ref().is_ok_and(|pattern| pattern.is_match(text))
}

/// The condition on sessions that does not hold.
pub(crate) fn session_fails(row: &EngineRule, session: &SessionView<'_>) -> Option<String> {
    let other = |wanted: &Option<String>, actual: Option<&str>| {
        wanted
            .as_deref()
            .filter(|wanted| !wanted.is_empty() && actual != Some(wanted))
            .map(str::to_owned)
    };
    if let Some(user) = other(&row.username, Some(session.user)) {
        return Some(format!("username is not {user}"));
    }
    if let Some(schema) = other(&row.schemaname, session.schema) {
        return Some(format!("schemaname is not {schema}"));
    }
    if let (Some(wanted), Some(actual)) = (
        row.client_addr.as_deref().filter(|wanted| !wanted.is_empty()),
        session.client_addr,
    ) {
        let from = match wanted.split_once('%') {
            Some((prefix, _)) => actual.starts_with(prefix),
            None => actual == wanted,
        };
        if !from {
            return Some(format!("client_addr is not {wanted}"));
        }
    }
    if let (Some(wanted), Some((actual, _))) = (&row.proxy_addr, session.listener)
        && !wanted.is_empty()
        && wanted != actual
    {
        return Some(format!("proxy_addr is not {wanted}"));
    }
    let port = session.listener.map_or(0, |(_, port)| port);
    row.proxy_port
        .filter(|wanted| *wanted != port)
        .map(|wanted| format!("proxy_port is not {wanted}"))
}

pub(crate) fn scope_fails(scope: &Scope, session: &SessionView<'_>) -> Option<String> {
    if !scope.users.contains(session.user) {
        return Some("it is for other users".to_owned());
    }
    if !scope.takes_schema(session.schema) {
        return Some("it is for other schemas".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shardwright_rules::{EngineId, Evaluator};

    use super::*;

    fn set(rules: &[(u32, u32, EngineRule)], iterations: u32) -> Evaluator {
        let mut configuration = Configuration::empty(EngineId::Proxysql27);
        configuration.settings.query_processor_iterations = iterations;
        configuration.graph.rules = rules
            .iter()
            .map(|(id, flag_in, row)| Rule {
                id: *id,
                address: Address::new(format!("rules.{id}")),
                shards: Vec::new(),
                summary: None,
                flag_in: *flag_in,
                body: Body::Engine(Box::new(row.clone())),
            })
            .collect();
        Evaluator::new(Arc::new(configuration))
    }

    fn row(digest: Option<&str>) -> EngineRule {
        EngineRule {
            match_digest: digest.map(str::to_owned),
            ..EngineRule::default()
        }
    }

    fn visited(evaluator: &Evaluator, sql: &str) -> String {
        let session = SessionView {
            user: "app",
            ..SessionView::default()
        };
        let statement = Statement::new(sql.as_bytes(), Default::default());
        let decision = evaluator.decide(&session, &statement);
        let lines = visits(evaluator, &session, &statement, &decision)
            .into_iter()
            .map(|visit| match visit {
                Visit::Matched(step) => format!("{}+", step.rule_id),
                Visit::Skipped { rule_id, why, .. } => format!("{rule_id}- {why}"),
            });
        lines.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn visits_show_what_did_not_match_and_why() {
        let user = EngineRule {
            username: Some("other".into()),
            ..row(None)
        };
        let negated = EngineRule {
            negate_match_pattern: true,
            ..row(Some("^SELECT"))
        };
        let jump = EngineRule {
            flag_out: Some(7),
            ..row(Some("^SELECT"))
        };
        let last = EngineRule {
            destination_hostgroup: Some(3),
            apply: true,
            ..row(None)
        };
        let rules = [
            (1, 0, user),
            (2, 0, negated),
            (3, 7, row(None)),
            (4, 0, jump),
            (5, 0, row(None)),
            (6, 7, last),
            (7, 7, row(None)),
        ];
        assert_eq!(
            visited(&set(&rules, 0), "SELECT 1"),
            "1- username is not other; 2- match_digest matches, which the rule negates: ^SELECT; 4+; 6+"
        );
        assert_eq!(
            visited(&set(&rules, 1), "SELECT 1"),
            "1- username is not other; 2- match_digest matches, which the rule negates: ^SELECT; 4+; 3+; 6+"
        );
        assert_eq!(
            visited(&set(&rules, 0), "DELETE FROM t"),
            "1- username is not other; 2+; 4- match_digest does not match: ^SELECT; 5+"
        );
    }
}
