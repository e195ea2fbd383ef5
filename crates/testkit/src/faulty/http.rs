//! Questions of HTTP, each with a connection of its own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::{Fault, Schedule, until_closed};

/// One question of a client, and its answer; clients connect again for the next one.
pub(super) fn serve(client: &TcpStream, server: SocketAddr, schedule: &Schedule) -> io::Result<()> {
    let (head, body) = question(client)?;
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    match schedule.meets(path) {
        None => reply(client, &answer(server, &head, &body)?),
        Some(Fault::DiesBefore) => Ok(()),
        Some(Fault::DiesAfter) => answer(server, &head, &body).map(|_| ()),
        Some(Fault::HangsBefore) => until_closed(client),
        Some(Fault::HangsAfter) => {
            answer(server, &head, &body)?;
            until_closed(client)
        }
        Some(Fault::Refuses) => {
            let said = r#"{"error": "refused by the test", "code": 14, "message": "refused by the test"}"#;
            let length = said.len();
            let head = format!("HTTP/1.0 503 Service Unavailable\r\nContent-Length: {length}\r\n\r\n{said}");
            reply(client, head.as_bytes())
        }
    }
}

/// The head of a question without the line that ends it, and its body.
fn question(client: &TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut reader = BufReader::new(client);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((head, body))
}

/// Asks by HTTP 1.0, whose answers end with their connection.
fn answer(server: SocketAddr, head: &str, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(server)?;
    let head = head.replacen("HTTP/1.1", "HTTP/1.0", 1);
    server.write_all(format!("{head}\r\n").as_bytes())?;
    server.write_all(body)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    Ok(answer)
}

fn reply(mut client: &TcpStream, answer: &[u8]) -> io::Result<()> {
    client.write_all(answer)
}
