//! Fields of the language. Each is declared once, beside its reader: its name, sentence, kind, words, default, examples
//! and what it refers to. Schemas, readers, editors and the tables of `docs/language` ask the declaration.
//!
//! ```text
//! object! {
//!     mod listener = "A port that clients connect to.";
//!     PORT: Int<u16> = int("port", "The TCP port; each listener needs a different one.", 1, 65_535).needed();
//!     ADDRESS: Or<Text> = filled("address", "The address to bind; 0.0.0.0 where not given.").or("0.0.0.0");
//! }
//! let port: Option<u16> = object.get(&listener::PORT, context);
//! let address: Arc<str> = object.get(&listener::ADDRESS, context);
//! ```

pub(crate) mod column;
mod kinds;
mod nested;
pub(crate) mod refers;
pub(crate) mod shapes;

use serde_json::Value;

use self::refers::{DEFINES, KEYS, REFERS};

pub(crate) use kinds::{
    Bit, Bool, Count, Duration, IdRange, Ids, Int, Number, Template, Text, Texts, Whole, Word, WordList, bit,
    boolean, count, duration, filled, id, id_range, int, number, template, text, text_or_list, texts, whole,
    word, words,
};
pub(crate) use nested::{
    Custom, Definition, List, Map, Part, WordOr, custom, defined, for_each, list, map, part, version, word_or,
};
pub(crate) use shapes::{EXPECTS, Shaped};

/// The field of objects that a generator makes.
pub(crate) const FOR_EACH: &str = "for_each";

/// Fields that hold objects, each of which has an origin of its own.
pub(crate) mod holders {
    pub(crate) const SERVERS: &str = "servers";
    pub(crate) const SHARDS: &str = "shards";
    pub(crate) const OVERRIDES: &str = "overrides";
    pub(crate) const RULES: &str = "rules";
    pub(crate) const FAST_ROUTING: &str = "fast_routing";
    pub(crate) const REFUSING: &str = "refusing";
    pub(crate) const ALL: [&str; 6] = [SERVERS, SHARDS, OVERRIDES, RULES, FAST_ROUTING, REFUSING];
}

/// The field of every file: the version of the language.
pub(crate) const VERSION: &str = "version";

/// The field of the project file that lists environments.
pub(crate) const ENVIRONMENTS: &str = "environments";

/// The annotation of a default that holds only beside certain values: key → values that it may have, none for any.
pub(crate) const WHERE: &str = "x-default-where";

/// What only we read of a schema; what is published is without it.
pub(crate) const INTERNAL: [&str; 8] = [NEEDED, PAGE, ABSENT, REFERS, KEYS, DEFINES, STRICT, NOT_WITH];
/// An object without the field is an error.
pub(crate) const NEEDED: &str = "x-needed";
/// What the page of the language adds to the sentence.
pub(crate) const PAGE: &str = "x-page";
/// What readers refuse that looks at one file alone, as keywords of JSON Schema. Readers word it; published schemas have the keywords.
pub(crate) const STRICT: &str = "x-strict";
/// The fields that an object cannot have beside this one, as [`STRICT`] is for a value.
pub(crate) const NOT_WITH: &str = "x-not-with";
/// What holds where the field is not given, in words.
pub(crate) const ABSENT: &str = "x-absent";

/// What a value of a field is.
pub(crate) trait FieldKind: Copy + Sync + 'static {
    /// The schema that the value follows.
    fn shape(&self, says: &str) -> Value;

    /// What holds where nothing is written, and when.
    fn absent(&self) -> Option<(Value, When)> {
        None
    }
}

/// A kind whose fields may have a default.
pub(crate) trait Defaults: FieldKind {
    /// What a default is written as in a declaration.
    type Default: Copy + Sync;

    /// The default in the schema.
    fn default(default: Self::Default) -> Value;
}

