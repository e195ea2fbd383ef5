//! Statements that are tried on both evaluators: given ones first, and before an answer is undecided, the examples of all
//! rules with other values, comments and letters.

use std::collections::{BTreeSet, HashSet};

use shardwright_rules::EngineRule;

use super::{ComparedSession, Comparison, Pair, Tried};
use crate::attempts::Attempts;
use crate::example::{Example, ORDINARY, sessions};
use crate::rule_set::RuleSet;
use crate::session::Session;
use crate::structure::Structure;

/// Sessions in which a statement without a user is tried.
const MOST_SESSIONS: usize = 8;
/// Values that take the place of one in an example.
const OTHER_VALUES: [&[u8]; 4] = [b"0", b"1", b"2147483648", b"zz9"];

/// Tries statements that somebody gave.
pub(super) fn try_given(pair: &Pair<'_, '_>, statements: &[Tried], comparison: &mut Comparison) {
    let both = [0, 1].map(|side| pair.configuration(side));
    for tried in statements {
        let names: Vec<&str> = match &tried.user {
            Some(user) => vec![user],
            None => {
                let users = both[0].users.iter().map(|user| user.name.as_str());
                let mut names: Vec<&str> = users.take(MOST_SESSIONS).collect();
                if names.is_empty() {
                    names.push("another");
                }
                names
            }
        };
        for name in names {
            // Who cannot log in on both sides is compared with the users.
            if !both
                .iter()
                .all(|side| side.users.is_empty() || side.user(name).is_some())
            {
                continue;
            }
            let mut session: ComparedSession = Session::of_user(both[0], name).into();
            session.schemas = [0, 1].map(|side| {
                let own = || both[side].default_schema(name).map(str::to_owned);
                tried.schema.clone().or_else(own)
            });
            if comparison.is_full() {
                return;
            }
            if let Some(difference) = pair.difference(&session, &tried.text) {
                comparison.add(difference);
            }
        }
    }
}

/// Tries the examples of the rules of both sides, as long as the budget lasts: those of rules that only one side has come
/// first, in all their forms.
pub(super) fn try_all(pair: &Pair<'_, '_>, comparison: &mut Comparison) {
    let sets = [0, 1].map(|side| RuleSet::of(pair.configuration(side)));
    let written = [0, 1].map(|side| written(&sets[side]));
    let mut of_own_rules = Vec::new();
    let mut of_others = Vec::new();
    for (side, set) in sets.iter().enumerate() {
        let structure = Structure::with_restarts(set, set.iterations());
        let mut attempts = Attempts::new(set);
        attempts.try_all(&structure);
        let others: HashSet<&String> = written[1 - side].iter().collect();
        for (rule, example) in written[side].iter().zip(attempts.found) {
            match others.contains(rule) {
                true => of_others.extend(example),
                false => of_own_rules.extend(example),
            }
        }
        of_others.extend(sessions(set).into_iter().flat_map(|session| {
            ORDINARY.iter().map(move |text| Example {
                session: session.clone(),
                text: text.as_bytes().to_vec(),
            })
        }));
    }
    let mut tried = BTreeSet::new();
    try_examples(pair, &of_own_rules, forms, &mut tried, comparison);
    let as_is = |text: &[u8]| vec![text.to_vec()];
    for forms in [as_is as fn(&[u8]) -> Vec<Vec<u8>>, forms] {
        if comparison.differences.is_empty() {
            try_examples(pair, &of_others, forms, &mut tried, comparison);
        }
    }
}

/// A user, a schema, a statement.
type Key = (String, Option<String>, Vec<u8>);

fn try_examples(
    pair: &Pair<'_, '_>,
    examples: &[Example],
    forms: fn(&[u8]) -> Vec<Vec<u8>>,
    tried: &mut BTreeSet<Key>,
    comparison: &mut Comparison,
) {
    for example in examples {
        for text in forms(&example.text) {
            if comparison.is_full() || pair.spending.check().is_err() {
                return;
            }
            let example = Example {
                session: example.session.clone(),
                text,
            };
            let session = &example.session;
            let key = (session.user.clone(), session.schema.clone(), example.text.clone());
            if tried.insert(key)
                && can_log_in(pair, &example.session.user)
                && let Some(difference) = pair.difference_of(&example)
            {
                comparison.add(difference);
            }
        }
    }
}

/// What each rule asks and does, by position, whatever the flags on both sides are called.
pub(super) fn written(set: &RuleSet<'_>) -> Vec<String> {
    let write = |position: usize| match set.row(position) {
        Some(row) => serde_json::to_string(&EngineRule {
            flag_out: None,
            flag_outs: Vec::new(),
            comment: None,
            ..row.clone()
        }),
        None => serde_json::to_string(&set.configuration.graph.rules[position].body),
    };
    let write = |position| write(position).expect("rules are maps with string keys");
    (0..set.rule_count()).map(write).collect()
}

fn can_log_in(pair: &Pair<'_, '_>, user: &str) -> bool {
    let sides = [0, 1].map(|side| pair.configuration(side));
    let is_known = |side: &shardwright_rules::Configuration| side.user(user).is_some();
    sides.iter().all(|side| is_known(side)) || sides.iter().all(|side| side.users.is_empty())
}

/// A statement as it is, and as it is written elsewhere.
fn forms(text: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![
        text.to_vec(),
        [b"/* c */ ", text].concat(),
        [text, b" /* c */"].concat(),
        [text, b" FOR UPDATE"].concat(),
        text.to_ascii_uppercase(),
        text.to_ascii_lowercase(),
    ];
    let numbers = numbers(text);
    for &(from, to) in &numbers {
        for value in OTHER_VALUES {
            forms.push([&text[..from], value, &text[to..]].concat());
        }
        let known = std::str::from_utf8(&text[from..to]);
        if let Some(number) = known.ok().and_then(|number| number.parse::<u64>().ok()) {
            let near = [number.saturating_sub(1), number.saturating_add(1)];
            let near = near.map(|near| near.to_string());
            forms.extend(near.map(|near| [&text[..from], near.as_bytes(), &text[to..]].concat()));
        }
    }
    forms
}

/// Where numbers stand in a text, at most four.
fn numbers(text: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() && found.len() < 4 {
        if text[at].is_ascii_digit() {
            let length = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            found.push((at, at + length));
            at += length;
        } else {
            at += 1;
        }
    }
    found
}
