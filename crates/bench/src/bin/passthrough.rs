//! The raw TCP passthrough as a process of its own.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};

use clap::Parser;
use shardwright_bench::passthrough::{Options, serve};

/// Joins every connection with one to the server and copies bytes both ways.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where to connect to.
    #[arg(long)]
    server: SocketAddr,
    /// Threads that copy.
    #[arg(long, default_value_t = Options::default().threads)]
    threads: usize,
    /// Bytes that one read may take.
    #[arg(long, default_value_t = Options::default().buffer)]
    buffer: usize,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind(arguments.listen)?;
    let mut out = io::stdout().lock();
    writeln!(out, "ready listen={}", listener.local_addr()?)?;
    out.flush()?;
    let options = Options {
        threads: arguments.threads,
        buffer: arguments.buffer,
    };
    serve(&listener, arguments.server, options)
}
