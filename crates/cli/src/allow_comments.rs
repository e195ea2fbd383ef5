//! Comments that allow a finding: `# shardwright: allow SW204 until 2027-03-31: reason`; and what is wrong with them:
//! SW810 unused, SW811 expired, SW812 not readable or without a reason.

use std::ops::Range;

use jiff::civil::Date;
use shardwright_diagnostics::{
    Applicability, Code, CodeDoc, Diagnostic, Edit, FileId, Problems, Severity, Sources, Span,
};
use shardwright_documents::Node;
use shardwright_import::Layout;
use shardwright_topology::Documents;

use crate::clock;
use crate::codes::{self, EXPIRED_ALLOW, UNREADABLE_ALLOW, UNUSED_ALLOW};

const MARK: &str = "shardwright:";
const FORM: &str = "write `shardwright: allow SW204 until 2027-03-31: REASON`; `until` may be left out";

/// What comments are held to.
pub(crate) struct Terms<'t> {
    pub(crate) today: Date,
    /// The codes that there are.
    pub(crate) known: &'t [CodeDoc],
    pub(crate) require_reason: bool,
}

/// The problems of a project without the warnings and notes that its comments allow. Only `lint` judges the comments: it
/// alone looks for everything that they can be about.
pub(crate) fn without_allowed(
    problems: &Problems,
    documents: &Documents,
    sources: &Sources,
    require_reason: bool,
) -> Problems {
    let terms = Terms {
        today: clock::today(),
        known: &codes::pages(),
        require_reason,
    };
    let mut comments = AllowComments::of_project(documents, sources, &terms);
    if comments.all.is_empty() {
        return problems.clone();
    }
    let counts = |problem: &&Diagnostic| problem.severity == Severity::Error || !comments.allow(problem);
    let mut left: Problems = problems.sorted().into_iter().filter(counts).cloned().collect();
    left.count_unkept(problems);
    left
}

/// The comments that allow findings.
#[derive(Default)]
pub(crate) struct AllowComments {
    all: Vec<AllowComment>,
    /// What is wrong with those that allow nothing.
    wrong: Vec<Diagnostic>,
}

struct AllowComment {
    /// With its mark, without the line end.
    comment: Span,
    codes: Vec<Code>,
    /// What it is about: findings that begin inside are allowed.
    about: Span,
    expired: Option<Date>,
    used: Vec<bool>,
}

impl AllowComments {
    /// Those in the files of a project: each is about the entry or item that begins on its line, or on the next line
    /// that holds one; only about the line if none does.
    pub(crate) fn of_project(documents: &Documents, sources: &Sources, terms: &Terms<'_>) -> Self {
        let mut found = Self::default();
        for document in documents.all() {
            for comment in &document.comments {
                found.read(comment.span, sources, terms, |text| {
                    let line = line_of(text, comment.span);
                    let mut about = span(comment.span.file, line.start, line.end);
                    if let Some(root) = &document.root {
                        widen(root, &line, &mut about);
                    }
                    about
                });
            }
        }
        found
    }

    /// Those in a file of rules: each is about the statements and rows, or the settings and groups, that begin on its
    /// line; if it is alone on its line, on the line where the next of them begins.
    pub(crate) fn of_rule_file(layout: &Layout, sources: &Sources, terms: &Terms<'_>) -> Self {
        let mut found = Self::default();
        let parts = &layout.parts;
        for comment in &layout.comments {
            found.read(*comment, sources, terms, |text| {
                let behind = parts.partition_point(|part| part.start < comment.end);
                let line = match (stands_alone(text, *comment), parts.get(behind)) {
                    (true, Some(next)) => line_around(text, next.start as usize),
                    _ => line_around(text, comment.start as usize),
                };
                let mut about = span(comment.file, line.start, line.end);
                let first = parts.partition_point(|part| (part.start as usize) < line.start);
                let begin_here = parts[first..]
                    .iter()
                    .take_while(|part| (part.start as usize) < line.end);
                for part in begin_here {
                    about.end = about.end.max(part.end);
                }
                about
            });
        }
        found
    }

    /// Reads a comment, if it is for this program; `about` tells from the file's text what it is about.
    fn read(&mut self, comment: Span, sources: &Sources, terms: &Terms<'_>, about: impl Fn(&str) -> Span) {
        let text = sources.text(comment.file);
        let words = text.get(comment.range()).unwrap_or_default();
        let words = words.trim_start_matches(['#', '-', '/', '*', ' ', '\t']);
        let Some(rest) = words.trim_end_matches(['*', '/']).strip_prefix(MARK) else {
            return;
        };
        match read(rest, terms) {
            Ok((codes, until)) => self.all.push(AllowComment {
                comment,
                about: about(text),
                expired: until.filter(|until| *until < terms.today),
                used: vec![false; codes.len()],
                codes,
            }),
            Err(why) => self.wrong.push(
                Diagnostic::error(UNREADABLE_ALLOW, why)
                    .at(comment, "")
                    .help(FORM),
            ),
        }
    }

    /// Whether a comment allows the finding; the comment is used then.
    pub(crate) fn allow(&mut self, diagnostic: &Diagnostic) -> bool {
        let Some(primary) = &diagnostic.primary else {
            return false;
        };
        let mut allowed = false;
        for allowed_here in &mut self.all {
            let about = allowed_here.about;
            let inside =
                about.file == primary.span.file && (about.start..=about.end).contains(&primary.span.start);
            if !inside {
                continue;
            }
            for (code, used) in allowed_here.codes.iter().zip(&mut allowed_here.used) {
                if *code == diagnostic.code {
                    *used = true;
                    allowed |= allowed_here.expired.is_none();
                }
            }
        }
        allowed
    }

