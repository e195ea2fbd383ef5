//! Logs of recorded statements, as `traffic diff` and `prove` read them.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use shardwright_simulation::traffic::{self, Format as LogFormat, ReadError, Record, Unread};

use crate::args::LogKind;
use crate::error::{CommandError, unreadable};
use crate::exit::Exit;
use crate::ui::{Ui, counted};

/// How much of a log is read to detect its format.
const BEGINNING: usize = 64 << 10;

/// A log that was read.
pub(crate) struct Read {
    pub(crate) unread: Unread,
    /// Name of its format.
    pub(crate) format: &'static str,
    pub(crate) records: u64,
}

/// Reads a log record by record.
pub(crate) fn read(
    path: &Path,
    kind: LogKind,
    ui: &Ui,
    mut take: impl FnMut(&Record<'_>),
) -> Result<Read, CommandError> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let bar = match ui.shows_progress() && std::io::stderr().is_terminal() && length > 0 {
        true => ProgressBar::new(length).with_style(
            ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec}")
                .expect("the template is valid"),
        ),
        false => ProgressBar::hidden(),
    };
    let mut source = BufReader::with_capacity(BEGINNING, bar.wrap_read(file));
    let format = match kind {
        LogKind::Auto => traffic::detect(source.fill_buf().map_err(|error| unreadable(path, &error))?),
        LogKind::Digests => LogFormat::Digests,
        LogKind::DigestDump => LogFormat::DigestDump,
        LogKind::General => LogFormat::General,
        LogKind::Slow => LogFormat::Slow,
        LogKind::Queries => LogFormat::Queries,
    };
    let mut records: u64 = 0;
    let unread = traffic::read(source, format, |record| {
        records += 1;
        take(record);
    })
    .map_err(|error| match error {
        ReadError::Io(error) => unreadable(path, &error),
        error => CommandError::new(
            Exit::BadDocument,
            format!("{} is not a {}: {error}", path.display(), format.name()),
        ),
    })?;
    bar.finish_and_clear();
    if records == 0 {
        let path = path.display();
        let message = match unread.lines {
            0 => format!("{path} contains no statement"),
            lines => format!(
                "{path} was read as a {}, and none of its {lines} lines is a statement",
                format.name()
            ),
        };
        return Err(CommandError::new(Exit::BadDocument, message).hint("--log-format sets the format"));
    }
    ui.status(&format!(
        "{}: {}, {}",
        path.display(),
        format.name(),
        counted(usize::try_from(records).unwrap_or(usize::MAX), "record")
    ));
    Ok(Read {
        unread,
        format: format.name(),
        records,
    })
}
