//! What was read of texts before, for those that a worker meets again.
//!
//! Applications send the same few statements with other values. So what is read of one, which takes as long as all the rest that
//! is done for a usual statement, is kept by its [`skeleton`], and found again for every text that has the same.
//!
//! A skeleton is kept when it comes for the second time in a row at its place, so texts that come once push nothing out and
//! take no memory.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use shardwright_sql::LexMode;
use shardwright_sql::skeleton::{is_read_as_seen, skeleton_into};

use crate::KnownText;

/// Skeletons that are kept at most; a power of two.
const PLACES: usize = 1024;
/// Longer texts, in bytes, are read each time.
const LONGEST: usize = 2048;

/// Texts that were read, by their skeletons.
#[derive(Debug)]
pub struct KnownTexts {
    places: Box<[Place]>,
    /// Where skeletons are made.
    skeleton: Vec<u8>,
}

/// Where one of the skeletons is kept whose hashes belong here.
#[derive(Debug, Default)]
struct Place {
    /// Of the skeleton that is kept.
    hash: u64,
    /// `None`: its literals are not all what they seem, so each text is read.
    reading: Option<Box<Reading>>,
    /// The hash of the skeleton that came last.
    last: u64,
}

#[derive(Debug)]
struct Reading {
    mode: LexMode,
    skeleton: Box<[u8]>,
    known: KnownText,
}

impl Default for KnownTexts {
    fn default() -> Self {
        Self {
            places: std::iter::repeat_with(Place::default).take(PLACES).collect(),
            skeleton: Vec::new(),
        }
    }
}

impl KnownTexts {
    /// What is known of a text; `None`: it must be read.
    #[inline]
    pub fn known(&mut self, text: &[u8], mode: LexMode) -> Option<KnownText> {
        if text.len() > LONGEST {
            return None;
        }
        let lead = skeleton_into(text, mode, &mut self.skeleton)?;
        let mut hasher = FxHasher::default();
        hasher.write(&self.skeleton);
        mode.hash(&mut hasher);
        let hash = hasher.finish();
        let place = &mut self.places[hash as usize % PLACES];
        let comes_again = std::mem::replace(&mut place.last, hash) == hash;
        if place.hash == hash {
            let reading = place.reading.as_ref()?;
            let is_this = *reading.skeleton == *self.skeleton && reading.mode == mode;
            return is_this.then(|| reading.known.behind(lead));
        }
        if comes_again {
            place.hash = hash;
            place.reading = Reading::of(&self.skeleton, mode).map(Box::new);
        }
        None
    }
}

