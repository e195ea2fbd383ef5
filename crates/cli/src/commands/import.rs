//! `import`: an existing rule set as a project.

mod report;
mod source;
mod written;

use std::path::Path;

use shardwright_adopt::{AdoptError, Options, Proof, Secrets, adopt};

use crate::args::{Adoption, Global, Import, SecretPlace};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::missing_attributes;
use crate::ui::Ui;

pub(crate) fn run(args: &Import, _: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    write_project(&args.source, &args.adoption, &args.output, ui)
}

/// Writes the rule set of a source as a project.
pub(super) fn write_project(
    source: &str,
    adoption: &Adoption,
    directory: &Path,
    ui: &Ui,
) -> Result<Exit, CommandError> {
    let source = source::read(source, adoption, ui)?;
    let options = Options {
        secrets: match adoption.secrets {
            SecretPlace::Files => Secrets::Files,
            SecretPlace::Env => Secrets::Environment,
        },
        project: name_of(directory),
        target: source.target.clone(),
        only_exact: adoption.only_exact,
    };
    let adopted = adopt(&source.file, &options).map_err(no_project)?;
    let attributes = missing_attributes(directory);
    let files = written::write(&adopted, directory)?;
    if let Some(attributes) = attributes {
        ui.status(&attributes);
    }
    report::print(&source, &adopted, directory, &files, ui)?;
    Ok(match (&adopted.proof, report::open(&source).is_empty()) {
        (Proof::Different(_), _) => Exit::Findings,
        (Proof::Open(_), _) | (Proof::Equal, false) => Exit::Undecided,
        (Proof::Equal, true) => Exit::Done,
    })
}

/// The last part of a directory's path; empty for the root.
fn name_of(directory: &Path) -> String {
    let whole = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    whole
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn no_project(error: AdoptError) -> CommandError {
    match error {
        AdoptError::NotAProject(_) => {
            let message = format!("{error}; nothing was written");
            CommandError::new(Exit::BadDocument, message)
                .hint("change the row at the source, or import a dump without it")
        }
        AdoptError::Rows(_) => CommandError::new(Exit::BadDocument, error.to_string()),
    }
}
