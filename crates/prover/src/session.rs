//! Sessions as values: the ones that satisfy the conditions of some rules and as few conditions of others as possible.

use std::collections::BTreeSet;

use shardwright_rules::{Configuration, EngineRule, SessionView};

/// The address that sessions come from where no rule asks.
pub const USUAL_CLIENT: &str = "10.0.0.7";
/// Address and port of the listener that sessions come in through where no rule asks.
pub const USUAL_LISTENER: (&str, u16) = ("0.0.0.0", 6033);

/// A session without state besides the flag that its statements start at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Name that the client logged in with.
    pub user: String,
    /// Its schema.
    pub schema: Option<String>,
    /// Address of the client.
    pub client_addr: String,
    /// Address and port of the listener.
    pub listener: (String, u16),
    /// 0, or a flag that an earlier statement's `next_query_flagIN` left.
    pub flag: u32,
}

impl Session {
    /// A session of a user, as it begins.
    pub fn of_user(configuration: &Configuration, user: &str) -> Self {
        Self {
            user: user.to_owned(),
            schema: configuration.default_schema(user).map(str::to_owned),
            client_addr: USUAL_CLIENT.to_owned(),
            listener: usual_listener(configuration),
            flag: 0,
        }
    }

    /// What the evaluator sees of it.
    #[must_use]
    pub fn view(&self) -> SessionView<'_> {
        SessionView {
            user: &self.user,
            schema: self.schema.as_deref(),
            client_addr: Some(&self.client_addr),
            listener: Some((&self.listener.0, self.listener.1)),
            next_query_flag_in: (self.flag != 0).then_some(self.flag),
            ..SessionView::default()
        }
    }

    /// Whether the session satisfies the row's conditions on sessions.
    pub(crate) fn satisfies(&self, row: &EngineRule) -> bool {
        given(&row.username).is_none_or(|user| user == self.user)
            && given(&row.schemaname).is_none_or(|schema| Some(schema) == self.schema.as_deref())
            && given(&row.client_addr).is_none_or(|wanted| address_matches(wanted, &self.client_addr))
            && given(&row.proxy_addr).is_none_or(|address| address == self.listener.0)
            && row.proxy_port.is_none_or(|port| port == self.listener.1)
    }

    /// The same session with the row's conditions satisfied.
    pub fn adapted_to(mut self, row: &EngineRule, session_values: &SessionValues) -> Self {
        if let Some(user) = given(&row.username) {
            self.user = user.to_owned();
        }
        if let Some(schema) = given(&row.schemaname) {
            self.schema = Some(schema.to_owned());
        }
        if let Some(wanted) = given(&row.client_addr)
            && !address_matches(wanted, &self.client_addr)
        {
            self.client_addr = session_values.address_under(wanted);
        }
        self.listener = session_values.listener_under(row, self.listener);
        self
    }

    /// The first of [`Session::meetings`].
    pub fn meeting<'r>(
        configuration: &Configuration,
        session_values: &SessionValues,
        must: impl Iterator<Item = &'r EngineRule> + Clone,
        avoided: impl Iterator<Item = &'r EngineRule> + Clone,
    ) -> Option<Self> {
        Self::meetings(configuration, session_values, must, avoided)
            .into_iter()
            .next()
    }

    /// Sessions that satisfy every row of `must` and, among those, as few conditions of `avoided` as one can: a
    /// condition on sessions only ever asks for a value, so one that nobody asks for satisfies the fewest. There is one
    /// for each listener that is named, without those that satisfy more conditions of `avoided` than another one. None
    /// if the rows contradict each other, or no listener that is named satisfies them.
    pub fn meetings<'r>(
        configuration: &Configuration,
        session_values: &SessionValues,
        must: impl Iterator<Item = &'r EngineRule> + Clone,
        avoided: impl Iterator<Item = &'r EngineRule> + Clone,
    ) -> Vec<Self> {
        let wanted_user = must.clone().find_map(|row| given(&row.username));
        let avoided_users: BTreeSet<&str> = avoided.clone().filter_map(|row| given(&row.username)).collect();
        let user = wanted_user.map(str::to_owned).unwrap_or_else(|| {
            let known = configuration.users.iter().map(|user| user.name.as_str());
            let free = known.into_iter().find(|user| !avoided_users.contains(user));
            free.map_or_else(|| session_values.other_user.clone(), str::to_owned)
        });
        let mut session = Session::of_user(configuration, &user);
        let avoided_schemas: BTreeSet<&str> =
            avoided.clone().filter_map(|row| given(&row.schemaname)).collect();
        if session
            .schema
            .as_deref()
            .is_some_and(|schema| avoided_schemas.contains(schema))
        {
            // Where the engine has a schema for sessions without one, none is not an empty place.
            let has_default = configuration.engine.profile().default_schema.is_some();
            session.schema = has_default.then(|| session_values.other_schema.clone());
        }
        session.client_addr = session_values.address_under("%");
        let mut addresses: Vec<&str> = must.clone().filter_map(|row| given(&row.client_addr)).collect();
        addresses.sort_by_key(|wanted| (wanted.contains('%'), usize::MAX - wanted.len()));
        if let Some(narrowest) = addresses.first() {
            session.client_addr = session_values.address_under(narrowest);
        }
        for row in must.clone() {
            let schema = given(&row.schemaname).map(str::to_owned);
            session.schema = schema.or(session.schema);
        }
        let listeners = session_values.listeners_under(must.clone(), avoided);
        let sessions = listeners.into_iter().map(|listener| Self {
            listener,
            ..session.clone()
        });
        sessions
            .filter(|session| must.clone().all(|row| session.satisfies(row)))
            .collect()
    }
}

