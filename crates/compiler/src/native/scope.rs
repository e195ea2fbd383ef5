//! `applies_to` and `match` in the words of `rules`.

use std::sync::Arc;

use shardwright_rules::{Names, Scope, StatementKind};
use shardwright_topology::model::{self as model, OriginId, StatementClass};

use crate::report::{NOTHING, Report};

/// The scope of an object; what no engine can decide yet is reported at `field` of it.
pub(super) fn scope(scope: &model::Scope, origin: OriginId, field: &str, report: &mut Report<'_>) -> Scope {
    let kinds = statements(scope);
    if kinds.is_empty() && !scope.statements.is_empty() {
        let message = "`except_statements` leaves none of `statements`, so nothing is meant";
        report.error(NOTHING, origin, &format!("{field}.except_statements"), message);
    }
    let globs = |names: &[model::NamePattern]| -> Vec<String> {
        names.iter().map(|name| name.as_str().to_owned()).collect()
    };
    Scope {
        users: names(&scope.users),
        schemas: names(&scope.schemas),
        clusters: names(&scope.clusters),
        client_addrs: texts(&scope.client_addr),
        listener_ports: scope.listener_ports.clone(),
        statements: kinds,
        match_digest: texts(&scope.match_digest),
        match_pattern: texts(&scope.match_pattern),
        digests: scope.digest.clone(),
        functions: globs(&scope.functions.include),
        tables: names(&scope.tables),
        except_client_addrs: texts(&scope.except_client_addr),
        except_match_digest: texts(&scope.except_match_digest),
        except_match_pattern: texts(&scope.except_match_pattern),
        except_digests: scope.except_digest.clone(),
        except_functions: globs(&scope.functions.except),
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
