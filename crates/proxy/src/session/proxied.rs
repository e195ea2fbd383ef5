//! The PROXY header: who the client is, in the words of a load balancer that is trusted.
//!
//! It comes before the greeting, so nothing that the client sends can be taken for it. A connection from a trusted network must
//! begin with one. Others must not: their first bytes are the client's own.

use std::net::IpAddr;

use proxy_header::{Error, ParseConfig, Protocol, ProxyHeader};
use shardwright_wire::{MysqlError, errors};

use crate::channel::Channel;
use crate::listen_address::Peer;

/// How a header of version 2 begins.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// How a header of version 1 begins.
const WORD: &[u8] = b"PROXY ";

/// What the first bytes of a connection say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// The header takes this many bytes. The client is who it names, or the connection is the load balancer's own.
    Header { client: Option<Peer>, len: usize },
    /// More bytes are needed.
    Incomplete,
    /// This is no header.
    Wrong,
}

/// Reads the header: the client that it names, or `peer` where it names none, as the checks of load balancers do.
///
/// # Errors
/// What the client is told; `None` when it has gone.
pub(super) async fn client_of(channel: &mut Channel, peer: Peer) -> Result<Peer, Option<MysqlError>> {
    loop {
        match read(channel.received()) {
            Said::Header { client, len } => {
                channel.discard(len);
                return Ok(client.unwrap_or(peer));
            }
            Said::Wrong => return Err(Some(missing(peer))),
            Said::Incomplete => {}
        }
        let filled = std::future::poll_fn(|cx| channel.poll_fill(cx)).await;
        if !filled.is_ok_and(|count| count > 0) {
            return Err(None);
        }
    }
}

/// The length of the PROXY header that bytes begin with; `None` as long as it is not there whole.
///
/// # Errors
/// They begin with none.
#[cfg(feature = "in-process")]
pub fn proxy_header(received: &[u8]) -> Result<Option<usize>, MysqlError> {
    match read(received) {
        Said::Header { len, .. } => Ok(Some(len)),
        Said::Incomplete => Ok(None),
        Said::Wrong => Err(missing(Peer::Local)),
    }
}

/// The error for a connection from a trusted network that does not begin with a header.
pub(super) fn missing(peer: Peer) -> MysqlError {
    errors::HANDSHAKE_ERROR.with(format_args!(
        "Bad handshake: {peer} is in a network of the listener's proxy_protocol, so its connections must begin with a PROXY header"
    ))
}

/// The error for a connection that begins with a header and must not.
pub(super) fn not_trusted(client_ip: &str) -> MysqlError {
    errors::HOST_NOT_PRIVILEGED.with(format_args!(
        "Proxy header is not accepted from {client_ip}: it is in no network of the listener's proxy_protocol"
    ))
}

/// Whether bytes begin like a header; no packet of a login does.
pub(super) fn is_header(received: &[u8]) -> bool {
    received.starts_with(WORD) || received.starts_with(SIGNATURE)
}

fn read(received: &[u8]) -> Said {
    let begins = |with: &[u8]| {
        let len = received.len().min(with.len());
        received[..len] == with[..len]
    };
    if !begins(WORD) && !begins(SIGNATURE) {
        return Said::Wrong;
    }
    match ProxyHeader::parse(
        received,
        ParseConfig {
            include_tlvs: false,
            ..ParseConfig::default()
        },
    ) {
        Ok((header, len)) => match header.proxied_address() {
            None => Said::Header { client: None, len },
            Some(address) if address.protocol == Protocol::Stream && is_client(address.source.ip()) => {
                Said::Header {
                    client: Some(Peer::Ip(address.source)),
                    len,
                }
            }
            Some(_) => Said::Wrong,
        },
        Err(Error::BufferTooShort) => Said::Incomplete,
        Err(_) => Said::Wrong,
    }
}

