//! The words of a command line before they are parsed: how a line that cannot be parsed is to be reported.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ColorChoice, CommandFactory, ValueEnum};

use super::{Args, Color, Format, Global};

/// The words behind the name of the program.
pub(crate) struct UncheckedWords(Vec<String>);

impl UncheckedWords {
    pub(crate) fn of(words: impl Iterator<Item = OsString>) -> Self {
        Self(words.map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// The values of a flag, as `--flag VALUE` or `--flag=VALUE`; what stands behind `--` is no flag.
    fn values(&self, flag: &str) -> Vec<&str> {
        let flags = self.0.iter().take_while(|word| *word != "--");
        let following = self.0.iter().skip(1).map(Some).chain([None]);
        let values = flags.zip(following).filter_map(|(word, next)| {
            if word == flag {
                next.map(String::as_str)
            } else {
                word.strip_prefix(flag)?.strip_prefix('=')
            }
        });
        values.collect()
    }

    fn value<V: ValueEnum + Default>(&self, flag: &str) -> V {
        let last = self.values(flag).pop();
        last.and_then(|value| V::from_str(value, false).ok())
            .unwrap_or_default()
    }

    /// The command that was meant; empty if none was named.
    pub(crate) fn command(&self) -> String {
        let known = Args::command();
        let named = self.0.iter().find(|word| known.find_subcommand(word).is_some());
        named.cloned().unwrap_or_default()
    }

    /// When the parser may use colour.
    pub(crate) fn color_choice(&self) -> ColorChoice {
        match self.value("--color") {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
    }

    /// Where a failure is reported; a report that cannot be parsed is left out.
    pub(crate) fn global(&self) -> Global {
        let reports = self.values("--report").into_iter();
        Global {
            directory: PathBuf::from("."),
            environment: None,
            variables: Vec::new(),
            format: self.value::<Format>("--format"),
            color: self.value("--color"),
            reports: reports.filter_map(|report| report.parse().ok()).collect(),
            annotate: self
                .values("--annotate")
                .pop()
                .and_then(|value| ValueEnum::from_str(value, false).ok()),
            notes: false,
            quiet: false,
            verbose: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_a_line_that_cannot_be_parsed() {
        let words = |line: &str| UncheckedWords::of(line.split(' ').map(OsString::from));
        let read = words("--format=json lint --nonsense --report junit=a.xml --report bad --color never");
        let global = read.global();
        assert_eq!((global.format, global.reports.len()), (Format::Json, 1));
        assert_eq!(read.command(), "lint");
        assert_eq!(read.color_choice(), ColorChoice::Never);
        let none = words("route -- --format json --color").global();
        assert_eq!((none.format, none.color), (Format::Human, Color::Auto));
    }
}
