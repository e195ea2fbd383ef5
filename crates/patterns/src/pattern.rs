//! A compiled pattern and what it finds in a text.

use std::sync::{Arc, OnceLock};

use regex_automata::meta;
use regex_automata::util::syntax;
use regex_syntax::hir::Hir;

use crate::committed::{Committed, Head};
use crate::dialect::{Captures, Dialect, Flags};
use crate::error::{ErrorKind, PatternError};
use crate::front::{self, Translation};
use crate::matcher::{self, COMPILED_BYTES, Matcher};
use crate::rewrite::Replacement;
use crate::{literals, possessive};

/// Steps of the backtracking matcher, after which the search is given up; PCRE's own limit is not the same.
const BACKTRACK_LIMIT: usize = 200_000;
/// What repeats the part before it.
const QUANTIFIERS: [char; 4] = ['*', '+', '?', '{'];

/// A pattern as one engine understands it.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    dialect: Dialect,
    flags: Flags,
    translation: Arc<Translation>,
    /// The regular language; absent for an opaque pattern and one with `(*COMMIT)`.
    hir: Option<Arc<Hir>>,
    /// What the search that gives up is made of.
    committed: Option<Arc<Committed>>,
    /// Finds whether there is a match in the regular language.
    regular: Arc<Matcher>,
    /// Finds where it is, if `regular` cannot tell exactly; compiled when it is first asked.
    exact: Arc<OnceLock<Option<fancy_regex::Regex>>>,
    /// RE2 rewrites with a case-sensitive copy whatever the flags say.
    rewriting: Option<Box<Pattern>>,
    /// Texts are read to their end, and not to their first NUL byte.
    past_nul: bool,
}

impl Pattern {
    /// Reads `text` as an expression of `dialect`.
    ///
    /// # Errors
    /// If the engine would not compile it, or if it cannot be evaluated here.
    pub fn compile(text: &str, flags: Flags, dialect: Dialect) -> Result<Self, PatternError> {
        let mut translation = front::translate(text, flags.caseless, dialect)?;
        let case = if flags.caseless { "i" } else { "" };
        let bytes = if dialect == Dialect::Re2 { "" } else { "-u" };
        let opening = format!("(?{case}{bytes}:");
        let marked = possessive::marked(&translation.regular, &translation.possessive);
        let head = match translation.committed {
            Some(end) => Some(Head::read(
                &format!("{opening}{})", &translation.regular[..end]),
                parse,
            )?),
            None => None,
        };
        let behind = translation
            .committed
            .map(|end| translation.regular[end..].to_owned());
        translation.regular = format!("{opening}{})", translation.regular);
        let mut hir = match (translation.opaque, &head, behind) {
            (Some(_), ..) => None,
            // The verb stands in no group and no branch, and the head has no groups.
            (None, Some(Some(head)), Some(behind)) if !behind.starts_with(QUANTIFIERS) => {
                let behind = parse(&format!("{opening}{behind})"))?;
                Some(Hir::concat(vec![head.head.clone(), behind]))
            }
            (None, ..) => Some(parse(&translation.regular)?),
        };
        let takes_back = match (&hir, &marked) {
            (Some(hir), Some(marked)) => {
                !possessive::gives_nothing_back(&parse(&format!("{opening}{marked})"))?)
                    && !possessive::reads_one_way(hir)
            }
            _ => false,
        };
        if takes_back {
            translation.opaque.get_or_insert(front::POSSESSIVE);
            hir = None;
        }
        let mut committed = None;
        if let Some(head) = head {
            let (Some(head), Some(whole)) = (head.filter(|_| !translation.dollar), hir.take()) else {
                return Err(unsupported(
                    "what stands before `(*COMMIT)` here cannot be evaluated".to_owned(),
                ));
            };
            committed = Some(Arc::new(Committed::new(head, whole)));
        }
        let regular = Arc::new(Matcher::default());
        match (&committed, &hir) {
            (Some(committed), _) if matcher::is_too_many(committed.parts()) => {
                regular.check(committed.language())?;
            }
            (None, Some(hir)) if matcher::is_too_many(matcher::parts(hir)) => regular.check(hir)?,
            _ => {}
        }
        let exact = Arc::new(OnceLock::new());
        if translation.opaque.is_some() {
            let built = exact_regex(&translation, flags)?;
            exact.get_or_init(|| Some(built));
        }
        let rewriting = (dialect == Dialect::Re2 && flags.caseless)
            .then(|| {
                Pattern::compile(
                    text,
                    Flags {
                        caseless: false,
                        ..flags
                    },
                    dialect,
                )
                .map(Box::new)
            })
            .transpose()?;
        Ok(Pattern {
            text: text.to_owned(),
            dialect,
            flags,
            translation: Arc::new(translation),
            hir: hir.map(Arc::new),
            committed,
            regular,
            exact,
            rewriting,
            past_nul: false,
        })
    }

