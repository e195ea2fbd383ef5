//! Framing: splitting, joining, limits.

use shardwright_wire::{
    HEADER_LEN, MAX_CHUNK, PacketError, PacketHeader, append_packet, take_packet, write_packet,
};

#[test]
fn payloads_are_split_where_the_length_does_not_fit() {
    for (len, packets) in [
        (0, 1),
        (1, 1),
        (MAX_CHUNK - 1, 1),
        (MAX_CHUNK, 2),
        (MAX_CHUNK + 1, 2),
        (2 * MAX_CHUNK, 3),
    ] {
        let payload: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let (mut written, mut appended) = (Vec::new(), b"before".to_vec());
        let (mut seq, mut other_seq) = (254, 254);
        write_packet(&mut written, &mut seq, &payload);
        append_packet(&mut appended, &mut other_seq, |out| {
            out.extend_from_slice(&payload)
        });
        assert!(appended[6..] == written && seq == other_seq, "{len}");
        assert_eq!(written.len(), len + packets * HEADER_LEN);
        assert_eq!(seq, 254_u8.wrapping_add(packets as u8));
        let packet = take_packet(&written, len).unwrap().unwrap();
        assert!(packet.payload.as_ref() == payload);
        assert_eq!((packet.first_seq, packet.last_seq), (254, seq.wrapping_sub(1)));
        assert_eq!(packet.consumed, written.len());
        assert_eq!(take_packet(&written[..written.len() - 1], len), Ok(None));
    }
}

#[test]
fn the_limit_holds_before_the_payload_has_come() {
    let header = PacketHeader { len: 101, seq: 0 }.to_bytes();
    assert_eq!(
        take_packet(&header, 100),
        Err(PacketError::TooLarge { limit: 100, seq: 0 })
    );
    assert_eq!(take_packet(&header, 101), Ok(None));
    let mut continued = Vec::new();
    write_packet(&mut continued, &mut 0, &vec![0; MAX_CHUNK + 10]);
    assert_eq!(
        take_packet(&continued, MAX_CHUNK + 9),
        Err(PacketError::TooLarge {
            limit: MAX_CHUNK + 9,
            seq: 1
        })
    );
}

#[test]
fn chunks_out_of_order_are_refused() {
    let mut continued = Vec::new();
    write_packet(&mut continued, &mut 0, &vec![0; MAX_CHUNK + 10]);
    continued[HEADER_LEN + MAX_CHUNK + 3] = 5;
    let refused = take_packet(&continued, usize::MAX);
    assert_eq!(
        refused,
        Err(PacketError::OutOfOrder {
            expected: 1,
            found: 5
        })
    );
}
