//! `users` and `firewall`.

use shardwright_rules::tables::digest_text;
use shardwright_rules::{ClientTls, Firewall, FirewallMode, Role, SecretReference, Words};

use crate::draft::{Draft, UserDraft};
use crate::yaml::{Field, Yaml, fields_of};

const USUAL_CONNECTIONS: u32 = 10_000;

pub(super) fn sections(draft: &Draft) -> Vec<Field> {
    let users = draft.users.iter().map(|user| self::user(draft, user)).collect();
    let limited = draft
        .firewall
        .iter()
        .filter(|list| list.mode != FirewallMode::Disabled);
    let firewall: Vec<Field> = limited.map(|list| self::firewall(draft, list)).collect();
    // With the firewall on, a user without a list has one that is off.
    let firewall = match firewall.is_empty() {
        true => draft
            .firewall
            .iter()
            .take(1)
            .map(|list| self::firewall(draft, list))
            .collect(),
        false => firewall,
    };
    vec![
        Field::new("users", Yaml::Block(users)),
        Field::new("firewall", Yaml::Block(firewall)),
    ]
}

/// A reference to a secret; of none, the empty password.
pub(super) fn secret(reference: Option<&SecretReference>) -> Yaml {
    match reference {
        None => Yaml::text(""),
        Some(SecretReference::Env(name)) => Yaml::map([("env", Some(Yaml::text(name)))]),
        Some(SecretReference::File(path)) => Yaml::map([("file", Some(Yaml::text(path)))]),
        Some(SecretReference::Command(words)) => Yaml::map([("command", Some(Yaml::texts(words)))]),
    }
}

fn user(draft: &Draft, user: &UserDraft) -> Field {
    let home = draft.home(user);
    let (cluster, role) = home.expect("users without a cluster are not written");
    let value = Yaml::map([
        (
            "login",
            (user.object != user.name).then(|| Yaml::text(&user.name)),
        ),
        ("password", Some(secret(user.password.as_ref()))),
        ("cluster", Some(Yaml::text(&cluster.name))),
        ("role", (role == Role::Reader).then(|| Yaml::word(role.word()))),
        // Its default hostgroup is one of readers; nothing is refused there.
        ("reads_only", (role == Role::Reader).then(|| Yaml::word("false"))),
        ("schema", user.schema.as_ref().map(Yaml::text)),
        (
            "max_connections",
            (!matches!(user.max_connections, 0 | USUAL_CONNECTIONS))
                .then(|| Yaml::number(user.max_connections)),
        ),
        (
            "statement_timeout",
            user.statement_timeout_ms
                .map(|limit| Yaml::word(duration(limit.into()))),
        ),
        (
            "transaction_persistent",
            (!user.transaction_persistent).then(|| Yaml::word("false")),
        ),
        ("annotations", Some(Yaml::word("allow"))),
        (
            "tls",
            (user.tls != ClientTls::Optional).then(|| Yaml::word(user.tls.word())),
        ),
    ]);
    Field::new(&user.object, value)
}

/// A time in the largest unit that holds it.
pub(crate) fn duration(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let unit = UNITS
        .iter()
        .find(|(size, _)| ms >= *size && ms.is_multiple_of(*size));
    match unit {
        Some((size, unit)) => format!("{}{unit}", ms / size),
        None => format!("{ms}ms"),
    }
}

fn firewall(draft: &Draft, list: &Firewall) -> Field {
    let own = draft.users.iter().find(|user| user.name == list.user);
    let default = own
        .and_then(|user| user.schema.as_deref())
        .unwrap_or("information_schema");
    let passes = !list.digests.is_empty() && !list.schemas.is_empty();
    let has_default = list.schemas.iter().any(|schema| schema == default);
    let schemas: Vec<&String> = list.schemas.iter().filter(|schema| *schema != default).collect();
    let digests = list.digests.iter().map(|digest| Yaml::text(digest_text(*digest)));
    let allow = Yaml::map([("digests", Some(Yaml::List(digests.collect())))]);
    let has_chains = draft
        .rules
        .iter()
        .any(|rule| rule.flag_in != 0 || rule.row.flags_set().next().is_some());
    let value = Yaml::Map(fields_of([
        ("mode", Some(Yaml::word(list.mode.word()))),
        ("allow", (list.mode != FirewallMode::Disabled).then_some(allow)),
        ("schemas", (!schemas.is_empty()).then(|| Yaml::texts(schemas))),
        (
            "own_schemas",
            (passes && !has_default).then(|| Yaml::word("false")),
        ),
        (
            "raw_chains",
            (passes && has_chains && list.flags == [0]).then(|| Yaml::word("false")),
        ),
    ]));
    Field::new(own.map_or(&list.user, |user| &user.object), value)
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_have_the_largest_unit() {
        let texts = [0, 1, 1500, 2000, 60_000, 90_000, 3_600_000, 86_400_000].map(duration);
        assert_eq!(texts, ["0ms", "1ms", "1500ms", "2s", "1m", "90s", "1h", "1d"]);
    }
}