    /// The same for an engine that knows how long a text is: a NUL byte is a byte like others.
    #[must_use]
    pub fn past_nul(mut self) -> Self {
        self.past_nul = true;
        self
    }

    /// What of `text` the engine sees.
    fn subject<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        subject(text, self.past_nul)
    }

    /// Whether a NUL byte is a byte like others: [`Pattern::past_nul`].
    pub fn is_past_nul(&self) -> bool {
        self.past_nul
    }

    /// Compiles at once what is otherwise compiled when a pattern has been asked often: for those who answer clients.
    pub fn prepare(&self) {
        if let Some(hir) = self.hir() {
            self.regular.prepare(hir);
        }
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whose expression it is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Its flags.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Number of capturing groups, the whole match not counted.
    pub fn groups(&self) -> usize {
        self.translation.groups
    }

    /// Why no automaton can stand for it, if so.
    pub fn opaque(&self) -> Option<&'static str> {
        self.translation.opaque
    }

    /// The same language as a `regex-syntax` expression that carries its own flags, for matching many patterns as one;
    /// `None` if opaque. Compile it with [`Pattern::syntax`] and [`Pattern::engine`]; it may take in a final line end that
    /// `$` only looks at, and the byte in front that a look-behind asks for.
    pub fn regular_text(&self) -> Option<&str> {
        let whole = self.translation.regular.as_str();
        match &self.committed {
            Some(committed) => Some(committed.regular(whole)),
            None => self.translation.opaque.is_none().then_some(whole),
        }
    }

    /// The same language as a syntax tree; `None` if opaque.
    pub(crate) fn hir(&self) -> Option<&Hir> {
        match &self.committed {
            Some(committed) => Some(committed.language()),
            None => self.hir.as_deref(),
        }
    }

    /// What a match itself is, without the texts before a head; `None` if opaque.
    fn matching(&self) -> Option<&Hir> {
        match &self.committed {
            Some(committed) => Some(committed.whole()),
            None => self.hir.as_deref(),
        }
    }

    /// What it is made of, if `(*COMMIT)` stands in it.
    pub(crate) fn committed(&self) -> Option<&Committed> {
        self.committed.as_deref()
    }

    /// A text that contains a match, short and readable where the pattern shows one; `None` where it does not. Only a
    /// proposal: an assertion or a `$` may refuse it.
    pub fn sample(&self) -> Option<Vec<u8>> {
        literals::sample(self.matching()?)
    }

    /// Texts, in lower case, that every matching text holds whatever its letter case; none for an opaque pattern.
    pub fn needles(&self) -> Vec<Vec<u8>> {
        self.matching().map(literals::needles).unwrap_or_default()
    }

    /// Whether a match is known to be of one byte or more: then the empty text contains none. False for an opaque pattern.
    pub fn reads_bytes(&self) -> bool {
        let least = |hir: &Hir| hir.properties().minimum_len();
        self.matching().is_some_and(|hir| least(hir) != Some(0))
    }

    /// Numbers of the capturing groups that can match text of any length; none for an opaque pattern.
    pub fn open_groups(&self) -> Vec<usize> {
        self.matching().map(literals::open_groups).unwrap_or_default()
    }

    /// What makes a backtracking engine try very many ways, if the pattern has such a shape.
    pub fn backtracking(&self) -> Option<&'static str> {
        literals::backtracking(&self.translation.regular)
    }

    /// The syntax options that [`Pattern::regular_text`] is written for.
    pub fn syntax() -> syntax::Config {
        matcher::syntax()
    }

    /// The engine options to compile it with.
    pub fn engine() -> meta::Config {
        matcher::engine()
    }

    /// True if `text`, cut at its first NUL byte unless the pattern is [`Pattern::past_nul`], contains a match. A search that
    /// was given up found none.
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.finds(text).unwrap_or(false)
    }

    /// Whether `text`, cut as for [`Pattern::is_match`], contains a match; `None` if the search was given up.
    pub fn finds(&self, text: &[u8]) -> Option<bool> {
        let text = self.subject(text);
        if let Some(committed) = &self.committed
            && !self.regular.is_asked_often()
            && let Some(found) = committed.finds_quickly(text)
        {
            return Some(found);
        }
        match self.hir() {
            Some(hir) => self.regular.finds(hir, text),
            None => self.exact()?.is_match(text).ok(),
        }
    }

    /// The leftmost match in `text`, cut as [`Pattern::is_match`] does.
    pub fn captures(&self, text: &[u8]) -> Option<Captures> {
        self.captures_at(self.subject(text), 0)
    }

    /// What a rule's `replace_pattern` makes of `text`; `None` if the engine leaves the text as it is. Text that
    /// [`Pattern::is_match`] does not see is lost, as it is in ProxySQL.
    pub fn rewrite(&self, text: &[u8], replacement: &[u8]) -> Option<Vec<u8>> {
        let by = self.rewriting.as_deref().unwrap_or(self);
        let replacement = Replacement {
            text: replacement,
            dialect: by.dialect,
            groups: by.groups(),
            global: self.flags.global,
        };
        replacement.rewrite(self.subject(text), |text, from| by.captures_at(text, from))
    }

    /// The backtracking matcher, where the regular one cannot tell places or is none.
    fn exact(&self) -> Option<&fancy_regex::Regex> {
        let Translation {
            opaque,
            dollar,
            looks_in_front,
            ..
        } = *self.translation;
        let needed = opaque.is_some() || dollar || looks_in_front;
        let build = || exact_regex(&self.translation, self.flags).ok();
        self.exact.get_or_init(|| needed.then(build).flatten()).as_ref()
    }

    /// The leftmost match that begins at `from` or later.
    fn captures_at(&self, text: &[u8], from: usize) -> Option<Captures> {
        if let Some(exact) = self.exact() {
            let captures = exact.captures_from_pos(text, from).ok()??;
            return Some(
                (0..captures.len())
                    .map(|i| captures.get(i).map(|group| group.range()))
                    .collect(),
            );
        }
        if let Some(committed) = &self.committed {
            return committed.captures_at(text, from);
        }
        let regular = self.regular.with_groups(self.hir()?)?;
        let mut captures = regular.create_captures();
        regular.captures(regex_automata::Input::new(text).range(from..), &mut captures);
        let found = captures.is_match();
        found.then(|| {
            (0..captures.group_len())
                .map(|i| captures.get_group(i).map(|span| span.range()))
                .collect()
        })
    }
}

/// What of `text` an engine sees: ProxySQL hands its library a NUL-terminated text.
pub(crate) fn subject(text: &[u8], past_nul: bool) -> &[u8] {
    if past_nul {
        return text;
    }
    memchr::memchr(0, text).map_or(text, |end| &text[..end])
}

fn parse(regular: &str) -> Result<Hir, PatternError> {
    syntax::parse_with(regular, &Pattern::syntax()).map_err(|error| unsupported(error.to_string()))
}

fn exact_regex(translation: &Translation, flags: Flags) -> Result<fancy_regex::Regex, PatternError> {
    fancy_regex::RegexBuilder::new(&translation.exact)
        .case_insensitive(flags.caseless)
        .bytes_mode(fancy_regex::BytesMode::Ascii)
        .backtrack_limit(BACKTRACK_LIMIT)
        .delegate_size_limit(COMPILED_BYTES)
        .build()
        .map_err(|error| unsupported(error.to_string()))
}

fn unsupported(message: String) -> PatternError {
    PatternError {
        kind: ErrorKind::Unsupported,
        message,
        offset: 0,
    }
}
