//! Which server of a cluster of type replication may write: the one that was promoted last.
//!
//! A server that can write need not be meant to: a primary that was stopped comes back as it was, and many replicas are not
//! read-only. So what counts is a promotion: a replica becomes able to write, or ceases to be a replica. It ends the claims of all
//! others for good: they write only when they have been promoted again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ServerSight, Source};
use crate::Address;

/// What a server's flag has said so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// It cannot write.
    ReadOnly,
    /// It can write and is a replica that nobody has promoted.
    Writable,
    /// It can write, and nobody was promoted after it.
    Promoted,
    /// It can write, and another was promoted after it.
    Superseded,
    /// It could write when it was first looked at, and so could another: nobody knows who was promoted last.
    Contested,
}

/// What a server that was looked at becomes; `is_holder_lost`: who was promoted last does not answer.
fn next(before: Option<Claim>, sight: &ServerSight, is_holder_lost: bool) -> Option<Claim> {
    if sight.is_read_only? {
        return Some(Claim::ReadOnly);
    }
    let is_promoted = match (before, sight.source) {
        (Some(claim @ (Claim::Promoted | Claim::Superseded | Claim::Contested)), source) => {
            return Some(if source == Source::Running {
                Claim::Writable
            } else {
                claim
            });
        }
        // Its source is there, so nobody has promoted it.
        (_, Source::Running) => false,
        (None | Some(Claim::Writable), source) => matches!(source, Source::None | Source::Unknown),
        // Whoever sets the flag means it, unless the one who writes is still there and is its source.
        (Some(Claim::ReadOnly), Source::Connecting) => is_holder_lost,
        (Some(Claim::ReadOnly), _) => true,
    };
    Some(if is_promoted {
        Claim::Promoted
    } else {
        Claim::Writable
    })
}

/// Takes up what was seen of the candidates; whether one of them was seen to be promoted.
pub(super) fn follow<'s>(
    claims: &mut BTreeMap<Address, Claim>,
    seen: impl Iterator<Item = (&'s Address, Option<&'s ServerSight>)> + Clone,
) -> bool {
    let is_candidate = |server: &Address| seen.clone().any(|(candidate, _)| candidate == server);
    claims.retain(|server, _| is_candidate(server));
    let holder = holder(claims).cloned();
    let is_holder_lost = seen
        .clone()
        .any(|(server, sight)| Some(server) == holder.as_ref() && sight.is_none());
    let mut promoted = Vec::new();
    let mut found = Vec::new();
    for (server, sight) in seen {
        let before = claims.get(server).copied();
        let Some(now) = sight.and_then(|sight| next(before, sight, is_holder_lost)) else {
            continue;
        };
        match (before, now) {
            (None, Claim::Promoted) => found.push(server.clone()),
            (Some(Claim::ReadOnly | Claim::Writable), Claim::Promoted) => promoted.push(server.clone()),
            _ => {
                claims.insert(server.clone(), now);
            }
        }
    }
    let is_promotion = promoted.len() == 1;
    take_up_found(claims, found);
    take_up_promoted(claims, promoted);
    settle_contest(claims);
    is_promotion
}

/// A server was promoted last, as somebody says who has seen it.
pub(super) fn promote(claims: &mut BTreeMap<Address, Claim>, server: &Address) {
    take_up_promoted(claims, vec![server.clone()]);
}

/// Servers that could write when they were first looked at: when they were promoted is not known.
fn take_up_found(claims: &mut BTreeMap<Address, Claim>, found: Vec<Address>) {
    let is_contested = found.len() > 1 || claims.values().any(|claim| *claim == Claim::Contested);
    let claim = match (holder(claims), is_contested) {
        (Some(_), _) => Claim::Superseded,
        (None, true) => Claim::Contested,
        (None, false) => Claim::Promoted,
    };
    claims.extend(found.into_iter().map(|server| (server, claim)));
}

/// Servers that have become able to write. Of several at a time nobody knows who is the last.
fn take_up_promoted(claims: &mut BTreeMap<Address, Claim>, promoted: Vec<Address>) {
    if promoted.is_empty() {
        return;
    }
    for claim in claims.values_mut() {
        if matches!(claim, Claim::Promoted | Claim::Contested) {
            *claim = Claim::Superseded;
        }
    }
    let claim = match promoted.len() {
        1 => Claim::Promoted,
        _ => Claim::Contested,
    };
    claims.extend(promoted.into_iter().map(|server| (server, claim)));
}

/// One that is left of a contest has won it.
fn settle_contest(claims: &mut BTreeMap<Address, Claim>) {
    let mut contested = claims.values_mut().filter(|claim| **claim == Claim::Contested);
    if let (Some(last), None) = (contested.next(), contested.next()) {
        *last = Claim::Promoted;
    }
}

/// Who was promoted last.
pub(super) fn holder(claims: &BTreeMap<Address, Claim>) -> Option<&Address> {
    with(claims, Claim::Promoted).next()
}

/// The servers with this claim.
pub(super) fn with(claims: &BTreeMap<Address, Claim>, wanted: Claim) -> impl Iterator<Item = &Address> {
    claims
        .iter()
        .filter(move |(_, claim)| **claim == wanted)
        .map(|(server, _)| server)
}
