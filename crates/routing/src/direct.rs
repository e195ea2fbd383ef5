//! The short way of most statements: one map that finds its key in their only comment, and nothing before or behind it
//! that would ask anything else.
//!
//! What the walk over the rules would come to is worked out once for each user. The short way answers only where every
//! question of the walk has its usual answer; everything else, every refusal too, is left to the walk.

use std::borrow::Cow;

use shardwright_rules::{
    Besides, Body, CommentForm, Configuration, Destination, Dispatch, Effects, Finder, Hits, HostgroupId,
    KeyKind, KeyRef, MapStep, NativeStep, Outcome, SentAs, SessionView, Statement, Throttled,
};
use shardwright_sql::StatementClass;
use shardwright_sql::annotation::{KNOWN_KEYS, annotations_in};
use shardwright_sql::comment::{self, CommentKey, is_bare, lone_pair, lone_value, values_in};

use crate::shards::ShardIndex;

/// Rules that are looked at for one user.
pub(crate) const MOST_RULES: usize = 64;

/// Rules that match: as many as [`Hits`] holds without a heap.
const MOST_HITS: usize = 8;

/// What becomes of a user's statements that hold the key in their only comment.
#[derive(Debug)]
pub(crate) struct Direct {
    /// Position of the map's rule.
    pub(crate) map: usize,
    kind: KeyKind,
    word: Box<str>,
    form: comment::CommentForm,
    /// A read/write policy sees the statements too. It leaves all but provable reads where they are.
    reads_may_leave: bool,
    /// `None` where the rules ask for none.
    effects: Option<Box<Effects>>,
    /// The rules that match.
    hits: [u32; MOST_HITS],
    hits_len: usize,
}

impl Direct {
    /// The short way of `user`; `None` where the rules ask more of every statement. `chain` gives the positions of the
    /// rules of flag 0, in order.
    pub(crate) fn of(
        configuration: &Configuration,
        shards: &[Option<Box<ShardIndex>>],
        chain: impl Iterator<Item = usize>,
        user: &str,
    ) -> Option<Self> {
        if !configuration.firewall.is_empty() || !configuration.graph.fast_routing.is_empty() {
            return None;
        }
        // Such an engine looks at statements before the rules and behind them, and sends some elsewhere.
        if configuration.engine.profile().answers_itself {
            return None;
        }
        if configuration.user(user).is_some_and(|user| user.reads_only) {
            return None;
        }
        let mut map = None;
        let mut reads_may_leave = false;
        let mut effects = Effects::default();
        let (mut hits, mut hits_len) = ([0; MOST_HITS], 0);
        for (looked_at, position) in chain.enumerate() {
            if looked_at == MOST_RULES {
                return None;
            }
            let Body::Native { scope, step } = &configuration.graph.rules[position].body else {
                return None;
            };
            if !scope.users.contains(user) {
                continue;
            }
            if !scope.takes_all_of_its_users() {
                return None;
            }
            match step {
                NativeStep::Map(step) if map.is_none() => {
                    let shards = shards.get(position)?.as_deref()?;
                    map = Some((position, step.kind, only_comment(step, shards)?));
                }
                NativeStep::Delay(step) => effects.delay_ms = effects.delay_ms.max(Some(step.delay_ms)),
                NativeStep::Throttle(throttle) => effects.throttles.push(Throttled {
                    address: configuration.graph.rules[position].address.clone(),
                    throttle: throttle.clone(),
                }),
                NativeStep::NoMultiplex => effects.multiplex = Some(0),
                NativeStep::StopIfPlaced if map.is_some() => break,
                NativeStep::StopIfPlaced => continue,
                NativeStep::Role(_) => {
                    reads_may_leave = true;
                    continue;
                }
                NativeStep::Map(_) => return None,
            }
            *hits.get_mut(hits_len)? = u32::try_from(position).ok()?;
            hits_len += 1;
        }
        let (map, kind, (word, form)) = map?;
        Some(Self {
            map,
            kind,
            word: word.into(),
            form,
            reads_may_leave,
            effects: (effects != Effects::NONE).then(|| Box::new(effects)),
            hits,
            hits_len,
        })
    }

