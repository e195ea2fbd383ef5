//! A family answers exactly as its members do.

use proptest::prelude::*;
use proptest::sample::select;
use shardwright_patterns::{Dialect, Family, Flags, Pattern};

const HEADS: [&str; 12] = [
    r"\btenant=",
    r"\btenant=(*COMMIT)",
    r"\b(?i:tenant)=(*COMMIT)",
    r"\btenant:(*COMMIT)",
    "tenant=",
    "aaa",
    "(?i:tenant)=",
    "[Tt][Ee]nant=",
    r"\A/\*tenant=",
    "^SELECT ",
    r"(?:ten)(?:ant)\b=",
    r"a[^b]\Ba",
];

/// Tails of key ranges, of anything, and some that are in no family.
const TAILS: [&str; 23] = [
    "1[,;]",
    "[12][,;]",
    r"['\x22]?(?:\+?0*(?:[0-9]|1[0-2])|-0+)['\x22]?(?:\*/|[\t-\r ,;])",
    r"['\x22]?\+?0*13['\x22]?(?:\*/|[\t-\r ,;])",
    r"0*1\b",
    "1$",
    r"1\z",
    "a",
    "a*",
    "",
    r"\b",
    r"\B",
    "^",
    "1|2|13",
    ".*3",
    r"(?s:.)3",
    r"\x00",
    r"\xe9?1",
    "(1)(2)?",
    "1{2,3}",
    r"(?=1)",
    "1++",
    "é",
];

const PIECES: [&[u8]; 21] = [
    b"tenant=",
    b"TENANT=",
    b" ",
    b"/*",
    b"*/",
    b"aaa",
    b"a",
    b"1",
    b"2",
    b"13",
    b"013,",
    b"-0 ",
    b"'",
    b";",
    b"\n",
    b"\0",
    b"\xe9",
    b"\xc3\xa9",
    b"SELECT ",
    b"b",
    b"=",
];

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![4 => Just(Dialect::Pcre), 1 => Just(Dialect::Re2), 1 => Just(Dialect::Bundled)]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(select(PIECES.to_vec()), 0..10).prop_map(|pieces| pieces.concat())
}

/// What each family tells of a text: its members, and those that match; `None` where it does not tell.
fn told(families: &[Family], patterns: &[Pattern], text: &[u8]) -> Vec<(Vec<u32>, Option<Vec<u32>>)> {
    let tell = |family: &Family| {
        let mut matching = Vec::new();
        let told = family.matching(
            text,
            |number| patterns.get(number as usize),
            |number| matching.push(number),
        );
        matching.sort_unstable();
        matching.dedup();
        (family.members().to_vec(), told.then_some(matching))
    };
    families.iter().map(tell).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn a_family_answers_as_its_members(
        dialect in dialect(),
        written in prop::collection::vec((select(HEADS.to_vec()), select(TAILS.to_vec()), any::<bool>(), any::<bool>()), 8..60),
        texts in prop::collection::vec(text(), 1..20),
    ) {
        let compile = |(head, tail, caseless, past_nul): &(&str, &str, bool, bool)| {
            let flags = Flags { caseless: *caseless, global: false };
            let pattern = Pattern::compile(&format!("{head}{tail}"), flags, dialect).ok()?;
            Some(if *past_nul { pattern.past_nul() } else { pattern })
        };
        let patterns: Vec<Pattern> = written.iter().filter_map(compile).collect();
        let families = Family::among((0..).zip(&patterns));
        for text in &texts {
            for (members, matching) in told(&families, &patterns, text) {
                let Some(matching) = matching else { continue };
                let finds = |&number: &u32| patterns[number as usize].finds(text) == Some(true);
                let expected: Vec<u32> = members.into_iter().filter(finds).collect();
                prop_assert_eq!(&matching, &expected, "{:?}", String::from_utf8_lossy(text));
            }
        }
    }
}

fn tenants(count: u32) -> Vec<Pattern> {
    (0..count)
        .map(|n| {
            let pattern = format!(r"\btenant=0*{n}(?:\*/|[ ,;])");
            Pattern::compile(&pattern, Flags::default(), Dialect::Pcre).unwrap()
        })
        .collect()
}

#[test]
fn keys_of_one_word_are_one_family() {
    let mut patterns = tenants(100);
    for other in [r"\A[^']*+\z", "tenant", r"\btenant=.*x", r"\btenant=1(?=,)"] {
        patterns.push(Pattern::compile(other, Flags::default(), Dialect::Pcre).unwrap());
    }
    let families = Family::among((0..).zip(&patterns));
    let members: Vec<&[u32]> = families.iter().map(Family::members).collect();
    let expected: Vec<u32> = (0..100).collect();
    // What is left but for the opaque one is a family without a head.
    assert_eq!(members, [&expected[..], &[100, 101, 102]]);
    let text = b"/* tenant=17 */ SELECT 1; /* tenant=0018*/\0/* tenant=19 */";
    let told = told(&families, &patterns, text);
    assert_eq!(
        told,
        [
            (expected, Some(vec![17, 18])),
            (vec![100, 101, 102], Some(vec![100, 101]))
        ]
    );
}

