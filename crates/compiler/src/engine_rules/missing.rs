//! What happens to statements without a key.

use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{EngineRule, MapStep, MissingAction, MissingBegin, MissingKey};

use super::chains::{Chains, Target};
use super::maps::{Exits, MapUse};
use super::refusals::Refused;
use super::{Lowering, forms};
use crate::draft::{ChainRef, digest_rule, user_rule};
use crate::program::Section;

/// BEGIN where only a server reads it: ProxySQL takes executable comments for comments, which no digest shows.
const HIDDEN_BEGIN: &str = r"/\*M?!(?s:.*)(?:BEGIN|START|TRANSACTION)";
/// BEGIN behind another statement.
const LATER_BEGIN: &str = r";(?s:.*)\b(?:BEGIN|START)\b";
/// In the digest text, what looks like session setup and is not: several statements, SET STATEMENT, SELECT with a table.
const NOT_SETUP: &str = r"\A(?:SELECT\b.*?\b(?:FROM|INTO|TABLE|NEXT|PREVIOUS)\b|SET STATEMENT\b|[^;]*;)";

/// A query in parentheses that has a table or may have one.
const WRAPPED: &str = r"\A\(+ ?SELECT\b.*?\b(?:FROM|INTO|TABLE|NEXT|PREVIOUS)\b";
/// A query without a table that calls what may be a stored function: whether it is session setup, rules cannot tell.
const CALLS: &str = r"\A\(* ?SELECT\b";

/// What happens to one class of statements.
#[derive(Clone, Debug, PartialEq)]
enum Action {
    Go(Target),
    Cluster(u32, Target),
    Refuse(Refused),
}

impl Lowering<'_, '_> {
    /// The rules behind the last one that finds a key.
    pub(super) fn missing(&mut self, chain: ChainRef, of: MapUse<'_>) {
        let MapUse { section, exits, .. } = of;
        let step = &*section.step;
        if step.otherwise.is_some() {
            return self.chains.go(
                chain,
                "otherwise",
                &section.address,
                EngineRule::default(),
                exits.unkeyed,
            );
        }
        self.missing_by_user(chain, of, None);
        let statements = self.action(section, &step.missing.statements, exits);
        self.missing_classes(chain, section, exits, &step.missing, statements);
    }

    /// The same where a statement that is no session setup may have a key that is not seen: it is refused.
    pub(super) fn missing_or(&mut self, chain: ChainRef, of: MapUse<'_>, refused: Refused) {
        let MapUse { section, exits, .. } = of;
        self.missing_by_user(chain, of, Some(&refused));
        let missing = &section.step.missing;
        self.missing_classes(chain, section, exits, missing, Action::Refuse(refused));
    }

    /// The users of the class for whom something else holds; `refused` takes the place of what happens to their statements.
    fn missing_by_user(&mut self, chain: ChainRef, of: MapUse<'_>, refused: Option<&Refused>) {
        let MapUse {
            section,
            exits,
            class,
            ..
        } = of;
        for (user, missing) in &section.step.missing_by_user {
            if !class.everyone && !class.users.contains(user) {
                continue;
            }
            let name = format!("{}.{user}", self.chains.draft.get(chain).name);
            let own = self.chains.draft.chain(&name);
            let rule = user_rule(user);
            self.chains
                .go(chain, user, &section.address, rule, Target::Jump(own));
            let statements = match refused {
                Some(refused) => Action::Refuse(refused.clone()),
                None => self.action(section, &missing.statements, exits),
            };
            self.missing_classes(own, section, exits, missing, statements);
        }
    }

    fn missing_classes(
        &mut self,
        chain: ChainRef,
        section: &Section<Box<MapStep>>,
        exits: Exits,
        missing: &MissingKey,
        statements: Action,
    ) {
        let step = &*section.step;
        let setup = self.action(section, &missing.session_setup, exits);
        let begin = match missing.begin {
            MissingBegin::Allow => Action::Go(exits.unkeyed),
            MissingBegin::Reject | MissingBegin::FirstStatement => {
                Action::Refuse(Refused::plainly(section, Refusal::BeginWithoutKey))
            }
        };
        let control = Action::Go(exits.end);
        let wording = self.chains.wording();
        let passes = !matches!(statements, Action::Refuse(_));
        let mut named = vec![("control", forms::control(wording), control)];
        if passes && matches!(begin, Action::Refuse(_)) {
            for (name, pattern) in [("hidden_begin", HIDDEN_BEGIN), ("later_begin", LATER_BEGIN)] {
                let rule = EngineRule {
                    match_pattern: Some(pattern.to_owned()),
                    ..EngineRule::default()
                };
                named.push((name, rule, begin.clone()));
            }
        }
        named.push(("begin", forms::begin(wording), begin));
        if passes {
            named.push(("not_setup", digest_rule(NOT_SETUP), statements.clone()));
        }
        named.extend(
            forms::setup(wording)
                .into_iter()
                .map(|(name, rule)| (name, rule, setup.clone())),
        );
        if passes && setup != statements {
            let what = format!(
                "shard map {}: the statement may be session setup or not (it calls functions, names a schema, or hides a part); put the {} first, {}",
                step.map,
                step.key,
                refusal::accepted_forms(&step.key, &step.finders)
            );
            let message = Refusal::MissingKey.message(&what);
            let refused = Action::Refuse(Refused::by(section, Refusal::MissingKey, message));
            named.extend([
                ("wrapped", digest_rule(WRAPPED), statements.clone()),
                ("calls", digest_rule(CALLS), refused.clone()),
                ("unknown_setup", forms::like_setup(wording), refused),
            ]);
        }
        if named.iter().any(|(.., action)| *action != statements) {
            for (name, rule, action) in named {
                act(&mut self.chains, chain, name, section, rule, action);
            }
        }
        act(
            &mut self.chains,
            chain,
            "missing",
            section,
            EngineRule::default(),
            statements,
        );
    }

    fn action(&mut self, section: &Section<Box<MapStep>>, action: &MissingAction, exits: Exits) -> Action {
        match action {
            MissingAction::Reject => Action::Refuse(Refused::plainly(section, Refusal::MissingKey)),
            MissingAction::Allow => Action::Go(exits.unkeyed),
            MissingAction::Cluster(name) => {
                let target = self.with_effects(name, exits.elsewhere);
                Action::Cluster(self.input.program.resolved_cluster(name).writer.0, target)
            }
        }
    }
}

fn act(
    chains: &mut Chains,
    chain: ChainRef,
    name: &str,
    section: &Section<Box<MapStep>>,
    rule: EngineRule,
    action: Action,
) {
    let address = &section.address;
    match action {
        Action::Go(target) => chains.go(chain, name, address, rule, target),
        Action::Refuse(refused) => chains.refuse(chain, name, address, rule, &refused),
        Action::Cluster(hostgroup, target) => {
            let rule = EngineRule {
                destination_hostgroup: Some(hostgroup),
                ..rule
            };
            chains.go(chain, name, address, rule, target);
        }
    }
}
