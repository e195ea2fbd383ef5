//! Automata: acceptance, inclusion, intersection, witnesses, limits.

use std::ops::Range;

use proptest::prelude::*;
use regex_automata::nfa::thompson::{self, pikevm::PikeVM};
use regex_automata::util::syntax;
use shardwright_patterns::{
    Automaton, Dialect, Flags, Inclusion, Limits, Literal, Pattern, Undecided, included, intersects, witness,
};

fn automaton(text: &str) -> Automaton {
    let pattern = Pattern::compile(text, Flags::default(), Dialect::Pcre).unwrap();
    Automaton::of(&pattern, &Limits::default()).unwrap()
}

fn inclusion(inner: &str, outer: &str) -> String {
    match included(&automaton(inner), &automaton(outer), &Limits::default()).unwrap() {
        Inclusion::Holds => "holds".to_owned(),
        Inclusion::Refuted { witness } => String::from_utf8(witness).unwrap(),
    }
}

#[test]
fn inclusions() {
    for (inner, outer, expect) in [
        ("^SELECT .* FOR UPDATE", "^SELECT", "holds"),
        ("^SELECT", "^SELECT .* FOR UPDATE", "SELECT"),
        ("tenant=17", "tenant=1", "holds"),
        ("tenant=1", "tenant=17", "TENANT=1"),
        ("a", "", "holds"),
        ("", "a", ""),
        (r"a$", r"a\n?\z", "holds"),
        (r"a\n?\z", r"a$", "holds"),
        (r"\bab\b", "ab", "holds"),
        ("ab", r"\bab\b", "AAB"),
        ("[^\\s\\S]", "a", "holds"),
        (r"\d{3}", r"\d", "holds"),
    ] {
        assert_eq!(inclusion(inner, outer), expect, "{inner} in {outer}");
    }
}

#[test]
fn intersections() {
    let meet = |a, b| {
        let found = intersects(&automaton(a), &automaton(b), &Limits::default()).unwrap();
        found.map(|witness| String::from_utf8(witness).unwrap())
    };
    assert_eq!(meet("^SELECT", "^(INSERT|UPDATE)\\s"), None);
    assert_eq!(meet("^ab", "bc$").as_deref(), Some("ABC"));
    assert_eq!(
        meet("shard=0*17", "shard=0*7").as_deref(),
        Some("SHARD=17SHARD=7")
    );
    assert_eq!(meet("^a$", "\\n"), Some("A\n".to_owned()));
}

#[test]
fn equal_languages_have_equal_automata() {
    for (a, b) in [
        ("(a|b)c", "ac|bc"),
        ("a+", "a"),
        ("^(?:ab)?c", "^(c|abc)"),
        ("[A-Za-z]", "[a-z]"),
        ("a|", ""),
    ] {
        assert_eq!(automaton(a), automaton(b), "{a} and {b}");
    }
    assert_ne!(automaton("^a"), automaton("a"));
    assert!(automaton("").is_everything() && automaton("[^\\s\\S]").is_empty());
    assert_eq!(automaton("a").states(), 2);
}

#[test]
fn samples_and_needles() {
    for (text, sample, needles) in [
        (
            "^SELECT .* FOR UPDATE",
            Some("SELECT  FOR UPDATE"),
            "select | for update",
        ),
        (r"/\*\s*tenant=0*17\b", Some("/*TENANT=17"), "/*|tenant=|17"),
        ("(?:app|web)_1", Some("APP_1"), "_1"),
        ("a+b{2}c?", Some("ABB"), "a|b"),
        ("[a-z]", Some("A"), ""),
        (r"[^\s\S]", None, ""),
        ("(?=a)a", None, ""),
    ] {
        let pattern = Pattern::compile(text, Flags::default(), Dialect::Pcre).unwrap();
        let found = pattern.sample().map(|sample| String::from_utf8(sample).unwrap());
        assert_eq!(found.as_deref(), sample, "{text}");
        let found = pattern.needles().join(&b'|');
        assert_eq!(String::from_utf8(found).unwrap(), needles, "{text}");
    }
}

#[test]
fn conjunctions_of_signed_literals() {
    let [select, update, world] = ["^SELECT", "FOR UPDATE", "world\\."].map(automaton);
    let literals = |update_is_positive| {
        [(&select, true), (&update, update_is_positive), (&world, true)]
            .map(|(automaton, positive)| Literal { automaton, positive })
    };
    let found = witness(&literals(false), &Limits::default()).unwrap().unwrap();
    assert_eq!(found, b"SELECTWORLD.");
    assert!(witness(&literals(true), &Limits::default()).unwrap().is_some());
    assert_eq!(witness(&[], &Limits::default()), Ok(Some(Vec::new())));
    let tight = Limits {
        tuples: 10,
        ..Limits::default()
    };
    assert_eq!(
        witness(&literals(true), &tight),
        Err(Undecided::TooManyTuples(10))
    );
}

