//! A recorded series: when, and what the signal was.

use std::io::Read;
use std::time::Duration;

use csv::{ReaderBuilder, StringRecord};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use shardwright_rules::throttle::Reading;

/// The largest file, bytes, and the longest time.
const LARGEST: u64 = 64 << 20;
const LONGEST: Duration = Duration::from_secs(7 * 86_400);
/// A value counts until the next one, unless that is missing for longer than so many usual steps.
const STEPS: u32 = 3;
/// What monitors of the proxy take for fresh: a value counts for so long in any case.
const FRESH_FOR: Duration = Duration::from_secs(3);
/// Lag beyond this is nonsense, s; servers were seen to say 2e16.
const LARGEST_LAG_S: f64 = 10.0 * 365.0 * 86_400.0;

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Itself.
    Plain,
    /// Seconds of lag.
    Seconds,
    /// Milliseconds of lag.
    Milliseconds,
}

/// How a file is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The column of the values; `None`: the second.
    pub column: Option<String>,
    /// Whether the values are lag.
    pub is_lag: bool,
    /// What values count; `None`: what the name of the column says.
    pub unit: Option<Unit>,
}

/// A moment of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// From the first one.
    pub at: Duration,
    /// The value, lag in milliseconds; `None`: it was not known.
    pub value: Option<f64>,
}

/// A recorded series, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    samples: Vec<Sample>,
    /// For how long a value counts when no other follows.
    counts_for: Duration,
}

/// Why a file is no series.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// It cannot be read as rows.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// It is too large.
    #[error("it has more than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// It lasts too long.
    #[error("it lasts longer than {} days: give a part of it", LONGEST.as_secs() / 86_400)]
    TooLong,
    /// A row has no time.
    #[error("line {line}: expected a time, seconds or RFC 3339, found `{found}`")]
    Time {
        /// 1-based.
        line: u64,
        /// What is there.
        found: String,
    },
    /// Time goes back.
    #[error("line {line}: its time is before that of the line above")]
    Back {
        /// 1-based.
        line: u64,
    },
    /// There is no such column.
    #[error("it has no column `{wanted}`; its columns are {present}")]
    NoColumn {
        /// What was asked for.
        wanted: String,
        /// What there is.
        present: String,
    },
    /// Seconds or milliseconds?
    #[error("`{column}` does not say whether lag is in seconds or milliseconds")]
    NoUnit {
        /// The column.
        column: String,
    },
    /// Fewer than two samples.
    #[error("it has fewer than two rows")]
    Short,
}

impl Series {
    /// Reads rows of a time and values, separated by commas or tabs, with or without a line of names. What is no number is not
    /// known, and neither is lag that is negative or longer than ten years.
    ///
    /// # Errors
    /// [`SeriesError`]
    pub fn read(source: impl Read, options: &ReadOptions) -> Result<Self, SeriesError> {
        let mut text = Vec::new();
        source
            .take(LARGEST + 1)
            .read_to_end(&mut text)
            .map_err(csv::Error::from)?;
        if text.len() as u64 > LARGEST {
            return Err(SeriesError::TooLarge);
        }
        let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let delimiter = if first_line.contains(&b'\t') { b'\t' } else { b',' };
        let mut rows = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .delimiter(delimiter)
            .trim(csv::Trim::All)
            .from_reader(text.as_slice());
        let mut layout = None;
        let mut samples: Vec<Sample> = Vec::new();
        let mut began = None;
        for row in rows.records() {
            let row = row?;
            let Some(layout) = &layout else {
                let has_names = time(row.get(0).unwrap_or_default()).is_none();
                let found = Layout::of(&row, has_names, options)?;
                if !has_names {
                    push(&row, &found, &mut began, &mut samples)?;
                }
                layout = Some(found);
                continue;
            };
            push(&row, layout, &mut began, &mut samples)?;
        }
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
            return Err(SeriesError::Short);
        };
        match last.at.saturating_sub(first.at) {
            Duration::ZERO => Err(SeriesError::Short),
            lasts if lasts > LONGEST => Err(SeriesError::TooLong),
            _ => Ok(Self {
                counts_for: counts_for(&samples),
                samples,
            }),
        }
    }

    /// From the first to the last sample.
    #[must_use]
    pub fn lasts(&self) -> Duration {
        self.samples.last().map_or(Duration::ZERO, |last| last.at)
    }

    /// The samples, in the order of time.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// What was known, asked in the order of time.
    pub(super) fn readings(&self) -> Readings<'_> {
        Readings {
            series: self,
            next: 0,
        }
    }
}

