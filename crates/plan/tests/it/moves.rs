//! Plans with shards that move: shown everywhere, part of what is approved, carried out by nothing yet.

use insta::assert_snapshot;
use shardwright_plan::render::{self, markdown, text};
use shardwright_plan::{
    Applied, ApplyError, Change, Observed, Outcome, Plan, ShardMove, Target, TargetError, apply,
};

use crate::fixtures::*;

fn one_move() -> ShardMove {
    ShardMove {
        address: "moves.tenants/t137".into(),
        shard: "shard_maps.tenants.shards.t137".into(),
        from: "shop-14".into(),
        to: "shop-20".into(),
        max_fence_ms: 10_000,
        wait_ms: 2_500,
        kill_open_transactions: true,
        ready: vec!["./caught-up".into(), "t137".into()],
        ready_timeout_ms: 60_000,
        reason: Some("OPS-4411".into()),
    }
}

/// Nothing else changes.
fn plan() -> Plan {
    plan_for(&["local"], &running(12, &bundled()), &bundled()).with_moves(vec![one_move()])
}

/// The ids stand for contents, which the tests of saving are about.
fn lines(rendered: &str) -> String {
    let lines = rendered
        .lines()
        .filter(|line| !line.contains("plan ") && !line.contains("Plan "));
    let digest = plan().effect_digest;
    let lines = lines.collect::<Vec<_>>().join("\n");
    lines.replace(&digest[..render::SHOWN_DIGEST], "[digest]")
}

#[test]
fn a_move_is_shown_with_its_limits() {
    assert_snapshot!(lines(&text(&plan(), &view(false))), @"
    > tenants/t137  moves from shop-14 to shop-20: writes fenced for 10s at most, open transactions may take 2500ms, then they are ended; ready when `./caught-up t137` says so within 60s (OPS-4411)
    no changes
    safety    expires in 6 h; effects [digest]
    ");
    assert_snapshot!(lines(&markdown(&plan(), &view(false))), @r"
    * **tenants/t137** moves from shop-14 to shop-20: writes fenced for 10s at most, open transactions may take 2500ms, then they are ended; ready when \`./caught-up t137\` says so within 60s (OPS-4411)

    **local**

    no changes

    * expires in 6 h
    * effects [digest]
    ");
}

#[test]
fn a_move_is_a_change_that_an_approval_covers() {
    let without = plan_for(&["local"], &running(12, &bundled()), &bundled());
    assert!(!without.has_changes() && plan().has_changes());
    assert_ne!(without.effect_digest, plan().effect_digest);
    let elsewhere = ShardMove {
        to: "shop-21".into(),
        ..one_move()
    };
    assert_ne!(
        without.clone().with_moves(vec![elsewhere]).effect_digest,
        plan().effect_digest
    );
    assert_eq!(without.clone().with_moves(Vec::new()), without);
}

#[test]
fn a_saved_plan_keeps_its_moves() {
    let loaded = Plan::load(plan().to_json().as_bytes(), noon()).unwrap();
    assert_eq!(loaded, plan());
    let forged = plan()
        .to_json()
        .replace("\"to\": \"shop-20\"", "\"to\": \"shop-14\"");
    let forged = forged.replace("\"to\":\"shop-20\"", "\"to\":\"shop-14\"");
    assert!(Plan::load(forged.as_bytes(), noon()).is_err());
}

/// A target that must not be asked for anything.
struct Untouched;

impl Target for Untouched {
    fn name(&self) -> &str {
        "local"
    }

    fn observe(&mut self) -> Result<Observed, TargetError> {
        panic!("nothing is observed for a plan that cannot be applied");
    }

    fn apply(&mut self, _: &Change<'_>) -> Result<Applied, ApplyError> {
        panic!("nothing is sent");
    }
}

#[test]
fn nothing_of_a_plan_with_a_move_is_applied() {
    let report = apply(&plan(), &mut Untouched);
    assert_eq!(report.outcome, Outcome::NotSent);
    let id = plan().short_id().to_owned();
    assert_snapshot!(report.message.replace(&id, "[digest]"), @"plan [digest] moves tenants/t137, and moves cannot be carried out yet; take them out of `moves` to apply the rest");
}
