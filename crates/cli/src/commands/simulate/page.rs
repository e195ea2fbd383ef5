//! The picture as a page: the signal with both levels, the time in which the throttle is started, and the delay.

use shardwright_simulation::replay::{Part, Replay};

use super::{OPEN_LOOP, Simulated, duration, share, word};
use crate::page::{Frame, escaped, put, section};

/// The plot's size and the room at its left, in units of the drawing.
const WIDTH: f64 = 1080.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 70.0;
/// Room above and below a plot.
const ROOM: f64 = 14.0;
const AXIS: f64 = 22.0;
/// Starts and stops that are listed; the rest are counted.
const MAX_CHANGES: usize = 200;

/// The whole page. The same bytes for the same series and throttle.
pub(super) fn page(simulated: &Simulated) -> String {
    let replay = &simulated.replay;
    let signal = &simulated.signal;
    let levels = [
        (signal.start_above.get(), "starts above"),
        (signal.stop_below.get(), "stops below"),
    ];
    let signal_plot = Plot {
        replay,
        value: |part| part.value,
        said: &|value| simulated.said(value),
        levels: &levels,
        class: "signal",
    };
    let delay_plot = Plot {
        replay,
        value: |part| Some(part.delay.as_secs_f64() * 1000.0),
        said: &|ms| duration(std::time::Duration::from_secs_f64(ms.max(0.0) / 1000.0)),
        levels: &[],
        class: "delay",
    };
    let body = [
        tiles(simulated),
        format!("<p class=\"quiet\">{OPEN_LOOP}</p>\n"),
        section("signal", &escaped(signal.source.name()), &signal_plot.drawing()),
        section("delay", "How long a statement waits", &delay_plot.drawing()),
        section("changes", "Starts and stops", &changes(simulated)),
    ];
    Frame {
        title: &simulated.address,
        about: escaped(&simulated.throttle.to_string()),
        links: "<a href=\"#signal\">Signal</a><a href=\"#delay\">Delay</a><a href=\"#changes\">Starts and stops</a>"
            .to_owned(),
        body: body.concat(),
    }
    .page()
}

fn tiles(simulated: &Simulated) -> String {
    let replay = &simulated.replay;
    let starts = replay.changes.iter();
    let starts = starts
        .filter(|changed| changed.change == shardwright_rules::throttle::Change::Started)
        .count();
    let tile = |value: &str, name: &str| {
        format!(
            "<div class=\"tile\"><b>{value}</b><span>{}</span></div>",
            escaped(name)
        )
    };
    format!(
        "<div class=\"tiles\">{}{}{}{}{}</div>\n",
        tile(&starts.to_string(), "starts"),
        tile(
            &share(replay.started, replay.lasts),
            &format!("of {} started", duration(replay.lasts))
        ),
        tile(&duration(replay.mean_delay), "delay on average, while started"),
        tile(&duration(replay.greatest_delay), "delay at most"),
        tile(&duration(replay.unknown), "not known"),
    )
}

/// One value over time.
struct Plot<'p> {
    replay: &'p Replay,
    value: fn(&Part) -> Option<f64>,
    said: &'p dyn Fn(f64) -> String,
    levels: &'p [(f64, &'p str)],
    class: &'p str,
}

