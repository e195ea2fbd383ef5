//! What becomes of statements without a key.

use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{EngineRule, MapStep, MissingAction, MissingBegin};

use super::refusals::Refused;
use super::{Lowering, Target, digest_rule, text_rule};
use crate::draft::ChainRef;
use crate::native::Section;

/// Statements that follow the open transaction.
const CONTROL: &str = r"^(?:COMMIT|ROLLBACK|SAVEPOINT|RELEASE SAVEPOINT|XA)\b[^;]*$";
const BEGIN: &str = r"^(?:BEGIN|START TRANSACTION)\b";
/// The same where only MariaDB reads it as code: ProxySQL takes `/*M!` for a comment, which no digest shows.
const HIDDEN_BEGIN: &str =
    r"/\*M!(?s:.*)(?:[Bb][Ee][Gg][Ii][Nn]|[Tt][Rr][Aa][Nn][Ss][Aa][Cc][Tt][Ii][Oo][Nn])";
/// What looks like session setup and is not: several statements, SET STATEMENT, SELECT with a table.
const NOT_SETUP: &str = r";|^SET STATEMENT\b|^SELECT\b.*\b(?:FROM|INTO|TABLE|NEXT|PREVIOUS)\b";
/// SET, USE, SHOW; SELECT of literals, variables and at most 8 calls of functions that drivers use on connect.
const SETUP: &str = concat!(
    r"^(?:SET|USE|SHOW)\b|^SELECT [^(]*(?:\b(?:DATABASE|SCHEMA|USER|CURRENT_USER|SESSION_USER|SYSTEM_USER|CONNECTION_ID",
    r"|VERSION|NOW|SYSDATE|CURRENT_TIMESTAMP|UNIX_TIMESTAMP|UUID|LAST_INSERT_ID|ROW_COUNT|FOUND_ROWS|CONCAT|IFNULL",
    r"|COALESCE|TIMEDIFF|TIMESTAMPDIFF|UTC_TIMESTAMP|SLEEP) ?\([^()]*\)[^(]*){0,8}$"
);

/// A query in parentheses that has a table or may have one.
const WRAPPED: &str = r"^\(+ ?SELECT\b.*\b(?:FROM|INTO|TABLE|NEXT|PREVIOUS)\b";
/// A query without a table that calls what may be a stored function: whether it is session setup, rules cannot tell.
const CALLS: &str = r"^\(* ?SELECT\b";

/// What happens to one class of statements.
#[derive(Clone, Debug, PartialEq)]
enum Action {
    Go(Target),
    Cluster(u32, Target),
    Refuse(Refused),
}

impl Lowering<'_, '_> {
    /// The rules behind the last one that finds a key; `next` is the next section.
    pub(super) fn missing(&mut self, chain: ChainRef, section: &Section<Box<MapStep>>, next: Target) {
        let step = &*section.step;
        if step.otherwise.is_some() {
            return self.go(chain, "otherwise", &section.address, EngineRule::default(), next);
        }
        let statements = self.action(section, &step.missing.statements, next);
        self.missing_classes(chain, section, next, statements);
    }

    /// The same where a statement that is no session setup may have a key that is not seen: it is refused.
    pub(super) fn missing_or(
        &mut self,
        chain: ChainRef,
        section: &Section<Box<MapStep>>,
        next: Target,
        refused: Refused,
    ) {
        self.missing_classes(chain, section, next, Action::Refuse(refused));
    }

    fn missing_classes(
        &mut self,
        chain: ChainRef,
        section: &Section<Box<MapStep>>,
        next: Target,
        statements: Action,
    ) {
        let step = &*section.step;
        let setup = self.action(section, &step.missing.session_setup, next);
        let begin = match step.missing.begin {
            MissingBegin::Allow => Action::Go(next),
            MissingBegin::Reject | MissingBegin::FirstStatement => {
                Action::Refuse(Refused::plainly(section, Refusal::BeginWithoutKey))
            }
        };
        let control = Action::Go(self.end);
        let mut named = vec![("control", digest_rule(CONTROL), control)];
        if matches!(begin, Action::Refuse(_)) {
            named.push(("hidden_begin", text_rule(HIDDEN_BEGIN.to_owned()), begin.clone()));
        }
        named.extend([
            ("begin", digest_rule(BEGIN), begin),
            ("not_setup", digest_rule(NOT_SETUP), statements.clone()),
            ("setup", digest_rule(SETUP), setup),
        ]);
        if !matches!(statements, Action::Refuse(_))
            && named
                .iter()
                .any(|(name, .., action)| *name == "setup" && *action != statements)
        {
            let what = format!(
                "shard map {}: a SELECT that has no table and calls functions may be session setup or not; put the {} first, {}",
                step.map,
                step.key,
                refusal::accepted_forms(&step.key, &step.finders)
            );
            let message = Refusal::MissingKey.message(&what);
            let refused = Action::Refuse(Refused::by(section, Refusal::MissingKey, message));
            named.extend([
                ("wrapped", digest_rule(WRAPPED), statements.clone()),
                ("calls", digest_rule(CALLS), refused),
            ]);
        }
        if named.iter().any(|(.., action)| *action != statements) {
            for (name, rule, action) in named {
                self.act(chain, name, section, rule, action);
            }
        }
        self.act(chain, "missing", section, EngineRule::default(), statements);
    }

    fn action(&mut self, section: &Section<Box<MapStep>>, action: &MissingAction, next: Target) -> Action {
        match action {
            MissingAction::Reject => Action::Refuse(Refused::plainly(section, Refusal::MissingKey)),
            MissingAction::Allow => Action::Go(next),
            MissingAction::Cluster(name) => {
                let target = self.with_effects(name, self.placed);
                Action::Cluster(self.hostgroups(name).0.0, target)
            }
        }
    }

    fn act(
        &mut self,
        chain: ChainRef,
        name: &str,
        section: &Section<Box<MapStep>>,
        rule: EngineRule,
        action: Action,
    ) {
        let address = &section.address;
        match action {
            Action::Go(target) => self.go(chain, name, address, rule, target),
            Action::Refuse(refused) => self.refuse(chain, name, address, rule, &refused),
            Action::Cluster(hostgroup, target) => {
                let rule = EngineRule {
                    destination_hostgroup: Some(hostgroup),
                    ..rule
                };
                self.go(chain, name, address, rule, target);
            }
        }
    }
}
