//! A scope as conditions of engine rules: each alternative is a rule of its own, and what one rule cannot ask for at
//! once becomes a further level.

use shardwright_rules::{EngineRule, NamePattern, Names, Scope, StatementKind, User, Words};

use crate::draft::digest_rule;
use crate::key_patterns::text;

/// The most rules that one level may become.
const MOST: usize = 256;

/// A scope without its clusters. A statement is meant if no exception matches and each level has a rule that does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// What takes a statement out again.
    pub exceptions: Vec<EngineRule>,
    /// Alternatives; no level means every statement.
    pub levels: Vec<Vec<EngineRule>>,
}

impl Conditions {
    /// The conditions of a scope, or what the engine cannot express of it.
    pub(crate) fn of(scope: &Scope, users: &[User]) -> Result<Self, &'static str> {
        if !scope.tables.is_any() {
            return Err("select statements by the tables that they name");
        }
        let mut patterns: Vec<Vec<String>> = Vec::new();
        let mut exceptions = exceptions(scope)?;
        if !scope.statements.is_empty() {
            if scope.statements.contains(&StatementKind::Other) {
                let others = StatementKind::values();
                let others: Vec<_> = others.filter(|kind| !scope.statements.contains(kind)).collect();
                if !others.is_empty() {
                    exceptions.push(digest_rule(kinds(&others)));
                }
            } else {
                patterns.push(vec![kinds(&scope.statements)]);
            }
        }
        if !scope.match_digest.is_empty() {
            patterns.push(scope.match_digest.clone());
        }
        if !scope.functions.is_empty() {
            patterns.push(vec![calls(&scope.functions)]);
        }
        let mut first = vec![EngineRule::default()];
        product(&mut first, &usernames(&scope.users, users), |rule, user| {
            rule.username = Some(user.clone())
        });
        product(&mut first, &schemas(&scope.schemas)?, |rule, schema| {
            rule.schemaname = Some(schema.clone())
        });
        product(&mut first, &scope.client_addrs, |rule, addr| {
            rule.client_addr = Some(addr.clone())
        });
        product(&mut first, &came_in(scope), |rule, listener| match listener {
            CameIn::Port(port) => rule.proxy_port = Some(*port),
            CameIn::Socket(path) => rule.proxy_addr = Some((*path).to_owned()),
        });
        product(&mut first, &scope.digests, |rule, digest| {
            rule.digest = Some(*digest)
        });
        product(&mut first, &scope.match_pattern, |rule, pattern| {
            rule.match_pattern = Some(pattern.clone())
        });
        let mut patterns = patterns.into_iter();
        product(
            &mut first,
            &patterns.next().unwrap_or_default(),
            |rule, pattern| rule.match_digest = Some(pattern.clone()),
        );
        let mut levels = Vec::new();
        if first != [EngineRule::default()] {
            levels.push(first);
        }
        levels.extend(patterns.map(|level| level.into_iter().map(digest_rule).collect::<Vec<_>>()));
        if levels.iter().chain([&exceptions]).any(|level| level.len() > MOST) {
            return Err("select statements by so many alternatives");
        }
        Ok(Self { exceptions, levels })
    }

    /// Whether rules of one chain can say it, without leaving the chain.
    pub(crate) fn is_simple(&self) -> bool {
        self.exceptions.is_empty() && self.levels.len() <= 1
    }

    /// The alternatives of [`Conditions::is_simple`].
    pub(crate) fn alternatives(&self) -> Vec<EngineRule> {
        self.levels
            .first()
            .cloned()
            .unwrap_or_else(|| vec![EngineRule::default()])
    }
}

/// Whether the scope asks for more than users and clusters.
pub(crate) fn is_conditional(scope: &Scope) -> bool {
    *scope != of_users_and_clusters(scope)
}

fn of_users_and_clusters(scope: &Scope) -> Scope {
    Scope {
        users: scope.users.clone(),
        clusters: scope.clusters.clone(),
        ..Scope::default()
    }
}

/// The scope without its users and clusters.
pub(crate) fn rest(scope: &Scope) -> Scope {
    Scope {
        users: Names::default(),
        clusters: Names::default(),
        ..scope.clone()
    }
}

