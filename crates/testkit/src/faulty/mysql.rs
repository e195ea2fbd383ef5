//! Packets of MySQL, passed on one by one.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::Ordering;

use super::{Fault, Schedule, until_closed};

/// The first byte of a statement, and of the end of a connection.
const QUERY: u8 = 3;
const QUIT: u8 = 1;

pub(super) fn serve(client: &TcpStream, server: SocketAddr, schedule: &Schedule) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    let ended = converse(client, &server, schedule);
    let _closed = server.shutdown(Shutdown::Both);
    ended
}

fn converse(mut client: &TcpStream, mut server: &TcpStream, schedule: &Schedule) -> io::Result<()> {
    // Packets are passed on one by one, and would wait for each other's acknowledgements.
    for side in [client, server] {
        side.set_nodelay(true)?;
    }
    // Greeting, login, and its answer.
    forward(server, client)?;
    forward(client, server)?;
    forward(server, client)?;
    loop {
        let question = packet(client)?;
        let command = question.get(4).copied();
        if command != Some(QUERY) {
            server.write_all(&question)?;
            if command == Some(QUIT) {
                return Ok(());
            }
            answer(server, client)?;
            continue;
        }
        match schedule.meets(String::from_utf8_lossy(&question[5..]).into_owned()) {
            None => {
                server.write_all(&question)?;
                let rows = answer(server, client)?;
                schedule.rows.fetch_add(rows, Ordering::Relaxed);
            }
            Some(Fault::DiesBefore) => return Ok(()),
            Some(Fault::DiesAfter) => {
                server.write_all(&question)?;
                return answer(server, &mut io::sink()).map(|_| ());
            }
            Some(Fault::HangsBefore) => return until_closed(client),
            Some(Fault::HangsAfter) => {
                server.write_all(&question)?;
                answer(server, &mut io::sink())?;
                return until_closed(client);
            }
            Some(Fault::Refuses) => client.write_all(&refusal())?,
        }
    }
}

fn refusal() -> Vec<u8> {
    let mut error = vec![0xff, 0x15, 0x04];
    error.extend(b"#28000ProxySQL Admin Error: refused by the test");
    let length = u32::try_from(error.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut packet = vec![length[0], length[1], length[2], 1];
    packet.extend(error);
    packet
}

fn packet(mut from: &TcpStream) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let length = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
    let mut whole = head.to_vec();
    whole.resize(4 + length, 0);
    from.read_exact(&mut whole[4..])?;
    Ok(whole)
}

fn forward(from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    to.write_all(&packet(from)?)
}

/// One answer: OK, an error, or rows between two ends; how many rows.
fn answer(from: &TcpStream, mut to: impl Write) -> io::Result<usize> {
    let first = packet(from)?;
    to.write_all(&first)?;
    if matches!(first.get(4), Some(0 | 0xff)) {
        return Ok(0);
    }
    let (mut ends, mut rows) = (0, 0);
    while ends < 2 {
        let next = packet(from)?;
        let kind = next.get(4).copied();
        if kind == Some(0xfe) && next.len() < 13 {
            ends += 1;
        } else if ends == 1 {
            rows += 1;
        }
        let is_error = kind == Some(0xff);
        to.write_all(&next)?;
        if is_error {
            break;
        }
    }
    Ok(rows)
}
