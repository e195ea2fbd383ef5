//! Comments that allow a finding: `# shardwright: allow SW204 until 2027-03-31: reason`; and what is wrong with them:
//! SW810 unused, SW811 expired, SW812 not readable or without a reason.

use jiff::civil::Date;
use shardwright_diagnostics::{Applicability, Code, CodeDoc, Diagnostic, Edit, FileId, Sources, Span};
use shardwright_documents::{Comment, Document, Node, Placement};

use crate::project::Opened;

const UNUSED: Code = Code::new("SW810");
const EXPIRED: Code = Code::new("SW811");
const UNREADABLE: Code = Code::new("SW812");

/// Their pages.
pub(crate) const PAGES: [CodeDoc; 3] = [
    CodeDoc {
        code: UNUSED,
        title: "a comment allows a finding that there is not",
        page: include_str!("../../../../../docs/rules/SW810.md"),
    },
    CodeDoc {
        code: EXPIRED,
        title: "a comment allows a finding until a day that has passed",
        page: include_str!("../../../../../docs/rules/SW811.md"),
    },
    CodeDoc {
        code: UNREADABLE,
        title: "a comment that allows a finding cannot be read, or has no reason",
        page: include_str!("../../../../../docs/rules/SW812.md"),
    },
];

const MARK: &str = "shardwright:";
const FORM: &str = "write # shardwright: allow SW204 until 2027-03-31: REASON; `until` may be left out";

/// The comments of a project that allow findings.
pub(super) struct Suppressions {
    all: Vec<Suppression>,
    /// What is wrong with those that allow nothing.
    wrong: Vec<Diagnostic>,
}

struct Suppression {
    comment: Comment,
    codes: Vec<Code>,
    /// The value that it is about: findings inside it are allowed.
    about: Span,
    expired: Option<Date>,
    used: Vec<bool>,
}

impl Suppressions {
    /// Reads them from every file of the project.
    pub(super) fn of(opened: &Opened, today: Date, known: &[CodeDoc]) -> Self {
        let mut found = Self {
            all: Vec::new(),
            wrong: Vec::new(),
        };
        let require_reason = opened.project.file.lint.require_reason;
        for document in opened.documents.all() {
            for comment in &document.comments {
                let text = text_of(comment, &opened.sources);
                let Some(rest) = text.trim_start_matches('#').trim().strip_prefix(MARK) else {
                    continue;
                };
                match read(rest, known, require_reason) {
                    Ok((codes, until)) => found.all.push(Suppression {
                        comment: *comment,
                        about: about(comment, document, &opened.sources),
                        expired: until.filter(|until| *until < today),
                        used: vec![false; codes.len()],
                        codes,
                    }),
                    Err(why) => found
                        .wrong
                        .push(Diagnostic::error(UNREADABLE, why).at(comment.span, "").help(FORM)),
                }
            }
        }
        found
    }

    /// Whether a comment allows the finding; the comment is used then.
    pub(super) fn allow(&mut self, diagnostic: &Diagnostic) -> bool {
        let Some(primary) = &diagnostic.primary else {
            return false;
        };
        let mut allowed = false;
        for suppression in &mut self.all {
            let about = suppression.about;
            let inside =
                about.file == primary.span.file && (about.start..=about.end).contains(&primary.span.start);
            if !inside {
                continue;
            }
            for (code, used) in suppression.codes.iter().zip(&mut suppression.used) {
                if *code == diagnostic.code {
                    *used = true;
                    allowed |= suppression.expired.is_none();
                }
            }
        }
        allowed
    }

