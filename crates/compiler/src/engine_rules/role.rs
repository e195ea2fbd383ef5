//! Read/write policies: only what is provably a read leaves the writer.

use shardwright_diagnostics::Severity;
use shardwright_rules::{Address, EngineRule, Finder, MapStep, ReadSelection, RoleStep, Scope};

use super::chains::{Branch, Chains, Target};
use super::forms;
use crate::conditions::{self, Conditions};
use crate::diagnostics::{DIFFERENCE, Diagnostics, SupportedBy, Unsupported};
use crate::draft::{ChainRef, text_rule, user_rule};
use crate::program::{Program, Section};

/// Where statements go on behind a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RoleTargets {
    /// Reads.
    pub(crate) reader: Target,
    /// The hostgroup that reads get on the way; none where what follows names it.
    pub(crate) hostgroup: Option<u32>,
    /// The others.
    pub(crate) writer: Target,
    /// A rule in front has set the writer: what stops needs no rule to say so.
    pub(crate) writer_is_set: bool,
}

/// Policies that the engine can follow: what else they ask for is reported.
pub(crate) fn usable_policies(program: &Program, report: &mut Diagnostics<'_>) -> Vec<usize> {
    let mut usable = Vec::new();
    for (at, section) in program.roles.iter().enumerate() {
        if section.step.after_write_ms > 0 {
            let lacking = Unsupported {
                origin: section.origin,
                field: "after_write",
                what: "keep a session's reads on the writer after a write",
                lost: "a session that has just written may read an older state from a reader",
                who: SupportedBy::Bundled,
            };
            report.on_unsupported(section.on_unsupported, lacking);
        }
        if section.step.causal {
            let lacking = Unsupported {
                origin: section.origin,
                field: "consistency",
                what: "have readers wait for what the session has written",
                lost: "a session may read less from a reader than it has written",
                who: SupportedBy::Bundled,
            };
            report.on_unsupported(section.on_unsupported, lacking);
        }
        if let Err(Inexpressible { field, what }) = check_conditions(program, section) {
            let lacking = Unsupported {
                origin: section.origin,
                field,
                what,
                lost: "its statements stay on the writer",
                who: SupportedBy::Bundled,
            };
            report.on_unsupported(section.on_unsupported, lacking);
            continue;
        }
        let what = match program.unproven.contains(&section.address) {
            true => "whatever `reads.only` matches goes to readers, writes and locking reads too",
            false => {
                "a SELECT that calls a stored function counts as a read: a pattern cannot tell that it writes"
            }
        };
        report.difference(section.origin, "reads", what);
        report_autocommit_off(program, section, report);
        usable.push(at);
    }
    usable
}

/// Rules do not see `autocommit=0`. ProxySQL opens no transaction for a SELECT that it knows as one; of a prepared
/// statement it asks the text, comments included.
fn report_autocommit_off(program: &Program, section: &Section<RoleStep>, report: &mut Diagnostics<'_>) {
    let what = "a SELECT under autocommit=0 goes to a reader and is no part of the transaction, which opens with the \
                next other statement; BEGIN keeps both on the writer";
    report.difference(section.origin, "reads", what);
    let in_comments = |finder: &Finder| matches!(finder, Finder::Comment { .. });
    let has_comments = section.step.writer_hint.is_some()
        || program
            .maps
            .iter()
            .any(|map| map.step.finders.iter().any(in_comments));
    if has_comments {
        let message = format!(
            "on {}, a prepared SELECT after a comment opens its transaction on the reader under autocommit=0, and writes follow it there: leave autocommit on and send BEGIN, or put the comment after SELECT",
            report.engine
        );
        report.add(Severity::Warning, DIFFERENCE, section.origin, "reads", message);
    }
}

impl RoleTargets {
    /// In two chains.
    pub(super) fn chains(reader: ChainRef, writer: ChainRef) -> Self {
        Self {
            reader: Target::Jump(reader),
            hostgroup: None,
            writer: Target::Jump(writer),
            writer_is_set: false,
        }
    }
}

/// What rules cannot express of a policy.
struct Inexpressible {
    field: &'static str,
    what: &'static str,
}

