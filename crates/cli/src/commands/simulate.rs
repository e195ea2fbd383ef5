//! `simulate`: a recorded series of a signal, and what a throttle makes of it.

mod page;
mod terminal;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use shardwright_rules::throttle::{Change, Signal, SignalSource};
use shardwright_rules::{Body, Configuration, EngineId, NativeStep, Throttle};
use shardwright_simulation::replay::{self, ReadOptions, Replay, Series, Unit};

use crate::args::{Format, Global, LagUnit, Simulate};
use crate::error::{CommandError, unreadable};
use crate::exit::Exit;
use crate::files::replace_file;
use crate::project;
use crate::ui::Ui;

/// Parts that a page and programs get.
const PARTS: usize = 600;

/// What is shown: a throttle and its replay.
struct Simulated {
    /// `throttles.NAME`
    address: String,
    throttle: Arc<Throttle>,
    signal: Signal,
    replay: Replay,
}

/// What must be said with every picture.
const OPEN_LOOP: &str = "A recorded signal does not fall because statements wait. The first start is what would have happened; what \
                         follows is what the series asks for, and no forecast.";

pub(crate) fn run(args: &Simulate, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let built = opened.build_to_ask(EngineId::Bundled, ui)?;
    let address = match args.throttle.strip_prefix("throttles.") {
        Some(_) => args.throttle.clone(),
        None => format!("throttles.{}", args.throttle),
    };
    let throttle = found(&built.compiled.configuration, &address)?;
    let Some(signal) = throttle.signal.clone() else {
        let message = format!("{address} has no signal: there is nothing to replay");
        return Err(CommandError::failed(message));
    };
    let series = series(args, &signal.source)?;
    let is_shown = args.output.is_none() && ui.format() != Format::Json;
    let parts = if is_shown { terminal::WIDTH } else { PARTS };
    let simulated = Simulated {
        replay: replay::replay(&throttle, &series, parts),
        address,
        throttle,
        signal,
    };
    match (&args.output, ui.format()) {
        (Some(path), _) => {
            replace_file(path, page::page(&simulated).as_bytes())?;
            ui.status(&format!("wrote {}", path.display()));
        }
        (None, Format::Json) => ui.json(&simulated.document())?,
        (None, Format::Human) => ui.data(&terminal::chart(&simulated))?,
        (None, Format::Markdown) => ui.data(&format!("```text\n{}```\n", terminal::chart(&simulated)))?,
    }
    Ok(Exit::Done)
}

/// A throttle of a configuration.
fn found(configuration: &Configuration, address: &str) -> Result<Arc<Throttle>, CommandError> {
    let throttles = || {
        let rules = configuration.graph.rules.iter();
        rules.filter_map(|rule| match &rule.body {
            Body::Native {
                step: NativeStep::Throttle(throttle),
                ..
            } => Some((rule.address.as_str(), throttle)),
            _ => None,
        })
    };
    let found = throttles().find(|(name, _)| *name == address);
    found.map(|(_, throttle)| throttle.clone()).ok_or_else(|| {
        let mut names: Vec<&str> = throttles().map(|(name, _)| name).collect();
        names.dedup();
        let hint = match names.is_empty() {
            true => "the project has none".to_owned(),
            false => format!("those with a signal or a limit are {}", names.join(", ")),
        };
        CommandError::usage(format!("there is no throttle {address} with a signal")).hint(hint)
    })
}

fn series(args: &Simulate, source: &SignalSource) -> Result<Series, CommandError> {
    let path = &args.series;
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let options = ReadOptions {
        column: args.column.clone(),
        is_lag: *source == SignalSource::ReplicationLag,
        unit: args.unit.map(|unit| match unit {
            LagUnit::S => Unit::Seconds,
            LagUnit::Ms => Unit::Milliseconds,
        }),
    };
    Series::read(file, &options).map_err(|error| {
        let message = format!("{} is no series: {error}", path.display());
        let error = CommandError::new(Exit::BadDocument, message);
        match options.is_lag && options.unit.is_none() {
            true => error.hint("--unit s or --unit ms says what lag is recorded in"),
            false => error,
        }
    })
}

