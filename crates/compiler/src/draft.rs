//! Chains under construction: rules that jump to chains by name, before ids and flags are given out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::ops::Range;

use shardwright_rules::{Address, Body, EngineRule, HostgroupId, Modifiers, NativeStep, Scope};

/// What the names of chains begin with that refuse.
pub(crate) const REFUSALS: &str = "refused.";

/// A chain of a [`Draft`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ChainRef(pub(crate) usize);

/// Rules before they have ids.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Begins the names of new chains.
    prefix: &'static str,
    chains: Vec<DraftChain>,
    names: HashMap<String, ChainRef>,
    /// By the root of a tree, its rules in the order of the list.
    trees: HashMap<ChainRef, Vec<(ChainRef, u32)>>,
    /// Chains of trees, without their roots.
    branches: HashSet<ChainRef>,
    /// Chains that few statements reach.
    rare: HashSet<ChainRef>,
    /// Chains whose rules stand in parts, each in front of the chain that it leads to.
    woven: HashSet<ChainRef>,
    /// Chains that rules of flag 0 lead to which are no part of the draft.
    entered: Vec<ChainRef>,
}

/// A chain: rules of one `flag_in`, in order.
#[derive(Debug)]
pub(crate) struct DraftChain {
    /// What the lock file calls it; unique in the draft.
    pub name: String,
    /// What the lock file called it when its keys had other bounds.
    pub formerly: Option<Box<str>>,
    /// Its rules.
    pub rules: Vec<DraftRule>,
}

/// A rule of a chain.
#[derive(Debug)]
pub(crate) struct DraftRule {
    /// What the lock file calls it; unique in the draft.
    pub name: String,
    /// What the lock file called it before.
    pub formerly: Option<Box<str>>,
    /// The object that it came from.
    pub address: Address,
    /// The shards that it decides, where the address is not that of one.
    pub shards: Vec<Address>,
    /// What it decides, in a few words.
    pub summary: Option<String>,
    /// The rule; `flag_out` of an engine rule is set when flags are given out.
    pub body: Body,
    /// The chain to go on in.
    pub jump: Option<ChainRef>,
    /// The reason of the hostgroup that it sends executions to, by index in the list of reasons; see `engine_rules::refusals`.
    pub refuses: Option<usize>,
    /// Chains of which one is drawn to go on in, with their shares; without effect beside `jump`.
    pub draws: Vec<(ChainRef, u32)>,
    /// It is one of the rules that end a chain of a tree.
    pub ends: bool,
}

/// Rules of a chain that stand together in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub chain: ChainRef,
    /// Which of the chain's rules.
    pub rules: Range<usize>,
}

/// A rule of a tree, in the order of the list.
pub(crate) struct TreeMember {
    /// Its chain.
    pub chain: ChainRef,
    /// How many rules of the chain stand in front of it.
    pub nth: u32,
    /// The rule.
    pub rule: DraftRule,
}

/// A row of fast routing before its flag is known.
#[derive(Debug)]
pub(crate) struct DraftRoute {
    /// Empty for every user.
    pub username: String,
    /// The session schema.
    pub schemaname: String,
    /// The chain that evaluation ends in.
    pub chain: ChainRef,
    /// Where the statement goes.
    pub hostgroup: HostgroupId,
    /// The shard.
    pub address: Address,
}

/// A rule that searches the statement with case.
pub(crate) fn text_rule(pattern: String) -> EngineRule {
    EngineRule {
        match_pattern: Some(pattern),
        re_modifiers: Modifiers {
            caseless: false,
            global: false,
        },
        ..EngineRule::default()
    }
}

/// A rule that searches the digest text without case.
pub(crate) fn digest_rule(pattern: impl Into<String>) -> EngineRule {
    EngineRule {
        match_digest: Some(pattern.into()),
        ..EngineRule::default()
    }
}

/// A rule for sessions in a schema.
pub(crate) fn schema_rule(schema: &str) -> EngineRule {
    EngineRule {
        schemaname: Some(schema.to_owned()),
        ..EngineRule::default()
    }
}

/// A rule for the statements of a user.
pub(crate) fn user_rule(user: &str) -> EngineRule {
    EngineRule {
        username: Some(user.to_owned()),
        ..EngineRule::default()
    }
}

impl DraftRule {
    /// A native step.
    pub(crate) fn native(name: String, address: &Address, scope: Scope, step: NativeStep) -> Self {
        let body = Body::Native {
            scope: Box::new(scope),
            step,
        };
        Self::new(name, address, body)
    }

    /// The same rule by another name, without what joins it to chains.
    pub(crate) fn copy(&self, name: String) -> Self {
        Self {
            summary: self.summary.clone(),
            ..Self::new(name, &self.address, self.body.clone())
        }
    }

    fn new(name: String, address: &Address, body: Body) -> Self {
        Self {
            name,
            formerly: None,
            address: address.clone(),
            shards: Vec::new(),
            summary: None,
            body,
            jump: None,
            refuses: None,
            draws: Vec::new(),
            ends: false,
        }
    }

