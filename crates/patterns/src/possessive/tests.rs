//! Expressions that read one way, and others.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use regex_automata::util::syntax;

fn hir(pattern: &str) -> Hir {
    syntax::parse_with(&format!("(?-u:{pattern})"), &syntax::Config::new().utf8(false)).expect(pattern)
}

#[test]
fn a_pattern_reads_one_way_or_not() {
    for (pattern, expected) in [
        (r"\A(?:[^']+|'[^']*')*\z", true),
        (r"\A(?:a+|ab)*\z", false),
        (r"\Aa*ab\z", false),
        (r"\A(?:a+)*\z", true),
        (r"\A(?:ab|cd)*(?:e|f)\z", true),
        (r"\A(?:x[^\n]*(?:\n|\z)|y)*\z", true),
        (r"\A(?:x[^\n]*\n?|y)*\z", false),
        (r"\A(?:a*\z|ab\z)", true),
        (r"\A!(?:a*\z|a[bc]\z)", true),
        (r"\A(?:a*\z|a*ab\z)", false),
        (r"\A(?:a*\z|ab\z)+", false),
        (r"\A(?:a*|ab)\z", false),
        (r"\Aa{2,3}b\z", true),
        (r"\Aa{2,3}a\z", false),
        (r"\A(?:a{2,}b)*\z", true),
        (r"(?:[^']+|'[^']*')*\z", true),
        (r"(?:[^']+|'[^']*')*", false),
        (r"x(?:[^t]+|\Bt|\bta)*\btb", true),
        (r"x(?:[^t]+|\Bt|\bt(?:[^\We]|e(?:[^x]|\z)|\b))*\btex", true),
        (r"x(?:[^t]+|\Bt|\bt(?:[^\We]|e(?:[^y]|\z)|\b))*\btex", false),
        (r"x(?:[^t]+|\Bt|\bt(?:[^\We]|e+(?:[^x]|\z)|\b))*\btex", false),
        (r"x(?:[^t]+|\Bt|\bta)*\btb?", false),
        (r"(?:\bx|[xy])z", false),
        (r"\A[ab]*", false),
        (r"\Ax\b\z", true),
        (r"\A!\b\z", true),
        (r"\A!\B\z", true),
        (r"\Ax\B\z", true),
        (r"\A(?:x(?:[y-z]+\b|\b)|y)*\z", true),
        (r"\A(?:x(?:[y-z]+|\b)|y)*\z", false),
        (r"\A(?:x(?:\b|y))*\z", false),
        (r"\A(?:!(?:x+\b|\B)|x+\b)*\z", true),
        (r"\A(?:!(?:x+\b)?|x+\b)*\z", false),
        (r"\A\bx\z", true),
        (r"\A\Bx\z", true),
        (r"\A(?:[^t]+|\Bt|\btx)*\z", true),
        (r"\A(?:[^t]+|\Bt|tx)*\z", false),
        (r"\A(?:[^t]+|\bt|\Bt|!)*\z", false),
        (r"\A(?:[^t]+|\B\bt)*\z", false),
        (r"\A(?:[^t]+\b|t)*\z", false),
        (r"\A(?:[!x]\b[!x]|[!x]\B[!x])*\z", true),
        (r"\A(?:[0-9]+\b|[a-z]+!?)*\z", true),
        (r"\A(?:[0-9]+|[a-z0-9]+!)*\z", false),
        (r"\A(?:[0-9]+\b|x)*[0-9]\z", false),
        (r"\A(?:[ab]x+|ay)*\z", true),
        (r"\A(?:[ab]x|a(?:y|z)|abc)*\z", true),
        (r"\A(?:[ab]x|ay?)*\z", false),
        (r"\A(?:[ab]+x|ay)*\z", false),
        (r"\A(?:[ab]x|a)*\z", false),
        (r"\A(?:[ab]x|[ab]\b|a(?:y|z)+)*\z", true),
        (r"\A(?:[ab]x|a(?:y|z)*)*\z", false),
        (r"\A(?:[ab]x|a(?:y|x))*\z", false),
        (r"\A(?:ax?\b|a!)*\z", false),
        (r"\A(?:[ab]x|ay)*a\z", true),
        (r"\A(?:[ab]x|ay)*a[x-z]\z", false),
        (r"\A(?:[ab]x|c)*ay\z", true),
        (r"\A(?:[ab]x|c)*y?a\z", false),
        (r"\A(?:[ab]x|a|c)*ay\z", false),
        (r"\A(?:[ab]x+|c)*ax\z", false),
        (r"\A(?:[ab]x)*ay\z", false),
        (r"\A(?:a\b|ab\w+\b|!)*ab\b(?:\b!|!)*\z", false),
        (r"\A(?:a\b|ab\w+\b|!)*ab\b(?:!)*\z", true),
        (r"\A(?:a*|b)c\z", false),
        (r"\A(?:b|a*)c\z", true),
        (r"\Aa*?b\z", false),
    ] {
        assert_eq!(reads_one_way(&hir(pattern)), expected, "{pattern}");
    }
}

