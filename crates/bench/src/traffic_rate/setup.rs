//! What is replayed: a project, and a log of its statements.

use std::io::Write as _;
use std::ops::Range;
use std::sync::Arc;

use shardwright_compiler::Options;
use shardwright_rules::{Configuration, EngineId};
use shardwright_simulation::traffic::Format;

use crate::proxysql::LONG_READ;
use crate::shards::{compiled, compiled_from, split_files};

/// Where the keys stand, what the reads do, and which statements read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setup {
    /// Keys in comments.
    Comment,
    /// Keys in comments, reads go to readers.
    Split,
    /// Half of the keys in comments and half in the session's schema, reads go to readers.
    Both,
    /// Rows of digests.
    Digests,
}

impl Setup {
    pub(super) const ALL: [Self; 4] = [Self::Comment, Self::Split, Self::Both, Self::Digests];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Comment => "by comment",
            Self::Split => "by comment, reads split",
            Self::Both => "by comment or schema, reads split",
            Self::Digests => "digests",
        }
    }

    pub(super) fn format(self) -> Format {
        match self {
            Self::Comment | Self::Split => Format::Queries,
            // A list of statements names no schema.
            Self::Both => Format::Slow,
            Self::Digests => Format::Digests,
        }
    }

    pub(super) fn configuration(self, shards: u32, engine: EngineId) -> Arc<Configuration> {
        let compiled = match self {
            Self::Comment | Self::Digests => compiled(shards, engine),
            Self::Split => compiled_from(split_files(shards, false), engine, &Options::default()),
            Self::Both => compiled_from(split_files(shards, true), engine, &Options::default()),
        };
        compiled.configuration
    }

    /// The statement with this number, and the schema of its session. Keys are spread over all shards.
    pub(super) fn statement(self, number: u32, shards: u32, is_long: bool) -> (String, String) {
        let spread = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        let key = spread % u64::from(shards) + 1;
        let read = match is_long {
            true => LONG_READ.to_owned(),
            false => format!("SELECT id FROM t WHERE id={number}"),
        };
        match self {
            Self::Both if number % 2 == 1 => (read, format!("tenant_{key}")),
            _ => (format!("/* tenant={key} */ {read}"), "app".to_owned()),
        }
    }

    pub(super) fn log(self, numbers: Range<u32>, shards: u32, is_long: bool) -> Vec<u8> {
        let mut log = Vec::new();
        let result = (|| {
            if self == Self::Digests {
                writeln!(log, "username,digest_text,count_star")?;
            }
            for n in numbers {
                let (text, schema) = self.statement(n, shards, is_long);
                match self {
                    Self::Comment | Self::Split => writeln!(log, "{text}")?,
                    Self::Both => write!(
                        log,
                        "# User@Host: app[app] @ [10.0.0.7]\n# Thread_id: 1  Schema: {schema}\n{text};\n"
                    )?,
                    Self::Digests => writeln!(log, "app,SELECT id FROM t{} WHERE id=?,1", n % 5_000)?,
                }
            }
            std::io::Result::Ok(())
        })();
        result.expect("writing to memory does not fail");
        log
    }
}
