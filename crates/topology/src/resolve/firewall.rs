//! The firewall: which statements users may send.

use serde_json::{Value, json};
use shardwright_diagnostics::Span;

use self::firewall::ALLOW;
use super::object::Object;
use super::policy::on_unsupported;
use super::{Defined, instances, names};
use crate::codes::{BAD_VALUE, MISSING_KEY};
use crate::fields::object;
use crate::model::{Allowed, Firewall, FirewallMode, OnUnsupported};
use crate::tree::context::Context;
use crate::tree::view::Field;
use crate::units;

/// Statements of one user.
const MAX_ALLOWED: usize = 100_000;
/// Bytes of one example statement.
const MAX_STATEMENT: usize = 1 << 16;

object! {
    pub(crate) mod firewall = "What one user may send.";
    MODE: Word<FirewallMode> = word(
        "mode",
        "What happens to statements that are not allowed: nothing, they are logged, or they are refused.",
    )
    .needed();
    ALLOW: Custom = custom("allow", allow::FIELDS.says, allow_schema)
        .absent("required unless `disabled`");
    SCHEMAS: Texts = texts(
        "schemas",
        "Session schemas in addition to those that the topology gives the user.",
        "a list of schemas",
    )
        .refers(refers::SCHEMAS);
    OWN_SCHEMAS: Or<Bool> = boolean(
        "own_schemas",
        "Whether the statements pass in the schemas that the topology gives the user; true by default.",
    )
    .or(true);
    RAW_CHAINS: Or<Bool> = boolean(
        "raw_chains",
        "Whether the statements pass where a chain of raw rules with a flag of its own ends; true by default.",
    )
    .or(true);
    ON_UNSUPPORTED: Or<Word<OnUnsupported>> = on_unsupported();
}

object! {
    pub(crate) mod allow = "Statements that pass; all others are logged or refused.";
    FILE: Text = filled(
        "file",
        "A file below `allow/`: a digest such as 0x4D7DCFF87DD1A927 or an example statement in each line.",
    )
        .page("The path is relative to the project, such as `allow/app.txt`; `#` starts a comment.");
    DIGESTS: Texts = texts(
        "digests",
        "Digests of statements that pass, such as `0x4D7DCFF87DD1A927`.",
        "a list of digests",
    );
    STATEMENTS: Texts = text_or_list(
        "statements",
        "Example statements; every statement with the same digest text passes.",
    );
}

fn allow_schema(_: &str) -> Value {
    let mut schema = allow::FIELDS.schema();
    schema["minProperties"] = json!(1);
    schema
}

pub(super) fn firewall(
    section: Option<Field<'_>>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<Firewall> {
    instances::read_each(section, context, |object, context| one(object, defined, context))
}

fn one(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<Firewall> {
    let mut user_is_known = true;
    if !defined.users.contains_key(&object.name) {
        let users = defined.users.keys().map(|name| &**name);
        let diagnostic = names::unknown("user", &object.name, users, object.key, context)
            .map(|told| told.note("an entry of `firewall` must have the name of a user"));
        object.push(diagnostic, context);
        user_is_known = false;
    }
    object.require_all(&firewall::FIELDS, context);
    let mode = object.get(&firewall::MODE, context);
    let mut allow = Vec::new();
    if let Some(part) = object.part(&ALLOW, context) {
        digests(&part, &mut allow, context);
        let statements = part.list(&allow::STATEMENTS, context).into_iter();
        allow.extend(statements.map(Allowed::Statement));
        file(&part, &mut allow, context);
        if part.view.fields().is_empty() {
            let message = "`allow` needs `file`, `digests` or `statements`";
            part.error(MISSING_KEY, message, part.key, context);
        }
    } else if mode.is_some_and(|mode| mode != FirewallMode::Disabled) {
        object.require(&ALLOW, context);
    }
    if allow.len() > MAX_ALLOWED {
        let message = format!(
            "{} statements are allowed here; the maximum is {MAX_ALLOWED}",
            allow.len()
        );
        object.error(BAD_VALUE, message, object.key_span(&ALLOW), context);
        allow.clear();
    }
    let schemas = object.list(&firewall::SCHEMAS, context);
    if !user_is_known {
        return None;
    }
    Some(Firewall {
        name: object.name.clone(),
        origin: object.origin,
        mode: mode?,
        allow,
        schemas,
        own_schemas: object.get(&firewall::OWN_SCHEMAS, context),
        raw_chains: object.get(&firewall::RAW_CHAINS, context),
        on_unsupported: object.get(&firewall::ON_UNSUPPORTED, context),
    })
}

fn digests(part: &Object<'_, '_>, allow: &mut Vec<Allowed>, context: &mut Context<'_>) {
    for (span, text) in part.texts(&allow::DIGESTS, context) {
        match units::digest(&text) {
            Some(digest) => allow.push(Allowed::Digest(digest)),
            None => {
                let message = format!("expected a digest such as 0x4D7DCFF87DD1A927, found `{text}`");
                part.error(BAD_VALUE, message, span, context);
            }
        }
    }
}

/// The lines of an allow file: a digest, or an example statement; empty lines and those that begin with `#` are notes.
fn file(part: &Object<'_, '_>, allow: &mut Vec<Allowed>, context: &mut Context<'_>) {
    let Some(path) = part.get(&allow::FILE, context) else {
        return;
    };
    // One that cannot be read has been reported.
    let Some((file, text)) = context.allow_files.get(&path) else {
        return;
    };
    let before = allow.len();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let written = line.trim();
        if written.is_empty() || written.starts_with('#') {
            continue;
        }
        if let Some(digest) = units::digest(written) {
            allow.push(Allowed::Digest(digest));
        } else if is_hash(written) || written.len() > MAX_STATEMENT {
            let indent = line.len() - line.trim_start().len();
            let offset_in_file = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
            let span = Span::new(
                file,
                offset_in_file(at + indent),
                offset_in_file(at + indent + written.len()),
            );
            let message = "expected a digest such as 0x4D7DCFF87DD1A927, or a statement";
            part.error(BAD_VALUE, message, span, context);
        } else {
            let statement = context.intern(written);
            allow.push(Allowed::Statement(statement));
        }
        if allow.len() > MAX_ALLOWED {
            return;
        }
    }
    if allow.len() == before {
        let message = format!("`{path}` allows no statement");
        part.error(BAD_VALUE, message, part.span(&allow::FILE), context);
    }
}

/// Whether a line is meant as a digest and is none.
fn is_hash(line: &str) -> bool {
    line.starts_with("0x") || line.starts_with("0X")
}