impl Simulated {
    /// A value of the signal as people read it.
    fn said(&self, value: f64) -> String {
        self.signal.source.said(value)
    }

    /// What happened, in one line.
    fn summary(&self) -> String {
        let replay = &self.replay;
        let starts = replay.changes.iter();
        let starts = starts.filter(|changed| changed.change == Change::Started).count();
        let mut said = match starts {
            0 => format!("in {}, it never starts", duration(replay.lasts)),
            _ => format!(
                "in {}, it starts {}, and is started for {} ({} of the time); the delay is {} on average, and {} at most",
                duration(replay.lasts),
                times(starts),
                duration(replay.started),
                share(replay.started, replay.lasts),
                duration(replay.mean_delay),
                duration(replay.greatest_delay)
            ),
        };
        if !replay.unknown.is_zero() {
            said += &format!(
                "; {} is not known for {}",
                self.signal.source.name(),
                duration(replay.unknown)
            );
        }
        said
    }

    fn document(&self) -> Document<'_> {
        let seconds = |duration: Duration| duration.as_secs_f64();
        let ms = |duration: Duration| (duration.as_secs_f64() * 1e6).round() / 1000.0;
        let replay = &self.replay;
        Document {
            throttle: &self.address,
            signal: self.signal.source.name(),
            start_above: self.signal.start_above.get(),
            stop_below: self.signal.stop_below.get(),
            lasts_s: seconds(replay.lasts),
            started_s: seconds(replay.started),
            unknown_s: seconds(replay.unknown),
            mean_delay_ms: ms(replay.mean_delay),
            greatest_delay_ms: ms(replay.greatest_delay),
            changes: replay
                .changes
                .iter()
                .map(|changed| DocumentChange {
                    at_s: seconds(changed.at),
                    change: word(changed.change),
                    value: changed.value,
                })
                .collect(),
            parts: replay
                .parts
                .iter()
                .map(|part| DocumentPart {
                    at_s: seconds(part.at),
                    value: part.value,
                    started: part.is_started,
                    delay_ms: ms(part.delay),
                })
                .collect(),
        }
    }
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Started => "started",
        Change::Stopped => "stopped",
        Change::Released => "released",
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

fn share(part: Duration, whole: Duration) -> String {
    format!("{:.0} %", 100.0 * part.as_secs_f64() / whole.as_secs_f64())
}

/// `4.2 ms`, `12 s`, `3 min 20 s`, `5 h 2 min`
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = duration.as_secs();
    match seconds {
        ..1.0 => format!("{} ms", (seconds * 10_000.0).round() / 10.0),
        ..120.0 => format!("{} s", (seconds * 10.0).round() / 10.0),
        ..7200.0 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// What programs get. Lag is in milliseconds.
#[derive(Serialize)]
struct Document<'a> {
    throttle: &'a str,
    signal: &'a str,
    start_above: f64,
    stop_below: f64,
    lasts_s: f64,
    started_s: f64,
    unknown_s: f64,
    mean_delay_ms: f64,
    greatest_delay_ms: f64,
    changes: Vec<DocumentChange>,
    parts: Vec<DocumentPart>,
}

#[derive(Serialize)]
struct DocumentChange {
    at_s: f64,
    change: &'static str,
    value: Option<f64>,
}

#[derive(Serialize)]
struct DocumentPart {
    at_s: f64,
    value: Option<f64>,
    started: bool,
    delay_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_two_units_at_most() {
        let said = |ms| duration(Duration::from_millis(ms));
        assert_eq!(said(4), "4 ms");
        assert_eq!(said(61_250), "61.3 s");
        assert_eq!(said(200_000), "3 min 20 s");
        assert_eq!(said(18_120_000), "5 h 2 min");
    }
}
