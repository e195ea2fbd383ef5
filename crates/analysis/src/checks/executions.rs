//! SW243: an execution of a prepared statement that rules refuse or answer, which ends the engine; SW244: one that leaves
//! the hostgroup that its session is locked to; SW246: one that needs no rule to end or block the engine.
//!
//! An execution is decided anew: in the schema and at the flag that the session has by then, by the text that preparing
//! kept, which is the rewritten one. Where none of that can differ from what PREPARE met, a rule that refuses the execution
//! has refused to prepare it, and no client holds such a statement unless the rules were loaded in between. So candidates
//! are prepared in one session and executed in another that the client can bring about, by the evaluator; a script that it
//! takes through is a witness.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_diagnostics::{Proof, Severity};
use shardwright_rules::{EngineRule, FirewallMode, Outcome, RefusedExecution, SentAs};

use super::CheckContext;
use super::trials::Behaviour;
use crate::Finding;
use crate::codes::{EXECUTION_LEAVES_LOCK, EXECUTION_REFUSED, EXECUTION_WITHOUT_RULES};
use crate::finding::rules_named;
use shardwright_prover::RuleSet;
use shardwright_prover::{Example, ORDINARY, sessions};
use shardwright_prover::{Session, given};

/// The variable that locks a session to a hostgroup once it has set what the engine cannot follow; on by default.
const LOCK: &str = "mysql-set_query_lock_on_hostgroup";

/// The largest packet that the engine takes from clients, and what it is by default.
const LARGEST_PACKET: &str = "mysql-max_allowed_packet";
const USUAL_LARGEST_PACKET: u64 = 64 << 20;
/// What [`schemas`] gives where at most one schema is named: it, another one, and none.
const MOST_WITHOUT_SCHEMAS: usize = 3;

/// Whether sessions are locked to hostgroups.
pub(super) fn locks_sessions(set: &RuleSet<'_>) -> bool {
    set.configuration
        .variables
        .get(LOCK)
        .is_none_or(|value| value != "0")
}

/// Statements that are prepared.
const MOST_STATEMENTS: usize = 256;
/// Schemas that a session is moved to and from.
const MOST_SCHEMAS: usize = 6;
/// Decisions of the whole search.
const MOST_DECISIONS: usize = 20_000;

/// How a client comes to an execution that a rule refuses.
struct Script {
    /// What is prepared, and where.
    prepared: Example,
    /// The statement as it was kept, where it is executed.
    executed: Example,
}

pub(crate) fn refused(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let fate = set.configuration.engine.profile().prepared.refused_execution;
    if fate == RefusedExecution::Answered {
        return;
    }
    firewall(context, fate, findings);
    let ends = |position: &usize| ends_statements(set.row(*position)) && !context.reach.is_dead(*position);
    let ending: BTreeSet<usize> = (0..set.rule_count()).filter(ends).collect();
    if ending.is_empty() {
        return;
    }
    let scripts = if differs_at_execution(set) {
        scripts(context, &ending)
    } else {
        BTreeMap::new()
    };
    findings.extend(shown(set, &scripts, fate));
    let others: Vec<usize> = ending
        .into_iter()
        .filter(|position| !scripts.contains_key(position) && set.is_written(*position))
        .collect();
    findings.extend(by_a_load(set, &others, fate));
}

fn ends_statements(row: Option<&EngineRule>) -> bool {
    row.is_some_and(|row| row.error_msg.is_some() || row.ok_msg.is_some())
}

/// Whether an execution can be decided otherwise than the preparation of the same statement.
fn differs_at_execution(set: &RuleSet<'_>) -> bool {
    let rows = || (0..set.rule_count()).filter_map(|position| set.row(position));
    set.rewrites_anywhere
        || rows().any(|row| {
            given(&row.schemaname).is_some()
                || row.next_query_flag_in.is_some()
                || row.draws().next().is_some()
        })
}

/// What becomes of the engine, human-readable, and how sure that is.
fn becomes(fate: RefusedExecution) -> (&'static str, Proof) {
    match fate {
        RefusedExecution::EndsEngine => (
            "crashes the engine for every client (signal 11)",
            Proof::Witnessed,
        ),
        RefusedExecution::Answered | RefusedExecution::Unknown => (
            "crashed ProxySQL 2.7 for every client (signal 11), and may crash this version",
            Proof::Possible,
        ),
    }
}