/// The listener that sessions come in through where no rule asks: the first that is named.
pub(crate) fn usual_listener(configuration: &Configuration) -> (String, u16) {
    let named = configuration.listeners.first();
    named.map_or_else(
        || (USUAL_LISTENER.0.to_owned(), USUAL_LISTENER.1),
        |listener| (listener.bind.clone(), listener.port),
    )
}

/// The listeners that sessions can come in through on both of two sides; where one side names none, those of the other.
/// Empty: any.
pub(crate) fn common_listeners(configurations: [&Configuration; 2]) -> Vec<(String, u16)> {
    let of = |configuration: &Configuration| -> Vec<(String, u16)> {
        let listeners = configuration.listeners.iter();
        listeners
            .map(|listener| (listener.bind.clone(), listener.port))
            .collect()
    };
    let [left, right] = configurations.map(of);
    if left.is_empty() || right.is_empty() {
        return if left.is_empty() { right } else { left };
    }
    let common: Vec<_> = left
        .iter()
        .filter(|listener| right.contains(listener))
        .cloned()
        .collect();
    if common.is_empty() { left } else { common }
}

/// Whether a listener satisfies a row's conditions on listeners.
fn comes_through(row: &EngineRule, (address, port): &(String, u16)) -> bool {
    given(&row.proxy_addr).is_none_or(|wanted| wanted == address)
        && row.proxy_port.is_none_or(|wanted| wanted == *port)
}

fn asks_for_listener(row: &EngineRule) -> bool {
    given(&row.proxy_addr).is_some() || row.proxy_port.is_some()
}

/// A condition that is one: an empty text is none.
pub fn given(condition: &Option<String>) -> Option<&str> {
    condition.as_deref().filter(|text| !text.is_empty())
}

fn address_matches(wanted: &str, actual: &str) -> bool {
    match wanted.split_once('%') {
        Some((prefix, _)) => actual.starts_with(prefix),
        None => wanted == actual,
    }
}

/// Values that rules ask for, and others that none does.
#[derive(Debug)]
pub struct SessionValues {
    addresses: BTreeSet<String>,
    other_user: String,
    other_schema: String,
    other_listener: (String, u16),
    /// Rules ask for listeners.
    listeners: bool,
    /// The listeners that there are; empty: any.
    named: Vec<(String, u16)>,
}