impl Plot<'_> {
    fn x(&self, part: usize) -> f64 {
        LEFT + (WIDTH - LEFT) * part as f64 / self.replay.parts.len() as f64
    }

    fn greatest(&self) -> f64 {
        let values = self.replay.parts.iter().filter_map(self.value);
        let levels = self.levels.iter().map(|(level, _)| *level);
        let greatest = values.chain(levels).fold(0.0, f64::max);
        if greatest > 0.0 { greatest } else { 1.0 }
    }

    fn drawing(&self) -> String {
        let greatest = self.greatest();
        let y = |value: f64| ROOM + HEIGHT * (1.0 - (value / greatest).clamp(0.0, 1.0));
        let mut out = format!(
            "<div class=\"drawing\"><svg viewBox=\"0 0 {} {}\" width=\"{WIDTH}\" role=\"img\" aria-label=\"{} over time\">\n",
            WIDTH + ROOM,
            HEIGHT + ROOM + AXIS,
            self.class
        );
        self.bands(&mut out);
        for step in 0..=4 {
            let value = greatest * f64::from(step) / 4.0;
            put(
                &mut out,
                &format!(
                    "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/>\
                     <text class=\"tick\" x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>\n",
                    y(value),
                    LEFT - 8.0,
                    y(value) + 4.0,
                    escaped(&(self.said)(value))
                ),
            );
        }
        self.curve(&mut out, &y);
        for (level, what) in self.levels {
            put(
                &mut out,
                &format!(
                    "<line class=\"level\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/>\
                     <text class=\"tick\" x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{what} {3}</text>\n",
                    y(*level),
                    WIDTH - 4.0,
                    y(*level) - 5.0,
                    escaped(&(self.said)(*level))
                ),
            );
        }
        self.axis(&mut out);
        out.push_str("</svg></div>\n");
        out
    }

    /// The time in which the throttle is started.
    fn bands(&self, out: &mut String) {
        let parts = &self.replay.parts;
        let mut at = 0;
        while at < parts.len() {
            let end = at + parts[at..].iter().take_while(|part| part.is_started).count();
            if end > at {
                put(
                    out,
                    &format!(
                        "<rect class=\"band\" x=\"{:.1}\" y=\"{ROOM}\" width=\"{:.1}\" height=\"{HEIGHT}\"/>\n",
                        self.x(at),
                        self.x(end) - self.x(at)
                    ),
                );
            }
            at = end.max(at + 1);
        }
    }

    /// The curve, with a gap where nothing is known.
    fn curve(&self, out: &mut String, y: &dyn Fn(f64) -> f64) {
        let mut path = String::new();
        let mut is_down = false;
        for (at, part) in self.replay.parts.iter().enumerate() {
            let Some(value) = (self.value)(part) else {
                is_down = false;
                continue;
            };
            let letter = if is_down { 'L' } else { 'M' };
            put(
                &mut path,
                &format!("{letter}{:.1} {:.1}H{:.1}", self.x(at), y(value), self.x(at + 1)),
            );
            is_down = true;
        }
        put(
            out,
            &format!("<path class=\"curve {}\" d=\"{path}\"/>\n", self.class),
        );
    }

    /// A moment as the axis shows it: in whole seconds where they are fine enough.
    fn moment(&self, share: f64) -> String {
        let at = self.replay.lasts.mul_f64(share);
        match self.replay.lasts.as_secs() {
            _ if share == 0.0 => "0 s".to_owned(),
            0..30 => duration(at),
            _ => duration(std::time::Duration::from_secs(at.as_secs_f64().round() as u64)),
        }
    }

    fn axis(&self, out: &mut String) {
        for step in 0..=6_u32 {
            let share = f64::from(step) / 6.0;
            let anchor = match step {
                0 => "start",
                6 => "end",
                _ => "middle",
            };
            put(
                out,
                &format!(
                    "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>\n",
                    LEFT + (WIDTH - LEFT) * share,
                    ROOM + HEIGHT + AXIS - 4.0,
                    self.moment(share)
                ),
            );
        }
    }
}

fn changes(simulated: &Simulated) -> String {
    let changes = &simulated.replay.changes;
    if changes.is_empty() {
        return "<p class=\"empty\">It never starts.</p>\n".to_owned();
    }
    let mut out = String::from(
        "<div class=\"wide\"><table><thead><tr><th>after</th><th>what</th><th>signal</th></tr></thead><tbody>\n",
    );
    for changed in changes.iter().take(MAX_CHANGES) {
        let value = changed.value.map(|value| simulated.said(value));
        put(
            &mut out,
            &format!(
                "<tr><td class=\"name\">{}</td><td>{}</td><td>{}</td></tr>\n",
                duration(changed.at),
                word(changed.change),
                escaped(value.as_deref().unwrap_or("not known"))
            ),
        );
    }
    out.push_str("</tbody></table></div>\n");
    if changes.len() > MAX_CHANGES {
        put(
            &mut out,
            &format!(
                "<p class=\"quiet\">and {} more</p>\n",
                changes.len() - MAX_CHANGES
            ),
        );
    }
    out
}