/// A field of an object of the language.
#[derive(Clone, Copy)]
pub(crate) struct Declared<K> {
    name: &'static str,
    says: &'static str,
    pub(crate) kind: K,
    is_needed: bool,
    /// Whether it excludes what its sentence is about.
    excludes: bool,
    /// Values that show what is meant, as a JSON list.
    examples: &'static str,
    /// What the page of the language adds to the sentence.
    page: &'static str,
    /// What holds where it is not given, in words, where no default says it.
    absent: &'static str,
    /// What its texts are names of, as [`refers::Refers`] reads it.
    refers: &'static str,
    /// What the keys of its value are names of.
    keys: &'static str,
    /// The section of addresses whose objects its value defines.
    defines: &'static str,
    /// As [`STRICT`], as a JSON object.
    strict: &'static str,
    /// As [`NOT_WITH`], with blanks between the names.
    not_with: &'static str,
}

/// When a default holds.
#[derive(Clone, Copy)]
pub(crate) enum When {
    Always,
    /// Another field of the object has one of these words.
    Is(&'static dyn AnyField, &'static [&'static str]),
    /// Another field of the object is given.
    Has(&'static dyn AnyField),
}

/// A kind with the value that holds where nothing is written.
#[derive(Clone, Copy)]
pub(crate) struct Or<K: Defaults> {
    pub(crate) kind: K,
    pub(crate) default: K::Default,
    when: When,
}

impl<K: Defaults> FieldKind for Or<K> {
    fn shape(&self, says: &str) -> Value {
        self.kind.shape(says)
    }

    fn absent(&self) -> Option<(Value, When)> {
        Some((K::default(self.default), self.when))
    }
}

impl<K: FieldKind> Declared<K> {
    const fn new(name: &'static str, says: &'static str, kind: K) -> Self {
        Self {
            name,
            says,
            kind,
            is_needed: false,
            excludes: false,
            examples: "",
            page: "",
            absent: "",
            refers: "",
            keys: "",
            defines: "",
            strict: "",
            not_with: "",
        }
    }

    /// Its sentence.
    pub(crate) const fn sentence(&self) -> &'static str {
        self.says
    }

    /// An object without it is an error.
    pub(crate) const fn needed(mut self) -> Self {
        self.is_needed = true;
        self
    }

    /// What the page of the language adds to the sentence.
    pub(crate) const fn page(mut self, page: &'static str) -> Self {
        self.page = page;
        self
    }

    /// What its texts are names of.
    pub(crate) const fn refers(mut self, to: &'static str) -> Self {
        self.refers = to;
        self
    }

    /// What the keys of its value are names of.
    pub(crate) const fn keys(mut self, of: &'static str) -> Self {
        self.keys = of;
        self
    }

    /// The section of addresses whose objects its value defines.
    pub(crate) const fn defines(mut self, section: &'static str) -> Self {
        self.defines = section;
        self
    }

    /// What its reader refuses besides, as keywords of JSON Schema.
    pub(crate) const fn strict(mut self, keywords: &'static str) -> Self {
        self.strict = keywords;
        self
    }

    /// The fields that its reader refuses beside it, with blanks between their names.
    pub(crate) const fn not_with(mut self, fields: &'static str) -> Self {
        self.not_with = fields;
        self
    }

    /// What holds where it is not given, in words, where no default says it.
    pub(crate) const fn absent(mut self, absent: &'static str) -> Self {
        self.absent = absent;
        self
    }

    /// The field that excludes what this one is about.
    pub(crate) const fn except(mut self, name: &'static str) -> Self {
        self.name = name;
        self.excludes = true;
        self.examples = "";
        self
    }

    /// Values that show what is meant, as a JSON list.
    pub(crate) const fn examples(mut self, examples: &'static str) -> Self {
        self.examples = examples;
        self
    }
}

impl<K: Defaults> Declared<K> {
    /// What holds where it is not given.
    pub(crate) const fn or(self, default: K::Default) -> Declared<Or<K>> {
        self.or_when(default, When::Always)
    }

    /// What holds where it is not given, under a condition.
    pub(crate) const fn or_when(self, default: K::Default, when: When) -> Declared<Or<K>> {
        let kind = Or {
            kind: self.kind,
            default,
            when,
        };
        Declared {
            name: self.name,
            says: self.says,
            kind,
            is_needed: self.is_needed,
            excludes: self.excludes,
            examples: self.examples,
            page: self.page,
            absent: self.absent,
            refers: self.refers,
            keys: self.keys,
            defines: self.defines,
            strict: self.strict,
            not_with: self.not_with,
        }
    }
}

/// A field of whatever kind.
pub(crate) trait AnyField: Sync {
    fn name(&self) -> &'static str;
    fn is_needed(&self) -> bool;
    fn schema(&self) -> Value;
    /// The schema without examples and default.
    fn plain_schema(&self) -> Value;
}

impl<K: FieldKind> AnyField for Declared<K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_needed(&self) -> bool {
        self.is_needed
    }

    fn plain_schema(&self) -> Value {
        let mut schema = match self.excludes {
            true => self.kind.shape(&format!("Not these. {}", self.says)),
            false => self.kind.shape(self.says),
        };
        if self.is_needed {
            schema[NEEDED] = true.into();
        }
        for (key, text) in [
            (PAGE, self.page),
            (ABSENT, self.absent),
            (REFERS, self.refers),
            (KEYS, self.keys),
            (DEFINES, self.defines),
            (NOT_WITH, self.not_with),
        ] {
            if !text.is_empty() {
                schema[key] = text.into();
            }
        }
        if !self.strict.is_empty() {
            let keywords: serde_json::Map<String, Value> =
                serde_json::from_str(self.strict).expect("keywords are JSON, which a test holds");
            for (keyword, value) in keywords {
                schema[STRICT][keyword] = value;
            }
        }
        schema
    }

    fn schema(&self) -> Value {
        let mut schema = self.plain_schema();
        if !self.examples.is_empty() {
            schema["examples"] =
                serde_json::from_str(self.examples).expect("examples are JSON, which a test holds");
        }
        if let Some((default, when)) = self.kind.absent() {
            schema["default"] = default;
            match when {
                When::Always => {}
                When::Is(field, words) => schema[WHERE] = serde_json::json!({ field.name(): words }),
                When::Has(field) => schema[WHERE] = serde_json::json!({ field.name(): null }),
            }
        }
        schema
    }
}

/// An object of the language.
pub(crate) struct Fields {
    pub(crate) says: &'static str,
    pub(crate) fields: &'static [&'static dyn AnyField],
}

