//! Users whose logins are no names: sessions have the login, and files refer to the name.

use crate::support::*;

const TOPOLOGY: &str = r#"
version: 1
clusters:
  home: {type: replication, servers: {a: {host: w.db}, b: {host: r.db}}}
  c1: {type: single, servers: {a: {host: c1.db}}}
  c2: {type: single, servers: {a: {host: c2.db}}}
  side: {type: single, servers: {a: {host: side.db}}}
users:
  api: {login: "svc.api@eu", password: {env: P}, cluster: home}
  api-old: {login: "svc.api@eu.users", password: {env: P}, cluster: home}
  t-1: {login: "tenant 1", password: {env: P}, cluster: home, schema: one}
  t-2: {login: "tenant 2", password: {env: P}, cluster: home}
  rep: {login: "rep.*", password: {env: P}, cluster: home, role: reader}
  other: {password: {env: P}, cluster: home}
routes:
  stock: {match: {users: ["api*"], except_users: [api-old], match_digest: "FROM stock"}, cluster: side}
shard_maps:
  tenants:
    applies_to: {users: ["t-*"]}
    key: {name: tenant, type: integer}
    key_from: [{user: "tenant $(key)"}, {comment: {}}]
    missing_key: {by_user: {t-2: {statements: reject}}}
    shards:
      one: {keys: [1], cluster: c1}
      two: {keys: [2], cluster: c2}
read_write_policies:
  reads: {applies_to: {users: [api]}, reads: {all: true}}
"#;

#[test]
fn rules_are_about_logins() {
    let project = loaded(TOPOLOGY);
    for engine in BOTH {
        let compiled = compiled(&project, engine);
        let addresses: Vec<(&str, &str)> = compiled
            .configuration
            .users
            .iter()
            .map(|user| (user.name.as_str(), user.address.as_str()))
            .collect();
        assert!(addresses.contains(&("svc.api@eu", "users.api")), "{addresses:?}");
        let decider = Decider::new(&compiled);
        for (user, statement, expected) in [
            ("svc.api@eu", "SELECT a FROM t", "home reader"),
            ("svc.api@eu", "UPDATE t SET a = 1", "home writer"),
            ("svc.api@eu", "SELECT a FROM stock", "side writer"),
            ("svc.api@eu.users", "SELECT a FROM stock", "home writer"),
            ("svc.api@eu.users", "SELECT a FROM t", "home writer"),
            ("other", "SELECT a FROM stock", "home writer"),
            ("other", "SELECT a FROM t", "home writer"),
            ("tenant 1", "SELECT a FROM t", "c1 writer"),
            ("tenant 2", "UPDATE t SET a = 1", "c2 writer"),
            ("rep.*", "SELECT a FROM t", "home reader"),
        ] {
            let found = decider.short(user, None, statement);
            assert_goes(&found, expected, &format!("{engine}: {user}: {statement}"));
        }
        // The lock has a line for each name, and is read back as it was.
        let (read, errors) = shardwright_compiler::Lock::parse(&compiled.lock.to_string());
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(read, compiled.lock);
    }
}