/// Patterns in the shape of guards: anchored and not, with loops, alternatives and assertions.
const GUARDS: [&str; 24] = [
    r"\A(?:[^'`#-]++|'[^']*+'|`[^`]*+`)*+\z",
    r"\A[\t-\r ]*(?:SELECT|SHOW)[\t-\r ]+(?:[^f;]++|\Bf|f(?!or))*+\z",
    r"/\*[^*]*?(?:(?:\*+[^*/][^*]*?){0,16}?\b)(?:hostgroup|min_gtid)",
    r"/\*(?:tenant=|[^!+M*][^*]*(?:\*+[^*/][^*]*){0,16}\btenant=)",
    r"\A[^`]*`(?:(?s:.*)`)?[\t-\r ]*\(",
    r"\A",
    r"\z",
    "^$",
    r"\A\) ",
    "",
    "(?i:tenant)=",
    r"\btenant=(?:[^t]++|\Bt\w*+\b)*+\z",
    "a",
    "a.*1",
    "(?s)a.*1",
    "(?m)^1",
    r"\x00",
    "[^a]{3,16}b",
    "(a|b)*1$",
    r"\Bb",
    "SELECT (?s:.)*b",
    "é",
    "(?=1)",
    "1{2,40}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn patterns_asked_together_answer_as_each_does(
        dialect in dialect(),
        written in prop::collection::vec((select(GUARDS.to_vec()), any::<bool>(), prop::bool::weighted(0.2)), 2..90),
        texts in prop::collection::vec(text(), 1..20),
    ) {
        let compile = |(text, caseless, past_nul): &(&str, bool, bool)| {
            let flags = Flags { caseless: *caseless, global: false };
            let pattern = Pattern::compile(text, flags, dialect).ok()?;
            Some(if *past_nul { pattern.past_nul() } else { pattern })
        };
        let patterns: Vec<Pattern> = written.iter().filter_map(compile).collect();
        let families = Family::among((0..).zip(&patterns));
        for text in &texts {
            for (members, matching) in told(&families, &patterns, text) {
                let finds = |&number: &u32| patterns[number as usize].finds(text) == Some(true);
                let expected: Vec<u32> = members.into_iter().filter(finds).collect();
                prop_assert_eq!(matching, Some(expected), "{:?}", String::from_utf8_lossy(text));
            }
        }
    }
}

#[test]
fn beyond_their_memory_patterns_are_left_to_themselves() {
    // Which of so many windows is open takes a state for every set of them.
    let written: Vec<String> = (0..40).map(|n| format!("[ab]{{{}}}a[^c]*d{n}", n % 16)).collect();
    let patterns: Vec<Pattern> = written
        .iter()
        .map(|text| Pattern::compile(text, Flags::default(), Dialect::Pcre).unwrap())
        .collect();
    let families = Family::among((0..).zip(&patterns));
    assert_eq!(families.len(), 1);
    let (mut seed, mut gave_up) = (1_u64, false);
    for _ in 0..2_000 {
        let text: Vec<u8> = (0..400)
            .map(|_| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                b"aaabbbd1"[(seed >> 40) as usize % 8]
            })
            .collect();
        match &told(&families, &patterns, &text)[0].1 {
            Some(matching) => {
                let finds = |&number: &u32| patterns[number as usize].finds(&text) == Some(true);
                let expected: Vec<u32> = (0..40).filter(finds).collect();
                assert_eq!(*matching, expected);
            }
            None => {
                gave_up = true;
                break;
            }
        }
    }
    assert!(gave_up);
}

#[test]
fn thousands_of_keys_stay_within_their_memory() {
    let patterns = tenants(3_000);
    let families = Family::among((0..).zip(&patterns));
    for key in 0..3_000_u32 {
        let text = format!("/* tenant={key} */ SELECT 1");
        let [(_, Some(matching))] = &told(&families, &patterns, text.as_bytes())[..] else {
            panic!("key {key} is not told");
        };
        assert_eq!(matching, &[key]);
    }
}

#[test]
fn a_text_with_many_keys_is_left_to_the_members() {
    let patterns = tenants(8);
    let families = Family::among((0..).zip(&patterns));
    let tells = |keys: usize| {
        told(&families, &patterns, "tenant=1 ".repeat(keys).as_bytes())[0]
            .1
            .clone()
    };
    assert_eq!((tells(8), tells(9)), (Some(vec![1]), None));
}
