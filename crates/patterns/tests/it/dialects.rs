//! What patterns match on each engine: silent differences, rejections, rewrites.

use shardwright_patterns::{Dialect, ErrorKind, Flags, Pattern};

const EXACT: Flags = Flags {
    caseless: false,
    global: false,
};
const GLOBAL: Flags = Flags {
    caseless: false,
    global: true,
};

fn pattern(text: &str, flags: Flags, dialect: Dialect) -> Pattern {
    Pattern::compile(text, flags, dialect).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn pcre_where_rust_would_silently_differ() {
    for (text, yes, no) in [
        (r"^a$", vec!["a", "a\n"], vec!["a\n\n", "ab"]),
        (r"^a\Z", vec!["a", "a\n"], vec!["a\nb"]),
        (r"^a\z", vec!["a"], vec!["a\n"]),
        (r"^(a|b$)", vec!["a", "b\n", "ax"], vec!["bx"]),
        (r"^[[a]b]$", vec!["[b]", "ab]"], vec!["b", "[a]b"]),
        (r"^[a&&b]$", vec!["a", "&", "b"], vec!["c"]),
        (r"^[a-c--b]$", vec!["a", "c", "-"], vec!["d"]),
        (r"^[a~~b]$", vec!["~"], vec!["c"]),
        (r"^\<a\>$", vec!["<a>"], vec!["a"]),
        (r"^a{$", vec!["a{"], vec!["a"]),
        (r"^x{,3}y$", vec!["x{,3}y"], vec!["xxy", "y"]),
        (r"^[[]$", vec!["["], vec!["]"]),
        (r"^[]a]$", vec!["]", "a"], vec!["b"]),
        (r"^[^]a]$", vec!["b"], vec!["]", "a"]),
        (r"^\h$", vec![" ", "\t"], vec!["\n"]),
        (r"^\v$", vec!["\n", "\u{b}", "\r"], vec![" "]),
        (r"^\s$", vec!["\u{b}", " "], vec!["a"]),
        (r"^a\Q.*\E$", vec!["a.*"], vec!["abc"]),
        (r"^\101\x42\x{43}\e$", vec!["ABC\u{1b}"], vec!["\\101"]),
        (r"^a(?#comment)b$", vec!["ab"], vec!["a(?#comment)b"]),
        (r"^\_\-\/\y$", vec!["_-/y"], vec!["_-/"]),
        (r"^[\d\-x]$", vec!["1", "-", "x"], vec!["y"]),
        (r"^[a\]b]$", vec!["]"], vec!["\\"]),
        (r"^[\w-.]$", vec!["a", "-", "."], vec!["/"]),
        (r"^\N$", vec!["a"], vec!["\n"]),
        (r"^(?x) a b # c", vec!["ab"], vec!["a b"]),
        (r"a(?i)b|c", vec!["aB", "C"], vec!["AB"]),
        (r"^(?s).$", vec!["\n"], vec!["ab"]),
        (r"^(?<n>a)(?'m'b)(?P<o>c)$", vec!["abc"], vec!["ab"]),
        (r"^\0$|^\cA$", vec!["\u{1}"], vec!["A"]),
        ("^\u{e9}+$", vec!["\u{e9}"], vec!["\u{e9}\u{e9}"]),
        ("^..$", vec!["\u{e9}"], vec!["\u{e9}\u{e9}"]),
        ("", vec!["", "x"], vec![]),
    ] {
        for dialect in [Dialect::Pcre, Dialect::Bundled] {
            let pattern = pattern(text, EXACT, dialect);
            assert_eq!(pattern.opaque(), None, "{text}");
            yes.iter()
                .for_each(|t| assert!(pattern.is_match(t.as_bytes()), "{text} on {t:?}"));
            no.iter()
                .for_each(|t| assert!(!pattern.is_match(t.as_bytes()), "{text} on {t:?}"));
        }
    }
}

#[test]
fn case_is_folded_for_ascii_only_in_pcre() {
    let flags = Flags::default();
    for (text, subject, matches) in [
        ("select", "SELECT", true),
        ("[^a]", "A", false),
        ("[[:upper:]]", "a", true),
        ("[^[:upper:]]", "a", false),
        ("\u{e9}", "\u{c9}", false),
        ("(?-i)a", "A", false),
    ] {
        assert_eq!(
            pattern(text, flags, Dialect::Pcre).is_match(subject.as_bytes()),
            matches,
            "{text} on {subject}"
        );
    }
    assert!(pattern("\u{e9}", flags, Dialect::Re2).is_match("\u{c9}".as_bytes()));
}

#[test]
fn opaque_patterns_match_by_backtracking() {
    for (text, reason, yes, no) in [
        (r"^(a+)b\1$", "a back reference", "aabaa", "aaba"),
        (r"^(?=.*x)a", "look-ahead", "abx", "ab"),
        (r"(?<!x)a", "look-behind", "ba", "xa"),
        (r"^a++a", "a possessive quantifier", "", "aaa"),
        (r"^(?>a|ab)c", "an atomic group", "ac", "abc"),
        (r"^a$\n", "`$` before more pattern", "a\n", "a"),
        (r"^(a$)?\n", "`$` before more pattern", "\n", "b"),
        (r"(?m)^a", "`^` under `(?m)`", "b\na", "ba"),
        (r"^\Rx", "`\\R`", "\r\nx", "x"),
        (r"^(?=a)((?i)a|b)c", "look-ahead", "ac", "aC"),
        // Before 0.20.2 fancy-regex took the repeats on both sides of an optional part for one.
        (r"(?=!)!+a*!+", "look-ahead", "!!", "!"),
    ] {
        let pattern = pattern(text, EXACT, Dialect::Pcre);
        assert_eq!(pattern.opaque(), Some(reason), "{text}");
        assert!(
            yes.is_empty() || pattern.is_match(yes.as_bytes()),
            "{text} on {yes:?}"
        );
        assert!(!pattern.is_match(no.as_bytes()), "{text} on {no:?}");
    }
    let bytes = pattern(r"(?=\xff)[\x80-\xff]\C[^a]", EXACT, Dialect::Pcre);
    assert!(bytes.is_match(b"\xff\xfe\x80"));
    assert!(!bytes.is_match(b"\xff\xfea"));
}

#[test]
fn patterns_that_an_engine_does_not_compile() {
    for text in [
        "(",
        ")",
        "a**",
        "*a",
        "(|*)",
        "[a",
        "[b-a]",
        "[[:foo:]]",
        "a{2,1}",
        "a{65536}",
        "\\",
        "(?",
        "(?P<1>a)",
        "(?y)",
        "\\x{100}",
        "\\2(a)",
        "\\L",
        "^*",
        "(?#a",
        "(?<n",
        "a{2}{3}",
        "(?<=a+)b",
        "(?<n>a)(?P<n>b)",
    ] {
        let error = Pattern::compile(text, EXACT, Dialect::Pcre).expect_err(text);
        assert_eq!(error.kind, ErrorKind::Invalid, "{text}: {error}");
        assert!(error.offset <= text.len());
    }
    for text in [
        "(?R)",
        "(?|a|b)",
        "(?(1)a|b)",
        "(*ACCEPT)",
        "\\X",
        "\\p{L}",
        "\\G",
        "\\g1",
        "(?P>n)",
    ] {
        let error = Pattern::compile(text, EXACT, Dialect::Pcre).expect_err(text);
        assert_eq!(error.kind, ErrorKind::Unsupported, "{text}: {error}");
    }
    for text in [
        "(?=a)", "(?!a)", "(?<=a)", "(a)\\1", "a*+", "(?>a)", "\\h", "\\R", "\\Z", "(?#c)", "(?(1)a)",
        "(?R)", "a{1001}", "a{2,1}", "(?<n>a)", "(?'n'a)", "\\y", "a**", "\\xg", "(?x)a", "\\cA", "\\e",
    ] {
        let error = Pattern::compile(text, EXACT, Dialect::Re2).expect_err(text);
        assert_eq!(error.kind, ErrorKind::Invalid, "{text}: {error}");
    }
    for text in [
        "(?i:a)",
        "[[:alpha:]]",
        "\\A\\z",
        "(?P<n>a)",
        "a{1000}",
        "\\Q.\\E",
        "[[a]",
        "a{,3}",
        "\\101",
        "(?U)a+",
    ] {
        pattern(text, EXACT, Dialect::Re2);
    }
    fails(
        Dialect::Pcre,
        ErrorKind::TooLarge,
        &[&"(".repeat(1000), "(((a{60000}){60000}))", &"a".repeat(70_000)],
    );
}

#[test]
fn re2_works_on_characters_and_ends_at_the_very_end() {
    for (text, subject, matches) in [
        ("^a$", b"a\n".as_slice(), false),
        ("^.$", "\u{e9}".as_bytes(), true),
        ("^.$", b"\xff", false),
        (r"^\s$", b"\x0b", false),
        (r"^[^a]$", "\u{e9}".as_bytes(), true),
        (r"\bb\b", b"a b", true),
    ] {
        assert_eq!(
            pattern(text, EXACT, Dialect::Re2).is_match(subject),
            matches,
            "{text}"
        );
    }
}

#[test]
fn texts_end_at_the_first_nul() {
    let found = pattern("b", EXACT, Dialect::Pcre);
    assert!(!found.is_match(b"a\0b"));
    assert_eq!(
        pattern("a", EXACT, Dialect::Pcre).rewrite(b"a\0b", b"c"),
        Some(b"c".to_vec())
    );
}

/// Rewrites by PCRE and RE2, once and GLOBAL; `-` where the engine leaves the text.
fn rewrites(text: &str, subject: &str, replacement: &str) -> String {
    let mut shown = Vec::new();
    for dialect in [Dialect::Pcre, Dialect::Re2] {
        for flags in [EXACT, GLOBAL] {
            let rewritten = pattern(text, flags, dialect).rewrite(subject.as_bytes(), replacement.as_bytes());
            shown.push(rewritten.map_or("-".to_owned(), |bytes| {
                format!("{:?}", String::from_utf8_lossy(&bytes))
            }));
        }
    }
    shown.join(" ")
}

#[test]
fn rewrites_fail_as_the_engines_fail() {
    for (text, subject, replacement, expect) in [
        (
            r"a(b)",
            "abab",
            r"\1\0\\$1&",
            r#""bab\\$1&ab" "bab\\$1&bab\\$1&" "bab\\$1&ab" "bab\\$1&bab\\$1&""#,
        ),
        ("a", "xax", "", r#""xx" "xx" "xx" "xx""#),
        ("a", "a", r"b\3", r#"- "b" - -"#),
        ("a", "a", r"\n", r#"- "" - """#),
        ("a", "a", r"b\", r#"- "b" - "b""#),
        ("(a)(b)?", "a", r"\2", r#"- "" "" """#),
        ("(a)?(b)", "b", r"\1x", r#""x" "x" "x" "x""#),
        ("a", "b", "c", "- - - -"),
        ("(a)", "a", r"\10", r#""a0" "a0" "a0" "a0""#),
        ("a*", "baac", "x", r#""xbaac" "xbxxcx" "xbaac" "xbxcx""#),
        ("b$", "ab\n", "c", r#""ac\n" "ac\n" - -"#),
    ] {
        assert_eq!(
            rewrites(text, subject, replacement),
            expect,
            "{text} {replacement}"
        );
    }
    let caseless = |dialect| pattern("a", Flags::default(), dialect).rewrite(b"A", b"x");
    assert_eq!(caseless(Dialect::Pcre), Some(b"x".to_vec()));
    assert_eq!(caseless(Dialect::Re2), None);
}

#[test]
fn modifiers_and_captures() {
    for (modifiers, caseless, global) in [
        ("CASELESS", true, false),
        ("", false, false),
        ("caseless,GLOBALLY", true, true),
        ("x,GLOBAL", false, true),
    ] {
        assert_eq!(Flags::from_modifiers(modifiers), Flags { caseless, global });
    }
    let found = pattern(r"(\w+)\.(x)?", EXACT, Dialect::Pcre)
        .captures(b"SELECT world.City")
        .unwrap();
    assert_eq!(found, vec![Some(7..13), Some(7..12), None]);
    let dollar = pattern("(a)$", EXACT, Dialect::Pcre).captures(b"ba\n").unwrap();
    assert_eq!(dollar, vec![Some(1..2), Some(1..2)]);
}

#[test]
fn a_backtracking_bomb_counts_as_no_match() {
    let bomb = pattern(r"^(a|aa)+$(?!x)", EXACT, Dialect::Pcre);
    let text = format!("{}!", "a".repeat(200));
    assert!(!bomb.is_match(text.as_bytes()));
    assert_eq!(bomb.finds(text.as_bytes()), None);
    assert_eq!(bomb.finds(b"aaa"), Some(true));
    assert_eq!(bomb.finds(b"!"), Some(false));
}

/// What the library answers: each pattern with texts it finds and texts it does not.
type Answers<'t> = &'t [(&'t str, &'t [&'t [u8]], &'t [&'t [u8]])];

fn answers(dialect: Dialect, flags: Flags, table: Answers<'_>) {
    for (text, yes, no) in table {
        let pattern = pattern(text, flags, dialect);
        for subject in *yes {
            assert!(pattern.is_match(subject), "{text} on {subject:?}");
        }
        for subject in *no {
            assert!(!pattern.is_match(subject), "{text} on {subject:?}");
        }
    }
}

fn fails(dialect: Dialect, kind: ErrorKind, patterns: &[&str]) {
    for text in patterns {
        let error = Pattern::compile(text, Flags::default(), dialect).expect_err(text);
        assert_eq!(error.kind, kind, "{text}: {error}");
    }
}

#[test]
fn classes_and_escapes_as_pcre_8_39_answers() {
    answers(
        Dialect::Pcre,
        EXACT,
        &[
            (
                r"[[:<:]]t1[[:>:]]",
                &[b"FROM t1 x", b"t1"],
                &[b"at1", b"t12", b"[t1a]"],
            ),
            (r"^\o{101}\o{0000153}$", &[b"Ak"], &[b"o{101}", b"o"]),
            (r"^[\o{101}\x{0000042}]$", &[b"A", b"B"], &[b"o", b"1"]),
            (r"^[\R\X\B\C]+$", &[b"RXBC"], &[b"\n", b"\r\n", b"a"]),
            (r"^[\Q\Ea-\Qc\E]$", &[b"b"], &[b"-", b"Q"]),
            (r"^[a-\E]$", &[b"a", b"-"], &[b"E", b"b"]),
            (r"^[\Qa-c]\E]$", &[b"-", b"]", b"a"], &[b"b"]),
            (r"^[[:a]:]$", &[b"[:]", b"a:]"], &[b"b:]", b"[a]"]),
            (r"^[\d-z]$", &[b"1", b"-", b"z"], &[b"y"]),
            (r"^\8\98$", &[b"898"], &[b"\x008", b"8"]),
            ("^\\\u{e9}$", &[b"\xc3\xa9"], &[b"\xc3", b"\xe9"]),
            ("^[\\\u{e9}]$", &[b"\xc3", b"\xa9"], &[b"\xe9"]),
            ("^\u{e9}?$", &[b"\xc3\xa9", b"\xc3"], &[b"", b"\xa9"]),
            ("(?x)^a+ #c\n?b$", &[b"ab", b"aab"], &[b"b", b"a"]),
            (r"^(?i-s-m)A$", &[b"A", b"a"], &[b"b"]),
        ],
    );
    fails(
        Dialect::Pcre,
        ErrorKind::Invalid,
        &[
            "[:alpha:]",
            "[.a.]",
            "[=a=]",
            "a[[:<:]b]",
            "[a[:>:]]",
            r"[a-\d]",
            r"[a-\w]",
            r"[a-\R]",
            "[a-[:digit:]]",
            r"\o",
            r"\o{}",
            r"\o{8}",
            r"\o{400}",
            r"\x{}",
            r"\x{41",
            r"[\777]",
            r"\777",
            r"[\L]",
            r"[\N]",
            r"\N{U+41}",
            "[[.a.]]",
            "[[:al pha:]]",
            r"[[:a\]:]",
            r"\1",
            r"(a)\2",
            r"[\Qa]",
            r"[\E]",
        ],
    );
    fails(
        Dialect::Pcre,
        ErrorKind::Unsupported,
        &[
            r"[\pL]",
            r"[^\P{Greek}]",
            "[[:<:]]*",
            "(*:a)b",
            "(?''a)",
            "(?-1)",
            "(?=S)*k",
            r"\123456789",
            r"(?<=\R)",
            r"(?<=a|bc)d",
            r"(a)(?<!\1)",
        ],
    );
}

#[test]
fn classes_and_escapes_as_re2_20220601_answers() {
    answers(
        Dialect::Re2,
        Flags::default(),
        &[
            (
                "^[[:^alpha:]]$",
                &[b"1", b"\xc3\xa9"],
                &[b"k", b"s", b"K", b"\xc5\xbf", b"\xe2\x84\xaa"],
            ),
            (r"^[\W]$", &[b"-"], &[b"k", b"s", b"_", b"\xc5\xbf"]),
            (r"^[^\W]$", &[b"k", b"\xe2\x84\xaa"], &[b"-", b"\xc3\xa9"]),
            ("^[[:^lower:]]$", &[b"1"], &[b"a", b"A", b"z"]),
            (
                "^[[:^word:]k]$",
                &[b"k", b"K", b"\xe2\x84\xaa", b"-"],
                &[b"s", b"a"],
            ),
            ("^[k]$", &[b"K", b"\xe2\x84\xaa"], &[b"s"]),
            ("^(?P<n>a)(?P<n>b)$", &[b"ab"], &[b"a"]),
            (r"^\412$", &["\u{10a}".as_bytes(), "\u{10b}".as_bytes()], &[b"\n"]),
            ("^a{01}$", &[b"a{01}", b"A{01}"], &[b"a"]),
            ("^*a$*", &[b"ba", b"ab"], &[b"b"]),
            (r"^\b*\B?\z{2}$", &[b""], &[b"a"]),
            (
                r"(?P<1>a)(?P<a_very_long_name_of_more_than_thirty_two>b)",
                &[b"ab"],
                &[b"a"],
            ),
            (
                "^.$",
                &[
                    "\u{e9}".as_bytes(),
                    b"\xed\xa0\x80",
                    b"\xe0\x80\x80",
                    b"\xf4\x90\x80\x80",
                ],
                &[b"\xff", b"\n", b"\xc0\x80"],
            ),
            (
                "^[^\u{e9}]$",
                &[b"\xed\xa0\x80", b"a"],
                &[b"\xe0\x80\x80", b"\xc3\xa9"],
            ),
            ("(?s)^.$", &[b"\n"], &[b"", b"ab"]),
        ],
    );
    fails(
        Dialect::Re2,
        ErrorKind::Invalid,
        &[
            r"\E",
            r"a\E",
            r"[a\E]",
            r"[\Qa\E]",
            r"[\b]",
            r"[a-\d]",
            "[[:<:]]",
            "[[:al]pha:]]",
            "(?i-:a)",
            "(?i--s)",
            "((a{100}){2}){6}",
            r"\8",
            r"\18",
            "\\\u{e9}",
            "*a",
            "(*a)",
            "a|*",
            r"\x{110000}",
            "(?P<>a)",
        ],
    );
    fails(
        Dialect::Re2,
        ErrorKind::Unsupported,
        &[
            r"\pL",
            r"\PL",
            r"\p{Greek}",
            r"[\pL]",
            r"\C",
            r"^SELECT \pL+",
            "a(?i)*",
            r"a\Q\E*",
            "\u{19b}",
            r"\x{d800}",
            "(?P<\u{e9}>a)",
        ],
    );
}

#[test]
fn a_pattern_near_the_size_limit_of_the_engine_is_not_told() {
    for (text, dialect) in [
        ("(?:[a-z][a-z]){1000}", Dialect::Pcre),
        (r"[^\x{100}]{1000}(?:[^\x{100}]{1000}){1}", Dialect::Re2),
    ] {
        let error = Pattern::compile(text, EXACT, dialect).expect_err(text);
        assert_eq!(error.kind, ErrorKind::TooLarge, "{text}: {error}");
    }
    pattern("(?:[a-z][a-z]){100}a{60000}", EXACT, Dialect::Pcre);
    pattern("(.{30}){30}", EXACT, Dialect::Re2);
}
