//! `drift`: what on each target is not as it was applied, or not as the files say, and whose change that is.

mod adopt;
mod events;
mod fleet;
mod report;

use crate::args::{self, Global};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::signals::Signals;
use crate::ui::Ui;
use events::Events;
use fleet::{Fleet, Seen};

pub(crate) fn run(args: &args::Drift, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    if args.adopt {
        return adopt::run(args, global, ui);
    }
    if args.watch {
        return watch(args, global, ui);
    }
    let mut fleet = Fleet::open(&args.selection, global, ui)?;
    let seen = fleet.look()?;
    match &args.seen {
        None => report::print(&seen, &fleet, ui)?,
        Some(path) => {
            ui.streams();
            let mut events = Events::read(path)?;
            events.print(&seen, ui)?;
            events.write(path)?;
        }
    }
    Ok(exit(&seen))
}

/// Looks again and again until a signal comes; what there is then decides the exit code.
fn watch(args: &args::Drift, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    ui.streams();
    let signals = Signals::install()?;
    let mut fleet = Fleet::open(&args.selection, global, ui)?;
    let mut events = match &args.seen {
        Some(path) => Events::read(path)?,
        None => Events::default(),
    };
    loop {
        let seen = fleet.look()?;
        events.print(&seen, ui)?;
        if let Some(path) = &args.seen {
            events.write(path)?;
        }
        if signals.wait_for(args.interval) {
            return Ok(exit(&seen));
        }
        fleet.refresh(ui)?;
    }
}

/// Of a target that cannot be read nobody knows whether it has drifted, whatever an apply does with it.
fn exit(seen: &[Seen]) -> Exit {
    if seen.iter().any(|seen| seen.drift.is_err()) {
        Exit::Failed
    } else if seen.iter().any(Seen::is_any) {
        Exit::Changes
    } else {
        Exit::Done
    }
}
