//! What happens when the rules have been walked: fast routing, annotations, the open transaction, the route.

use std::borrow::Cow;
use std::sync::Arc;

use shardwright_sql::StatementClass;
use shardwright_sql::annotation::{Annotation, annotations_in};

use crate::decide::evaluation::Evaluation;
use crate::decide::own::{self, Verdict};
use crate::decide::{Detail, Index};
use crate::refusal::{READS_ONLY, Refusal};
use crate::{
    Address, Annotations, Effects, FIREWALL_MESSAGE, HostgroupId, Outcome, Rejection, Role, Route,
    Transaction,
};

pub(super) fn finish(index: &impl Index, evaluation: &mut Evaluation<'_>) -> Outcome {
    let profile = index.configuration().engine.profile();
    fast_routing(index, evaluation);
    if evaluation.error_msg.is_none() {
        evaluation.error_msg = firewall(index, evaluation);
    }
    if profile.answers_itself
        && let Some(outcome) = own::uses_schema(evaluation)
    {
        return outcome;
    }
    if let Some(message) = evaluation.ok_msg.take() {
        return Outcome::Answer { message };
    }
    if let Some((message, address)) = evaluation.error_msg.take() {
        let refusal = Refusal::of_message(&message);
        return Outcome::Reject(Rejection::by_rule(refusal, message, Some(address)));
    }
    annotations(index, evaluation);
    let mut verdict = Verdict::Sent;
    if profile.answers_itself {
        verdict = own::behind_rules(evaluation, &evaluation.text);
        if let Verdict::Refused(rejection) = verdict {
            return Outcome::Reject(*rejection);
        }
        if let Verdict::Answered(answer) = verdict {
            let is_rewritten = *evaluation.text != *evaluation.statement.text();
            return Outcome::Own {
                answer,
                rewritten: is_rewritten.then(|| evaluation.text.to_vec()),
            };
        }
        follow(index, evaluation, &verdict);
    }
    let hostgroup = match hostgroup(index, evaluation) {
        Ok(hostgroup) => hostgroup,
        Err(rejection) => return Outcome::Reject(*rejection),
    };
    if let Some(refusing) = index.configuration().refusing(hostgroup) {
        return Outcome::Reject(refusing.rejection());
    }
    let locks = verdict == Verdict::Locks && holds_locks(index);
    Outcome::Route(routed(index, evaluation, hostgroup, locks))
}

/// A SET that the engine cannot follow sets no flag, and unless it locks the session it goes to the user's hostgroup.
fn follow(index: &impl Index, evaluation: &mut Evaluation<'_>, verdict: &Verdict) {
    let is_locking = *verdict == Verdict::Locks;
    if is_locking || *verdict == Verdict::Default {
        evaluation.effects.next_query_flag_in = None;
    }
    if *verdict == Verdict::Default || (is_locking && !holds_locks(index)) {
        evaluation.hostgroup = None;
    }
}

/// `mysql-set_query_lock_on_hostgroup`, which is on.
fn holds_locks(index: &impl Index) -> bool {
    let variables = &index.configuration().variables;
    let value = variables.get("mysql-set_query_lock_on_hostgroup");
    value.is_none_or(|value| value.trim() != "0")
}

/// Where the statement goes, as far as its session lets it.
fn hostgroup(index: &impl Index, evaluation: &Evaluation<'_>) -> Result<HostgroupId, Box<Rejection>> {
    let profile = index.configuration().engine.profile();
    let user = evaluation.user;
    let session = evaluation.session;
    let default = user.map_or(HostgroupId(0), |user| user.default_hostgroup);
    let asked = evaluation.hostgroup.map(HostgroupId);
    if profile.transactions_ignore_rules {
        let persistent = user.is_none_or(|user| user.transaction_persistent);
        let hostgroup = match session.transaction {
            Some(transaction) if persistent => transaction.hostgroup,
            // Its end goes where the transaction is, unless a rule sends it elsewhere.
            Some(transaction) if own::ends_transaction(evaluation.statement) => {
                asked.unwrap_or(transaction.hostgroup)
            }
            _ => asked.or(session.locked_on).unwrap_or(default),
        };
        return match session.locked_on {
            Some(locked) if locked != hostgroup && holds_locks(index) => {
                Err(locked_elsewhere(locked, hostgroup))
            }
            _ => Ok(hostgroup),
        };
    }
    let mut hostgroup = asked.unwrap_or(default);
    if session.is_about_to_open() {
        hostgroup = where_transactions_open(index, hostgroup, default);
    }
    let hostgroup = match session.transaction {
        Some(transaction) => stay_in_transaction(index, evaluation, transaction, hostgroup)?,
        None => hostgroup,
    };
    Ok(match user.is_some_and(|user| user.reads_only) {
        true => readers_of(index, hostgroup),
        false => hostgroup,
    })
}

