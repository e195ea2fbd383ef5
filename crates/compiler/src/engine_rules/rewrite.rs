//! Placement by schema: qualified names of the logical schema get the shard's, and what a pattern cannot tell is refused.

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{Address, EngineRule, MapStep, Modifiers, Unqualified};

use super::chains::{Chains, Rewrite, Target};
use super::refusals::Refused;
use crate::draft::{ChainRef, DraftRule, text_rule};
use crate::key_patterns::KeyPatterns;
use crate::key_patterns::text;
use crate::program::Section;
use crate::statement_patterns::Wording;

impl Chains {
    /// Rules in front of a map's tree that refuse statements in which a pattern cannot find the logical schema safely.
    pub(super) fn rewrite_guards(
        &mut self,
        chain: ChainRef,
        section: &Section<Box<MapStep>>,
        patterns: &KeyPatterns,
    ) {
        let step = &*section.step;
        let rewrites = step.shards.iter().any(|shard| shard.schema.is_some());
        let Some(logical) = step.logical_schema.as_deref().filter(|_| rewrites) else {
            return;
        };
        let what = format!(
            "cannot be placed on one shard: shard map {}: {logical} stands behind a quote, in a literal, or as something \
             else than the schema of a table",
            step.map
        );
        let refused = Refused::by(section, Refusal::NotOneShard, Refusal::NotOneShard.message(&what));
        for (name, rule) in doubtful(logical, patterns, self.wording()) {
            self.refuse(chain, name, &section.address, rule, &refused);
        }
        self.refuse_logical_sessions(chain, section, logical);
    }

    /// Where tables without a schema may be the logical one's: its sessions cannot tell them.
    pub(super) fn refuse_logical_sessions(
        &mut self,
        chain: ChainRef,
        section: &Section<Box<MapStep>>,
        logical: &str,
    ) {
        let step = &*section.step;
        if step.unqualified != Unqualified::SessionSchema {
            let what = format!(
                "shard map {}: the session is in {logical}, and tables named without a schema cannot be told; connect with \
                 another schema and write {logical}.TABLE",
                step.map
            );
            let rule = EngineRule {
                schemaname: Some(logical.to_owned()),
                ..EngineRule::default()
            };
            self.refuse(
                chain,
                "unqualified",
                &section.address,
                rule,
                &Refused::by(section, Refusal::Unqualified, Refusal::Unqualified.message(&what)),
            );
        }
    }

    /// A chain that writes a shard's schema for the logical one and goes on.
    pub(super) fn rewrite_chain(
        &mut self,
        address: &Address,
        logical: &str,
        own: &str,
        target: Target,
    ) -> ChainRef {
        let key = Rewrite {
            logical: logical.to_owned(),
            own: own.to_owned(),
            target,
        };
        if let Some(&chain) = self.shared.rewrites.get(&key) {
            return chain;
        }
        let chain = self.draft.chain(&format!("{address}.schema.{own}"));
        for Replacement { name, pattern, with } in replacements(logical, own, self.wording()) {
            let rule = EngineRule {
                replace_pattern: Some(with),
                re_modifiers: Modifiers {
                    caseless: false,
                    global: true,
                },
                ..text_rule(pattern)
            };
            let name = format!("{}/{name}", self.draft.get(chain).name);
            let rule = DraftRule::engine(name, address, rule).about(Some("writes the schema of the shard"));
            self.draft.push(chain, rule);
        }
        self.go(chain, "end", address, EngineRule::default(), target);
        self.shared.rewrites.insert(key, chain);
        chain
    }
}

/// Characters after which a name begins; a dot before it makes it a table or column.
const BEFORE: &str = r"\s(,=<>+*/!&|;~^%-";

/// What is replaced, and by what.
pub(crate) struct Replacement {
    /// What it is called in its chain.
    pub(crate) name: &'static str,
    pub(crate) pattern: String,
    with: String,
}

