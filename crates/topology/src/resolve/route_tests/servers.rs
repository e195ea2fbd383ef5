//! Servers in route tests: `if` supposes something of them, `expect.served_by` names those that take a statement.

use std::sync::Arc;

use shardwright_diagnostics::{Diagnostic, Span};
use shardwright_vocabulary::ServerName;

use super::Reader;
use super::expectation::expect::{SERVED_BY, THROTTLED_BY};
use super::test::{ENGINES, EXPECT, IF};
use crate::codes::{BAD_VALUE, NOT_TOGETHER, UNKNOWN_REFERENCE};
use crate::model::{EngineName, Supposition, TestStep};
use crate::resolve::object::Object;
use crate::tree::context::Context;

impl Reader<'_> {
    /// `if`: what is supposed of servers, by address.
    pub(super) fn supposed(
        &self,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Vec<(Arc<str>, Supposition)> {
        let written = object.texts(&IF, context);
        let supposed = written.into_iter().filter_map(|(span, text)| {
            let state = text.split_once('=');
            let Some((name, supposition)) =
                state.and_then(|(name, state)| Some((name, Supposition::parse(state)?)))
            else {
                let diagnostic =
                    Diagnostic::error(BAD_VALUE, format!("`{text}` supposes nothing of a server"))
                        .at(span, "")
                        .help(format!("write SERVER=STATE; states: {}", Supposition::FORMS));
                object.push(diagnostic, context);
                return None;
            };
            Some((self.server(name, span, object, context)?, supposition))
        });
        supposed.collect()
    }

    /// `expect.served_by`, as addresses.
    pub(super) fn servers(
        &self,
        expect: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Vec<Arc<str>>> {
        expect.has(&SERVED_BY).then(|| {
            let written = expect.texts(&SERVED_BY, context);
            let servers = written
                .into_iter()
                .filter_map(|(span, text)| self.server(&text, span, expect, context));
            servers.collect()
        })
    }

    /// `expect.throttled_by`, as addresses.
    pub(super) fn throttles(
        &self,
        expect: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Vec<Arc<str>>> {
        expect.has(&THROTTLED_BY).then(|| {
            let written = expect.texts(&THROTTLED_BY, context);
            let throttles = written.into_iter().map(|(span, text)| {
                if self.topology.throttles.position(&text).is_none() {
                    let names = self.topology.throttles.names();
                    self.unknown("throttle", &text, names, span, expect, context);
                }
                context.intern(&format!("throttles.{text}"))
            });
            throttles.collect()
        })
    }

    /// The address of the server that is written NAME, CLUSTER/NAME, or in full.
    fn server(
        &self,
        text: &str,
        span: Span,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<str>> {
        let named = ServerName::parse(text);
        let name = named.name;
        let clusters = &self.topology.clusters;
        let mut found = clusters
            .iter()
            .filter(|cluster| named.is_of(&cluster.name) && cluster.servers.position(name).is_some())
            .map(|cluster| &cluster.name);
        match (found.next(), found.next()) {
            (Some(cluster), None) => Some(context.intern(&format!("clusters.{cluster}.servers.{name}"))),
            (Some(one), Some(other)) => {
                let message = format!("`{text}` is a server of {one} and one of {other}");
                let diagnostic = Diagnostic::error(UNKNOWN_REFERENCE, message)
                    .at(span, "")
                    .help(format!("write {one}/{name} or {other}/{name}"));
                object.push(diagnostic, context);
                None
            }
            (None, _) => {
                let candidates = clusters.iter().filter(|cluster| named.is_of(&cluster.name));
                let candidates = candidates.flat_map(|cluster| cluster.servers.names());
                self.unknown("server", name, candidates, span, object, context);
                None
            }
        }
    }
}

/// The engines that a test is for: where it is about servers, the one that watches them.
pub(super) fn engines(
    written: Vec<EngineName>,
    steps: &[TestStep],
    object: &Object<'_, '_>,
    context: &mut Context<'_>,
) -> Vec<EngineName> {
    let supposes = steps.iter().any(|step| !step.supposed.is_empty());
    let expects = steps.iter().any(|step| {
        step.expect
            .as_ref()
            .is_some_and(|expect| expect.is_about_servers())
    });
    if !supposes && !expects {
        return written;
    }
    if let Some(other) = written.iter().find(|engine| **engine != EngineName::Bundled) {
        let message = format!(
            "{} watches servers by itself: nothing is known here of those that serve",
            other.as_str()
        );
        let span = object.key_span(match object.has(&ENGINES) {
            true => &ENGINES,
            false => &EXPECT,
        });
        object.error(NOT_TOGETHER, message, span, context);
    }
    vec![EngineName::Bundled]
}
