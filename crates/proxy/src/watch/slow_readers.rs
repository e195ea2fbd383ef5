//! Readers that are slow beside others get fewer reads: twice a second, their speeds are compared.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use shardwright_rules::{Cluster, HostgroupId};
use tokio::time::sleep;

use super::watcher::Watcher;
use crate::hostgroup_members::{HostgroupMember, HostgroupMembers};
use crate::read_speed::{Judge, LOOK_EVERY, Reader, Verdict, WHOLE_SHARE};

/// Compares until it is aborted.
pub(super) async fn run(watcher: Rc<Watcher>) {
    let mut judges = BTreeMap::new();
    loop {
        look(&watcher, &mut judges, Instant::now());
        sleep(LOOK_EVERY).await;
    }
}

fn look(watcher: &Watcher, judges: &mut BTreeMap<HostgroupId, Judge>, now: Instant) {
    let snapshot = watcher.snapshot();
    judges.retain(|id, _| snapshot.hostgroups.contains_key(id));
    let reader = |cluster: &'_ Cluster| cluster.reader.map(|id| (id, cluster.slow_readers.get_fewer()));
    for (id, get_fewer) in snapshot.configuration.clusters.iter().filter_map(reader) {
        let Some(group) = snapshot.hostgroups.get(&id) else {
            continue;
        };
        let beside = if get_fewer {
            group.beside_each_other()
        } else {
            Vec::new()
        };
        for member in &group.members {
            let is_beside = beside.iter().any(|other| std::ptr::eq(*other, member));
            member.runtime.speed.compare(is_beside && beside.len() > 1);
        }
        if !get_fewer {
            judges.remove(&id);
            release(id, group);
            continue;
        }
        let readers: Vec<Reader> = beside.iter().map(|member| as_reader(member)).collect();
        for verdict in judges.entry(id).or_default().look(&readers, now) {
            let member = beside
                .iter()
                .find(|member| member.runtime.number == verdict.number);
            member
                .into_iter()
                .for_each(|member| take_up(id, member, &verdict));
        }
    }
}

fn as_reader(member: &HostgroupMember) -> Reader {
    let runtime = &member.runtime;
    Reader {
        number: runtime.number,
        evidence: runtime.speed.evidence(),
        is_steady: runtime.is_steady(),
        share: runtime.speed.share(),
    }
}

/// Slow readers get their share, as the cluster now says.
fn release(hostgroup: HostgroupId, group: &HostgroupMembers) {
    for member in &group.members {
        let released = Verdict {
            number: member.runtime.number,
            times_slower: None,
            share: WHOLE_SHARE,
        };
        take_up(hostgroup, member, &released);
    }
}

fn take_up(hostgroup: HostgroupId, member: &HostgroupMember, verdict: &Verdict) {
    let (server, speed) = (&member.server, &member.runtime.speed);
    let before = speed.share();
    speed.judged(verdict.share, verdict.times_slower);
    if before == WHOLE_SHARE && verdict.share < WHOLE_SHARE {
        let percent = verdict.share as f64 * 100.0 / WHOLE_SHARE as f64;
        let times = verdict.times_slower.unwrap_or_default();
        tracing::warn!(
            %server, %hostgroup,
            "it answers reads {times:.1} times as slowly as the other readers, and gets {percent} % of its share of them; more as it gets faster"
        );
    }
    if before < WHOLE_SHARE && verdict.share == WHOLE_SHARE {
        tracing::info!(%server, %hostgroup, "it has its share of reads again");
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;
    use crate::members::{MemberRegistry, member_of_tests};

    /// The lines of a log.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            match field.name() {
                "message" => write!(self.0, ": {value:?}").unwrap(),
                name => write!(self.0, " {name}={value:?}").unwrap(),
            }
        }
    }

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn the_log_has_a_line_when_a_reader_becomes_slow_and_when_it_has_its_share_again() {
        let hostgroup = HostgroupId(11);
        let member = HostgroupMember {
            runtime: MemberRegistry::default().get(hostgroup, &member_of_tests("h")),
            server: "clusters.shop.servers.db2".into(),
        };
        let log = Log::default();
        tracing::subscriber::with_default(log.clone(), || {
            for (share, times_slower) in [
                (1000, 1.0),
                (52, 19.4),
                (50, 19.6),
                (150, 1.1),
                (1000, 1.0),
                (1000, 1.2),
            ] {
                let verdict = Verdict {
                    number: member.runtime.number,
                    times_slower: Some(times_slower),
                    share,
                };
                take_up(hostgroup, &member, &verdict);
                assert_eq!(member.runtime.share(), share);
            }
        });
        let lines = log.0.lock().unwrap().join("\n");
        insta::assert_snapshot!(lines, @r"
        WARN: it answers reads 19.4 times as slowly as the other readers, and gets 5.2 % of its share of them; more as it gets faster server=clusters.shop.servers.db2 hostgroup=11
        INFO: it has its share of reads again server=clusters.shop.servers.db2 hostgroup=11
        ");
    }
}
