//! The listener that a session comes in through: by its name, its port, or its address.

use std::sync::Arc;

use shardwright_rules::{Address, Configuration, Listener};

use crate::error::CommandError;

/// The configuration with the listener that is meant, and its name there. A rule set without listeners may have any.
pub(super) fn chosen(
    configuration: &Arc<Configuration>,
    wanted: Option<&str>,
) -> Result<(Arc<Configuration>, Option<String>), CommandError> {
    let Some(wanted) = wanted else {
        return Ok((Arc::clone(configuration), None));
    };
    let known = &configuration.listeners;
    let (bind, port) = parts(wanted);
    let by_name = known.iter().find(|listener| listener.name == wanted);
    let mut by_place = known.iter().filter(|listener| {
        port == Some(listener.port) && bind.is_none_or(|bind| bind == listener.bind)
            || listener.is_socket() && listener.bind == wanted
    });
    if let Some(found) = by_name.or_else(|| by_place.next()) {
        return Ok((Arc::clone(configuration), Some(found.name.clone())));
    }
    match port {
        Some(port) if known.is_empty() => {
            let mut with = Configuration::clone(configuration);
            let place = Address::new(format!("listeners.{wanted}"));
            let bind = bind.unwrap_or("0.0.0.0");
            with.listeners.push(Listener::on_port(wanted, place, bind, port));
            Ok((Arc::new(with), Some(wanted.to_owned())))
        }
        _ => {
            let named: Vec<String> = known.iter().map(shown).collect();
            let error = CommandError::usage(format!(
                "no listener has the name, the port or the address {wanted}"
            ));
            Err(if named.is_empty() {
                error.hint("the rule set names no listener: give a port, or ADDRESS:PORT")
            } else {
                error.hint(format!("listeners: {}", named.join(", ")))
            })
        }
    }
}

/// `10.0.0.1:6033`, `[::1]:6033`, `6033`
fn parts(wanted: &str) -> (Option<&str>, Option<u16>) {
    match wanted.rsplit_once(':') {
        Some((bind, port)) => (
            Some(bind.trim_start_matches('[').trim_end_matches(']')),
            port.parse().ok(),
        ),
        None => (None, wanted.parse().ok()),
    }
}

fn shown(listener: &Listener) -> String {
    let Listener { name, bind, port, .. } = listener;
    if listener.is_socket() {
        format!("{name} ({bind})")
    } else {
        format!("{name} ({bind}:{port})")
    }
}
