//! Read/write policies: only what is provably a read leaves the writer.

use shardwright_diagnostics::Severity;
use shardwright_rules::{Address, EngineRule, Finder, MapStep, ReadSelection, RoleStep, Scope};

use super::conditions::{self, Conditions};
use super::{Lowering, Target};
use crate::draft::ChainRef;
use crate::keys::site::any_case;
use crate::native::Section;
use crate::report::{DIFFERENCE, Who};

impl Lowering<'_, '_> {
    /// Policies that the engine can follow: what else they ask for is reported.
    pub(super) fn check_roles(&mut self) -> Vec<usize> {
        let program = self.program;
        let mut usable = Vec::new();
        for (at, section) in program.roles.iter().enumerate() {
            if section.step.after_write_ms > 0 {
                let lost = "a session that has just written may read an older state from a reader";
                let what = "keep a session's reads on the writer after a write";
                let at = (section.origin, "after_write");
                self.report
                    .on_unsupported(section.on_unsupported, at, what, lost, Who::Bundled);
            }
            if let Err(what) = self.read_conditions(section) {
                let lost = "its statements stay on the writer";
                let at = (section.origin, what.0);
                self.report
                    .on_unsupported(section.on_unsupported, at, what.1, lost, Who::Bundled);
                continue;
            }
            let what = "a SELECT that calls a stored function counts as a read: a pattern cannot tell that it writes";
            self.report.difference(section.origin, "reads", what);
            self.autocommit_off(section);
            usable.push(at);
        }
        usable
    }

    /// Rules do not see `autocommit=0`. ProxySQL opens no transaction for a SELECT that it knows as one; of a prepared
    /// statement it asks the text, comments included.
    fn autocommit_off(&mut self, section: &Section<RoleStep>) {
        let what = "a SELECT under autocommit=0 goes to a reader and is no part of the transaction, which opens with the \
                    next other statement; BEGIN keeps both on the writer";
        self.report.difference(section.origin, "reads", what);
        let in_comments = |finder: &Finder| matches!(finder, Finder::Comment { .. });
        let has_comments = section.step.writer_hint.is_some()
            || self
                .program
                .maps
                .iter()
                .any(|map| map.step.finders.iter().any(in_comments));
        if has_comments {
            let message = format!(
                "on {}, a prepared SELECT behind a comment opens its transaction on the reader under autocommit=0, and \
                 writes follow it there: leave autocommit on and send BEGIN, or put the comment behind SELECT",
                self.report.engine
            );
            self.report
                .add(Severity::Warning, DIFFERENCE, section.origin, "reads", message);
        }
    }

    /// Whether rules can express a policy's scopes; else the field and what they cannot.
    fn read_conditions(&self, section: &Section<RoleStep>) -> Result<(), (&'static str, &'static str)> {
        let users = &self.program.users;
        Conditions::of(&section.scope, users).map_err(|what| ("applies_to", what))?;
        let (field, reads) = match &section.step.reads {
            ReadSelection::All => return Ok(()),
            ReadSelection::Only(scopes) => ("reads.only", scopes),
            ReadSelection::Except(scopes) => ("reads.except", scopes),
        };
        for scope in reads {
            if !scope.clusters.is_any() {
                return Err((field, "select reads by the cluster that they are placed on"));
            }
            Conditions::of(scope, users).map_err(|what| (field, what))?;
        }
        Ok(())
    }

    /// Of the policies of a user, those that send statements of a map's shards to readers. Several that differ cannot be
    /// told apart before the shard is known.
    pub(super) fn policies_of(&mut self, map: &Section<Box<MapStep>>, policies: &[usize]) -> Vec<usize> {
        let program = self.program;
        let relevant: Vec<usize> = policies
            .iter()
            .copied()
            .filter(|&policy| {
                let names = &program.roles[policy].scope.clusters;
                let clusters = map
                    .step
                    .shards
                    .iter()
                    .filter_map(|shard| shard.cluster.as_deref());
                clusters
                    .into_iter()
                    .any(|name| names.contains(name) && self.hostgroups(name).1.is_some())
            })
            .collect();
        let Some((&first, others)) = relevant.split_first() else {
            return relevant;
        };
        if let Some(&other) = others
            .iter()
            .find(|&&other| !alike(&program.roles[other], &program.roles[first]))
        {
            let section = &program.roles[other];
            let what = format!(
                "follow both {} and {} for shard map {}",
                program.roles[first].address, section.address, map.step.map
            );
            self.report.unsupported(section.origin, "applies_to", &what);
            return vec![first];
        }
        relevant
    }

    /// A chain that tells reads from the rest.
    pub(super) fn role_chain(
        &mut self,
        name: &str,
        policy: usize,
        reader: Target,
        writer: Target,
    ) -> ChainRef {
        let program = self.program;
        let section = &program.roles[policy];
        let (step, address) = (&section.step, &section.address);
        let chain = self.draft.chain(name);
        let mut first = chain;
        let scope = conditions::rest(&section.scope);
        if conditions::is_conditional(&section.scope)
            && let Ok(conditions) = Conditions::of(&scope, &program.users)
        {
            first = self.draft.chain(&format!("{name}.scope"));
            let rest = self.branch(first, "", address, &conditions, Target::Jump(chain));
            self.go(rest, "rest", address, EngineRule::default(), writer);
        }
        self.go(chain, "quoted_call", address, self.quoted_call(), writer);
        if let Some(hint) = &step.writer_hint {
            self.go(
                chain,
                "hint",
                address,
                super::text_rule(hinted(&hint.word)),
                writer,
            );
        }
        let read = self.read(true, step.session_functions_on_readers);
        self.selection(chain, (step, read), address, reader, writer);
        first
    }

    fn selection(
        &mut self,
        chain: ChainRef,
        (step, read): (&RoleStep, EngineRule),
        address: &Address,
        reader: Target,
        writer: Target,
    ) {
        let users = &self.program.users;
        let conditions = |scope: &Scope| Conditions::of(scope, users).expect("the policy has been checked");
        let mut last = chain;
        match &step.reads {
            ReadSelection::All => self.go(chain, "read", address, read, reader),
            ReadSelection::Except(scopes) => {
                for (at, scope) in scopes.iter().enumerate() {
                    last = self.branch(last, &format!("except{at}."), address, &conditions(scope), writer);
                }
                self.go(last, "read", address, read, reader);
            }
            ReadSelection::Only(scopes) => {
                let name = format!("{}.only", self.draft.get(chain).name);
                let only = self.draft.chain(&name);
                self.go(chain, "read", address, read, Target::Jump(only));
                let mut among = only;
                for (at, scope) in scopes.iter().enumerate() {
                    among = self.branch(among, &format!("only{at}."), address, &conditions(scope), reader);
                }
                self.go(among, "rest", address, EngineRule::default(), writer);
            }
        }
        self.go(last, "rest", address, EngineRule::default(), writer);
    }
}

/// Whether two policies say the same, apart from whose statements and clusters they are about.
fn alike(a: &Section<RoleStep>, b: &Section<RoleStep>) -> bool {
    a.step == b.step && conditions::rest(&a.scope) == conditions::rest(&b.scope)
}

/// A comment with the word in it. Takes too much rather than too little: the writer is always right.
fn hinted(word: &str) -> String {
    let word = any_case(word);
    let stars = r"(?:\*+[^*/][^*]*)";
    format!(r"/\*[^*]*(?:{stars}{{0,16}}{word}|{stars}{{16}}\*+[^*/](?s:.*){word})")
}
