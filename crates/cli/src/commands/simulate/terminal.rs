//! The picture as text: the signal above, when the throttle is started, and the delay below.

use super::{OPEN_LOOP, Simulated, duration};

/// Columns of the picture: one for each part of the time.
pub(super) const WIDTH: usize = 72;
/// Lines of the signal and of the delay.
const SIGNAL_LINES: usize = 8;
const DELAY_LINES: usize = 4;
/// The room for what a line is worth.
const MARGIN: usize = 10;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The picture, and what it means.
pub(super) fn chart(simulated: &Simulated) -> String {
    let replay = &simulated.replay;
    let signal = &simulated.signal;
    let mut out = format!("{}: {}\n\n", simulated.address, simulated.throttle);
    let values: Vec<Option<f64>> = replay.parts.iter().map(|part| part.value).collect();
    let greatest = values
        .iter()
        .flatten()
        .copied()
        .fold(signal.start_above.get(), f64::max);
    let said = |value: f64| simulated.said(value);
    bars(
        &mut out,
        &values,
        greatest,
        SIGNAL_LINES,
        &said,
        &[
            (signal.start_above.get(), "starts above"),
            (signal.stop_below.get(), "stops below"),
        ],
    );
    let state: String = replay
        .parts
        .iter()
        .map(|part| match (part.is_started, part.value) {
            (true, _) => '■',
            (false, Some(_)) => '·',
            (false, None) => '?',
        })
        .collect();
    line(&mut out, "started", &state, "");
    let delays: Vec<Option<f64>> = replay
        .parts
        .iter()
        .map(|part| Some(part.delay.as_secs_f64() * 1000.0))
        .collect();
    let longest = replay.greatest_delay.as_secs_f64() * 1000.0;
    if longest > 0.0 {
        let said = |ms: f64| duration(std::time::Duration::from_secs_f64(ms / 1000.0));
        bars(&mut out, &delays, longest, DELAY_LINES, &said, &[]);
    }
    let end = duration(replay.lasts);
    let axis = format!("0 s{end:>width$}", width = WIDTH - 3);
    line(&mut out, "", &axis, "");
    out.push_str(&format!("\n{}\n{OPEN_LOOP}\n", simulated.summary()));
    out
}

/// Columns as high as values, and levels marked at the right.
fn bars(
    out: &mut String,
    values: &[Option<f64>],
    greatest: f64,
    lines: usize,
    said: &dyn Fn(f64) -> String,
    levels: &[(f64, &str)],
) {
    let greatest = if greatest > 0.0 { greatest } else { 1.0 };
    for row in (0..lines).rev() {
        let column = |value: &Option<f64>| match value {
            None => ' ',
            Some(value) => {
                let eighths = (value / greatest * (lines * 8) as f64).round() - (row * 8) as f64;
                EIGHTHS[eighths.clamp(0.0, 8.0) as usize]
            }
        };
        let drawn: String = values.iter().map(column).collect();
        let label = if row + 1 == lines {
            said(greatest)
        } else {
            String::new()
        };
        let level = levels.iter().find(|(level, _)| {
            let at = (level / greatest * lines as f64).ceil() as usize;
            at.saturating_sub(1).min(lines - 1) == row
        });
        let mark = level.map_or_else(String::new, |(level, what)| format!("{what} {}", said(*level)));
        line(out, &label, &drawn, &mark);
    }
}

fn line(out: &mut String, label: &str, drawn: &str, mark: &str) {
    let text = match mark {
        "" => format!("{label:>MARGIN$} {drawn}"),
        mark => format!("{label:>MARGIN$} {drawn:<WIDTH$} ‹ {mark}"),
    };
    out.push_str(text.trim_end());
    out.push('\n');
}
