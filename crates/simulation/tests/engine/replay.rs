//! What the analysis shows by a statement, as a session that a client can hold.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use shardwright_rules::{Configuration, Evaluator, Hits, Outcome, SessionView, Statement, StatementKind};
use shardwright_testkit::Rig;

use crate::compare::{Said, Session, USERS};
use crate::statements::SHAPES;

/// Addresses of this machine.
const CLIENTS: [Ipv4Addr; 4] = [
    Ipv4Addr::LOCALHOST,
    Ipv4Addr::new(127, 0, 0, 2),
    Ipv4Addr::new(127, 0, 0, 7),
    Ipv4Addr::new(127, 1, 0, 7),
];

/// Replays what is shown of some configurations.
pub(crate) struct Replay<'r> {
    rig: &'r Rig,
    evaluators: Vec<Evaluator>,
}

impl<'r> Replay<'r> {
    pub(crate) fn of(rig: &'r Rig, configurations: &[&Arc<Configuration>]) -> Self {
        let evaluators = configurations.iter();
        Self {
            rig,
            evaluators: evaluators.map(|one| Evaluator::new(Arc::clone(one))).collect(),
        }
    }

    /// A session whose last command is the statement, and which every configuration decides as the given one; or why
    /// there is none. `side` is the configuration that the session begins under.
    pub(crate) fn session(
        &self,
        side: usize,
        view: &SessionView<'_>,
        statement: &[u8],
    ) -> Result<Session, &'static str> {
        let Ok(text) = std::str::from_utf8(statement) else {
            return Err("the statement is no UTF-8");
        };
        if view.transaction.is_some() {
            return Err("a transaction is open");
        }
        if !USERS.contains(&view.user) {
            return Err("nobody can log in as the user");
        }
        let (client, listener) = self
            .client_and_listener(view, statement)
            .ok_or("no client and listener of this machine do")?;
        let mut session = Session::of(view.user, view.schema, listener, Vec::new());
        session.client = client;
        let at = self.at(client, listener);
        let before = statements_to(&self.evaluators[side], &at.view(view))
            .ok_or("no plain statement leads to the flag")?;
        let texts = before.into_iter().chain([text.to_owned()]);
        session.said = texts.map(Said::Query).collect();
        Ok(session)
    }

    /// A client and a listener of this machine for whom the same rules match and the same follows.
    fn client_and_listener(&self, view: &SessionView<'_>, statement: &[u8]) -> Option<(Ipv4Addr, usize)> {
        let decided = |view: &SessionView<'_>| -> Vec<(Hits, Outcome)> {
            let statement = Statement::new(statement, Default::default());
            let decisions = self.evaluators.iter().map(|one| one.decide(view, &statement));
            decisions
                .map(|decision| (decision.hits, decision.outcome))
                .collect()
        };
        let wanted = decided(view);
        let listeners = 0..self.rig.proxysql().addresses().len();
        let mut combinations = listeners.flat_map(|listener| CLIENTS.map(|client| (client, listener)));
        combinations.find(|(client, listener)| decided(&self.at(*client, *listener).view(view)) == wanted)
    }

    fn at(&self, client: Ipv4Addr, listener: usize) -> At {
        let listener = self.rig.proxysql().addresses()[listener];
        At {
            client: client.to_string(),
            listener: (listener.ip().to_string(), listener.port()),
        }
    }
}

/// Where a session comes from and comes in.
struct At {
    client: String,
    listener: (String, u16),
}

impl At {
    /// The given session from here.
    fn view<'v>(&'v self, view: &SessionView<'v>) -> SessionView<'v> {
        SessionView {
            client_addr: Some(&self.client),
            listener: Some((&self.listener.0, self.listener.1)),
            ..*view
        }
    }
}

/// Plain statements that leave a session at the flag of the given one.
fn statements_to(evaluator: &Evaluator, view: &SessionView<'_>) -> Option<Vec<String>> {
    let Some(flag) = view.next_query_flag_in else {
        return Some(Vec::new());
    };
    let mut paths: BTreeMap<u32, Vec<String>> = BTreeMap::from([(0, Vec::new())]);
    let mut open = vec![0];
    while let Some(from) = open.pop() {
        for sql in SHAPES {
            let statement = Statement::new(sql.as_bytes(), Default::default());
            if !matches!(statement.kind(), StatementKind::Select | StatementKind::Insert) {
                continue;
            }
            let at = SessionView {
                next_query_flag_in: (from != 0).then_some(from),
                ..*view
            };
            let decision = evaluator.decide(&at, &statement);
            let Outcome::Route(route) = &decision.outcome else {
                continue;
            };
            let Some(to) = route.effects.next_query_flag_in.filter(|_| !route.locks) else {
                continue;
            };
            if !paths.contains_key(&to) {
                let way = paths[&from].iter().cloned().chain([sql.to_owned()]).collect();
                paths.insert(to, way);
                open.push(to);
            }
        }
    }
    paths.remove(&flag)
}
