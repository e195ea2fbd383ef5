//! A program of the user's, such as Orchestrator's client, gives the servers their roles.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use shardwright_rules::{Address, Member};

use super::fleet::Fleet;
use super::way::{Failed, Way};

/// Between two looks whether it has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// The program with its arguments, and what it is told in its environment.
pub(super) struct Program {
    pub(super) command: Vec<Arc<str>>,
    pub(super) cluster: Address,
    pub(super) from: Member,
    pub(super) to: Member,
}

impl Way for Program {
    fn hand_over(&mut self, _: &mut Fleet, deadline: Instant) -> Result<(), Failed> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(Failed::Undone("there is no program".to_owned()));
        };
        let endpoint = |member: &Member| format!("{}:{}", member.host, member.port);
        let mut child = Command::new(&**program)
            .args(arguments.iter().map(|argument| &**argument))
            .env("SHARDWRIGHT_CLUSTER", self.cluster.as_str())
            .env("SHARDWRIGHT_FROM", endpoint(&self.from))
            .env("SHARDWRIGHT_TO", endpoint(&self.to))
            .stdin(Stdio::null())
            // Standard output is for the result of this command.
            .stdout(Stdio::from(std::io::stderr()))
            .spawn()
            .map_err(|error| Failed::Undone(format!("{program} cannot be started: {error}")))?;
        let left =
            |what: String| Failed::Mixed(format!("{program} {what}; the servers are as it has left them"));
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(left(format!("ended with {status}"))),
                Ok(None) if Instant::now() < deadline => thread::sleep(PAUSE),
                Ok(None) => {
                    let killed = child.kill().and_then(|()| child.wait());
                    let how = killed.map_or_else(|error| error.to_string(), |_| "it was killed".to_owned());
                    return Err(left(format!("did not end in time ({how})")));
                }
                Err(error) => return Err(left(format!("cannot be waited for: {error}"))),
            }
        }
    }

    fn finish(&mut self) -> Vec<String> {
        Vec::new()
    }
}