/// Error 9006, with which ProxySQL ends what a locked session sends elsewhere.
fn locked_elsewhere(locked: HostgroupId, wanted: HostgroupId) -> Box<Rejection> {
    Box::new(Rejection {
        code: 9006,
        sqlstate: "Y0000",
        refusal: None,
        message: format!(
            "ProxySQL Error: connection is locked to hostgroup {locked} but trying to reach hostgroup {wanted}"
        ),
        address: None,
    })
}

fn routed(index: &impl Index, evaluation: &mut Evaluation<'_>, hostgroup: HostgroupId, locks: bool) -> Route {
    let rewritten = match &evaluation.text {
        Cow::Owned(text) if **text != *evaluation.statement.text() => Some(text.clone()),
        Cow::Borrowed(_) | Cow::Owned(_) => None,
    };
    let mut route = match evaluation.owner {
        Some((writer, cluster)) if writer == hostgroup => plain(hostgroup, Some((cluster, Role::Writer))),
        _ => route(index, evaluation, hostgroup),
    };
    route.shard = evaluation.shard.cloned();
    route.rewritten = rewritten;
    route.backend_schema = evaluation.backend_schema.take();
    route.assumed = std::mem::take(&mut evaluation.assumed);
    route.effects = std::mem::take(&mut evaluation.effects).without(evaluation.withheld);
    route.locks = locks;
    route
}

/// First the row of the user, then the row of every user; a hit overwrites what rules without `apply` decided.
fn fast_routing(index: &impl Index, evaluation: &mut Evaluation<'_>) {
    let skipped = if index
        .configuration()
        .engine
        .profile()
        .trailing_apply_skips_fast_routing
    {
        evaluation.last_rule_applies
    } else {
        evaluation.applied
    };
    let Some(schema) = evaluation.schema.filter(|_| !skipped) else {
        return;
    };
    let row = |user: &str| index.fast_route(user, schema, evaluation.flag);
    if let Some(row) = row(evaluation.session.user).or_else(|| row("")) {
        evaluation.hostgroup = Some(row.hostgroup.0);
        evaluation.note(0, &row.address, None, |_| {
            format!("fast routing of schema {schema}")
        });
    }
}

/// The variable for what a client is told whose statement the firewall does not allow.
const FIREWALL_TEXT: &str = "mysql-firewall_whitelist_errormsg";

/// The refusal of a statement that is not allowed to its user; a user who is not in the list is allowed none.
fn firewall(index: &impl Index, evaluation: &Evaluation<'_>) -> Option<(String, Address)> {
    let configuration = index.configuration();
    let firewall = &configuration.firewall;
    if !configuration.firewall_is_on() {
        return None;
    }
    let user = evaluation.session.user;
    let own = firewall
        .binary_search_by(|known| known.user.as_str().cmp(user))
        .ok()
        .map(|at| &firewall[at]);
    let schema = evaluation.schema.unwrap_or_default();
    let options = evaluation.digests.unwrap_or_default();
    let digest = evaluation.statement.digest_under(&options).hash;
    if own.is_some_and(|own| own.passes(schema, evaluation.flag, digest)) {
        return None;
    }
    let address = own.map_or_else(|| Address::new("firewall"), |own| own.address.clone());
    let message = configuration.variables.get(FIREWALL_TEXT);
    Some((
        message.map_or(FIREWALL_MESSAGE, String::as_str).to_owned(),
        address,
    ))
}

fn annotations(index: &impl Index, evaluation: &mut Evaluation<'_>) {
    let obeyed = match index.configuration().engine.profile().annotations {
        Annotations::AfterRules => true,
        Annotations::PerUser => evaluation.user.is_some_and(|user| user.annotations_allowed),
    };
    if !obeyed {
        return;
    }
    // What makes the digest reads the comment, too.
    let limit = match index.configuration().engine.profile().annotations {
        Annotations::AfterRules => match evaluation.digests {
            Some(digests) => digests.max_query_length,
            None => return,
        },
        Annotations::PerUser => usize::MAX,
    };
    let Some(comment) = evaluation.statement.first_comment_within(limit) else {
        return;
    };
    evaluation.unsure |= comment.is_open;
    for asked in annotations_in(&comment.text) {
        let Some(number) = asked.number() else {
            continue;
        };
        // A number below 0 takes back what rules set.
        let number = u32::try_from(number).ok();
        if asked.is("hostgroup") {
            evaluation.hostgroup = number;
        } else if asked.is("query_delay") {
            evaluation.effects.delay_ms = number;
        } else if asked.is("query_timeout") {
            evaluation.effects.timeout_ms = number;
        } else if asked.is("query_retries") {
            evaluation.effects.retries = number;
        } else if asked.is("cache_ttl") {
            evaluation.effects.cache_ttl_ms = number;
        } else if asked.is("mirror") {
            evaluation.effects.mirror_hostgroup = number;
        }
    }
}

