//! `route`: where a statement goes, and why.

use std::io::Read;

use serde::Serialize;
use shardwright_rules::{Configuration, Decision, Evaluator, Outcome, SessionView, Statement, User};

use crate::args::{Global, Route};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::{Format, Ui};

/// The longest statement that is read.
const MAX_STATEMENT_BYTES: u64 = 64 << 20;

pub(crate) fn run(args: &Route, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let engine = opened.engine(args.engine.as_deref())?;
    let built = opened.build_to_ask(engine, ui)?;
    let configuration = built.configuration;
    let user = user(&configuration, args.user.as_deref())?;
    let sql = match &args.sql {
        Some(sql) => sql.clone().into_bytes(),
        None => read_statement()?,
    };
    let session = SessionView {
        user: &user.name,
        schema: args.schema.as_deref().or(user.default_schema.as_deref()),
        client_addr: args.client.as_deref(),
        ..SessionView::default()
    };
    let decision =
        Evaluator::new(configuration.clone()).decide(&session, &Statement::new(&sql, Default::default()));
    let answer = Answer::new(&opened, &sql, &decision);
    if ui.format() == Format::Json {
        ui.json(&answer)?;
    } else {
        ui.data(&answer.to_text(ui))?;
    }
    Ok(Exit::Done)
}

fn user<'c>(configuration: &'c Configuration, wanted: Option<&str>) -> Result<&'c User, CommandError> {
    let known: Vec<&str> = configuration
        .users
        .iter()
        .map(|user| user.name.as_str())
        .collect();
    match (wanted, configuration.users.as_slice()) {
        (Some(name), _) => configuration.user(name).ok_or_else(|| {
            CommandError::usage(format!("the topology has no user {name}"))
                .hint(format!("users: {}", known.join(", ")))
        }),
        (None, [only]) => Ok(only),
        (None, _) => Err(CommandError::usage("which user's session?")
            .hint(format!("--user, one of: {}", known.join(", ")))),
    }
}

fn read_statement() -> Result<Vec<u8>, CommandError> {
    let mut sql = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_STATEMENT_BYTES)
        .read_to_end(&mut sql)
        .map_err(|error| {
            CommandError::failed(format!("cannot read the statement from standard input: {error}"))
        })?;
    let end = sql.trim_ascii_end().len();
    sql.truncate(end);
    Ok(sql)
}

/// `route --format json`; keys are only ever added.
#[derive(Serialize)]
struct Answer {
    outcome: &'static str,
    hostgroup: Option<u32>,
    cluster: Option<String>,
    role: Option<String>,
    shard: Option<String>,
    query: String,
    #[serde(skip)]
    rewritten: bool,
    backend_schema: Option<String>,
    delay_ms: u32,
    multiplex: bool,
    error: Option<Refused>,
    evaluations: u32,
    visits: u32,
    path: Vec<Step>,
}

#[derive(Serialize)]
struct Refused {
    code: u16,
    message: String,
}

#[derive(Serialize)]
struct Step {
    rule_id: u32,
    address: String,
    file: Option<String>,
    line: Option<u32>,
    matched: bool,
    why: String,
    flag_out: Option<u32>,
}

impl Answer {
    fn new(opened: &Opened, sql: &[u8], decision: &Decision) -> Self {
        let steps = decision.path.iter().map(|step| {
            let place = opened.file_and_line(&step.address);
            Step {
                rule_id: step.rule_id,
                address: step.address.to_string(),
                file: place.as_ref().map(|(file, _)| file.clone()),
                line: place.map(|(_, line)| line),
                matched: true,
                why: step.why.clone(),
                flag_out: step.flag_out,
            }
        });
        let mut answer = Self {
            outcome: "route",
            hostgroup: None,
            cluster: None,
            role: None,
            shard: None,
            query: String::from_utf8_lossy(sql).into_owned(),
            rewritten: false,
            backend_schema: None,
            delay_ms: 0,
            multiplex: true,
            error: None,
            evaluations: decision.evaluations,
            visits: decision.visits,
            path: steps.collect(),
        };
        match &decision.outcome {
            Outcome::Route(route) => {
                answer.hostgroup = Some(route.hostgroup.0);
                answer.cluster = route.cluster.as_ref().map(ToString::to_string);
                answer.role = route.role.map(|role| role.to_string());
                answer.shard = route.shard.as_ref().map(ToString::to_string);
                if let Some(text) = &route.rewritten {
                    answer.query = String::from_utf8_lossy(text).into_owned();
                    answer.rewritten = text[..] != *sql;
                }
                answer.backend_schema = route.backend_schema.as_ref().map(ToString::to_string);
                answer.delay_ms = route.effects.delay_ms.unwrap_or(0);
                answer.multiplex = route.effects.multiplex != Some(0);
            }
            Outcome::Reject(rejection) => {
                answer.outcome = "reject";
                answer.error = Some(Refused {
                    code: rejection.code,
                    message: rejection.message.clone(),
                });
            }
            Outcome::Answer { .. } | Outcome::DeferBegin => answer.outcome = "answer",
        }
        answer
    }

    fn to_text(&self, ui: &Ui) -> String {
        let mut lines = Vec::new();
        match (&self.error, self.hostgroup) {
            (Some(refused), _) => lines.push(format!(
                "{} error {}: {}",
                ui.strong("refused"),
                refused.code,
                refused.message
            )),
            (None, Some(hostgroup)) => {
                let place = match (&self.cluster, &self.role) {
                    (Some(cluster), Some(role)) => format!("{cluster} {role} (hostgroup {hostgroup})"),
                    _ => format!("hostgroup {hostgroup}"),
                };
                lines.push(format!("{} {place}", ui.strong("goes to")));
                lines.extend(self.shard.as_ref().map(|shard| format!("  shard     {shard}")));
                lines.extend(self.rewritten.then(|| format!("  sent as   {}", self.query)));
                lines.extend(
                    self.backend_schema
                        .as_ref()
                        .map(|schema| format!("  in schema {schema}")),
                );
                lines.extend((self.delay_ms > 0).then(|| format!("  delayed   {} ms", self.delay_ms)));
            }
            (None, None) => lines.push(format!("{} by the proxy", ui.strong("answered"))),
        }
        let counts = format!(
            "  {} patterns evaluated, {} rules visited",
            self.evaluations, self.visits
        );
        lines.push(ui.faint(&counts));
        lines.push(match (self.path.is_empty(), &self.error) {
            (true, None) => "because no rule matched: the user's cluster takes it".to_owned(),
            (true, Some(_)) => "because it is refused before any rule".to_owned(),
            (false, _) => "because".to_owned(),
        });
        for step in &self.path {
            let place = match (&step.file, step.line) {
                (Some(file), Some(line)) => format!("  {file}:{line}"),
                _ => String::new(),
            };
            let jump = step
                .flag_out
                .map(|flag| format!(" → chain {flag}"))
                .unwrap_or_default();
            lines.push(format!(
                "  rule {} {}{place}\n       {}{jump}",
                step.rule_id, step.address, step.why
            ));
        }
        lines.join("\n") + "\n"
    }
}
