//! What a rule decides, in a few words: for the comment of its row, `explain` and whoever reads the live rules.
//!
//! A rule about keys names them, as many as fit; any other rule says what it looks for. The words depend on what the pattern
//! matches and on nothing beside it: a shard that comes elsewhere in the map changes no other row.
//!
//! Example: `tenant_id 17, 42, 100..199` for a rule that places these keys, `branch tenant_id 0..99` for one that hands the keys
//! of a range to a chain, `two keys in one statement` for a guard.

use std::fmt::Write as _;

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{EngineRule, KeyValue};

use crate::key_patterns::lock_name::KeyBounds;
use crate::map_plans::Values;

/// Most bytes of the keys that are listed. With the words around them a summary stays under 130.
const MOST_LISTED: usize = 72;
/// Most bytes of one name.
const MOST_NAME: usize = 32;

/// The keys that a rule places.
pub(crate) fn keys(key: &str, values: &Values) -> String {
    let (items, count): (Vec<String>, u64) = match values {
        Values::Integers(ranges) => {
            let sizes = ranges
                .iter()
                .map(|&(low, high)| high.abs_diff(low).saturating_add(1));
            let count = sizes.fold(0, u64::saturating_add);
            (ranges.iter().map(|&range| integers(range)).collect(), count)
        }
        Values::Texts(texts) => {
            let items = texts.iter().map(|text| shown(text));
            (items.collect(), texts.len() as u64)
        }
    };
    format!("{} {}", shown(key), listed(&items, count, "keys"))
}

/// The key of a session whose schema or user has it in its name.
pub(crate) fn key(name: &str, key: &KeyValue) -> String {
    format!("{} {}", shown(name), shown(&key.to_string()))
}

/// The keys that a rule hands to a chain: the ranges that its pattern matches, or the bounds of the chain.
pub(crate) fn branch(key: &str, bounds: &KeyBounds, ranges: &[(i64, i64)]) -> String {
    let keys = match bounds {
        KeyBounds::Integers(..) => {
            let items: Vec<String> = ranges.iter().map(|&range| integers(range)).collect();
            listed(&items, items.len() as u64, "ranges")
        }
        KeyBounds::Texts(low, high) => format!("{}..{}", shown(low), shown(high)),
    };
    format!("branch {} {keys}", shown(key))
}

fn integers((low, high): (i64, i64)) -> String {
    match low == high {
        true => low.to_string(),
        false => format!("{low}..{high}"),
    }
}

/// As many items as fit, at least one.
fn listed(items: &[String], count: u64, what: &str) -> String {
    let mut text = String::new();
    for (at, item) in items.iter().enumerate() {
        if at > 0 && text.len() + 2 + item.len() > MOST_LISTED {
            write!(text, ", ... ({count} {what})").expect("writing to a string cannot fail");
            return text;
        }
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(item);
    }
    text
}

/// A name in a comment: letters, digits and signs that end no literal stay, everything else is percent-encoded. A long name is
/// cut.
fn shown(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if text.len() >= MOST_NAME {
            text.push_str("...");
            break;
        }
        if character.is_alphanumeric()
            || matches!(character, '_' | '-' | '.' | '@' | ':' | '+' | '/' | '=' | '~')
        {
            text.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                write!(text, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        }
    }
    text
}

/// What a rule looks for that no key tells, by its name in its chain. A rule for one user or one schema is named after it, and
/// its row shows it: it has no other words.
pub(crate) fn guard(name: &str, rule: &EngineRule) -> Option<&'static str> {
    match rule.username.is_some() || rule.schemaname.is_some() {
        true => None,
        false => called(name),
    }
}