impl SessionValues {
    /// The values that rows ask for. `named`: the listeners that there are; empty: any.
    pub(crate) fn of<'r>(rows: impl Iterator<Item = &'r EngineRule>, named: Vec<(String, u16)>) -> Self {
        let (mut users, mut schemas, mut addresses) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (mut proxies, mut ports) = (BTreeSet::new(), BTreeSet::new());
        for row in rows {
            users.extend(given(&row.username));
            schemas.extend(given(&row.schemaname));
            proxies.extend(given(&row.proxy_addr));
            ports.extend(row.proxy_port);
            addresses.extend(given(&row.client_addr).map(str::to_owned));
        }
        let listeners = !proxies.is_empty() || !ports.is_empty();
        let other = |base: &str, taken: &BTreeSet<&str>| {
            let numbered = (2..).map(|n| format!("{base}{n}"));
            let mut names = std::iter::once(base.to_owned()).chain(numbered);
            names
                .find(|name| !taken.contains(name.as_str()))
                .unwrap_or_default()
        };
        Self {
            other_user: other("another", &users),
            other_schema: other("another_schema", &schemas),
            other_listener: (
                other("0.0.0.0", &proxies),
                (6033..=u16::MAX).find(|port| !ports.contains(port)).unwrap_or(1),
            ),
            addresses,
            listeners,
            named,
        }
    }

    /// A listener that satisfies a row, if there is one; else the one that was given.
    fn listener_under(&self, row: &EngineRule, given_one: (String, u16)) -> (String, u16) {
        if !asks_for_listener(row) || comes_through(row, &given_one) {
            return given_one;
        }
        if !self.named.is_empty() {
            let found = self.named.iter().find(|listener| comes_through(row, listener));
            return found.cloned().unwrap_or(given_one);
        }
        let address = given(&row.proxy_addr).map_or(given_one.0, str::to_owned);
        (address, row.proxy_port.unwrap_or(given_one.1))
    }

    /// The listeners that satisfy `must`, without those that satisfy more of `avoided` than another one.
    fn listeners_under<'r>(
        &self,
        must: impl Iterator<Item = &'r EngineRule> + Clone,
        avoided: impl Iterator<Item = &'r EngineRule>,
    ) -> Vec<(String, u16)> {
        if self.named.is_empty() {
            let one = must.fold(self.other_listener.clone(), |one, row| {
                self.listener_under(row, one)
            });
            return vec![one];
        }
        if !self.listeners {
            return vec![self.named[0].clone()];
        }
        let asking: Vec<&EngineRule> = avoided.filter(|row| asks_for_listener(row)).collect();
        let possible = self
            .named
            .iter()
            .filter(|listener| must.clone().all(|row| comes_through(row, listener)));
        let met: Vec<(&(String, u16), BTreeSet<usize>)> = possible
            .map(|listener| {
                let all = asking.iter().enumerate();
                let met = all.filter(|(_, row)| comes_through(row, listener));
                (listener, met.map(|(at, _)| at).collect())
            })
            .collect();
        let mut kept: Vec<(&(String, u16), &BTreeSet<usize>)> = Vec::new();
        for (at, (listener, own)) in met.iter().enumerate() {
            let is_worse = met
                .iter()
                .enumerate()
                .any(|(other, (_, less))| less.is_subset(own) && (less != own || other < at));
            if !is_worse {
                kept.push((listener, own));
            }
        }
        kept.into_iter().map(|(listener, _)| listener.clone()).collect()
    }

    /// Whether rules ask for client addresses, and for listeners.
    pub(crate) fn asks(&self) -> (bool, bool) {
        (!self.addresses.is_empty(), self.listeners)
    }

    /// An address that `wanted` matches and, beyond that, no longer prefix or exact address that a rule asks for.
    fn address_under(&self, wanted: &str) -> String {
        let Some((prefix, _)) = wanted.split_once('%') else {
            return wanted.to_owned();
        };
        let unasked = |address: &String| {
            !self.addresses.iter().any(|asked| match asked.split_once('%') {
                Some((longer, _)) => longer.len() > prefix.len() && address.starts_with(longer),
                None => asked == address,
            })
        };
        let octets = 1 + prefix.matches('.').count();
        let filled =
            (2..=250).map(|last| format!("{prefix}{}{last}", "0.".repeat(4_usize.saturating_sub(octets))));
        let filled = filled.filter(|_| prefix.ends_with('.') && octets <= 4);
        let usual = ["10.0.0.7", "192.0.2.7", "198.51.100.7", "203.0.113.7"].map(str::to_owned);
        let mut addresses = usual
            .into_iter()
            .filter(|address| address.starts_with(prefix))
            .chain(filled)
            .chain((1..=4096).map(|n| format!("{prefix}{n}")))
            .chain((1..=4096).map(|n| format!("{prefix}x{n}")));
        addresses
            .find(unasked)
            .unwrap_or_else(|| format!("{prefix}{}", "x".repeat(64)))
    }
}
