//! Framing: splitting, joining, limits, and walking boundaries in pieces.

use proptest::prelude::*;
use shardwright_wire::{
    HEADER_LEN, MAX_CHUNK, PacketError, PacketHead, PacketHeader, PacketScanner, Piece, append_packet,
    take_packet, write_packet,
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

/// Heads and payload bytes that a scanner finds in pieces of these sizes.
fn walk(bytes: &[u8], sizes: impl Iterator<Item = usize>) -> (Vec<PacketHead>, Vec<u8>, usize) {
    let mut scanner = PacketScanner::new();
    let (mut heads, mut payload, mut ends) = (Vec::new(), Vec::new(), 0);
    let mut rest = bytes;
    for size in sizes {
        let (mut piece, tail) = rest.split_at(size.min(rest.len()));
        rest = tail;
        while let Some(found) = scanner.next(&mut piece) {
            match found {
                Piece::Head(head) => heads.push(head),
                Piece::Body { bytes, end } => {
                    payload.extend_from_slice(bytes);
                    ends += usize::from(end);
                }
            }
        }
        assert!(piece.is_empty(), "a scanner takes all it is given");
        if rest.is_empty() {
            break;
        }
    }
    assert!(scanner.at_boundary());
    (heads, payload, ends)
}

#[test]
fn a_continuation_is_no_packet_of_its_own() {
    let mut payload = vec![b'x'; MAX_CHUNK];
    payload.extend_from_slice(b"\xFF\xFE");
    let mut bytes = Vec::new();
    write_packet(&mut bytes, &mut 3, &payload);
    let (heads, walked, ends) = walk(&bytes, std::iter::repeat(65_536));
    assert!(walked == payload);
    let continuations: Vec<_> = heads
        .iter()
        .map(|head| (head.seq, head.first, head.continuation))
        .collect();
    assert_eq!(
        (continuations.as_slice(), ends),
        ([(3, b'x', false), (4, 0xFF, true)].as_slice(), 2)
    );
}

proptest! {
    #[test]
    fn boundaries_do_not_depend_on_how_bytes_arrive(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..12),
        sizes in prop::collection::vec(1_usize..9, 1..8),
    ) {
        let mut bytes = Vec::new();
        for payload in &payloads {
            write_packet(&mut bytes, &mut 0, payload);
        }
        let whole = walk(&bytes, std::iter::once(bytes.len()));
        prop_assert_eq!(&whole.1, &payloads.concat());
        prop_assert_eq!(whole.2, payloads.len());
        let firsts: Vec<u8> = payloads.iter().map(|payload| payload.first().copied().unwrap_or(0)).collect();
        prop_assert_eq!(whole.0.iter().map(|head| head.first).collect::<Vec<_>>(), firsts);
        prop_assert_eq!(&walk(&bytes, std::iter::repeat(1)), &whole);
        prop_assert_eq!(&walk(&bytes, sizes.into_iter().cycle()), &whole);
    }
}
