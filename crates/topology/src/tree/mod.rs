//! The files of a project as one tree, which resolution reads.
//!
//! In: the nodes of documents. [`structure`] checks each file against its schema, [`view`] reads several files as one
//! map, [`overlay`] lays an environment over them. Out: a [`view::View`] and a [`context::Context`], which runs
//! generators ([`generate`]) and replaces expressions by the values of [`variables`] and [`data`].
//!
//! Nothing here knows what a section means.

pub(crate) mod context;
pub(crate) mod data;
pub(crate) mod environment;
pub(crate) mod generate;
pub(crate) mod objects;
pub(crate) mod overlay;
pub(crate) mod patch;
pub(crate) mod secrets;
pub(crate) mod shape;
pub(crate) mod steps;
pub(crate) mod structure;
pub(crate) mod variables;
pub(crate) mod view;
