//! Where a rule set comes from: a file, or a running ProxySQL.

use std::path::Path;

use shardwright_adopt::TargetDraft;
use shardwright_diagnostics::{Problems, Sources};
use shardwright_import::{Language, MAX_FILE_BYTES, RuleFile, Scheduled};
use shardwright_rules::{EngineId, SecretReference};
use shardwright_secrets::{Access, resolve};
use shardwright_targets::{AdminAddress, Timeouts, live_tables};
use url::Url;

use crate::args::Adoption;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::rule_set::{holds_nothing, read_limited};
use crate::ui::Ui;

/// The admin port where an address names none.
const ADMIN_PORT: u16 = 6032;

/// A rule set that was read.
pub(super) struct Source {
    /// What people call it.
    pub(super) name: String,
    pub(super) file: RuleFile,
    /// Where it runs.
    pub(super) target: Option<TargetDraft>,
    /// What it holds besides, in words.
    pub(super) beside: Vec<String>,
}

/// Reads a source. Its errors are shown, and end the command.
pub(super) fn read(source: &str, adoption: &Adoption, ui: &Ui) -> Result<Source, CommandError> {
    let mut reader = Reader::default();
    for path in &adoption.scheduler {
        reader.scheduler(path, ui)?;
    }
    let mut read = match source.starts_with("mysql://") {
        true => live(source, adoption, &mut reader, ui)?,
        false => {
            let bytes = read_limited(source, MAX_FILE_BYTES)?;
            let file = reader.rule_set(source, &bytes, Language::of_path(source), ui)?;
            if file.layout.parts.is_empty() {
                return Err(holds_nothing(source));
            }
            Source {
                name: source.to_owned(),
                file,
                target: None,
                beside: Vec::new(),
            }
        }
    };
    read.beside.append(&mut reader.passed_over);
    Ok(read)
}

/// The files that were read, and what those of programs say that move servers.
#[derive(Default)]
struct Reader {
    sources: Sources,
    scheduled: Vec<Scheduled>,
    passed_over: Vec<String>,
}

impl Reader {
    fn scheduler(&mut self, path: &str, ui: &Ui) -> Result<(), CommandError> {
        let bytes = read_limited(path, MAX_FILE_BYTES)?;
        let file = shardwright_import::scheduled_by(&mut self.sources, path, &bytes);
        self.show(&file.problems, ui)?;
        self.scheduled.extend(file.scheduled);
        self.passed_over.extend(file.passed_over);
        Ok(())
    }

    fn rule_set(
        &mut self,
        name: &str,
        bytes: &[u8],
        language: Language,
        ui: &Ui,
    ) -> Result<RuleFile, CommandError> {
        let engine = EngineId::Proxysql27;
        let sources = &mut self.sources;
        let file =
            shardwright_import::read_scheduled(sources, name, bytes, language, engine, &self.scheduled);
        self.show(&file.problems, ui)?;
        Ok(file)
    }

    /// Errors end the command.
    fn show(&self, problems: &Problems, ui: &Ui) -> Result<(), CommandError> {
        project::show_serious(problems, &self.sources, ui);
        match problems.has_errors() {
            true => Err(CommandError::shown(Exit::BadDocument)),
            false => Ok(()),
        }
    }
}

/// Reads the tables of a running ProxySQL.
fn live(source: &str, adoption: &Adoption, reader: &mut Reader, ui: &Ui) -> Result<Source, CommandError> {
    let (user, address) = account(source)?;
    let reference = SecretReference::Env(adoption.password_env.clone());
    let password = resolve(&reference, &Access::from(Path::new("."))).map_err(|error| {
        CommandError::failed(format!("the password of {user} is missing: {error}"))
            .hint("set that variable, or name another one with --password-env")
    })?;
    let tables = live_tables(&address, &user, &password, Timeouts::default())
        .map_err(|error| CommandError::failed(error.to_string()))?;
    ui.detail(|| format!("read the tables of ProxySQL {} at {address}", tables.version));
    let name = format!("{user}@{address}");
    let statements = tables.statements.expose().as_bytes();
    let file = reader.rule_set(&name, statements, Language::Sql, ui)?;
    let host = match &address {
        AdminAddress::Tcp { host, .. } => host.clone(),
        AdminAddress::Unix(path) => path.clone(),
    };
    Ok(Source {
        target: Some(TargetDraft {
            name: shardwright_adopt::name_of_host(&host),
            admin: address.to_string(),
            user,
            password: reference,
        }),
        name,
        file,
        beside: tables.beside,
    })
}

/// The account and the admin port of `mysql://USER@HOST:PORT`.
fn account(source: &str) -> Result<(String, AdminAddress), CommandError> {
    let wrong = || {
        CommandError::usage(format!(
            "{} is no address of a ProxySQL",
            without_password(source)
        ))
        .hint("write mysql://USER@HOST:6032")
    };
    let url = Url::parse(source).map_err(|_| wrong())?;
    if url.password().is_some() {
        return Err(
            CommandError::usage("a password on the command line can be read by others")
                .hint("put it into a variable, and name that with --password-env NAME"),
        );
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
    if url.username().is_empty() || !matches!(url.path(), "" | "/") {
        return Err(wrong());
    }
    let address = AdminAddress::Tcp {
        host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
        port: url.port().unwrap_or(ADMIN_PORT),
    };
    Ok((url.username().to_owned(), address))
}

/// An address as it may be shown: without what stands between the name and the `@`.
fn without_password(source: &str) -> String {
    match (source.find("://"), source.rfind('@')) {
        (Some(from), Some(at)) if at > from => format!("{}…{}", &source[..from + 3], &source[at..]),
        _ => source.to_owned(),
    }
}