/// The logical schema in front of a dot, and what replaces it. Groups hold the text on either side of the name.
///
/// PCRE tries what begins with a class at each byte, so it gets a pattern for each way of writing the name, which begins with a
/// letter or a quote and looks at the byte in front. The bare name goes first: what it writes has no quoted name that the
/// other could find, because a quote in the shard's schema is doubled.
pub(crate) fn replacements(logical: &str, own: &str, wording: Wording) -> Vec<Replacement> {
    let name = text::escaped(logical);
    let own = own.replace('\\', r"\\").replace('`', "``");
    if !wording.possessive {
        return vec![Replacement {
            name: "all_names",
            pattern: format!(r"(\A|[{BEFORE}])(?:`{name}`|{name})(\s*\.)"),
            with: format!(r"\1`{own}`\2"),
        }];
    }
    let written = |called, written: &str| Replacement {
        name: called,
        pattern: format!(r"(?<![^{BEFORE}]){written}(\s*\.)"),
        with: format!(r"`{own}`\1"),
    };
    vec![
        written("names", &name),
        written("quoted_names", &format!("`{name}`")),
    ]
}

/// What every character set takes for the same. Any other byte may be a blank or a letter: latin1 has a blank at 160.
const KNOWN: &str = r"\x00\t-\r -~";

/// The rules for a logical schema that stands where `replacement` would not be right, each with its name: behind a quote that
/// may open a literal; behind a dot; quoted and directly behind a word; behind a byte that may be a blank; before something
/// else than a dot; in other letters. Behind other signs (`$shop`, `@shop`) it is another name, which is left as it is.
///
/// PCRE tries what begins with a class at each byte, so each pattern begins with one letter or sign, or at the start.
pub(crate) fn doubtful(
    logical: &str,
    patterns: &KeyPatterns,
    wording: Wording,
) -> Vec<(&'static str, EngineRule)> {
    let name = text::escaped(logical);
    let other = OtherCase::of(logical);
    let called = r"`?\s*(?:\.|/\*|--|#)";
    let end = r"(?:\z|[^\s.])";
    let wrong_end = format!(r"\z|[^\s.`0-9A-Za-z_]|\s+{end}|`(?:{end}|\s+{end})");
    let mut before = format!("{name}(?:{wrong_end})");
    if let Some(Later { first, others }) = &other.later {
        let tail = &name[first.len()..];
        before = format!("{first}(?:{tail}(?:{wrong_end})|(?:{others}){called})");
    }
    let unknown = format!(
        r"\A[{KNOWN}]*{}[^{KNOWN}](?:(?s:.*)[^{KNOWN}])?`?{name}\b",
        wording.more()
    );
    let mut found = vec![
        ("schema_quoted", patterns.behind_quote(logical, wording)),
        ("schema_dot", format!(r"\.\s*`?{name}\b")),
        ("schema_word", format!(r"\b`{name}\b")),
        ("schema_unknown", unknown),
        ("schema_before", format!(r"\b{before}")),
    ];
    if let Some(first) = &other.first {
        found.push(("schema_case", format!(r"\b{first}{called}")));
    }
    found
        .into_iter()
        .map(|(name, pattern)| (name, text_rule(pattern)))
        .collect()
}

/// Patterns for a name with a letter in another case, which may be the same schema.
struct OtherCase {
    /// The name with its first letter in another case, where it begins with one.
    first: Option<String>,
    /// The name with a later letter in another case, where it has one.
    later: Option<Later>,
}

/// The first character of a name, and what may follow it where a later one is in another case.
struct Later {
    first: String,
    others: String,
}

