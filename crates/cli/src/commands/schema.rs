//! `schema`: the published JSON Schemas.

use crate::args::{Document, Schema};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ui::Ui;

pub(crate) fn run(args: &Schema, ui: &Ui) -> Result<Exit, CommandError> {
    ui.json(&match args.document {
        Document::Topology => shardwright_topology::schema::topology(),
        Document::Project => shardwright_topology::schema::project(),
        Document::Tests => shardwright_topology::schema::tests(),
        Document::Environment => shardwright_topology::schema::environment(),
    })?;
    Ok(Exit::Done)
}
