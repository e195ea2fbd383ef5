//! The role that each statement needs, and the record of operations.

use shardwright_mysqlite::Answer;
use shardwright_wire::{MysqlError, errors};

use super::AdminSession;
use super::grammar::AdminStatement;
use crate::admin_accounts::Role;
use crate::operations::Author;

impl AdminStatement {
    /// The least role that may run it. A configuration holds references to secrets, and so an observation shows none.
    pub(super) const fn needs(&self) -> Role {
        match self {
            Self::Observe | Self::Explain(_) => Role::Stats,
            Self::Pause { .. }
            | Self::Resume(_)
            | Self::Prefer(_)
            | Self::RefuseApp { .. }
            | Self::AllowApp(_)
            | Self::AllowDigest(_)
            | Self::Kill { .. } => Role::Operator,
            Self::Apply(_) | Self::Check(_) | Self::Reload => Role::Admin,
        }
    }

    /// Its text in the record of operations; `None` if it changes nothing.
    pub(super) fn operation(&self) -> Option<String> {
        let text = match self {
            Self::Observe | Self::Explain(_) | Self::Check(_) => return None,
            Self::Apply(request) => match &request.project {
                Some(project) => format!("APPLY of the project {project}"),
                None => "APPLY".to_owned(),
            },
            Self::Reload => "RELOAD".to_owned(),
            Self::Pause { cluster, time } => format!("PAUSE {cluster} for {} ms", time.as_millis()),
            Self::Resume(cluster) => format!("RESUME {cluster}"),
            Self::Prefer(server) => format!("PREFER {server}"),
            Self::RefuseApp { app, time } => format!("REFUSE APP {app} for {} min", time.as_secs() / 60),
            Self::AllowApp(app) => format!("ALLOW APP {app}"),
            Self::AllowDigest(digest) => format!("ALLOW DIGEST {digest}"),
            Self::Kill { scope, id } => format!("KILL {} {id}", scope.keyword()),
        };
        Some(text)
    }
}

impl AdminSession {
    /// Refuses an account whose role is lower now: a reload may have changed it since the login.
    pub(super) fn permit(&self, needed: Role) -> Result<(), MysqlError> {
        let account = &self.account;
        match self.shared.admin_accounts.role(account) {
            Some(role) if role >= needed => Ok(()),
            Some(role) => Err(errors::SPECIFIC_ACCESS_DENIED.with(format_args!(
                "Access denied: this needs the role {}, and the account {account} has the role {}",
                needed.name(),
                role.name()
            ))),
            None => Err(errors::SPECIFIC_ACCESS_DENIED.with(format_args!(
                "Access denied: the account {account} has been removed"
            ))),
        }
    }

    /// Runs an operation, with its account and address in the log and on record.
    pub(super) fn operate(
        &mut self,
        operation: &str,
        run: impl FnOnce(&mut Self) -> Result<Answer, MysqlError>,
    ) -> Result<Answer, MysqlError> {
        let (account, address) = (&*self.account, self.address);
        let span = tracing::warn_span!("admin", account, %address);
        let result = span.in_scope(|| {
            let result = run(self);
            if let Err(error) = &result {
                tracing::warn!(operation, error = error.message, "it was not done");
            }
            result
        });
        let by = Author::Account {
            name: self.account.clone(),
            address: self.address,
        };
        let failure = result.as_ref().err().map(|error| error.message.clone());
        let error = failure.or(self.left_undone.take());
        self.shared.record(by, operation, error.as_deref());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar::parse;
    use super::*;

    /// One statement of each kind, with its role; the test below fails where a kind is missing.
    const STATEMENTS: &[(&str, Role)] = &[
        ("SHARDWRIGHT OBSERVE", Role::Stats),
        ("EXPLAIN ROUTE 'SELECT 1'", Role::Stats),
        ("SHARDWRIGHT PAUSE 'clusters.a' FOR 1000", Role::Operator),
        ("SHARDWRIGHT RESUME 'clusters.a'", Role::Operator),
        ("SHARDWRIGHT PREFER 'clusters.a.servers.b'", Role::Operator),
        ("SHARDWRIGHT REFUSE APP 'archive' FOR 30", Role::Operator),
        ("SHARDWRIGHT ALLOW APP 'archive'", Role::Operator),
        ("SHARDWRIGHT ALLOW DIGEST '0x1F'", Role::Operator),
        ("SHARDWRIGHT APPLY EXPECT 1 '9c1e' AS '{}'", Role::Admin),
        ("SHARDWRIGHT RELOAD", Role::Admin),
        ("SHARDWRIGHT KILL 5", Role::Operator),
        ("SHARDWRIGHT CHECK EXPECT 1 '9c1e' AS '{}'", Role::Admin),
    ];

    /// The place of a kind of statement in [`STATEMENTS`].
    const fn place(statement: &AdminStatement) -> usize {
        match statement {
            AdminStatement::Observe => 0,
            AdminStatement::Explain(_) => 1,
            AdminStatement::Pause { .. } => 2,
            AdminStatement::Resume(_) => 3,
            AdminStatement::Prefer(_) => 4,
            AdminStatement::RefuseApp { .. } => 5,
            AdminStatement::AllowApp(_) => 6,
            AdminStatement::AllowDigest(_) => 7,
            AdminStatement::Apply(_) => 8,
            AdminStatement::Reload => 9,
            AdminStatement::Kill { .. } => 10,
            AdminStatement::Check(_) => 11,
        }
    }

    #[test]
    fn every_statement_has_a_role_and_what_changes_something_is_on_record() {
        for (at, (text, role)) in STATEMENTS.iter().enumerate() {
            let statement = parse(text).unwrap().unwrap();
            assert_eq!(place(&statement), at, "{text}");
            assert_eq!(statement.needs(), *role, "{text}");
            // A check needs the role of an apply, because it asks for the same secrets, and changes nothing.
            let changes_something = *role > Role::Stats && !text.contains("CHECK");
            assert_eq!(statement.operation().is_some(), changes_something, "{text}");
        }
    }
}
