//! `shardwright proxy` as a process: started on free ports, ended in every way, started again on the same data.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mysql::Conn;
use nix::sys::signal::Signal;

use crate::client::{ClientOptions, connect};
use crate::command::CommandEnvironment;
use crate::eventually::poll_until;
use crate::guarded::GuardedProcess;
use crate::output::CollectedLines;

const READY_WITHIN: Duration = Duration::from_secs(60);
const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// Why a proxy did not start.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// It could not be run.
    #[error("running the proxy: {0}")]
    Io(#[from] io::Error),
    /// It ended before it said that it was ready.
    #[error("the proxy ended before it was ready ({status}):\n{output}")]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// What it printed.
        output: String,
    },
    /// It never said that it was ready.
    #[error(
        "the proxy printed neither `ready listen=ADDR admin=ADDR` nor `waiting for a first apply admin=ADDR` within {READY_WITHIN:?}:\n{output}"
    )]
    NotReady {
        /// What it printed.
        output: String,
    },
}

/// Where a proxy listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoints {
    /// For clients; `None`: it waits for a first apply.
    pub listen: Option<SocketAddr>,
    /// For administration.
    pub admin: SocketAddr,
}

impl Endpoints {
    /// The endpoints a line of output announces: it has the word `ready` and the fields `listen=` and `admin=`, or the word
    /// `waiting` and the field `admin=`. Of several places, it is the first address.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let words = line.split_whitespace();
        let is_ready = match words.clone().next()? {
            "ready" => true,
            "waiting" => false,
            _ => return None,
        };
        let field = |name: &str| {
            let value = words
                .clone()
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
            value.split(',').find_map(|place| place.parse().ok())
        };
        Some(Self {
            listen: match is_ready {
                true => Some(field("listen")?),
                false => None,
            },
            admin: field("admin")?,
        })
    }
}

/// Which ports a restarted proxy listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// The same as before, as clients of a restarted proxy expect.
    Same,
    /// Free ones, chosen by the proxy.
    Free,
}

/// How to start a proxy.
#[derive(Debug, Clone)]
pub struct ProxyOptions {
    /// Where it keeps its state.
    pub data_dir: PathBuf,
    /// Whether it opens the listeners of the configuration in `data_dir`, in the place of a free port.
    pub listens_as_configured: bool,
    /// Arguments after the kit's own.
    pub extra_args: Vec<String>,
    /// Words put before the program, for example `["valgrind", "--tool=callgrind"]`; they must end by replacing themselves.
    pub wrapper: Vec<String>,
    /// Variables of this process only, for example to inject a failure.
    pub variables: Vec<(String, String)>,
}

impl ProxyOptions {
    /// A proxy with its state in `data_dir` and nothing else set.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            listens_as_configured: false,
            extra_args: Vec::new(),
            wrapper: Vec::new(),
            variables: Vec::new(),
        }
    }
}

/// A running proxy; killed when dropped.
#[derive(Debug)]
pub struct ProxyProcess {
    process: GuardedProcess,
    endpoints: Endpoints,
    options: ProxyOptions,
    output: CollectedLines,
    readers: Vec<JoinHandle<()>>,
}