impl Reading {
    /// `None`: texts with this skeleton are not all read as it is.
    fn of(skeleton: &[u8], mode: LexMode) -> Option<Self> {
        is_read_as_seen(skeleton, mode).then(|| Self {
            mode,
            skeleton: skeleton.into(),
            known: KnownText::of(skeleton, mode),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use shardwright_sql::Servers;

    use super::*;
    use crate::Statement;

    const MODES: [LexMode; 3] = [
        LexMode {
            ansi_quotes: false,
            no_backslash_escapes: false,
            servers: Servers::ANY,
        },
        LexMode {
            ansi_quotes: true,
            no_backslash_escapes: false,
            servers: Servers::ANY,
        },
        LexMode {
            ansi_quotes: false,
            no_backslash_escapes: true,
            servers: Servers::ANY,
        },
    ];

    /// A piece of a statement; the same piece stands for one of several texts.
    fn piece() -> impl Strategy<Value = Vec<&'static str>> {
        let one = |text| vec![text];
        prop_oneof![
            4 => prop::sample::select(vec![
                "SELECT ", "INSERT INTO t ", "SET ", "a", "t1", "WHERE ", " IN ", "LIMIT ", "FOR ", "UPDATE ", "INTO ", "LOCK ", "_utf8",
                "x", "N", "e", "E", "NOW", "f", "GET_LOCK", "NEXTVAL", "é", "@", "@@", "`", "`b`", "`'`", "(", ")", ",", ", ", "=", ".", " ", "  ",
                "\n", "\u{b}", "+", "-", " - ", "--", "-- ", "#", "/", "*", "%", "/* a */", "/*", "*/", "/*! 1 */", "/*+ 2 */", ";", "\\", "'",
                "\"", "?", "\0", "...", "0x1F", "1e5", ".5", "b'1'", ":=", "->>", "<=>", "!",
            ]).prop_map(one),
            3 => Just(vec!["1", "42", "0", "007", "1.5", "20.25", "9"]),
            2 => Just(vec!["'x'", "''", "'it is'", "'1'", "'-- '", "'#'", "'/* '", "'a;b'", "'\\''", "'\"'", "'`'", "'a\\'", "'it''s'", "'é'"]),
            1 => Just(vec!["\"x\"", "\"\"", "\"1 2\"", "\"'\""]),
        ]
    }

    /// Two texts of the same pieces.
    fn alike() -> impl Strategy<Value = (String, String)> {
        let lead = prop::sample::select(vec![
            vec![""],
            vec![" "],
            vec![
                "/* tenant=17 */ ",
                "/* tenant=4711 */ ",
                "/**/",
                "/* it's; */ ",
                "/* a / b */",
                "/* a */*",
            ],
        ]);
        let texts = |pieces: Vec<Vec<&'static str>>| {
            let text = || {
                pieces
                    .iter()
                    .map(|texts| prop::sample::select(texts.clone()))
                    .collect::<Vec<_>>()
            };
            let joined = |texts: Vec<&str>| texts.concat();
            (text().prop_map(joined), text().prop_map(joined))
        };
        let body = prop::collection::vec(piece(), 0..14);
        (lead, body).prop_flat_map(move |(lead, body)| texts(std::iter::once(lead).chain(body).collect()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn what_is_known_of_a_text_is_what_is_read_of_it(
            texts in prop::collection::vec(alike(), 1..4),
            mode in prop::sample::select(MODES.to_vec()),
        ) {
            let mut known = KnownTexts::default();
            for (one, other) in &texts {
                for text in [one, one, one, other, other, other, one] {
                    if let Some(known) = known.known(text.as_bytes(), mode) {
                        prop_assert_eq!(known, KnownText::of(text.as_bytes(), mode), "{:?}", text);
                    }
                }
            }
        }
    }

    #[test]
    fn a_usual_statement_is_known_when_it_comes_for_the_third_time() {
        for (first, later) in [
            (
                "SELECT c FROM sbtest1 WHERE id=1",
                "SELECT c FROM sbtest1 WHERE id=4711",
            ),
            (
                "/* tenant=1 */ SELECT 'a' FROM t",
                "/* tenant=17 */ SELECT 'bcd' FROM t",
            ),
            (
                "INSERT INTO `t` (`a`) VALUES (1.5, 'x');",
                "INSERT INTO `t` (`a`) VALUES (27, '');",
            ),
            ("COMMIT", "COMMIT"),
        ] {
            let mut texts = KnownTexts::default();
            let mode = LexMode::default();
            let mut is_known = |text: &str| texts.known(text.as_bytes(), mode).is_some();
            assert_eq!(
                [first, first, later].map(&mut is_known),
                [false, false, true],
                "{later}"
            );
            assert!(!is_known("SELECT c FROM sbtest1 WHERE k=1"));
        }
    }

    #[test]
    fn texts_that_come_once_push_nothing_out() {
        let mut texts = KnownTexts::default();
        let mode = LexMode::default();
        let mut is_known = |text: &str| texts.known(text.as_bytes(), mode).is_some();
        let usual = "SELECT c FROM t WHERE id=1";
        assert_eq!([usual; 3].map(&mut is_known), [false, false, true]);
        for n in 0..20 * PLACES {
            assert!(!is_known(&format!("SELECT c{n} FROM t")));
        }
        assert!(is_known(usual));
    }

    #[test]
    fn another_mode_is_another_reading() {
        let text = b"SELECT \"a\" FROM t WHERE id = 1";
        let mut texts = KnownTexts::default();
        for mode in MODES.into_iter().cycle().take(12) {
            if let Some(known) = texts.known(text, mode) {
                assert_eq!(known, KnownText::of(text, mode), "{mode:?}");
            }
        }
        assert!(MODES.iter().all(|&mode| texts.known(text, mode).is_some()));
    }

    #[test]
    fn a_statement_with_what_is_known_of_its_text_is_that_statement() {
        for (text, mode) in [
            "SELECT a FROM t WHERE id=?",
            "/* tenant=17 */ SELECT \"x\" -- \" FOR UPDATE",
            "INSERT INTO t VALUES (?, ?); SELECT @a",
            "",
        ]
        .into_iter()
        .flat_map(|text| MODES.map(|mode| (text.as_bytes(), mode)))
        {
            let known = KnownText::of(text, mode);
            let read = Statement::new(text, mode);
            let told = Statement::new(text, mode).with_known(&known);
            assert_eq!(told.shape(), read.shape());
            assert_eq!(told.skim(), read.skim());
            assert_eq!(told.first_comment(), read.first_comment());
            assert_eq!(told.digest_hash_in(&mut Vec::new()), read.digest_hash());
            assert_eq!(told.digest_text(), read.digest_text());
            let mut buffer = b"before".to_vec();
            assert_eq!(
                Statement::new(text, mode).digest_hash_in(&mut buffer),
                read.digest_hash()
            );
            assert_eq!(read.digest_hash_in(&mut buffer), read.digest_hash());
        }
    }
}