#[test]
fn a_union_is_one_automaton() {
    let patterns: Vec<Pattern> = (0..50)
        .map(|n| Pattern::compile(&format!("tenant={n}\\b"), Flags::default(), Dialect::Pcre).unwrap())
        .collect();
    let all: Vec<&Pattern> = patterns.iter().collect();
    let union = Automaton::of_any(&all, &Limits::default()).unwrap();
    assert_eq!(union, automaton(r"tenant=([0-9]|[1-4][0-9])\b"));
}

#[test]
fn what_is_too_large_or_opaque_is_undecided() {
    let of = |text: &str| {
        let pattern = Pattern::compile(text, Flags::default(), Dialect::Pcre).unwrap();
        Automaton::of(
            &pattern,
            &Limits {
                bytes: 1 << 20,
                ..Limits::default()
            },
        )
    };
    assert!(matches!(of("a.{20}b"), Err(Undecided::TooLarge { .. })));
    assert_eq!(of("(?=a)b"), Err(Undecided::Opaque("look-ahead")));
}

/// The plainest engine of regex-automata, on the pattern as written.
fn oracle(pattern: &str, caseless: bool) -> PikeVM {
    let syntax = syntax::Config::new()
        .unicode(false)
        .utf8(false)
        .case_insensitive(caseless);
    PikeVM::builder()
        .syntax(syntax)
        .thompson(thompson::Config::new().utf8(false))
        .build(pattern)
        .unwrap()
}

fn find(oracle: &PikeVM, text: &[u8]) -> Option<Range<usize>> {
    oracle
        .find_iter(&mut oracle.create_cache(), text)
        .next()
        .map(|found| found.range())
}

#[test]
fn an_optimization_of_the_engine_invents_no_match() {
    let pattern = Pattern::compile("[ab][ab].+b", Flags::default(), Dialect::Pcre).unwrap();
    assert!(!pattern.is_match(b"aab\n"));
    assert!(pattern.is_match(b"aabb"));
}

/// Patterns that PCRE and `regex-syntax` read alike, over few letters.
fn pattern() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(vec![
        "a", "b", "[ab]", "[^a]", ".", r"\b", "^", r"\z", r"\n", r"\w", "(?i:b)", r"\B",
    ]);
    let leaf = prop::collection::vec(atom, 0..4).prop_map(|atoms| atoms.concat());
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}{b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            (inner, prop::sample::select(vec!["*", "+", "?", "{0,2}", "*?"]))
                .prop_map(|(a, q)| format!("({a}){q}")),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    "[abAB \n.]{0,7}"
}

/// Every text of at most `longest` bytes of a small alphabet, shortest first.
fn all_texts(longest: usize) -> Vec<Vec<u8>> {
    let mut texts = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..longest {
        let until = texts.len();
        for at in from..until {
            for byte in *b"ab\n" {
                let longer = [texts[at].as_slice(), &[byte]].concat();
                texts.push(longer);
            }
        }
        from = until;
    }
    texts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    /// A slow oracle for what the automata answer: every text up to a length, asked of the matchers.
    #[test]
    fn every_short_text_agrees(a in pattern(), b in pattern(), signs: [bool; 2]) {
        let compile = |text: &str| Pattern::compile(text, Flags { caseless: false, global: false }, Dialect::Pcre).unwrap();
        let (first, second) = (compile(&a), compile(&b));
        let limits = Limits::default();
        let automata = [&first, &second].map(|pattern| Automaton::of(pattern, &limits).unwrap());
        let literals = [0, 1].map(|at| Literal { automaton: &automata[at], positive: signs[at] });
        let found = witness(&literals, &limits).unwrap();
        let texts = all_texts(6);
        let holds = |text: &[u8]| first.is_match(text) == signs[0] && second.is_match(text) == signs[1];
        let shortest = texts.iter().find(|text| holds(text));
        match (&found, shortest) {
            (None, Some(text)) => prop_assert!(false, "{:?} was said not to be", String::from_utf8_lossy(text)),
            (Some(found), Some(text)) => prop_assert!(holds(found) && found.len() <= text.len()),
            (Some(found), None) => prop_assert!(holds(found)),
            (None, None) => {}
        }
        for text in &texts {
            prop_assert_eq!(automata[0].accepts(text), first.is_match(text));
        }
    }
}

