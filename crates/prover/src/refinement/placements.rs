//! Where the rules of ProxySQL place statements: each way through the rules that ends at a hostgroup, with what it asks.
//!
//! # Idea
//!
//! A walk goes through the rules once for each user. At a rule that may match it parts: one branch matched, one did not.
//! What the rules ask of the statement's text is kept as literals; what they ask of the session's schema as a set. What they
//! ask of the digest, the client's address or the listener is left out: both branches are followed.
//!
//! # Invariant
//!
//! Every statement of the user that the rules place satisfies the literals of a placement with its hostgroup, in a schema
//! of the placement. There may be placements that no statement has.
//!
//! # Example
//!
//! `{10, tenant=5, hostgroup 20, apply} {20, ^SELECT, error_msg}` and the default hostgroup 10: a placement at 20 with
//! "matches `tenant=5`", and one at 10 with "does not match `tenant=5`, does not match `^SELECT`".

use std::collections::BTreeSet;

use shardwright_rules::decide::Index;
use shardwright_rules::{Body, Configuration, EngineRule, HostgroupId, User};

use crate::budget::{Cause, Spending};
use crate::condition::{Condition, Side, Term};
use crate::languages::{Languages, Lit};
use crate::lookup::Lookup;
use crate::session::given;

/// Steps of asking one rule on one way, and bytes of what is kept of a way, besides those for each literal.
const VISIT_STEPS: usize = 16;
const VISIT_BYTES: usize = 256;

/// What is known of the session's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionSchema {
    /// It is this one.
    Known(String),
    /// It is none of these, or there is none.
    Outside(BTreeSet<String>),
}

/// A way through the rules that ends at a hostgroup.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    pub(super) schema: SessionSchema,
    /// What the text matches, or does not.
    pub(super) text: Vec<Lit>,
    pub(super) hostgroup: HostgroupId,
}

#[derive(Clone)]
struct Visit {
    flag: u32,
    from: usize,
    hostgroup: Option<u32>,
    rewritten: bool,
    schema: SessionSchema,
    text: Vec<Lit>,
}

/// The placements of one user's statements.
///
/// # Errors
/// What of the rules is not followed.
pub(super) fn of_user(
    lookup: &Lookup<'_>,
    languages: &mut Languages,
    spending: &Spending,
    user: &User,
) -> Result<Vec<Placement>, String> {
    let configuration = lookup.of_configuration();
    if configuration.settings.query_processor_iterations > 0 {
        return Err("restarts of the rules (mysql-query_processor_iterations)".to_owned());
    }
    let mut rows = configuration.graph.rules.iter();
    if rows.any(|rule| matches!(&rule.body, Body::Engine(row) if row.ok_msg.is_some())) {
        return Err("answers of rules (`OK_msg`)".to_owned());
    }
    let mut walk = Walk {
        lookup,
        configuration,
        languages,
        user,
        placements: Vec::new(),
        spending,
    };
    let before = spending.charge_to(Cause::Whole);
    let walked = walk.run();
    spending.charge_to(before);
    walked?;
    Ok(walk.placements)
}

struct Walk<'w, 'c> {
    lookup: &'w Lookup<'c>,
    configuration: &'c Configuration,
    languages: &'w mut Languages,
    user: &'w User,
    placements: Vec<Placement>,
    spending: &'w Spending,
}