impl OtherCase {
    fn of(name: &str) -> Self {
        let mut rest = String::new();
        let mut all = Self {
            first: None,
            later: None,
        };
        for character in name.chars().rev() {
            let same = text::escaped(character.encode_utf8(&mut [0; 4]));
            let later = all
                .later
                .map(|Later { first, others }| format!("{first}(?:{others})"));
            let others: Vec<String> = all.first.into_iter().chain(later).collect();
            let later = (!others.is_empty()).then(|| Later {
                first: same.clone(),
                others: others.join("|"),
            });
            let first = character.is_ascii_alphabetic().then(|| {
                let other = if character.is_ascii_lowercase() {
                    character.to_ascii_uppercase()
                } else {
                    character.to_ascii_lowercase()
                };
                format!("{other}(?i:{rest})")
            });
            all = Self { first, later };
            rest = same + &rest;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use shardwright_patterns::{Automaton, Dialect, Flags, Limits, Literal, Pattern, witness};
    use shardwright_rules::{CommentForm, KeyKind};

    use super::*;

    const CASES: Flags = Flags {
        caseless: false,
        global: false,
    };

    fn compiled(rule: &EngineRule) -> Pattern {
        let text = rule.match_pattern.as_deref().expect("a pattern");
        Pattern::compile(text, CASES, Dialect::Pcre).expect(text)
    }

    /// No text satisfies all of these: the pattern matches, or it does not.
    fn assert_nothing_satisfies(all: &[(&Pattern, bool)], what: &str) {
        let limits = Limits::default();
        let automata: Vec<Automaton> = all
            .iter()
            .map(|(pattern, _)| Automaton::of(pattern, &limits).expect("within the limits"))
            .collect();
        let literals: Vec<Literal<'_>> = automata
            .iter()
            .zip(all)
            .map(|(automaton, &(_, positive))| Literal { automaton, positive })
            .collect();
        let found = witness(&literals, &limits).expect("within the limits");
        assert_eq!(
            found.map(|text| String::from_utf8_lossy(&text).into_owned()),
            None,
            "{what}"
        );
    }

    #[test]
    fn each_pattern_for_a_doubtful_schema_takes_what_one_search_for_it_would() {
        let patterns = KeyPatterns::new(
            "r",
            &CommentForm::Pairs,
            KeyKind::Text,
            true,
            Wording { possessive: true },
        );
        for (logical, cased) in [
            ("ab", r"\b(?:A(?i:b)|a(?:B))`?\s*(?:\.|/\*|--|#)"),
            ("w_1", r"\b(?:W(?i:_1))`?\s*(?:\.|/\*|--|#)"),
            ("aab", r"\b(?:A(?i:ab)|a(?:A(?i:b)|a(?:B)))`?\s*(?:\.|/\*|--|#)"),
            ("5t", r"\b5(?:T)`?\s*(?:\.|/\*|--|#)"),
        ] {
            let searched = |text: &str| compiled(&text_rule(text.replace("NAME", logical)));
            let before = searched(&format!(
                r"(?:\.|[^{KNOWN}])NAME\b|\.\s+`?NAME\b|(?:[.0-9A-Za-z_]|[^{KNOWN}])`NAME\b"
            ));
            let after = searched(&format!(
                r"\bNAME(?:\z|[^\s.`0-9A-Za-z_]|\s+(?:\z|[^\s.])|`(?:\z|[^\s.]|\s+(?:\z|[^\s.])))|{cased}"
            ));
            for possessive in [true, false] {
                let rules = doubtful(logical, &patterns, Wording { possessive });
                let rules: Vec<_> = rules
                    .iter()
                    .map(|(name, rule)| (*name, compiled(rule), rule.negate_match_pattern))
                    .collect();
                let named = |names: &[&str]| -> Vec<_> {
                    rules.iter().filter(|rule| names.contains(&rule.0)).collect()
                };
                for (old, new) in [
                    (&before, named(&["schema_dot", "schema_word", "schema_unknown"])),
                    (&after, named(&["schema_before", "schema_case"])),
                ] {
                    for (_, new, negate) in &new {
                        assert_nothing_satisfies(&[(new, !negate), (old, false)], logical);
                    }
                    let missed: Vec<_> = new
                        .iter()
                        .map(|(_, new, negate)| (new, *negate))
                        .chain([(old, true)])
                        .collect();
                    assert_nothing_satisfies(&missed, logical);
                }
            }
        }
    }

    #[test]
    fn names_are_rewritten_or_refused() {
        let patterns = KeyPatterns::new(
            "region",
            &CommentForm::Pairs,
            KeyKind::Text,
            true,
            Wording { possessive: true },
        );
        let refuse = doubtful("world", &patterns, Wording { possessive: true });
        let refuse: Vec<_> = refuse
            .into_iter()
            .map(|(_, rule)| (compiled(&rule), rule.negate_match_pattern))
            .collect();
        let written = [true, false].map(|possessive| Written::of("world", "Asia", Wording { possessive }));
        for (statement, expected) in [
            (
                "SELECT world.City.Name FROM world.City",
                Some("SELECT `Asia`.City.Name FROM `Asia`.City"),
            ),
            (
                "SELECT 1 FROM `world`.`City`,world . t",
                Some("SELECT 1 FROM `Asia`.`City`,`Asia` . t"),
            ),
            (
                "SELECT 1 FROM (world.a JOIN world.b)",
                Some("SELECT 1 FROM (`Asia`.a JOIN `Asia`.b)"),
            ),
            (
                "SELECT 1 FROM myworld.t, worlds.t",
                Some("SELECT 1 FROM myworld.t, worlds.t"),
            ),
            (
                "SELECT 1 FROM world.t WHERE a='x'",
                Some("SELECT 1 FROM `Asia`.t WHERE a='x'"),
            ),
            ("SELECT 1 FROM world.t WHERE a='x' AND world.t.b=1", None),
            ("SELECT 'world.t' FROM t", None),
            ("SELECT \"the world.\" FROM t", None),
            ("SELECT x.world.c FROM t", None),
            ("SELECT x.`world`.c FROM t", None),
            ("SELECT x. world.c FROM t", None),
            ("USE world", None),
            ("SHOW TABLES FROM world", None),
            ("SELECT world FROM t", None),
            ("SELECT 1 FROM world/**/.t", None),
            ("SELECT 1 FROM `world` t", None),
            ("SELECT 1 FROM éworld.t", None),
            ("SELECT 1 FROM `my-world`.t", Some("SELECT 1 FROM `my-world`.t")),
            ("SELECT 1 FROM $world.t", Some("SELECT 1 FROM $world.t")),
            ("SELECT 1 FROM\u{a0}world.t", None),
            ("SELECT 1 FROM`world`.t", None),
            ("SELECT 1 FROM World.t", None),
            ("SELECT 1 FROM `worlD` . t", None),
            ("SELECT 1 FROM world.a JOIN WORLD/**/.b", None),
            ("SELECT World FROM world.t", Some("SELECT World FROM `Asia`.t")),
            ("SELECT 1 FROM Worlds.t", Some("SELECT 1 FROM Worlds.t")),
            ("SELECT @world.t", Some("SELECT @world.t")),
        ] {
            let keyed = |statement: &str| format!("/* app='x', region='a b' */ {statement}");
            let refused = refuse
                .iter()
                .any(|(pattern, negate)| pattern.is_match(keyed(statement).as_bytes()) != *negate);
            for written in &written {
                let text = (!refused).then(|| written.rewrite(&keyed(statement)));
                assert_eq!(text, expected.map(keyed), "{statement}");
            }
        }
    }

    /// The rules that write a shard's schema.
    struct Written(Vec<(Pattern, String)>);

    impl Written {
        fn of(logical: &str, own: &str, wording: Wording) -> Self {
            let flags = Flags {
                caseless: false,
                global: true,
            };
            let dialect = match wording.possessive {
                true => Dialect::Pcre,
                false => Dialect::Re2,
            };
            let rules = replacements(logical, own, wording).into_iter();
            let compiled = |Replacement { pattern, with, .. }| {
                (
                    Pattern::compile(&pattern, flags, dialect).expect("a valid pattern"),
                    with,
                )
            };
            Self(rules.map(compiled).collect())
        }

        fn rewrite(&self, statement: &str) -> String {
            let mut text = statement.as_bytes().to_vec();
            for (pattern, with) in &self.0 {
                text = pattern.rewrite(&text, with.as_bytes()).unwrap_or(text);
            }
            String::from_utf8(text).expect("names are written whole")
        }
    }

    proptest! {
        #[test]
        fn both_libraries_write_the_same(
            own in select(vec!["shop_1", "a`b", r"a\1b", "x shop.y", " `shop`.", "shop", "é"]),
            pieces in vec(select(vec![
                "shop", "`shop`", "`", ".", " ", "\n", ",", "(", ")", "$", "@", "'", "é", "a", "-", "*/", "/*", "SHOP", "shop.a", ",shop .b",
            ]), 0..14),
        ) {
            let statement = pieces.concat();
            let [pcre, re2] = [true, false].map(|possessive| {
                Written::of("shop", own, Wording { possessive }).rewrite(&statement)
            });
            prop_assert_eq!(pcre, re2, "{:?} for {:?}", statement, own);
        }
    }
}