#[test]
fn a_run_gives_nothing_back_or_may() {
    for (expression, possessive, expected) in [
        (r"/[^*/]*/x", "[^*/]*", true),
        (r"/[^*/]*[^*]*x", "[^*/]*", false),
        (r"/[^*x]*[^*]*x", "[^*x]*", true),
        (r"/[^*x]*[^*a]*x", "[^*x]*", false),
        (r"/[^*x]*(?:[^*]*x|[*])", "[^*x]*", true),
        (r"/[^*x]*(?:(?s:.*?)x|[*]|a)", "[^*x]*", false),
        (r"/[^*x]*(?:x|[*])?", "[^*x]*", false),
        (r"/[^*x]*(?:x|[*])?[*]", "[^*x]*", true),
        (r"/[^*x]*(?:[*]a|a?x){0,3}[*]", "[^*x]*", false),
        (r"/[^*x]*(?:[*]a|[*]x){2}[*]", "[^*x]*", true),
        (r"/(?:[^*x]*)y", "[^*x]*", false),
        (r"a{2,3}b", "a{2,3}", true),
        (r"a{2,3}[ab]", "a{2,3}", false),
        (r"(?:ab)*c", "(?:ab)*", false),
    ] {
        let from = expression.find(possessive).expect(expression);
        let repeated = from..from + possessive.len();
        let marked = marked(expression, std::slice::from_ref(&repeated)).expect("one");
        assert_eq!(gives_nothing_back(&hir(&marked)), expected, "{expression}");
    }
}

/// Expressions whose quantifiers are written `+`, `*` and `?`.
fn expressions() -> impl Strategy<Value = String> {
    let atom = select(vec![
        "a", "t", "!", "[^t]", "[at]", "[!t]", r"\w", r"\W", "ta", "at", r"[^a!]", r"\b", r"\B",
    ]);
    let part = (atom, select(vec!["", "", "+", "*", "?"])).prop_map(|(atom, times)| match atom {
        r"\b" | r"\B" => atom.to_owned(),
        atom if atom.len() == 2 && !atom.starts_with('\\') => format!("(?:{atom}){times}"),
        atom => format!("{atom}{times}"),
    });
    let sequence =
        |part: BoxedStrategy<String>| prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat());
    let inner = sequence(part.clone().boxed());
    let group = (
        prop::collection::vec(inner.clone(), 1..4),
        select(vec!["", "*", "*", "+", "?"]),
    )
        .prop_map(|(branches, times)| format!("(?:{}){times}", branches.join("|")));
    let whole = sequence(prop_oneof![1 => part.boxed(), 2 => group.boxed()].boxed());
    let ends = (select(vec!["", r"\A"]), select(vec!["", "!", r"\z"]));
    (ends, whole).prop_map(|((begin, end), whole)| format!("{begin}{whole}{end}"))
}

/// Every so many-th quantifier made possessive, in an expression for a matcher and in a [`marked`] one.
fn possessive(expression: &str, every: usize) -> (String, Option<String>) {
    let (mut written, mut repeated, mut opened) = (String::new(), Vec::new(), Vec::new());
    let (mut last, mut seen) = (0, 0);
    let bytes = expression.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begins = at;
        match bytes[at] {
            b'(' => opened.push(at),
            b')' => last = opened.pop().expect("balanced"),
            b'\\' => at += 1,
            b'[' => at += expression[at..].find(']').expect("closed"),
            _ => {}
        }
        let is_quantifier =
            matches!(bytes[begins], b'+' | b'*') || bytes[begins] == b'?' && bytes[begins - 1] != b'(';
        written.push_str(&expression[begins..=at]);
        at += 1;
        if !is_quantifier {
            if bytes[begins] != b')' {
                last = begins;
            }
            continue;
        }
        seen += 1;
        if seen % every == 0 {
            written.push('+');
            repeated.push(last..at);
        }
    }
    (written, marked(expression, &repeated))
}

/// All texts of up to five bytes of some.
fn texts() -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut from = 0;
    for _ in 0..5 {
        let end = texts.len();
        for at in from..end {
            for byte in ["a", "t", "!"] {
                texts.push(format!("{}{byte}", texts[at]));
            }
        }
        from = end;
    }
    texts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// Held to a matcher that comes back, with possessive quantifiers and without.
    #[test]
    fn what_gives_nothing_back_matches_the_same_texts(expression in expressions(), every in 1..4_usize) {
        // All quantifiers, or some.
        let (possessive, marked) = possessive(&expression, every);
        if reads_one_way(&hir(&expression)) || marked.is_some_and(|marked| gives_nothing_back(&hir(&marked))) {
            let [plain, possessive] =
                [&expression, &possessive].map(|pattern| fancy_regex::Regex::new(pattern).expect(pattern));
            for text in texts() {
                let [plain, possessive] = [&plain, &possessive].map(|regex| regex.is_match(&text).expect("short"));
                prop_assert_eq!(plain, possessive, "{} on {:?}", expression, text);
            }
        }
    }
}
