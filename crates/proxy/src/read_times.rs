//! What one worker measures of the speed of readers, until it tells.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use shardwright_rules::HostgroupId;

use crate::members::MemberRuntime;
use crate::read_speed::{Evidence, UsualTimes};

/// What one worker has measured.
#[derive(Default)]
pub(crate) struct ReadTimes {
    usual: UsualTimes,
    untold: RefCell<FxHashMap<u64, (Arc<MemberRuntime>, Evidence)>>,
}

impl ReadTimes {
    /// Takes up a read that any reader of the hostgroup could have got, and the time until its answer began.
    pub(crate) fn measured(
        &self,
        member: &Arc<MemberRuntime>,
        hostgroup: HostgroupId,
        digest: u64,
        time: Duration,
    ) {
        if let Some(distance) = self.usual.distance(kind(hostgroup, digest), time) {
            self.note(member, distance);
        }
    }

    /// Takes up a read whose client did not wait any longer. It says something where others do not take as long.
    pub(crate) fn given_up(
        &self,
        member: &Arc<MemberRuntime>,
        hostgroup: HostgroupId,
        digest: u64,
        after: Duration,
    ) {
        if let Some(distance) = self.usual.beyond(kind(hostgroup, digest), after) {
            self.note(member, distance);
        }
    }

    fn note(&self, member: &Arc<MemberRuntime>, distance: i32) {
        let mut untold = self.untold.borrow_mut();
        let entry = untold.entry(member.number);
        let (_, evidence) = entry.or_insert_with(|| (member.clone(), Evidence::default()));
        evidence.add(distance);
    }

    /// Tells what was measured since the last time. Members of which nothing was measured are let go of.
    pub(crate) fn tell(&self) {
        self.untold.borrow_mut().retain(|_, (member, evidence)| {
            member.speed.add(*evidence);
            std::mem::take(evidence).count > 0
        });
    }
}

/// A kind of read. Shards differ in what they hold.
fn kind(hostgroup: HostgroupId, digest: u64) -> u64 {
    digest.wrapping_add(u64::from(hostgroup.0).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
