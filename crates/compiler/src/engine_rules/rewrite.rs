//! Placement by schema: qualified names of the logical schema get the shard's, and what a pattern cannot tell is refused.

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{Address, EngineRule, MapStep, Modifiers, Unqualified};

use super::chains::{Chains, Rewrite, Target};
use super::refusals::Refused;
use crate::draft::{ChainRef, DraftRule, text_rule};
use crate::key_patterns::KeyPatterns;
use crate::key_patterns::text;
use crate::program::Section;

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
        let rule = text_rule(doubtful(logical, patterns));
        self.refuse(
            chain,
            "schema",
            &section.address,
            rule,
            &Refused::by(section, Refusal::NotOneShard, Refusal::NotOneShard.message(&what)),
        );
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
        let Replacement { pattern, with } = replacement(logical, own);
        let rule = EngineRule {
            replace_pattern: Some(with),
            re_modifiers: Modifiers {
                caseless: false,
                global: true,
            },
            ..text_rule(pattern)
        };
        let name = format!("{}/names", self.draft.get(chain).name);
        self.draft.push(chain, DraftRule::engine(name, address, rule));
        self.go(chain, "end", address, EngineRule::default(), target);
        self.shared.rewrites.insert(key, chain);
        chain
    }
}

/// Characters after which a name begins; a dot before it makes it a table or column.
const BEFORE: &str = r"\s(,=<>+*/!&|;~^%-";

/// What is replaced, and by what.
struct Replacement {
    pattern: String,
    with: String,
}

/// The logical schema in front of a dot, and what replaces it. Groups hold the text on either side of the name.
fn replacement(logical: &str, own: &str) -> Replacement {
    let name = text::escaped(logical);
    let pattern = format!(r"(\A|[{BEFORE}])(?:`{name}`|{name})(\s*\.)");
    let own = own.replace('\\', r"\\").replace('`', "``");
    Replacement {
        pattern,
        with: format!(r"\1`{own}`\2"),
    }
}

/// Any place where the word of the logical schema stands and `replacement` would not be right: behind a quote that may
/// open a literal, behind a dot or a letter of another name, or before something else than a dot.
fn doubtful(logical: &str, patterns: &KeyPatterns) -> String {
    let name = text::escaped(logical);
    let behind_quote = format!(r"{}\b{name}\b", patterns.behind_quote());
    let wrong_before =
        format!(r"[^\s(,=<>+*/!&|;~^%`0-9A-Za-z_-]{name}\b|\.\s+`?{name}\b|[^{BEFORE}]`{name}\b");
    let wrong_after =
        format!(r"\b{name}(?:\z|[^\s.`0-9A-Za-z_]|\s+(?:\z|[^\s.])|`(?:\z|[^\s.]|\s+(?:\z|[^\s.])))");
    let qualifier = other_case(logical).map_or_else(String::new, |other| {
        format!(r"|\b(?:{other})`?\s*(?:\.|/\*|--|#)")
    });
    format!("{behind_quote}|{wrong_before}|{wrong_after}{qualifier}")
}

/// The name with a letter in another case, which may be the same schema; `None` for a name without letters.
fn other_case(name: &str) -> Option<String> {
    let mut pattern: Option<String> = None;
    let mut rest = String::new();
    for character in name.chars().rev() {
        let same = text::escaped(character.encode_utf8(&mut [0; 4]));
        let behind = pattern.map(|other| format!("{same}(?:{other})"));
        let here = character.is_ascii_alphabetic().then(|| {
            let other = if character.is_ascii_lowercase() {
                character.to_ascii_uppercase()
            } else {
                character.to_ascii_lowercase()
            };
            format!("{other}(?i:{rest})")
        });
        pattern = match (here, behind) {
            (Some(here), Some(behind)) => Some(format!("{here}|{behind}")),
            (here, behind) => here.or(behind),
        };
        rest = same + &rest;
    }
    pattern
}

#[cfg(test)]
mod tests {
    use shardwright_rules::{CommentForm, KeyKind};

    use super::*;
    use crate::statement_patterns::Wording;

    #[test]
    fn names_are_rewritten_or_refused() {
        let patterns = KeyPatterns::new(
            "region",
            &CommentForm::Pairs,
            KeyKind::Text,
            true,
            Wording { possessive: true },
        );
        let refuse = regex::Regex::new(&doubtful("world", &patterns)).expect("a valid pattern");
        let Replacement { pattern, with } = replacement("world", "Asia");
        let rewrite = regex::Regex::new(&pattern).expect("a valid pattern");
        let with = with.replace(r"\1", "${1}").replace(r"\2", "${2}");
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
            ("SELECT 1 FROM $world.t", None),
            ("SELECT 1 FROM World.t", None),
            ("SELECT 1 FROM `worlD` . t", None),
            ("SELECT 1 FROM world.a JOIN WORLD/**/.b", None),
            ("SELECT World FROM world.t", Some("SELECT World FROM `Asia`.t")),
            ("SELECT 1 FROM Worlds.t", Some("SELECT 1 FROM Worlds.t")),
            ("SELECT @world.t", None),
        ] {
            let keyed = |statement: &str| format!("/* app='x', region='a b' */ {statement}");
            let refused = refuse.is_match(&keyed(statement));
            let text = (!refused).then(|| rewrite.replace_all(&keyed(statement), with.as_str()).into_owned());
            assert_eq!(text, expected.map(keyed), "{statement}");
        }
    }
}
