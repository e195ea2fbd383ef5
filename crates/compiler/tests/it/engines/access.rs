//! Shards that are refused, users who only read, and users for whom something else holds without a key.

use super::cases::{ACCOUNTS, Case};

pub(super) const ACCESS: Case = Case {
    // It goes on with the users of all cases.
    topology: r#"
  reports: {password: {env: P}, cluster: c5, role: reader, schema: app}
  at_five: {password: {env: P}, cluster: home, role: reader, schema: acct_0005}
  ops: {password: {env: P}, cluster: c5}
shard_maps:
  accounts:
    applies_to: {users: [app, reports, at_five, ops]}
    key: {name: account, type: integer}
    key_from: [{comment: {}}, {schema: "acct_$(key:04)"}]
    missing_key: {by_user: {ops: {statements: {cluster: c4}}, reports: {session_setup: {cluster: c4}}}}
    shards:
      low: {keys: [1..3], cluster: c1}
      gone: {keys: [4, 98], refuse: "it has moved"}
      closed: {keys: [5], cluster: c2, refuse: "it is closed"}
      high: {keys: [6..40], cluster: c3}
read_write_policies:
  default: {applies_to: {users: [app, reports]}, reads: {all: true}, writer_hint: {comment: {name: primary}}}
"#,
    schemas: ACCOUNTS,
    comments: &[
        "account=1",
        "account=3, primary",
        "account=4",
        "account=5",
        "account=05",
        "account=98",
        "account=40",
        "account=41",
        "account=4 account=5",
        "account=x",
        "x",
    ],
    users: &["app", "reports", "at_five", "ops"],
};
