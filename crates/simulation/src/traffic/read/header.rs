//! The three lines that servers write when they open a log: at a start, and after FLUSH LOGS in the middle of a file.

use memchr::memmem;

/// The line that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    #[default]
    Version,
    Ports,
    Columns,
}

/// Recognises the lines of a header.
#[derive(Debug, Default)]
pub(super) struct Header {
    expected: Expected,
}

/// What a line is to the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its first line: the server has opened the log.
    First,
    /// Another line of it.
    Other,
    /// No line of it.
    None,
}

impl Header {
    pub(super) fn part(&mut self, line: &[u8]) -> Part {
        if line.ends_with(b". started with:") && memmem::find(line, b", Version: ").is_some() {
            self.expected = Expected::Ports;
            return Part::First;
        }
        let is_columns = line.starts_with(b"Time") && line.trim_ascii_end().ends_with(b"Argument");
        let (is_part, next) = match self.expected {
            Expected::Version => return Part::None,
            Expected::Columns => (is_columns, Expected::Version),
            Expected::Ports if is_columns => (true, Expected::Version),
            // Windows writes `TCP Port`.
            Expected::Ports => {
                let is_ports = line.len() >= 9 && line[..9].eq_ignore_ascii_case(b"tcp port:");
                (is_ports, Expected::Columns)
            }
        };
        self.expected = if is_part { next } else { Expected::Version };
        if is_part { Part::Other } else { Part::None }
    }
}