/// Refuses a statement with an engine annotation from a user who is not allowed them.
pub(super) fn denied_annotation(evaluation: &Evaluation<'_>) -> Option<Rejection> {
    let user = evaluation.user;
    if user.is_some_and(|user| user.annotations_allowed) {
        return None;
    }
    let comment = evaluation.statement.first_comment()?;
    let denied = annotations_in(&comment.text).find(Annotation::is_known)?;
    let key = String::from_utf8_lossy(denied.key).to_ascii_lowercase();
    let what = format!(
        "the comment sets {key}, which user {} may not; remove it, or set users.{}.annotations: allow",
        evaluation.session.user, evaluation.session.user
    );
    Some(Refusal::Annotation.because(&what, user.map(|user| user.address.clone())))
}

/// Refuses what is not provably a read of a user who only reads. Session setup and transactions change no rows.
pub(super) fn of_user_who_only_reads(evaluation: &Evaluation<'_>) -> Option<Rejection> {
    let user = evaluation.user.filter(|user| user.reads_only)?;
    let statement = evaluation.statement;
    // A SELECT without a table is session setup too, and may take a lock: only as a read does it pass.
    let is_setup = statement.class() != StatementClass::Select && statement.is_session_setup();
    let passes = statement.is_safe_read(true)
        || (is_setup && !statement.sets_the_server())
        || statement.begins()
        || (statement.follows_transaction() && statement.class() != StatementClass::Xa);
    (!passes).then(|| Refusal::ReadsOnly.because(READS_ONLY, Some(user.address.clone())))
}

/// The readers of the cluster that a hostgroup belongs to, if it has any.
fn readers_of(index: &impl Index, hostgroup: HostgroupId) -> HostgroupId {
    let readers = index.cluster_of(hostgroup).and_then(|cluster| cluster.reader);
    readers.unwrap_or(hostgroup)
}

/// Where a transaction opens whose first statement goes to `wanted`: what follows may write, so on the writer of the
/// cluster whose readers a rule has chosen. A user whose own hostgroup these are stays there, as with BEGIN.
fn where_transactions_open(index: &impl Index, wanted: HostgroupId, own: HostgroupId) -> HostgroupId {
    index
        .cluster_of(wanted)
        .filter(|cluster| cluster.reader == Some(wanted) && wanted != own)
        .map_or(wanted, |cluster| cluster.writer)
}

/// The hostgroup of a statement inside a transaction: the transaction's, when it is of the same cluster.
fn stay_in_transaction(
    index: &impl Index,
    evaluation: &Evaluation<'_>,
    transaction: Transaction,
    wanted: HostgroupId,
) -> Result<HostgroupId, Box<Rejection>> {
    let cluster = |id| index.cluster_of(id).map(|cluster| &*cluster.name);
    let (open, asked) = (cluster(transaction.hostgroup), cluster(wanted));
    let same = wanted == transaction.hostgroup || (open.is_some() && open == asked);
    if same || (evaluation.statement.is_session_setup() && !evaluation.placed) {
        return Ok(transaction.hostgroup);
    }
    let name = |cluster: Option<&str>, id: HostgroupId| match cluster {
        Some(name) => format!("cluster {name}"),
        None => format!("hostgroup {id}"),
    };
    let what = format!(
        "the statement belongs to {}, but the transaction is open on {}; commit or roll back first",
        name(asked, wanted),
        name(open, transaction.hostgroup)
    );
    let refusal = Refusal::OpenTransactionElsewhere;
    Err(Box::new(refusal.because(&what, evaluation.shard.cloned())))
}

/// A route to `hostgroup` without anything else.
pub(super) fn route(index: &impl Index, evaluation: &Evaluation<'_>, hostgroup: HostgroupId) -> Route {
    if evaluation.detail < Detail::Names {
        return plain(hostgroup, None);
    }
    let owner = index.cluster_of(hostgroup).map(|cluster| {
        let is_writer = cluster.writer == hostgroup;
        (&cluster.name, if is_writer { Role::Writer } else { Role::Reader })
    });
    plain(hostgroup, owner)
}

fn plain(hostgroup: HostgroupId, owner: Option<(&Arc<str>, Role)>) -> Route {
    Route {
        hostgroup,
        cluster: owner.map(|(cluster, _)| cluster.clone()),
        role: owner.map(|(_, role)| role),
        shard: None,
        rewritten: None,
        backend_schema: None,
        effects: Effects::default(),
        locks: false,
        assumed: Vec::new(),
    }
}
