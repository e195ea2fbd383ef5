//! Read/write policies.

use serde_json::{Value, json};
use shardwright_diagnostics::Diagnostic;

use self::policy::{ALLOW_ON_READERS, REASON};
use self::reads::{ALL, EXCEPT, ONLY};
use super::object::Object;
use super::scope::{scope, scope_of};
use super::{Defined, finder, instances};
use crate::codes::{MISSING_KEY, NOT_TOGETHER};
use crate::fields::{
    AnyField, Bool, Declared, Definition, EXPECTS, List, Or, Text, Word, defined, filled, object, word,
};
use crate::model::{
    CommentHint, Consistency, OnUnsupported, ReadClass, ReadSelection, ReadWritePolicy, Scope,
};
use crate::tree::context::Context;
use crate::tree::view::{Field, View};

object! {
    pub(crate) mod policy = "Which statements may leave the writer. Only provable reads ever do.";
    APPLIES_TO: Definition = applies_to();
    READS: Part = part("reads", &reads::FIELDS).needed();
    WRITER_HINT: Part = part("writer_hint", &writer_hint::FIELDS);
    AFTER_WRITE: Or<Duration> = duration(
        "after_write",
        "How long a session reads from the writer after it has written.",
    )
    .or(0);
    CONSISTENCY: Or<Word<Consistency>> = word(
        "consistency",
        "What a session may see: `causal` reads its own writes on readers too (bundled).",
    )
    .page("See [own writes on readers](#own-writes-on-readers).")
    .or(Consistency::Eventual);
    ALLOW_ON_READERS: WordList<ReadClass> = words(
        "allow_on_readers",
        "Classes of statements that may go to readers although they are not provable reads; needs a reason.",
        "a list of classes",
    );
    REASON: Text = reason();
    ON_UNSUPPORTED: Or<Word<OnUnsupported>> = on_unsupported();
}

object! {
    mod reads = "Which reads go to readers: one of `all`, `only`, `except`.";
    ALL: Custom = custom("all", "Every statement that is a provable read.", is_true);
    ONLY: List = list("only", "Reads that match one of these.", "a list of matches", Shaped::Definition("scope"));
    EXCEPT: List = list("except", "Reads that match none of these.", "a list of matches", Shaped::Definition("scope"));
}

object! {
    mod writer_hint = "What a client writes to keep a statement on the writer.";
    COMMENT: Part = part("comment", &comment::FIELDS).needed();
}

object! {
    mod comment = "A comment such as `/* primary */`.";
    NAME: Text = filled("name", "The word in the comment. The word alone means word=1.").needed()
        .page("`/* primary */` is `/* primary=1 */`.");
}

fn is_true(says: &str) -> Value {
    json!({ "description": says, "const": true, EXPECTS: "true" })
}

/// What objects about statements have.
pub(super) const fn applies_to() -> Declared<Definition> {
    defined(
        "applies_to",
        "Which statements it is for; all by default.",
        "scope",
    )
    .page("See [match](match.md).")
    .absent("every statement")
}

pub(super) const fn reason() -> Declared<Text> {
    filled("reason", "The reason, such as a change number.")
}

pub(super) const fn on_unsupported() -> Declared<Or<Word<OnUnsupported>>> {
    let says = "What happens for a listed engine that cannot do this: an error, the nearest thing that it can do, or nothing.";
    word("on_unsupported", says).or(OnUnsupported::Error)
}

pub(super) fn policies(
    section: Option<Field<'_>>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<ReadWritePolicy> {
    instances::read_each(section, context, |object, context| {
        policy(object, defined, context)
    })
}

fn policy(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<ReadWritePolicy> {
    object.require_all(&policy::FIELDS, context);
    let applies_to = scope_of(object, &policy::APPLIES_TO, defined, context);
    let reads = reads(object, defined, context);
    let allow_on_readers = object.get(&ALLOW_ON_READERS, context).unwrap_or_default();
    let reason = object.get(&REASON, context);
    if !allow_on_readers.is_empty() && !object.has(&REASON) {
        let diagnostic = Diagnostic::error(MISSING_KEY, "missing key `reason`")
            .at(object.key_span(&ALLOW_ON_READERS), "this needs a reason");
        object.push(diagnostic, context);
    }
    if allow_on_readers.contains(&ReadClass::Unproven)
        && !matches!(reads, None | Some(ReadSelection::Only(_)))
    {
        let message = "`unproven` needs `reads: {only: …}`: otherwise writes would go to readers";
        object.error(NOT_TOGETHER, message, object.span(&ALLOW_ON_READERS), context);
    }
    let policy = ReadWritePolicy {
        name: object.name.clone(),
        origin: object.origin,
        applies_to,
        reads: ReadSelection::All,
        writer_hint: writer_hint(object, context),
        after_write_ms: object.get(&policy::AFTER_WRITE, context),
        consistency: object.get(&policy::CONSISTENCY, context),
        allow_on_readers,
        reason,
        on_unsupported: object.get(&policy::ON_UNSUPPORTED, context),
    };
    Some(ReadWritePolicy {
        reads: reads?,
        ..policy
    })
}

fn reads(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<ReadSelection> {
    let part = object.part(&policy::READS, context)?;
    let kinds: [&dyn AnyField; 3] = [&ALL, &ONLY, &EXCEPT];
    let given: Vec<&dyn AnyField> = kinds.into_iter().filter(|kind| part.has(*kind)).collect();
    match given.as_slice() {
        [_] if part.has(&ALL) => part.read(&ALL, &Bool, context).map(|_| ReadSelection::All),
        [_] if part.has(&ONLY) => Some(ReadSelection::Only(scopes(&part, &ONLY, defined, context))),
        [_] => Some(ReadSelection::Except(scopes(&part, &EXCEPT, defined, context))),
        [] => {
            if part.view.fields().is_empty() {
                part.error(
                    MISSING_KEY,
                    "`reads` needs `all`, `only` or `except`",
                    part.key,
                    context,
                );
            }
            None
        }
        [_, second, ..] => {
            let message = "`reads` has one of `all`, `only` and `except`";
            part.error(NOT_TOGETHER, message, part.key_span(*second), context);
            None
        }
    }
}

fn scopes(
    part: &Object<'_, '_>,
    field: &Declared<List>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<Scope> {
    let Some(list) = part.field(field) else {
        return Vec::new();
    };
    let items = part.items(field, context);
    if list.value.items().is_empty() {
        part.error(
            MISSING_KEY,
            format!("the list `{}` is empty", field.name()),
            list.key.span,
            context,
        );
    }
    let mut scopes = Vec::with_capacity(items.len());
    for item in items.iter().filter(|item| item.as_mapping().is_some()) {
        let one = part.inner(View::of(item), item.span);
        let scope = scope(&one, defined, context);
        if scope.is_everything() && one.view.fields().is_empty() {
            one.error(
                MISSING_KEY,
                "a match without a condition matches everything",
                item.span,
                context,
            );
        }
        scopes.push(scope);
    }
    scopes
}

fn writer_hint(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<CommentHint> {
    let hint = object.part(&policy::WRITER_HINT, context)?;
    hint.require_all(&writer_hint::FIELDS, context);
    let comment = hint.part(&writer_hint::COMMENT, context)?;
    comment.require_all(&comment::FIELDS, context);
    let word = comment.get(&comment::NAME, context)?;
    finder::check_word(&comment, &word, comment.span(&comment::NAME), context)?;
    Some(CommentHint { word })
}
