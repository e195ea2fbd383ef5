//! A configuration of ProxySQL held against one of the bundled engine: by statements that are tried, and by proofs.
//!
//! # Idea
//!
//! The two graphs have no rule in common, so there is nothing to walk side by side. Instead, every placement of ProxySQL's
//! rules is held against what the bundled engine does with its statements ([`bundled`]). What is not shown is undecided
//! and named. Statements that are tried find the differences, and what only one engine refuses ([`natures`]).
//!
//! # Invariant
//!
//! A refinement is proved only if each placement of each user is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use shardwright_rules::Configuration;

use super::bundled::{Allowed, View};
use super::natures::{Sides, Tried};
use super::placements::{self, SessionSchema};
use crate::budget::{Spending, Spent};
use crate::equivalence::{ComparedSession, Comparison, costliest};
use crate::languages::Languages;
use crate::lookup::Lookup;
use crate::session::Session;

/// Texts of open questions that are tried.
const MOST_TRIED: usize = 64;

/// What of a refinement across engines has been found besides differences.
#[derive(Debug, Default)]
pub(super) struct AcrossEngines {
    pub(super) tried: Tried,
    /// Placements that are shown to be allowed, by what they are about.
    pub(super) shown: BTreeMap<String, BTreeSet<u32>>,
}

/// Whether one side is ProxySQL's and the other the bundled engine's.
pub(super) fn differ(left: &Configuration, right: &Configuration) -> bool {
    left.engine.is_proxysql() != right.engine.is_proxysql()
}

/// Compares a configuration of ProxySQL with one of the bundled engine, under one numbering of hostgroups.
pub(super) fn compare(
    [left, right]: [&Configuration; 2],
    spending: &Rc<Spending>,
    comparison: &mut Comparison,
) -> AcrossEngines {
    let lookups = Lookup::of_both([left, right]);
    let sides = Sides { lookups: &lookups };
    let mut found = AcrossEngines {
        tried: sides.try_all(),
        shown: BTreeMap::new(),
    };
    if left.engine.is_proxysql() {
        if prove(&sides, spending, &mut found, comparison).is_err() {
            comparison.leave_open(costliest(spending, [left, right]));
        }
    } else {
        comparison.leave_open("steps of the bundled engine, held against rules of ProxySQL".to_owned());
    }
    found
}

/// Holds each placement of the left side against the right one.
///
/// # Errors
/// When the budget is spent.
fn prove(
    sides: &Sides<'_, '_>,
    spending: &Rc<Spending>,
    found: &mut AcrossEngines,
    comparison: &mut Comparison,
) -> Result<(), Spent> {
    let [left, right] = sides.lookups.each_ref().map(Lookup::of_configuration);
    let mut languages = Languages::within(Rc::clone(spending));
    if !left.firewall.is_empty() || !right.firewall.is_empty() {
        comparison.leave_open("the lists of the firewall".to_owned());
    }
    for user in &left.users {
        // A user of one side only has been compared.
        let Some(other) = right.user(&user.name) else {
            continue;
        };
        let ready = placements::of_user(&sides.lookups[0], &mut languages, spending, user)
            .and_then(|placements| Ok((placements, View::of(right, other, spending)?)));
        spending.check()?;
        let (placements, view) = match ready {
            Ok(ready) => ready,
            Err(reason) => {
                comparison.leave_open(reason);
                continue;
            }
        };
        let mut tries = MOST_TRIED;
        for placement in &placements {
            let allowed = view.allows(placement, &languages);
            spending.check()?;
            match allowed {
                Allowed::Yes => {
                    let about = view.about(placement);
                    found
                        .shown
                        .entry(about)
                        .or_default()
                        .insert(placement.hostgroup.0);
                }
                Allowed::Unknown(what, text) => {
                    if let Some(text) = text.filter(|_| tries > 0) {
                        tries -= 1;
                        let mut session: ComparedSession = Session::of_user(left, &user.name).into();
                        if let SessionSchema::Known(schema) = &placement.schema {
                            session.schemas = [Some(schema.clone()), Some(schema.clone())];
                        }
                        sides.file(&session, &text, &mut found.tried);
                    }
                    comparison.leave_open(what);
                }
            }
        }
    }
    Ok(())
}
