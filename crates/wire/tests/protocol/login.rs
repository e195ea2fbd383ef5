//! Both sides of a login against each other.

use std::sync::LazyLock;

use shardwright_wire::auth::{
    Method, NativeVerifier, PasswordHash, Proof, RsaKey, Scramble, Verifier, switch_to,
};
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ChangeUser, ClientHello, ClientLogin, ClientSecret, ClientStep,
    ConnectError, Greeting, LoginAttempt, LoginRequest, LoginStep, MariadbCapabilities, MysqlError, OkPacket,
    Privacy, ServerLogin, StatusFlags, capability, errors,
};

static KEY: LazyLock<RsaKey> = LazyLock::new(|| RsaKey::generate().unwrap());

/// `SELECT PASSWORD('secret')` on MariaDB.
const NATIVE_HASH: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
/// A row of `mysql.user` (hashcat's example of mode 7401); the password is `hashcat`.
const STORED_HASH: &str = "0x24412430303524F9CC98CE08892924F50A213B6BC571A2C11778C5\
    625479393559393965414D45316477456B484F41316E64484742577A2E3162785353526B7554584647562F";

fn credentials(secret: ClientSecret) -> BackendCredentials {
    BackendCredentials {
        user: b"app".to_vec(),
        secret,
        database: Some(b"shop".to_vec()),
        capabilities: capability::UNDERSTOOD,
        mariadb_capabilities: MariadbCapabilities::empty(),
        collation: 45,
        attributes: vec![(b"program_name".to_vec(), b"shardwright".to_vec())],
        allow_public_key_retrieval: true,
    }
}

fn greeting(method: Method) -> Greeting {
    let scramble = Scramble::generate().unwrap();
    Greeting {
        auth_plugin: method.name().to_owned(),
        ..Greeting::native("8.4.0", 7, scramble, capability::SERVER_BASE, 45)
    }
}

/// The packets of a login after the greeting, by what they are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Transcript(Vec<&'static str>);

fn describe(payload: &[u8]) -> &'static str {
    match payload {
        [0xFE, ..] => "switch",
        [1, 3] => "fast accepted",
        [1, 4] => "full wanted",
        [1, ..] => "key",
        _ => "other",
    }
}

