//! Plans as comments of a review: they stay below the limits of those services, and are found again.

use shardwright_plan::Plan;
use shardwright_plan::render::markdown;

use crate::fixtures::*;

#[test]
fn a_comment_stays_below_its_limit() {
    let mut desired = bundled();
    map_of(&mut desired).shards = (1..=5000).map(|key| shard(key, "shop-14")).collect();
    let plan = plan_for(&["local"], &running(1, &bundled()), &desired);
    let comment = markdown(&plan, &view(true));
    assert!(comment.chars().count() < 65_536, "{}", comment.chars().count());
    assert!(comment.contains("more lines; see the plan file"));
    assert!(comment.contains("</details>"));
}

#[test]
fn a_comment_of_many_different_targets_stays_below_its_limit() {
    let names: Vec<String> = (0..400).map(|n| format!("proxy-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut plan = plan_for(&names, &running(1, &bundled()), &bundled());
    for (at, target) in plan.targets.iter_mut().enumerate() {
        let mut desired = bundled();
        map_of(&mut desired).shards = (0..=at as i64).map(|key| shard(key, "shop-14")).collect();
        let own = plan_for(&[&target.name], &running(1, &bundled()), &desired);
        target.effects = own.targets[0].effects.clone();
    }
    let comment = markdown(&plan, &view(true));
    assert!(comment.chars().count() < 65_536, "{}", comment.chars().count());
    assert!(comment.ends_with("more lines; see the plan file\n"));
    let count = |tag: &str| comment.matches(tag).count();
    assert_eq!(count("<details>"), count("</details>"));
}

#[test]
fn the_marker_tells_projects_and_environments_apart_and_stays() {
    let mut plan = plan_for(&["local"], &running(1, &bundled()), &bundled());
    let marked = |plan: &Plan| markdown(plan, &view(true)).lines().next().map(str::to_owned);
    assert_eq!(marked(&plan).as_deref(), Some("<!-- shardwright:plan -->"));
    plan.environment = Some("prod".to_owned());
    assert_eq!(
        marked(&plan).as_deref(),
        Some("<!-- shardwright:plan env=prod -->")
    );
    plan.targets[0].project = Some("payments".to_owned());
    assert_eq!(
        marked(&plan).as_deref(),
        Some("<!-- shardwright:plan project=payments env=prod -->")
    );
}
