//! An empty data directory, made once per machine and server version, and copied for each server.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{User, geteuid};
use tempfile::TempDir;

use super::launch::program_path;
use super::{Flavour, LaunchError};

/// A directory for a server, which any user may enter.
pub(super) fn new_directory() -> Result<TempDir, LaunchError> {
    // A short name: the path of a unix socket has 107 bytes at most.
    let directory = tempfile::Builder::new()
        .prefix("sw-")
        .tempdir()
        .map_err(LaunchError::io("making a directory"))?;
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))
        .map_err(LaunchError::io("opening the directory to the server's user"))?;
    Ok(directory)
}

/// Puts a server's first files where nothing is, owned by the user the server will run as.
pub(super) fn fill(flavour: &Flavour, data: &Path) -> Result<(), LaunchError> {
    let template = template(flavour)?;
    let owner = server_user()?;
    data.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| copy_tree(&template, data, owner))
        .map_err(LaunchError::io(format!("copying {}", template.display())))
}

/// The user and group `mariadbd` changes to when it is started by root.
fn server_user() -> Result<Option<(u32, u32)>, LaunchError> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let user = User::from_name("mysql").map_err(|error| LaunchError::io("user mysql")(error.into()))?;
    let user = user.ok_or_else(|| LaunchError::io("user mysql")(io::Error::from(io::ErrorKind::NotFound)))?;
    Ok(Some((user.uid.as_raw(), user.gid.as_raw())))
}

/// Which server of MySQL's it is. Without the file, a server makes itself another identity, and two can replicate.
const IDENTITY: &str = "auto.cnf";

fn copy_tree(from: &Path, to: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() == IDENTITY {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target, owner)?;
        } else {
            fs::copy(entry.path(), &target)?;
            own(&target, owner)?;
        }
    }
    own(to, owner)
}

fn own(path: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    owner.map_or(Ok(()), |(user, group)| chown(path, Some(user), Some(group)))
}

/// The template's path; makes it when it is not there. Concurrent test processes wait for the one that makes it.
fn template(flavour: &Flavour) -> Result<PathBuf, LaunchError> {
    let root = template_root()?;
    let path = root.join(server_fingerprint(flavour)?);
    let lock = File::create(root.join("lock")).map_err(LaunchError::io("the template's lock"))?;
    lock.lock().map_err(LaunchError::io("the template's lock"))?;
    if !path.exists() {
        make_template(flavour, &root, &path)?;
    }
    Ok(path)
}

/// A directory of this user only, kept between runs.
fn template_root() -> Result<PathBuf, LaunchError> {
    let user = geteuid();
    let root = std::env::temp_dir().join(format!("shardwright-mariadb-{user}"));
    let failed = || LaunchError::io(format!("{}", root.display()));
    match fs::create_dir(&root) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed()(error)),
        _ => {}
    }
    let metadata = fs::symlink_metadata(&root).map_err(failed())?;
    if !metadata.is_dir() || metadata.uid() != user.as_raw() {
        return Err(failed()(io::Error::other("belongs to somebody else")));
    }
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).map_err(failed())?;
    Ok(root)
}

/// Another server or other arguments give another template.
fn server_fingerprint(flavour: &Flavour) -> Result<String, LaunchError> {
    let output = Command::new(flavour.program())
        .arg("--version")
        .env("PATH", program_path())
        .output()
        .map_err(LaunchError::io(
            "mariadbd --version (Debian: apt-get install mariadb-server)",
        ))?;
    let version = String::from_utf8_lossy(&output.stdout);
    let mut hasher = DefaultHasher::new();
    (version.as_ref(), flavour.install_arguments()).hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

fn make_template(flavour: &Flavour, root: &Path, path: &Path) -> Result<(), LaunchError> {
    let draft = tempfile::Builder::new()
        .prefix("draft-")
        .tempdir_in(root)
        .map_err(LaunchError::io("a directory for the template"))?;
    fs::set_permissions(draft.path(), fs::Permissions::from_mode(0o755))
        .map_err(LaunchError::io("opening the template to the server's user"))?;
    let owner = server_user()?;
    let data = draft.path().join("data");
    fs::create_dir(&data)
        .and_then(|()| own(&data, owner))
        .map_err(LaunchError::io("a directory for the template"))?;
    let output = flavour
        .install(&data)
        .env("PATH", program_path())
        .output()
        .map_err(LaunchError::io(
            "mariadb-install-db (Debian: apt-get install mariadb-server)",
        ))?;
    if !output.status.success() {
        let output_text = [output.stdout, output.stderr].concat();
        return Err(LaunchError::Template {
            status: output.status,
            output: String::from_utf8_lossy(&output_text).into_owned(),
        });
    }
    fs::rename(&data, path).map_err(LaunchError::io("keeping the template"))
}
