//! The language: what is read, what is refused and how it is said.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod declared;
mod generated;
mod hostile;
mod invalid;
mod pages;
mod patched_items;
mod properties;
mod resolved;
mod schemas;
mod schemas_and_readers;
mod support;
mod symbols;
mod valid;
