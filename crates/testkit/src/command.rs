//! The `shardwright` program run in a directory and environment of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tempfile::TempDir;

use crate::guarded::GuardedProcess;
use crate::normalise::Normaliser;

/// The admin password of every proxy started in a [`CommandEnvironment`], and of every command run in it.
pub const ADMIN_PASSWORD: &str = "test-admin-password";

/// Where a command that hangs stops a test.
const ENDS_WITHIN: Duration = Duration::from_secs(120);

/// A project directory, a home directory and variables, all new: nothing of the user's environment reaches the
/// program, and two runs print the same.
#[derive(Debug)]
pub struct CommandEnvironment {
    program: PathBuf,
    directory: TempDir,
    variables: BTreeMap<String, String>,
    normaliser: Normaliser,
}

impl CommandEnvironment {
    /// An empty project for `program`, usually `env!("CARGO_BIN_EXE_shardwright")`.
    ///
    /// # Errors
    /// Fails when the directories cannot be made.
    pub fn new(program: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("sw-cli-").tempdir()?;
        let project = directory.path().join("project");
        let home = directory.path().join("home");
        fs::create_dir(&project)?;
        fs::create_dir(&home)?;
        let mut normaliser = Normaliser::default();
        normaliser.replace_path(&project, "$PROJECT");
        normaliser.replace_path(&home, "$HOME");
        normaliser.replace_path(directory.path(), "$TMP");
        let fixed = [
            ("PATH", "/usr/bin:/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
            ("TERM", "xterm"),
            ("COLUMNS", "110"),
            ("NO_COLOR", "1"),
            ("SHARDWRIGHT_ADMIN_PASSWORD", ADMIN_PASSWORD),
        ];
        let mut variables: BTreeMap<String, String> = fixed
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        variables.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
        // Coverage of a child process is lost if it does not know where to write.
        if let Ok(profile) = std::env::var("LLVM_PROFILE_FILE") {
            variables.insert("LLVM_PROFILE_FILE".to_owned(), profile);
        }
        Ok(Self {
            program: program.into(),
            directory,
            variables,
            normaliser,
        })
    }

    /// The directory commands run in.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// A path beside the project, for data directories and plans that are no part of it.
    #[must_use]
    pub fn outside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file of the project, with the directories it needs.
    ///
    /// # Errors
    /// Fails when it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
        let path = self.project().join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)
    }

    /// Reads a file of the project.
    ///
    /// # Errors
    /// Fails when it cannot be read as UTF-8.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<String> {
        fs::read_to_string(self.project().join(path))
    }

    /// Sets a variable for everything started from here on.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    /// What is replaced in captured output.
    pub fn normaliser(&mut self) -> &mut Normaliser {
        &mut self.normaliser
    }

    /// The program in this environment, not started.
    #[must_use]
    pub fn command(&self) -> Command {
        self.command_under(&[])
    }

    /// The same with words before the program, which must end by replacing themselves.
    #[must_use]
    pub fn command_under(&self, wrapper: &[String]) -> Command {
        let mut words = wrapper
            .iter()
            .map(AsRef::as_ref)
            .chain([self.program.as_os_str()]);
        let mut command = Command::new(words.next().expect("the program is always there"));
        command
            .args(words)
            .current_dir(self.project())
            .env_clear()
            .envs(&self.variables);
        command
    }

    /// Runs the program with `arguments` to its end.
    ///
    /// # Errors
    /// Fails when it cannot be started or does not end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> io::Result<CommandOutput> {
        self.start(arguments)?.finish()
    }

    /// Runs the program with `arguments` and `input` on its standard input, which is otherwise empty.
    ///
    /// # Errors
    /// Fails when it cannot be started or does not end.
    pub fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> io::Result<CommandOutput> {
        // A file, not a pipe: a command that does not read its input cannot stop the test.
        let mut file = tempfile::tempfile_in(self.directory.path())?;
        file.write_all(input)?;
        file.rewind()?;
        let mut command = self.command();
        command.args(arguments).stdin(file);
        self.start_command(&mut command)?.finish()
    }

    /// Starts the program with `arguments`; several can run at once.
    ///
    /// # Errors
    /// Fails when it cannot be started.
    pub fn start<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> io::Result<RunningCommand> {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::null());
        self.start_command(&mut command)
    }

    fn start_command(&self, command: &mut Command) -> io::Result<RunningCommand> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = GuardedProcess::spawn(command, self.directory.path())?;
        let stdout = collect(process.take_stdout().expect("stdout was piped"));
        let stderr = collect(process.take_stderr().expect("stderr was piped"));
        Ok(RunningCommand {
            process,
            stdout,
            stderr,
            normaliser: self.normaliser.clone(),
        })
    }
}

/// Reads to the end on a thread, so that neither pipe can fill while the other is waited for.
fn collect(mut source: impl Read + Send + 'static) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

/// A command that has been started and not yet waited for; killed when dropped.
#[derive(Debug)]
pub struct RunningCommand {
    process: GuardedProcess,
    stdout: JoinHandle<io::Result<Vec<u8>>>,
    stderr: JoinHandle<io::Result<Vec<u8>>>,
    normaliser: Normaliser,
}

impl RunningCommand {
    /// The process, to signal it.
    #[must_use]
    pub fn process(&self) -> &GuardedProcess {
        &self.process
    }

    /// Waits for the command to end.
    ///
    /// # Errors
    /// Fails when it does not end or its output cannot be read.
    pub fn finish(mut self) -> io::Result<CommandOutput> {
        let status = self.process.wait(ENDS_WITHIN)?;
        let read = |thread: JoinHandle<io::Result<Vec<u8>>>| {
            let bytes = thread
                .join()
                .map_err(|_| io::Error::other("the reading thread panicked"))??;
            Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(CommandOutput {
            status,
            stdout: self.normaliser.apply(&read(self.stdout)?),
            stderr: self.normaliser.apply(&read(self.stderr)?),
        })
    }
}

/// How a command ended, normalised; `Display` gives the form for snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl CommandOutput {
    /// The exit code; `None` when a signal ended the command.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The output of a command that must have ended with 0.
    ///
    /// # Panics
    /// When it did not; the message holds everything it printed.
    #[must_use]
    #[track_caller]
    pub fn success(self) -> Self {
        assert!(self.status.success(), "the command failed:\n{self}");
        self
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code() {
            Some(code) => writeln!(out, "exit: {code}")?,
            None => writeln!(out, "{}", self.status)?,
        }
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(out, "--- {name}")?;
                out.write_str(text)?;
                if !text.ends_with('\n') {
                    writeln!(out)?;
                }
            }
        }
        Ok(())
    }
}
