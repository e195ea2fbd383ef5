//! A statement that two rule sets treat differently, human-readable and as JSON.

use serde::Serialize;
use shardwright_prover::equivalence::{ComparedSession, Difference};
use shardwright_prover::{USUAL_CLIENT, USUAL_LISTENER};
use shardwright_routing::RoutingTable;
use shardwright_rules::Statement;
use shardwright_simulation::visits;
use shardwright_sql::LexMode;

use crate::commands::route::answer::Answer;
use crate::rule_set::RuleSet;
use crate::ui::{Ui, printable};

/// A statement that goes different ways.
#[derive(Serialize)]
pub(super) struct Witness {
    user: String,
    schema: String,
    /// The schemas of a session that names none, where they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_schemas: Option<[Option<String>; 2]>,
    query: String,
    client: String,
    listener: ListenedAt,
    flag: u32,
    transaction_hostgroup: Option<u32>,
    a: Option<Answer>,
    b: Option<Answer>,
}

/// Where a client connects to.
#[derive(Serialize)]
struct ListenedAt {
    address: String,
    port: u16,
}

impl Witness {
    pub(super) fn new(difference: &Difference, sets: [&RuleSet; 2], tables: &[RoutingTable; 2]) -> Self {
        let session: &ComparedSession = &difference.session;
        let statement = Statement::new(&difference.statement, LexMode::default());
        let answer = |side: usize, there: bool| {
            there.then(|| {
                let decision = tables[side].explain(&session.view(side), &statement);
                let visited = visits(&tables[side], &session.view(side), &statement, &decision);
                Answer::new(sets[side], &difference.statement, &decision, &visited)
            })
        };
        Self {
            user: session.user.clone(),
            schema: match &session.schemas {
                [one, other] if one == other => one.clone().unwrap_or_default(),
                _ => String::new(),
            },
            default_schemas: (session.schemas[0] != session.schemas[1]).then(|| session.schemas.clone()),
            query: String::from_utf8_lossy(&difference.statement).into_owned(),
            client: session.client_addr.clone(),
            listener: ListenedAt {
                address: session.listener.0.clone(),
                port: session.listener.1,
            },
            flag: session.flag,
            transaction_hostgroup: session.transaction,
            a: answer(0, difference.left.is_some()),
            b: answer(1, difference.right.is_some()),
        }
    }

    /// The statement, and below it what becomes of it on each side.
    pub(super) fn lines(&self, sets: [&RuleSet; 2], ui: &Ui) -> Vec<String> {
        let width = sets
            .iter()
            .map(|set| set.name.chars().count())
            .max()
            .unwrap_or_default();
        let mut lines = vec![format!("  {}", self.heading())];
        for (side, (set, answer)) in sets.into_iter().zip([&self.a, &self.b]).enumerate() {
            let name = ui.faint(&format!("{:width$}", set.name));
            match answer {
                Some(answer) => lines.push(format!(
                    "    {name}  {}{}{}{}",
                    answer.destination(),
                    self.schema_on(side),
                    self.effects_of(answer),
                    answer.decided_by()
                )),
                None => lines.push(format!("    {name}  no such user")),
            }
        }
        lines
    }

    /// ` in schema shop`, where the session finds another one on each side.
    fn schema_on(&self, side: usize) -> String {
        match &self.default_schemas {
            None => String::new(),
            Some(schemas) => match &schemas[side] {
                Some(schema) => format!(" in schema {schema}"),
                None => " in no schema".to_owned(),
            },
        }
    }

    /// `, delayed 700 ms`, if the destinations are the same.
    fn effects_of(&self, answer: &Answer) -> String {
        match (&self.a, &self.b) {
            (Some(a), Some(b))
                if a.destination() == b.destination() && a.query == b.query && a.effects() != b.effects() =>
            {
                match answer.effects() {
                    none if none.is_empty() => ", without effects".to_owned(),
                    some => some.iter().map(|(what, how)| format!(", {what} {how}")).collect(),
                }
            }
            _ => String::new(),
        }
    }

    /// `user=app schema=shop  SELECT 1`
    fn heading(&self) -> String {
        let schema = match self.schema.as_str() {
            "" => String::new(),
            schema => format!(" schema={schema}"),
        };
        let client = match self.client.as_str() {
            USUAL_CLIENT => String::new(),
            client => format!(" client={client}"),
        };
        let listener = match (self.listener.address.as_str(), self.listener.port) {
            USUAL_LISTENER => String::new(),
            (address, port) => format!(" listener={address}:{port}"),
        };
        let flag = match self.flag {
            0 => String::new(),
            flag => format!(" chain={flag}"),
        };
        let transaction = match self.transaction_hostgroup {
            Some(hostgroup) => format!(" transaction={hostgroup}"),
            None => String::new(),
        };
        format!(
            "user={}{schema}{client}{listener}{flag}{transaction}  {}",
            self.user,
            printable(&self.query)
        )
    }
}
