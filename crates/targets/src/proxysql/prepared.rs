//! Prepared statements that clients hold, and whose execution new rules would answer: ProxySQL 2.7.1 frees the packet of
//! such an execution twice, and ends (decision 16).

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use shardwright_plan::{ApplyError, Hazard, Severity};
use shardwright_rules::{Address, Configuration, Evaluator, Outcome, SentAs, SessionView, Statement};

use super::hazards::{codes, hazard};
use super::session::{AdminSession, SessionError};
use super::target::ProxySqlTarget;

/// How often it is asked whether clients have gone.
const BETWEEN: Duration = Duration::from_millis(200);

const HELD: &str = "SELECT username, schemaname, ref_count_client, query FROM stats_mysql_prepared_statements_info \
                    WHERE ref_count_client > 0";

impl ProxySqlTarget {
    /// Waits until no client holds a statement whose execution the new rules would refuse, as long as a drain may take. It
    /// is asked in any case: clients may have prepared statements since the plan was looked at.
    pub(super) fn drained(
        &self,
        session: &mut AdminSession,
        desired: &Configuration,
    ) -> Result<(), ApplyError> {
        let begun = Instant::now();
        loop {
            let held = refused(session, desired)
                .map_err(|error| ApplyError::NotSent(self.error(&error.to_string())))?;
            let Some(hazard) = held else { return Ok(()) };
            let waited = begun.elapsed();
            if waited < self.drain {
                thread::sleep(BETWEEN.min(self.drain - waited));
                continue;
            }
            let still = match self.drain.as_secs() {
                0 => String::new(),
                seconds => format!("after {seconds} s, "),
            };
            return Err(ApplyError::Refused(format!("{}: {still}{}", hazard.code, hazard.message)));
        }
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
