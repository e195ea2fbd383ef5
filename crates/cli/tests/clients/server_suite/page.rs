//! The part of `docs/clients.md` about the suite, made from the lists.

use std::fmt::Write;

use super::causes::Causes;
use super::list::List;
use super::mysqltest::Protocol;

pub(crate) fn part() -> String {
    let lists = Protocol::ALL.map(|protocol| (protocol, List::read(protocol)));
    let mut out = String::from(
        "\n| statements | pass on the server | pass through the proxy too | share |\n|---|---|---|---|\n",
    );
    for (protocol, list) in &lists {
        let (direct, proxied) = (list.direct(), list.proxied());
        let share = 100.0 * proxied as f64 / direct.max(1) as f64;
        writeln!(
            out,
            "| {} | {direct} | {proxied} | {share:.1} % |",
            protocol.description()
        )
        .unwrap();
    }
    out += "\n| text | prepared | cursor | calls | why they do not pass through the proxy |\n|---|---|---|---|---|\n";
    for cause in &Causes::read().0 {
        let [text, prepared, cursor, calls] = lists.each_ref().map(|(_, list)| list.with_cause(&cause.name));
        if text + prepared + cursor + calls > 0 {
            let (name, reason) = (&cause.name, cause.reason.replace('\n', " "));
            writeln!(
                out,
                "| {text} | {prepared} | {cursor} | {calls} | **{name}**: {reason} |"
            )
            .unwrap();
        }
    }
    out
}
