//! Engine annotations: refused for users who are not allowed them, before any other rule.

use shardwright_diagnostics::Severity;
use shardwright_rules::refusal::Refusal;
use shardwright_rules::{ANNOTATION_KEYS, Address, EngineRule};

use crate::diagnostics::{DIFFERENCE, Diagnostics};
use crate::draft::DraftRule;
use crate::engine_rules::{Chains, Refused, incomplete};
use crate::program::Program;
use crate::raw_blocks::ListEntry;
use crate::statement_patterns::any_of;

/// Two rules for everyone, or for each user who is not allowed annotations: what ends inside a literal or a comment may
/// go on behind a NUL byte, where no pattern looks and ProxySQL reads annotations all the same. With RE2, another rule for
/// each of the other users.
pub(super) fn annotation_guards(chains: &mut Chains, program: &Program) -> Vec<DraftRule> {
    let utf8_only = chains.reads_utf8_only();
    let guards = [
        ("complete", incomplete(chains.wording()), unreadable(utf8_only)),
        (
            "annotations",
            EngineRule {
                match_pattern: Some(annotations_pattern()),
                ..EngineRule::default()
            },
            Refused::by_guard(
                Refusal::Annotation,
                "engine annotations such as /* hostgroup=5 */ are refused; users.NAME.annotations: allow obeys them",
            ),
        ),
    ];
    if program.users.is_empty() {
        // There is nobody whose statements they would be about.
        return Vec::new();
    }
    let everyone = program.users.iter().all(|user| !user.annotations_allowed);
    let mut rules = Vec::new();
    for (name, rule, refused) in guards {
        if everyone {
            rules.push(chains.refusing(name.to_owned(), &Address::new("users"), rule, &refused));
            continue;
        }
        for user in program.users.iter().filter(|user| !user.annotations_allowed) {
            let rule = EngineRule {
                username: Some(user.name.clone()),
                ..rule.clone()
            };
            let name = format!("{name}.{}", user.name);
            rules.push(chains.refusing(name, &user.address, rule, &refused));
        }
    }
    if utf8_only {
        for user in program.users.iter().filter(|user| user.annotations_allowed) {
            let name = format!("utf8.{}", user.name);
            let rule = no_utf8(user.name.clone());
            rules.push(chains.refusing(name, &user.address, rule, &unreadable(utf8_only)));
        }
    }
    rules
}

fn unreadable(utf8_only: bool) -> Refused {
    let what =
        "the statement ends inside a literal or a comment, or has a NUL byte in one; write a NUL byte as \\0";
    match utf8_only {
        true => Refused::by_guard(
            Refusal::Unreadable,
            &format!("{what}; or it is not UTF-8, and RE2 reads nothing else"),
        ),
        false => Refused::by_guard(Refusal::Unreadable, what),
    }
}

/// RE2 finds nothing across bytes that are no UTF-8: the patterns that refuse would not see what stands there. The guard
/// `complete` refuses such a text too.
fn no_utf8(username: String) -> EngineRule {
    EngineRule {
        username: Some(username),
        match_pattern: Some(r"\A(?s:.*)\z".to_owned()),
        negate_match_pattern: true,
        ..EngineRule::default()
    }
}

/// The guard comes too late for what raw rules with small ids decide.
pub(super) fn report_late_guards(program: &Program, guards: &[DraftRule], report: &mut Diagnostics<'_>) {
    let raw = program
        .blocks
        .iter()
        .find(|block| block.rules.iter().any(|row| row.rule.apply));
    if let (Some(block), false) = (raw, guards.is_empty()) {
        let message = format!(
            "on {}, statements that these rules take can carry engine annotations such as /* hostgroup=5 */: the guard \
             needs a rule id below theirs, and ids.rules has none",
            report.engine
        );
        report.add(Severity::Warning, DIFFERENCE, block.origin, "", message);
    }
}

/// Whether the first raw rules have written ids before which the project's range has no room for so many rules.
pub(super) fn would_renumber(order: &[ListEntry<'_>], guards: usize, first_id: u32) -> bool {
    // A block that has nothing but rows of fast routing has no place among rules.
    let has_rules =
        |entry: &&ListEntry<'_>| !matches!(entry, ListEntry::Block(block) if block.rules.is_empty());
    let Some(ListEntry::Block(block)) = order.iter().find(has_rules) else {
        return false;
    };
    let before = block.rules.iter().take_while(|row| row.rule_id.is_none()).count();
    let written = block.rules.iter().find_map(|row| row.rule_id);
    written.is_some_and(|id| (id.saturating_sub(first_id) as usize) < guards + before)
}

/// The name of an annotation behind the start of a comment and before its end. Whether ProxySQL obeys it there depends on
/// what stands between; all are refused. The search goes forward from the start of the comment, where ProxySQL reads 1,021 bytes: what
/// follows, however long, does not use up PCRE's limit first. No group is repeated without a bound: PCRE 8 takes stack for every turn.
pub(crate) fn annotations_pattern() -> String {
    const STARS: &str = r"(?:\*+[^*/][^*]*?)";
    let key = format!(r"(?:\b|[0-9M]){}\s*=", any_of(&ANNOTATION_KEYS));
    format!(r"/\*[^*]*?(?:{STARS}{{0,16}}?{key}|{STARS}{{16}}\*+[^*/](?s:.*?){key})")
}
