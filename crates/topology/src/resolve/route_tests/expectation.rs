//! `expect`: what must become of a statement.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use shardwright_diagnostics::{Diagnostic, Span, did_you_mean};

use super::Reader;
use crate::codes::{MISSING_KEY, NOT_TOGETHER, UNKNOWN_REFERENCE};
use crate::context::Context;
use crate::model::{Expectation, ExpectedOutcome, Role};
use crate::resolve::object::Object;

const OUTCOMES: [(&str, ExpectedOutcome); 3] = [
    ("route", ExpectedOutcome::Route),
    ("reject", ExpectedOutcome::Reject),
    ("answer", ExpectedOutcome::Answer),
];
const ROLES: [(&str, Role); 2] = [("writer", Role::Writer), ("reader", Role::Reader)];

impl Reader<'_> {
    pub(super) fn expectation(
        &mut self,
        step: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Expectation> {
        let object = step.part("expect", context)?;
        if object.view.fields().is_empty() {
            object.error(MISSING_KEY, "`expect` says nothing", object.key, context);
        }
        let expectation = Expectation {
            outcome: object.word("outcome", &OUTCOMES, context),
            cluster: self.cluster("cluster", &object, context),
            role: object.word("role", &ROLES, context),
            shards: self.shards(&object, context),
            hostgroup: object.id("hostgroup", context),
            query: trimmed("query", &object, context),
            backend_schema: object.text("backend_schema", context),
            error: object.filled_text("error", context),
            answer: object.text("answer", context),
            delay_ms: object.duration_ms("delay", context),
            rule: self.rule(&object, context),
            cache_ttl_ms: object.duration_ms("cache_ttl", context),
            mirror: self.cluster("mirror", &object, context),
            multiplex: object
                .integer("multiplex", 0..=2, context)
                .and_then(|number| u8::try_from(number).ok()),
        };
        one_outcome(&object, &expectation, context);
        Some(expectation)
    }

    fn cluster(
        &mut self,
        field: &str,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<str>> {
        let name = object.filled_text(field, context)?;
        if self.topology.clusters.place(&name).is_none() {
            let names = self.topology.clusters.names();
            self.unknown("cluster", &name, names, object.span(field), object, context);
        }
        Some(name)
    }

    /// `tenants/t017`, or the address in full; as addresses.
    fn shards(&mut self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<Arc<str>> {
        let written = object.texts("shard", context);
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
        let Some(known) = self.topology.shard_maps.get_named(map) else {
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
        if known.shards.place(shard).is_none() {
            let kind = format!("shard of shard map `{map}`");
            self.unknown(&kind, shard, known.shards.names(), span, object, context);
        }
        true
    }

    /// The address of an object.
    fn rule(&mut self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
        let text = object.filled_text("rule", context)?;
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
                    let mut known: Vec<&str> = addresses.iter().map(String::as_str).collect();
                    known.sort_unstable();
                    did_you_mean(&address, known).map(ToOwned::to_owned)
                })
                .flatten();
            let diagnostic =
                Diagnostic::error(UNKNOWN_REFERENCE, format!("no object has the address `{text}`"))
                    .at(object.span("rule"), "")
                    .did_you_mean(near.as_deref());
            object.push(diagnostic, context);
        }
        Some(address)
    }
}

/// A statement's text, without blanks at its end.
fn trimmed(field: &str, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    if !object.has(field) {
        return None;
    }
    let (_, text) = object.raw_text(field, context)?;
    Some(context.intern(text.trim_end()))
}

/// A statement has one outcome: what only a refusal has does not go with a place.
fn one_outcome(object: &Object<'_, '_>, expectation: &Expectation, context: &mut Context<'_>) {
    let implied = [
        ("error", ExpectedOutcome::Reject),
        ("answer", ExpectedOutcome::Answer),
        ("cluster", ExpectedOutcome::Route),
        ("role", ExpectedOutcome::Route),
        ("shard", ExpectedOutcome::Route),
        ("hostgroup", ExpectedOutcome::Route),
        ("query", ExpectedOutcome::Route),
        ("backend_schema", ExpectedOutcome::Route),
        ("delay", ExpectedOutcome::Route),
        ("cache_ttl", ExpectedOutcome::Route),
        ("mirror", ExpectedOutcome::Route),
        ("multiplex", ExpectedOutcome::Route),
    ];
    let stated = expectation.outcome.map(|outcome| ("outcome", outcome));
    let mut given = stated
        .into_iter()
        .chain(implied.into_iter().filter(|(field, _)| object.has(field)));
    let Some((first, outcome)) = given.next() else {
        return;
    };
    if let Some((second, _)) = given.find(|(_, other)| *other != outcome) {
        let message = format!("`{second}` does not go together with `{first}`: a statement has one outcome");
        object.error(NOT_TOGETHER, message, object.key_span(second), context);
    }
}
