//! The statement of a key that figures are about.

use shardwright_rules::{Finder, KeyKind, KeyValue, MapStep};

/// A statement and the session that sends it.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) user: String,
    /// `None`: the session names no schema.
    pub(super) schema: Option<String>,
    pub(super) sql: String,
}

/// The finder that statements of a map are written for: what stands in the statement before names.
pub(super) fn finder(step: &MapStep) -> Option<&Finder> {
    let rank = |finder: &&Finder| match finder {
        Finder::Comment { .. } => 0,
        Finder::Column { .. } => 1,
        Finder::Schema { .. } => 2,
        Finder::User { .. } => 3,
        Finder::Table { .. } => 4,
    };
    step.finders.iter().min_by_key(rank)
}

/// A read with a key where `finder` looks for it, by `user` unless the key stands in the user's name; `None` where the
/// place cannot hold the key.
pub(super) fn said(step: &MapStep, finder: &Finder, key: &KeyValue, user: &str) -> Option<Said> {
    let plain = Said {
        user: user.to_owned(),
        schema: None,
        sql: "SELECT 1 FROM t".to_owned(),
    };
    Some(match finder {
        Finder::Comment { word, form } => Said {
            sql: format!("{} SELECT 1 FROM t", form.comment(word, key)?),
            ..plain
        },
        Finder::Column { column, .. } => {
            let value = match step.kind {
                KeyKind::Integer => key.to_string(),
                KeyKind::Text => format!("'{}'", key.to_string().replace('\'', "''")),
            };
            let table = match &step.logical_schema {
                Some(schema) => format!("{schema}.t"),
                None => "t".to_owned(),
            };
            Said {
                sql: format!("SELECT 1 FROM {table} WHERE {column} = {value}"),
                ..plain
            }
        }
        Finder::Schema { template } => Said {
            schema: Some(template.render(key)?),
            ..plain
        },
        Finder::User { template } => Said {
            user: template.render(key)?,
            ..plain
        },
        Finder::Table { template } => Said {
            sql: format!("SELECT 1 FROM {}", template.render(key)?),
            ..plain
        },
    })
}
