//! HTML pages that load nothing: the frame of a page, and how text is escaped.

use std::fmt::Write as _;

use shardwright_diagnostics::Severity;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The frame of a page.
pub(crate) struct Frame<'f> {
    pub(crate) title: &'f str,
    /// A line below the title, as HTML.
    pub(crate) about: String,
    /// Links to the parts, as HTML.
    pub(crate) links: String,
    /// The parts, as HTML.
    pub(crate) body: String,
}

impl Frame<'_> {
    /// The whole page, which loads nothing.
    pub(crate) fn page(&self) -> String {
        let Self {
            about, links, body, ..
        } = self;
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
             <title>{title} · shardwright</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<div>\n<h1>{title}</h1>\n\
             <p class=\"quiet\">{about}</p>\n</div>\n<nav>{links}\
             <button id=\"theme\" type=\"button\" aria-label=\"light or dark\">◐</button></nav>\n</header>\n<main>\n{body}</main>\n\
             <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            title = escaped(self.title),
        )
    }
}

pub(crate) fn section(id: &str, title: &str, body: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{body}</section>\n")
}

/// Text between tags or in an attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() && letter != '\n' && letter != '\t' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

/// Appends; writing to a text does not fail.
pub(crate) fn put(out: &mut String, text: &str) {
    write!(out, "{text}").expect("writing to a String does not fail");
}
