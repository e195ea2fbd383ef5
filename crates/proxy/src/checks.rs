//! Jobs ask by HTTP whether they may write now, and are answered as [Freno](https://github.com/github/freno) answers.
//!
//! The answer follows from the throttles that slow statements of clients: a copy of a table by gh-ost waits when, and for as long
//! as, the statements are slowed that one policy is about. Nothing can be changed over HTTP: an app is refused on the admin port, which has a login.

mod answer;
mod question;
mod readiness;
mod server;

pub(crate) use self::readiness::lacks_writer;
pub(crate) use self::server::CheckServer;
