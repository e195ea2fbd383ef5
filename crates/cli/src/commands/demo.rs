//! `demo`: embedded servers, the bundled proxy as a process of its own, a plan, an apply, and a dozen statements.

mod backends;
mod processes;
mod statements;

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use shardwright_rules::{EngineId, Evaluator};

use crate::args::{Color, Demo, Format, Global};
use crate::commands::demo::backends::Backends;
use crate::commands::demo::processes::{Environment, ProxyProcess, WaitingProxy};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::Ui;

pub(crate) fn run(args: &Demo, ui: &Ui) -> Result<Exit, CommandError> {
    let progress = Progress::new(ui);
    progress.step("starting three SQLite-backed servers with the countries and cities of the world");
    let backends = Backends::start()?;
    let mut environment = Environment::new(&backends)?;
    progress.step("starting the bundled proxy");
    let proxy = WaitingProxy::start(&environment)?;
    environment.set_admin_port(proxy.admin.port());
    progress.step("planning examples/world");
    let planned = environment.run(&["plan", "-o", "demo.plan"])?;
    progress.show(&format!("$ shardwright plan -o demo.plan\n{planned}"))?;
    progress.step("applying the plan");
    let applied = environment.run(&["apply", "demo.plan"])?;
    let proxy = proxy.serving()?;
    progress.show(&format!("$ shardwright apply demo.plan\n{applied}"))?;
    progress.finish();
    let opened = project::open(&global(&environment), ui)?;
    let evaluator = Evaluator::new(Arc::clone(
        &opened.build_to_ask(EngineId::Bundled, ui)?.configuration,
    ));
    let all_right = statements::run(&opened, &evaluator, &backends, &environment, &proxy, ui)?;
    if args.keep {
        keep(&environment, &proxy, ui)?;
    }
    Ok(if all_right { Exit::Done } else { Exit::Failed })
}

/// The project as the demo's own commands open it.
fn global(environment: &Environment) -> Global {
    Global {
        directory: environment.directory().to_path_buf(),
        variables: environment.variables(),
        environment: None,
        format: Format::Human,
        color: Color::Auto,
        reports: Vec::new(),
        annotate: None,
        quiet: false,
        verbose: false,
        notes: false,
    }
}

fn keep(environment: &Environment, proxy: &ProxyProcess, ui: &Ui) -> Result<(), CommandError> {
    let password = environment.user_password();
    ui.data(&format!(
        "\nThe proxy keeps running. Connect with any client, for example:\n\n  \
         mysql --protocol=tcp --comments -h {} -P {} -u geo -p{password} world\n  \
         mysql --protocol=tcp -h {} -P {} -u admin -p{}     # the admin port\n\n\
         Press Ctrl-C to stop it.\n",
        proxy.listen.ip(),
        proxy.listen.port(),
        proxy.admin.ip(),
        proxy.admin.port(),
        environment.admin_password(),
    ))?;
    crate::signals::Signals::install()?.wait()?;
    Ok(())
}

/// What is being done: a spinner on a terminal, a line each elsewhere.
struct Progress<'a> {
    ui: &'a Ui,
    bar: Option<ProgressBar>,
}

impl<'a> Progress<'a> {
    fn new(ui: &'a Ui) -> Self {
        let bar = ui.shows_progress().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(80));
            bar
        });
        Self { ui, bar }
    }

    fn step(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => self.ui.status(text),
        }
    }

    fn show(&self, text: &str) -> Result<(), CommandError> {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.ui.data(&format!("{text}\n"))),
            None => self.ui.data(&format!("{text}\n")),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Opened {
    /// Where the rule that decided is written.
    fn decided_at(&self, decision: &shardwright_rules::Decision) -> String {
        let step = decision.path.iter().rev().find_map(|step| {
            let origin = self.origin(&step.address)?;
            Some(format!("{} at {origin} ({})", step.address, step.why))
        });
        step.unwrap_or_else(|| "no rule; it goes to the user's cluster".to_owned())
    }
}
