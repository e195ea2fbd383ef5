//! A scope as conditions of engine rules: each alternative is a rule of its own.

use shardwright_rules::{EngineRule, Names, Scope, StatementKind, glob_matches};

/// The most rules that one scope may become.
const MOST: usize = 256;

/// The alternatives of a scope without its users and clusters, or what the engine cannot express of it.
pub(super) fn alternatives(scope: &Scope) -> Result<Vec<EngineRule>, &'static str> {
    if !scope.functions.is_empty() {
        return Err("select statements by the functions they call");
    }
    let mut rules = vec![EngineRule::default()];
    product(&mut rules, &schemas(&scope.schemas)?, |rule, schema| {
        rule.schemaname = Some(schema.clone())
    });
    product(&mut rules, &scope.client_addrs, |rule, addr| {
        rule.client_addr = Some(addr.clone())
    });
    product(&mut rules, &scope.digests, |rule, digest| {
        rule.digest = Some(*digest)
    });
    product(&mut rules, &scope.match_pattern, |rule, pattern| {
        rule.match_pattern = Some(pattern.clone())
    });
    let mut digests = scope.match_digest.clone();
    if !scope.statements.is_empty() {
        if !digests.is_empty() {
            return Err("select statements by kind and by `match_digest` at once");
        }
        digests.push(kinds(&scope.statements)?);
    }
    product(&mut rules, &digests, |rule, pattern| {
        rule.match_digest = Some(pattern.clone())
    });
    if rules.len() > MOST {
        Err("select statements by so many alternatives")
    } else {
        Ok(rules)
    }
}

/// Whether the scope asks for more than users and clusters.
pub(super) fn is_conditional(scope: &Scope) -> bool {
    Scope {
        users: Names::default(),
        clusters: Names::default(),
        ..scope.clone()
    } != Scope::default()
}

/// Names that a scope means, of a closed list.
pub(super) fn covers(names: &Names, mut of: impl Iterator<Item = impl AsRef<str>>) -> bool {
    names.is_any() || of.all(|name| names.contains(name.as_ref()))
}

fn schemas(names: &Names) -> Result<Vec<String>, &'static str> {
    let is_glob = |name: &String| name.contains(['*', '?']);
    if !names.except.is_empty() && names.any_of.is_empty() || names.any_of.iter().any(is_glob) {
        return Err("select session schemas by patterns");
    }
    let kept = |name: &&String| !names.except.iter().any(|glob| glob_matches(glob, name));
    Ok(names.any_of.iter().filter(kept).cloned().collect())
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

fn kinds(kinds: &[StatementKind]) -> Result<String, &'static str> {
    let words: Option<Vec<&str>> = kinds
        .iter()
        .map(|kind| match kind {
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
    match words {
        Some(words) => Ok(format!(r"^\(*(?:{})\b", words.join("|"))),
        None => Err("select statements of kind `other`"),
    }
}