proptest! {
    #[test]
    fn matching_agrees_with_the_oracle(pattern in pattern(), texts in prop::collection::vec(text(), 8), caseless: bool) {
        let flags = Flags { caseless, global: false };
        let ours = Pattern::compile(&pattern, flags, Dialect::Pcre).unwrap();
        let oracle = oracle(&pattern, caseless);
        let automaton = Automaton::of(&ours, &Limits::default()).unwrap();
        for text in &texts {
            let place = find(&oracle, text.as_bytes());
            let expect = place.is_some();
            prop_assert_eq!(ours.is_match(text.as_bytes()), expect, "{:?} on {:?}", pattern, text);
            prop_assert_eq!(automaton.accepts(text.as_bytes()), expect, "automaton of {:?} on {:?}", pattern, text);
            prop_assert_eq!(ours.captures(text.as_bytes()).and_then(|c| c[0].clone()), place);
        }
        // The same from the matcher that often asked patterns get.
        ours.prepare();
        for text in &texts {
            let place = find(&oracle, text.as_bytes());
            prop_assert_eq!(ours.is_match(text.as_bytes()), place.is_some(), "{:?} on {:?}", pattern, text);
            prop_assert_eq!(ours.captures(text.as_bytes()).and_then(|c| c[0].clone()), place);
            for needle in ours.needles().iter().filter(|_| ours.is_match(text.as_bytes())) {
                let lower = text.to_ascii_lowercase();
                prop_assert!(lower.as_bytes().windows(needle.len()).any(|window| window == needle.as_slice()));
            }
        }
    }

    #[test]
    fn dollar_is_the_automaton_s_dollar(body in "[ab]{0,3}", texts in prop::collection::vec(text(), 8)) {
        let pattern = Pattern::compile(&format!("{body}$"), Flags::default(), Dialect::Pcre).unwrap();
        let automaton = Automaton::of(&pattern, &Limits::default()).unwrap();
        for text in &texts {
            let line = text.strip_suffix('\n').unwrap_or(text);
            let ends = |text: &str| text.to_lowercase().ends_with(&body);
            prop_assert_eq!(pattern.is_match(text.as_bytes()), ends(line) || ends(text));
            prop_assert_eq!(automaton.accepts(text.as_bytes()), ends(line) || ends(text));
        }
    }

    #[test]
    fn answers_are_borne_out(a in pattern(), b in pattern(), texts in prop::collection::vec(text(), 8)) {
        let compile = |text: &str| Pattern::compile(text, Flags::default(), Dialect::Pcre).unwrap();
        let (inner, outer) = (compile(&a), compile(&b));
        let limits = Limits::default();
        let [left, right] = [&inner, &outer].map(|pattern| Automaton::of(pattern, &limits).unwrap());
        match included(&left, &right, &limits).unwrap() {
            Inclusion::Holds => prop_assert!(texts.iter().all(|t| !inner.is_match(t.as_bytes()) || outer.is_match(t.as_bytes()))),
            Inclusion::Refuted { witness } => {
                prop_assert!(inner.is_match(&witness) && !outer.is_match(&witness));
                let shorter = |t: &&String| t.len() < witness.len() && inner.is_match(t.as_bytes());
                prop_assert!(texts.iter().filter(shorter).all(|t| outer.is_match(t.as_bytes())));
            }
        }
        match intersects(&left, &right, &limits).unwrap() {
            Some(witness) => prop_assert!(inner.is_match(&witness) && outer.is_match(&witness)),
            None => prop_assert!(texts.iter().all(|t| !inner.is_match(t.as_bytes()) || !outer.is_match(t.as_bytes()))),
        }
    }

    #[test]
    fn no_pattern_is_too_strange(text in r"[\x00-\x7f]{0,12}|[(){}\[\]?*+|^$\\a-e0-9:<>=!#P,&-]{0,16}", subject in text()) {
        for dialect in [Dialect::Pcre, Dialect::Re2] {
            let compiled = Pattern::compile(&text, Flags { caseless: true, global: true }, dialect);
            match compiled {
                Ok(pattern) => {
                    let found = pattern.captures(subject.as_bytes());
                    prop_assert_eq!(pattern.is_match(subject.as_bytes()), found.is_some());
                    let _ = pattern.rewrite(subject.as_bytes(), br"\0\1x\2");
                }
                Err(error) => prop_assert!(error.offset <= text.len()),
            }
        }
    }
}