fn exceptions(scope: &Scope) -> Result<Vec<EngineRule>, &'static str> {
    let mut rules: Vec<EngineRule> = Vec::new();
    if scope.schemas.any_of.is_empty() {
        if scope.schemas.except.iter().any(NamePattern::is_glob) {
            return Err(BY_SCHEMA_PATTERN);
        }
        rules.extend(scope.schemas.except.iter().map(|schema| EngineRule {
            schemaname: Some(schema.as_str().to_owned()),
            ..EngineRule::default()
        }));
    }
    rules.extend(scope.except_client_addrs.iter().map(|address| EngineRule {
        client_addr: Some(address.clone()),
        ..EngineRule::default()
    }));
    rules.extend(scope.except_digests.iter().map(|digest| EngineRule {
        digest: Some(*digest),
        ..EngineRule::default()
    }));
    rules.extend(scope.except_match_digest.iter().map(digest_rule));
    rules.extend(scope.except_match_pattern.iter().map(|pattern| EngineRule {
        match_pattern: Some(pattern.clone()),
        ..EngineRule::default()
    }));
    if !scope.except_functions.is_empty() {
        rules.push(digest_rule(calls(&scope.except_functions)));
    }
    Ok(rules)
}

const BY_SCHEMA_PATTERN: &str = "select session schemas by patterns";

/// Users by name; none for everyone. Nobody else can log in, so globs are a closed list.
fn usernames(names: &Names, users: &[User]) -> Vec<String> {
    if names.is_any() {
        return Vec::new();
    }
    let meant = users.iter().filter(|user| names.contains(&user.name));
    meant.map(|user| user.name.clone()).collect()
}

fn schemas(names: &Names) -> Result<Vec<String>, &'static str> {
    if names.any_of.iter().any(NamePattern::is_glob) {
        return Err(BY_SCHEMA_PATTERN);
    }
    let kept = |name: &&str| !names.except.iter().any(|pattern| pattern.matches(name));
    let listed = names.any_of.iter().map(NamePattern::as_str);
    Ok(listed.filter(kept).map(str::to_owned).collect())
}

/// Multiplies the rules so far by alternatives; none of them is no condition.
fn product<T>(rules: &mut Vec<EngineRule>, alternatives: &[T], set: impl Fn(&mut EngineRule, &T)) {
    if alternatives.is_empty() || rules.len() > MOST {
        return;
    }
    *rules = rules
        .iter()
        .flat_map(|rule| {
            alternatives.iter().take(MOST + 1).map(|alternative| {
                let mut rule = rule.clone();
                set(&mut rule, alternative);
                rule
            })
        })
        .take(MOST + 1)
        .collect();
}

/// A call in the digest text, where literals and comments are gone.
fn calls(functions: &[String]) -> String {
    let names: Vec<String> = functions.iter().map(|name| text::escaped(name)).collect();
    format!(r"\b(?:{}) ?\(", names.join("|"))
}

fn kinds(kinds: &[StatementKind]) -> String {
    let words: Vec<&str> = kinds
        .iter()
        .filter_map(|kind| match kind {
            StatementKind::Select => Some("SELECT|WITH|TABLE|VALUES"),
            StatementKind::Insert => Some("INSERT"),
            StatementKind::Update => Some("UPDATE"),
            StatementKind::Delete => Some("DELETE"),
            StatementKind::Replace => Some("REPLACE"),
            StatementKind::Ddl => Some("CREATE|ALTER|DROP|TRUNCATE|RENAME"),
            StatementKind::Call => Some("CALL"),
            StatementKind::Show => Some("SHOW"),
            StatementKind::Set => Some("SET"),
            StatementKind::Begin => Some("BEGIN|START TRANSACTION"),
            StatementKind::Commit => Some("COMMIT"),
            StatementKind::Lock => Some("LOCK|UNLOCK|BACKUP"),
            StatementKind::Prepare => Some("PREPARE|EXECUTE|DEALLOCATE"),
            StatementKind::Other => None,
        })
        .collect();
    format!(r"^\(*(?:{})\b", words.join("|"))
}
/// A listener that sessions came in through, as rules ask for it.
enum CameIn<'s> {
    Port(u16),
    /// The path stands in the place of the address (observed on ProxySQL 2.7.1).
    Socket(&'s str),
}

fn came_in(scope: &Scope) -> Vec<CameIn<'_>> {
    let ports = scope.listener_ports.iter().map(|&port| CameIn::Port(port));
    let sockets = scope.listener_sockets.iter();
    ports.chain(sockets.map(|path| CameIn::Socket(path))).collect()
}
