//! One file for each command.

mod apply;
mod bench;
mod compile;
mod completions;
mod demo;
mod diff;
mod drift;
mod explain;
mod fmt;
mod graph;
mod history;
mod import;
mod init;
mod lint;
mod lock;
mod lsp;
mod plan;
mod prove;
mod proxy;
mod refuse;
mod report;
mod rollback;
mod route;
mod schema;
mod show;
mod simulate;
mod status;
mod switchover;
mod sync_users;
mod test;
mod traffic;
mod validate;

use crate::args::{Args, Command, Format};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ui::Ui;

/// Runs the command.
pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CommandError> {
    let global = &args.global;
    if let Some(name) = args.command.without_result()
        && global.format != Format::Human
    {
        let message = format!("{name} has no result that --format could be about");
        return Err(CommandError::usage(message).hint("omit --format"));
    }
    match &args.command {
        Command::Demo(args) => demo::run(args, ui),
        Command::Init(args) => init::run(args, global, ui),
        Command::Import(args) => import::run(args, global, ui),
        Command::SyncUsers(args) => sync_users::run(args, global, ui),
        Command::Fmt(args) => fmt::run(args, global, ui),
        Command::Validate(args) => validate::run(args, global, ui),
        Command::Lint(args) => lint::run(args, global, ui),
        Command::Explain(args) => explain::run(args, global, ui),
        Command::Compile(args) => compile::run(args, global, ui),
        Command::Test(args) => test::run(args, global, ui),
        Command::Route(args) => route::run(args, global, ui),
        Command::Prove(args) => prove::run(args, global, ui),
        Command::Traffic(args) => traffic::run(args, global, ui),
        Command::Simulate(args) => simulate::run(args, global, ui),
        Command::Graph(args) => graph::run(args, global, ui),
        Command::Report(args) => report::run(args, global, ui),
        Command::Diff(args) => diff::run(args, global, ui),
        Command::Drift(args) => drift::run(args, global, ui),
        Command::Plan(args) => plan::run(args, global, ui),
        Command::Show(args) => show::run(args, global, ui),
        Command::Apply(args) => apply::run(args, global, ui),
        Command::Rollback(args) => rollback::run(args, global, ui),
        Command::Status(args) => status::run(args, global, ui),
        Command::History(args) => history::run(args, global, ui),
        Command::Lock(args) => lock::run(args, global, ui),
        Command::Switchover(args) => switchover::run(args, global, ui),
        Command::Bench(args) => bench::run(args, ui),
        Command::Proxy(args) => proxy::run(args, global, ui),
        Command::Refuse(args) => refuse::run(args, global, ui),
        Command::Schema(args) => schema::run(args, ui),
        Command::Completions(args) => completions::run(args, ui),
        Command::Lsp(_) => lsp::run(global),
    }
}
