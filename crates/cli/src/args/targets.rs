//! The targets of a command, and their owner.

use clap::Args as ClapArgs;

/// Which targets a command is about.
#[derive(Debug, ClapArgs)]
pub(crate) struct Selection {
    /// Targets by name; default: every target of the project
    #[arg(long = "target", value_name = "NAME")]
    pub(crate) targets: Vec<String>,
}

/// What is done about a target that another project owns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// It is refused.
    Refuse,
    /// It changes its owner.
    TakeOver,
    /// What it runs is compared. That a project would become the first owner is no difference of that.
    Compare,
}

/// What is done about a target of another project.
#[derive(Debug, ClapArgs)]
pub(crate) struct Ownership {
    /// Takes over targets that another project owns
    ///
    /// Their configuration is replaced. A saved plan contains the change of owner, so applying it needs no flag.
    #[arg(long)]
    pub(crate) take_over: bool,
}

impl Ownership {
    pub(crate) fn foreign(&self) -> Foreign {
        match self.take_over {
            true => Foreign::TakeOver,
            false => Foreign::Refuse,
        }
    }
}