fn shown(set: &RuleSet<'_>, scripts: &BTreeMap<usize, Script>, fate: RefusedExecution) -> Option<Finding> {
    let rules: Vec<usize> = scripts.keys().copied().collect();
    let (first, script) = scripts.iter().next()?;
    let (end, proof) = becomes(fate);
    let verb = if rules.len() == 1 { "ends" } else { "end" };
    let message = format!(
        "{} {verb} EXECUTE of a statement that could be prepared, with error_msg or OK_msg, which {end}",
        rules_named(&set.ids(&rules))
    );
    let finding = Finding::new(EXECUTION_REFUSED, Severity::Warning, proof, message)
        .about(set, &rules, "an EXECUTE can meet this")
        .shown_by(set, &script.executed)
        .note(format!("rule {}: {}", set.id(*first), client_steps(script)));
    Some(finding.help(
        "send such statements to a hostgroup that refuses connections, and keep error_msg for what PREPARE meets in the \
         same schema, at the same flag and without a rewrite",
    ))
}

/// What the client does.
fn client_steps(script: &Script) -> String {
    let (from, to) = (&script.prepared.session, &script.executed.session);
    let text = |example: &Example| String::from_utf8_lossy(&example.text).into_owned();
    let mut steps = vec![format!(
        "PREPARE `{}`{}",
        text(&script.prepared),
        session_state(&from.schema, from.flag)
    )];
    if script.prepared.text != script.executed.text {
        steps.push(format!("it is kept as `{}`", text(&script.executed)));
    }
    if from.schema != to.schema {
        steps.push(format!("USE {}", to.schema.as_deref().unwrap_or_default()));
    }
    if from.flag != to.flag {
        steps.push(format!("a statement that leaves the session at flag {}", to.flag));
    }
    steps.push("EXECUTE".to_owned());
    steps.join(", ")
}

fn session_state(schema: &Option<String>, flag: u32) -> String {
    let schema = schema.as_deref().map_or_else(
        || " without a schema".to_owned(),
        |schema| format!(" in schema {schema}"),
    );
    match flag {
        0 => schema,
        flag => format!("{schema} at flag {flag}"),
    }
}

/// Rules that refuse to prepare whatever they would refuse to execute, as long as they are not loaded in between.
fn by_a_load(set: &RuleSet<'_>, rules: &[usize], fate: RefusedExecution) -> Option<Finding> {
    if rules.is_empty() || fate != RefusedExecution::EndsEngine {
        return None;
    }
    let (end, _) = becomes(fate);
    let message = format!(
        "do not load {} while clients hold prepared statements that match: the next EXECUTE of one {end}",
        rules_named(&set.ids(rules))
    );
    let mut finding = Finding::new(EXECUTION_REFUSED, Severity::Info, Proof::Possible, message).about(
        set,
        rules,
        "refuses or answers",
    );
    if differs_at_execution(set) {
        finding = finding.note("no script was found that gets there without such a load");
    } else {
        finding = finding.note("without such a load, the rule already refuses PREPARE, which is safe");
    }
    Some(finding.help("load such rules when no client holds prepared statements, or refuse by a hostgroup"))
}

/// For each rule that ends statements: how an execution comes to it, where a way was found.
fn scripts(context: &CheckContext<'_, '_>, ending: &BTreeSet<usize>) -> BTreeMap<usize, Script> {
    let set = context.set;
    let mut search = Search {
        set,
        ending,
        schemas: schemas(set),
        scripts: BTreeMap::new(),
        decisions: 0,
    };
    let own = |position: usize| context.reach.example(position).cloned();
    // What a rule refuses first: it may have been prepared elsewhere. Then what rewriting rules make of statements.
    for example in ending
        .iter()
        .filter_map(|&position| own(position))
        .take(MOST_STATEMENTS)
    {
        search.prepare_elsewhere(&example);
    }
    let rewriting = (0..set.rule_count()).filter(|&position| set.rewrites(position));
    for example in rewriting.filter_map(own).take(MOST_STATEMENTS) {
        search.execute_elsewhere(&example);
    }
    for session in sessions(set).into_iter().take(2) {
        for text in ORDINARY {
            search.execute_elsewhere(&Example {
                session: session.clone(),
                text: text.as_bytes().to_vec(),
            });
        }
    }
    search.scripts
}

