//! What a file says that does not matter to where statements go: told in one place, with what it is and how often.

use shardwright_diagnostics::{Diagnostic, Problems};

use crate::codes::IGNORED;

/// Kinds that the notes name.
const MOST_NAMED: usize = 8;

/// What was passed over, in the order of the file.
pub(crate) fn messages(problems: &Problems) -> Vec<String> {
    let passed = problems.sorted().into_iter();
    passed
        .filter(|problem| problem.code == IGNORED)
        .map(|problem| problem.message.clone())
        .collect()
}

/// The problems with one note in place of each part that was passed over.
pub(crate) fn counted(problems: &Problems) -> Problems {
    let mut kept = Problems::new();
    let mut passed: Vec<&Diagnostic> = Vec::new();
    for problem in problems.sorted() {
        if problem.code == IGNORED {
            passed.push(problem);
        } else {
            kept.push(problem.clone());
        }
    }
    match passed.as_slice() {
        [] => {}
        [one] => kept.push((*one).clone()),
        [first, ..] => {
            let message = format!("{} parts of the file do not affect routing", passed.len());
            let mut all = Diagnostic::info(IGNORED, message);
            if let Some(label) = &first.primary {
                all = all.at(label.span, "the first of them");
            }
            let named = passed.iter().take(MOST_NAMED);
            all = named.fold(all, |all, part| all.note(part.message.clone()));
            if passed.len() > MOST_NAMED {
                all = all.note(format!("and {} more", passed.len() - MOST_NAMED));
            }
            kept.push(all);
        }
    }
    kept
}