    /// A row of the engine.
    pub(crate) fn engine(name: String, address: &Address, rule: EngineRule) -> Self {
        Self::new(name, address, Body::Engine(Box::new(rule)))
    }

    /// The same, with what it decides.
    pub(crate) fn about(self, summary: Option<impl Into<String>>) -> Self {
        Self {
            summary: summary.map(Into::into),
            ..self
        }
    }

    /// The same, going on in another chain.
    pub(crate) fn jumping(name: String, address: &Address, rule: EngineRule, to: ChainRef) -> Self {
        Self {
            jump: Some(to),
            ..Self::engine(name, address, rule)
        }
    }
}

impl Draft {
    /// The chain of flag 0, where every statement starts.
    pub(crate) const START: ChainRef = ChainRef(0);

    /// A draft with an empty first chain.
    pub(crate) fn new() -> Self {
        let start = DraftChain {
            name: "start".to_owned(),
            formerly: None,
            rules: Vec::new(),
        };
        Self {
            prefix: "",
            chains: vec![start],
            names: HashMap::from([("start".to_owned(), Self::START)]),
            trees: HashMap::new(),
            branches: HashSet::new(),
            rare: HashSet::new(),
            woven: HashSet::new(),
            entered: Vec::new(),
        }
    }

    /// What the names of new chains begin with from now on; gives what they began with. Refusals are the same for everybody.
    pub(crate) fn prefixed(&mut self, prefix: &'static str) -> &'static str {
        std::mem::replace(&mut self.prefix, prefix)
    }

    /// A new chain. A name that is taken gets a number.
    pub(crate) fn chain(&mut self, name: &str) -> ChainRef {
        let chain = ChainRef(self.chains.len());
        let has_prefix = name.starts_with(self.prefix) || name.starts_with(REFUSALS);
        let name = match has_prefix {
            true => name.to_owned(),
            false => format!("{}{name}", self.prefix),
        };
        let mut unique = name.clone();
        let mut number = 2;
        while self.names.contains_key(&unique) {
            unique = format!("{name}~{number}");
            number += 1;
        }
        self.names.insert(unique.clone(), chain);
        self.chains.push(DraftChain {
            name: unique,
            formerly: None,
            rules: Vec::new(),
        });
        chain
    }

    /// A new chain that the lock file may know by another name.
    pub(crate) fn renamed_chain(&mut self, name: &str, formerly: Option<Box<str>>) -> ChainRef {
        let chain = self.chain(name);
        self.chains[chain.0].formerly = formerly;
        chain
    }

    /// Marks the rules of a chain from `from` on as those that end it.
    pub(crate) fn ends(&mut self, chain: ChainRef, from: usize) {
        for rule in &mut self.chains[chain.0].rules[from..] {
            rule.ends = true;
        }
    }

    /// Makes chains one tree: their rules stand in the list as `order` says, wherever their chains are.
    pub(crate) fn tree(&mut self, root: ChainRef, order: Vec<(ChainRef, u32)>) {
        self.branches.extend(
            order
                .iter()
                .map(|&(chain, _)| chain)
                .filter(|&chain| chain != root),
        );
        self.trees.insert(root, order);
    }

    /// The rules of the tree whose root this is, in order and taken out; `None` for a chain of its own.
    pub(crate) fn take_tree(&mut self, root: ChainRef) -> Option<Vec<TreeMember>> {
        let order = self.trees.remove(&root)?;
        let mut rules: HashMap<ChainRef, Vec<Option<DraftRule>>> = HashMap::new();
        let taken = order.into_iter().filter_map(|(chain, at)| {
            let rules = rules
                .entry(chain)
                .or_insert_with(|| self.take(chain).into_iter().map(Some).collect());
            Some(TreeMember {
                chain,
                nth: at,
                rule: rules.get_mut(at as usize)?.take()?,
            })
        });
        Some(taken.collect())
    }

    /// Whether the chain's rules stand with the tree that it is part of.
    pub(crate) fn is_branch(&self, chain: ChainRef) -> bool {
        self.branches.contains(&chain)
    }

    /// Puts a chain that few statements reach behind the others, where that can be: whoever goes on behind it walks past its rules.
    /// One that is woven stands where its rules lead to.
    pub(crate) fn rarely(&mut self, chain: ChainRef) {
        self.rare.insert(chain);
    }

    /// Lets other chains stand among the rules of this one: whoever has met a rule goes on right behind those that lead to the
    /// same chain, and does not walk past the rest. Several chains that lead to the same ones in the same order share them.
    pub(crate) fn weave(&mut self, chain: ChainRef) {
        self.woven.insert(chain);
    }

    /// Says that a rule leads to this chain which stands in front of those of the first chain and is no part of the draft.
    pub(crate) fn enter(&mut self, chain: ChainRef) {
        self.entered.push(chain);
    }

    /// Adds a rule to the end of a chain.
    pub(crate) fn push(&mut self, chain: ChainRef, rule: DraftRule) {
        self.chains[chain.0].rules.push(rule);
    }

    /// A chain.
    pub(crate) fn get(&self, chain: ChainRef) -> &DraftChain {
        &self.chains[chain.0]
    }

    /// The rules of the chains that can be reached from `first`, every rule before the chain that it jumps to, rare chains as late as
    /// can be.
    ///
    /// # Panics
    /// If jumps form a circle. Drafts have none, because chains are made after those they jump to or before their own items.
    pub(crate) fn in_order(&self, first: ChainRef) -> Vec<Stretch> {
        let order = self.depth_first(first);
        let place: HashMap<ChainRef, usize> =
            order.iter().enumerate().map(|(at, &chain)| (chain, at)).collect();
        let mut waits_for = vec![0_usize; order.len()];
        for target in order.iter().flat_map(|&chain| self.targets(chain)) {
            waits_for[place[&target]] += 1;
        }
        // What comes first of that which may: its place, then what leads there before what stands there.
        let is_rare = |chain: &ChainRef| self.rare.contains(chain) && !self.woven.contains(chain);
        let begins = |at: usize| Reverse(((is_rare(&order[at]), at, true), at, 0));
        let mut ready = BinaryHeap::from([begins(0)]);
        let mut stretches = Vec::with_capacity(order.len());
        let mut done = 0;
        while let Some(Reverse(((is_rare, wanted, _), at, from))) = ready.pop() {
            let stretch = self.stretch(order[at], from);
            let rules = &self.get(stretch.chain).rules;
            for target in self.leads_to(stretch.chain, stretch.rules.clone()) {
                let target = place[&target];
                waits_for[target] -= 1;
                if waits_for[target] == 0 {
                    ready.push(begins(target));
                }
            }
            match rules.get(stretch.rules.end) {
                Some(next) => {
                    let wanted = next.jump.map_or(wanted, |target| place[&target]);
                    ready.push(Reverse(((is_rare, wanted, false), at, stretch.rules.end)));
                }
                None => done += 1,
            }
            stretches.push(stretch);
        }
        assert_eq!(done, order.len(), "jumps form no circle");
        stretches
    }

    /// The rules of a chain that stand together with the one at `from`.
    fn stretch(&self, chain: ChainRef, from: usize) -> Stretch {
        let rules = &self.get(chain).rules[from..];
        let together = match self.woven.contains(&chain) {
            true => rules.iter().take_while(|rule| rule.jump == rules[0].jump).count(),
            false => rules.len(),
        };
        Stretch {
            chain,
            rules: from..from + together,
        }
    }

    /// The same, each chain directly before one that it jumps to.
    fn depth_first(&self, first: ChainRef) -> Vec<ChainRef> {
        let mut done = vec![false; self.chains.len()];
        let mut order = Vec::with_capacity(self.chains.len());
        let mut stack = vec![(first, self.targets(first))];
        done[first.0] = true;
        while let Some((chain, targets)) = stack.last_mut() {
            match targets.pop() {
                Some(target) if done[target.0] => {}
                Some(target) => {
                    done[target.0] = true;
                    stack.push((target, self.targets(target)));
                }
                None => {
                    order.push(*chain);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// Jump targets of a chain in the order of its rules; the depth-first walk takes the last one first.
    fn targets(&self, chain: ChainRef) -> Vec<ChainRef> {
        self.leads_to(chain, 0..self.get(chain).rules.len())
    }

    /// Jump targets of some rules of a chain.
    fn leads_to(&self, chain: ChainRef, rules: Range<usize>) -> Vec<ChainRef> {
        let in_front = match chain == Self::START && rules.start == 0 {
            true => &self.entered[..],
            false => &[],
        };
        let rules = self.get(chain).rules[rules].iter();
        in_front.iter().copied().chain(rules.flat_map(targets)).collect()
    }

    /// The rules of a chain, taken out.
    pub(crate) fn take(&mut self, chain: ChainRef) -> Vec<DraftRule> {
        self.take_first(chain, usize::MAX)
    }

    /// The first rules of the first chain, taken out; what they lead to stays part of the draft.
    pub(crate) fn take_front(&mut self, count: usize) -> Vec<DraftRule> {
        let rules = self.take_first(Self::START, count);
        self.entered.extend(rules.iter().flat_map(targets));
        rules
    }

    /// The first of a chain's rules, taken out.
    pub(crate) fn take_first(&mut self, chain: ChainRef, count: usize) -> Vec<DraftRule> {
        let rules = &mut self.chains[chain.0].rules;
        rules.drain(..count.min(rules.len())).collect()
    }
}

/// The chains that a rule goes on in.
fn targets(rule: &DraftRule) -> impl Iterator<Item = ChainRef> {
    let drawn = rule.draws.iter().map(|(chain, _)| *chain);
    drawn.chain(rule.jump)
}
