//! The targets of a command, and their owner.

use clap::{Args as ClapArgs, ValueEnum};
use shardwright_plan::Staged;

/// Which targets a command is about.
#[derive(Clone, Debug, ClapArgs)]
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

/// What becomes of rows that somebody else has staged on a ProxySQL and nobody has loaded.
#[derive(Debug, ClapArgs)]
pub(crate) struct StagedRows {
    /// What becomes of rows that somebody else has staged in memory: a LOAD would publish them
    ///
    /// adopt: they go live with the plan, which shows them. discard: memory is set back to what is live; the plan shows that.
    /// Rows that the files speak of become what the files say in either case. Without it, such rows are refused.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) staged: Option<StagedWay>,
}

/// `--staged`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StagedWay {
    /// They go live with the plan
    Adopt,
    /// Memory is set back to what is live
    Discard,
}

impl StagedRows {
    pub(crate) fn way(&self) -> Option<Staged> {
        self.staged.map(|way| match way {
            StagedWay::Adopt => Staged::Adopt,
            StagedWay::Discard => Staged::Discard,
        })
    }
}