    /// The key that alone decides where `statement` goes; `None` where the walk must tell.
    #[inline]
    pub(crate) fn key<'a>(&self, statement: &Statement<'a>) -> Option<KeyRef<'a>> {
        if statement.command() == SentAs::Prepare {
            return None;
        }
        let comment = statement.lone_comment()?;
        let class = statement.class();
        if class.is_transaction_control() || statement.has_several() {
            return None;
        }
        if self.reads_may_leave && class == StatementClass::Select && statement.is_safe_read(true) {
            return None;
        }
        let value = match lone_value(comment, &self.word) {
            Some(value) => value,
            None => self.value_otherwise(statement, comment)?,
        };
        KeyRef::parse_bytes(self.kind, value)
    }

    /// The value in a comment that is written in another way than most.
    #[cold]
    fn value_otherwise<'a>(&self, statement: &Statement<'_>, comment: &'a [u8]) -> Option<&'a [u8]> {
        match lone_pair(comment) {
            Some((name, value)) => name.eq_ignore_ascii_case(self.word.as_bytes()).then_some(value),
            None => self.value_among_others(statement, comment),
        }
    }

    fn value_among_others<'a>(&self, statement: &Statement<'_>, comment: &'a [u8]) -> Option<&'a [u8]> {
        let read_by_engine = statement.first_comment()?;
        if annotations_in(&read_by_engine.text).any(|annotation| annotation.is_known()) {
            return None;
        }
        let key = CommentKey {
            name: &self.word,
            form: self.form,
        };
        let mut values = values_in(comment, key);
        let Cow::Borrowed(value) = values.next()? else {
            return None;
        };
        values.next().is_none().then_some(value)
    }

    /// What becomes of a statement whose key is on the cluster with this writer.
    #[inline]
    pub(crate) fn dispatch(&self, writer: HostgroupId) -> Dispatch {
        Dispatch {
            outcome: Outcome::Route(match &self.effects {
                None => Destination::plain(writer, true),
                Some(effects) => Destination::new(
                    writer,
                    true,
                    Besides {
                        effects: Effects::clone(effects),
                        ..Besides::NOTHING
                    },
                ),
            }),
            hits: Hits::from_slice(&self.hits[..self.hits_len]),
        }
    }
}

/// Whether what the walk asks of a session has the usual answers.
#[inline]
pub(crate) fn is_usual(session: &SessionView<'_>) -> bool {
    session.transaction.is_none()
        && session.transaction_pending.is_none()
        && matches!(session.next_query_flag_in, None | Some(0))
}

