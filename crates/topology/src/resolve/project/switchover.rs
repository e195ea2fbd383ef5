//! How `shardwright switchover` gives servers their roles.

use super::project;
use crate::codes::{BAD_VALUE, MISSING_KEY};
use crate::fields::object;
use crate::model::{ServerAccount, Switchover};
use crate::resolve::object::Object;
use crate::resolve::user;
use crate::resolve::values::within;
use crate::tree::context::Context;

object! {
    pub(crate) mod switchover = "How `shardwright switchover` moves the writer of a cluster.";
    USER: Text = filled(
        "user",
        "The account on servers that sets `read_only` and starts and stops replication.",
    )
    .examples(r#"["switchover"]"#);
    PASSWORD: Definition = defined("password", "Its password.", "secret")
        .page("A [reference](secrets.md).");
    REPLICATION: Part = part("replication", &replication::FIELDS);
    DEADLINE: Or<Duration> = duration(
        "deadline",
        "How long statements may wait before everything is undone; at most 60s.",
    )
    .or(Switchover::DEFAULT_DEADLINE_MS);
    TRANSACTIONS: Or<Duration> = duration(
        "transactions",
        "How long open transactions may go on before everything is undone; part of `deadline`.",
    )
    .or(Switchover::DEFAULT_TRANSACTIONS_MS);
    PROMOTE: Texts = texts(
        "promote",
        "A program with its arguments that gives the servers their roles in place of shardwright. No shell is involved.",
        "a list of texts",
    )
    .examples(r#"[["orchestrator-client", "-c", "graceful-master-takeover-auto"]]"#);
}

object! {
    mod replication = "The account that the former writer replicates with. Without it, the former writer stays read-only and replicates from nowhere.";
    USER: Text = filled("user", "The name of the replication account.")
        .needed()
        .examples(r#"["replica"]"#);
    PASSWORD: Definition = defined("password", "Its password.", "secret").needed()
        .page("A [reference](secrets.md).");
}

/// The longest that proxies have statements wait.
const LONGEST_MS: u64 = 60_000;

/// Reads the section.
pub(super) fn switchover(object: &Object<'_, '_>, context: &mut Context<'_>) -> Switchover {
    let part = object.part(&project::SWITCHOVER, context);
    let part = part.as_ref();
    let account = part.and_then(|part| {
        if part.has(&switchover::USER) != part.has(&switchover::PASSWORD) {
            let message = "`user` and `password` belong together: they are the account on servers";
            part.error(MISSING_KEY, message, part.key, context);
        }
        let user = part.get(&switchover::USER, context);
        let password = user::secret(part, &switchover::PASSWORD, context);
        Some(ServerAccount {
            user: user?,
            password: password?.source,
        })
    });
    let replication = part
        .and_then(|part| part.part(&switchover::REPLICATION, context))
        .and_then(|part| {
            part.require_all(&replication::FIELDS, context);
            let user = part.get(&replication::USER, context);
            let password = user::secret(&part, &replication::PASSWORD, context);
            Some(ServerAccount {
                user: user?,
                password: password?.source,
            })
        });
    let deadline_ms = within(part, &switchover::DEADLINE, context);
    let transactions_ms = within(part, &switchover::TRANSACTIONS, context);
    if let Some(part) = part {
        if !(1..=LONGEST_MS).contains(&deadline_ms) {
            let message = "statements can wait between 1ms and 60s";
            part.error(BAD_VALUE, message, part.span(&switchover::DEADLINE), context);
        }
        if transactions_ms >= deadline_ms {
            let message = "`transactions` is a part of `deadline`, so it must be shorter";
            let field = match part.has(&switchover::TRANSACTIONS) {
                true => part.span(&switchover::TRANSACTIONS),
                false => part.span(&switchover::DEADLINE),
            };
            part.error(BAD_VALUE, message, field, context);
        }
    }
    Switchover {
        account,
        replication,
        deadline_ms,
        transactions_ms,
        promote: part.map_or_else(Vec::new, |part| part.list(&switchover::PROMOTE, context)),
    }
}