/// What was known at moments that follow one another.
pub(super) struct Readings<'s> {
    series: &'s Series,
    next: usize,
}

impl Readings<'_> {
    pub(super) fn at(&mut self, at: Duration) -> Reading {
        let samples = &self.series.samples;
        while samples.get(self.next).is_some_and(|sample| sample.at <= at) {
            self.next += 1;
        }
        let last = self.next.checked_sub(1).and_then(|last| samples.get(last));
        let current = last.filter(|last| at.saturating_sub(last.at) <= self.series.counts_for);
        current
            .and_then(|sample| sample.value)
            .map_or(Reading::Unknown, Reading::of)
    }
}

/// Which column holds the values, and what they count.
struct Layout {
    column: usize,
    /// By what a value is multiplied.
    factor: f64,
    is_lag: bool,
}

impl Layout {
    fn of(first: &StringRecord, has_names: bool, options: &ReadOptions) -> Result<Self, SeriesError> {
        let column = match &options.column {
            None => 1,
            Some(wanted) => {
                let found = has_names.then(|| {
                    let mut names = first.iter();
                    names.position(|name| name.eq_ignore_ascii_case(wanted))
                });
                found.flatten().ok_or_else(|| SeriesError::NoColumn {
                    wanted: wanted.clone(),
                    present: match has_names {
                        true => first.iter().collect::<Vec<_>>().join(", "),
                        false => "not named".to_owned(),
                    },
                })?
            }
        };
        let name = first.get(column).filter(|_| has_names);
        let unit = match options.unit {
            Some(unit) => unit,
            None if !options.is_lag => Unit::Plain,
            None => name.and_then(unit_of).ok_or_else(|| SeriesError::NoUnit {
                column: name.unwrap_or("the second column").to_owned(),
            })?,
        };
        let factor = match unit {
            Unit::Plain | Unit::Milliseconds => 1.0,
            Unit::Seconds => 1000.0,
        };
        Ok(Self {
            column,
            factor,
            is_lag: options.is_lag,
        })
    }
}

/// What a column of lag counts, by its name. `reading` is that of the proxy's admin port.
fn unit_of(name: &str) -> Option<Unit> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "reading" => Some(Unit::Milliseconds),
        "seconds_behind_master" | "seconds_behind_source" => Some(Unit::Seconds),
        _ if name.ends_with("_ms") => Some(Unit::Milliseconds),
        _ if name.ends_with("_s") || name.ends_with("_seconds") => Some(Unit::Seconds),
        _ => None,
    }
}

fn push(
    row: &StringRecord,
    layout: &Layout,
    began: &mut Option<f64>,
    samples: &mut Vec<Sample>,
) -> Result<(), SeriesError> {
    let line = row.position().map_or(0, csv::Position::line);
    let written = row.get(0).unwrap_or_default();
    let seconds = time(written).ok_or_else(|| SeriesError::Time {
        line,
        found: written.to_owned(),
    })?;
    let since = seconds - *began.get_or_insert(seconds);
    let at = Duration::try_from_secs_f64(since).map_err(|_| SeriesError::Back { line })?;
    if samples.last().is_some_and(|last| last.at > at) {
        return Err(SeriesError::Back { line });
    }
    let value = row.get(layout.column).and_then(|value| value.parse::<f64>().ok());
    let value = value.map(|value| value * layout.factor).filter(|value| {
        let is_lag = (0.0..=LARGEST_LAG_S * 1000.0).contains(value);
        value.is_finite() && (!layout.is_lag || is_lag)
    });
    samples.push(Sample { at, value });
    Ok(())
}

/// From here on a number is a time in milliseconds, microseconds, nanoseconds since 1970: the same in seconds lies after the year
/// 5000.
const EPOCHS: [(f64, f64); 3] = [(1e17, 1e9), (1e14, 1e6), (1e11, 1e3)];

/// Seconds: a number, RFC 3339, or a date and a time without a zone.
fn time(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        let unit = EPOCHS.iter().find(|(from, _)| number >= *from);
        let seconds = unit.map_or(number, |(_, unit)| number / unit);
        return seconds.is_finite().then_some(seconds);
    }
    let timestamp = text.parse::<Timestamp>().ok().or_else(|| {
        let civil = text.parse::<DateTime>().ok()?;
        Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })?;
    Some(timestamp.as_microsecond() as f64 / 1e6)
}

