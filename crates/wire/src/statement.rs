//! The statement id in the answer to COM_STMT_PREPARE: replaced where a client has another than the backend.

use crate::packet::HEADER_LEN;
use crate::response::PrepareOk;

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
    use crate::write_packet;

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
