//! `route`: where statements go, and why.

pub(crate) mod answer;
mod assumed;
mod listener;
mod supposed;

use std::io::Read;

use serde::Serialize;
use shardwright_prover::equivalence::alike;
use shardwright_rules::{Configuration, SentAs, User};
use shardwright_simulation::script::{self, ScriptSession, Sent};
use shardwright_sql::{LexMode, Lexer, TokenKind};

use self::answer::Answer;
use self::assumed::Assumed;
use crate::args::{ClientProfile, Format, Global, Route};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::rule_set::{self, Reference, RuleSet};
use crate::ui::{Ui, printable};

/// The longest script that is read.
const MAX_SCRIPT_BYTES: u64 = 64 << 20;
/// The most statements of one script: each answer has its whole path.
const MAX_STATEMENTS: usize = 10_000;

pub(crate) fn run(args: &Route, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let set = subject(args, global, ui)?;
    let other = match &args.against {
        Some(other) => Some(rule_set::open(other, Some(set.configuration.engine), global, ui)?),
        None => None,
    };
    let text = text(args)?;
    if text.trim_ascii().is_empty() {
        return Err(CommandError::usage("there is no statement: the text is empty")
            .hint("shardwright route \"SELECT 1\""));
    }
    let statements = match script::statements(&text) {
        // A driver sends one statement unchanged, with the text around it.
        one if one.len() == 1 && args.sql.is_some() && args.client_profile == ClientProfile::Plain => {
            vec![text.as_slice()]
        }
        // Comments alone are sent as well.
        none if none.is_empty() => vec![text.trim_ascii()],
        several => several,
    };
    if statements.len() > MAX_STATEMENTS {
        let count = statements.len();
        return Err(CommandError::usage(format!(
            "the script has {count} statements; the limit is {MAX_STATEMENTS}"
        ))
        .hint("shardwright traffic diff reads logs"));
    }
    let answered = answers(args, &set, &statements)?;
    let compared = match &other {
        Some(other) => Some(answers(args, other, &statements)?),
        None => None,
    };
    let is_script = args.file.is_some() || statements.len() > 1;
    if ui.format() == Format::Json {
        json(&answered, compared, is_script, ui)?;
    } else {
        let first = Answers { set: &set, answered };
        let second = other
            .as_ref()
            .zip(compared)
            .map(|(set, answered)| Answers { set, answered });
        ui.data(&human_readable(&first, second.as_ref(), is_script, ui))?;
    }
    Ok(Exit::Done)
}

/// The rule set of the project, or of `--rules`.
fn subject(args: &Route, global: &Global, ui: &Ui) -> Result<RuleSet, CommandError> {
    match (&args.rules, &args.against) {
        (Some(rules), _) => {
            let engine = args.engine.as_deref().map(project::engine).transpose()?;
            rule_set::open(rules, engine, global, ui)
        }
        (None, against) => {
            // A project is compared with rows as rows.
            let other = against.as_deref().map(Reference::parse);
            let common = rule_set::common_engine(&other.iter().collect::<Vec<_>>());
            let engine = args.engine.as_deref().or(common.map(|engine| engine.name()));
            rule_set::of_project(engine, global, ui)
        }
    }
}

fn user<'c>(configuration: &'c Configuration, wanted: Option<&'c str>) -> Result<&'c str, CommandError> {
    let known: Vec<&str> = configuration
        .users
        .iter()
        .map(|user| user.name.as_str())
        .collect();
    match (wanted, configuration.users.as_slice()) {
        // A rule set without users accepts any name.
        (Some(name), []) => Ok(name),
        (Some(name), _) => configuration
            .user(name)
            .map(|user: &User| user.name.as_str())
            .ok_or_else(|| {
                CommandError::usage(format!("the topology has no user {name}"))
                    .hint(format!("users: {}", known.join(", ")))
            }),
        (None, [only]) => Ok(&only.name),
        (None, []) => Ok(""),
        (None, _) => Err(
            CommandError::usage("the topology has several users, and none is named")
                .hint(format!("add --user with one of: {}", known.join(", "))),
        ),
    }
}

fn text(args: &Route) -> Result<Vec<u8>, CommandError> {
    let unreadable =
        |what: &str, error: std::io::Error| CommandError::failed(format!("cannot read {what}: {error}"));
    let mut sql = Vec::new();
    match (&args.sql, &args.file) {
        (Some(sql), _) => return Ok(sql.clone().into_bytes()),
        (None, Some(path)) => {
            let name = path.display().to_string();
            let file = std::fs::File::open(path).map_err(|error| unreadable(&name, error))?;
            file.take(MAX_SCRIPT_BYTES)
                .read_to_end(&mut sql)
                .map_err(|error| unreadable(&name, error))?;
        }
        (None, None) => {
            std::io::stdin()
                .lock()
                .take(MAX_SCRIPT_BYTES)
                .read_to_end(&mut sql)
                .map_err(|error| unreadable("the statement from standard input", error))?;
        }
    }
    Ok(sql)
}

/// An answer, and the state of the session that it was given in.
struct Answered {
    sent: Sent,
    answer: Answer,
}

