//! What the settings of a file lead to: each that is known becomes a part of the project, or has a reason why not.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Diagnostic, Problems, Span, did_you_mean};

use crate::codes::{IGNORED, UNKNOWN};

/// A setting that a tool knows. `None`: it is read here; otherwise why nothing of the project says it.
pub(super) type Known = (&'static str, Option<&'static str>);

/// Tells of the settings of a file, in its order, those that stay with the tool, together by their reason, and those that
/// the tool does not know.
///
/// `normal`: how names are compared.
pub(super) fn tell<'t>(
    settings: impl Iterator<Item = (&'t str, Span)>,
    known: &[Known],
    normal: fn(&str) -> String,
    problems: &mut Problems,
) {
    let mut stays: BTreeMap<(usize, &str), Vec<(&str, Span)>> = BTreeMap::new();
    for (name, place) in settings {
        let at = known.iter().position(|(known, _)| normal(known) == normal(name));
        match at.map(|at| (at, known[at].1)) {
            Some((_, None)) => {}
            Some((_, Some(why))) => {
                let first = known.iter().position(|(_, other)| *other == Some(why));
                let group = stays.entry((first.unwrap_or_default(), why));
                group.or_default().push((name, place));
            }
            None => {
                let names = known.iter().map(|(name, _)| *name);
                let near = did_you_mean(name, names);
                let what = format!("unknown setting `{name}`: no version of the tool reads it");
                problems.push(
                    Diagnostic::warning(UNKNOWN, what)
                        .at(place, "")
                        .did_you_mean(near),
                );
            }
        }
    }
    for ((_, why), settings) in stays {
        let names: Vec<&str> = settings.iter().map(|(name, _)| *name).collect();
        let what = format!("{}: {why}", names.join(", "));
        problems.push(Diagnostic::info(IGNORED, what).at(settings[0].1, ""));
    }
}
