//! `applies_to` and `match` in the words of `rules`.

use std::sync::Arc;

use shardwright_rules::{Names, Scope, StatementKind};
use shardwright_topology::model::{self as model, OriginId, StatementClass};

use crate::report::Report;

/// The scope of an object; what no engine can decide yet is reported at `field` of it.
pub(super) fn scope(scope: &model::Scope, origin: OriginId, field: &str, report: &mut Report<'_>) -> Scope {
    let excluded = [
        ("except_client_addr", scope.except_client_addr.is_empty()),
        ("except_match_digest", scope.except_match_digest.is_empty()),
        ("except_match_pattern", scope.except_match_pattern.is_empty()),
        ("except_digest", scope.except_digest.is_empty()),
        ("except_functions", scope.functions.except.is_empty()),
        ("tables", scope.tables.is_any()),
        ("listeners", scope.listeners.is_any()),
    ];
    for (key, empty) in excluded {
        if !empty {
            report.not_built(
                origin,
                &format!("{field}.{key}"),
                &format!("select statements by `{key}`"),
            );
        }
    }
    let included = |names: &model::Names| {
        names
            .include
            .iter()
            .map(|name| name.as_str().to_owned())
            .collect()
    };
    Scope {
        users: names(&scope.users),
        schemas: names(&scope.schemas),
        clusters: names(&scope.clusters),
        client_addrs: texts(&scope.client_addr),
        statements: statements(scope),
        match_digest: texts(&scope.match_digest),
        match_pattern: texts(&scope.match_pattern),
        digests: scope.digest.clone(),
        functions: included(&scope.functions),
    }
}

fn names(names: &model::Names) -> Names {
    let texts =
        |patterns: &[model::NamePattern]| patterns.iter().map(|name| name.as_str().to_owned()).collect();
    Names {
        any_of: texts(&names.include),
        except: texts(&names.except),
    }
}

fn texts(texts: &[Arc<str>]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn statements(scope: &model::Scope) -> Vec<StatementKind> {
    let listed = |class: &StatementClass| scope.statements.is_empty() || scope.statements.contains(class);
    if scope.statements.is_empty() && scope.except_statements.is_empty() {
        return Vec::new();
    }
    CLASSES
        .iter()
        .filter(|(class, _)| listed(class) && !scope.except_statements.contains(class))
        .map(|&(_, kind)| kind)
        .collect()
}

const CLASSES: [(StatementClass, StatementKind); 14] = [
    (StatementClass::Select, StatementKind::Select),
    (StatementClass::Insert, StatementKind::Insert),
    (StatementClass::Update, StatementKind::Update),
    (StatementClass::Delete, StatementKind::Delete),
    (StatementClass::Replace, StatementKind::Replace),
    (StatementClass::Ddl, StatementKind::Ddl),
    (StatementClass::Call, StatementKind::Call),
    (StatementClass::Show, StatementKind::Show),
    (StatementClass::Set, StatementKind::Set),
    (StatementClass::Begin, StatementKind::Begin),
    (StatementClass::Commit, StatementKind::Commit),
    (StatementClass::Lock, StatementKind::Lock),
    (StatementClass::Prepare, StatementKind::Prepare),
    (StatementClass::Other, StatementKind::Other),
];
