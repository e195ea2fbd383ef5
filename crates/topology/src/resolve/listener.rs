//! Listeners.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};

use self::listener::{ADDRESS, MODE, PORT, PROXY_PROTOCOL, SOCKET};
use super::object::Object;
use super::{Defined, instances};
use crate::codes::{BAD_VALUE, DEFINED_TWICE, MISSING_KEY, NOT_TOGETHER};
use crate::fields::{AnyField, object};
use crate::model::Listener;
use crate::tree::context::Context;
use crate::tree::view::Field;

/// Longest path of a unix socket, bytes. Systems allow 107; the proxy gives the file a name that is 12 bytes long at first.
const MAX_PATH: usize = 90;

object! {
    pub(crate) mod listener = "A port or a unix socket that clients connect to.";
    PORT: Int<u16> = int("port", "The TCP port; each listener needs a different one.", 1, 65_535)
        .not_with("socket mode")
        .page("A listener has `port` or `socket`.");
    ADDRESS: Text = filled(
        "address",
        "The address to bind: 127.0.0.1 is this machine alone, 0.0.0.0 all of IPv4, `::` everything.",
    )
    .examples(r#"["127.0.0.1", "0.0.0.0"]"#)
    .page("An IP address. Each listener with a `port` needs one.");
    SOCKET: Text = filled("socket", "The path of a unix socket, in the place of a port.")
        .examples(r#"["/run/shardwright/rw.sock"]"#)
        .page("An absolute path of at most 90 bytes.");
    MODE: Text = filled("mode", "The permissions of the socket's file, as octal text.")
        .examples(r#"["0660"]"#)
        .page("Only with `socket`. Without it, everybody may connect.");
    PROXY_PROTOCOL: Texts = texts(
        "proxy_protocol",
        "Networks whose connections begin with a PROXY header, which says who the client is.",
        "a list of networks",
    )
    .of("network such as 10.0.0.0/8")
    .page("Only with `port`. Load balancers and nobody else should be in these networks.");
}

/// How rules tell a listener apart: ProxySQL and the bundled engine compare the port, or the path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ListenerPlace {
    Port(u16),
    Socket(Arc<str>),
}

pub(super) fn listeners(
    section: Option<Field<'_>>,
    defined: &mut Defined,
    context: &mut Context<'_>,
) -> Vec<Listener> {
    let mut places: FxHashMap<ListenerPlace, Span> = FxHashMap::default();
    let read = instances::read_section(section, context, |object, context| {
        listener(object, &mut places, context)
    });
    let mut listeners = Vec::with_capacity(read.len());
    for (name, listener) in read {
        let place = listener.as_ref().map(|listener| match listener.port {
            Some(port) => ListenerPlace::Port(port),
            None => ListenerPlace::Socket(listener.address.clone()),
        });
        defined.listeners.insert(name, place);
        listeners.extend(listener);
    }
    listeners
}

fn listener(
    object: &Object<'_, '_>,
    places: &mut FxHashMap<ListenerPlace, Span>,
    context: &mut Context<'_>,
) -> Option<Listener> {
    let (address, port, place) = match (object.has(&PORT), object.has(&SOCKET)) {
        (_, false) => {
            object.require(&PORT, context);
            let port = object.get(&PORT, context);
            (ip_address(object, context), port, port.map(ListenerPlace::Port))
        }
        (_, true) => {
            let path = path(object, context);
            (path.clone(), None, path.map(ListenerPlace::Socket))
        }
    };
    let (excluded, why): (&[&dyn AnyField], _) = match object.has(&SOCKET) {
        true => (&[&PORT, &ADDRESS, &PROXY_PROTOCOL], "a unix socket"),
        false => (&[&MODE], "a port"),
    };
    for field in excluded.iter().filter(|field| object.has(**field)) {
        let message = format!("a listener on {why} has no `{}`", field.name());
        object.error(NOT_TOGETHER, message, object.key_span(*field), context);
    }
    let place = place?;
    let field: &dyn AnyField = match place {
        ListenerPlace::Port(_) => &PORT,
        ListenerPlace::Socket(_) => &SOCKET,
    };
    only_one(object, place, object.span(field), places, context);
    Some(Listener {
        name: object.name.clone(),
        origin: object.origin,
        address: address?,
        port,
        mode: mode(object, context),
        proxy_protocol: networks(object, context),
    })
}

/// Rules tell listeners apart by their port alone, or by their path.
fn only_one(
    object: &Object<'_, '_>,
    place: ListenerPlace,
    span: Span,
    places: &mut FxHashMap<ListenerPlace, Span>,
    context: &mut Context<'_>,
) {
    if let Some(first) = places.get(&place) {
        let what = match &place {
            ListenerPlace::Port(port) => format!("port {port}"),
            ListenerPlace::Socket(path) => format!("the socket {path}"),
        };
        let diagnostic = Diagnostic::error(DEFINED_TWICE, format!("two listeners have {what}")).at(span, "");
        let diagnostic = if *first == span {
            diagnostic
        } else {
            diagnostic.also(*first, "the first")
        };
        object.push(diagnostic, context);
    }
    places.entry(place).or_insert(span);
}

/// Who can connect is decided by whoever writes the listener. There is no address that is right where nothing is said.
fn ip_address(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    if !object.has(&ADDRESS) {
        let diagnostic = Diagnostic::error(MISSING_KEY, "missing key `address`")
            .at(object.key, "")
            .help("write `address: 127.0.0.1` for this machine alone, or `address: 0.0.0.0` for all of IPv4");
        object.push(diagnostic, context);
    }
    let address: Arc<str> = object.get(&ADDRESS, context)?;
    if address.parse::<IpAddr>().is_err() {
        let diagnostic = Diagnostic::error(BAD_VALUE, format!("expected an IP address, found `{address}`"))
            .at(object.span(&ADDRESS), "")
            .help("write the port under `port`, and a path under `socket`");
        object.push(diagnostic, context);
        return None;
    }
    Some(address)
}

fn path(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    let path: Arc<str> = object.get(&SOCKET, context)?;
    let is_name = !path.ends_with('/') && !path.contains([';', '\0', '\n']);
    if !path.starts_with('/') || !is_name {
        let message = format!("expected the absolute path of a file, found `{path}`");
        object.error(BAD_VALUE, message, object.span(&SOCKET), context);
        return None;
    }
    if path.len() > MAX_PATH {
        let message = format!("the path of a unix socket has at most {MAX_PATH} bytes");
        object.error(BAD_VALUE, message, object.span(&SOCKET), context);
        return None;
    }
    Some(path)
}

fn mode(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    let mode: Arc<str> = object.get(&MODE, context)?;
    let is_octal = (3..=4).contains(&mode.len()) && mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    if !is_octal || (mode.len() == 4 && !mode.starts_with('0')) {
        let message = format!("expected permissions such as \"0660\", found `{mode}`");
        object.error(BAD_VALUE, message, object.span(&MODE), context);
        return None;
    }
    Some(mode)
}

fn networks(object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<Arc<str>> {
    let mut networks = Vec::new();
    for (span, text) in object.texts(&PROXY_PROTOCOL, context) {
        let network = text.parse::<IpNet>().ok();
        let network = network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        match network {
            Some(network) if network.trunc() == network => networks.push(Arc::from(network.to_string())),
            Some(network) => {
                let message = format!("`{text}` has bits behind its prefix: write `{}`", network.trunc());
                object.error(BAD_VALUE, message, span, context);
            }
            None => {
                let message = format!("expected a network such as 10.0.0.0/8, found `{text}`");
                object.error(BAD_VALUE, message, span, context);
            }
        }
    }
    networks
}
