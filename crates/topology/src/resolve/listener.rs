//! Listeners.

use std::net::IpAddr;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};

use super::object::Object;
use super::{Defined, instances};
use crate::codes::{BAD_VALUE, DEFINED_TWICE};
use crate::fields::object;
use crate::model::Listener;
use crate::tree::context::Context;
use crate::tree::view::Field;

object! {
    pub(crate) mod listener = "A port that clients connect to.";
    PORT: Int<u16> = int("port", "The TCP port; each listener needs a different one.", 1, 65_535).needed();
    ADDRESS: Or<Text> = filled(
        "address",
        "The address to bind; 0.0.0.0, which is all of IPv4, by default.",
    )
    .or("0.0.0.0")
    .page("An IP address.");
}

pub(super) fn listeners(
    section: Option<Field<'_>>,
    defined: &mut Defined,
    context: &mut Context<'_>,
) -> Vec<Listener> {
    let mut ports: FxHashMap<u16, Span> = FxHashMap::default();
    let read = instances::read_section(section, context, |object, context| {
        listener(object, &mut ports, context)
    });
    let mut listeners = Vec::with_capacity(read.len());
    for (name, listener) in read {
        defined
            .listeners
            .insert(name, listener.as_ref().map(|listener| listener.port));
        listeners.extend(listener);
    }
    listeners
}

fn listener(
    object: &Object<'_, '_>,
    ports: &mut FxHashMap<u16, Span>,
    context: &mut Context<'_>,
) -> Option<Listener> {
    object.require_all(&listener::FIELDS, context);
    let port = object.get(&listener::PORT, context);
    let address = object.get(&listener::ADDRESS, context);
    if address.parse::<IpAddr>().is_err() {
        let diagnostic = Diagnostic::error(BAD_VALUE, format!("expected an IP address, found `{address}`"))
            .at(object.span(&listener::ADDRESS), "")
            .help("write the port under `port`");
        object.push(diagnostic, context);
    }
    let port = port?;
    let span = object.span(&listener::PORT);
    // Rules tell listeners apart by their port alone.
    if let Some(first) = ports.get(&port) {
        let diagnostic =
            Diagnostic::error(DEFINED_TWICE, format!("two listeners have port {port}")).at(span, "");
        let diagnostic = if *first == span {
            diagnostic
        } else {
            diagnostic.also(*first, "the first")
        };
        object.push(diagnostic, context);
    }
    ports.entry(port).or_insert(span);
    Some(Listener {
        name: object.name.clone(),
        origin: object.origin,
        address,
        port,
    })
}