/// Whether rules can express a policy's scopes.
fn check_conditions(program: &Program, section: &Section<RoleStep>) -> Result<(), Inexpressible> {
    let users = &program.users;
    let lacking = |field, what| Inexpressible { field, what };
    Conditions::of(&section.scope, users).map_err(|what| lacking("applies_to", what))?;
    let (field, reads) = match &section.step.reads {
        ReadSelection::All => return Ok(()),
        ReadSelection::Only(scopes) => ("reads.only", scopes),
        ReadSelection::Except(scopes) => ("reads.except", scopes),
    };
    for scope in reads {
        if !scope.clusters.is_any() {
            return Err(lacking(
                field,
                "select reads by the cluster that they are placed on",
            ));
        }
        Conditions::of(scope, users).map_err(|what| lacking(field, what))?;
    }
    Ok(())
}

/// Those of some policies that send reads of a cluster to its readers.
pub(super) fn covering(program: &Program, policies: &[usize], cluster: &str) -> Vec<usize> {
    if program.resolved_cluster(cluster).reader.is_none() {
        return Vec::new();
    }
    let covers = |policy: &usize| program.roles[*policy].scope.clusters.contains(cluster);
    policies.iter().copied().filter(covers).collect()
}

/// Whether a policy takes every plain read that has no hint, whatever else the read says.
pub(super) fn takes_plain_reads(program: &Program, policy: usize) -> bool {
    let section = &program.roles[policy];
    section.step.reads == ReadSelection::All
        && !conditions::is_conditional(&section.scope)
        && !program.unproven.contains(&section.address)
}

/// Of the policies of a user, those that send statements of a map's shards to readers. Several that differ cannot be
/// distinguished before the shard is decided.
pub(super) fn policies_of(
    program: &Program,
    map: &Section<Box<MapStep>>,
    policies: &[usize],
    report: &mut Diagnostics<'_>,
) -> Vec<usize> {
    let relevant: Vec<usize> = policies
        .iter()
        .copied()
        .filter(|&policy| {
            let shards = map.step.shards.iter();
            let mut clusters = shards.filter_map(|shard| shard.cluster.as_deref());
            clusters.any(|name| !covering(program, &[policy], name).is_empty())
        })
        .collect();
    let Some((&first, others)) = relevant.split_first() else {
        return relevant;
    };
    let is_unproven = |policy: usize| program.unproven.contains(&program.roles[policy].address);
    let differs = |other: usize| {
        is_unproven(other) != is_unproven(first) || !alike(&program.roles[other], &program.roles[first])
    };
    if let Some(&other) = others.iter().find(|&&other| differs(other)) {
        let section = &program.roles[other];
        let what = format!(
            "follow both {} and {} for shard map {}",
            program.roles[first].address, section.address, map.step.map
        );
        report.unsupported(section.origin, "applies_to", &what);
        return vec![first];
    }
    relevant
}

/// A chain that tells reads from the rest; `others` are users who go on elsewhere.
pub(super) fn role_chain(
    chains: &mut Chains,
    program: &Program,
    name: &str,
    policy: usize,
    others: &[(String, Target)],
    targets: RoleTargets,
) -> ChainRef {
    let RoleTargets { writer, .. } = targets;
    let section = &program.roles[policy];
    let (step, address) = (&section.step, &section.address);
    let chain = chains.draft.chain(name);
    let mut first = chain;
    let scope = conditions::rest(&section.scope);
    let is_conditional = conditions::is_conditional(&section.scope);
    if is_conditional {
        first = chains.draft.chain(&format!("{name}.scope"));
    }
    for (user, target) in others {
        chains.go(first, user, address, user_rule(user), *target);
    }
    if is_conditional {
        let conditions = Conditions::of(&scope, &program.users).expect("the policy is usable");
        let branch = Branch {
            name: "",
            address,
            conditions: &conditions,
            yes: Target::Jump(chain),
        };
        let rest = chains.branch(first, branch);
        chains.go(rest, "rest", address, EngineRule::default(), writer);
    }
    let hint = step.writer_hint.as_ref();
    let hint = hint.map(|hint| forms::hinted(&hint.word, chains.wording()));
    let conditions =
        |scope: &Scope| Conditions::of(scope, &program.users).expect("the policy has been checked");
    if program.unproven.contains(address) {
        if let Some(hint) = hint {
            chains.go(chain, "hint", address, text_rule(hint), writer);
        }
        select_only(chains, (chain, chain), section, &conditions, targets);
        return first;
    }
    match hint {
        // One rule for both where a chain stands once for each cluster; elsewhere two, which are evaluated faster. A plain read
        // has neither.
        Some(hint) if targets.writer_is_set => {
            if step.reads == ReadSelection::All {
                let rule = EngineRule {
                    destination_hostgroup: targets.hostgroup,
                    ..forms::plain_read(chains.wording())
                };
                chains.go(chain, "plain_read", address, rule, targets.reader);
            }
            let rule = forms::quoted_call_or(chains.wording(), &hint);
            chains.go(chain, "stays", address, rule, writer);
        }
        hint => {
            chains.go(
                chain,
                "quoted_call",
                address,
                forms::quoted_call(chains.wording()),
                writer,
            );
            if let Some(hint) = hint {
                chains.go(chain, "hint", address, text_rule(hint), writer);
            }
        }
    }
    let read = forms::read(chains.wording(), true, step.session_functions_on_readers);
    select_reads(chains, chain, section, read, &conditions, targets);
    first
}

