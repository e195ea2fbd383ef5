//! Statements that come to a step of the bundled engine.
//!
//! A step need not show in a decision: a map that refuses is no hit. So the step is replaced by a delay of the same
//! scope, which always shows, and the evaluator's own walk decides the rest.

use shardwright_rules::{
    Body, CommentForm, Configuration, DelayStep, EngineRule, Finder, KeyValue, MapStep, NamePattern,
    NativeStep,
};

use crate::example::{Example, ORDINARY, sessions};
use crate::lookup::Lookup;
use crate::rule_set::RuleSet;
use crate::session::Session;

/// A statement that is asked whether the step at `position` is about it, and is.
pub(crate) fn example(set: &RuleSet<'_>, position: usize) -> Option<Example> {
    let Body::Native { scope, .. } = &set.configuration.graph.rules[position].body else {
        return None;
    };
    let mut probe: Configuration = set.configuration.clone();
    probe.graph.rules[position].body = Body::Native {
        scope: scope.clone(),
        step: NativeStep::Delay(DelayStep { delay_ms: 0 }),
    };
    let lookup = Lookup::of(&probe);
    let mut users = sessions(set);
    let named = scope.users.any_of.iter().filter_map(NamePattern::exact);
    users.extend(named.map(|name| Session::of_user(set.configuration, name)));
    let schemas: Vec<&str> = scope
        .schemas
        .any_of
        .iter()
        .filter_map(NamePattern::exact)
        .collect();
    let texts = texts(set);
    for user in users {
        let adapted = schemas.iter().map(|schema| Session {
            schema: Some((*schema).to_owned()),
            ..user.clone()
        });
        for mut session in std::iter::once(user.clone()).chain(adapted) {
            if let Some(address) = scope.client_addrs.first() {
                session.client_addr = address.replace('%', "1");
            }
            if let Some(port) = scope.listener_ports.first() {
                let of_port = EngineRule {
                    proxy_port: Some(*port),
                    ..EngineRule::default()
                };
                session = session.adapted_to(&of_port, &set.session_values);
            } else if let Some(path) = scope.listener_sockets.first() {
                session.listener = (path.clone(), 0);
            }
            for text in &texts {
                let decision = lookup.decide(&session.view(), text);
                if decision.hits.contains(&(position as u32)) {
                    return Some(Example {
                        session,
                        text: text.clone(),
                    });
                }
            }
        }
    }
    None
}

/// Ordinary statements, also with a key of each map in front.
fn texts(set: &RuleSet<'_>) -> Vec<Vec<u8>> {
    let ordinary = || ORDINARY.iter().map(|text| text.as_bytes().to_vec());
    let mut texts: Vec<Vec<u8>> = ordinary().collect();
    for rule in &set.configuration.graph.rules {
        if let Body::Native {
            step: NativeStep::Map(map),
            ..
        } = &rule.body
            && let Some(comment) = key_comment(map)
        {
            texts.extend(ordinary().map(|text| [comment.as_bytes(), b" ", &text].concat()));
        }
    }
    texts
}

fn key_comment(map: &MapStep) -> Option<String> {
    let key = map.shards.iter().find_map(|shard| {
        let of_range = shard.ranges.first().map(|range| KeyValue::Integer(range.0));
        shard.keys.first().cloned().or(of_range)
    });
    comment_of(map, &key.unwrap_or(KeyValue::Integer(0)))
}

/// A comment that carries a key as the map reads it.
pub(crate) fn comment_of(map: &MapStep, key: &KeyValue) -> Option<String> {
    map.finders.iter().find_map(|finder| match finder {
        Finder::Comment {
            word,
            form: CommentForm::Pairs,
        } => Some(format!("/* {word}={key} */")),
        Finder::Comment {
            word,
            form: CommentForm::Sqlcommenter,
        } => Some(format!("/*{word}='{key}'*/")),
        Finder::Comment {
            form: CommentForm::Exact(template),
            ..
        } => Some(format!("/* {} */", template.render(key)?)),
        Finder::Schema { .. } | Finder::Column { .. } | Finder::Table { .. } | Finder::User { .. } => None,
    })
}
