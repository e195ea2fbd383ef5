//! Secrets of the project file.

use shardwright_rules::SecretReference;
use shardwright_secrets::{Access, Secret, resolve};
use shardwright_topology::model;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::Opened;

/// A secret of the project file; `what` says which in messages.
pub(crate) fn secret(
    opened: &Opened,
    what: &str,
    source: &model::SecretSource,
) -> Result<Secret, CommandError> {
    let reference = reference(what, source)?;
    resolve(&reference, &Access::from(&opened.directory))
        .map_err(|error| CommandError::failed(format!("{what}: {error}")))
}

/// A reference to a secret of the project file; `what` says which in messages.
pub(crate) fn reference(what: &str, source: &model::SecretSource) -> Result<SecretReference, CommandError> {
    Ok(match source {
        model::SecretSource::Env(name) => SecretReference::Env(name.to_string()),
        model::SecretSource::File(path) => SecretReference::File(path.to_string()),
        model::SecretSource::Literal(_) => {
            let message = format!("{what} is plain text, and is not used");
            return Err(CommandError::new(Exit::BadProject, message)
                .hint("write password: {env: NAME}, {file: PATH} or {command: [...]}"));
        }
        model::SecretSource::Command(words) => {
            SecretReference::Command(words.iter().map(ToString::to_string).collect())
        }
    })
}
