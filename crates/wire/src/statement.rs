//! Statement ids in COM_STMT_* packets: read, and replaced when a statement has another id at a backend.

use crate::packet::HEADER_LEN;
use crate::response::PrepareOk;

/// The id that stands for "the statement prepared last" on MariaDB servers (MariaDB 10.2, COM_STMT_EXECUTE).
pub const LAST_PREPARED: u32 = u32::MAX;

/// The statement id of a command payload, if the command carries one.
#[must_use]
pub fn statement_id(payload: &[u8]) -> Option<u32> {
    let (command, rest) = payload.split_first()?;
    matches!(command, 23..=26 | 28).then_some(())?;
    Some(u32::from_le_bytes(*rest.first_chunk()?))
}

/// Replaces the statement id of a command payload; `false` when the command carries none.
pub fn set_statement_id(payload: &mut [u8], id: u32) -> bool {
    let carries_one = statement_id(payload).is_some();
    if carries_one {
        payload[1..5].copy_from_slice(&id.to_le_bytes());
    }
    carries_one
}

/// Bytes of a response, header included, that must be there before [`set_prepared_id`] can work.
pub const PREPARED_ID_END: usize = HEADER_LEN + PrepareOk::STATEMENT_ID_AT + 4;

/// Replaces the statement id at the start of a response to COM_STMT_PREPARE, headers included; `false` when it is
/// an error or too short.
pub fn set_prepared_id(response: &mut [u8], id: u32) -> bool {
    let is_prepare_ok = response.len() >= PREPARED_ID_END && response[HEADER_LEN] == 0;
    if is_prepare_ok {
        response[PREPARED_ID_END - 4..PREPARED_ID_END].copy_from_slice(&id.to_le_bytes());
    }
    is_prepare_ok
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, write_packet};

    #[test]
    fn ids_are_replaced_where_commands_carry_them() {
        for command in [
            Command::StmtExecute {
                statement_id: 7,
                flags: 0,
                parameters: b"\0\x01",
            },
            Command::StmtSendLongData {
                statement_id: 7,
                parameter: 1,
                data: b"abc",
            },
            Command::StmtClose(7),
            Command::StmtReset(7),
            Command::StmtFetch {
                statement_id: 7,
                rows: 10,
            },
        ] {
            let mut payload = Vec::new();
            command.encode(&mut payload);
            assert_eq!(statement_id(&payload), Some(7), "{command:?}");
            assert!(set_statement_id(&mut payload, 0xDEAD_BEEF));
            assert_eq!(statement_id(&payload), Some(0xDEAD_BEEF), "{command:?}");
        }
    }

    #[test]
    fn other_commands_are_left_alone() {
        let mut query = b"\x03SELECT 1".to_vec();
        assert!(!set_statement_id(&mut query, 1));
        assert_eq!(query, b"\x03SELECT 1");
        assert_eq!(statement_id(&[23, 1, 0, 0]), None);
    }

    #[test]
    fn the_id_of_a_prepare_response_is_replaced() {
        let mut payload = Vec::new();
        PrepareOk {
            statement_id: 3,
            columns: 1,
            parameters: 2,
            warnings: 0,
        }
        .encode(&mut payload);
        let mut response = Vec::new();
        write_packet(&mut response, &mut 1, &payload);
        assert!(set_prepared_id(&mut response, 99));
        assert_eq!(
            PrepareOk::decode(&response[HEADER_LEN..]).unwrap().statement_id,
            99
        );
        assert!(!set_prepared_id(&mut response[..PREPARED_ID_END - 1], 1));
    }
}
