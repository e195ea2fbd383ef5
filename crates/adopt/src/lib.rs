//! An existing rule set as a project.
//!
//! [`adopt`] writes it in two steps. First *exactly*: clusters, users, settings, and every rule in the engine's own columns
//! ([`mod@exact`]), so that compiling the project gives the rows of the source; what would be different is listed
//! ([`Difference`]). Then rules are *lifted* to named objects, a few at a time ([`lift`]). A lift stays only if the prover
//! shows that every statement goes the same way as in the source; otherwise the rules stay as they were, with the reason.
//!
//! Nothing is read or written here: files are values, and passwords stay beside them.

pub mod accounts;
mod build;
mod differences;
pub mod draft;
mod exact;
mod lift;
mod names;
mod proof;
mod write;
mod yaml;

use shardwright_diagnostics::Diagnostic;
use shardwright_import::RuleFile;
use shardwright_prover::Budget;
use shardwright_rules::SecretReference;
use shardwright_secrets::Secret;
use shardwright_targets::emit::Table;
use thiserror::Error;

pub use build::Built;
pub use differences::Difference;
pub use draft::{Draft, TargetDraft};
pub use exact::Unwritten;
pub use lift::{Lift, Lifted, Resisted};
pub use proof::Proof;
pub use write::ProjectFile;

use crate::draft::RuleDraft;

/// Why a rule is not active that the engine does not load either.
pub const PARKED: &str = "it is not active in the source";

/// A host as a name of the language.
pub fn name_of_host(host: &str) -> String {
    let names = names::server(host, 0);
    names
        .into_iter()
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "proxysql".to_owned())
}

/// Where the passwords of a source go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// Into files beside the project, which git ignores; what the source does not have is expected in the environment.
    #[default]
    Files,
    /// Nowhere: users are expected to set environment variables.
    Environment,
}

/// What a caller may ask for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where passwords go.
    pub secrets: Secrets,
    /// What the project is called, in any characters; what no name has becomes `-`. Empty: it has no name.
    pub project: String,
    /// The proxy that the source was read from.
    pub target: Option<TargetDraft>,
    /// Leaves every rule in the engine's own columns.
    pub only_exact: bool,
}

/// A rule set as a project.
#[derive(Debug)]
pub struct Adopted {
    /// The project.
    pub built: Built,
    /// Secret files by path, to be written so that nobody else can read them.
    pub secrets: Vec<(String, Secret)>,
    /// Environment variables that have to be set.
    pub environment: Vec<String>,
    /// What of the source no project can hold.
    pub unwritten: Vec<Unwritten>,
    /// Whether every statement goes as in the source, as far as a configuration holds the source.
    pub proof: Proof,
    /// What the proof is not about, in words.
    pub not_covered: Vec<String>,
    /// What the tables of the engine would hold otherwise. Rules, rows of fast routing and the firewall's rules are those of the
    /// project before any rule was lifted.
    pub differences: Vec<Difference>,
    /// Rules that became named objects, and those that did not.
    pub lifted: Lifted,
    /// Rules that are written and not active, because the engine does not load them or the compiler refuses them.
    pub inactive: Vec<(u32, String)>,
}

