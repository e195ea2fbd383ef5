//! The state of one evaluation.

use std::borrow::Cow;
use std::sync::Arc;

use shardwright_sql::DigestOptions;

use crate::decide::index::{KnownAction, Subject};
use crate::decide::{Detail, Index};
use crate::{
    Address, AssumedTable, Effects, Hits, HostgroupId, Outcome, Rule, SessionView, Statement, Step, User,
    Withheld,
};

/// Steps that most paths have at most.
const USUAL_STEPS: usize = 16;

/// What is known so far about one statement.
pub(super) struct Evaluation<'a> {
    pub(super) session: &'a SessionView<'a>,
    /// The session's schema, or what the engine has in its place.
    pub(super) schema: Option<&'a str>,
    /// The session's user, where the configuration has it.
    pub(super) user: Option<&'a User>,
    pub(super) statement: &'a Statement<'a>,
    /// How the engine makes digests, if it does.
    pub(super) digests: Option<DigestOptions>,
    /// What the command goes without.
    pub(super) withheld: Withheld,
    pub(super) flag: u32,
    /// The text as rewritten so far.
    pub(super) text: Cow<'a, [u8]>,
    /// How often it was rewritten.
    pub(super) rewrites: u32,
    pub(super) hostgroup: Option<u32>,
    /// A map or a policy has placed the statement, or settled that it stays where it is.
    pub(super) placed: bool,
    pub(super) shard: Option<&'a Address>,
    /// The writer that a map chose, and the cluster that alone owns it.
    pub(super) owner: Option<(HostgroupId, &'a Arc<str>)>,
    /// The writer that `missing_key` or `unknown_key` names: what it takes stays there, reads too.
    pub(super) kept_on: Option<u32>,
    /// The `otherwise` of a map that placed the statement: that map was only for statements without the first one's key.
    pub(super) settled: Option<&'a str>,
    pub(super) backend_schema: Option<Arc<str>>,
    pub(super) effects: Effects,
    /// Tables that maps took for base tables.
    pub(super) assumed: Vec<AssumedTable>,
    pub(super) error_msg: Option<(String, Address)>,
    pub(super) ok_msg: Option<String>,
    /// A rule ended the evaluation.
    pub(super) applied: bool,
    /// `apply` of the rule that was looked at last, whether it matched or not.
    pub(super) last_rule_applies: bool,
    pub(super) evaluations: u32,
    pub(super) visits: u32,
    pub(super) hits: Hits,
    /// As in [`crate::Decision::unknown`].
    pub(super) unknown: Hits,
    /// As in [`crate::Decision::unsure`].
    pub(super) unsure: bool,
    pub(super) path: Vec<Step>,
    /// Rules that were run, and bytes of texts that they made.
    pub(super) steps: u64,
    /// As in [`crate::Decision::is_cut`].
    pub(super) is_cut: bool,
    /// Position of the rule that is being looked at.
    pub(super) position: usize,
    /// How much is to be told.
    pub(super) detail: Detail,
}

/// How the evaluation goes on after a rule.
pub(super) enum Next {
    Continue,
    Jumped,
    Stop,
    Decided(Box<Outcome>),
}

impl<'a> Evaluation<'a> {
    /// Before the first rule. `schema` is the session's, or what the engine has in its place.
    pub(super) fn new(
        index: &impl Index,
        session: &'a SessionView<'a>,
        schema: Option<&'a str>,
        user: Option<&'a User>,
        statement: &'a Statement<'a>,
        detail: Detail,
    ) -> Self {
        let engine = &index.configuration().engine.profile().prepared;
        Self {
            session,
            schema,
            user,
            statement,
            digests: index.digests(),
            withheld: engine.withheld(statement.command()),
            flag: session.next_query_flag_in.unwrap_or(0),
            text: Cow::Borrowed(statement.text()),
            rewrites: 0,
            hostgroup: None,
            placed: false,
            shard: None,
            owner: None,
            kept_on: None,
            settled: None,
            backend_schema: None,
            effects: Effects::default(),
            assumed: Vec::new(),
            error_msg: None,
            ok_msg: None,
            applied: false,
            last_rule_applies: false,
            evaluations: 0,
            visits: 0,
            hits: Hits::new(),
            unknown: Hits::new(),
            unsure: false,
            path: match detail {
                Detail::Path => Vec::with_capacity(USUAL_STEPS),
                Detail::Dispatch | Detail::Names => Vec::new(),
            },
            steps: 0,
            is_cut: false,
            position: 0,
            detail,
        }
    }

    /// Records that the rule being looked at matched when so many of its patterns were run, and does what it does. `step`:
    /// how the path tells it.
    pub(super) fn acted(&mut self, action: KnownAction, patterns: u32, step: Option<&Step>) -> Next {
        self.evaluations += patterns;
        self.path.extend(step.cloned());
        self.hits.push(self.position as u32);
        match action {
            KnownAction::Jump(flag) => {
                self.flag = flag;
                Next::Jumped
            }
            KnownAction::Place(hostgroup) => {
                self.hostgroup = Some(hostgroup);
                Next::Stop
            }
        }
    }

    /// The text that patterns are run on.
    pub(super) fn subject(&self) -> Subject<'_> {
        Subject {
            text: &self.text,
            rewrites: self.rewrites,
        }
    }

    /// Records that the rule being looked at matched; `why` is only asked for when somebody wants to know.
    pub(super) fn matched(
        &mut self,
        rule: &Rule,
        address: &Address,
        flag_out: Option<u32>,
        why: impl FnOnce(&Self) -> String,
    ) {
        self.hits.push(self.position as u32);
        self.note(rule.id, address, flag_out, why);
    }

    /// Adds a line to the path.
    pub(super) fn note(
        &mut self,
        rule_id: u32,
        address: &Address,
        flag_out: Option<u32>,
        why: impl FnOnce(&Self) -> String,
    ) {
        if self.detail == Detail::Path {
            let why = why(self).into();
            self.path.push(Step {
                rule_id,
                address: address.clone(),
                why,
                flag_out,
            });
        }
    }
}
