//! Patterns that read a statement whole, token by token, from its first byte to its last.
//!
//! What a digest text leaves out, and what stands behind a NUL byte, cannot be searched for. So guards do not search for
//! what is forbidden: they recognise what is allowed, and everything else fails. A text that was cut inside of a literal or
//! a comment, an executable comment, a second statement: none of them is recognised.
//!
//! The invariant: at each byte only one part of a pattern can go on (see `shardwright_patterns`, possessive quantifiers).
//! So nothing is ever tried twice, possessive groups take no stack in PCRE 8, and automata read the same language.
//!
//! Where PCRE matches, a statement is read word by word (see [`by_words`]), elsewhere token by token. Both read the same.
//!
//! `SELECT a FROM t`, read token by token with the words `FOR` and `INTO` left out: the verb, then for each token what separates words
//! (` `), then a word that is neither (`a`), and so on to the end.

mod by_words;
mod plain_reads;

/// Blanks, as servers read them.
const BLANK: &str = r"[\t-\r ]";
/// Signs that may stand between words, beside blanks and literals.
const SIGNS: &str = r"!%&+,<=>?\[\]^{|}~";

/// What is no ASCII: bytes to PCRE, characters to RE2, which reads `\xff` as one character.
const BEYOND_ASCII: &str = r"[^\x00-\x7f]";

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
    /// Words that do not stand in it, but in literals and comments. `GET_*` is every word with that beginning.
    pub without: &'w [&'w str],
    /// Where parentheses may stand.
    pub calls: Calls<'w>,
    /// Whether names may be qualified.
    pub dots: bool,
    /// The variables that may stand in it.
    pub variables: Variables,
    /// Whether parentheses may stand before the verb.
    pub wrapped: bool,
    /// Whether a blank must stand behind the verb.
    pub spaced: bool,
    /// Plain reads are among them, whatever words are left out (see [`plain_reads`]).
    pub plain_reads: bool,
}

/// Where parentheses may stand in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls<'w> {
    /// Anywhere: what is called does not matter.
    Any,
    /// Directly behind these names; no call stands at the beginning of another.
    Of(&'w [&'w str]),
    /// Nowhere.
    None,
}

/// What a word is to the pattern of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordRole {
    /// It does not stand in the statement.
    Out,
    /// Neither does a word that begins so.
    BeginningOut,
    /// It may be called.
    Called,
    /// Digits end it: `1.e5FOR UPDATE` is a number and then a word to servers, and `e5FOR` would be a word here.
    EndsInDigits,
}

/// In place of a letter: any digit.
const DIGIT: u8 = b'#';

/// Which variables may stand in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variables {
    /// None.
    None,
    /// `@@name`
    OfSystem,
    /// `@@name`, `@name`, and `:=`
    Any,
}

impl Form<'_> {
    fn signs(&self) -> String {
        let parentheses = match self.calls {
            Calls::Any => "()",
            Calls::Of(_) => ")",
            Calls::None => "",
        };
        let dots = if self.dots { "." } else { "" };
        let variables = if self.variables == Variables::Any {
            "@:"
        } else {
            ""
        };
        format!("{SIGNS}{parentheses}{dots}{variables}")
    }

    /// The words that are not read as any other word is.
    fn special_words(&self) -> Vec<(&[u8], WordRole)> {
        let out = self.without.iter().map(|word| match word.strip_suffix('*') {
            Some(beginning) => (beginning.as_bytes(), WordRole::BeginningOut),
            None => (word.as_bytes(), WordRole::Out),
        });
        let called = match self.calls {
            Calls::Of(names) => names,
            Calls::Any | Calls::None => &[],
        };
        let exponent: &[(&[u8], WordRole)] = if self.dots && !self.without.is_empty() {
            &[(&[b'E', DIGIT], WordRole::EndsInDigits)]
        } else {
            &[]
        };
        out.chain(called.iter().map(|name| (name.as_bytes(), WordRole::Called)))
            .chain(exponent.iter().copied())
            .collect()
    }
}

