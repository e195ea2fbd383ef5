//! Both sides of a login against each other.

use shardwright_wire::auth::{NativeVerifier, PasswordHash, Scramble};
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, ConnectError, Greeting,
    LoginAttempt, LoginStep, MysqlError, OkPacket, ServerLogin, Started, StatusFlags, capability, errors,
};

fn credentials(secret: ClientSecret) -> BackendCredentials {
    BackendCredentials {
        user: b"app".to_vec(),
        secret,
        database: Some(b"shop".to_vec()),
        capabilities: capability::UNDERSTOOD,
        collation: 45,
        attributes: vec![(b"program_name".to_vec(), b"shardwright".to_vec())],
    }
}

fn greeting() -> Greeting {
    Greeting::native(
        "8.4.0",
        7,
        Scramble::generate().unwrap(),
        capability::SERVER_BASE,
        45,
    )
}

/// The attempt that reaches the server, whatever method the client said first.
fn attempt(greeting: &Greeting, credentials: &BackendCredentials) -> (ClientLogin, LoginAttempt) {
    let Started {
        greeting: seen,
        login: client,
        answer,
    } = ClientLogin::start(&greeting.encode(), credentials).unwrap();
    assert_eq!(&seen, greeting);
    match ServerLogin::new(greeting).on_payload(&answer).unwrap() {
        LoginStep::Attempt(attempt) => (client, attempt),
        LoginStep::Send(_) => panic!("the client speaks natively"),
    }
}

#[test]
fn a_password_and_its_hash_both_log_in() {
    let verifier = NativeVerifier::from_password(b"secret");
    let password = ClientSecret::Password(b"secret".to_vec());
    let hash = ClientSecret::Hash(PasswordHash::of(b"secret").unwrap());
    for secret in [password, hash] {
        let (mut client, attempt) = attempt(&greeting(), &credentials(secret));
        assert!(attempt.verify(&verifier));
        assert!(!attempt.verify(&NativeVerifier::from_password(b"other")));
        assert_eq!(attempt.request.database.as_deref(), Some(b"shop".as_slice()));
        assert_eq!(attempt.request.attributes.len(), 1);
        let mut ok = Vec::new();
        OkPacket {
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            ..OkPacket::default()
        }
        .encode(&mut ok, attempt.capabilities);
        let ClientStep::Ready { capabilities, status } = client.on_payload(&ok).unwrap() else {
            panic!("ready")
        };
        assert_eq!(
            (capabilities, status),
            (attempt.capabilities, StatusFlags::SERVER_STATUS_AUTOCOMMIT)
        );
    }
}

#[test]
fn only_what_both_sides_can_is_spoken() {
    let mut greeting = greeting();
    greeting
        .capabilities
        .remove(CapabilityFlags::CLIENT_DEPRECATE_EOF);
    let (_, attempt) = attempt(&greeting, &credentials(ClientSecret::Password(Vec::new())));
    assert!(
        !attempt
            .capabilities
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
    );
    assert!(
        !attempt
            .capabilities
            .contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS),
        "the server does not offer it"
    );
    assert!(attempt.capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH));
}

#[test]
fn a_client_of_another_method_is_switched() {
    let greeting = greeting();
    let credentials = credentials(ClientSecret::Password(b"secret".to_vec()));
    let Started {
        login: mut client,
        answer,
        ..
    } = ClientLogin::start(&greeting.encode(), &credentials).unwrap();
    let shardwright_wire::ClientHello::Login(mut login) =
        shardwright_wire::ClientHello::decode(&answer).unwrap()
    else {
        panic!("a login");
    };
    login.plugin = Some(b"caching_sha2_password".to_vec());
    login.auth_response = vec![1; 32];
    let mut server = ServerLogin::new(&greeting);
    let LoginStep::Send(switch) = server.on_payload(&login.encode()).unwrap() else {
        panic!("a switch")
    };
    let ClientStep::Send(answer) = client.on_payload(&switch).unwrap() else {
        panic!("an answer")
    };
    let LoginStep::Attempt(attempt) = server.on_payload(&answer).unwrap() else {
        panic!("an attempt")
    };
    assert!(attempt.verify(&NativeVerifier::from_password(b"secret")));
    assert!(client.on_payload(&switch).is_err(), "one switch is enough");
}

#[test]
fn refusals_are_told_apart() {
    let credentials = credentials(ClientSecret::Password(b"secret".to_vec()));
    let mut too_many = Vec::new();
    errors::CON_COUNT_ERROR
        .with("Too many connections")
        .encode_before_greeting(&mut too_many);
    let refused = ClientLogin::start(&too_many, &credentials).unwrap_err();
    assert!(
        matches!(refused, ConnectError::Refused(MysqlError { code: 1040, .. })),
        "{refused}"
    );

    let mut client = ClientLogin::start(&greeting().encode(), &credentials)
        .unwrap()
        .login;
    let unsupported = client
        .on_payload(b"\xFEcaching_sha2_password\0abcdefghijklmnopqrst\0")
        .unwrap_err();
    assert_eq!(
        unsupported.to_string(),
        "the server asks for authentication plugin `caching_sha2_password`; only `mysql_native_password` is spoken: \
         create the user with `IDENTIFIED WITH mysql_native_password`"
    );
    let clear = client.on_payload(b"\xFEmysql_clear_password\0").unwrap_err();
    assert!(
        matches!(clear, ConnectError::UnsupportedPlugin { .. }),
        "the password is never sent in the clear"
    );
    assert!(matches!(
        client.on_payload(&[0xFE]),
        Err(ConnectError::Handshake(_))
    ));
    let mut denied = Vec::new();
    errors::ACCESS_DENIED.with("no").encode(&mut denied);
    assert!(matches!(
        client.on_payload(&denied),
        Err(ConnectError::Refused(MysqlError { code: 1045, .. }))
    ));
}