fn counts_for(samples: &[Sample]) -> Duration {
    let mut steps: Vec<Duration> = samples
        .windows(2)
        .map(|pair| pair[1].at.saturating_sub(pair[0].at))
        .collect();
    steps.sort_unstable();
    let usual = steps.get(steps.len() / 2).copied().unwrap_or_default();
    (usual * STEPS).max(FRESH_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, options: &ReadOptions) -> Result<Vec<(u64, Option<f64>)>, String> {
        let series = Series::read(text.as_bytes(), options).map_err(|error| error.to_string())?;
        let samples = series.samples().iter();
        Ok(samples
            .map(|sample| (sample.at.as_millis() as u64, sample.value))
            .collect())
    }

    fn lag() -> ReadOptions {
        ReadOptions {
            is_lag: true,
            ..ReadOptions::default()
        }
    }

    #[test]
    fn series_are_read_as_they_are_recorded() {
        let expected = Ok(vec![(0, Some(3000.0)), (500, None), (1000, Some(0.0))]);
        for text in [
            "time,lag_s\n10,3\n10.5,NULL\n11,0\n",
            "time,lag_ms,other\n1795600000,3000,1\n1795600000.5,,1\n1795600001,0,1\n",
            "t,lag_s\n1795600000000,3\n1795600000500,\n1795600001000,0\n",
            "t,lag_s\n1795600000000000,3\n1795600000500000,\n1795600001000000,0\n",
            "t,lag_s\n1795600000000000000,3\n1795600000500000000,\n1795600001000000000,0\n",
            "at\treading\n2026-11-25T10:00:00Z\t3000.0\n2026-11-25T10:00:00.5Z\tNULL\n2026-11-25T10:00:01Z\t0\n",
            "# kept by hand\ntime,Seconds_Behind_Master\n2026-11-25 10:00:00,3\n2026-11-25 10:00:00.5,-1\n2026-11-25 10:00:01,0\n",
        ] {
            assert_eq!(read(text, &lag()), expected, "{text}");
        }
        let without_names = ReadOptions {
            unit: Some(Unit::Seconds),
            ..lag()
        };
        assert_eq!(read("10,3\n10.5,2E16\n11,0\n", &without_names), expected);
        let third = ReadOptions {
            column: Some("Running".to_owned()),
            ..ReadOptions::default()
        };
        assert_eq!(
            read("time,connected,running\n0,900,7\n1,900,inf\n", &third),
            Ok(vec![(0, Some(7.0)), (1000, None)])
        );
    }

    #[test]
    fn what_is_no_series_is_told() {
        let third = ReadOptions {
            column: Some("x".to_owned()),
            ..ReadOptions::default()
        };
        for (text, options, said) in [
            ("", lag(), "fewer than two rows"),
            ("time,lag_s\n1,1\n", lag(), "fewer than two rows"),
            ("time,lag_s\n1,1\n1,2\n", lag(), "fewer than two rows"),
            ("time,lag_s\n1,1\n0,2\n", lag(), "line 3: its time is before"),
            ("time,lag_s\n1,1\nsoon,2\n", lag(), "line 3: expected a time"),
            ("time,lag\n1,1\n2,2\n", lag(), "`lag` does not say whether"),
            ("1,1\n2,2\n", lag(), "the second column` does not say"),
            (
                "time,y\n1,1\n2,2\n",
                third,
                "no column `x`; its columns are time, y",
            ),
            ("time,lag_s\n0,1\n9000000,2\n", lag(), "longer than 7 days"),
        ] {
            let error = read(text, &options).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_gap_is_not_filled() {
        let series = Series::read(
            "time,value\n0,5\n1,5\n2,5\n60,5\n".as_bytes(),
            &ReadOptions::default(),
        )
        .unwrap();
        let mut readings = series.readings();
        let known = |reading| matches!(reading, Reading::Known { .. });
        assert!(known(readings.at(Duration::from_millis(4_900))));
        assert!(!known(readings.at(Duration::from_millis(5_100))));
        assert!(known(readings.at(Duration::from_secs(60))));
    }

    proptest::proptest! {
        #[test]
        fn no_file_is_a_panic(text in "(time|,|\t|\n|-|\\.|e|[0-9]{1,4}|NULL|\\PC){0,40}") {
            let _series = Series::read(text.as_bytes(), &lag());
        }
    }
}
