//! What holds for every pair of configurations and every plan.

use std::collections::BTreeSet;

use proptest::prelude::*;
use shardwright_plan::render::{json, markdown, text};
use shardwright_plan::{ObjectKind, Plan, compare};
use shardwright_rules::*;

use crate::fixtures::*;

/// One edit of a configuration, chosen by number.
fn edit(configuration: &mut Configuration, what: u8, value: u32) {
    let text = format!("v{value}");
    let server = |c: &mut Configuration, change: &dyn Fn(&mut Member)| {
        let hostgroup = value as usize % c.hostgroups.len();
        c.hostgroups[hostgroup].members.first_mut().map(change)
    };
    let is_bundled = configuration.engine == EngineId::Bundled;
    match what {
        0 => configuration.settings.query_processor_iterations = value,
        1 => configuration.clusters[0].writer_serves_reads = WriterServesReads::Always,
        2 => configuration.clusters[1].kind = ClusterKind::Single,
        3 => drop(server(configuration, &|member| member.weight = value)),
        4 => drop(server(configuration, &|member| member.tier ^= 1)),
        5 => drop(server(configuration, &|member| member.tls = ServerTls::Required)),
        6 => configuration.hostgroups[1].members.reverse(),
        7 => drop(configuration.hostgroups[1].members.pop()),
        8 => configuration.hostgroups[0].id = HostgroupId(value),
        9 => configuration.users[0].password = Some(SecretReference::File(text)),
        10 => configuration.users[0].default_hostgroup = HostgroupId(1000 + value % 6),
        11 => configuration.users[0].annotations_allowed ^= true,
        12 => configuration.users[0].address = format!("users.{text}").into(),
        13 => configuration.graph.rules.last_mut().unwrap().flag_in = value,
        14 => configuration.graph.rules.last_mut().unwrap().id += value,
        15 => configuration.graph.rules.last_mut().unwrap().address = "throttles.other".into(),
        16 => drop(configuration.graph.rules.pop()),
        17 if is_bundled => map_of(configuration).shards.reverse(),
        18 if is_bundled => map_of(configuration).shards[0]
            .keys
            .push(KeyValue::Text(text.into())),
        19 if is_bundled => map_of(configuration).otherwise = Some(text),
        20 if is_bundled => map_of(configuration).map = text,
        17 => columns_of(configuration, 100).re_modifiers.global ^= true,
        18 => columns_of(configuration, 100).comment = Some(text),
        19 => columns_of(configuration, 100).negate_match_pattern ^= true,
        _ => configuration.clusters[0].name = text.into(),
    }
}

fn edited() -> impl Strategy<Value = Configuration> {
    let edits = prop::collection::vec((0..22_u8, 0..4_u32), 0..4);
    (any::<bool>(), edits).prop_map(|(on_bundled, edits)| {
        let mut configuration = if on_bundled { bundled() } else { proxysql() };
        for (what, value) in edits {
            let rules = configuration.graph.rules.len();
            if rules > 3 || !(13..=20).contains(&what) {
                edit(&mut configuration, what, value);
            }
        }
        configuration
    })
}

proptest! {
    #[test]
    fn a_difference_is_empty_for_equal_configurations_and_for_no_others(old in edited(), new in edited()) {
        let difference = compare(&old, &new);
        prop_assert_eq!(difference.effects.is_empty(), old == new);
        prop_assert_eq!(&difference, &compare(&old.clone(), &new.clone()));
        let addresses: BTreeSet<_> = difference.effects.iter().map(|effect| &effect.address).collect();
        prop_assert_eq!(addresses.len(), difference.effects.len());
        let back = compare(&new, &old);
        prop_assert_eq!(back.counts.rules.added, difference.counts.rules.removed);
        prop_assert_eq!(back.counts.servers.total, difference.counts.servers.total);
        // The order of a cluster's servers is left out where servers that come or go explain it, one way but not back.
        for effect in difference.effects.iter().filter(|effect| effect.kind() != ObjectKind::Cluster) {
            let other = back.effects.iter().find(|other| other.address == effect.address).unwrap();
            prop_assert_eq!((&effect.old, &effect.new), (&other.new, &other.old));
        }
    }

    #[test]
    fn a_plan_survives_saving_and_no_edit_of_its_file_changes_it(
        old in edited(), new in edited(), at in any::<prop::sample::Index>(), bit in 0..8_u8,
    ) {
        let plan = plan_for(&["a", "b"], &running(3, &old), &new);
        let saved = plan.to_json();
        prop_assert_eq!(&Plan::load(saved.as_bytes(), noon()).unwrap(), &plan);
        let mut damaged = saved.into_bytes();
        let at = at.index(damaged.len());
        damaged[at] ^= 1 << bit;
        let loaded = Plan::load(damaged.as_slice(), noon());
        // A letter of another case can mean the same, as in a time.
        prop_assert!(loaded.is_err() || loaded.unwrap() == plan, "bit {bit} of byte {at} was not missed");
    }

    #[test]
    fn renderings_are_the_same_every_time(old in edited(), new in edited()) {
        let render = || {
            let plan = plan_for(&["a"], &running(3, &old), &new);
            (text(&plan, &view(true)), markdown(&plan, &view(false)), json(&plan))
        };
        prop_assert_eq!(render(), render());
    }
}