fn answers(args: &Route, set: &RuleSet, statements: &[&[u8]]) -> Result<Vec<Answered>, CommandError> {
    let (configuration, listener) = listener::chosen(&set.configuration, args.listener.as_deref())?;
    let configuration = &configuration;
    let supposed = supposed::parse(&args.suppose, configuration)?;
    let session = ScriptSession {
        user: user(configuration, args.user.as_deref())?,
        schema: args.schema.as_deref(),
        client: args.client.as_deref(),
        listener: listener.as_deref(),
        flag: args.flag,
    };
    let written: Vec<Vec<u8>> = statements
        .iter()
        .map(|text| as_sent(text, args.client_profile))
        .collect();
    let texts: Vec<&[u8]> = written.iter().map(Vec::as_slice).collect();
    let commands = script::commands(&texts).map_err(|error| CommandError::usage(error.to_string()))?;
    let sent = script::send(configuration, &session, &commands);
    Ok(sent
        .into_iter()
        .map(|sent| Answered {
            answer: Answer::new(set, &sent.statement, &sent.decision, &sent.visits)
                .assuming(Assumed::of(args, configuration, &sent))
                .assuming(Assumed::unread(set, session.user))
                .served_by(
                    supposed
                        .as_ref()
                        .and_then(|supposed| supposed.servers(configuration, &sent.decision)),
                ),
            sent,
        })
        .collect())
}

/// The statement as a client program sends it.
fn as_sent(text: &[u8], profile: ClientProfile) -> Vec<u8> {
    match profile {
        ClientProfile::Plain => text.to_vec(),
        ClientProfile::MysqlCommand => {
            let kept = Lexer::new(text, LexMode::default())
                .filter(|token| !matches!(token.kind, TokenKind::BlockComment | TokenKind::LineComment));
            let bytes: Vec<u8> = kept
                .flat_map(|token| token.span.of(text).iter().copied())
                .collect();
            bytes.trim_ascii().to_vec()
        }
    }
}

/// One statement of `--format json`.
#[derive(Serialize)]
struct StatementAnswer<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    same: Option<bool>,
}

/// The session's state before a statement of a script.
#[derive(Serialize)]
struct State {
    statement: String,
    command: &'static str,
    schema: Option<String>,
    transaction_hostgroup: Option<u32>,
    flag: u32,
}

/// The command of the protocol, as MySQL's documents name it.
const fn command(sent_as: SentAs) -> &'static str {
    match sent_as {
        SentAs::Query => "COM_QUERY",
        SentAs::Prepare => "COM_STMT_PREPARE",
        SentAs::Execute => "COM_STMT_EXECUTE",
    }
}

fn same(a: &Answered, b: &Answered) -> bool {
    a.answer.destination() == b.answer.destination()
        && a.sent.schema == b.sent.schema
        && alike(&a.sent.decision.outcome, &b.sent.decision.outcome)
}

fn json(
    answered: &[Answered],
    compared: Option<Vec<Answered>>,
    is_script: bool,
    ui: &Ui,
) -> Result<(), CommandError> {
    let others = compared.as_deref();
    let statements: Vec<StatementAnswer<'_>> = answered
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let other = others.and_then(|others| others.get(at));
            StatementAnswer {
                answer: &one.answer,
                session: is_script.then(|| State {
                    statement: String::from_utf8_lossy(&one.sent.written).into_owned(),
                    command: command(one.sent.sent_as),
                    schema: one.sent.schema.clone(),
                    transaction_hostgroup: one.sent.transaction.map(|hostgroup| hostgroup.0),
                    flag: one.sent.flag,
                }),
                against: other.map(|other| &other.answer),
                same: other.map(|other| same(one, other)),
            }
        })
        .collect();
    match (is_script, statements.as_slice()) {
        (false, [only]) => ui.json(only),
        (_, all) => ui.json(&all),
    }
}

/// The answers of one rule set.
struct Answers<'s> {
    set: &'s RuleSet,
    answered: Vec<Answered>,
}

fn human_readable(first: &Answers<'_>, second: Option<&Answers<'_>>, is_script: bool, ui: &Ui) -> String {
    let mut lines = Vec::new();
    for (at, one) in first.answered.iter().enumerate() {
        if is_script {
            if at > 0 {
                lines.push(String::new());
            }
            lines.push(ui.strong(&printable(&String::from_utf8_lossy(&one.sent.written))));
            lines.extend(state(&one.sent, &first.set.configuration).map(|state| ui.faint(&state)));
        }
        lines.extend(one.answer.lines(ui));
        if let Some(second) = second
            && let Some(other) = second.answered.get(at)
        {
            let name = ui.strong(&format!("{}:", second.set.name));
            if same(one, other) {
                lines.push(format!("{name} the same"));
            } else {
                lines.push(name);
                lines.extend(other.answer.lines(ui).into_iter().map(|line| format!("  {line}")));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// The parts of the session's state that have changed since its beginning.
fn state(sent: &Sent, configuration: &Configuration) -> Option<String> {
    let transaction = sent.transaction.map(|hostgroup| {
        let readers = configuration
            .cluster_of(hostgroup)
            .filter(|cluster| cluster.reader == Some(hostgroup))
            .map_or_else(String::new, |cluster| format!(" (readers of {}!)", cluster.name));
        format!("in a transaction on hostgroup {hostgroup}{readers}")
    });
    let flag = (sent.flag != 0).then(|| format!("starts at chain {}", sent.flag));
    let text = String::from_utf8_lossy(&sent.statement);
    let executed = (sent.sent_as == SentAs::Execute && !text.is_empty())
        .then(|| format!("executes {}", printable(&text)));
    let parts: Vec<String> = executed.into_iter().chain(transaction).chain(flag).collect();
    (!parts.is_empty()).then(|| format!("  {}", parts.join(", ")))
}