    /// What is wrong with the comments, once every finding was seen. `looked_for` tells whether findings of a code would
    /// have been seen.
    pub(super) fn findings(self, sources: &Sources, looked_for: impl Fn(Code) -> bool) -> Vec<Diagnostic> {
        let mut findings = self.wrong;
        for suppression in self.all {
            let comment = suppression.comment;
            let unused: Vec<&Code> = suppression
                .codes
                .iter()
                .zip(&suppression.used)
                .filter_map(|(code, used)| (!used && looked_for(*code)).then_some(code))
                .collect();
            if let Some(until) = suppression.expired {
                let message = format!("this was allowed until {until}");
                let help = "put it right, or allow it until a later day";
                findings.push(
                    Diagnostic::warning(EXPIRED, message)
                        .at(comment.span, "")
                        .help(help),
                );
            } else if !unused.is_empty() {
                let named: Vec<&str> = unused.iter().map(|code| code.as_str()).collect();
                let message = format!("there is no {} here to allow", named.join(", "));
                let mut diagnostic = Diagnostic::warning(UNUSED, message).at(comment.span, "");
                if unused.len() == suppression.codes.len() {
                    let edit = Edit {
                        span: with_its_line(&comment, sources),
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
fn read(rest: &str, known: &[CodeDoc], require_reason: bool) -> Result<(Vec<Code>, Option<Date>), String> {
    let rest = rest.trim();
    let Some(rest) = rest
        .strip_prefix("allow")
        .filter(|rest| rest.starts_with(char::is_whitespace))
    else {
        return Err("a comment for shardwright says `allow`".to_owned());
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
        match known.iter().find(|page| page.code.as_str() == word) {
            Some(page) => codes.push(page.code),
            None => return Err(format!("no finding has the code `{word}`")),
        }
    }
    if codes.is_empty() {
        return Err("it allows nothing: it names no code".to_owned());
    }
    let until = until
        .map(|until| {
            until
                .parse::<Date>()
                .map_err(|_| format!("`{until}` is no day such as 2027-03-31"))
        })
        .transpose()?;
    if reason.is_empty() && require_reason {
        return Err("it gives no reason".to_owned());
    }
    Ok((codes, until))
}

fn text_of<'s>(comment: &Comment, sources: &'s Sources) -> &'s str {
    sources
        .text(comment.span.file)
        .get(comment.span.range())
        .unwrap_or_default()
}

/// What a comment is about: the entry or item that begins on its line, or on the next line that holds one; the line
/// alone where none does.
fn about(comment: &Comment, document: &Document, sources: &Sources) -> Span {
    let file = comment.span.file;
    let text = sources.text(file);
    let (start, end) = match comment.placement {
        Placement::Trailing => line_around(text, comment.span.start as usize),
        Placement::OwnLine => next_line(text, comment.span.end as usize),
    };
    let mut found = span(file, start, end);
    if let Some(root) = &document.root {
        widen(root, (start, end), &mut found);
    }
    found
}

/// The largest entry or item that begins within a line.
fn widen(node: &Node, line: (usize, usize), found: &mut Span) {
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
        if (line.0..line.1).contains(&(start.start as usize)) && value.span.file == found.file {
            found.end = found.end.max(value.span.end);
        } else if holds(value, line) {
            widen(value, line, found);
        }
    }
}

fn holds(node: &Node, line: (usize, usize)) -> bool {
    (node.span.start as usize) < line.1 && (node.span.end as usize) > line.0
}

fn line_around(text: &str, at: usize) -> (usize, usize) {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    (start, end)
}

/// The next line that is neither blank nor a comment.
fn next_line(text: &str, from: usize) -> (usize, usize) {
    let mut at = from;
    while let Some(end) = text[at..].find('\n') {
        let start = at + end + 1;
        let (_, stop) = line_around(text, start);
        let line = text[start..stop].trim();
        if !line.is_empty() && !line.starts_with('#') {
            return (start, stop);
        }
        if start >= text.len() {
            break;
        }
        at = start;
    }
    (text.len(), text.len())
}

/// The comment with the blanks before it, and with its line where it stands alone.
fn with_its_line(comment: &Comment, sources: &Sources) -> Span {
    let text = sources.text(comment.span.file);
    let (start, end) = (comment.span.start as usize, comment.span.end as usize);
    match comment.placement {
        Placement::OwnLine => {
            let (line, stop) = line_around(text, start);
            span(comment.span.file, line, (stop + 1).min(text.len()))
        }
        Placement::Trailing => span(comment.span.file, text[..start].trim_end().len(), end),
    }
}

fn span(file: FileId, start: usize, end: usize) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(file, offset(start), offset(end))
}
