//! `(*COMMIT)`: the first place where the word before it stands decides.

use proptest::prelude::*;
use shardwright_patterns::{Automaton, Dialect, ErrorKind, Flags, Inclusion, Limits, Pattern, included};

const EXACT: Flags = Flags {
    caseless: false,
    global: false,
};

fn pcre(text: &str) -> Pattern {
    Pattern::compile(text, EXACT, Dialect::Pcre).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What PCRE does: the search ends at the first head, whatever follows it.
fn by_hand(head: &str, rest: &str, text: &[u8]) -> Option<std::ops::Range<usize>> {
    let regex = |pattern: &str| {
        let builder = regex_automata::meta::Builder::new()
            .syntax(Pattern::syntax())
            .build(&format!("(?-u:{pattern})"));
        builder.expect("a valid expression")
    };
    let first = regex(head).find(text)?;
    let there = regex_automata::Input::new(text)
        .range(first.start()..)
        .anchored(regex_automata::Anchored::Yes);
    regex(&format!("{head}{rest}"))
        .find(there)
        .map(|found| found.range())
}

proptest! {
    #[test]
    fn the_first_head_decides(
        head in prop::sample::select(vec![
            r"\bid=", r"\b(?i:id)=", r"\bi=", r"\b[ij]d=", r"\bid[=:]", r"\bii=", r"\bidi ", r"\b_=",
        ]),
        rest in prop::sample::select(vec!["7", r"0*7\b", "(?:7|8)[ ;]", r"['\x22]?7", "", r"\b7|8", r"[^7]*7\z"]),
        pieces in prop::collection::vec(prop::sample::select(vec![
            "id=", "ID=", "i", "d", "=", "7", "8", "07", " ", ";", "'", "_", "id", "id:", "é", "\n", "idi", "jd=",
        ]), 0..10),
    ) {
        let (text, rest) = (pieces.concat(), if rest.contains('|') { format!("(?:{rest})") } else { rest.to_owned() });
        let pattern = pcre(&format!("{head}(*COMMIT){rest}"));
        let expected = by_hand(head, &rest, text.as_bytes());
        prop_assert_eq!(pattern.finds(text.as_bytes()), Some(expected.is_some()), "{}", text);
        let place = pattern.captures(text.as_bytes()).and_then(|groups| groups[0].clone());
        prop_assert_eq!(place, expected.clone(), "{}", text);
        let automaton = Automaton::of(&pattern, &Limits::default()).expect("small");
        prop_assert_eq!(automaton.accepts(text.as_bytes()), expected.is_some(), "{}", text);
    }
}

#[test]
fn it_finds_less_than_a_search() {
    let limits = Limits::default();
    let [committed, searched] = [r"\btenant=(*COMMIT)17\b", r"\btenant=17\b"]
        .map(|text| Automaton::of(&pcre(text), &limits).expect("small"));
    assert_eq!(included(&committed, &searched, &limits), Ok(Inclusion::Holds));
    assert!(matches!(
        included(&searched, &committed, &limits),
        Ok(Inclusion::Refuted { .. })
    ));
}

#[test]
fn a_rewrite_begins_at_the_first_head() {
    let pattern = pcre(r"\bid=(*COMMIT)(7)\b");
    let rewritten = |text: &str| {
        let bytes = pattern.rewrite(text.as_bytes(), br"key=\1");
        bytes.map(|bytes| String::from_utf8(bytes).expect("ASCII"))
    };
    assert_eq!(rewritten("a id=7, id=7").as_deref(), Some("a key=7, id=7"));
    assert_eq!(rewritten("a id=8, id=7"), None);
}

#[test]
fn what_it_means_elsewhere_is_not_known() {
    for text in [
        r"id=(*COMMIT)7",
        r"\bid(*COMMIT)7",
        r"\b=(*COMMIT)7",
        r"\bid=(*COMMIT)7|8",
        r"8|\bid=(*COMMIT)7",
        r"(?:\bid=(*COMMIT)7)",
        r"(?i)\bid=(*COMMIT)7",
        r"\bid=(*COMMIT)7(*COMMIT)8",
        r"\bid=*(*COMMIT)7",
        r"\bid=(*COMMIT)7$",
        r"\bid=(*COMMIT)(?=7)",
        r"\bid=(*PRUNE)7",
        r"\bid=(*COMMIT",
        "(*COMMIT)7",
    ] {
        let error = Pattern::compile(text, EXACT, Dialect::Pcre).expect_err(text);
        assert_eq!(error.kind, ErrorKind::Unsupported, "{text}: {error}");
        let error = Pattern::compile(text, EXACT, Dialect::Re2).expect_err(text);
        assert_eq!(error.kind, ErrorKind::Invalid, "{text}: {error}");
    }
    let repeated = Pattern::compile(r"\bid=(*COMMIT)*7", EXACT, Dialect::Pcre);
    assert_eq!(
        repeated.expect_err("nothing repeats a verb").kind,
        ErrorKind::Unsupported
    );
}
