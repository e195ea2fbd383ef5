//! A hostgroup of one generation: the servers in it, who of them serves now, and who is picked.

use std::sync::Arc;

use arc_swap::ArcSwap;
use shardwright_rules::roles::Place;
use shardwright_rules::{Address, Member, MemberStatus, Role};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::members::MemberRuntime;

/// A server in a hostgroup.
#[derive(Debug)]
pub(crate) struct HostgroupMember {
    pub(crate) runtime: Arc<MemberRuntime>,
    pub(crate) server: Address,
}

/// What a hostgroup has for a connection that is open already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// New connections go to its server as well.
    Serves,
    /// Its server takes no new connections of the hostgroup.
    Drains,
    /// Its server is none of the hostgroup's.
    Gone,
}

/// A hostgroup of one generation.
#[derive(Debug)]
pub(crate) struct HostgroupMembers {
    role: Role,
    pub(crate) members: Vec<HostgroupMember>,
    /// One for each member.
    places: ArcSwap<Vec<Place>>,
    /// The places change as servers do.
    changed: Notify,
    /// Tells the monitor that something is wrong; `None` where none watches.
    suspicion: Option<Arc<Notify>>,
}

impl HostgroupMembers {
    /// A hostgroup whose members stay in the places that they have here.
    pub(crate) fn fixed(role: Role, members: Vec<HostgroupMember>, places: Vec<Place>) -> Self {
        let group = Self {
            role,
            members,
            places: ArcSwap::from_pointee(places),
            changed: Notify::new(),
            suspicion: None,
        };
        group.tell_rooms();
        group
    }

    /// Says which servers take writes.
    fn tell_rooms(&self) {
        if self.role == Role::Writer {
            for (member, place) in self.placed() {
                member.runtime.room.takes_writes(place.serves());
            }
        }
    }

    /// A hostgroup that a monitor watches; whoever suspects a server says so to `suspicion`.
    pub(crate) fn watched(
        role: Role,
        members: Vec<HostgroupMember>,
        places: Vec<Place>,
        suspicion: Arc<Notify>,
    ) -> Self {
        Self {
            suspicion: Some(suspicion),
            ..Self::fixed(role, members, places)
        }
    }

    /// The places of written members: a writer hostgroup has one writer, its first that is online.
    pub(crate) fn written_places(role: Role, members: &[Member]) -> Vec<Place> {
        let is_online = |member: &Member| member.status == MemberStatus::Online;
        let writer = members.iter().position(is_online);
        let place = |(at, member): (usize, &Member)| Place {
            status: match role {
                Role::Writer if is_online(member) && Some(at) != writer => MemberStatus::Draining,
                Role::Writer | Role::Reader => member.status,
            },
            weight: match role {
                Role::Writer => member.weight.max(1),
                Role::Reader => member.weight,
            },
            tier: member.tier,
        };
        members.iter().enumerate().map(place).collect()
    }

    /// Gives the members other places, and tells those who wait for one. Whether a server was cut off: it `is_lost`, and
    /// another serves in its place.
    pub(crate) fn place(&self, places: Vec<Place>, is_lost: impl Fn(usize) -> bool) -> bool {
        let is_served = places.iter().any(|place| place.status == MemberStatus::Online);
        let mut is_cut_off = false;
        for (at, member) in self.members.iter().enumerate() {
            is_cut_off |= member.runtime.cut_off(is_served && is_lost(at));
        }
        if **self.places.load() != places {
            self.places.store(Arc::new(places));
            self.tell_rooms();
        }
        self.changed.notify_waiters();
        is_cut_off
    }

    /// Whether a monitor watches the members, and whoever takes writes may change.
    pub(crate) fn is_watched_writer(&self) -> bool {
        self.role == Role::Writer && self.is_watched()
    }

    /// Whether a monitor watches the members.
    pub(crate) fn is_watched(&self) -> bool {
        self.suspicion.is_some()
    }