/// The rules that take what the policy selects of the reads, which `read` matches.
fn select_reads(
    chains: &mut Chains,
    chain: ChainRef,
    section: &Section<RoleStep>,
    read: EngineRule,
    conditions: &dyn Fn(&Scope) -> Conditions,
    targets: RoleTargets,
) {
    let RoleTargets {
        reader,
        hostgroup,
        writer,
        writer_is_set,
    } = targets;
    let address = &section.address;
    let mut last = chain;
    let read_away = EngineRule {
        destination_hostgroup: hostgroup,
        ..read.clone()
    };
    match &section.step.reads {
        ReadSelection::All => chains.go(chain, "read", address, read_away, reader),
        ReadSelection::Except(scopes) => {
            last = branches(chains, chain, ("except", address), scopes, conditions, writer);
            chains.go(last, "read", address, read_away, reader);
        }
        ReadSelection::Only(_) => {
            let name = format!("{}.only", chains.draft.get(chain).name);
            let only = chains.draft.chain(&name);
            chains.go(chain, "read", address, read, Target::Jump(only));
            select_only(chains, (chain, only), section, conditions, targets);
        }
    }
    if !writer_is_set || writer != Target::Stop {
        chains.go(last, "rest", address, EngineRule::default(), writer);
    }
}

/// The rules that take what `reads.only` matches, in `only`, a chain of the policy's `chain`; the rest goes to the writer.
fn select_only(
    chains: &mut Chains,
    (chain, only): (ChainRef, ChainRef),
    section: &Section<RoleStep>,
    conditions: &dyn Fn(&Scope) -> Conditions,
    targets: RoleTargets,
) {
    let RoleTargets {
        reader,
        hostgroup,
        writer,
        ..
    } = targets;
    let (ReadSelection::Only(scopes), address) = (&section.step.reads, &section.address) else {
        return;
    };
    let reader = match hostgroup {
        None => reader,
        Some(_) => {
            let name = format!("{}.reader", chains.draft.get(chain).name);
            let away = chains.draft.chain(&name);
            let rule = EngineRule {
                destination_hostgroup: hostgroup,
                ..EngineRule::default()
            };
            chains.go(away, "reader", address, rule, reader);
            Target::Jump(away)
        }
    };
    let among = branches(chains, only, ("only", address), scopes, conditions, reader);
    chains.go(among, "rest", address, EngineRule::default(), writer);
}

/// A branch to `yes` for each scope, one behind the other; where what is in none of them goes on.
fn branches(
    chains: &mut Chains,
    chain: ChainRef,
    (name, address): (&str, &Address),
    scopes: &[Scope],
    conditions: &dyn Fn(&Scope) -> Conditions,
    yes: Target,
) -> ChainRef {
    scopes.iter().enumerate().fold(chain, |last, (at, scope)| {
        let branch = Branch {
            name: &format!("{name}{at}."),
            address,
            conditions: &conditions(scope),
            yes,
        };
        chains.branch(last, branch)
    })
}

/// Whether two policies say the same, apart from whose statements and clusters they are about.
fn alike(a: &Section<RoleStep>, b: &Section<RoleStep>) -> bool {
    a.step == b.step && conditions::rest(&a.scope) == conditions::rest(&b.scope)
}
