//! Chains as text, for `compile --emit tree`.

use std::collections::HashMap;
use std::fmt::Write as _;

use shardwright_rules::{Body, EngineRule, NativeStep, Rule};

use crate::Compiled;

/// Every chain with its rules in order of evaluation, and the rows of fast routing.
pub fn render(compiled: &Compiled) -> String {
    let mut text = String::new();
    // The rules of a chain need not stand together in the list; here they do.
    let mut chains: Vec<(u32, Vec<&Rule>)> = Vec::new();
    let mut indices: HashMap<u32, usize> = HashMap::new();
    for rule in &compiled.configuration.graph.rules {
        let index = *indices.entry(rule.flag_in).or_insert_with(|| {
            chains.push((rule.flag_in, Vec::new()));
            chains.len() - 1
        });
        chains[index].1.push(rule);
    }
    for (flag, rules) in chains {
        let name = compiled.chains.get(&flag).map_or("", String::as_str);
        let gap = if text.is_empty() { "" } else { "\n" };
        line(&mut text, format_args!("{gap}flag {flag} {name}"));
        for rule in rules {
            let what = describe(compiled, rule);
            line(&mut text, format_args!("  {} {what}{}", rule.id, from(rule)));
        }
    }
    let routes = &compiled.configuration.graph.fast_routing;
    if !routes.is_empty() {
        line(&mut text, format_args!("\nfast routing"));
    }
    for route in routes {
        let user = if route.username.is_empty() {
            "*"
        } else {
            &route.username
        };
        let hostgroup = destination(compiled, route.hostgroup.0);
        line(
            &mut text,
            format_args!(
                "  flag {} {user} {} -> {hostgroup}",
                route.flag_in, route.schemaname
            ),
        );
    }
    text
}

/// What a rule asks and does, on one line: `user=app digest~^SELECT -> 1001 (shop reader) stop`.
pub fn describe(compiled: &Compiled, rule: &Rule) -> String {
    match &rule.body {
        Body::Engine(engine) => engine_rule(compiled, engine),
        Body::Native { step, .. } => native_step(step),
    }
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{}", what.to_string().trim_end()).expect("writing to a string cannot fail");
}

fn from(rule: &Rule) -> String {
    format!("   # {}", rule.address.short())
}

fn native_step(step: &NativeStep) -> String {
    match step {
        NativeStep::Map(map) => format!("map {} by {}: {} shards", map.map, map.key, map.shards.len()),
        NativeStep::Role(_) => "reads to readers".to_owned(),
        NativeStep::Delay(delay) => format!("delay {} ms", delay.delay_ms),
        NativeStep::Throttle(throttle) => format!("throttle: {throttle}"),
        NativeStep::NoMultiplex => "keep the connection".to_owned(),
        NativeStep::StopIfPlaced => "stop if placed".to_owned(),
    }
}

fn engine_rule(compiled: &Compiled, rule: &EngineRule) -> String {
    let mut parts: Vec<String> = Vec::new();
    let port = rule.proxy_port.map(|port| port.to_string());
    let conditions = [
        ("user", &rule.username),
        ("schema", &rule.schemaname),
        ("client", &rule.client_addr),
        ("listener", &rule.proxy_addr),
        ("port", &port),
        ("digest", &rule.match_digest),
        ("text", &rule.match_pattern),
    ];
    for (name, value) in conditions {
        if let Some(value) = value {
            let value = value.replace('\n', "\\n");
            parts.push(if matches!(name, "digest" | "text") {
                format!("{name}~{value}")
            } else {
                format!("{name}={value}")
            });
        }
    }
    if let Some(digest) = rule.digest {
        parts.push(format!("digest=0x{digest:016X}"));
    }
    if parts.is_empty() {
        parts.push("*".to_owned());
    }
    if rule.negate_match_pattern {
        parts.insert(0, "not".to_owned());
    }
    parts.push("->".to_owned());
    parts.extend(actions(compiled, rule));
    parts.join(" ")
}

fn actions(compiled: &Compiled, rule: &EngineRule) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(with) = &rule.replace_pattern {
        parts.push(format!("rewrite {with}"));
    }
    if let Some(delay) = rule.delay_ms {
        parts.push(format!("delay {delay} ms"));
    }
    if let Some(ttl) = rule.cache_ttl_ms {
        parts.push(format!("cache {ttl} ms"));
    }
    if let Some(multiplex) = rule.multiplex {
        parts.push(format!("multiplex {multiplex}"));
    }
    if let Some(hostgroup) = rule.mirror_hostgroup {
        parts.push(format!("copy to {}", destination(compiled, hostgroup)));
    }
    if let Some(hostgroup) = rule.destination_hostgroup {
        parts.push(destination(compiled, hostgroup));
    }
    if let Some(message) = &rule.error_msg {
        parts.push(format!("refuse {}", message.split(':').next().unwrap_or(message)));
    }
    if let Some(message) = &rule.ok_msg {
        parts.push(format!("answer {message:?}"));
    }
    for choice in &rule.flag_outs {
        parts.push(format!("{} of draws to flag {}", choice.weight, choice.id));
    }
    if let Some(flag) = rule.flag_out {
        parts.push(format!("flag {flag}"));
    }
    if rule.apply && rule.error_msg.is_none() {
        parts.push("stop".to_owned());
    }
    if parts.is_empty() {
        parts.push("go on".to_owned());
    }
    parts
}

fn destination(compiled: &Compiled, hostgroup: u32) -> String {
    let hostgroup_of = compiled
        .configuration
        .hostgroups
        .iter()
        .find(|other| other.id.0 == hostgroup);
    match hostgroup_of {
        Some(own) => {
            let cluster = own
                .cluster
                .as_str()
                .strip_prefix("clusters.")
                .unwrap_or(own.cluster.as_str());
            format!("{hostgroup} ({cluster} {})", own.role)
        }
        None => hostgroup.to_string(),
    }
}
