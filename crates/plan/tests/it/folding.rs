//! Many objects that change: each field is told, once for all that change alike.

use insta::assert_snapshot;
use shardwright_plan::render::{View, markdown, text};
use shardwright_rules::{Configuration, Shard};

use crate::fixtures::*;

/// Tenants from 1 on, each changed.
fn tenants_of(count: i64, change: impl Fn(i64, &mut Shard)) -> Configuration {
    let mut configuration = bundled();
    let shards = (1..=count).map(|key| {
        let mut shard = shard(key, "shop-14");
        change(key, &mut shard);
        shard
    });
    map_of(&mut configuration).shards = shards.collect();
    configuration
}

fn shown(count: i64, change: impl Fn(i64, &mut Shard)) -> String {
    listing(&tenants_of(count, |_, _| ()), &tenants_of(count, change), false)
}

#[test]
fn what_changes_alike_is_one_line_with_its_change() {
    let moved = shown(40, |key, shard| {
        if key > 2 {
            shard.cluster = Some("shop-20".into());
        }
    });
    assert_snapshot!(moved, @"
    ~ 38 shards  cluster shop-14 → shop-20: tenants/t3 … tenants/t40
    objects   0 rules of 3, 38 shards of 40, 0 hostgroups, 0 servers, 0 users
    ");
    let some_otherwise = shown(40, |key, shard| match key {
        7 => shard.refuse = Some("it has moved".into()),
        _ => shard.cluster = Some("shop-20".into()),
    });
    assert_snapshot!(some_otherwise, @r#"
    ~ 39 shards   cluster shop-14 → shop-20: tenants/t1 … tenants/t40
    ~ tenants/t7  refuse none → "it has moved"
    objects   0 rules of 3, 40 shards of 40, 0 hostgroups, 0 servers, 0 users
    "#);
}

#[test]
fn of_many_different_changes_the_fields_are_told() {
    let different = shown(40, |key, shard| {
        shard.refuse = Some(format!("tenant {key} has moved").into());
        if key % 4 == 0 {
            shard.cluster = Some("shop-20".into());
        }
    });
    assert_snapshot!(different, @"
    ~ 40 shards  refuse of 40, cluster of 10: tenants/t1 … tenants/t40
    objects   0 rules of 3, 40 shards of 40, 0 hostgroups, 0 servers, 0 users
    ");
}

#[test]
fn a_comment_folds_as_a_terminal_does() {
    let desired = tenants_of(40, |_, shard| shard.cluster = Some("shop-20".into()));
    let plan = plan_for(&["local"], &running(12, &tenants_of(40, |_, _| ())), &desired);
    let comment = markdown(&plan, &view(false));
    assert!(
        comment.contains("| ~ | 40 shards | cluster shop-14 → shop-20: "),
        "{comment}"
    );
}

#[test]
fn signs_have_colour_where_it_is_asked_for() {
    let desired = tenants_of(1, |_, shard| shard.cluster = Some("shop-20".into()));
    let plan = plan_for(&["local"], &running(12, &tenants_of(2, |_, _| ())), &desired);
    let plain = text(&plan, &view(false));
    assert!(!plain.contains('\u{1b}'));
    let colored = text(
        &plan,
        &View {
            color: true,
            ..view(false)
        },
    );
    assert!(colored.contains("\u{1b}[33m~\u{1b}[0m"), "{colored}");
    assert!(colored.contains("\u{1b}[31m-\u{1b}[0m"), "{colored}");
    let bare: String = ["\u{1b}[33m", "\u{1b}[31m", "\u{1b}[0m"]
        .iter()
        .fold(colored, |text, code| text.replace(code, ""));
    assert_eq!(bare, plain);
}