impl Fields {
    pub(crate) fn schema(&self) -> Value {
        shapes::object(self.says, self.properties())
    }

    /// The schema of an object that a generator may make.
    pub(crate) fn generated(&self) -> Value {
        shapes::generated(self.says, self.properties())
    }

    pub(crate) fn properties(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.fields.iter().map(|field| (field.name(), field.schema()))
    }
}

/// Declares an object: a module with a static for each of its fields, and `FIELDS` with all of them.
macro_rules! object {
    ($visible:vis mod $object:ident = $says:expr; $($field:ident: $kind:ty = $declared:expr;)*) => {
        $visible mod $object {
            #[allow(unused_imports, reason = "an object uses some of the kinds")]
            use super::*;
            #[allow(unused_imports, reason = "an object uses some of the kinds")]
            use $crate::fields::{
                Bit, Bool, Count, Custom, Definition, Duration, Fields, IdRange, Int, List, Map, Number, Or,
                Part, Shaped, Template, Text, Texts, When, Whole, Word, WordList, WordOr, bit, boolean,
                count, custom, defined, duration, filled, for_each, id, id_range, int, list, map, number,
                part, refers, template, text, text_or_list, texts, version, whole, word, word_or, words,
            };
            $(pub(crate) static $field: $crate::fields::Declared<$kind> = $declared;)*
            pub(crate) static FIELDS: Fields = Fields { says: $says, fields: &[$(&$field),*] };
        }
    };
}

pub(crate) use object;