/// The comment that a map finds its key in, where a statement's place on a shard follows from that alone and the
/// statement stays as it is.
fn only_comment<'c>(step: &'c MapStep, shards: &ShardIndex) -> Option<(&'c str, comment::CommentForm)> {
    let [Finder::Comment { word, form }] = step.finders.as_slice() else {
        return None;
    };
    let form = match form {
        CommentForm::Pairs => comment::CommentForm::Pairs,
        CommentForm::Sqlcommenter => comment::CommentForm::Sqlcommenter,
        CommentForm::Exact(_) => return None,
    };
    let by_cluster = step.logical_schema.is_none() && !shards.has_schemas();
    let is_annotation = KNOWN_KEYS.iter().any(|known| known.eq_ignore_ascii_case(word));
    let is_plain = !is_annotation && is_bare(word);
    (by_cluster && step.otherwise.is_none() && is_plain).then_some((word, form))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use shardwright_rules::{Configuration, SessionView, Statement, Transaction};

    use crate::RoutingTable;

    fn table(behind: Vec<Value>) -> RoutingTable {
        let map = json!({"map": {"map": "m", "key": "tenant", "kind": "integer",
            "finders": [{"comment": {"word": "tenant", "form": "pairs"}}], "conflict": "reject",
            "unqualified": "reject", "unknown": "reject",
            "shards": [{"address": "shard_maps.m.shards.t17", "cluster": "a", "keys": [17]}],
            "missing": {"statements": "reject", "session_setup": "allow", "begin": "reject"}}});
        let steps = [json!({"users": {"any_of": ["geo"]}}), json!({})]
            .into_iter()
            .zip([json!("no_multiplex"), map]);
        let native = steps.map(|(scope, step)| json!({"native": {"scope": scope, "step": step}}));
        let rules: Vec<Value> = native
            .chain(behind)
            .zip(1_u32..)
            .map(|(body, id)| json!({"id": id, "address": format!("rule.{id}"), "flag_in": 0, "body": body}))
            .collect();
        let user = json!({"name": "app", "address": "users.app", "password": null, "default_hostgroup": 10,
            "default_schema": null, "max_connections": 1, "transaction_persistent": true,
            "annotations_allowed": false});
        let configuration: Configuration = serde_json::from_value(json!({
            "format": 1, "engine": "bundled", "settings": {"query_processor_iterations": 0, "regex": "pcre"},
            "clusters": [{"name": "a", "address": "clusters.a", "kind": {"type": "single"}, "writer": 10,
                "reader": null, "writer_serves_reads": "never"}],
            "hostgroups": [], "users": [user], "graph": {"rules": rules, "fast_routing": []}}))
        .unwrap();
        RoutingTable::new(Arc::new(configuration))
    }

    fn is_direct(table: &RoutingTable, session: &SessionView<'_>, text: &str) -> bool {
        let statement = Statement::new(text.as_bytes(), Default::default());
        table.shortly(session, &statement).is_some()
    }

    const SESSION: SessionView<'_> = SessionView {
        user: "app",
        user_position: None,
        schema: None,
        client_addr: None,
        listener: None,
        transaction: None,
        transaction_pending: None,
        autocommit_off: false,
        next_query_flag_in: None,
        locked_on: None,
        since_write_ms: None,
        state_on: &[],
    };

    #[test]
    fn the_common_statement_goes_the_short_way() {
        let native = |step: Value| json!({"native": {"scope": {}, "step": step}});
        let behind = vec![
            native(json!({"delay": {"delay_ms": 5}})),
            native(json!("stop_if_placed")),
        ];
        for table in [table(vec![]), table(behind)] {
            for (text, expected) in [
                ("/* tenant=17 */ SELECT id FROM t WHERE id=1", true),
                ("/*tenant=017*/\r\nUPDATE t SET a='x;y' WHERE b=4/2;", true),
                ("/* app=web; tenant='17' */ INSERT INTO t VALUES (1);\n", true),
                ("/* tenant=18 */ SELECT 1", false),
                ("/* tenant=17 */ SELECT 1; SELECT 2", false),
                ("/* tenant=17 */ COMMIT", false),
                ("/* tenant=17; hostgroup=10 */ SELECT 1", false),
                ("SELECT /* tenant=17 */ 1", false),
                ("SELECT 1", false),
            ] {
                assert_eq!(is_direct(&table, &SESSION, text), expected, "{text}");
            }
        }
    }

    #[test]
    fn a_read_write_policy_leaves_the_short_way_to_what_is_no_read() {
        let table = table(vec![
            json!({"native": {"scope": {}, "step": {"role": {"reads": "all"}}}}),
        ]);
        for (text, expected) in [
            ("/* tenant=17 */ UPDATE t SET a=1", true),
            ("/* tenant=17 */ SELECT 1 FROM t FOR UPDATE", true),
            ("/* tenant=17 */ SELECT 1 FROM t", false),
            ("/* tenant=17 */ SELECT last_insert_id()", false),
        ] {
            assert_eq!(is_direct(&table, &SESSION, text), expected, "{text}");
        }
    }

    #[test]
    fn what_asks_more_of_a_statement_or_a_session_is_walked() {
        let sql = "/* tenant=17 */ SELECT id FROM t WHERE id=1";
        for behind in [
            json!({"native": {"scope": {}, "step": {"role": {"reads": "all"}}}}),
            json!({"native": {"scope": {"statements": ["select"]}, "step": "no_multiplex"}}),
            json!({"engine": {"destination_hostgroup": 77}}),
        ] {
            assert!(!is_direct(&table(vec![behind]), &SESSION, sql));
        }
        let hostgroup = shardwright_rules::HostgroupId(10);
        for session in [
            SessionView {
                user: "nobody",
                ..SESSION
            },
            SessionView {
                transaction: Some(Transaction { hostgroup }),
                ..SESSION
            },
            SessionView {
                transaction_pending: Some(shardwright_rules::PendingKind::Local),
                ..SESSION
            },
            SessionView {
                next_query_flag_in: Some(1),
                ..SESSION
            },
        ] {
            assert!(!is_direct(&table(vec![]), &session, sql), "{session:?}");
        }
    }
}
