//! Users who only read (`role: reader`): what is not provably a read is refused in front of their sections.
//!
//! Invariant: no statement that may change rows or the server gets behind this chain. It recognises what passes from the
//! first byte to the last; everything else is refused. Where the statements go is decided behind it, by a program in which
//! readers stand in the place of every writer ([`Program::of_readers`](crate::program::Program::of_readers)).

use shardwright_rules::refusal::{READS_ONLY, Refusal};
use shardwright_rules::{Address, EngineRule};

use super::chains::Target;
use super::refusals::Refused;
use super::{Lowering, forms};

impl Lowering<'_, '_> {
    /// In front of the sections of users who only read: reads, session setup and transactions go on to `target`.
    pub(crate) fn reads_only(&mut self, target: Target) -> Target {
        let wording = self.chains.wording();
        let address = Address::new("users");
        let refused = Refused::by_guard(Refusal::ReadsOnly, READS_ONLY);
        let chain = self.chains.draft.chain("users.readers");
        let set = self.chains.draft.chain("users.readers.set");
        let setup = self.chains.draft.chain("users.readers.setup");
        let refuse = |lowering: &mut Self, chain, name: &str, rule: EngineRule| {
            lowering.chains.refuse(chain, name, &address, rule, &refused);
        };
        refuse(self, chain, "quoted_call", forms::quoted_call(wording));
        let read = forms::read(wording, true, true);
        self.chains.go(chain, "read", &address, read, target);
        refuse(self, chain, "xa", forms::xa(wording));
        for (name, rule) in [
            ("control", forms::control(wording)),
            ("transaction", forms::transaction(wording)),
        ] {
            self.chains.go(chain, name, &address, rule, target);
        }
        self.chains
            .go(chain, "set", &address, forms::set(wording), Target::Jump(set));
        let rest = EngineRule::default();
        self.chains
            .go(chain, "rest", &address, rest.clone(), Target::Jump(setup));
        refuse(self, set, "server", forms::sets_the_server());
        self.chains
            .go(set, "session", &address, rest.clone(), Target::Jump(setup));
        for (name, rule) in forms::setup(wording) {
            self.chains.go(setup, name, &address, rule, target);
        }
        refuse(self, setup, "rest", rest);
        Target::Jump(chain)
    }
}