/// What a rule of this name looks for, whoever it is for.
pub(crate) fn called(name: &str) -> Option<&'static str> {
    Some(match name {
        "no_word" => "no key word: no key of this map",
        "found" => "a key is found",
        "found_in_schema" => "a key is found, in the logical schema",
        "tree" => "one key: the rules of the keys",
        "usual_reads" => "a plain read with its key in front",
        "usual" => "a usual statement with its key in front",
        "bare" => "no comment: no key in one",
        "once" => "one key only",
        "repeated" => "refused: two keys in one statement",
        "doubtful" => "refused: a key that cannot be told from other text",
        "unknown" => "key of no shard",
        "column" => "refused: a key in a comment and one in a column",
        "stores" => "stores or reads rows without naming columns",
        "listed" => "INSERT with a list of columns",
        "unlisted" => "refused: rows stored without naming columns",
        "mentioned" => "refused: logical schema without a key",
        "ambiguous" => "refused: what looks like a key may be none",
        "control" => "transaction control",
        "begin" | "transaction" => "BEGIN",
        "xa" => "refused: XA",
        "set" => "SET",
        "server" => "refused: sets more than the session",
        "hidden_begin" | "later_begin" => "BEGIN beside other text",
        "setup" | "show" | "use" | "describe" | "names" => "session setup",
        "not_setup" => "no session setup",
        "wrapped" => "wrapped statement: no session setup",
        "calls" | "unknown_setup" => "refused: session setup or not, it cannot be told",
        "missing" => "no key",
        "role" => "reads and writes part",
        "read" => "a read",
        "plain_read" => "a plain read",
        "stays" => "stays with the writer: hint, quoted name or call",
        "quoted_call" => "a call or quoted name that may write",
        "hint" => "hint: writer",
        "own" => "the user's own key",
        "own_schemas" => "checks the schema of the session",
        "unqualified" => "refused: tables without a schema",
        "rest" | "end" | "left" | "all" | "session" => "all others",
        _ => return None,
    })
}

/// What a rule refuses.
pub(crate) fn refused(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::MissingKey => "refused: no key",
        Refusal::UnknownKey => "refused: key of no shard",
        Refusal::ConflictingKeys => "refused: keys that differ",
        Refusal::NotOneShard => "refused: no single shard can answer",
        Refusal::OtherShardsSchema => "refused: schema of another shard",
        Refusal::OpenTransactionElsewhere => "refused: open transaction elsewhere",
        Refusal::Annotation => "refused: engine annotation",
        Refusal::Unqualified => "refused: tables without a schema",
        Refusal::BeginWithoutKey => "refused: BEGIN without a key",
        Refusal::NotABaseTable => "refused: a view",
        Refusal::Unreadable => "refused: ends inside a literal or a comment",
        Refusal::RefusedShard => "refused: the shard takes nothing",
        Refusal::ReadsOnly => "refused: more than a read",
        Refusal::Route => "refused by a route",
        Refusal::KeyColumn => "refused: the column compares otherwise",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_listed_as_far_as_they_fit() {
        let integers = |ranges: &[(i64, i64)]| keys("tenant_id", &Values::Integers(ranges.to_vec()));
        let texts = |texts: &[&str]| {
            let texts = texts.iter().map(|&text| text.to_owned());
            keys("country", &Values::Texts(texts.collect()))
        };
        let many: Vec<(i64, i64)> = (0..203).map(|at| (at * 10, at * 10)).collect();
        let told = [
            integers(&[(17, 17)]),
            integers(&[(-5, -3), (42, 42), (100, 199)]),
            integers(&[(i64::MIN, i64::MAX)]),
            integers(&many),
            texts(&["Curaçao", "New York", "a\"b'c\\d\n"]),
            texts(&[&"x".repeat(400), "y"]),
            branch("tenant_id", &KeyBounds::Integers(0, 99), &[(0, 9), (20, 99)]),
            branch("country", &KeyBounds::Texts("Asia".into(), "Europe".into()), &[]),
        ];
        insta::assert_snapshot!(told.join("\n"), @r"
        tenant_id 17
        tenant_id -5..-3, 42, 100..199
        tenant_id -9223372036854775808..9223372036854775807
        tenant_id 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, ... (203 keys)
        country Curaçao, New%20York, a%22b%27c%5Cd%0A
        country xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..., y
        branch tenant_id 0..9, 20..99
        branch country Asia..Europe
        ");
        let most = told.iter().map(String::len).max().unwrap();
        assert!(most <= 130, "{most}");
    }

    #[test]
    fn no_character_of_a_name_ends_a_text() {
        for character in (0..=0x2FFF_u32).filter_map(char::from_u32) {
            let text = shown(&character.to_string());
            assert!(
                !text.contains(['"', '\'', '\\', ',', ' ', ';']) && !text.chars().any(char::is_control),
                "{character:?}"
            );
        }
    }
}