impl Wording {
    /// Behind a quantifier: what it took is not given back.
    pub(crate) fn more(self) -> &'static str {
        if self.possessive { "+" } else { "" }
    }

    /// One statement of this form, to be matched without case.
    ///
    /// Literals hold no backslash before a quote, and none behind a byte above 127: such a text is read in two ways,
    /// depending on `sql_mode` and on the character set, and is not recognised.
    pub(crate) fn statement(self, form: &Form<'_>) -> String {
        if self.possessive {
            return self.statement_by_words(form);
        }
        self.statement_by_tokens(form)
    }

    /// A separator and a word, and so on to the end.
    fn statement_by_tokens(self, form: &Form<'_>) -> String {
        let more = self.more();
        let special = form.special_words();
        let word = self.words(&special, true);
        let number = format!("0(?:X[0-9A-F]+{more}|[0-9]*{more})|[1-9][0-9]*{more}");
        let (line, comment, literal) = (self.line_comment(), self.comment(), self.literals().join("|"));
        let system = if form.variables == Variables::OfSystem {
            "|@@"
        } else {
            ""
        };
        let sign = format!(
            r"[\t-\r {}]{system}|{literal}|#[^\n]*{more}(?:\n|\z)",
            form.signs()
        );
        // Directly behind an operator the pattern of words does not stand again, for its size: a word that no special one begins
        // like, or a number, and then a sign.
        let first = letters_at(&special, 0);
        let operand = format!(
            r"(?:{}\w*{more}|[0-9]+{more})(?:{sign}|\*|\z)",
            all_but(&first, true)
        );
        let (behind_slash, behind_dash) = match form.calls {
            Calls::Any => (format!("{sign}|{operand}|"), format!(r"{sign}|\*|{operand}|")),
            Calls::Of(_) => (String::new(), format!("{sign}|{operand}|")),
            Calls::None => (String::new(), String::new()),
        };
        let word = format!("(?:{word}|{number})?{more}");
        let token =
            format!(r"(?:(?:{sign}|\*|/(?:{behind_slash}\*{comment})|-(?:{behind_dash}-{line})){word})");
        let (blank, first, edge) = match form.spaced {
            true => (r"[\t\n\r ]", word.as_str(), ""),
            false => ("", "", r"\b"),
        };
        let rest = format!(r"{first}{token}*{more}(?:;{BLANK}*{more})?{more}\z");
        let rest = match form.plain_reads {
            true => format!(r"(?:{edge}{}|{rest})", self.plain_read()),
            false => rest,
        };
        let lead = if form.wrapped { r"[\t-\r (]" } else { BLANK };
        format!(
            r"\A(?:{lead}|/\*{comment}|--{line}|#[^\n]*{more}(?:\n|\z))*{more}{}{blank}{rest}",
            any_of(form.verbs)
        )
    }

    /// A text that ends outside of literals, comments and quoted names, as a server with the usual `sql_mode` reads it.
    pub(crate) fn complete(self) -> String {
        let more = self.more();
        let body = self.any_comment();
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

    /// From the end of a comment to the end of the statement: words, signs and literals in single quotes, without comments,
    /// other quotes, backslashes and semicolons. Such a text ends outside of literals, whatever `sql_mode` is set.
    pub(crate) fn rest_without_comments(self) -> String {
        self.without_comments(r"'\\")
    }

    /// The same from the beginning of a statement; no literal looks like a comment either, so that nobody reads one.
    pub(crate) fn bare(self) -> String {
        format!(r"\A{}", self.without_comments(r"'*\\"))
    }

    /// Literals hold none of the bytes in `out`. A text without literals and operators that could begin a comment is read in one go.
    fn without_comments(self, out: &str) -> String {
        let more = self.more();
        let run = format!(r##"[^'"`/#\\;-]*{more}"##);
        let stop = format!(r##"(?:'[^{out}]*{more}'|[/-][^*'"`/#\\;-]){run}"##);
        format!(r"{run}(?:\z|(?:{stop})+{more}\z)")
    }

    /// A plain read that ProxySQL takes for a SELECT, from its verb to its end; to be matched without case.
    pub(crate) fn select(self) -> String {
        format!(r"SELECT[\t\n\r ]{}", self.plain_read())
    }

    /// Any text that begins with one of the verbs, whatever comments stand before it, to be matched without case.
    pub(crate) fn beginning(self, verbs: &[&str]) -> String {
        let more = self.more();
        let body = self.any_comment();
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

    /// Behind `/*`: any comment, executed or not.
    fn any_comment(self) -> String {
        let more = self.more();
        format!(r"[^*]*{more}\*+{more}(?:[^*/][^*]*{more}\*+{more})*{more}/")
    }

    /// Behind `/*`: a comment that no server executes.
    fn comment(self) -> String {
        let more = self.more();
        format!(
            r"(?:[^!M*][^*]*{more}|M(?:[^!*][^*]*{more})?{more})?{more}\*+{more}(?:[^*/][^*]*{more}\*+{more})*{more}/"
        )
    }

    /// Literals and quoted names that are read in one way.
    fn literals(self) -> [String; 3] {
        let more = self.more();
        let quoted = |quote: char, others: &str| {
            let plain = format!(r"[\x00-{others}\[\]-\x7f]");
            let escape = r#"\\[\x00-!#-&(-\x7f]"#;
            let run = format!("{plain}*{more}(?:{escape}{plain}*{more})*{more}");
            format!(r"{quote}{run}(?:{BEYOND_ASCII}+{more}(?:{plain}{run})?{more})*{more}{quote}")
        };
        [
            quoted('\'', "&(-"),
            quoted('"', "!#-"),
            format!(r"`[\x00-_a-\x7f]*{more}`"),
        ]
    }

    /// A word that begins with a letter and is not out, given the special words that begin alike, without their
    /// common beginning.
    fn words(self, special: &[(&[u8], WordRole)], at_start: bool) -> String {
        let more = self.more();
        let next = letters_at(special, 0);
        let mut branches = vec![format!(r"{}\w*{more}", all_but(&next, at_start))];
        for letter in next {
            let rest = behind_letter(special, letter);
            let here = rest
                .iter()
                .find_map(|(word, role)| word.is_empty().then_some(*role));
            if here == Some(WordRole::BeginningOut) {
                continue;
            }
            if here == Some(WordRole::EndsInDigits) {
                branches.push(format!("[0-9]+{more}"));
                continue;
            }
            let longer = self.words(&rest, false);
            let behind = match here {
                Some(WordRole::Out | WordRole::BeginningOut | WordRole::EndsInDigits) => longer,
                Some(WordRole::Called) => format!(r"(?:{longer}|\(\w*{more})?{more}"),
                None => format!("{longer}?{more}"),
            };
            branches.push(format!("{}{behind}", char::from(letter)));
        }
        format!("(?:{})", branches.join("|"))
    }
}

/// The letters that special words have at a position, ascending.
fn letters_at(special: &[(&[u8], WordRole)], at: usize) -> Vec<u8> {
    let mut letters: Vec<u8> = special
        .iter()
        .filter_map(|(word, _)| word.get(at).copied())
        .collect();
    letters.sort_unstable();
    letters.dedup();
    letters
}

/// What stands behind a first letter.
fn behind_letter<'w>(special: &[(&'w [u8], WordRole)], letter: u8) -> Vec<(&'w [u8], WordRole)> {
    special
        .iter()
        .filter_map(|(word, role)| Some((word.strip_prefix(&[letter])?, *role)))
        .collect()
}

/// Letters other than these; digits too, but at the start of a word and where [`DIGIT`] is one of the letters.
fn all_but(letters: &[u8], at_start: bool) -> String {
    let no_digits = at_start || letters.contains(&DIGIT);
    let mut class = String::from(if no_digits { "[" } else { "[0-9" });
    for range in [b'A'..=b'Z', b'_'..=b'_'] {
        let mut run: Option<(u8, u8)> = None;
        for letter in range {
            run = match (run, letters.contains(&letter)) {
                (Some((first, last)), false) if last + 1 == letter => Some((first, letter)),
                (None, false) => Some((letter, letter)),
                (run, _) => {
                    push_run(&mut class, run);
                    None
                }
            };
        }
        push_run(&mut class, run);
    }
    class + "]"
}

fn push_run(class: &mut String, run: Option<(u8, u8)>) {
    let Some((first, last)) = run else {
        return;
    };
    class.push(char::from(first));
    if last > first {
        class.push('-');
        class.push(char::from(last));
    }
}

/// One of some words, common beginnings written once.
pub(crate) fn any_of(words: &[&str]) -> String {
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
