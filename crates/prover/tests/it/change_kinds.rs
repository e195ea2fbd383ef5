//! The kinds of change between two configurations: one statement for each, as people write it, with what it concerns.

use shardwright_prover::equivalence::{ChangeKind, Equivalence, Share, change_kinds, equivalence};
use shardwright_rules::{Decision, Outcome};
use shardwright_testkit::configuration;

fn end(decision: Option<&Decision>) -> String {
    match decision.map(|decision| &decision.outcome) {
        None => "no login".to_owned(),
        Some(Outcome::Route(route)) => {
            let delay = route.effects.delay_ms.map(|delay| format!(" delay {delay}"));
            format!("{}{}", route.hostgroup, delay.unwrap_or_default())
        }
        Some(Outcome::Reject(rejection)) => format!("refused {}", rejection.code),
        Some(_) => "answered".to_owned(),
    }
}

fn share(share: Share) -> String {
    format!("{}/{}", share.concerned, share.of)
}

/// One line for each kind, sorted.
fn kinds(left: &str, right: &str) -> String {
    let [left, right] = [left, right].map(configuration);
    let Equivalence::Refuted { differences, .. } = equivalence(&left, &right) else {
        panic!("nothing differs")
    };
    let mut lines = Vec::new();
    for kind in change_kinds([&left, &right], &differences, &[]) {
        let ChangeKind {
            example,
            users,
            schemas,
            ..
        } = &kind;
        let schema = example.session.schemas[1].as_deref().unwrap_or("-");
        lines.push(format!(
            "{} of {} in {schema}: {} → {}, {} users, {} schemas",
            String::from_utf8_lossy(&example.statement),
            example.session.user,
            end(example.left.as_ref()),
            end(example.right.as_ref()),
            share(*users),
            share(*schemas)
        ));
    }
    lines.sort();
    lines.join("\n")
}

const USERS: &str = "users: [app, batch, report]\n";

#[test]
fn each_kind_has_one_statement() {
    let before = format!(
        "{USERS}rules:
  - {{rule_id: 5, match_digest: '^DELETE FROM audit', delay: 50}}
  - {{rule_id: 20, match_digest: '^SELECT .* FROM stock_', destination_hostgroup: 11, apply: 1}}
"
    );
    // A policy for the reads of all, another delay, one user who is refused, and a table that goes elsewhere.
    let after = format!(
        "{USERS}rules:
  - {{rule_id: 5, match_digest: '^DELETE FROM audit', delay: 500}}
  - {{rule_id: 7, username: batch, match_digest: '^INSERT', error_msg: 'no', apply: 1}}
  - {{rule_id: 20, match_digest: '^SELECT .* FROM stock_', destination_hostgroup: 12, apply: 1}}
  - {{rule_id: 30, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}}
"
    );
    insta::assert_snapshot!(kinds(&before, &after), @r"
    DELETE FROM audit WHERE id=1 of app in shop: 10 delay 50 → 10 delay 500, 3/3 users, 1/1 schemas
    INSERT INTO t (id, a) VALUES (1, 'x') of batch in shop: 10 → refused 1148, 1/3 users, 1/1 schemas
    SELECT a FROM stock_ WHERE id=1 of app in shop: 11 → 12, 3/3 users, 1/1 schemas
    SELECT a FROM t WHERE id=1 of app in shop: 10 → 11, 3/3 users, 1/1 schemas
    ");
}

#[test]
fn users_who_come_and_go_are_kinds() {
    let before = format!("{USERS}rules: []\n");
    let after = before.replace("batch", "nightly");
    insta::assert_snapshot!(kinds(&before, &after), @r"
    SELECT a FROM t WHERE id=1 of batch in shop: 10 → no login, 1/4 users, 0/0 schemas
    SELECT a FROM t WHERE id=1 of nightly in shop: no login → 10, 1/4 users, 0/0 schemas
    ");
}

#[test]
fn a_row_of_fast_routing_is_shown_in_its_schema() {
    let rows = |hostgroup: u32| -> String {
        let rows = (0..40).map(|tenant| {
            let to = if tenant < 10 { hostgroup } else { 11 };
            format!(
                "  - {{username: '', schemaname: tenant_{tenant}, flagIN: 0, destination_hostgroup: {to}}}\n"
            )
        });
        format!("{USERS}rules: []\nfast_routing:\n{}", rows.collect::<String>())
    };
    insta::assert_snapshot!(kinds(&rows(11), &rows(12)), @"SELECT a FROM t WHERE id=1 of app in tenant_0: 11 → 12, 3/3 users, 10/41 schemas");
}
