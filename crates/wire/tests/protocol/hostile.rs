//! Any bytes at all: every decoder answers, none panics.

use proptest::prelude::*;
use shardwright_wire::auth::{NativeVerifier, Scramble};
use shardwright_wire::binary::execute_parameters;
use shardwright_wire::statement::set_prepared_id;
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ChangeUser, ClientHello, ClientLogin, ClientSecret, Command,
    EofPacket, Greeting, LoginStep, MysqlError, OkPacket, PrepareOk, ResponseScanner, ResponseShape,
    ServerLogin, capability, session_changes, take_packet, write_packet,
};

/// Bytes in which lengths, headers and NULs are likelier than chance has them.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(vec![0, 1, 2, 3, 5, 9, 12, 20, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF]),
    ];
    prop::collection::vec(byte, 0..120)
}

fn greeting() -> Greeting {
    Greeting::native("8", 1, Scramble([b'x'; 20]), capability::SERVER_BASE, 45)
}

fn shapes() -> impl Strategy<Value = ResponseShape> {
    use ResponseShape as S;
    prop::sample::select(vec![
        S::Status,
        S::TextResults,
        S::BinaryResults,
        S::Rows,
        S::Prepare,
        S::Definitions,
        S::Text,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn decoders(payload in bytes(), bits in any::<u32>(), count in any::<u16>()) {
        let capabilities = CapabilityFlags::from_bits_retain(bits);
        let _ = take_packet(&payload, 1 << 16);
        let _ = (Command::decode(&payload), Greeting::decode(&payload), ClientHello::decode(&payload));
        let _ = (OkPacket::decode(&payload, capabilities), MysqlError::decode(&payload), EofPacket::decode(&payload));
        let _ = PrepareOk::decode(&payload);
        let _ = ChangeUser::decode(&payload, capabilities);
        let _ = session_changes(&payload).count();
        let _ = execute_parameters(&payload, count % 12, &mut Vec::new(), |at| at == 3);
        let mut patched = payload.clone();
        let _ = set_prepared_id(&mut patched, bits);
        let _ = NativeVerifier::from_password(b"x").verify(&payload, &Scramble([1; 20]));
    }

    #[test]
    fn logins(first in bytes(), second in bytes(), fixed in any::<bool>()) {
        // With real capabilities in front, the decoder gets past the first check.
        let first = if fixed { [capability::UNDERSTOOD.bits().to_le_bytes().as_slice(), &[0; 28], &first].concat() } else { first };
        let mut server = ServerLogin::new(&greeting());
        if let Ok(LoginStep::Send(_)) = server.on_payload(&first) {
            let attempt = server.on_payload(&second);
            prop_assert!(matches!(attempt, Ok(LoginStep::Attempt(_))));
        }
        let credentials = BackendCredentials {
            user: b"u".to_vec(),
            secret: ClientSecret::Password(b"p".to_vec()),
            database: None,
            capabilities: capability::UNDERSTOOD,
            collation: 45,
            attributes: Vec::new(),
        };
        let _ = ClientLogin::start(&first, &credentials);
        let mut client = ClientLogin::start(&greeting().encode(), &credentials).unwrap().login;
        let _ = (client.on_payload(&first), client.on_payload(&second));
    }

    #[test]
    fn responses(chunks in prop::collection::vec(bytes(), 1..6), framed in any::<bool>(), shape in shapes(), bits in any::<u32>()) {
        let mut scanner = ResponseScanner::new(CapabilityFlags::from_bits_retain(bits));
        scanner.begin(shape, 1);
        let mut seq = 1;
        for chunk in chunks {
            let mut bytes = Vec::new();
            if framed {
                write_packet(&mut bytes, &mut seq, &chunk);
            } else {
                bytes = chunk;
            }
            match scanner.feed(&bytes) {
                Ok(fed) => prop_assert!(fed.consumed <= bytes.len()),
                Err(_) => break,
            }
        }
    }
}
