//! Patterns that read a statement whole, token by token, from its first byte to its last.
//!
//! What a digest text leaves out, and what stands behind a NUL byte, cannot be searched for. So guards do not search for
//! what is forbidden: they recognise what is allowed, and everything else fails. A text that was cut inside of a literal or
//! a comment, an executable comment, a second statement: none of them is recognised.
//!
//! The invariant: at each byte only one part of a pattern can go on (see `shardwright_patterns`, possessive quantifiers).
//! So nothing is ever tried twice, possessive groups take no stack in PCRE 8, and automata read the same language.
//!
//! `SELECT a FROM t`, read with the words `FOR` and `INTO` left out: the verb, then for each token what separates words
//! (` `), then a word that is neither (`a`), and so on to the end.

/// Blanks, as servers read them.
const BLANK: &str = r"[\t-\r ]";
/// What words are made of. Other letters are recognised in literals and comments only: in some character sets their second
/// byte is a quote.
const LETTERS: &str = "A-Z_$";
const WORD: &str = "[0-9A-Z_$]";
/// Names that may stand between the words, beside blanks and literals.
const SIGNS: &str = r"!%&*+,:<=>?\[\]^{|}~";

/// How patterns are written for an engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wording {
    /// PCRE: what was taken is never given back. RE2 does not know that, and does not need it.
    pub possessive: bool,
}

/// Which statements a pattern recognises. Letters count without case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form<'w> {
    /// The first words, one of which the statement begins with.
    pub verbs: &'w [&'w str],
    /// Words that do not stand in it, but in literals and comments.
    pub without: &'w [&'w str],
    /// Signs beside the usual ones: of `(`, `)`, `.`, `@`.
    pub signs: &'w str,
    /// Whether parentheses may stand before the verb.
    pub wrapped: bool,
}

