//! Problems of a compilation, each at the line of the object it is about.

use shardwright_diagnostics::{Code, Diagnostic, Problems, Severity, Span};
use shardwright_rules::{Address, EngineId};
use shardwright_topology::model::{OnUnsupported, OriginId, Origins, Project};

shardwright_diagnostics::codes! {
    NO_PATTERN = "SW130": "a pattern that an engine does not compile";
    UNSUPPORTED = "SW320": "an engine cannot do what is asked for";
    APPROXIMATED = "SW321": "an engine leaves out what is asked for";
    DIFFERENCE = "SW322": "an engine does this differently";
    EXHAUSTED = "SW323": "ids do not fit their range";
    NUMBERS = "SW324": "a written number is used twice or out of order";
    OVERWRITTEN = "SW325": "a raw rule places statements and neither applies nor jumps";
    BLOCK_POSITION = "SW326": "a block of raw rules cannot be placed there";
    LAYOUT = "SW327": "a forced rule layout does not fit the map";
    MAPS_MEET = "SW328": "two shard maps take the same statements";
    EMPTY_SCOPE = "SW329": "a scope that matches no statement";
    DRIFTED = "SW333": "a remembered tree costs much more than the best one";
    COSTLY = "SW331": "a forced rule layout costs much more than the best one";
    SILENT_REFUSAL = "SW334": "refused executions do not learn the reason";
    NO_TRAFFIC = "SW332": "the traffic has no key of a shard map";
}

/// Which engine can do what another cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SupportedBy {
    /// None yet.
    Nobody,
    /// The bundled one.
    Bundled,
    /// ProxySQL.
    Proxysql,
    /// The same engine, when something else is written too: the imperative sentence that says what.
    When(&'static str),
}

/// Something that a section asks for and the engine lacks.
#[derive(Clone, Copy)]
pub(crate) struct Unsupported<'u> {
    /// The section.
    pub origin: OriginId,
    /// The field of the section that asks for it.
    pub field: &'u str,
    /// `ENGINE cannot …`
    pub what: &'u str,
    /// What happens without it.
    pub lost: &'u str,
    /// Which engine has it.
    pub who: SupportedBy,
}

/// Collects problems of one engine's compilation.
pub(crate) struct Diagnostics<'a> {
    /// The engine that is compiled for.
    pub engine: EngineId,
    origins: &'a Origins,
    /// It is about rules, where the engine can do more than those.
    of_rules: bool,
    /// Where the project says which ids may be used.
    ids: Option<Span>,
    /// What was found.
    pub problems: Problems,
}

impl<'a> Diagnostics<'a> {
    /// An empty report.
    pub(crate) fn new(engine: EngineId, project: &'a Project) -> Self {
        Self::at(engine, &project.origins, ids_span(project))
    }

    fn at(engine: EngineId, origins: &'a Origins, ids: Option<Span>) -> Self {
        Self {
            engine,
            origins,
            ids,
            of_rules: false,
            problems: Problems::new(),
        }
    }

    /// An empty report of the same compilation, on what rules can do, which may be given up.
    pub(crate) fn of_rules(&self) -> Self {
        Self {
            of_rules: true,
            ..Self::at(self.engine, self.origins, self.ids)
        }
    }

    /// Adds what another report found.
    pub(crate) fn take(&mut self, other: Self) {
        self.problems.append(other.problems);
    }

    /// The address of an object.
    pub(crate) fn address(&self, origin: OriginId) -> Address {
        Address::new(self.origins.address(origin))
    }

    /// Whether the file has this field of the object, and does not leave it to its default.
    pub(crate) fn is_written(&self, origin: OriginId, field: &str) -> bool {
        self.origins.field(origin, field) != self.origins.span(origin)
    }

    /// Adds a problem at a field of an object.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        code: Code,
        origin: OriginId,
        field: &str,
        message: String,
    ) {
        let diagnostic = Diagnostic::new(severity, code, message);
        self.problems.push(self.located(origin, field, diagnostic));
    }

    /// A problem, put at a field of an object.
    pub(crate) fn located(&self, origin: OriginId, field: &str, diagnostic: Diagnostic) -> Diagnostic {
        let diagnostic = diagnostic
            .at(self.origins.field(origin, field), "")
            .address(self.origins.address(origin));
        self.origins.mark(origin, diagnostic)
    }

    /// Adds an error.
    pub(crate) fn error(&mut self, code: Code, origin: OriginId, field: &str, message: impl Into<String>) {
        self.add(Severity::Error, code, origin, field, message.into());
    }

    /// Adds an error about ids, where the project says which may be used.
    pub(crate) fn exhausted(&mut self, message: impl Into<String>) {
        let diagnostic = Diagnostic::error(EXHAUSTED, message);
        self.problems.push(match self.ids {
            Some(span) => diagnostic.at(span, ""),
            None => diagnostic,
        });
    }

    /// `ENGINE cannot WHAT; WHO can`, or, where no engine can, that.
    pub(crate) fn unsupported(&mut self, origin: OriginId, field: &str, what: &str) {
        let message = match self.engine {
            _ if self.of_rules => format!("rules cannot {what}"),
            EngineId::Bundled => format!("no engine can {what} yet"),
            engine => format!("{engine} cannot {what}; the bundled engine can"),
        };
        self.error(UNSUPPORTED, origin, field, message);
    }

    /// Something that a section with `on_unsupported` asks for; true when the rest of the section may be compiled.
    pub(crate) fn on_unsupported(&mut self, choice: OnUnsupported, lacking: Unsupported<'_>) -> bool {
        let engine = self.engine;
        let Unsupported {
            origin,
            field,
            what,
            lost,
            who,
        } = lacking;
        if choice == OnUnsupported::Error {
            let cannot = match who {
                SupportedBy::Nobody => format!("no engine can {what} yet"),
                SupportedBy::Bundled => format!("{engine} cannot {what}; bundled can"),
                SupportedBy::Proxysql => format!("{engine} cannot {what}; proxysql-2.7 can"),
                SupportedBy::When(remedy) => format!("{engine} cannot {what}: {remedy}"),
            };
            let accepts = match who {
                SupportedBy::Proxysql => "skip",
                _ => "approximate` or `skip",
            };
            let message = format!("{cannot}; `on_unsupported: {accepts}` accepts that {lost}");
            self.error(UNSUPPORTED, origin, field, message);
            return false;
        }
        let message = match who {
            SupportedBy::When(remedy) => format!("{engine} cannot {what}: {lost}; {remedy}"),
            _ => format!("{engine} cannot {what}: {lost}"),
        };
        // The file accepts it, so it is reported and does not count as a problem.
        self.add(Severity::Info, APPROXIMATED, origin, field, message);
        choice == OnUnsupported::Approximate
    }

    /// A difference of the engine that is always so.
    pub(crate) fn difference(&mut self, origin: OriginId, field: &str, what: impl AsRef<str>) {
        let message = format!("on {}, {}", self.engine, what.as_ref());
        self.add(Severity::Info, DIFFERENCE, origin, field, message);
    }
}

/// `ids` of the project file, or the first engine, for which the default ranges hold.
fn ids_span(project: &Project) -> Option<Span> {
    let file = &project.file;
    let engine = || {
        file.engines
            .first()
            .map(|entry| project.origins.span(entry.origin))
    };
    file.ids_span.or_else(engine)
}
