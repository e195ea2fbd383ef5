//! The owner of a target is part of its plan: a change of it is an effect, and nothing else is.

use std::sync::Arc;
use std::time::Duration;

use shardwright_plan::{Action, Observed, Plan, TargetPlan, Timestamp};

use crate::fixtures::{bundled, running};

fn owned(project: Option<&str>) -> Observed {
    Observed {
        project: project.map(str::to_owned),
        ..running(3, &bundled())
    }
}

#[test]
fn a_change_of_owner_is_an_effect() {
    let cases = [
        (None, None, None),
        (None, Some("shop"), Some(Action::Add)),
        (Some("shop"), Some("shop"), None),
        (Some("shop"), Some("pay"), Some(Action::Change)),
        (Some("shop"), None, Some(Action::Remove)),
    ];
    for (former, project, expected) in cases {
        let plan = TargetPlan::new("local", &owned(former), &bundled(), Vec::new()).for_project(project);
        let found: Vec<Action> = plan.effects.iter().map(|effect| effect.action).collect();
        assert_eq!(found, Vec::from_iter(expected), "{former:?} {project:?}");
        assert_eq!(plan.steps.is_empty(), expected.is_none());
        assert_eq!(plan.project.as_deref(), project);
        assert_eq!(plan.base.project.as_deref(), former);
    }
}

#[test]
fn a_plan_with_an_owner_is_saved_and_read() {
    let desired = Arc::new(bundled());
    let part = TargetPlan::new("local", &owned(Some("shop")), &desired, Vec::new()).for_project(Some("pay"));
    let hour = Duration::from_secs(3600);
    let plan = Plan::new(None, Timestamp::UNIX_EPOCH, hour, None, vec![(part, desired)]);
    let read = Plan::read(plan.to_json().as_bytes()).unwrap();
    assert_eq!(read, plan);
    assert!(read.has_changes());
}
