//! An execution of a prepared statement, as its client has asked for it.

use std::rc::Rc;

use shardwright_wire::MysqlError;

use super::execute_parameters::{ExecuteParameters, Executed, ExecutionFlags, wrong_arguments_to};
use super::statements::SessionStatement;

/// An execution of a prepared statement.
pub(super) struct Execution<'a> {
    /// The client's number of the statement.
    pub(super) id: u32,
    pub(super) parameters: ExecuteParameters<'a>,
    /// Two bytes for each parameter.
    pub(super) types: Rc<[u8]>,
    /// The sequence number of the answer's first packet.
    pub(super) seq: u8,
}

impl<'a> Execution<'a> {
    /// Reads it, and keeps the types that it binds.
    ///
    /// # Errors
    /// The error for the client.
    pub(super) fn of(
        prepared: &mut SessionStatement,
        (flags, block): (ExecutionFlags, &'a [u8]),
        has_attributes: bool,
        (id, seq): (u32, u8),
    ) -> Result<Self, MysqlError> {
        let executed = Executed {
            parameters: prepared.parameters,
            long_data: &prepared.long_data,
            has_attributes,
        };
        let parameters = match flags {
            ExecutionFlags::Once(flags) => ExecuteParameters::split(flags, block, executed)?,
            ExecutionFlags::Bulk(flags) => ExecuteParameters::split_bulk(flags, block, prepared.parameters)?,
        };
        if let Some(types) = parameters.types.as_deref()
            && *prepared.types != *types
        {
            prepared.types = types.into();
        }
        let is_typed = prepared.types.len() == 2 * usize::from(prepared.parameters);
        let types = match is_typed {
            true => Some(prepared.types.clone()),
            false if parameters.is_bulk => None,
            false => parameters.types_of_nulls(prepared.parameters).map(Rc::from),
        };
        Ok(Self {
            id,
            types: types.ok_or_else(|| wrong_arguments_to(flags.function()))?,
            parameters,
            seq,
        })
    }
}