/// Whether somebody can have this address.
fn is_client(ip: IpAddr) -> bool {
    !ip.is_unspecified() && !ip.is_multicast()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use proptest::prelude::*;
    use proxy_header::ProxiedAddress;

    use super::*;

    fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let len = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[command, family], &len, rest].concat()
    }

    const V4: [u8; 12] = [10, 0, 0, 7, 10, 0, 0, 1, 0x30, 0x39, 0x0C, 0xEA];

    #[test]
    fn headers_name_clients() {
        let with_tlv = [&V4[..], &[0x05, 0, 3, b'a', b'b', b'c']].concat();
        for (bytes, expected) in [
            (
                b"PROXY TCP4 10.0.0.7 10.0.0.1 12345 3306\r\n".to_vec(),
                "10.0.0.7:12345",
            ),
            (
                b"PROXY TCP6 2001:db8::7 ::1 12345 3306\r\n".to_vec(),
                "[2001:db8::7]:12345",
            ),
            (b"PROXY UNKNOWN\r\n".to_vec(), "nobody"),
            (b"PROXY UNKNOWN ffff:: ffff:: 65535 65535\r\n".to_vec(), "nobody"),
            (v2(0x21, 0x11, &V4), "10.0.0.7:12345"),
            (v2(0x21, 0x11, &with_tlv), "10.0.0.7:12345"),
            (v2(0x20, 0x11, &V4), "nobody"),
            (v2(0x20, 0x00, &[]), "nobody"),
            (v2(0x21, 0x00, &[1, 2, 3]), "nobody"),
        ] {
            let followed = [&bytes[..], b"\x01\0\0\x01"].concat();
            let Said::Header { client, len } = read(&followed) else {
                panic!("{bytes:?}: {:?}", read(&followed));
            };
            let client = client.map_or("nobody".to_owned(), |client| client.to_string());
            assert_eq!((client.as_str(), len), (expected, bytes.len()), "{bytes:?}");
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Said::Incomplete, "{:?}", &bytes[..end]);
            }
        }
    }

    #[test]
    fn what_is_no_header_is_wrong_at_once() {
        for bytes in [
            b"GET / HTTP/1.1\r\n".to_vec(),
            b"PROXYTCP4 10.0.0.7 10.0.0.1 1 2\r\n".to_vec(),
            b"PROXY UDP4 10.0.0.7 10.0.0.1 1 2\r\n".to_vec(),
            b"PROXY TCP4 10.0.0.777 10.0.0.1 1 2\r\n".to_vec(),
            b"PROXY TCP4 0.0.0.0 10.0.0.1 1 2\r\n".to_vec(),
            [b"PROXY TCP4 ".as_slice(), &[b'1'; 100]].concat(),
            v2(0x11, 0x11, &V4),
            v2(0x22, 0x11, &V4),
            v2(0x21, 0x12, &V4),
            v2(0x21, 0x41, &V4),
            v2(0x21, 0x21, &[0; 12]).into_iter().chain([0; 64]).collect(),
        ] {
            assert_eq!(read(&bytes), Said::Wrong, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..3_u8) {
            let bytes = match kind {
                0 => bytes,
                1 => [WORD, &bytes].concat(),
                _ => [SIGNATURE, &bytes].concat(),
            };
            if let Said::Header { len, .. } = read(&bytes) {
                prop_assert!(len <= bytes.len());
            }
        }

        #[test]
        fn what_is_written_is_read(source: SocketAddr, destination: SocketAddr, is_v1: bool) {
            prop_assume!(source.is_ipv4() == destination.is_ipv4() && is_client(source.ip()));
            let header = ProxyHeader::with_address(ProxiedAddress::stream(source, destination));
            let mut bytes = Vec::new();
            match is_v1 {
                true => header.encode_v1(&mut bytes).unwrap(),
                false => header.encode_v2(&mut bytes).unwrap(),
            }
            let Said::Header { client: Some(Peer::Ip(client)), len } = read(&bytes) else {
                panic!("{bytes:?}");
            };
            prop_assert_eq!((client.ip(), client.port(), len), (source.ip(), source.port(), bytes.len()));
        }
    }
}