impl Wording {
    fn more(self) -> &'static str {
        if self.possessive { "+" } else { "" }
    }

    /// One statement of this form, to be matched without case.
    ///
    /// Literals hold no backslash before a quote, and none behind a byte above 127: such a text is read in two ways,
    /// depending on `sql_mode` and on the character set, and is not recognised.
    pub(crate) fn statement(self, form: &Form<'_>) -> String {
        let more = self.more();
        let word = self.other_words(form.without);
        let number = format!("0(?:X[0-9A-F]+{more}|[0-9]*{more})|[1-9][0-9]*{more}");
        let word = format!("(?:{word}|{number})");
        let open = if form.signs.contains('(') { "(" } else { "" };
        let (line, comment, literal) = (self.line_comment(), self.comment(), self.literal());
        let token = format!(
            r"(?:(?:[\t-\r {SIGNS}{}]|{literal}|#[^\n]*{more}(?:\n|\z)){word}?{more}|/(?:\*{comment}{word}?{more}|{word}|[\t-\r {open}]{word}?{more})|-(?:{word}|[\t-\r ?{open}]{word}?{more}|-{line}{word}?{more}))",
            form.signs
        );
        let lead = if form.wrapped { r"[\t-\r (]" } else { BLANK };
        format!(
            r"\A(?:{lead}|/\*{comment}|--{line}|#[^\n]*{more}(?:\n|\z))*{more}{}{token}*{more}(?:;{BLANK}*{more})?{more}\z",
            any_of(form.verbs)
        )
    }

    /// A text that ends outside of literals, comments and quoted names, as a server with the usual `sql_mode` reads it.
    pub(crate) fn complete(self) -> String {
        let more = self.more();
        let body = format!(r"[^*]*{more}\*+{more}(?:[^*/][^*]*{more}\*+{more})*{more}/");
        let quoted = |quote: char| format!(r"{quote}(?:[^{quote}\\]+{more}|\\(?s:.))*{more}{quote}");
        let literal = format!("{}|{}|`[^`]*{more}`", quoted('\''), quoted('"'));
        let hash = format!(r"#[^\n]*{more}(?:\n|\z)");
        let line = self.line_comment();
        let plain = r#"[^'"`/#-]"#;
        format!(
            "\\A(?:{plain}+{more}|{literal}|{hash}\
             |/(?:\\*{body}|[^*'\"`/#-]|{literal}|{hash}|-(?:{plain}|{literal}))\
             |-(?:{plain}|{literal}|{hash}|/\\*{body}|-(?:{line}|[^\\x01-\\x20\\x7f'\"`/#-]|{literal})))*{more}\\z"
        )
    }

    /// Any text that begins with one of the verbs, whatever comments stand before it, to be matched without case.
    pub(crate) fn beginning(self, verbs: &[&str]) -> String {
        let more = self.more();
        let body = format!(r"[^*]*{more}\*+{more}(?:[^*/][^*]*{more}\*+{more})*{more}/");
        let line = self.line_comment();
        format!(
            r"\A(?:[\t-\r (;]|/\*{body}|--{line}|#[^\n]*{more}(?:\n|\z))*{more}{}(?:[^0-9A-Z_$](?s:.*))?\z",
            any_of(verbs)
        )
    }

    /// Behind `--`: a blank or the end makes it a comment to the end of the line.
    fn line_comment(self) -> String {
        let more = self.more();
        format!(r"(?:\n|[\x01-\x09\x0b-\x20][^\n]*{more}(?:\n|\z)|\z)")
    }

    /// Behind `/*`: a comment that no server executes.
    fn comment(self) -> String {
        let more = self.more();
        format!(
            r"(?:[^!M*][^*]*{more}|M(?:[^!*][^*]*{more})?{more})?{more}\*+{more}(?:[^*/][^*]*{more}\*+{more})*{more}/"
        )
    }

    /// A literal or a quoted name that is read in one way.
    fn literal(self) -> String {
        let more = self.more();
        let quoted = |quote: char| {
            let plain = format!(r"[^{quote}\\\x80-\xff]");
            let escape = r#"\\[^'"\x80-\xff]"#;
            let run = format!("(?:{plain}|{escape})*{more}");
            format!(r"{quote}{run}(?:[\x80-\xff]+{more}(?:{plain}{run})?{more})*{more}{quote}")
        };
        format!(r"{}|{}|`[^`\x80-\xff]*{more}`", quoted('\''), quoted('"'))
    }

    /// A word that begins with a letter and is none of `without`.
    fn other_words(self, without: &[&str]) -> String {
        let words: Vec<&[u8]> = without.iter().map(|word| word.as_bytes()).collect();
        self.behind(&words, true)
    }

    /// What may stand behind a common beginning of `words`, given as what is left of them.
    fn behind(self, words: &[&[u8]], at_start: bool) -> String {
        let more = self.more();
        let mut next: Vec<u8> = words.iter().filter_map(|word| word.first().copied()).collect();
        next.sort_unstable();
        next.dedup();
        let others = all_but(&next, at_start);
        let mut branches = vec![format!("{others}{WORD}*{more}")];
        for letter in next {
            let rest: Vec<&[u8]> = words
                .iter()
                .filter_map(|word| word.strip_prefix(&[letter]))
                .collect();
            let may_end = !rest.iter().any(|rest| rest.is_empty());
            let inner = self.behind(&rest, false);
            let optional = if may_end {
                format!("?{more}")
            } else {
                String::new()
            };
            branches.push(format!("{}{inner}{optional}", char::from(letter)));
        }
        format!("(?:{})", branches.join("|"))
    }
}

/// Letters other than these; digits too, but at the start of a word.
fn all_but(letters: &[u8], at_start: bool) -> String {
    let digits = if at_start { "" } else { "0-9" };
    if letters.is_empty() {
        return format!("[{digits}{LETTERS}]");
    }
    let kept = (b'A'..=b'Z')
        .chain([b'_', b'$'])
        .filter(|letter| !letters.contains(letter));
    format!("[{digits}{}]", kept.map(char::from).collect::<String>())
}

/// One of some words, common beginnings written once.
fn any_of(words: &[&str]) -> String {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    one_of(&words)
}

fn one_of(words: &[&[u8]]) -> String {
    let mut next: Vec<u8> = words.iter().filter_map(|word| word.first().copied()).collect();
    next.sort_unstable();
    next.dedup();
    let branches: Vec<String> = next
        .into_iter()
        .map(|letter| {
            let rest: Vec<&[u8]> = words
                .iter()
                .filter_map(|word| word.strip_prefix(&[letter]))
                .collect();
            format!("{}{}", char::from(letter), one_of(&rest))
        })
        .collect();
    match branches.as_slice() {
        [] => String::new(),
        [one] if words.iter().all(|word| !word.is_empty()) => one.clone(),
        many => {
            let optional = if words.iter().any(|word| word.is_empty()) {
                "?"
            } else {
                ""
            };
            format!("(?:{}){optional}", many.join("|"))
        }
    }
}

#[cfg(test)]
mod tests;
