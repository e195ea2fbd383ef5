//! A pattern is worded for the library that matches it: both wordings of a kind match the same texts.
//!
//! `SHARDWRIGHT_CONFORMANCE=10000000` tries that many random texts of each kind; a usual run tries 2,000.

use shardwright_compiler::{CataloguePattern, catalogue};
use shardwright_patterns::{Dialect, Flags, Pattern};
use shardwright_rules::RegexEngine;

use crate::generator::Random;

/// Pieces of texts of every kind, beside those on which a pattern tries most. A line end in here belongs to no piece.
const PIECES: &str = r##" |;|,|(|)|'|"|`|\|*|/|-|--|-- |#|/*|*/|/*!|=|.|a|7|é|€|
SELECT |select|UPDATE t SET a = 1|SET |FROM shop.t|`shop`.`t`|shop|Shop|tenant=125|tenant = 17|WHERE tenant = 7|
/* tenant=1 */|/* tenant='130', */|/*tenant=17*/SELECT 1|/* hostgroup=primary */|primary|cache_ttl=5;|'it''s'|FOR UPDATE|NOW()|
BEGIN|START TRANSACTION|XA |COMMIT|SET GLOBAL a = 1|SHOW TABLES|SHOW INDEX FROM t|USE shop|SELECT a FROM shop.t WHERE tenant = 7| AND a = 1"##;
/// Pieces of one text.
const LENGTH: usize = 12;
/// What rules ask only behind those that find one key: where several stand, PCRE looks at the first and RE2 at each.
const BEHIND_ONE_KEY: [&str; 1] = ["range"];

/// Both wordings of the patterns that both libraries have.
fn pairs() -> Vec<(CataloguePattern, [Pattern; 2])> {
    let compile = |pattern: &CataloguePattern, dialect| {
        let text = pattern.rule.match_pattern.as_deref();
        let text = text.or(pattern.rule.match_digest.as_deref()).unwrap();
        let flags = Flags {
            caseless: pattern.rule.re_modifiers.caseless,
            global: pattern.rule.re_modifiers.global,
        };
        Pattern::compile(text, flags, dialect)
            .unwrap_or_else(|error| panic!("{} {dialect:?}: {error:?}", pattern.name))
    };
    let re2 = catalogue(RegexEngine::Re2);
    let find = |name| re2.iter().find(|other| other.name == name);
    catalogue(RegexEngine::Pcre)
        .into_iter()
        .filter_map(|pcre| {
            let both = [
                compile(&pcre, Dialect::Pcre),
                compile(find(pcre.name)?, Dialect::Re2),
            ];
            Some((pcre, both))
        })
        .collect()
}

fn text(random: &mut Random, pieces: &[&str], hostile: &[&str]) -> String {
    let length = 1 + random.below(LENGTH);
    (0..length)
        .map(|_| match random.below(3) {
            0 if !hostile.is_empty() => hostile[random.below(hostile.len())],
            _ => pieces[random.below(pieces.len())],
        })
        .collect()
}

/// Whether the rules in front of a tree hand the text on, those of both libraries: RE2 asks usual statements for a second key too.
fn has_one_key(pairs: &[(CataloguePattern, [Pattern; 2])], text: &str) -> bool {
    let matches = |name: &str| {
        let pair = pairs.iter().find(|(pattern, _)| pattern.name == name);
        let (_, both) = pair.expect("a pattern of this name");
        both.each_ref().map(|wording| wording.is_match(text.as_bytes()))
    };
    let [usual, found, repeated] = ["usual", "found", "repeated"].map(matches);
    let of_pcre = usual[0] || (found[0] && !repeated[0]);
    let of_re2 = (usual[1] || found[1]) && !repeated[1];
    of_pcre && of_re2
}

#[test]
fn both_wordings_of_a_pattern_match_the_same_texts() {
    let asked = std::env::var("SHARDWRIGHT_CONFORMANCE").ok();
    let texts: u32 = asked.map_or(2_000, |count| count.parse().unwrap());
    let pairs = pairs();
    let pieces = PIECES.split('|').map(|piece| piece.trim_start_matches('\n'));
    let pieces: Vec<&str> = pieces.chain(["\n"]).collect();
    assert!(pairs.len() > 20, "{} patterns have two wordings", pairs.len());
    for (at, (pattern, [pcre, re2])) in pairs.iter().enumerate() {
        let hostile: Vec<&str> = pattern.hostile.iter().flatten().copied().collect();
        let mut random = Random::new(at as u64);
        let mut matched = 0;
        for _ in 0..texts {
            let text = text(&mut random, &pieces, &hostile);
            if BEHIND_ONE_KEY.contains(&pattern.name) && !has_one_key(&pairs, &text) {
                continue;
            }
            let found = [pcre, re2].map(|wording| wording.finds(text.as_bytes()));
            assert!(
                found[0].is_some() && found[0] == found[1],
                "{}: {text:?}: {found:?}\n{}\n{}",
                pattern.name,
                pcre.text(),
                re2.text()
            );
            matched += u32::from(found[0] == Some(true));
        }
        assert!(
            matched > 0 && matched < texts,
            "{}: {matched} of {texts} match\n{}",
            pattern.name,
            pcre.text()
        );
    }
}