/// Plays a login to its attempt, and lets the client hear what it came to.
fn play(
    greeting: &Greeting,
    credentials: &BackendCredentials,
    verifier: &Verifier,
    privacy: Privacy,
) -> Result<(bool, Transcript, LoginAttempt), ConnectError> {
    let mut transcript = Transcript::default();
    let seen = ClientLogin::greeting(&greeting.encode())?;
    assert_eq!(&seen, greeting);
    let (mut client, answer) = ClientLogin::start(&seen, credentials, privacy)?;
    let mut server = ServerLogin::new(greeting, privacy);
    let mut step = server.on_payload(&answer).unwrap();
    let mut attempt = loop {
        let payload = match step {
            LoginStep::Identified => {
                assert_eq!(server.user(), b"app");
                step = server.identified(Some(verifier)).unwrap();
                continue;
            }
            LoginStep::StartTls => panic!("nobody asked for TLS"),
            LoginStep::Send(payload) => payload,
            LoginStep::SendPublicKey => KEY.public_key_payload(),
            LoginStep::Attempt(attempt) => break attempt,
        };
        transcript.0.push(describe(&payload));
        match client.on_payload(&payload)? {
            ClientStep::Send(answer) => step = server.on_payload(&answer).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    attempt.proof = attempt.proof.decrypted(&KEY);
    let is_right = attempt.verify(verifier).is_some();
    if is_right {
        if let Some(payload) = attempt.acknowledgement() {
            transcript.0.push(describe(payload));
            assert!(matches!(client.on_payload(payload)?, ClientStep::Wait));
        }
        let mut ok = Vec::new();
        let status = StatusFlags::SERVER_STATUS_AUTOCOMMIT;
        let packet = OkPacket {
            status,
            ..OkPacket::default()
        };
        packet.encode(&mut ok, attempt.capabilities);
        let ready = client.on_payload(&ok)?;
        assert!(
            matches!(ready, ClientStep::Ready { capabilities, mariadb_capabilities, status: seen }
                if capabilities == attempt.capabilities && mariadb_capabilities == attempt.mariadb_capabilities && seen == status)
        );
    }
    Ok((is_right, transcript, attempt))
}

fn outcome(offered: Method, client: ClientSecret, server: &str, privacy: Privacy) -> String {
    let verifier = Verifier::from_secret(server);
    match play(&greeting(offered), &credentials(client), &verifier, privacy) {
        Ok((is_right, transcript, _)) => {
            let word = if is_right { "in" } else { "denied" };
            format!("{}: {word}", transcript.0.join(", "))
        }
        Err(error) => error.to_string(),
    }
}

/// Every method offered, secret of the client, secret of the server, with and without privacy.
#[test]
fn logins_of_every_kind() {
    use Method::{CachingSha2, Native};
    use Privacy::{Local, Plain};
    let password = || ClientSecret::password(b"secret");
    let hash = || ClientSecret::Hash(PasswordHash::of(b"secret").unwrap());
    let wrong = || ClientSecret::password(b"wrong");
    let nothing = || ClientSecret::password(b"");
    for (offered, client, server, privacy, expected) in [
        (Native, password(), "secret", Plain, ": in"),
        (Native, hash(), "secret", Plain, ": in"),
        (Native, password(), NATIVE_HASH, Plain, ": in"),
        (Native, wrong(), NATIVE_HASH, Plain, ": denied"),
        (Native, nothing(), "", Plain, ": in"),
        (Native, nothing(), "secret", Plain, ": denied"),
        (CachingSha2, password(), "secret", Plain, "fast accepted: in"),
        (CachingSha2, password(), "secret", Local, "fast accepted: in"),
        (CachingSha2, wrong(), "secret", Local, ": denied"),
        (CachingSha2, nothing(), "", Plain, ": in"),
        (CachingSha2, nothing(), "secret", Plain, ": denied"),
        // The client's hash answers natively only: the server asks for that, if it can check it.
        (CachingSha2, hash(), "secret", Plain, "switch: in"),
        // The server's hash checks native answers only, and passwords.
        (CachingSha2, password(), NATIVE_HASH, Plain, "switch: in"),
        (CachingSha2, password(), NATIVE_HASH, Local, "full wanted: in"),
        (CachingSha2, wrong(), NATIVE_HASH, Local, "full wanted: denied"),
        (CachingSha2, nothing(), NATIVE_HASH, Local, ": denied"),
        // A stored hash checks passwords only.
        (
            CachingSha2,
            ClientSecret::password(b"hashcat"),
            STORED_HASH,
            Local,
            "full wanted: in",
        ),
        (
            CachingSha2,
            ClientSecret::password(b"hashcat"),
            STORED_HASH,
            Plain,
            "full wanted, key: in",
        ),
        (
            CachingSha2,
            wrong(),
            STORED_HASH,
            Plain,
            "full wanted, key: denied",
        ),
        (CachingSha2, nothing(), STORED_HASH, Plain, ": denied"),
        (
            Native,
            ClientSecret::password(b"hashcat"),
            STORED_HASH,
            Local,
            "switch, full wanted: in",
        ),
        (Native, nothing(), STORED_HASH, Local, "switch: denied"),
    ] {
        let seen = outcome(offered, client, server, privacy);
        assert_eq!(seen, expected, "{offered:?} {server} {privacy:?}");
    }
    let seen = outcome(CachingSha2, hash(), STORED_HASH, Local);
    assert!(
        seen.contains("only its mysql_native_password hash is known"),
        "{seen}"
    );
}

#[test]
fn a_login_tells_what_it_has() {
    let verifier = Verifier::from_secret("secret");
    let credentials = credentials(ClientSecret::password(b"secret"));
    let (_, _, attempt) = play(&greeting(Method::Native), &credentials, &verifier, Privacy::Plain).unwrap();
    assert_eq!(attempt.request.database.as_deref(), Some(b"shop".as_slice()));
    assert_eq!(attempt.request.attributes.len(), 1);
    let mut greeting = greeting(Method::Native);
    greeting
        .capabilities
        .remove(CapabilityFlags::CLIENT_DEPRECATE_EOF);
    let (_, _, attempt) = play(&greeting, &credentials, &verifier, Privacy::Plain).unwrap();
    for (flag, is_spoken) in [
        (CapabilityFlags::CLIENT_DEPRECATE_EOF, false),
        (CapabilityFlags::CLIENT_MULTI_STATEMENTS, false),
        (CapabilityFlags::CLIENT_PLUGIN_AUTH, true),
    ] {
        assert_eq!(attempt.capabilities.contains(flag), is_spoken, "{flag:?}");
    }
}

/// What one side does not speak is left out. With any of MariaDB's further capabilities, neither side has CLIENT_LONG_PASSWORD,
/// whose place in the packets says that there are none.
#[test]
fn further_capabilities_are_what_both_sides_speak() {
    use MariadbCapabilities as M;
    let bulk = M::MARIADB_CLIENT_STMT_BULK_OPERATIONS;
    let extended = M::MARIADB_CLIENT_EXTENDED_METADATA;
    let long_password = CapabilityFlags::CLIENT_LONG_PASSWORD;
    for (offered, wished, spoken) in [
        (M::empty(), bulk | extended, M::empty()),
        (bulk | extended, M::empty(), M::empty()),
        (bulk | extended, extended, extended),
        (bulk, bulk | extended, bulk),
        // Not understood on either side.
        (
            bulk | M::MARIADB_CLIENT_PROGRESS,
            bulk | M::MARIADB_CLIENT_PROGRESS,
            bulk,
        ),
    ] {
        let mut greeting = greeting(Method::Native);
        greeting.mariadb_capabilities = offered;
        greeting.capabilities.set(long_password, offered.is_empty());
        let credentials = BackendCredentials {
            mariadb_capabilities: wished,
            ..credentials(ClientSecret::password(b"secret"))
        };
        let verifier = Verifier::from_secret("secret");
        let (is_right, _, attempt) = play(&greeting, &credentials, &verifier, Privacy::Plain).unwrap();
        assert!(is_right);
        assert_eq!(attempt.mariadb_capabilities, spoken, "{offered:?} {wished:?}");
        let is_plain = attempt.capabilities.contains(long_password);
        assert_eq!(is_plain, offered.is_empty(), "{offered:?} {wished:?}");
    }
}

#[test]
fn the_password_is_not_sent_where_others_listen() {
    let verifier = Verifier::from_secret(STORED_HASH);
    let mut credentials = credentials(ClientSecret::password(b"hashcat"));
    credentials.allow_public_key_retrieval = false;
    let refused = play(
        &greeting(Method::CachingSha2),
        &credentials,
        &verifier,
        Privacy::Plain,
    )
    .unwrap_err();
    assert_eq!(refused, ConnectError::NeedsPrivacy);
    // A server in the middle that says it is another kind of server gets no further.
    let refused = play(&greeting(Method::Native), &credentials, &verifier, Privacy::Plain).unwrap_err();
    assert_eq!(refused, ConnectError::NeedsPrivacy);
}

#[test]
fn tls_comes_before_the_login_and_once() {
    let mut offering = greeting(Method::Native);
    let credentials = credentials(ClientSecret::password(b"secret"));
    let request = ClientLogin::tls_request(&offering, &credentials);
    let refused = ServerLogin::new(&offering, Privacy::Plain)
        .on_payload(&request)
        .unwrap_err();
    assert_eq!(refused.code, 1043, "it is not offered");
    offering.capabilities |= CapabilityFlags::CLIENT_SSL;
    let mut server = ServerLogin::new(&offering, Privacy::Plain);
    assert!(matches!(server.on_payload(&request), Ok(LoginStep::StartTls)));
    assert_eq!(server.user(), b"");
    let wants_tls = |privacy| {
        let (_, answer) = ClientLogin::start(&offering, &credentials, privacy).unwrap();
        let capabilities = u32::from_le_bytes(answer[..4].try_into().unwrap());
        CapabilityFlags::from_bits_truncate(capabilities).contains(CapabilityFlags::CLIENT_SSL)
    };
    assert!(wants_tls(Privacy::Tls));
    // A server would begin TLS, and wait for it.
    assert!(!wants_tls(Privacy::Local) && !wants_tls(Privacy::Plain));
    let (_, answer) = ClientLogin::start(&offering, &credentials, Privacy::Tls).unwrap();
    assert!(matches!(server.on_payload(&answer), Ok(LoginStep::Identified)));
    // A user whose password is only known as stored is asked for it now: nobody else hears it.
    let stored = Verifier::from_secret(STORED_HASH);
    assert!(matches!(server.identified(Some(&stored)), Ok(LoginStep::Send(switch)) if switch[0] == 0xFE));
    assert!(matches!(server.on_payload(&[1; 32]), Ok(LoginStep::Send(full)) if full == [1, 4]));
    let Ok(LoginStep::Attempt(attempt)) = server.on_payload(b"hashcat\0") else {
        panic!("an attempt")
    };
    assert!(attempt.verify(&stored).is_some());
    let mut twice = ServerLogin::new(&offering, Privacy::Plain);
    assert!(matches!(twice.on_payload(&request), Ok(LoginStep::StartTls)));
    assert_eq!(twice.on_payload(&request).unwrap_err().code, 1043);
}

/// The client of MySQL 8 and 9 answers a greeting for another method with nothing, and waits to be asked by its own.
#[test]
fn a_client_of_another_method_is_asked_by_its_own() {
    let greeting = greeting(Method::Native);
    let verifier = Verifier::from_secret("secret");
    for (plugin, asked_by) in [
        (Some("caching_sha2_password"), Some(Method::CachingSha2)),
        (Some("client_ed25519"), Some(Method::Native)),
        (Some("mysql_native_password"), None),
        (None, None),
    ] {
        let request = LoginRequest {
            capabilities: capability::UNDERSTOOD,
            max_packet: 1 << 24,
            mariadb_capabilities: MariadbCapabilities::empty(),
            collation: 45,
            user: b"app".to_vec(),
            auth_response: Vec::new(),
            database: None,
            plugin: plugin.map(|name| name.as_bytes().to_vec()),
            attributes: Vec::new(),
        };
        let mut payload = request.encode();
        if plugin.is_none() {
            let bits = capability::UNDERSTOOD
                .difference(CapabilityFlags::CLIENT_PLUGIN_AUTH)
                .bits();
            payload[..4].copy_from_slice(&bits.to_le_bytes());
        }
        let mut server = ServerLogin::new(&greeting, Privacy::Plain);
        assert!(matches!(server.on_payload(&payload), Ok(LoginStep::Identified)));
        // Of a user who does not exist it sees the same.
        let mut nobody = ServerLogin::new(&greeting, Privacy::Plain);
        assert!(matches!(nobody.on_payload(&payload), Ok(LoginStep::Identified)));
        match (
            server.identified(Some(&verifier)).unwrap(),
            nobody.identified(None).unwrap(),
        ) {
            (LoginStep::Send(switch), LoginStep::Send(same)) => {
                assert_eq!(
                    Some(&switch),
                    asked_by
                        .map(|method| switch_to(method, &greeting.scramble))
                        .as_ref()
                );
                assert_eq!(switch, same, "{plugin:?}");
            }
            (LoginStep::Attempt(attempt), LoginStep::Attempt(_)) => {
                assert_eq!(asked_by, None, "{plugin:?}");
                assert!(attempt.verify(&verifier).is_none());
            }
            other => panic!("{plugin:?}: {other:?}"),
        }
    }
    let stored = Verifier::from_secret(STORED_HASH);
    let mut payload = b"\x00\x82\x00\x00".to_vec();
    payload.extend([0; 28]);
    payload.extend(b"app\0\x00");
    let mut server = ServerLogin::new(&greeting, Privacy::Plain);
    assert!(matches!(server.on_payload(&payload), Ok(LoginStep::Identified)));
    assert_eq!(
        server.identified(Some(&stored)).unwrap_err().code,
        1251,
        "it cannot be asked"
    );
}

#[test]
fn a_change_of_user_is_asked_anew() {
    let scramble = Scramble::generate().unwrap();
    let change = ChangeUser {
        user: b"app",
        auth_response: &[7; 20],
        database: b"",
        collation: None,
        plugin: Some(b"mysql_native_password"),
    };
    let mut server = ServerLogin::of_change(&change, capability::SERVER_BASE, scramble, Privacy::Plain);
    assert_eq!(server.user(), b"app");
    assert_eq!(
        server.on_payload(b"x").unwrap_err().code,
        1043,
        "first the user is looked up"
    );
    let mut server = ServerLogin::of_change(&change, capability::SERVER_BASE, scramble, Privacy::Plain);
    let verifier = Verifier::from_secret("secret");
    let Ok(LoginStep::Send(switch)) = server.identified(Some(&verifier)) else {
        panic!("a switch")
    };
    assert_eq!(switch, switch_to(Method::Native, &scramble));
    let answer = PasswordHash::of(b"secret").unwrap().answer(&scramble);
    let Ok(LoginStep::Attempt(attempt)) = server.on_payload(&answer) else {
        panic!("an attempt")
    };
    assert!(attempt.verify(&verifier).is_some());
    assert!(NativeVerifier::from_password(b"secret").verify(&answer, &scramble));
}

#[test]
fn refusals_are_told_apart() {
    let credentials = credentials(ClientSecret::password(b"secret"));
    let mut too_many = Vec::new();
    errors::CON_COUNT_ERROR
        .with("Too many connections")
        .encode_before_greeting(&mut too_many);
    let refused = ClientLogin::greeting(&too_many).unwrap_err();
    assert!(
        matches!(refused, ConnectError::Refused(MysqlError { code: 1040, .. })),
        "{refused}"
    );
    let begin = || {
        ClientLogin::start(&greeting(Method::CachingSha2), &credentials, Privacy::Tls)
            .unwrap()
            .0
    };
    let clear = begin().on_payload(b"\xFEmysql_clear_password\0").unwrap_err();
    assert_eq!(
        clear.to_string(),
        "the server asks for authentication plugin `mysql_clear_password`; only `mysql_native_password` and \
         `caching_sha2_password` are spoken: create the user with one of them",
    );
    let switch = b"\xFEmysql_native_password\0abcdefghijklmnopqrst\0";
    let mut client = begin();
    assert!(matches!(client.on_payload(switch), Ok(ClientStep::Send(answer)) if answer.len() == 20));
    assert!(client.on_payload(switch).is_err(), "one switch is enough");
    assert!(client.on_payload(&[1, 4]).is_err(), "another method's packet");
    let mut client = begin();
    assert!(matches!(client.on_payload(&[1, 4]), Ok(ClientStep::Send(clear)) if clear == b"secret\0"));
    assert!(client.on_payload(&[1, 4]).is_err(), "once is enough");
    let mut client = begin();
    assert!(matches!(client.on_payload(&[1, 3]), Ok(ClientStep::Wait)));
    assert!(client.on_payload(&[1, 3]).is_err(), "once is enough");
    for payload in [&[0xFE][..], &[1], &[1, 9], &[]] {
        assert!(
            matches!(begin().on_payload(payload), Err(ConnectError::Handshake(_))),
            "{payload:?}"
        );
    }
    let mut denied = Vec::new();
    errors::ACCESS_DENIED.with("no").encode(&mut denied);
    assert!(matches!(
        begin().on_payload(&denied),
        Err(ConnectError::Refused(MysqlError { code: 1045, .. }))
    ));
}

#[test]
fn what_is_encrypted_for_another_challenge_proves_nothing() {
    let verifier = Verifier::from_secret(STORED_HASH);
    let mut server = ServerLogin::new(&greeting(Method::CachingSha2), Privacy::Plain);
    let (_, answer) = ClientLogin::start(
        &greeting(Method::CachingSha2),
        &credentials(ClientSecret::password(b"hashcat")),
        Privacy::Plain,
    )
    .unwrap();
    assert!(matches!(ClientHello::decode(&answer), Ok(ClientHello::Login(_))));
    assert!(matches!(server.on_payload(&answer), Ok(LoginStep::Identified)));
    assert!(matches!(
        server.identified(Some(&verifier)),
        Ok(LoginStep::Send(_))
    ));
    let Ok(LoginStep::Attempt(attempt)) = server.on_payload(b"hashcat\0") else {
        panic!("an attempt")
    };
    assert!(
        matches!(attempt.proof, Proof::Encrypted { .. }),
        "in the clear it is not believed"
    );
    assert!(attempt.verify(&verifier).is_none());
    assert!(verifier.verify(&attempt.proof.decrypted(&KEY)).is_none());
}
