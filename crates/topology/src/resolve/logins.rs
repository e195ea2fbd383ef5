//! Names that objects have for users, and names that users log in with.
//!
//! Files refer to users by the names that they have there. A session has the name that its client logged in with. So when
//! everything is resolved and checked, references are given in the words of sessions ([`in_words_of_sessions`]): whatever reads a
//! [`Topology`] afterwards compares them with what it sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_diagnostics::Diagnostic;
use shardwright_vocabulary::{MAX_LOGIN, NamePattern, Names, is_glob, is_login};

use super::object::Object;
use crate::codes::BAD_VALUE;
use crate::fields::{AnyField as _, Declared, Text};
use crate::model::{Project, ReadSelection, Scope, Topology, User};
use crate::tree::context::Context;

/// The name that a user logs in with: the one of its own, or that of the object.
pub(super) fn login(object: &Object<'_, '_>, field: &Declared<Text>, context: &mut Context<'_>) -> Arc<str> {
    let Some(login) = object.get(field, context) else {
        return object.name.clone();
    };
    if !is_login(&login) {
        let message = format!(
            "no user can log in with this name: it has 1 to {MAX_LOGIN} characters, all of them on one line"
        );
        object.error(BAD_VALUE, message, object.span(field), context);
    }
    login
}

/// Reports users that log in with one name, and names that could not be told apart where a list of names takes globs.
pub(super) fn check(users: &[User], field: &Declared<Text>, context: &mut Context<'_>) {
    let mut known: BTreeMap<&str, &User> = BTreeMap::new();
    for user in users {
        let Some(first) = known.insert(&user.login, user) else {
            continue;
        };
        let message = format!(
            "users.{} and users.{} log in with one name, `{}`",
            first.name, user.name, user.login
        );
        let of_own = [user, first].into_iter().find(|user| user.login != user.name);
        report(of_own.unwrap_or(user), field, message, context);
    }
    for user in users.iter().filter(|user| is_glob(&user.login)) {
        let pattern = NamePattern::new(user.login.clone());
        let mut others = users.iter().filter(|other| other.login != user.login);
        if let Some(other) = others.find(|other| pattern.matches(&other.login)) {
            let message = format!(
                "as a pattern, `{}` matches the login of users.{}, `{}`: rules could not tell these users apart",
                user.login, other.name, other.login
            );
            report(user, field, message, context);
        }
    }
}

fn report(user: &User, field: &Declared<Text>, message: String, context: &mut Context<'_>) {
    let place = context.origins.field(user.origin, field.name());
    let diagnostic = Diagnostic::error(BAD_VALUE, message).at(place, "");
    context.report.push(context.origins.mark(user.origin, diagnostic));
}

/// Gives all references to users in the words of sessions.
pub(crate) fn in_words_of_sessions(project: &mut Project) {
    let users = &project.topology.users;
    if users.iter().all(|user| user.login == user.name) {
        return;
    }
    let logins = Logins(
        users
            .iter()
            .map(|user| (user.name.clone(), user.login.clone()))
            .collect(),
    );
    for test in &mut project.route_tests {
        for step in &mut test.steps {
            if let Some(user) = &mut step.session.user {
                *user = logins.of(user);
            }
        }
    }
    for property in &mut project.properties {
        for user in &mut property.domain.users {
            *user = logins.of(user);
        }
    }
    logins.topology(&mut project.topology);
}

/// The names with which users log in, by the names of their objects.
struct Logins(BTreeMap<Arc<str>, Arc<str>>);

impl Logins {
    fn of(&self, name: &Arc<str>) -> Arc<str> {
        self.0.get(name).unwrap_or(name).clone()
    }

    fn topology(&self, topology: &mut Topology) {
        topology.shard_maps.each_mut(|map| {
            self.scope(&mut map.applies_to);
            let by_user = std::mem::take(&mut map.missing_key_by_user);
            map.missing_key_by_user = by_user
                .into_iter()
                .map(|(name, missing)| (self.of(&name), missing))
                .collect();
        });
        topology.read_write_policies.each_mut(|policy| {
            self.scope(&mut policy.applies_to);
            match &mut policy.reads {
                ReadSelection::All => {}
                ReadSelection::Only(scopes) | ReadSelection::Except(scopes) => {
                    scopes.iter_mut().for_each(|scope| self.scope(scope));
                }
            }
        });
        topology.routes.each_mut(|route| self.scope(&mut route.matches));
        topology
            .throttles
            .each_mut(|throttle| self.scope(&mut throttle.applies_to));
        topology
            .pooling_exceptions
            .each_mut(|exception| self.scope(&mut exception.matches));
        topology.caches.each_mut(|cache| self.scope(&mut cache.matches));
        topology
            .mirrors
            .each_mut(|mirror| self.scope(&mut mirror.matches));
    }

    fn scope(&self, scope: &mut Scope) {
        let Names { any_of, except } = &mut scope.users;
        for patterns in [any_of, except] {
            *patterns = patterns
                .iter()
                .flat_map(|pattern| self.pattern(pattern))
                .collect();
        }
    }

    /// Every name but `*` becomes the logins of the users that it means; a glob that means none stays, and means none.
    fn pattern(&self, pattern: &NamePattern) -> Vec<NamePattern> {
        if pattern.as_str() == "*" {
            return vec![pattern.clone()];
        }
        let meant = self.0.iter().filter(|(name, _)| pattern.matches(name));
        let logins: Vec<NamePattern> = meant.map(|(_, login)| NamePattern::new(login.clone())).collect();
        match logins.is_empty() {
            true => vec![pattern.clone()],
            false => logins,
        }
    }
}
