//! Rule sets in the shape of published ones under small edits: how many pairs are decided, and whether the answers hold.
//!
//! A run takes a sample of the edits. `SHARDWRIGHT_PROVE_ALL=1` takes all of them and prints what stays undecided.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_prover::equivalence::{Equivalence, alike, equivalence};
use shardwright_prover::{ORDINARY, RuleSet, own_example, sessions, shown_text};
use shardwright_rules::{Configuration, Evaluator, SessionView, Statement};
use shardwright_testkit::configuration;

/// Edits of one set in a sample.
const SAMPLED: usize = 7;
/// Statements that an answer is held against.
const MOST_STATEMENTS: usize = 400;

/// A small edit of the rules of a set.
struct Edit {
    name: String,
    rules: Vec<Value>,
}

fn pages() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/rule_sets");
    let files = std::fs::read_dir(&folder).unwrap();
    let mut pages: Vec<(String, Value)> = files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            (name, serde_yaml::from_str(&text).unwrap())
        })
        .collect();
    pages.sort_by(|(one, _), (other, _)| one.cmp(other));
    pages
}

fn with_rules(page: &Value, rules: &[Value]) -> Configuration {
    let mut page = page.clone();
    let numbered = rules.iter().enumerate().map(|(at, rule)| {
        let mut rule = rule.clone();
        rule["rule_id"] = json!(10 * (at + 1));
        rule
    });
    page["rules"] = numbered.collect();
    configuration(&page.to_string())
}

/// Every edit of every rule: dropped, doubled, moved, widened, narrowed, with another effect.
fn edits(rules: &[Value]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let mut add = |name: &str, change: &dyn Fn(&mut Vec<Value>)| {
            let mut changed = rules.to_vec();
            change(&mut changed);
            if changed != rules {
                let name = format!("rule {}: {name}", 10 * (at + 1));
                edits.push(Edit { name, rules: changed });
            }
        };
        add("dropped", &|rules| {
            rules.remove(at);
        });
        add("doubled", &|rules| rules.insert(at + 1, rule.clone()));
        add("repeated at the end", &|rules| rules.push(rule.clone()));
        add("moved to the front", &|rules| rules[..=at].rotate_right(1));
        add("moved to the end", &|rules| rules[at..].rotate_left(1));
        if at + 1 < rules.len() {
            add("moved behind the next", &|rules| rules.swap(at, at + 1));
        }
        for (name, column, value) in [
            ("to another hostgroup", "destination_hostgroup", json!(30)),
            ("with a delay", "delay", json!(7)),
            ("with a cache", "cache_ttl", json!(77)),
            ("refused", "error_msg", json!("no")),
            ("of every user", "username", Value::Null),
            ("of every schema", "schemaname", Value::Null),
            ("without apply", "apply", json!(0)),
            ("with apply", "apply", json!(1)),
        ] {
            if rule.get(column).is_some() || !value.is_null() {
                add(name, &|rules| match &value {
                    Value::Null => {
                        rules[at].as_object_mut().unwrap().remove(column);
                    }
                    value => rules[at][column] = value.clone(),
                });
            }
        }
        for column in ["match_digest", "match_pattern"] {
            let Some(pattern) = rule.get(column).and_then(Value::as_str) else {
                continue;
            };
            let shorter = pattern.trim_start_matches('^').trim_end_matches('$');
            for (name, text) in [
                ("without anchors", shorter.to_owned()),
                ("with blanks as \\s", pattern.replace(' ', "\\s")),
                ("at the end of the text", format!("{shorter}$")),
                ("or CALL", format!("{pattern}|^CALL x")),
            ] {
                add(name, &|rules| rules[at][column] = json!(text));
            }
        }
    }
    edits
}

/// A sample that is the same in every run, spread over the edits.
fn sampled(edits: Vec<Edit>, salt: usize) -> Vec<Edit> {
    if std::env::var_os("SHARDWRIGHT_PROVE_ALL").is_some() {
        return edits;
    }
    let every = edits.len().div_ceil(SAMPLED).max(1);
    let chosen = edits.into_iter().skip(salt % every).step_by(every);
    chosen.collect()
}