/// Schemas that sessions are in: none, what rules ask for, what users begin in.
fn schemas(set: &RuleSet<'_>) -> Vec<Option<String>> {
    let asked = (0..set.rule_count()).filter_map(|position| given(&set.row(position)?.schemaname));
    let usual = set
        .configuration
        .users
        .iter()
        .filter_map(|user| user.default_schema.as_deref());
    let names: BTreeSet<&str> = asked
        .take(4 * MOST_SCHEMAS)
        .chain(usual.take(MOST_SCHEMAS))
        .collect();
    let other = ["another_schema"];
    let names = names.into_iter().take(MOST_SCHEMAS).chain(other);
    names.map(|name| Some(name.to_owned())).chain([None]).collect()
}

struct Search<'s, 'c> {
    set: &'s RuleSet<'c>,
    ending: &'s BTreeSet<usize>,
    schemas: Vec<Option<String>>,
    scripts: BTreeMap<usize, Script>,
    decisions: usize,
}

impl Search<'_, '_> {
    /// The sessions that the client of this one can bring about; a schema cannot be left for none.
    fn others(&self, session: &Session, to: bool) -> Vec<Session> {
        let mut flags: Vec<u32> = self.set.start_flags.iter().copied().take(MOST_SCHEMAS).collect();
        if !flags.contains(&session.flag) {
            flags.push(session.flag);
        }
        let mut all = Vec::new();
        for schema in self.schemas.iter().chain([&session.schema]) {
            let (from, into) = if to {
                (&session.schema, schema)
            } else {
                (schema, &session.schema)
            };
            if from.is_some() && into.is_none() {
                continue;
            }
            for &flag in &flags {
                let other = Session {
                    schema: schema.clone(),
                    flag,
                    ..session.clone()
                };
                if !all.contains(&other) {
                    all.push(other);
                }
            }
        }
        all
    }

    /// Tries to prepare a statement that is refused in its session in another one.
    fn prepare_elsewhere(&mut self, refused: &Example) {
        for from in self.others(&refused.session, false) {
            let prepared = Example {
                session: from,
                text: refused.text.clone(),
            };
            self.run(&prepared, &refused.session);
        }
    }

    /// Prepares a statement and executes it in other sessions.
    fn execute_elsewhere(&mut self, prepared: &Example) {
        for to in self.others(&prepared.session, true) {
            self.run(prepared, &to);
        }
    }

    fn run(&mut self, prepared: &Example, to: &Session) {
        self.decisions += 2;
        if self.decisions > MOST_DECISIONS {
            return;
        }
        let decide = |sent_as, session: &Session, text: &[u8]| self.set.decide_as(sent_as, session, text);
        let Outcome::Route(route) = decide(SentAs::Prepare, &prepared.session, &prepared.text).outcome else {
            return;
        };
        let profile = self.set.configuration.engine.profile();
        let kept = profile.prepared.kept(route.rewritten.as_deref());
        let kept = kept.unwrap_or(&prepared.text).to_vec();
        let decision = decide(SentAs::Execute, to, &kept);
        if matches!(decision.outcome, Outcome::Route(_)) {
            return;
        }
        let mut hits = decision.hits.iter().rev().map(|&hit| hit as usize);
        if let Some(rule) = hits.find(|hit| self.ending.contains(hit)) {
            self.scripts.entry(rule).or_insert_with(|| Script {
                prepared: prepared.clone(),
                executed: Example {
                    session: to.clone(),
                    text: kept,
                },
            });
        }
    }
}

