//! Hostgroups that refuse: where ProxySQL sends an execution that it must not answer itself.
//!
//! ProxySQL 2.7.1 frees the packet of a COM_STMT_EXECUTE twice when `error_msg` answers it, and ends. A hostgroup whose
//! server refuses the login answers it as well, and is safe. Queries and preparations meet `error_msg` as ever.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::{Address, Body, EngineRule, HostgroupId, Rejection, Rule};

/// A hostgroup without databases: its server answers every login with an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusingHostgroup {
    /// Number, pinned in the lock file.
    pub id: HostgroupId,
    /// The object of the topology that refuses.
    pub address: Address,
    /// What clients are told, with its code: `SW351: no shard key: …`.
    pub reason: String,
    /// Who refuses the login.
    pub refuser: Refuser,
    /// Its host.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}

/// Who refuses the logins of a [`RefusingHostgroup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refuser {
    /// The engine's own admin port, which knows no application users: the reason does not reach the client.
    Admin,
    /// `shardwright refuse`: the client gets the reason.
    Service,
}

/// What stands in front of the reason in a refusal of `shardwright refuse`: the monitor of ProxySQL takes a server that
/// answers so for alive (2.7.1).
pub const REFUSED_LOGIN: &str = "Access denied for user: ";

/// What stands before the reason in the comment of the server's row, by who refuses.
const COMMENTS: [(Refuser, &str); 2] = [
    (Refuser::Admin, "refuses by the admin port: "),
    (Refuser::Service, "refuses by shardwright refuse: "),
];

impl RefusingHostgroup {
    /// The comment of its server's row, which says what the hostgroup is.
    pub fn comment(&self) -> String {
        let lead = COMMENTS.iter().find(|(refuser, _)| *refuser == self.refuser);
        format!("{}{}", lead.map_or("", |(_, lead)| lead), self.reason)
    }

    /// Who refuses and why, from the comment of a server's row; none where the server is any other.
    pub fn parse_comment(comment: &str) -> Option<(Refuser, &str)> {
        COMMENTS
            .iter()
            .find_map(|(refuser, lead)| Some((*refuser, comment.strip_prefix(lead)?)))
    }

    /// What the client gets, by the names that the evaluator knows.
    pub fn rejection(&self) -> Rejection {
        let (code, sqlstate) = match self.refuser {
            Refuser::Admin => (1045, "28000"),
            Refuser::Service => (1226, "42000"),
        };
        Rejection {
            code,
            sqlstate,
            refusal: Refusal::of_message(&self.reason),
            message: self.reason.clone(),
            address: Some(self.address.clone()),
        }
    }
}

/// Two rules of one chain that tell queries and preparations from executions, of which a rewrite is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldApart {
    /// Position of the rule that puts a mark in front of the text.
    pub mark: usize,
    /// Position of the next rule of the chain: it takes every text with the mark and ends the evaluation. What passes it
    /// is an execution.
    pub answer: usize,
}

/// Every such pair of a graph.
///
/// The mark begins with `)`. No server prepares a text that begins so, and an execution is decided by a text that some
/// server has prepared: none has the mark by itself.
pub fn told_apart(rules: &[Rule]) -> impl Iterator<Item = ToldApart> {
    let mut last: HashMap<u32, usize> = HashMap::new();
    rules.iter().enumerate().filter_map(move |(answer, rule)| {
        let mark = last.insert(rule.flag_in, answer)?;
        let (Body::Engine(first), Body::Engine(second)) = (&rules[mark].body, &rule.body) else {
            return None;
        };
        let put = put_in_front(first)?;
        let asked = asked_in_front(second)?;
        (put.starts_with(')') && put.starts_with(&asked) && second.apply)
            .then_some(ToldApart { mark, answer })
    })
}

/// The text that a row puts in front of every statement; `None` for a row that does anything else.
fn put_in_front(row: &EngineRule) -> Option<&str> {
    let put = row.replace_pattern.as_deref()?;
    let plain = EngineRule {
        match_pattern: Some(r"\A".to_owned()),
        replace_pattern: row.replace_pattern.clone(),
        re_modifiers: row.re_modifiers,
        comment: row.comment.clone(),
        ..EngineRule::default()
    };
    (*row == plain && !put.contains('\\')).then_some(put)
}

/// The text that a row asks for at the beginning of the statement, where it asks for nothing else.
fn asked_in_front(row: &EngineRule) -> Option<String> {
    let only = EngineRule {
        match_pattern: row.match_pattern.clone(),
        match_digest: None,
        digest: None,
        username: None,
        schemaname: None,
        client_addr: None,
        proxy_addr: None,
        proxy_port: None,
        negate_match_pattern: false,
        ..row.clone()
    };
    let pattern = row.match_pattern.as_deref()?.strip_prefix(r"\A")?;
    let mut literal = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        literal.push(match character {
            '\\' => characters.next().filter(char::is_ascii_punctuation)?,
            plain if plain.is_alphanumeric() || plain == ' ' => plain,
            _ => return None,
        });
    }
    (*row == only && !literal.is_empty()).then_some(literal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: u32, row: EngineRule) -> Rule {
        Rule {
            id,
            address: Address::new("test"),
            shards: Vec::new(),
            summary: None,
            flag_in: 7,
            body: Body::Engine(Box::new(row)),
        }
    }

    fn mark(with: &str) -> EngineRule {
        EngineRule {
            match_pattern: Some(r"\A".to_owned()),
            replace_pattern: Some(with.to_owned()),
            ..EngineRule::default()
        }
    }

    fn answer(pattern: &str) -> EngineRule {
        EngineRule {
            match_pattern: Some(pattern.to_owned()),
            error_msg: Some("no".to_owned()),
            apply: true,
            ..EngineRule::default()
        }
    }

    #[test]
    fn a_mark_that_no_server_prepares_tells_queries_from_executions() {
        let other_user = EngineRule {
            username: Some("app".to_owned()),
            ..answer(r"\A\) ")
        };
        let goes_on = EngineRule {
            apply: false,
            ..answer(r"\A\) ")
        };
        for (first, second, expected) in [
            (mark(") "), answer(r"\A\) "), true),
            (mark(") x"), answer(r"\A\)"), true),
            (mark("/* x */"), answer(r"\A/\* x \*/"), false),
            (mark(r") \1"), answer(r"\A\) "), false),
            (mark(") "), answer(r"\) "), false),
            (mark(") "), answer(r"\A\) SELECT"), false),
            (mark(") "), answer(r"\A\)|x"), false),
            (mark(") "), other_user, false),
            (mark(") "), goes_on, false),
        ] {
            let what = format!("{second:?}");
            let rules = [rule(1, first), rule(2, second)];
            let pair = ToldApart { mark: 0, answer: 1 };
            assert_eq!(
                told_apart(&rules).collect::<Vec<_>>(),
                if expected { vec![pair] } else { vec![] },
                "{what}"
            );
        }
    }

    #[test]
    fn a_comment_says_who_refuses_and_why() {
        for refuser in [Refuser::Admin, Refuser::Service] {
            let hostgroup = RefusingHostgroup {
                id: HostgroupId(9),
                address: "shard_maps.m".into(),
                reason: "SW351: no shard key: ...".into(),
                refuser,
                host: "127.0.0.1".into(),
                port: 6100,
            };
            assert_eq!(
                RefusingHostgroup::parse_comment(&hostgroup.comment()),
                Some((refuser, hostgroup.reason.as_str()))
            );
        }
        assert_eq!(RefusingHostgroup::parse_comment("clusters.a.servers.b"), None);
    }
}