/// Sessions and texts that come to the rules of a set.
fn statements(configurations: [&Configuration; 2]) -> Vec<(String, Option<String>, Vec<u8>)> {
    let mut statements = BTreeSet::new();
    for configuration in configurations {
        let set = RuleSet::of(configuration);
        let sessions = sessions(&set);
        let mut texts: BTreeSet<Vec<u8>> = ORDINARY.iter().map(|text| text.as_bytes().to_vec()).collect();
        for position in 0..set.rule_count() {
            let own = own_example(&set, position);
            let own = own.map_or_else(|| shown_text(&set, position), |example| example.text);
            for (before, behind) in [
                ("", ""),
                ("SELECT a ", ""),
                ("", " FOR UPDATE"),
                ("/* c */ ", " LIMIT 1"),
            ] {
                texts.insert([before.as_bytes(), &own, behind.as_bytes()].concat());
            }
            if let Some(row) = set.row(position) {
                let user = row.username.clone().unwrap_or_else(|| sessions[0].user.clone());
                statements.insert((user, row.schemaname.clone(), own));
            }
        }
        for (at, text) in texts.into_iter().enumerate() {
            let session = &sessions[at % sessions.len()];
            statements.insert((session.user.clone(), session.schema.clone(), text));
        }
    }
    // Nobody else can log in.
    statements.retain(|(user, _, _)| configurations.iter().all(|side| side.user(user).is_some()));
    let every = statements.len().div_ceil(MOST_STATEMENTS).max(1);
    statements.into_iter().step_by(every).collect()
}

/// A proof is held against statements, a refutation against the evaluator itself.
fn check(answer: &Equivalence, left: &Configuration, right: &Configuration, what: &str) {
    let evaluators = [left, right].map(|side| Evaluator::new(Arc::new(side.clone())));
    match answer {
        Equivalence::Proved => {
            for (user, schema, text) in statements([left, right]) {
                let session = SessionView {
                    user: &user,
                    schema: schema.as_deref().or(Some("shop")),
                    client_addr: Some("10.1.0.7"),
                    listener: Some(("0.0.0.0", 6033)),
                    ..SessionView::default()
                };
                let statement = Statement::new(&text, Default::default());
                let [one, other] = [0, 1].map(|side| evaluators[side].decide(&session, &statement).outcome);
                let text = String::from_utf8_lossy(&text);
                assert!(
                    alike(&one, &other),
                    "{what}: {user} `{text}`: {one:?} or {other:?}"
                );
            }
        }
        Equivalence::Refuted { differences, .. } => {
            for difference in differences {
                let statement = Statement::new(&difference.statement, Default::default());
                let outcome = |side: usize| {
                    evaluators[side]
                        .decide(&difference.session.view(side), &statement)
                        .outcome
                };
                assert!(!alike(&outcome(0), &outcome(1)), "{what}: {difference:?}");
            }
        }
        Equivalence::Undecided { .. } => {}
    }
}

#[test]
fn small_edits_of_published_shapes_are_decided() {
    let [mut proved, mut refuted] = [0_usize; 2];
    let mut open = Vec::new();
    let pages = pages();
    assert!(pages.len() >= 40);
    for (salt, (name, page)) in pages.iter().enumerate() {
        let rules = page["rules"].as_array().unwrap();
        let usual = with_rules(page, rules);
        for edit in sampled(edits(rules), salt) {
            let changed = with_rules(page, &edit.rules);
            let what = format!("{name}, {}", edit.name);
            let answer = equivalence(&usual, &changed);
            check(&answer, &usual, &changed, &what);
            match answer {
                Equivalence::Proved => proved += 1,
                Equivalence::Refuted { .. } => refuted += 1,
                Equivalence::Undecided { constructs } => {
                    open.push(format!("{what}: {}", constructs.join("; ")))
                }
            }
        }
    }
    let decided = proved + refuted;
    let all = decided + open.len();
    println!(
        "{} sets, {all} pairs: {proved} equal, {refuted} different, {} undecided",
        pages.len(),
        open.len()
    );
    println!("{}", open.join("\n"));
    assert!(
        decided * 100 >= all * 95,
        "{decided} of {all} decided:\n{}",
        open.join("\n")
    );
}
