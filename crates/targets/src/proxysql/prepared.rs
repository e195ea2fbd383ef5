//! Prepared statements that clients hold, and whose execution new rules would answer: ProxySQL 2.7.1 frees the packet of
//! such an execution twice, and ends (decision 16).

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use shardwright_plan::{Hazard, Severity};
use shardwright_rules::{Address, Configuration, Evaluator, Outcome, SentAs, SessionView, Statement};

use super::hazards::{codes, hazard};
use super::session::{AdminSession, SessionError};

/// How often it is asked whether clients have gone.
const BETWEEN: Duration = Duration::from_millis(200);

const HELD: &str = "SELECT username, schemaname, ref_count_client, query FROM stats_mysql_prepared_statements_info \
                    WHERE ref_count_client > 0";

/// Waits until no client holds a statement whose execution the new rules would refuse, at most so long; what is said of those
/// that are held even then. It is asked at least once.
pub(super) fn still_refused(
    session: &mut AdminSession,
    desired: &Configuration,
    patience: Duration,
) -> Result<Option<Hazard>, SessionError> {
    let begun = Instant::now();
    loop {
        let held = refused(session, desired)?;
        let left = patience.saturating_sub(begun.elapsed());
        if held.is_none() || left.is_zero() {
            return Ok(held);
        }
        thread::sleep(BETWEEN.min(left));
    }
}

/// What is said of the statements that are held now; `None`: nothing new would end the engine.
pub(super) fn refused(
    session: &mut AdminSession,
    desired: &Configuration,
) -> Result<Option<Hazard>, SessionError> {
    let held = session.texts(HELD)?;
    if held.is_empty() {
        return Ok(None);
    }
    let evaluator = Evaluator::new(Arc::new(desired.clone()));
    let mut clients = 0_u64;
    let mut statements = 0_usize;
    let mut first: Option<(String, Option<Address>)> = None;
    for row in held {
        let [Some(user), Some(schema), Some(count), Some(query)] = row.as_slice() else {
            continue;
        };
        let session = SessionView {
            user,
            schema: Some(schema.as_str()),
            ..SessionView::default()
        };
        let statement = Statement::new(query.as_bytes(), Default::default()).sent_as(SentAs::Execute);
        let decision = evaluator.decide(&session, &statement);
        if !matches!(decision.outcome, Outcome::Reject(_) | Outcome::Answer { .. }) {
            continue;
        }
        statements += 1;
        clients += count.parse::<u64>().unwrap_or(1);
        let rule = decision
            .hits
            .last()
            .and_then(|at| desired.graph.rules.get(*at as usize));
        first.get_or_insert((user.clone(), rule.map(|rule| rule.address.clone())));
    }
    let Some((user, address)) = first else {
        return Ok(None);
    };
    let (them, prepared) = match statements {
        1 => ("it", "1 prepared statement".to_owned()),
        many => ("them", format!("{many} prepared statements")),
    };
    let message = format!(
        "clients hold {prepared}, {clients} times, that the new rules would refuse when {them} is executed (user {user}, for \
         one), and ProxySQL 2.7 ends by that: refuse by hostgroup (docs/rules/SW243.md), or apply with --drain SECONDS, which waits until these clients have gone"
    );
    Ok(Some(hazard(
        codes::PREPARED,
        Severity::Error,
        address.as_ref(),
        message,
    )))
}
