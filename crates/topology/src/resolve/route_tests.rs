//! Route tests: generators run, sessions are completed, references looked up.

mod commands;
pub(crate) mod expectation;
mod properties;
mod servers;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use shardwright_diagnostics::{Diagnostic, Span, did_you_mean};
use shardwright_documents::Node;
use shardwright_vocabulary::is_client_address;

use super::object::{Object, ObjectOrigin};
use super::values::words_of;
use super::{instances, names, section_origin};
use crate::codes::{BAD_NAME, BAD_VALUE, DEFINED_TWICE, MISSING_KEY, NOT_TOGETHER, UNKNOWN_ENVIRONMENT};
use crate::fields::{AnyField, Declared, EXPECTS, Map, object};
use crate::model::{
    Environment as ListedEnvironment, OriginId, Property, RouteTest, TestCommand, TestSession, TestStep,
    Topology,
};
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::view::{Field, View};

use self::commands::{Prepared, query};
use self::test::{EXPECT, QUERY, SCRIPT};

/// Longest name of a test, in bytes.
const MAX_NAME_BYTES: usize = 256;

object! {
    pub(crate) mod file = "Route tests of a shardwright project: where statements must go, checked without a server.";
    VERSION: Custom = version();
    SESSION: Definition = test::SESSION;
    ROUTE_TESTS: Map = map("route_tests", "Tests by name; a name is a sentence.", Shaped::Object(&test::FIELDS))
        .page("One name is used once in a project.")
        .keys(refers::NOTHING);
    PROPERTIES: Map = map(
        "properties",
        "What must hold for all statements of a domain, by name; a name is a sentence.",
        Shaped::Object(&properties::property::FIELDS),
    )
        .page("See [below](#properties).")
        .keys(refers::NOTHING);
}

