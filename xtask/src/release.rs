//! The release build, optimised for what the proxy was seen to do.
//!
//! `crates/cli/shardwright-VERSION.profdata` says how often each part of the program ran in a training. With it the compiler
//! lays out what runs for every statement together, and what seldom runs elsewhere. The names in it are of one version of Rust
//! and of one choice of packages, so there is one file for each version, and the program is always built alone
//! (docs/decisions/0072-release-builds-have-a-profile.md).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::edges;

/// The tools of the compiler's own LLVM, as rustup calls them.
const LLVM_TOOLS: &str = "llvm-tools";

/// How LLVM uses the profile. The first has it work out from the counts how often each part of an `async` function runs: these have jumps into the
/// middle of loops, for which it guesses otherwise, and takes what every statement runs for what seldom runs. The second moves out of a
/// function what seldom runs, and the third lays parts that run one after the other side by side.
const LAYOUT: [&str; 3] = [
    "-use-iterative-bfi-inference",
    "-enable-split-machine-functions",
    "-enable-ext-tsp-block-placement",
];

/// The cargo that runs this program; the one that compiled it may be another.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}

/// Builds the program with its profile. Gives the folder where it is.
pub(crate) fn build(root: &Path) -> io::Result<PathBuf> {
    let compiler = Compiler::of(root)?;
    let profile = compiler.profile(root);
    if !profile.is_file() {
        return Err(io::Error::other(format!(
            "there is no profile for Rust {} ({}): make it with `cargo xtask profile`",
            compiler.release,
            profile.display()
        )));
    }
    let target = edges::target_directory(root)?;
    // Functions that have changed since are compiled without it.
    let flags = [
        format!("-Cprofile-use={}", profile.display()),
        format!("-Cllvm-args=-no-pgo-warn-mismatch {}", LAYOUT.join(" ")),
    ];
    compiler.build(root, &target, &flags)
}

/// Makes the profile anew. Gives its path.
pub(crate) fn train(root: &Path) -> io::Result<PathBuf> {
    let compiler = Compiler::of(root)?;
    succeed(
        Command::new("rustup")
            .current_dir(root)
            .args(["component", "add", LLVM_TOOLS]),
    )?;
    let target = edges::target_directory(root)?;
    let counts = target.join("counts");
    if counts.exists() {
        fs::remove_dir_all(&counts)?;
    }
    let flags = [format!("-Cprofile-generate={}", counts.display())];
    let counting = compiler.build(root, &target.join("counting"), &flags)?;
    // Whoever only drives it need not be fast.
    succeed(cargo(root).args([
        "build",
        "--quiet",
        "--locked",
        "--package",
        "shardwright-bench",
        "--bins",
    ]))?;
    let driver = target.join("debug/bench");
    succeed(
        Command::new(driver)
            .current_dir(root)
            .arg("train")
            .arg(counting.join("shardwright")),
    )?;
    let profile = compiler.profile(root);
    succeed(
        Command::new(compiler.tool("llvm-profdata"))
            .args(["merge", "--sparse", "--output"])
            .args([&profile, &counts]),
    )?;
    for other in profiles(root)?.iter().filter(|other| **other != profile) {
        fs::remove_file(other)?;
    }
    Ok(profile)
}

/// The profiles that are there.
fn profiles(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(root))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "profdata") {
            found.push(path);
        }
    }
    Ok(found)
}

fn folder(root: &Path) -> PathBuf {
    root.join("crates/cli")
}

/// The compiler of the repository's toolchain.
struct Compiler {
    /// Such as 1.95.0.
    release: String,
    /// The platform that it runs on, and builds for.
    host: String,
    root: PathBuf,
}

impl Compiler {
    fn of(root: &Path) -> io::Result<Self> {
        let ask = |question: &[&str]| -> io::Result<String> {
            let output = Command::new("rustc").current_dir(root).args(question).output()?;
            String::from_utf8(output.stdout).map_err(io::Error::other)
        };
        let version = ask(&["--version", "--verbose"])?;
        let field = |name: &str| {
            let line = version.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::to_owned)
                .ok_or_else(|| io::Error::other(format!("rustc --version --verbose does not tell {name}")))
        };
        Ok(Self {
            release: field("release: ")?,
            host: field("host: ")?,
            root: ask(&["--print", "sysroot"])?.trim().into(),
        })
    }

    fn profile(&self, root: &Path) -> PathBuf {
        folder(root).join(format!("shardwright-{}.profdata", self.release))
    }

    fn tool(&self, name: &str) -> PathBuf {
        self.root
            .join("lib/rustlib")
            .join(&self.host)
            .join("bin")
            .join(name)
    }

    /// Builds the program alone into that target directory; gives the folder where it is. With a platform named, the flags
    /// are not for what runs while it is built.
    fn build(&self, root: &Path, target: &Path, flags: &[String]) -> io::Result<PathBuf> {
        let flags: OsString = flags.join("\u{1f}").into();
        succeed(
            cargo(root)
                .env_remove("RUSTFLAGS")
                .env("CARGO_ENCODED_RUSTFLAGS", flags)
                .args(["build", "--locked", "--release", "--package", "shardwright"])
                .args(["--target", &self.host, "--target-dir"])
                .arg(target),
        )?;
        Ok(target.join(&self.host).join("release"))
    }
}

/// Runs a program; another end than a good one is an error.
pub(crate) fn succeed(command: &mut Command) -> io::Result<()> {
    let status = command.status().map_err(|error| {
        let program = command.get_program().display();
        io::Error::new(error.kind(), format!("{program}: {error}"))
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{} ended with {status}",
            command.get_program().display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_toolchain_has_a_profile_and_no_other_has() {
        let root = crate::root();
        let profile = Compiler::of(&root).unwrap().profile(&root);
        assert_eq!(
            profiles(&root).unwrap(),
            [profile],
            "another Rust: `cargo xtask profile`"
        );
    }
}
