//! The proxies of a switchover, all of which do the same.

use std::thread;
use std::time::{Duration, Instant};

use shardwright_plan::TargetError;
use shardwright_rules::Address;
use shardwright_targets::{BundledTarget, ProxyAdmin, WatchedServer};

use crate::signals::Signals;
use crate::ui::counted;

/// Between two questions whether something has come about.
const PAUSE: Duration = Duration::from_millis(5);
/// How much longer proxies wait by themselves than the deadline says: until then, everything is undone.
const MARGIN: Duration = Duration::from_secs(2);

/// The proxies in which the statements of a cluster wait.
pub(super) struct Fleet {
    proxies: Vec<ProxyAdmin>,
    cluster: Address,
}

impl Fleet {
    /// Connects to every proxy.
    pub(super) fn open(targets: &[BundledTarget], cluster: &Address) -> Result<Self, TargetError> {
        let proxies: Result<Vec<ProxyAdmin>, TargetError> = targets.iter().map(BundledTarget::open).collect();
        Ok(Self {
            proxies: proxies?,
            cluster: cluster.clone(),
        })
    }

    /// The names of the proxies, for people.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.proxies.iter().map(ProxyAdmin::name).collect();
        names.join(", ")
    }

    /// The server that writes in every proxy; `None`: none does.
    ///
    /// # Errors
    /// Proxies differ, or one does not watch the cluster; for people.
    pub(super) fn writer(&mut self) -> Result<Option<Address>, String> {
        let cluster = self.cluster.clone();
        let mut found: Option<(String, Option<Address>)> = None;
        for (name, servers) in self.everywhere(|proxy| proxy.servers(&cluster)) {
            let servers = servers.map_err(|error| error.to_string())?;
            if servers.is_empty() {
                return Err(format!(
                    "target {name} watches no servers of {cluster}: apply a topology with a `monitor` section to it"
                ));
            }
            let writers = servers.into_iter().filter(WatchedServer::is_writer);
            let mut writers = writers.map(|server| server.server);
            let writer = writers.next();
            if writers.next().is_some() {
                return Err(format!(
                    "{cluster} has several writers, and none of them is the one to move"
                ));
            }
            match &found {
                Some((other, of_other)) if *of_other != writer => {
                    let said = |writer: &Option<Address>| {
                        writer
                            .as_ref()
                            .map_or("no server".to_owned(), ToString::to_string)
                    };
                    return Err(format!(
                        "the proxies differ: {} writes in {other}, {} in {name}",
                        said(of_other),
                        said(&writer)
                    ));
                }
                Some(_) => {}
                None => found = Some((name, writer)),
            }
        }
        Ok(found.and_then(|(_, writer)| writer))
    }

    /// Has statements wait in every proxy, or in none.
    ///
    /// # Errors
    /// For people.
    pub(super) fn pause(&mut self, deadline: Instant) -> Result<(), String> {
        let cluster = self.cluster.clone();
        let time = deadline.saturating_duration_since(Instant::now()) + MARGIN;
        let paused = self.everywhere(|proxy| proxy.pause(&cluster, time));
        let failures: Vec<String> = paused
            .iter()
            .filter_map(|(_, paused)| paused.as_ref().err().map(ToString::to_string))
            .collect();
        if failures.is_empty() {
            return Ok(());
        }
        // Only where it was begun here: somebody else's goes on.
        let begun: Vec<bool> = paused.iter().map(|(_, paused)| paused.is_ok()).collect();
        for (proxy, _) in self.proxies.iter_mut().zip(begun).filter(|(_, begun)| *begun) {
            if let Err(error) = proxy.resume(&cluster) {
                return Err(format!("{}; {}", failures.join("; "), not_resumed(&error)));
            }
        }
        Err(failures.join("; "))
    }

    /// Waits until nothing of the writer is begun in any proxy.
    ///
    /// # Errors
    /// Why not, for people.
    pub(super) fn drain(&mut self, until: Instant, signals: &Signals) -> Result<(), String> {
        loop {
            let cluster = self.cluster.clone();
            let mut left = Vec::new();
            for (name, unfinished) in self.everywhere(|proxy| proxy.unfinished(&cluster)) {
                let unfinished = unfinished.map_err(|error| error.to_string())?;
                let unfinished = unfinished.ok_or_else(|| {
                    format!("somebody else has ended the pause in target {name}, or it was over")
                })?;
                if unfinished.sessions > 0 {
                    let sessions = usize::try_from(unfinished.sessions).unwrap_or(usize::MAX);
                    left.push(format!("{} in {name}", counted(sessions, "session")));
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(format!(
                    "transactions or statements have not ended in time: {}",
                    left.join(", ")
                ));
            }
            if signals.wait_for(PAUSE) {
                return Err("it was interrupted".to_owned());
            }
        }
    }

    /// Has a server write in every proxy.
    ///
    /// # Errors
    /// The proxies that refuse, for people.
    pub(super) fn prefer(&mut self, server: &Address) -> Result<(), String> {
        let preferred = self.everywhere(|proxy| proxy.prefer(server));
        all_done(preferred)
    }

    /// Lets statements go on, in each proxy as soon as it has seen who writes, and at the deadline in any case.
    ///
    /// # Errors
    /// What is not as it should be, for people.
    pub(super) fn resume_with(&mut self, writer: &Address, deadline: Instant) -> Result<(), String> {
        let cluster = self.cluster.clone();
        let resumed = self.everywhere(|proxy| {
            let has_seen = loop {
                let servers = proxy.servers(&cluster)?;
                let mut writers = servers.iter().filter(|server| server.is_writer());
                if writers.any(|server| server.server == *writer) {
                    break true;
                }
                if Instant::now() >= deadline {
                    break false;
                }
                thread::sleep(PAUSE);
            };
            proxy.resume(&cluster).map(|_| has_seen)
        });
        let mut problems = Vec::new();
        for (name, resumed) in resumed {
            match resumed {
                Ok(true) => {}
                Ok(false) => problems.push(format!("target {name} has not seen yet that {writer} writes")),
                Err(error) => problems.push(not_resumed(&error)),
            }
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems.join("; ")),
        }
    }

    /// Lets statements go on.
    ///
    /// # Errors
    /// Where they wait until the time is over, for people.
    pub(super) fn resume(&mut self) -> Result<(), String> {
        let cluster = self.cluster.clone();
        let resumed = self.everywhere(|proxy| proxy.resume(&cluster));
        let problems: Vec<String> = resumed
            .iter()
            .filter_map(|(_, resumed)| resumed.as_ref().err().map(not_resumed))
            .collect();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems.join("; ")),
        }
    }

    /// Does the same in every proxy at once; each answer with the name of its proxy.
    fn everywhere<T: Send>(
        &mut self,
        act: impl Fn(&mut ProxyAdmin) -> Result<T, TargetError> + Sync,
    ) -> Vec<(String, Result<T, TargetError>)> {
        thread::scope(|scope| {
            let act = &act;
            let begun: Vec<_> = self
                .proxies
                .iter_mut()
                .map(|proxy| scope.spawn(move || (proxy.name().to_owned(), act(proxy))))
                .collect();
            let done = begun.into_iter().map(|one| {
                one.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            done.collect()
        })
    }
}

fn all_done(done: Vec<(String, Result<(), TargetError>)>) -> Result<(), String> {
    let problems = done.into_iter().filter_map(|(_, done)| done.err());
    let problems: Vec<String> = problems.map(|error| error.to_string()).collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("; ")),
    }
}

fn not_resumed(error: &TargetError) -> String {
    format!("{error}: statements wait there until the time of the pause is over")
}