impl ProxyProcess {
    /// Starts a proxy on free ports and waits until it is ready, or waits for a first apply.
    ///
    /// # Errors
    /// [`ProxyError`] with everything the proxy printed.
    pub fn start(environment: &CommandEnvironment, options: ProxyOptions) -> Result<Self, ProxyError> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Self::start_at(
            environment,
            options,
            Endpoints {
                listen: Some(any),
                admin: any,
            },
        )
    }

    fn start_at(
        environment: &CommandEnvironment,
        options: ProxyOptions,
        wanted: Endpoints,
    ) -> Result<Self, ProxyError> {
        let mut command = environment.command_under(&options.wrapper);
        command.args(["proxy", "--admin", &wanted.admin.to_string()]);
        if !options.listens_as_configured {
            let listen = wanted.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
            command.args(["--listen", &listen.to_string()]);
        }
        command
            .arg("--data-dir")
            .arg(&options.data_dir)
            .args(&options.extra_args)
            .envs(options.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = GuardedProcess::spawn(&mut command, &environment.outside(""))?;
        let output = CollectedLines::default();
        let (sender, lines) = channel();
        let stdout = process.take_stdout().expect("stdout was piped");
        let stderr = process.take_stderr().expect("stderr was piped");
        let readers = vec![
            output.read_from(stdout, sender.clone()),
            output.read_from(stderr, sender),
        ];
        let endpoints = wait_until_ready(&mut process, &lines, &output)?;
        Ok(Self {
            process,
            endpoints,
            options,
            output,
            readers,
        })
    }

    /// Where clients connect; known from the first apply on, which is waited for.
    ///
    /// # Panics
    /// Nothing is applied in time.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        let listen = poll_until(READY_WITHIN, || self.announced());
        listen.unwrap_or_else(|_| panic!("the proxy serves no clients:\n{}", self.output()))
    }

    fn announced(&self) -> Option<SocketAddr> {
        let of_output = || {
            let output = self.output.text();
            output.lines().find_map(|line| Endpoints::parse(line)?.listen)
        };
        self.endpoints.listen.or_else(of_output)
    }

    /// Where the admin port is.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        self.endpoints.admin
    }

    /// Where the state is.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.options.data_dir
    }

    /// The process id.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Everything printed so far, the lines of each stream in their order.
    #[must_use]
    pub fn output(&self) -> String {
        self.output.text()
    }

    /// A client connection.
    ///
    /// # Errors
    /// The proxy's or the network's, as the `mysql` crate gives it.
    pub fn connect(&self, options: ClientOptions<'_>) -> mysql::Result<Conn> {
        connect(self.listen(), options)
    }

    /// The exit status if the proxy has ended.
    ///
    /// # Errors
    /// Fails when the process cannot be waited for.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.try_wait()
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// Fails when it may not be sent.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        self.process.signal(signal)
    }

    /// Ends the proxy with `SIGKILL` and waits for it.
    ///
    /// # Errors
    /// Fails when the process cannot be signalled.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        let status = self.process.kill()?;
        self.join_readers();
        Ok(status)
    }

    /// Ends the proxy with `SIGTERM` and waits for it; its output is complete afterwards.
    ///
    /// # Errors
    /// Fails when the process cannot be signalled or does not end.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        self.process.signal(Signal::SIGTERM)?;
        let status = self.process.wait(ENDS_WITHIN)?;
        self.join_readers();
        Ok(status)
    }

    /// Waits for the proxy to end by itself.
    ///
    /// # Errors
    /// Fails when it does not end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.process.wait(ENDS_WITHIN)?;
        self.join_readers();
        Ok(status)
    }

    /// Ends the proxy if it runs (`SIGKILL`) and starts one on the same data directory.
    ///
    /// # Errors
    /// [`ProxyError`], also when another process has taken a port that must stay the same.
    pub fn restart(&mut self, environment: &CommandEnvironment, ports: Ports) -> Result<(), ProxyError> {
        self.kill()?;
        let options = self.options.clone();
        *self = match ports {
            Ports::Same => {
                let listen = self.announced();
                let wanted = Endpoints {
                    listen,
                    ..self.endpoints
                };
                Self::start_at(environment, options, wanted)?
            }
            Ports::Free => Self::start(environment, options)?,
        };
        Ok(())
    }

    fn join_readers(&mut self) {
        for reader in self.readers.drain(..) {
            reader.join().expect("a reading thread has nothing that panics");
        }
    }
}

fn wait_until_ready(
    process: &mut GuardedProcess,
    lines: &Receiver<String>,
    output: &CollectedLines,
) -> Result<Endpoints, ProxyError> {
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if let Some(endpoints) = Endpoints::parse(&line) {
                    return Ok(endpoints);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(ProxyError::NotReady {
                    output: output.text(),
                });
            }
            // Both outputs are closed: the process has ended or is about to.
            Err(RecvTimeoutError::Disconnected) => {
                let status = process.wait(ENDS_WITHIN)?;
                return Err(ProxyError::Ended {
                    status,
                    output: output.text(),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_proxy_that_has_started() {
        let expected = Endpoints {
            listen: Some("127.0.0.1:4001".parse().unwrap()),
            admin: "[::1]:4002".parse().unwrap(),
        };
        for line in [
            "ready listen=127.0.0.1:4001 admin=[::1]:4002\n",
            "ready admin=[::1]:4002 listen=127.0.0.1:4001 checks=127.0.0.1:4003",
            "ready listen=/run/p.sock,127.0.0.1:4001,127.0.0.1:4003 admin=[::1]:4002",
        ] {
            assert_eq!(Endpoints::parse(line), Some(expected), "{line}");
        }
        let waiting = Endpoints {
            listen: None,
            ..expected
        };
        assert_eq!(
            Endpoints::parse("waiting for a first apply admin=[::1]:4002\n"),
            Some(waiting)
        );
    }

    #[test]
    fn other_lines_announce_nothing() {
        for line in [
            "",
            "listening listen=127.0.0.1:4001 admin=127.0.0.1:4002",
            "ready listen=127.0.0.1:4001",
            "ready listen=127.0.0.1 admin=127.0.0.1:4002",
            "not already listen=127.0.0.1:4001 admin=127.0.0.1:4002",
        ] {
            assert_eq!(Endpoints::parse(line), None, "{line}");
        }
    }
}