impl Walk<'_, '_> {
    fn run(&mut self) -> Result<(), String> {
        let mut open = vec![Visit {
            flag: 0,
            from: 0,
            hostgroup: None,
            rewritten: false,
            schema: SessionSchema::Outside(BTreeSet::new()),
            text: Vec::new(),
        }];
        while let Some(visit) = open.pop() {
            let cost = VISIT_STEPS + visit.text.len();
            if self.spending.steps(cost as u64).is_err() {
                return Err("the number of ways through the rules".to_owned());
            }
            let Some(position) = self.lookup.chains.next(visit.flag, visit.from) else {
                self.end(visit)?;
                continue;
            };
            self.spending.charge_to(Cause::Rule { side: 0, position });
            match &self.configuration.graph.rules[position].body {
                Body::Engine(row) => self.row(position, row, visit, &mut open)?,
                Body::Native { .. } => return Err("steps of the bundled engine".to_owned()),
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        position: usize,
        row: &EngineRule,
        visit: Visit,
        open: &mut Vec<Visit>,
    ) -> Result<(), String> {
        if row.next_query_flag_in.is_some_and(|flag| flag != 0) {
            return Err("flags that a statement leaves for the next (`next_query_flagIN`)".to_owned());
        }
        let behind = position + 1;
        if given(&row.username).is_some_and(|user| user != self.user.name) {
            open.push(Visit {
                from: behind,
                ..visit
            });
            return Ok(());
        }
        let mut matched = Visit {
            from: behind,
            ..visit.clone()
        };
        // Both may hold of statements that come here; the second is left out where it cannot.
        let mut failed = vec![];
        if let Some(wanted) = given(&row.schemaname) {
            match &visit.schema {
                SessionSchema::Known(schema) if schema != wanted => {
                    open.push(matched);
                    return Ok(());
                }
                SessionSchema::Known(_) => {}
                SessionSchema::Outside(others) if others.contains(wanted) => {
                    open.push(matched);
                    return Ok(());
                }
                SessionSchema::Outside(others) => {
                    let mut others = others.clone();
                    others.insert(wanted.to_owned());
                    failed.push(Visit {
                        from: behind,
                        schema: SessionSchema::Outside(others),
                        ..visit.clone()
                    });
                    matched.schema = SessionSchema::Known(wanted.to_owned());
                }
            }
        }
        let mut never = false;
        let patterns = self.lookup.patterns(position);
        let has_digests = self.configuration.digests().is_some();
        let condition = Condition::of(row, has_digests, patterns, self.languages);
        let mut unknown = given(&row.client_addr).is_some()
            || given(&row.proxy_addr).is_some()
            || row.proxy_port.is_some()
            || condition.hash.is_some();
        let mut lits = Vec::new();
        for (side, term) in &condition.terms {
            match (side, term) {
                (_, Term::Always) => {}
                (_, Term::Never) => never = true,
                (Side::Text, Term::Lit(lit)) if !visit.rewritten => lits.push(*lit),
                _ => unknown = true,
            }
        }
        let could_fail = |schema: SessionSchema, text: Vec<Lit>| Visit {
            from: behind,
            schema,
            text,
            ..visit.clone()
        };
        if never || unknown {
            failed.push(could_fail(matched.schema.clone(), visit.text.clone()));
        } else {
            // One of the literals fails.
            failed.extend(lits.iter().map(|lit| {
                let text = [visit.text.as_slice(), &[lit.negated()]].concat();
                could_fail(matched.schema.clone(), text)
            }));
        }
        let contradicts = |visit: &Visit| visit.text.iter().any(|lit| visit.text.contains(&lit.negated()));
        open.extend(failed.into_iter().filter(|failed| !contradicts(failed)));
        matched.text.extend(lits);
        if never || contradicts(&matched) {
            return Ok(());
        }
        self.matched(row, matched, open)
    }

    fn matched(&mut self, row: &EngineRule, mut visit: Visit, open: &mut Vec<Visit>) -> Result<(), String> {
        // A refusal stays one, whatever later rules say but an answer, and there is none.
        if row.error_msg.is_some() {
            return Ok(());
        }
        if row.mirror_hostgroup.is_some() {
            return Err("copies of statements (`mirror_hostgroup`)".to_owned());
        }
        visit.hostgroup = row.destination_hostgroup.or(visit.hostgroup);
        visit.rewritten |= row.replace_pattern.is_some();
        if row.apply {
            // What is behind the end of the rules does not look at fast routing then.
            return self.place(&visit, visit.hostgroup);
        }
        let mut flags = row.flags_set().peekable();
        if flags.peek().is_none() {
            open.push(visit);
            return Ok(());
        }
        open.extend(flags.map(|flag| Visit {
            flag,
            ..visit.clone()
        }));
        Ok(())
    }

    /// Behind the last rule of a chain: fast routing.
    fn end(&mut self, mut visit: Visit) -> Result<(), String> {
        let rules = &self.configuration.graph.rules;
        let last_applies = rules
            .last()
            .is_some_and(|rule| matches!(&rule.body, Body::Engine(row) if row.apply));
        let profile = self.configuration.engine.profile();
        if !(profile.trailing_apply_skips_fast_routing && last_applies) {
            let rows = self.configuration.graph.fast_routing.iter();
            // The row of the user counts before the row of every user.
            let mut rows: Vec<_> = rows
                .filter(|row| {
                    row.flag_in == visit.flag && (row.username.is_empty() || row.username == self.user.name)
                })
                .collect();
            rows.sort_by_key(|row| row.username.is_empty());
            for row in rows {
                match &mut visit.schema {
                    SessionSchema::Known(schema) if *schema == row.schemaname => {
                        return self.place(&visit, Some(row.hostgroup.0));
                    }
                    SessionSchema::Known(_) => {}
                    SessionSchema::Outside(others) => {
                        if others.insert(row.schemaname.clone()) {
                            let inside = Visit {
                                schema: SessionSchema::Known(row.schemaname.clone()),
                                ..visit.clone()
                            };
                            self.place(&inside, Some(row.hostgroup.0))?;
                        }
                    }
                }
            }
        }
        self.place(&visit, visit.hostgroup)
    }

    fn place(&mut self, visit: &Visit, hostgroup: Option<u32>) -> Result<(), String> {
        let hostgroup = hostgroup.map_or(self.user.default_hostgroup, HostgroupId);
        if self.configuration.refusing(hostgroup).is_some() {
            return Ok(());
        }
        if visit.rewritten {
            return Err("rewrites (`replace_pattern`)".to_owned());
        }
        let bytes = VISIT_BYTES + visit.text.len() * size_of::<Lit>();
        if self.spending.bytes(bytes as u64).is_err() {
            return Err("the number of ways through the rules".to_owned());
        }
        self.placements.push(Placement {
            schema: visit.schema.clone(),
            text: visit.text.clone(),
            hostgroup,
        });
        Ok(())
    }
}
