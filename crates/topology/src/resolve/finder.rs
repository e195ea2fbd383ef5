//! `key_from`: where keys are found.

use shardwright_diagnostics::Span;
use shardwright_documents::Node;

use super::object::Object;
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER};
use crate::context::Context;
use crate::model::{CommentFinder, CommentForm, Finder, InShards, Key, KeyKind, KeyTemplate};
use crate::view::View;

/// Finders of one map; a statement asks each of them.
const MAX_FINDERS: usize = 32;

const KINDS: [&str; 5] = ["comment", "schema", "column", "table", "user"];

pub(super) fn finders(object: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) -> Vec<Finder> {
    let Some(field) = object.view.get("key_from") else {
        return Vec::new();
    };
    let items = field.value.items();
    let is_list = field
        .value
        .node()
        .is_some_and(|node| node.as_sequence().is_some());
    if is_list && items.is_empty() {
        object.error(
            MISSING_KEY,
            "a shard map needs at least one finder",
            field.key.span,
            context,
        );
    }
    if let Some(item) = items.get(MAX_FINDERS) {
        object.error(
            BAD_VALUE,
            format!("more than {MAX_FINDERS} finders"),
            item.span,
            context,
        );
    }
    items
        .iter()
        .take(MAX_FINDERS)
        .filter_map(|item| finder(object, item, key, context))
        .collect()
}

fn finder<'a>(
    object: &Object<'a, '_>,
    item: &'a Node,
    key: &Key,
    context: &mut Context<'_>,
) -> Option<Finder> {
    item.as_mapping()?;
    let item = object.inner(View::of(item), item.span);
    let mut given = KINDS.into_iter().filter(|kind| item.has(kind));
    match (given.next(), given.next()) {
        (_, Some(second)) => {
            let message = "a finder looks in one place: write each as an item of its own";
            item.error(NOT_TOGETHER, message, item.key_span(second), context);
            None
        }
        (Some("comment"), None) => comment(&item, key, context),
        (Some("schema"), None) => template(&item, "schema", key, context).map(Finder::Schema),
        (Some("table"), None) => template(&item, "table", key, context).map(Finder::Table),
        (Some("user"), None) => template(&item, "user", key, context).map(Finder::User),
        (Some(_), None) => column(object, &item, context),
        (None, None) => {
            // An unknown key has been reported where it stands.
            if item.view.fields().is_empty() {
                item.error(
                    MISSING_KEY,
                    "a finder needs `comment`, `column`, `schema`, `table` or `user`",
                    item.key,
                    context,
                );
            }
            None
        }
    }
}

fn comment(item: &Object<'_, '_>, key: &Key, context: &mut Context<'_>) -> Option<Finder> {
    let comment = item.part("comment", context)?;
    if comment.has("exact") {
        for other in ["name", "format"] {
            if comment.has(other) {
                let message = format!("`exact` is the whole comment, so `{other}` has no meaning beside it");
                comment.error(NOT_TOGETHER, message, comment.key_span(other), context);
            }
        }
        let template = template(&comment, "exact", key, context)?;
        let form = CommentForm::Exact(template);
        return Some(Finder::Comment(CommentFinder {
            word: key.name.clone(),
            form,
        }));
    }
    let word = match comment.filled_text("name", context) {
        Some(word) => {
            check_word(&comment, &word, comment.span("name"), context)?;
            word
        }
        None if comment.has("name") => return None,
        None => key.name.clone(),
    };
    let form = match comment.word(
        "format",
        &[("sqlcommenter", CommentFormat::Sqlcommenter)],
        context,
    ) {
        Some(CommentFormat::Sqlcommenter) => CommentForm::Sqlcommenter,
        None => CommentForm::Pairs,
    };
    Some(Finder::Comment(CommentFinder { word, form }))
}

#[derive(Clone, Copy)]
enum CommentFormat {
    Sqlcommenter,
}

/// A word that the grammar of comments can hold before `=`.
pub(super) fn check_word(
    object: &Object<'_, '_>,
    word: &str,
    span: Span,
    context: &mut Context<'_>,
) -> Option<()> {
    let plain = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    if plain {
        return Some(());
    }
    let message =
        format!("`{word}` cannot stand before `=` in a comment: use letters, digits, `_`, `-` and `.`");
    object.error(BAD_VALUE, message, span, context);
    None
}

fn template(
    object: &Object<'_, '_>,
    field: &str,
    key: &Key,
    context: &mut Context<'_>,
) -> Option<KeyTemplate> {
    let field = object.view.get(field)?;
    let node = field.value.node()?;
    let (prefix, width, suffix) = context.around_key(node, object.environment)?;
    if width.is_some() && key.kind == KeyKind::Text {
        let message = "a key of type text cannot be padded with zeros";
        object.error(BAD_VALUE, message, node.span, context);
        return None;
    }
    Some(KeyTemplate {
        prefix: context.intern(&prefix),
        width,
        suffix: context.intern(&suffix),
    })
}

fn column(map: &Object<'_, '_>, item: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Finder> {
    let column = item.part("column", context)?;
    if !map.has("logical_schema") {
        let message = "a key in a column needs a `logical_schema`: only its tables have the column";
        item.error(MISSING_KEY, message, item.key_span("column"), context);
    }
    column.require("name", context);
    let name = column.filled_text("name", context);
    let in_shards = column
        .word(
            "in_shards",
            &[("present", InShards::Present), ("absent", InShards::Absent)],
            context,
        )
        .unwrap_or_default();
    Some(Finder::Column {
        name: name?,
        in_shards,
    })
}
