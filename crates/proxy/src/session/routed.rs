//! A statement on its way to a server: what it is, and what it needs there.

use shardwright_rules::{Besides, Statement};

use super::execute_parameters::ExecuteParameters;
use super::holds::Ending;
use super::requirements::Requirements;
use super::set_statement::SetPlan;
use crate::withheld::SentRead;

/// A statement that was routed.
pub(super) struct RoutedStatement<'a> {
    pub(super) statement: &'a Statement<'a>,
    pub(super) requirements: Requirements,
    /// Its effects, and the tables that must be base tables.
    pub(super) besides: &'a Besides,
    /// Behind a pointer, as few statements are a SET.
    pub(super) set: Option<Box<SetPlan>>,
    pub(super) ending: Ending,
    /// The values of an execution.
    pub(super) parameters: Option<&'a ExecuteParameters<'a>>,
}

impl RoutedStatement<'_> {
    /// The statement as a read.
    pub(super) fn read(&self) -> SentRead<'_> {
        SentRead {
            statement: self.statement,
            parameters: self.parameters.map_or(&[], |parameters| parameters.values),
        }
    }
}
