//! Which databases a statement may touch.
//!
//! SQLite looks for an unqualified table in every attached database. MySQL looks in the current schema only, so a
//! statement is held to the current schema and to those that its text names.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::errors::Refused;
use super::names::INFORMATION_SCHEMA;

#[derive(Debug, Default)]
pub(super) struct Access {
    /// Statements of this crate, which may do everything.
    pub(super) is_internal: bool,
    /// Databases that the statement may touch.
    pub(super) databases: Vec<String>,
    /// What was refused, for the error.
    pub(super) refused: Option<Refused>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct SharedAccess(Arc<Mutex<Access>>);

impl SharedAccess {
    pub(super) fn lock(&self) -> MutexGuard<'_, Access> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` with the rights of this crate.
    pub(super) fn internally<T>(&self, work: impl FnOnce() -> T) -> T {
        self.lock().is_internal = true;
        let result = work();
        self.lock().is_internal = false;
        result
    }

    pub(super) fn authorize(&self, context: &AuthContext<'_>) -> Authorization {
        let mut access = self.lock();
        if access.is_internal {
            return Authorization::Allow;
        }
        let refused = match context.action {
            AuthAction::Attach { .. } | AuthAction::Detach { .. } | AuthAction::Pragma { .. } => {
                Refused::Statement
            }
            AuthAction::Unknown { .. } | AuthAction::CreateVtable { .. } | AuthAction::DropVtable { .. } => {
                Refused::Statement
            }
            _ if context.database_name == Some(INFORMATION_SCHEMA)
                && !matches!(context.action, AuthAction::Read { .. }) =>
            {
                Refused::Statement
            }
            _ => match context.database_name {
                Some(database) if !access.allows(database) => {
                    Refused::Table(table(&context.action).to_owned())
                }
                _ => return Authorization::Allow,
            },
        };
        access.refused = Some(refused);
        Authorization::Deny
    }
}

impl Access {
    fn allows(&self, database: &str) -> bool {
        database == "temp"
            || self
                .databases
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(database))
    }
}

fn table<'a>(action: &AuthAction<'a>) -> &'a str {
    match *action {
        AuthAction::Read { table_name, .. }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::CreateTable { table_name }
        | AuthAction::DropTable { table_name }
        | AuthAction::AlterTable { table_name, .. } => table_name,
        _ => "",
    }
}
