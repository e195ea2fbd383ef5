//! `expect`: what must become of a statement.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use shardwright_diagnostics::{Diagnostic, Span, did_you_mean};

use self::expect::{
    ANSWER, CLUSTER, ERROR, MIRROR, MULTIPLEX, OUTCOME, QUERY, ROLE, RULE, SERVED_BY, SHARD, THROTTLED_BY,
};
use super::Reader;
use super::test::EXPECT;
use crate::codes::{MISSING_KEY, NOT_TOGETHER, UNKNOWN_REFERENCE};
use crate::fields::{AnyField, Declared, EXPECTS, Int, Text, object};
use crate::model::{Expectation, ExpectedOutcome, Role};
use crate::resolve::object::Object;
use crate::tree::context::Context;

object! {
    pub(crate) mod expect = "The expected result. Everything that is written must hold.";
    OUTCOME: Word<ExpectedOutcome> = word("outcome", "What happens to the statement.")
        .page("`route`: it is sent to a server; `reject`: the client gets an error; `answer`: the proxy answers.");
    CLUSTER: Text = filled("cluster", "The cluster that it is sent to.").examples(r#"["shard-001"]"#)
        .refers(refers::CLUSTERS);
    ROLE: Word<Role> = word("role", "The role of the servers that it is sent to.");
    SHARD: Texts = text_or_list(
        "shard",
        "The shard that places it, such as tenants/t017; a list where several maps place it.",
    )
    .examples(r#"["tenants/t017"]"#)
    .refers(refers::SHARD);
    HOSTGROUP: Count = id("hostgroup", "The number of the hostgroup that it is sent to.");
    QUERY: Text = text("query", "The text that is sent.");
    BACKEND_SCHEMA: Text = text("backend_schema", "The schema that the server's session is in.")
        .page("It may differ from the client's.");
    ERROR: Text = filled("error", "A part of the error message, such as SW351.").examples(r#"["SW351"]"#);
    ANSWER: Text = text("answer", "The text that the proxy answers with.");
    DELAY: Duration = duration("delay", "How long the statement is delayed.")
        .page("`0ms`: not at all.");
    RULE: Text = filled(
        "rule",
        "The address of an object with a rule that does something to the statement: query_rules.legacy, shard_maps.tenants.",
    )
    .examples(r#"["query_rules.legacy"]"#)
    .page("A rule of the object, or of one inside it.")
    .refers(refers::RULES);
    CACHE_TTL: Duration = duration("cache_ttl", "How long its result is cached.")
        .page("`0ms`: not at all.");
    MIRROR: Text = filled("mirror", "The cluster that gets a copy.")
        .refers(refers::CLUSTERS);
    MULTIPLEX: Custom = custom(
        "multiplex",
        "Whether it may share a server connection, as rules set it: 0 never, 1 always, 2 in spite of its variables.",
        |says| json!({ "description": says, "enum": [0, 1, 2], EXPECTS: "0, 1 or 2" }),
    );
    SERVED_BY: Texts = text_or_list("served_by", "The servers that take it, in any order.")
        .examples(r#"["pxc2", ["db2", "db3"]]"#)
        .page("An empty list: it waits until a server serves. With `if`, as it says; for the bundled engine.");
    THROTTLED_BY: Texts = text_or_list(
        "throttled_by",
        "The throttles on replication lag that hold it back, in any order.",
    )
        .examples(r#"["batch"]"#)
        .page("An empty list: none of them. With `if`, as it says; for the bundled engine.");
}

/// What is said of one statement, and not of all statements of a domain: their texts, and the servers of a moment.
const OF_ONE: [&dyn AnyField; 6] = [&QUERY, &ERROR, &ANSWER, &RULE, &SERVED_BY, &THROTTLED_BY];

/// What can be expected of all statements of a domain.
pub(super) fn of_all() -> impl Iterator<Item = (&'static str, Value)> {
    let is_of_one = |field: &dyn AnyField| OF_ONE.iter().any(|of_one| of_one.name() == field.name());
    let fields = expect::FIELDS
        .fields
        .iter()
        .filter(move |field| !is_of_one(**field));
    fields.map(|field| (field.name(), field.plain_schema()))
}

impl Reader<'_> {
    pub(super) fn expectation(
        &mut self,
        step: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Expectation> {
        let object = step.part(&EXPECT, context)?;
        if object.view.fields().is_empty() {
            object.error(MISSING_KEY, "`expect` has no expectation", object.key, context);
        }
        let expectation = Expectation {
            outcome: object.get(&OUTCOME, context),
            cluster: self.cluster(&CLUSTER, &object, context),
            role: object.get(&ROLE, context),
            shards: self.shards(&object, context),
            hostgroup: object.get(&expect::HOSTGROUP, context),
            query: trimmed(&QUERY, &object, context),
            backend_schema: object.get(&expect::BACKEND_SCHEMA, context),
            error: object.get(&expect::ERROR, context),
            answer: object.get(&expect::ANSWER, context),
            delay_ms: object.get(&expect::DELAY, context),
            rule: self.rule(&object, context),
            cache_ttl_ms: object.get(&expect::CACHE_TTL, context),
            mirror: self.cluster(&MIRROR, &object, context),
            multiplex: object.read(&MULTIPLEX, &Int::between(0, 2), context),
            served_by: self.servers(&object, context),
            throttled_by: self.throttles(&object, context),
        };
        one_outcome(&object, &expectation, context);
        Some(expectation)
    }

    fn cluster(
        &mut self,
        field: &Declared<Text>,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<str>> {
        let name = object.get(field, context)?;
        if self.topology.clusters.position(&name).is_none() && !self.is_server_of_user(&name) {
            let names = self.topology.clusters.names();
            self.unknown("cluster", &name, names, object.span(field), object, context);
        }
        Some(name)
    }

    /// Whether it is `CLUSTER.SERVER` of a user who has one server.
    fn is_server_of_user(&self, name: &str) -> bool {
        let topology = self.topology;
        topology.users.iter().any(|user| {
            let cluster = topology.cluster(user.cluster);
            user.server_name(cluster).as_deref() == Some(name)
        })
    }

    /// `tenants/t017`, or the address in full; as addresses.
    fn shards(&mut self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<Arc<str>> {
        let written = object.texts(&SHARD, context);
        let mut shards = Vec::new();
        for (span, text) in written {
            let parts: Vec<&str> = text.split('.').collect();
            let names = match parts.as_slice() {
                ["shard_maps", map, "shards", shard] => Some((*map, *shard)),
                [short] => short.split_once('/'),
                _ => None,
            };
            let Some((map, shard)) = names else {
                let message = format!("no shard is named `{text}`");
                let help = "a shard is written MAP/SHARD, such as tenants/t017";
                object.push(
                    Diagnostic::error(UNKNOWN_REFERENCE, message)
                        .at(span, "")
                        .help(help),
                    context,
                );
                continue;
            };
            if self.shard_exists(map, shard, span, object, context) {
                shards.push(context.intern(&format!("shard_maps.{map}.shards.{shard}")));
            }
        }
        shards
    }

    fn shard_exists(
        &self,
        map: &str,
        shard: &str,
        span: Span,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(shard_map) = self.topology.shard_maps.get_named(map) else {
            self.unknown(
                "shard map",
                map,
                self.topology.shard_maps.names(),
                span,
                object,
                context,
            );
            return !self.is_whole;
        };
        if shard_map.shards.position(shard).is_none() {
            let kind = format!("shard of shard map `{map}`");
            self.unknown(&kind, shard, shard_map.shards.names(), span, object, context);
        }
        true
    }

    /// The address of an object.
    fn rule(&mut self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
        let text = object.get(&expect::RULE, context)?;
        let address: Arc<str> = match text.split_once('/') {
            Some((map, shard)) => format!("shard_maps.{map}.shards.{shard}").into(),
            None => text.clone(),
        };
        if !self.is_whole {
            return Some(address);
        }
        let addresses = self.addresses.get_or_insert_with(|| {
            let origins = &context.origins;
            origins
                .iter()
                .map(|id| origins.address(id))
                .collect::<FxHashSet<String>>()
        });
        if !addresses.contains(&*address) {
            let near = (addresses.len() <= 10_000)
                .then(|| {
                    let mut candidates: Vec<&str> = addresses.iter().map(String::as_str).collect();
                    candidates.sort_unstable();
                    did_you_mean(&address, candidates).map(ToOwned::to_owned)
                })
                .flatten();
            let diagnostic =
                Diagnostic::error(UNKNOWN_REFERENCE, format!("no object has the address `{text}`"))
                    .at(object.span(&expect::RULE), "")
                    .did_you_mean(near.as_deref());
            object.push(diagnostic, context);
        }
        Some(address)
    }
}

/// A statement's text, without blanks at its end.
fn trimmed(field: &dyn AnyField, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    let (_, text) = object.raw_text(&object.field(field)?, context)?;
    Some(context.intern(text.trim_end()))
}

/// A statement has one outcome: what only a refusal has does not go with a place.
fn one_outcome(object: &Object<'_, '_>, expectation: &Expectation, context: &mut Context<'_>) {
    let implied: [(&dyn AnyField, ExpectedOutcome); 14] = [
        (&ERROR, ExpectedOutcome::Reject),
        (&ANSWER, ExpectedOutcome::Answer),
        (&CLUSTER, ExpectedOutcome::Route),
        (&ROLE, ExpectedOutcome::Route),
        (&SHARD, ExpectedOutcome::Route),
        (&expect::HOSTGROUP, ExpectedOutcome::Route),
        (&QUERY, ExpectedOutcome::Route),
        (&expect::BACKEND_SCHEMA, ExpectedOutcome::Route),
        (&expect::DELAY, ExpectedOutcome::Route),
        (&expect::CACHE_TTL, ExpectedOutcome::Route),
        (&MIRROR, ExpectedOutcome::Route),
        (&MULTIPLEX, ExpectedOutcome::Route),
        (&SERVED_BY, ExpectedOutcome::Route),
        (&THROTTLED_BY, ExpectedOutcome::Route),
    ];
    let stated = expectation
        .outcome
        .map(|outcome| (&OUTCOME as &dyn AnyField, outcome));
    let mut given = stated
        .into_iter()
        .chain(implied.into_iter().filter(|(field, _)| object.has(*field)));
    let Some((first, outcome)) = given.next() else {
        return;
    };
    if let Some((second, _)) = given.find(|(_, other)| *other != outcome) {
        let message = format!(
            "`{}` does not go together with `{}`: a statement has one outcome",
            second.name(),
            first.name()
        );
        object.error(NOT_TOGETHER, message, object.key_span(second), context);
    }
}
