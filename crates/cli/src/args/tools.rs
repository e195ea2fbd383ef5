//! Flags of `schema`, `completions` and `lsp`: what editors and shells ask for.

use clap::{Args as ClapArgs, ValueEnum};

/// Prints the JSON Schema of the project's files
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright schema topology > topology.v1.json")]
pub(crate) struct Schema {
    /// The kind of file
    #[arg(value_enum, default_value_t)]
    pub(crate) document: Document,
}

/// A kind of file with a published schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// topology/**/*.yaml
    #[default]
    Topology,
    /// shardwright.yaml
    Project,
    /// tests/**/*.yaml
    Tests,
    /// env/*.yaml
    Environment,
}

/// Prints what a shell needs to complete commands and flags
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright completions bash > /etc/bash_completion.d/shardwright\n  \
    shardwright completions zsh > \"${fpath[1]}/_shardwright\"\n  \
    shardwright completions fish > ~/.config/fish/completions/shardwright.fish"
)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Runs the language server, for editors
///
/// Speaks the Language Server Protocol on standard input and output: problems as you type, completion, hover with the
/// compiled rules, go to definition, references, rename. docs/editors.md explains how to set up an editor.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  shardwright lsp\n  shardwright -C routing lsp --var region=eu-west")]
pub(crate) struct Lsp {
    /// What some editors add; standard input and output are used anyway
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}
