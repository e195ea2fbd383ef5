//! Rule sets as projects.

mod exact;
mod examples;
mod lifting;
mod published;
mod support;