    /// What is wrong with the comments, once every finding was seen. `looked_for` tells whether findings of a code would
    /// have been seen.
    pub(crate) fn findings(self, sources: &Sources, looked_for: impl Fn(Code) -> bool) -> Vec<Diagnostic> {
        let mut findings = self.wrong;
        for allowed_here in self.all {
            let comment = allowed_here.comment;
            let unused: Vec<&Code> = allowed_here
                .codes
                .iter()
                .zip(&allowed_here.used)
                .filter_map(|(code, used)| (!used && looked_for(*code)).then_some(code))
                .collect();
            if let Some(until) = allowed_here.expired {
                let message = format!("this finding was allowed until {until}");
                let help = "fix it, or allow it until a later day";
                findings.push(
                    Diagnostic::warning(EXPIRED_ALLOW, message)
                        .at(comment, "")
                        .help(help),
                );
            } else if !unused.is_empty() {
                let named: Vec<&str> = unused.iter().map(|code| code.as_str()).collect();
                let message = format!("there is no {} here", named.join(", "));
                let mut diagnostic = Diagnostic::warning(UNUSED_ALLOW, message).at(comment, "");
                if unused.len() == allowed_here.codes.len() {
                    let edit = Edit {
                        span: with_its_line(comment, sources),
                        text: String::new(),
                    };
                    diagnostic = diagnostic
                        .help("remove the comment")
                        .fix(Applicability::Safe, vec![edit]);
                }
                findings.push(diagnostic);
            }
        }
        findings
    }
}

/// The codes and the last day of a comment behind its mark.
fn read(rest: &str, terms: &Terms<'_>) -> Result<(Vec<Code>, Option<Date>), String> {
    let rest = rest.trim();
    let Some(rest) = rest
        .strip_prefix("allow")
        .filter(|rest| rest.starts_with(char::is_whitespace))
    else {
        return Err("after `shardwright:` write `allow`".to_owned());
    };
    let (head, reason) = match rest.split_once(':') {
        Some((head, reason)) => (head, reason.trim()),
        None => (rest, ""),
    };
    let (listed, until) = match head.split_once(" until ") {
        Some((listed, until)) => (listed, Some(until.trim())),
        None => (head, None),
    };
    let mut codes = Vec::new();
    for word in listed.split([',', ' ']).filter(|word| !word.is_empty()) {
        match terms.known.iter().find(|page| page.code.as_str() == word) {
            Some(page) => codes.push(page.code),
            None => return Err(format!("no finding has the code `{word}`")),
        }
    }
    if codes.is_empty() {
        return Err("the comment names no code".to_owned());
    }
    let until = until
        .map(|until| {
            until
                .parse::<Date>()
                .map_err(|_| format!("`{until}` is not a date such as 2027-03-31"))
        })
        .transpose()?;
    if reason.is_empty() && terms.require_reason {
        return Err("the comment has no reason".to_owned());
    }
    Ok((codes, until))
}

/// Whether a comment is the first thing on its line.
fn stands_alone(text: &str, comment: Span) -> bool {
    let start = comment.start as usize;
    let line = line_around(text, start).start;
    text[line..start].trim().is_empty()
}

/// The line of YAML that a comment is about: its own, or the next one with content.
fn line_of(text: &str, comment: Span) -> Range<usize> {
    match stands_alone(text, comment) {
        true => next_line(text, comment.end as usize),
        false => line_around(text, comment.start as usize),
    }
}

/// The largest entry or item that begins within a line.
fn widen(node: &Node, line: &Range<usize>, found: &mut Span) {
    let parts: Vec<(Span, &Node)> = match node.as_mapping() {
        Some(mapping) => mapping
            .into_iter()
            .map(|entry| (entry.key.span, &entry.value))
            .collect(),
        None => {
            let items = node.as_sequence().into_iter().flatten();
            items.map(|item| (item.span, item)).collect()
        }
    };
    for (start, value) in parts {
        if line.contains(&(start.start as usize)) && value.span.file == found.file {
            found.end = found.end.max(value.span.end);
        } else if overlaps(value, line) {
            widen(value, line, found);
        }
    }
}

fn overlaps(node: &Node, line: &Range<usize>) -> bool {
    (node.span.start as usize) < line.end && (node.span.end as usize) > line.start
}

fn line_around(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    start..end
}

/// The next line that is neither blank nor a comment.
fn next_line(text: &str, from: usize) -> Range<usize> {
    let mut at = from;
    while let Some(end) = text[at..].find('\n') {
        let start = at + end + 1;
        let stop = line_around(text, start).end;
        let line = text[start..stop].trim();
        if !line.is_empty() && !line.starts_with('#') {
            return start..stop;
        }
        if start >= text.len() {
            break;
        }
        at = start;
    }
    text.len()..text.len()
}

/// The comment with the blanks before it, and with its line if it is alone there.
fn with_its_line(comment: Span, sources: &Sources) -> Span {
    let text = sources.text(comment.file);
    let (start, end) = (comment.start as usize, comment.end as usize);
    if stands_alone(text, comment) {
        let line = line_around(text, start);
        span(comment.file, line.start, (line.end + 1).min(text.len()))
    } else {
        span(comment.file, text[..start].trim_end().len(), end)
    }
}

fn span(file: FileId, start: usize, end: usize) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(file, offset(start), offset(end))
}