    /// The members with their places.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (&HostgroupMember, Place)> {
        let places = self.places.load_full();
        self.members
            .iter()
            .enumerate()
            .map(move |(at, member)| (member, places[at]))
    }

    /// Until a member may have got another place.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Has the monitor look at once.
    pub(crate) fn suspect(&self) {
        if let Some(suspicion) = &self.suspicion {
            suspicion.notify_waiters();
        }
    }

    /// Where an open connection to `runtime` stands, which may be a member of an earlier generation.
    pub(crate) fn standing(&self, runtime: &MemberRuntime) -> Standing {
        let is_same = |member: &HostgroupMember| member.runtime.endpoint_is(runtime);
        let at = self.members.iter().position(is_same);
        match at.map(|at| self.places.load()[at].status) {
            Some(MemberStatus::Online) => Standing::Serves,
            Some(MemberStatus::Draining) => Standing::Drains,
            Some(MemberStatus::Offline) | None => Standing::Gone,
        }
    }

    /// The other members that serve as this one does, but for those that could not be reached a moment ago and those whose numbers are
    /// in `not_on`.
    pub(crate) fn beside(&self, member: &HostgroupMember, not_on: &[u64]) -> Vec<&HostgroupMember> {
        let places = self.places.load();
        let number = member.runtime.number;
        let placed = || self.members.iter().zip(places.iter());
        let tier = placed().find(|(other, _)| other.runtime.number == number);
        let tier = tier.map(|(_, place)| place.tier);
        let is_usable = |other: &HostgroupMember, place: &Place| {
            place.serves()
                && Some(place.tier) == tier
                && other.runtime.number != number
                && !other.runtime.is_avoided()
                && !not_on.contains(&other.runtime.number)
        };
        let beside = placed().filter(|(other, place)| is_usable(other, place));
        beside.map(|(other, _)| other).collect()
    }

    /// The members among which statements are shared, could all of them be reached.
    pub(crate) fn beside_each_other(&self) -> Vec<&HostgroupMember> {
        let places = self.places.load();
        let serving = || {
            let placed = self.members.iter().zip(places.iter());
            placed.filter(|(_, place)| place.serves())
        };
        let tier = serving().map(|(_, place)| place.tier).min();
        let of_tier = serving().filter(|(_, place)| Some(place.tier) == tier);
        of_tier.map(|(member, _)| member).collect()
    }

    /// The member that the next statement goes to. `random` is any number. Servers that could not be reached a moment
    /// ago are left out, unless `even_avoided`, and so are those whose numbers are in `not_on`.
    pub(crate) fn pick(&self, random: u64, even_avoided: bool, not_on: &[u64]) -> Option<&HostgroupMember> {
        let places = self.places.load();
        let is_usable = |runtime: &MemberRuntime| {
            (even_avoided || !runtime.is_avoided()) && !not_on.contains(&runtime.number)
        };
        if let ([member], [place]) = (&self.members[..], &places[..]) {
            return (place.serves() && is_usable(&member.runtime)).then_some(member);
        }
        let usable = || {
            let placed = self.members.iter().zip(places.iter());
            placed.filter(|(member, place)| place.serves() && is_usable(&member.runtime))
        };
        let tier = usable().map(|(_, place)| place.tier).min()?;
        let candidates = || {
            let of_tier = usable().filter(|(_, place)| place.tier == tier);
            of_tier.map(|(member, place)| (member, u64::from(place.weight) * member.runtime.share()))
        };
        let total: u64 = candidates().map(|(_, weight)| weight).sum();
        let mut left = random % total;
        let found = candidates().find(|(_, weight)| {
            let found = left < *weight;
            left = left.saturating_sub(*weight);
            found
        });
        // A server that went away meanwhile has a smaller share than it was counted with.
        found.or_else(|| candidates().next()).map(|(member, _)| member)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shardwright_rules::HostgroupId;

    use super::*;
    use crate::members::{MemberRegistry, member_of_tests};

    fn members(role: Role, rows: &[(&str, u32, u8, MemberStatus)]) -> HostgroupMembers {
        let registry = MemberRegistry::default();
        let member = |&(host, weight, tier, status): &(&str, u32, u8, MemberStatus)| Member {
            weight,
            tier,
            status,
            ..member_of_tests(host)
        };
        let written: Vec<Member> = rows.iter().map(member).collect();
        let members = written.iter().map(|member| HostgroupMember {
            runtime: registry.get(HostgroupId(1), member),
            server: member.server.clone(),
        });
        let places = HostgroupMembers::written_places(role, &written);
        HostgroupMembers::fixed(role, members.collect(), places)
    }

    fn picks(group: &HostgroupMembers, even_avoided: bool) -> Vec<String> {
        let mut hosts: Vec<String> = (0..100_000)
            .step_by(1000)
            .filter_map(|random| group.pick(random, even_avoided, &[]))
            .map(|member| member.runtime.host.clone())
            .collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    use MemberStatus::{Draining, Offline, Online};

    #[test]
    fn readers_share_by_weight() {
        let group = members(
            Role::Reader,
            &[("a", 1, 0, Online), ("b", 3, 0, Online), ("c", 0, 0, Online)],
        );
        let to_b = (0..400_000)
            .step_by(1000)
            .filter(|&random| group.pick(random, false, &[]).unwrap().runtime.host == "b")
            .count();
        assert_eq!(to_b, 300);
        assert_eq!(picks(&group, false), ["a", "b"]);
    }

    #[test]
    fn a_slow_reader_gets_a_part_of_its_weight() {
        let group = members(
            Role::Reader,
            &[("a", 1, 0, Online), ("b", 3, 0, Online), ("writer", 1, 1, Online)],
        );
        group.members[1].runtime.speed.judged(100, Some(10.0));
        let picked = (0..1300).filter(|&random| group.pick(random, false, &[]).unwrap().runtime.host == "b");
        assert_eq!(picked.count(), 300, "3 tenths beside 1");
        let beside = group.beside_each_other();
        let beside: Vec<&str> = beside.iter().map(|member| member.runtime.host.as_str()).collect();
        assert_eq!(beside, ["a", "b"], "a last resort is beside nobody");
        group.members[0].runtime.avoid_for(Duration::from_secs(3600));
        assert_eq!(picks(&group, false), ["b"], "it answers before the last resort");
    }

    #[test]
    fn a_last_resort_serves_only_when_no_other_can() {
        let group = members(
            Role::Reader,
            &[
                ("a", 1, 0, Online),
                ("b", 1, 0, Draining),
                ("writer", 1, 1, Online),
            ],
        );
        assert_eq!(picks(&group, false), ["a"]);
        group.members[0].runtime.avoid_for(Duration::from_secs(3600));
        assert_eq!(picks(&group, false), ["writer"]);
        group.members[0].runtime.reached();
        assert_eq!(picks(&group, false), ["a"]);
    }

    #[test]
    fn a_writer_hostgroup_has_one_writer() {
        let group = members(
            Role::Writer,
            &[("a", 1, 0, Offline), ("b", 0, 0, Online), ("c", 1, 0, Online)],
        );
        assert_eq!(picks(&group, false), ["b"]);
        group.members[1].runtime.avoid_for(Duration::from_secs(3600));
        assert_eq!(picks(&group, false), Vec::<String>::new());
        assert_eq!(picks(&group, true), ["b"]);
    }
}
