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
            listener: (USUAL_LISTENER.0.to_owned(), USUAL_LISTENER.1),
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
        if let Some(address) = given(&row.proxy_addr) {
            self.listener.0 = address.to_owned();
        }
        if let Some(port) = row.proxy_port {
            self.listener.1 = port;
        }
        self
    }

    /// A session that satisfies every row of `must` and, among those, as few conditions of `avoided` as one can: a
    /// condition on sessions only ever asks for a value, so one that nobody asks for satisfies the fewest. `None` if
    /// the rows contradict each other.
    pub fn meeting<'r>(
        configuration: &Configuration,
        session_values: &SessionValues,
        must: impl Iterator<Item = &'r EngineRule> + Clone,
        avoided: impl Iterator<Item = &'r EngineRule> + Clone,
    ) -> Option<Self> {
        let wanted_user = must.clone().find_map(|row| given(&row.username));
        let avoided_users: BTreeSet<&str> = avoided.clone().filter_map(|row| given(&row.username)).collect();
        let user = wanted_user.map(str::to_owned).unwrap_or_else(|| {
            let known = configuration.users.iter().map(|user| user.name.as_str());
            let free = known.into_iter().find(|user| !avoided_users.contains(user));
            free.map_or_else(|| session_values.other_user.clone(), str::to_owned)
        });
        let mut session = Session::of_user(configuration, &user);
        let avoided_schemas: BTreeSet<&str> = avoided.filter_map(|row| given(&row.schemaname)).collect();
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
        session.listener = session_values.other_listener.clone();
        let mut addresses: Vec<&str> = must.clone().filter_map(|row| given(&row.client_addr)).collect();
        addresses.sort_by_key(|wanted| (wanted.contains('%'), usize::MAX - wanted.len()));
        if let Some(narrowest) = addresses.first() {
            session.client_addr = session_values.address_under(narrowest);
        }
        for row in must.clone() {
            let schema = given(&row.schemaname).map(str::to_owned);
            session.schema = schema.or(session.schema);
            if let Some(address) = given(&row.proxy_addr) {
                session.listener.0 = address.to_owned();
            }
            session.listener.1 = row.proxy_port.unwrap_or(session.listener.1);
        }
        let mut must = must;
        must.all(|row| session.satisfies(row)).then_some(session)
    }
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
}

impl SessionValues {
    /// The values that rows ask for.
    pub(crate) fn of<'r>(rows: impl Iterator<Item = &'r EngineRule>) -> Self {
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
        }
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
