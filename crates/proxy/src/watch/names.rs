//! Host names of servers, looked up again and again: a name that leads elsewhere is another server.
//!
//! Every connection is opened by name, so new ones follow at once. Those that are open, and what is known of the server, belong to
//! the address that the name had before. When it has left for good, the member counts as a new one, and the old one ends as a
//! server does that an apply takes out: sessions finish what they have there.
//!
//! A name that comes back to an address which it has left is one for several servers in turn, such as a reader endpoint. Then
//! nothing is moved any more, and nobody relies on what is known of "the" server.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::watcher::Watcher;

/// From one look-up of all names to the next.
const EVERY: Duration = Duration::from_secs(5);
/// The same while a name has left its address.
const DOUBTFUL_EVERY: Duration = Duration::from_secs(1);
/// How long a look-up may take.
const PATIENCE: Duration = Duration::from_secs(4);
/// Look-ups in a row without an address until it counts as left: one answer may be an accident.
const ANSWERS_WITHOUT: u32 = 2;
/// A name that comes back to an address within this time leads to several servers in turn.
const IN_TURN_WITHIN: Duration = Duration::from_secs(60);

/// What a name has led to.
#[derive(Debug, Default)]
struct Name {
    addresses: BTreeSet<IpAddr>,
    /// Answers in a row that lacked one of them.
    without: u32,
    /// Addresses that it has left, and when.
    left: Vec<(IpAddr, Instant)>,
    is_for_several: bool,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing new.
    Same,
    /// An address is missing: the next answer decides.
    Doubtful,
    /// The name leads elsewhere.
    Moved,
    /// It leads to several servers.
    Several,
}

impl Name {
    fn answered(&mut self, addresses: BTreeSet<IpAddr>, now: Instant) -> Answer {
        if self.is_for_several || addresses.is_empty() {
            return Answer::Same;
        }
        // One server may have an address of each family.
        let of_version_4 = addresses.iter().filter(|address| address.is_ipv4()).count();
        if of_version_4 > 1 || addresses.len() - of_version_4 > 1 {
            self.is_for_several = true;
            return Answer::Several;
        }
        if self.addresses.is_subset(&addresses) {
            (self.addresses, self.without) = (addresses, 0);
            return Answer::Same;
        }
        self.without += 1;
        if self.without < ANSWERS_WITHOUT {
            return Answer::Doubtful;
        }
        self.left.retain(|(_, at)| now - *at < IN_TURN_WITHIN);
        if self.left.iter().any(|(address, _)| addresses.contains(address)) {
            self.is_for_several = true;
            return Answer::Several;
        }
        let left = self.addresses.difference(&addresses);
        self.left.extend(left.map(|&address| (address, now)));
        (self.addresses, self.without) = (addresses, 0);
        Answer::Moved
    }
}

/// Looks names up until it is aborted.
pub(super) async fn run(watcher: Rc<Watcher>) {
    let mut names: HashMap<String, Name> = HashMap::new();
    loop {
        let wanted = watcher.host_names();
        names.retain(|host, _| wanted.contains_key(host));
        let mut is_doubtful = false;
        for (host, peers, addresses) in looked_up(wanted).await {
            let name = names.entry(host.clone()).or_default();
            name.addresses.extend(peers);
            match name.answered(addresses, Instant::now()) {
                Answer::Same => {}
                Answer::Doubtful => is_doubtful = true,
                Answer::Moved => {
                    tracing::warn!(
                        host,
                        "the name leads to another address: connections to the former one end"
                    );
                    watcher.moved(&host);
                }
                Answer::Several => {
                    tracing::warn!(
                        host,
                        "the name leads to several servers: reads of own writes do not rely on it; give each server a name of its own"
                    );
                    watcher.shared.control.leads_to_several(&host);
                }
            }
        }
        sleep(if is_doubtful { DOUBTFUL_EVERY } else { EVERY }).await;
    }
}

/// The addresses of names behind where connections to them have led, without those that nobody could tell.
async fn looked_up(
    names: BTreeMap<String, BTreeSet<IpAddr>>,
) -> Vec<(String, BTreeSet<IpAddr>, BTreeSet<IpAddr>)> {
    let mut questions = JoinSet::new();
    for (host, peers) in names {
        questions.spawn(async move {
            // The port is part of the function's form, and not of the question.
            let answer = timeout(PATIENCE, lookup_host((host.as_str(), 0))).await;
            let addresses = answer.ok()?.ok()?.map(|address| address.ip()).collect();
            Some((host, peers, addresses))
        });
    }
    let answers = questions.join_all().await;
    answers.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(answers: &[&[&str]]) -> Vec<Answer> {
        let (mut name, now) = (Name::default(), Instant::now());
        let answered = answers.iter().map(|answer| {
            let addresses = answer.iter().map(|address| address.parse().unwrap());
            name.answered(addresses.collect(), now)
        });
        answered.collect()
    }

    #[test]
    fn a_name_has_moved_when_two_answers_say_so() {
        use Answer::{Doubtful, Moved, Same};
        let (a, b, none): (&[&str], &[&str], &[&str]) = (&["10.0.0.1"], &["10.0.0.2"], &[]);
        assert_eq!(
            answers(&[a, a, b, a, b, b, b]),
            [Same, Same, Doubtful, Same, Doubtful, Moved, Same]
        );
        assert_eq!(
            answers(&[a, none, b, none, b]),
            [Same, Same, Doubtful, Same, Moved]
        );
        let both: &[&str] = &["10.0.0.1", "fd00::1"];
        assert_eq!(answers(&[a, both, a, a]), [Same, Same, Doubtful, Moved]);
    }

    #[test]
    fn a_name_for_several_servers_does_not_move() {
        use Answer::{Doubtful, Moved, Same, Several};
        let (a, b): (&[&str], &[&str]) = (&["10.0.0.1"], &["10.0.0.2"]);
        assert_eq!(
            answers(&[a, b, b, a, a, b, b]),
            [Same, Doubtful, Moved, Doubtful, Several, Same, Same]
        );
        assert_eq!(answers(&[&["10.0.0.1", "10.0.0.2"], a, a]), [Several, Same, Same]);
        assert_eq!(answers(&[&["fd00::1", "fd00::2"], &["fd00::1"]]), [Several, Same]);
    }
}
