//! The table of the week in `docs/operating.md`.

use std::fmt::Write;

use super::Came;
use crate::pages::Part;

const PART: Part = Part {
    page: "docs/operating.md",
    begin: "<!-- week: made by `SHARDWRIGHT_WEEK=1 INSTA_UPDATE=always cargo test -p shardwright-proxy --test it week::` -->\n",
    end: "<!-- end of week -->\n",
};

fn table(came: &[Came]) -> String {
    let mut out = "| day | what happens | reads answered | failed | commits | unknown | longest time without a commit, ms |\n\
                   |---|---|---|---|---|---|---|\n"
        .to_owned();
    for Came {
        day,
        reads,
        commits: [acknowledged, _, unknown],
        gap,
    } in came
    {
        writeln!(
            out,
            "| {} | {} | {} | {} | {acknowledged} | {unknown} | {} |",
            day.name,
            day.what,
            reads.answered,
            reads.failed,
            gap.as_millis()
        )
        .expect("a string takes everything");
    }
    out
}

/// Writes the table, if asked to: its figures are those of one run. Shows it otherwise.
#[expect(
    clippy::print_stdout,
    reason = "whoever runs it by hand reads what each day has come to"
)]
pub(super) fn keep(came: &[Came]) {
    let table = table(came);
    println!("{table}");
    PART.renew(&table);
}
