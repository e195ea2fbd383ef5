//! `mysql_aws_aurora_hostgroups`: hostgroups that the engine's monitor fills by itself.

use shardwright_diagnostics::{Diagnostic, Problems, Span};

use crate::Ran;
use crate::codes::{MISREAD, UNKNOWN};

/// The table.
pub(crate) const TABLE: &str = "mysql_aws_aurora_hostgroups";

/// Notes the hostgroups of a row: which servers they have is not known, and a project says nothing of them.
pub(crate) fn note(ran: &mut Ran, problems: &mut Problems, span: Span, hostgroups: &[u32]) {
    let named: Vec<String> = hostgroups.iter().map(u32::to_string).collect();
    let what = format!(
        "the monitor fills hostgroups {} by itself ({TABLE}): the table is no part of a project, and a plan leaves it as it is",
        named.join(" and ")
    );
    problems.push(Diagnostic::info(UNKNOWN, what.clone()).at(span, ""));
    ran.left.push(what);
    ran.filled_hostgroups.extend(hostgroups);
}

/// A hostgroup that is no number of 31 bits.
pub(crate) fn ends_engine(problems: &mut Problems, span: Span) {
    let what =
        "LOAD MYSQL SERVERS TO RUNTIME ends the engine: a hostgroup of the row is no number up to 2147483647";
    problems.push(Diagnostic::error(MISREAD, what).at(span, ""));
}
