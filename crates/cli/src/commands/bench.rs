//! `bench`: measures what clients of a cluster notice.

mod failover;
mod fault;
mod login;
mod report;

use crate::args::{Bench, BenchWhat};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ui::Ui;

pub(crate) fn run(args: &Bench, ui: &Ui) -> Result<Exit, CommandError> {
    let BenchWhat::Failover(args) = &args.what;
    failover::run(args, ui)
}