object! {
    pub(crate) mod test = "One statement with its expected result, or a script of one session.";
    FOR_EACH: Definition = for_each();
    SESSION: Definition = defined("session", "", "session")
        .page("The session that sends it.")
        .absent("the file's");
    ENGINES: Texts = texts(
        "engines",
        "Engines that the test is for; every listed one if not given.",
        "a list of engines",
    )
        .absent("every listed one");
    ENVIRONMENTS: Texts = text_or_list(
        crate::fields::ENVIRONMENTS,
        "Environments that the test is for: one, or a list. It only runs with one of them.",
    )
        .examples(r#"["prod", ["staging", "prod"]]"#)
        .page("See [Tests of an environment](#tests-of-an-environment).")
        .absent("with and without an environment");
    IF: Texts = text_or_list("if", "What is supposed of servers: SERVER=STATE, or a list of these.")
        .examples(r#"["pxc1=down", ["db2=lag:20s", "db3=down"]]"#)
        .page(
            "Servers that it does not name are as the topology means them to be. States: `down`, `read-only`, `promoted`, `minority`, \
             `lag:20s`, `lag:unknown`, `queue:500`; a server whose name several clusters have is written CLUSTER/SERVER. \
             Such a test is for the bundled engine, which watches servers.",
        );
    QUERY: Text = text("query", "The statement that the session sends.")
        .not_with("script execute")
        .page("Blanks at its end do not count.");
    EXPECT: Definition = defined("expect", "", "expect")
        .not_with("script")
        .page("The expected result.");
    SCRIPT: List = list(
        "script",
        "Statements that one session sends, in this order.",
        "a list of statements",
        Shaped::Object(&step::FIELDS),
    )
        .strict(r#"{"minItems": 1}"#)
        .page("It replaces `query` and `expect`.");
}

object! {
    mod step = "A statement of a script.";
    QUERY: Text = test::QUERY;
    PREPARE: Text = filled(
        "prepare",
        "The name under which the statement is prepared (COM_STMT_PREPARE); without it, the statement is sent as text.",
    )
        .page("A later step with the same name replaces it.");
    EXECUTE: Text = filled(
        "execute",
        "Instead of `query`: the name of a statement that an earlier step prepared (COM_STMT_EXECUTE).",
    )
        .page("The earlier step must have the same login.");
    VALUES: List = list(
        "values",
        "The values of the parameters. A shard map with a column finder places the execution by them (bundled engine).",
        "a list of values",
        Shaped::Custom(parameter_schema),
    )
        .absent("as many as there are");
    EXPECT: Definition = test::EXPECT;
    SESSION: Definition = test::SESSION;
    IF: Texts = test::IF
        .absent("the test's");
    AFTER: Duration = duration("after", "Time since the previous statement; 0ms if not given.");
}

object! {
    pub(crate) mod session =
        "Who sends the statement, and from where. What is absent comes from the test that contains it, then from the file.";
    USER: Text = filled("user", "The user who logged in; may be absent where there is one user.")
        .refers(refers::USERS);
    SCHEMA: Text = text("schema", "The session's schema; the user's if not given.")
        .refers(refers::SCHEMAS);
    CLIENT: Text = filled("client", "The client's address, such as 10.0.0.7.").strict(r#"{"pattern": "^[0-9A-Fa-f:.]+(?:%.*)?$|^localhost$|\\$\\("}"#).examples(r#"["10.0.0.7"]"#);
    LISTENER: Text = filled("listener", "The name of the listener that the client connected to.")
        .refers(refers::LISTENERS);
}

fn parameter_schema() -> Value {
    json!({
        "type": ["string", "integer", "number", "boolean", "null"],
        EXPECTS: "text, a number, true, false or null",
    })
}

/// What tests are read beside.
#[derive(Clone, Copy)]
pub(crate) struct Tested<'t> {
    pub(crate) topology: &'t Topology,
    /// Whether all of the topology could be read, so that a name which is not found does not exist.
    pub(crate) is_whole: bool,
    /// The environments that the project lists.
    pub(crate) environments: &'t [ListedEnvironment],
    /// The one that was chosen.
    pub(crate) chosen: Option<&'t str>,
}

/// The tests that were read.
#[derive(Default)]
pub(crate) struct Tests {
    pub(crate) route_tests: Vec<RouteTest>,
    pub(crate) properties: Vec<Property>,
    /// How many of both are for other environments.
    pub(crate) elsewhere: usize,
}

/// Reads the tests of each file; files do not merge.
pub(crate) fn route_tests(roots: &[&Node], tested: Tested<'_>, context: &mut Context<'_>) -> Tests {
    let mut reader = Reader {
        topology: tested.topology,
        is_whole: tested.is_whole,
        environments: tested.environments,
        chosen: tested.chosen,
        addresses: None,
        names: FxHashMap::default(),
        tests: Tests::default(),
    };
    for root in roots.iter().filter(|root| root.as_mapping().is_some()) {
        reader.file(&View::of(root), context);
        reader.properties_of(&View::of(root), context);
    }
    reader.tests
}

struct Reader<'t> {
    topology: &'t Topology,
    /// Whether all of the topology could be read, so that a name which is not found does not exist.
    is_whole: bool,
    /// The environments that the project lists.
    environments: &'t [ListedEnvironment],
    /// The one that was chosen.
    chosen: Option<&'t str>,
    /// Every address of the project; filled when one is first looked up.
    addresses: Option<FxHashSet<String>>,
    names: FxHashMap<Arc<str>, Span>,
    tests: Tests,
}

impl<'t> Reader<'t> {
    fn file(&mut self, root: &View<'_>, context: &mut Context<'_>) {
        self.each(root, &file::ROUTE_TESTS, context, |reader, object, context| {
            let session = reader.file_session(root, object.origin, object.environment, context);
            reader.test(object, &session, context)
        });
    }

    /// Reads every instance of the objects of a section, if it is there.
    fn each(
        &mut self,
        root: &View<'_>,
        section: &Declared<Map>,
        context: &mut Context<'_>,
        mut read: impl FnMut(&mut Self, &Object<'_, '_>, &mut Context<'_>) -> Option<()>,
    ) {
        let Some(section) = root.get(section.name()).filter(|section| section.value.is_map()) else {
            return;
        };
        let parent = section_origin(&section, context);
        for field in section.value.fields() {
            if !field.value.is_map() {
                continue;
            }
            let definition = instances::define(&field, context);
            let mut one = |environment: &Environment, context: &mut Context<'_>| {
                let name = self.name(&field, environment, context)?;
                let object = Object::of_field(
                    &field,
                    name,
                    ObjectOrigin { parent, definition },
                    environment,
                    context,
                );
                if !self.is_of_environment(&object, context) {
                    self.tests.elsewhere += 1;
                    return Some(());
                }
                read(self, &object, context)
            };
            instances::run(&field.value, &Environment::default(), context, &mut one);
        }
    }

    /// Whether a test is for what is chosen. The names that another one has may exist nowhere else, so it is not read.
    fn is_of_environment(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> bool {
        let field = &test::ENVIRONMENTS;
        let wanted = object.texts(field, context);
        let listed = || self.environments.iter().map(|environment| &*environment.name);
        for (span, name) in &wanted {
            if !listed().any(|listed| *listed == **name) {
                let message = format!("no environment is named `{name}`");
                let diagnostic = Diagnostic::error(UNKNOWN_ENVIRONMENT, message)
                    .at(*span, "")
                    .did_you_mean(did_you_mean(name, listed()));
                object.push(diagnostic, context);
            }
        }
        if wanted.is_empty() {
            if object.has(field) {
                object.error(
                    BAD_VALUE,
                    "the list `environments` is empty",
                    object.span(field),
                    context,
                );
            }
            return true;
        }
        wanted.iter().any(|(_, name)| self.chosen == Some(&**name))
    }

    fn name(
        &mut self,
        field: &Field<'_>,
        environment: &Environment,
        context: &mut Context<'_>,
    ) -> Option<Arc<str>> {
        let name = context.expand_key(field.key, environment)?;
        let span = field.key.span;
        let problem =
            if name.trim().is_empty() || name.len() > MAX_NAME_BYTES || name.contains(char::is_control) {
                let message = format!("a test's name is a sentence of at most {MAX_NAME_BYTES} bytes");
                Diagnostic::error(BAD_NAME, message).at(span, "")
            } else {
                let name = context.intern(&name);
                match self.names.insert(name.clone(), span) {
                    Some(first) if first != span => {
                        Diagnostic::error(DEFINED_TWICE, format!("two tests are named `{name}`"))
                            .at(span, "")
                            .also(first, "the first is here")
                    }
                    _ => return Some(name),
                }
            };
        context.report.push(environment.mark(problem));
        None
    }

    /// `session` of the file, which speaks for every test in it.
    fn file_session(
        &mut self,
        root: &View<'_>,
        origin: OriginId,
        environment: &Environment,
        context: &mut Context<'_>,
    ) -> TestSession {
        let Some(field) = root
            .get(file::SESSION.name())
            .filter(|field| field.value.is_map())
        else {
            return TestSession::default();
        };
        let name = context.intern(file::SESSION.name());
        let object = Object {
            view: field.value,
            key: field.key.span,
            name,
            origin,
            environment,
        };
        self.session(&object, &TestSession::default(), context)
    }

    fn test(
        &mut self,
        object: &Object<'_, '_>,
        around: &TestSession,
        context: &mut Context<'_>,
    ) -> Option<()> {
        let session = self.inner_session(object, around, context);
        let supposed = self.supposed(object, context);
        let mut steps = Vec::new();
        if object.has(&SCRIPT) {
            let alone: [&dyn AnyField; 2] = [&QUERY, &EXPECT];
            for field in alone.into_iter().filter(|field| object.has(*field)) {
                let message = format!("`{}` does not go together with `script`", field.name());
                object.error(NOT_TOGETHER, message, object.key_span(field), context);
            }
            let mut prepared = Prepared::default();
            for (item, index) in object.items(&SCRIPT, context).iter().zip(0u32..) {
                let step = object.inner(View::of(item), item.span);
                let session = self.inner_session(&step, &session, context);
                let supposed = match step.has(&test::IF) {
                    true => self.supposed(&step, context),
                    false => supposed.clone(),
                };
                let read = self.step(&step, Some(index), session, &mut prepared, context);
                steps.extend(read.map(|step| TestStep { supposed, ..step }));
            }
            if object.items(&SCRIPT, context).is_empty() {
                object.error(
                    MISSING_KEY,
                    "a script without statements",
                    object.key_span(&SCRIPT),
                    context,
                );
            }
        } else {
            object.require(&QUERY, context);
            object.require(&EXPECT, context);
            let read = self.step(object, None, session, &mut Prepared::default(), context);
            steps.extend(read.map(|step| TestStep { supposed, ..step }));
        }
        let engines = words_of(&object.texts(&test::ENGINES, context), object, context);
        self.tests.route_tests.push(RouteTest {
            name: object.name.clone(),
            origin: object.origin,
            engines: servers::engines(engines, &steps, object, context),
            steps,
        });
        Some(())
    }

    fn step(
        &mut self,
        object: &Object<'_, '_>,
        index: Option<u32>,
        session: TestSession,
        prepared: &mut Prepared,
        context: &mut Context<'_>,
    ) -> Option<TestStep> {
        let (command, query) = match index {
            Some(_) => prepared.command(object, session.user.as_ref(), context)?,
            None => (TestCommand::Query, query(object, context)?),
        };
        if session.user.is_none() && self.is_whole {
            let users: Vec<&str> = self.topology.users.names().take(8).collect();
            let diagnostic = Diagnostic::error(MISSING_KEY, "which user sends the statement?")
                .at(
                    object.key_span(if object.has(&QUERY) {
                        &QUERY
                    } else {
                        &step::EXECUTE
                    }),
                    "",
                )
                .help(format!(
                    "write session: {{user: NAME}}, one of: {}",
                    users.join(", ")
                ));
            object.push(diagnostic, context);
        }
        Some(TestStep {
            index,
            session,
            after_ms: object.get(&step::AFTER, context).unwrap_or(0),
            command,
            query,
            supposed: Vec::new(),
            expect: self.expectation(object, context),
        })
    }

    fn inner_session(
        &mut self,
        object: &Object<'_, '_>,
        around: &TestSession,
        context: &mut Context<'_>,
    ) -> TestSession {
        let mut session = match object.part(&test::SESSION, context) {
            Some(part) => self.session(&part, around, context),
            None => around.clone(),
        };
        if let (None, [only]) = (&session.user, &*self.topology.users) {
            session.user = Some(only.name.clone());
        }
        session
    }

    fn session(
        &mut self,
        object: &Object<'_, '_>,
        around: &TestSession,
        context: &mut Context<'_>,
    ) -> TestSession {
        let user = object.get(&session::USER, context);
        if let Some(user) = &user
            && self.topology.users.position(user).is_none()
        {
            self.unknown(
                "user",
                user,
                self.topology.users.names(),
                object.span(&session::USER),
                object,
                context,
            );
        }
        let listener = object.get(&session::LISTENER, context);
        if let Some(listener) = &listener
            && self.topology.listeners.position(listener).is_none()
        {
            let candidates = self.topology.listeners.names();
            self.unknown(
                "listener",
                listener,
                candidates,
                object.span(&session::LISTENER),
                object,
                context,
            );
        }
        TestSession {
            user: user.or_else(|| around.user.clone()),
            schema: object
                .get(&session::SCHEMA, context)
                .or_else(|| around.schema.clone()),
            client: client(object, context).or_else(|| around.client.clone()),
            listener: listener.or_else(|| around.listener.clone()),
        }
    }

    /// Reports a name that nothing has.
    fn unknown<'n>(
        &self,
        kind: &str,
        name: &str,
        candidates: impl Iterator<Item = &'n str>,
        span: Span,
        object: &Object<'_, '_>,
        context: &mut Context<'_>,
    ) {
        if !self.is_whole {
            return;
        }
        let candidates: Vec<&str> = candidates.collect();
        let diagnostic = names::unknown(kind, name, candidates.into_iter(), span, context);
        object.push(diagnostic, context);
    }
}

/// The address of a session's client.
fn client(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    let client: Arc<str> = object.get(&session::CLIENT, context)?;
    if !is_client_address(&client) {
        let message = format!("expected an IP address without a port, or localhost, found {client:?}");
        object.error(BAD_VALUE, message, object.span(&session::CLIENT), context);
    }
    Some(client)
}
