//! `listeners`, `monitor` and `engine_settings`.

use shardwright_rules::Listener;
use shardwright_topology::SettingValue;

use super::users::secret;
use crate::draft::{Draft, MonitorDraft};
use crate::yaml::{Field, Yaml};

pub(super) fn sections(draft: &Draft) -> Vec<Field> {
    let mut sections = vec![Field::new(
        "listeners",
        Yaml::Block(draft.listeners.iter().map(listener).collect()),
    )];
    sections.extend(draft.monitor.as_ref().map(monitor));
    if !draft.variables.is_empty() {
        let variables = draft.variables.iter();
        let variables = variables.map(|(name, value)| Field::new(name, setting(value)));
        sections.push(Field::new(
            "engine_settings",
            Yaml::Block(vec![Field::new("proxysql", Yaml::Block(variables.collect()))]),
        ));
    }
    sections
}

fn listener(listener: &Listener) -> Field {
    let value = match listener.is_socket() {
        true => Yaml::map([("socket", Some(Yaml::text(&listener.bind)))]),
        false => Yaml::map([
            ("port", Some(Yaml::number(listener.port))),
            ("address", Some(Yaml::text(&listener.bind))),
            (
                "proxy_protocol",
                (!listener.proxy_protocol.is_empty()).then(|| Yaml::texts(&listener.proxy_protocol)),
            ),
        ]),
    };
    Field::new(&listener.name, value)
}

fn monitor(monitor: &MonitorDraft) -> Field {
    let value = Yaml::map([
        ("user", Some(Yaml::text(&monitor.user))),
        ("password", Some(secret(monitor.password.as_ref()))),
        ("heartbeat", monitor.heartbeat.as_ref().map(Yaml::text)),
    ]);
    Field::new("monitor", value)
}

fn setting(value: &SettingValue) -> Yaml {
    match value {
        SettingValue::Switch(on) => Yaml::word(on.to_string()),
        SettingValue::Integer(number) => Yaml::number(*number),
        SettingValue::Text(text) => Yaml::text(text),
    }
}
