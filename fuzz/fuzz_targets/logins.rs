//! A byte of choices, then packets as what the other side of a login says: a client to the proxy, and a server to the proxy. Each
//! dialogue ends, a client without the password is not let in, and a server never gets the password where others could read it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use shardwright_wire::auth::{RsaKey, Scramble, Verifier};
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, Greeting, LoginStep, MysqlError, Privacy,
    ServerLogin, capability, take_packet,
};

const PASSWORD: &[u8] = b"a password that no input has";

/// Answers of one side before it gives up: a dialogue is shorter.
const MOST_STEPS: usize = 8;

static KEY: LazyLock<RsaKey> = LazyLock::new(|| RsaKey::generate().expect("there is a source of randomness"));
static VERIFIERS: LazyLock<[Verifier; 3]> = LazyLock::new(|| {
    let hash = "*6BB4837EB74329105EE4568DDA7DC67ED2CA2AD9";
    [
        Verifier::from_password(PASSWORD),
        Verifier::from_secret(hash),
        Verifier::from_password(b""),
    ]
});

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let privacy = match choice & 1 {
        0 => Privacy::Plain,
        _ => Privacy::Tls,
    };
    client(choice, privacy, bytes);
    server(choice, privacy, bytes);
    if let Ok(error) = MysqlError::decode(bytes) {
        let mut written = Vec::new();
        error.encode(&mut written);
        let again = MysqlError::decode(&written).expect("it was written");
        assert_eq!((again.code, again.sqlstate), (error.code, error.sqlstate));
        // Bytes that are no UTF-8 take three in its place, and a long message is cut.
        assert!(again.message == error.message || bytes.len() > 100);
    }
});

/// The payloads of the packets, each of which leads to one step.
fn payloads(mut bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    std::iter::from_fn(move || {
        let packet = take_packet(bytes, bytes.len()).ok()??;
        bytes = &bytes[packet.consumed..];
        Some(packet.payload.into_owned())
    })
}

/// What a client says.
fn client(choice: u8, privacy: Privacy, bytes: &[u8]) {
    let offered = capability::UNDERSTOOD | CapabilityFlags::CLIENT_SSL;
    let greeting = Greeting::native("8.4.3".to_owned(), 7, Scramble(*b"a scramble of twenty"), offered, 45);
    let verifier = VERIFIERS.get(usize::from(choice >> 1 & 3));
    let mut login = ServerLogin::new(&greeting, privacy);
    let mut steps = 0;
    for payload in payloads(bytes) {
        steps += 1;
        assert!(steps <= MOST_STEPS, "a login without an end");
        let mut step = login.on_payload(&payload);
        if let Ok(LoginStep::Identified) = step {
            step = login.identified(verifier);
        }
        match step {
            Ok(LoginStep::StartTls | LoginStep::Send(_) | LoginStep::SendPublicKey) => {}
            Ok(LoginStep::Identified) => panic!("a client is identified twice"),
            Ok(LoginStep::Attempt(mut attempt)) => {
                let (_denied, _goes_ahead) = (attempt.denied("host"), attempt.acknowledgement());
                attempt.proof = attempt.proof.decrypted(&KEY);
                let is_let_in = verifier.is_some_and(|verifier| attempt.verify(verifier).is_some());
                assert!(!is_let_in || choice >> 1 & 3 == 2, "a login without the password");
                return;
            }
            Err(_refused) => return,
        }
    }
}

/// What a server says: a greeting, and what follows.
fn server(choice: u8, privacy: Privacy, bytes: &[u8]) {
    let mut payloads = payloads(bytes);
    let Some(Ok(greeting)) = payloads.next().map(|payload| ClientLogin::greeting(&payload)) else {
        return;
    };
    let credentials = BackendCredentials {
        user: b"app".to_vec(),
        secret: ClientSecret::password(PASSWORD),
        database: (choice & 8 != 0).then(|| b"schema".to_vec()),
        capabilities: capability::UNDERSTOOD,
        collation: 45,
        attributes: Vec::new(),
        allow_public_key_retrieval: choice & 16 != 0,
    };
    let shows_password = |sent: &[u8]| sent.windows(PASSWORD.len()).any(|window| window == PASSWORD);
    assert!(!shows_password(&ClientLogin::tls_request(&greeting, &credentials)));
    let Ok((mut login, answer)) = ClientLogin::start(&greeting, &credentials, privacy) else { return };
    assert!(!shows_password(&answer));
    for payload in payloads {
        match login.on_payload(&payload) {
            Ok(ClientStep::Send(sent)) => {
                assert!(privacy == Privacy::Tls || !shows_password(&sent), "a password that others can read");
            }
            Ok(ClientStep::Wait) => {}
            Ok(ClientStep::Ready { capabilities, .. }) => {
                // TLS is as `privacy` says, whatever the greeting.
                let ours = CapabilityFlags::CLIENT_CONNECT_WITH_DB | CapabilityFlags::CLIENT_SSL;
                assert!(greeting.capabilities.contains(capabilities - ours));
                return;
            }
            Err(_refused) => return,
        }
    }
}
