//! Any bytes at all: every decoder answers, none panics.

use proptest::prelude::*;
use shardwright_wire::auth::{NativeVerifier, Scramble, Verifier};
use shardwright_wire::binary::execute_parameters;
use shardwright_wire::statement::set_prepared_id;
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ChangeUser, ClientHello, ClientLogin, ClientSecret, Command,
    EofPacket, Greeting, LoginStep, MariadbCapabilities, MysqlError, OkPacket, PrepareOk, Privacy,
    ResponseScanner, ResponseShape, ServerLogin, capability, session_changes, take_packet, write_packet,
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

/// A password, and hashes of which none is of what the strategies make.
const SECRETS: [&str; 3] = [
    "a long password that no strategy makes",
    "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
    "$A$001$abcdefghijklmnopqrst5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
];

fn shapes() -> impl Strategy<Value = ResponseShape> {
    use ResponseShape as S;
    prop::sample::select(vec![
        S::Status,
        S::TextResults,
        S::BinaryResults,
        S::BinaryResultsOrCursor,
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
    fn logins(first in bytes(), second in bytes(), third in bytes(), fixed in any::<bool>(), is_private in any::<bool>(),
              secret in prop::option::of(prop::sample::select(SECRETS.to_vec()))) {
        // With real capabilities in front, the decoder gets past the first check.
        let first = if fixed { [capability::UNDERSTOOD.bits().to_le_bytes().as_slice(), &[0; 28], &first].concat() } else { first };
        let privacy = if is_private { Privacy::Local } else { Privacy::Plain };
        let verifier = secret.map(Verifier::from_secret);
        let mut server = ServerLogin::new(&greeting(), privacy);
        for payload in [&first, &second, &third, &first] {
            match server.on_payload(payload) {
                Ok(LoginStep::Identified) => {
                    let Ok(step) = server.identified(verifier.as_ref()) else { break };
                    if let LoginStep::Attempt(attempt) = step {
                        prop_assert!(verifier.is_none_or(|verifier| attempt.verify(&verifier).is_none()));
                        break;
                    }
                }
                Ok(LoginStep::Attempt(attempt)) => {
                    prop_assert!(verifier.is_none_or(|verifier| attempt.verify(&verifier).is_none()));
                    break;
                }
                Ok(LoginStep::Send(_) | LoginStep::SendPublicKey | LoginStep::StartTls) => {}
                Err(_) => break,
            }
        }
        let credentials = BackendCredentials {
            user: b"u".to_vec(),
            secret: ClientSecret::password(b"p"),
            database: None,
            capabilities: capability::UNDERSTOOD,
            mariadb_capabilities: MariadbCapabilities::empty(),
            collation: 45,
            attributes: Vec::new(),
            allow_public_key_retrieval: true,
        };
        let _ = ClientLogin::greeting(&first);
        let (mut client, _) = ClientLogin::start(&greeting(), &credentials, privacy).unwrap();
        let switch = b"\xFEcaching_sha2_password\0abcdefghijklmnopqrst\0";
        let _ = (client.on_payload(&first), client.on_payload(switch), client.on_payload(&[1, 4]));
        let key = [&[1], second.as_slice()].concat();
        let _ = (client.on_payload(&key), client.on_payload(&third));
    }

    #[test]
    fn texts_of_hashes(text in "(\\*|0x|\\$A\\$00[0-9a-f]\\$)?[0-9A-Fa-f$./é]{0,140}") {
        if let Some(verifier) = Verifier::from_hash_text(&text) {
            prop_assert!(verifier.is_same(&Verifier::from_secret(&text)));
        }
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