/// A firewall refuses an execution as a rule does: in a schema, or at a flag, that its user's list does not have.
fn firewall(context: &CheckContext<'_, '_>, fate: RefusedExecution, findings: &mut Vec<Finding>) {
    let lists = &context.set.configuration.firewall;
    let Some(list) = lists
        .iter()
        .find(|list| list.mode == FirewallMode::Protecting && !list.digests.is_empty())
    else {
        return;
    };
    let (end, _) = becomes(fate);
    let message = format!(
        "the firewall refuses EXECUTE of a statement that user {} has prepared where it is allowed, which {end}",
        list.user
    );
    let finding = Finding::new(EXECUTION_REFUSED, Severity::Warning, Proof::Possible, message)
        .at(&list.address, "PROTECTING");
    findings.push(
        finding
            .note("PREPARE what the list allows, USE a schema that it does not have, EXECUTE")
            .help("use DETECTING for users whose clients prepare statements"),
    );
}

/// SW244
pub(crate) fn locked(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let fate = set.configuration.engine.profile().prepared.refused_execution;
    if fate == RefusedExecution::Answered || !locks_sessions(set) {
        return;
    }
    let placed = context
        .trials
        .iter()
        .filter(|trial| trial.behaviour == Behaviour::Read);
    for trial in placed {
        let setting = context.trials.iter().find(|other| {
            other.example.text == b"SET @a=1" && other.example.session == trial.example.session
        });
        let rule = trial
            .said_by(set, |row| row.destination_hostgroup.is_some())
            .filter(|&rule| set.is_written(rule));
        let (Some(rule), Some(route), Some(setting)) =
            (rule, trial.route(), setting.and_then(|setting| setting.route()))
        else {
            continue;
        };
        if route.hostgroup == setting.hostgroup {
            continue;
        }
        let (end, proof) = becomes(fate);
        let message = format!(
            "rule {} sends reads to hostgroup {}, and `SET @a=1` goes to hostgroup {}: to prepare a read, set a user \
             variable and execute the read {end}",
            set.id(rule),
            route.hostgroup,
            setting.hostgroup,
        );
        let finding = Finding::new(EXECUTION_LEAVES_LOCK, Severity::Warning, proof, message)
            .about(set, &[rule], "leaves the hostgroup that sessions are locked to")
            .shown_by(set, &trial.example)
            .note("PREPARE the read, `SET @a=1`, EXECUTE: error 9006, then signal 11");
        findings.push(finding.help(format!(
            "set {LOCK}=0 where clients prepare statements, but user variables are then lost between hostgroups"
        )));
        return;
    }
}

/// SW246
pub(crate) fn without_rules(context: &CheckContext<'_, '_>, findings: &mut Vec<Finding>) {
    let set = context.set;
    let configuration = set.configuration;
    if configuration.engine.profile().prepared.refused_execution != RefusedExecution::EndsEngine {
        return;
    }
    let limit = configuration.variables.get(LARGEST_PACKET);
    let limit = limit.and_then(|value| value.parse::<u64>().ok());
    if let Some(limit) = limit.filter(|&limit| limit < USUAL_LARGEST_PACKET) {
        let message = format!(
            "{LARGEST_PACKET} is {limit}: an EXECUTE with larger values gets error 1153 and crashes the engine for every client (signal 11)"
        );
        let finding = Finding::new(
            EXECUTION_WITHOUT_RULES,
            Severity::Warning,
            Proof::Possible,
            message,
        );
        findings.push(finding.help(format!(
            "set it to {USUAL_LARGEST_PACKET} or more, and to at least what the servers accept"
        )));
    }
    let named = schemas(set);
    let (Some(written), true) = (set.written().next(), named.len() > MOST_WITHOUT_SCHEMAS) else {
        return;
    };
    let message = "sessions change schemas: after USE, an EXECUTE of an earlier prepared statement is prepared again endlessly if its server connection does not have it"
        .to_owned();
    let finding = Finding::new(EXECUTION_WITHOUT_RULES, Severity::Info, Proof::Possible, message).about(
        set,
        &[written.0],
        "no rule is needed for it",
    );
    findings.push(
        finding
            .note("PREPARE in one schema, USE another, EXECUTE while other sessions hold the server connections: error 1461 after max_prepared_stmt_count")
            .help("change applications to prepare again after USE, or to qualify names and stay in one schema"),
    );
}