/// Why no project can be written.
#[derive(Debug, Error)]
pub enum AdoptError {
    /// The source holds what the language has no words for, so that what was written does not compile.
    #[error("no project can hold the source: {}", .0.first().map_or("no reason", |error| &error.message))]
    NotAProject(Vec<Diagnostic>),
    /// A value of the source that the engine's tables do not take.
    #[error("the source holds what its engine does not take: {0}")]
    Rows(#[from] shardwright_targets::emit::EmitError),
}

/// Writes a rule set as a project.
///
/// # Errors
/// [`AdoptError`]
pub fn adopt(file: &RuleFile, options: &Options) -> Result<Adopted, AdoptError> {
    let (mut draft, unwritten) = exact::draft(file, options.target.clone(), options.secrets);
    draft.project = Some(names::slug(&options.project)).filter(|name| !name.is_empty());
    let mut inactive: Vec<(u32, String)> = draft
        .rules
        .iter()
        .filter(|rule| !rule.is_active)
        .map(|rule| (rule.id, PARKED.to_owned()))
        .collect();
    let mut built = settle(&mut draft, &mut inactive)?;
    let mut source = file.configuration.clone();
    if draft.listeners.is_empty() {
        // Interfaces that are left to the node are the same before and after an apply.
        source.listeners.clear();
    }
    let compared = proof::comparable(&source);
    let (proof, _) = proof::prove(&compared, built.configuration(), Budget::default());
    // What is different already keeps no rule from being lifted: the others go as in the project without objects.
    let base = match proof {
        Proof::Equal => compared,
        Proof::Different(_) | Proof::Open(_) => (**built.configuration()).clone(),
    };
    let mut of_rules = differences::differences(&source, built.configuration())?;
    of_rules.retain(is_of_rules);
    let lifted = match options.only_exact {
        true => Lifted::default(),
        false => lift::lift(&base, &mut draft, &mut built),
    };
    let mut differences = differences::differences(&source, built.configuration())?;
    // Rules of lifted objects have other ids, flags and columns, and are proved to go the same ways.
    differences.retain(|one| !is_of_rules(one));
    differences.extend(of_rules);
    differences.sort();
    // What is not written has its reason there.
    differences.retain(|one| !unwritten.iter().any(|lack| one.is_lack_of(lack)));
    for difference in differences
        .iter_mut()
        .filter(|one| one.table == Some(Table::QueryRules))
    {
        let is_inactive = inactive.iter().any(|(id, _)| id.to_string() == difference.what);
        difference.why =
            is_inactive.then_some("it is written and not active, because the compiler refuses it");
    }
    let (secrets, environment) = secrets(file, &draft);
    Ok(Adopted {
        not_covered: proof::limits(&source, built.configuration()),
        built,
        secrets,
        environment,
        unwritten,
        proof,
        differences,
        lifted,
        inactive,
    })
}

/// Whether a difference is one of rules, or of rows that go with the flags of rules.
fn is_of_rules(difference: &Difference) -> bool {
    matches!(
        difference.table,
        Some(Table::QueryRules | Table::FastRouting | Table::FirewallRules)
    )
}

/// Compiles a draft. A rule that the compiler refuses stays in the project, and is not active.
fn settle(draft: &mut Draft, inactive: &mut Vec<(u32, String)>) -> Result<Built, AdoptError> {
    loop {
        let refused = match build::build(draft) {
            Ok(built) => return Ok(built),
            Err(refused) => refused,
        };
        let mut changed = false;
        for (error, at) in refused.errors.iter().zip(&refused.rules) {
            let rule: Option<&mut RuleDraft> = at.and_then(|at| draft.rules.get_mut(at));
            let Some(rule) = rule.filter(|rule| rule.is_active) else {
                continue;
            };
            rule.is_active = false;
            rule.comment = vec![format!("not active: {}", error.message)];
            inactive.push((rule.id, error.message.clone()));
            changed = true;
        }
        if !changed {
            return Err(AdoptError::NotAProject(refused.errors));
        }
    }
}

/// The secrets that go into files, and the variables that references of the project name.
fn secrets(file: &RuleFile, draft: &Draft) -> (Vec<(String, Secret)>, Vec<String>) {
    let (mut files, mut variables) = (Vec::new(), Vec::new());
    let of_users = draft.users.iter().map(|user| {
        let known = file.beside.passwords.get(&user.name);
        (user.password.as_ref(), known)
    });
    let of_monitor = draft.monitor.iter().map(|monitor| {
        let known = file.beside.monitor_password.as_ref();
        (monitor.password.as_ref(), known)
    });
    let of_target = draft.target.iter().map(|target| (Some(&target.password), None));
    for (reference, known) in of_users.chain(of_monitor).chain(of_target) {
        match (reference, known) {
            (Some(SecretReference::File(path)), Some(secret)) => files.push((path.clone(), secret.clone())),
            (Some(SecretReference::Env(name)), _) => variables.push(name.clone()),
            _ => {}
        }
    }
    variables.sort_unstable();
    variables.dedup();
    (files, variables)
}
