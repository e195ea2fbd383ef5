//! `applies_to` and `match` in the words of `rules`.

use std::sync::Arc;

use shardwright_rules::{Scope, StatementKind, Words};
use shardwright_topology::model::{self as model, OriginId};

use crate::diagnostics::{Diagnostics, EMPTY_SCOPE};

/// The scope of an object; what no engine can decide yet is reported at `field` of it.
pub(super) fn scope(
    scope: &model::Scope,
    origin: OriginId,
    field: &str,
    report: &mut Diagnostics<'_>,
) -> Scope {
    let kinds = statements(scope);
    if kinds.is_empty() && !scope.statements.is_empty() {
        let message = "`except_statements` excludes all of `statements`, so no statement matches";
        report.error(
            EMPTY_SCOPE,
            origin,
            &format!("{field}.except_statements"),
            message,
        );
    }
    let globs = |names: &[model::NamePattern]| -> Vec<String> {
        names.iter().map(|name| name.as_str().to_owned()).collect()
    };
    Scope {
        users: scope.users.clone(),
        schemas: scope.schemas.clone(),
        clusters: scope.clusters.clone(),
        client_addrs: texts(&scope.client_addr),
        listener_ports: scope.listener_ports.clone(),
        listener_sockets: texts(&scope.listener_sockets),
        statements: kinds,
        match_digest: texts(&scope.match_digest),
        match_pattern: texts(&scope.match_pattern),
        digests: scope.digest.clone(),
        functions: globs(&scope.functions.any_of),
        tables: scope.tables.clone(),
        except_client_addrs: texts(&scope.except_client_addr),
        except_match_digest: texts(&scope.except_match_digest),
        except_match_pattern: texts(&scope.except_match_pattern),
        except_digests: scope.except_digest.clone(),
        except_functions: globs(&scope.functions.except),
    }
}

fn texts(texts: &[Arc<str>]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn statements(scope: &model::Scope) -> Vec<StatementKind> {
    let listed = |kind: &StatementKind| scope.statements.is_empty() || scope.statements.contains(kind);
    if scope.statements.is_empty() && scope.except_statements.is_empty() {
        return Vec::new();
    }
    StatementKind::values()
        .filter(|kind| listed(kind) && !scope.except_statements.contains(kind))
        .collect()
}
