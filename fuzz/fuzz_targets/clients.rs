//! Any bytes as what a client says: commands and their parameters, logins, packets, PROXY headers, statements of administrators.
//! They are decoded or refused, and a command that was decoded is written as it was read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_proxy::in_process::{is_admin_statement, proxy_header};
use shardwright_wire::binary::{BinaryValue, ParameterType, execute_parameters};
use shardwright_wire::query_attributes::{of_query, split_execution, split_query};
use shardwright_wire::{CapabilityFlags, ChangeUser, ClientHello, Command, capability, take_packet};

fuzz_target!(|bytes: &[u8]| {
    login(bytes);
    header(bytes);
    let _ = take_packet(bytes, 1 << 16);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = is_admin_statement(text);
    }
    let Ok(command) = Command::decode(bytes) else { return };
    match command {
        Command::ChangeUser(body) => {
            for capabilities in [CapabilityFlags::empty(), capability::UNDERSTOOD] {
                let _ = ChangeUser::decode(body, capabilities);
            }
        }
        Command::Query(body) => attributes(body),
        Command::StmtExecute { flags, parameters: body, .. } => {
            parameters(u16::from(flags), body);
            named(usize::from(flags), body);
        }
        _ => {}
    }
    let mut written = Vec::new();
    command.encode(&mut written);
    assert_eq!(Command::decode(&written), Ok(command));
});

/// A login that was read is written and read as the same. What is written always gives the length of the proof.
fn login(bytes: &[u8]) {
    let Ok(ClientHello::Login(mut login)) = ClientHello::decode(bytes) else { return };
    login.capabilities |= CapabilityFlags::CLIENT_SECURE_CONNECTION;
    let again = ClientHello::decode(&login.encode());
    let Ok(ClientHello::Login(again)) = again else { panic!("{login:?} is read as {again:?}") };
    assert_eq!((&again.user, &again.database), (&login.user, &login.database));
}

/// The parameters of an execution, and those of the next one, which leaves their types out.
fn parameters(count: u16, body: &[u8]) {
    let mut types: Vec<ParameterType> = Vec::new();
    let Ok(values) = execute_parameters(body, count, &mut types, |at| at == 1) else { return };
    assert_eq!(values.len(), usize::from(count));
    let bytes = values.iter().map(|value| match value {
        BinaryValue::Bytes(bytes) => bytes.len(),
        _ => 0,
    });
    assert!(bytes.sum::<usize>() <= body.len());
    let _ = execute_parameters(body, count, &mut types, |_| false);
}

/// Query attributes end where they say, whatever the text.
fn attributes(body: &[u8]) {
    let Ok((attributes, text)) = split_query(body) else { return };
    assert_eq!([attributes, text].concat(), body);
    assert_eq!(split_query(&[attributes, b"SELECT 1"].concat()), Ok((attributes, &b"SELECT 1"[..])));
}

/// The named parameters of an execution, of which `own` are the statement's, as an execution and as a query.
fn named(own: usize, body: &[u8]) {
    let Ok((parameters, values)) = split_execution(body) else { return };
    let Ok(len) = parameters.values_len(parameters.count, values, |_| false) else { return };
    assert!(parameters.values_len(own, values, |_| false).is_ok_and(|own| own <= len));
    let query = of_query(&parameters, &values[..len]);
    assert_eq!(split_query(&query), Ok((&query[..], &b""[..])));
}

/// Where a header ends does not depend on how much of what follows has arrived.
fn header(bytes: &[u8]) {
    let Ok(Some(len)) = proxy_header(bytes) else { return };
    assert!(proxy_header(&bytes[..len]).is_ok_and(|found| found == Some(len)));
    for end in 0..len {
        assert!(proxy_header(&bytes[..end]).is_ok_and(|found| found.is_none()), "a header that ends at {end} and at {len}");
    }
}
