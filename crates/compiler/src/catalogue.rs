//! One pattern of each kind that the compiler writes for an engine, with texts that are bad for it.
//!
//! Benchmarks measure these, and prices name their kinds; so a pattern of a new kind is added here.

use shardwright_rules::{
    CommentForm, EngineRule, InShards, KeyKind, KeyValue, Modifiers, PatternKind, RegexEngine,
};

use crate::draft::{digest_rule, text_rule};
use crate::engine_rules::{self, incomplete};
use crate::key_patterns::{ColumnPatterns, KeyPatterns, integer};
use crate::proxysql;
use crate::statement_patterns::Wording;

/// A pattern as a rule has it.
#[derive(Clone, Debug)]
pub struct CataloguePattern {
    /// What its evaluation is priced by.
    pub kind: PatternKind,
    /// What it is for.
    pub name: &'static str,
    /// A rule with this pattern, which does nothing.
    pub rule: EngineRule,
    /// Pieces of texts on which it tries most. A bad text is the first, then the second again and again, then the third.
    pub hostile: Vec<[&'static str; 3]>,
}

/// Every kind of pattern that is written where this library matches. The key is `tenant`.
pub fn catalogue(regex: RegexEngine) -> Vec<CataloguePattern> {
    let wording = Wording {
        possessive: regex == RegexEngine::Pcre,
    };
    let mut patterns = Vec::new();
    let mut add = |kind, name, rule: EngineRule, hostile: &[[&'static str; 3]]| {
        let rule = EngineRule {
            negate_match_pattern: false,
            ..rule
        };
        let hostile = hostile.to_vec();
        patterns.push(CataloguePattern {
            kind,
            name,
            rule,
            hostile,
        });
    };
    add(
        PatternKind::Complete,
        "complete",
        incomplete(wording),
        &[
            ["", "-/", ""],
            ["", "''", ""],
            ["", "/**/", ""],
            ["", "a'b'-", "'"],
        ],
    );
    let comments = [
        ["/*", " x", ""],
        ["", "/*", ""],
        ["", "/* cache_ttl", ""],
        ["/*", "*x", "*/"],
    ];
    let annotations = EngineRule {
        match_pattern: Some(proxysql::annotations_pattern()),
        re_modifiers: Modifiers::default(),
        ..EngineRule::default()
    };
    add(PatternKind::Annotations, "annotations", annotations, &comments);
    add(
        PatternKind::Hint,
        "hint",
        text_rule(engine_rules::hinted("primary", wording)),
        &comments,
    );
    let keys = [
        ["/* tenant=1 */", " tenant", ""],
        ["/* tenant=1 */", " t", ""],
        ["", "/* tenant", ""],
        ["/*", " a='x',", ""],
        ["", "/*", ""],
        ["", "-/", ""],
        ["/*", "*x", " tenant=1"],
        ["", "tenant=", ""],
    ];
    let key = KeyPatterns::new("tenant", &CommentForm::Pairs, KeyKind::Integer, false, wording);
    let range = key.pattern(key.number(&integer::pattern(&[(125, 249)], key.writing)));
    for (kind, name, pattern) in [
        (PatternKind::KeyWord, "word", key.word.clone()),
        (PatternKind::KeyComment, "found", key.accepts.clone()),
        (PatternKind::DoubtfulKey, "doubtful", key.doubtful.clone()),
        (PatternKind::RepeatedKey, "repeated", key.repeats.clone()),
        (PatternKind::KeyRange, "range", range),
    ] {
        add(kind, name, text_rule(pattern), &keys);
    }
    if let Some(other) = key.other_than(&KeyValue::Integer(17)) {
        add(PatternKind::OtherKey, "other key", text_rule(other), &keys);
    }
    if let Some(usual) = key.usual(wording) {
        add(PatternKind::Usual, "usual", text_rule(usual.pattern), &keys);
        if usual.has_one_key {
            let reads = EngineRule {
                re_modifiers: Modifiers::default(),
                ..text_rule(usual.reads)
            };
            add(PatternKind::Select, "usual read", reads, &keys);
        }
    }
    let literals = [["", "'x'", ""], ["", "-/", ""], ["", "a-", ";"]];
    add(
        PatternKind::Usual,
        "no comment",
        text_rule(wording.bare()),
        &literals,
    );
    let names = [
        ["/* tenant=1 */ SELECT ", "shop.a ", ""],
        ["/* tenant=1 */ SELECT ", "'x' ", "shop.a"],
        ["", ". ", ""],
        ["", "`", ""],
        ["", "S", ""],
    ];
    for (name, doubtful) in engine_rules::doubtful("shop", &key, wording) {
        let kind = match name {
            "schema_quoted" => PatternKind::LogicalSchema,
            "schema_unknown" => PatternKind::Through,
            _ => PatternKind::Letter,
        };
        add(kind, name, doubtful, &names);
    }
    for rewritten in engine_rules::replacements("shop", "shop_1", wording) {
        add(
            PatternKind::Rewrite,
            rewritten.name,
            text_rule(rewritten.pattern),
            &names,
        );
    }
    if let Some(column) = ColumnPatterns::new("tenant", "shop", KeyKind::Integer, InShards::Present, wording)
    {
        let columns = [
            ["SELECT ", "a,", "a FROM t"],
            ["SELECT a FROM shop.t WHERE ", "a=1 AND ", "b=2"],
            ["", " ", ""],
        ];
        add(
            PatternKind::ColumnStatement,
            "column",
            text_rule(column.key.accepts),
            &columns,
        );
    }
    for (kind, name, rule) in engine_rules::statement_rules(wording) {
        let words: &[[&'static str; 3]] = &[
            ["SELECT ", "SQL_CAL ", ""],
            ["SELECT ", "c,", ""],
            ["SELECT ", "1,", ""],
            ["SELECT ", "'x',", ""],
            ["SELECT ", "(", "!"],
            ["SELECT ", "a/b-c ", ""],
            ["SET ", "UTC_TIMESTAM ", ""],
            ["", "/**/", "x"],
            ["COMMIT ", "x ", ""],
            ["", "\"", ""],
            ["", "` ", ""],
        ];
        add(kind, name, rule, words);
    }
    add(
        PatternKind::Start,
        "marked",
        text_rule(engine_rules::MARKED.to_owned()),
        &[["", ")", ""]],
    );
    add(
        PatternKind::Start,
        "kind of statement",
        digest_rule(r"^\(*(?:UPDATE)\b"),
        &[["", "(", ""]],
    );
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_known_by_its_kind() {
        for regex in [RegexEngine::Pcre, RegexEngine::Re2] {
            for CataloguePattern { kind, name, rule, .. } in catalogue(regex) {
                let text = rule.match_pattern.or(rule.match_digest).expect("a pattern");
                assert_eq!(PatternKind::of(&text), kind, "{name}: {text}");
            }
        }
    }

    #[test]
    fn every_kind_is_listed() {
        let listed = catalogue(RegexEngine::Pcre);
        for kind in PatternKind::ALL {
            assert!(listed.iter().any(|pattern| pattern.kind == kind), "{kind:?}");
        }
    }
}
