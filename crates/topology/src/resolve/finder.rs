//! `key_from`: where keys are found.

use shardwright_diagnostics::Span;
use shardwright_documents::Node;

use self::finder::{COLUMN, COMMENT, SCHEMA, TABLE, USER};
use super::object::Object;
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER};
use crate::fields::{AnyField, object};
use crate::model::{CommentForm, Finder, InShards, Key, KeyKind, KeyTemplate, Words};
use crate::tree::context::Context;
use crate::tree::view::{Field, View};

/// Finders of one map; a statement asks each of them.
const MAX_FINDERS: usize = 32;

object! {
    pub(crate) mod finder = "A place where the key can be.";
    COMMENT: Part = part("comment", &comment::FIELDS);
    SCHEMA: Template = template("schema", "The name of the session's schema.").examples(r#"["tenant_$(key:03)"]"#)
        .refers(refers::SCHEMAS);
    COLUMN: Part = part("column", &column::FIELDS);
    TABLE: Template = template("table", "The names of tables.").examples(r#"["orders_$(key)"]"#);
    USER: Template = template("user", "The name of the user.").examples(r#"["app_$(key)"]"#);
}

object! {
    mod comment = "A comment such as `/* tenant=17 */`.";
    NAME: Text = filled("name", "The word before `=`, if it is not the key's name.");
    EXACT: Text = text("exact", "The whole comment, such as `$(key:03)`.").examples(r#"["$(key:03)"]"#);
    FORMAT: Word<CommentFormat> = word("format", "How values are written; `sqlcommenter` decodes percent signs.");
}

object! {
    mod column = "A column that WHERE compares, or that an INSERT lists.";
    NAME: Text = filled("name", "The name of the column, such as `tenant_id`.").needed().examples(r#"["tenant_id"]"#);
    IN_SHARDS: Or<Word<InShards>> = word(
        "in_shards",
        "Whether the shards' tables have the column; with `absent`, the predicate is removed.",
    )
    .or(InShards::Present);
}

/// What of a shard map its finders depend on.
#[derive(Clone, Copy)]
pub(super) struct MapKey<'k> {
    pub(super) key: &'k Key,
    pub(super) has_logical_schema: bool,
}

/// Reads `key_from` of a shard map.
pub(super) fn finders<'a>(
    object: &Object<'a, '_>,
    field: &Field<'a>,
    map: MapKey<'_>,
    context: &mut Context<'_>,
) -> Vec<Finder> {
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
        .filter_map(|item| finder(object, item, map, context))
        .collect()
}

fn finder<'a>(
    object: &Object<'a, '_>,
    item: &'a Node,
    map: MapKey<'_>,
    context: &mut Context<'_>,
) -> Option<Finder> {
    let key = map.key;
    item.as_mapping()?;
    let item = object.inner(View::of(item), item.span);
    let mut given = finder::FIELDS.fields.iter().filter(|kind| item.has(**kind));
    match (given.next(), given.next()) {
        (_, Some(second)) => {
            let message = "a finder searches one place: write each one as a separate item";
            item.error(NOT_TOGETHER, message, item.key_span(*second), context);
            None
        }
        (Some(_), None) if item.has(&COMMENT) => comment(&item, key, context),
        (Some(_), None) if item.has(&SCHEMA) => {
            template(&item, &SCHEMA, key, context).map(|template| Finder::Schema { template })
        }
        (Some(_), None) if item.has(&TABLE) => {
            template(&item, &TABLE, key, context).map(|template| Finder::Table { template })
        }
        (Some(_), None) if item.has(&USER) => {
            template(&item, &USER, key, context).map(|template| Finder::User { template })
        }
        (Some(_), None) => column(map, &item, context),
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
    let comment = item.part(&COMMENT, context)?;
    if comment.has(&comment::EXACT) {
        let others: [&dyn AnyField; 2] = [&comment::NAME, &comment::FORMAT];
        for other in others {
            if comment.has(other) {
                let name = other.name();
                let message =
                    format!("`{name}` has no effect beside `exact`, which describes the whole comment");
                comment.error(NOT_TOGETHER, message, comment.key_span(other), context);
            }
        }
        let template = template(&comment, &comment::EXACT, key, context)?;
        let form = CommentForm::Exact(template);
        return Some(Finder::Comment {
            word: key.name.clone(),
            form,
        });
    }
    let word = match comment.get(&comment::NAME, context) {
        Some(word) => {
            check_word(&comment, &word, comment.span(&comment::NAME), context)?;
            word
        }
        None if comment.has(&comment::NAME) => return None,
        None => key.name.clone(),
    };
    let form = match comment.get(&comment::FORMAT, context) {
        Some(CommentFormat::Sqlcommenter) => CommentForm::Sqlcommenter,
        None => CommentForm::Pairs,
    };
    Some(Finder::Comment { word, form })
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum CommentFormat {
    Sqlcommenter,
}

impl Words for CommentFormat {
    const WORDS: &'static [(&'static str, Self)] = &[("sqlcommenter", Self::Sqlcommenter)];
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
    field: &dyn AnyField,
    key: &Key,
    context: &mut Context<'_>,
) -> Option<KeyTemplate> {
    let field = object.field(field)?;
    let node = field.value.node()?;
    let template = context.around_key(node, object.environment)?;
    if template.width.is_some() && key.kind == KeyKind::Text {
        let message = "a key of type text cannot be padded with zeros";
        object.error(BAD_VALUE, message, node.span, context);
        return None;
    }
    Some(template)
}

fn column(map: MapKey<'_>, item: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Finder> {
    let column = item.part(&COLUMN, context)?;
    if !map.has_logical_schema {
        let message = "a column finder needs a `logical_schema`: only its tables have the column";
        item.error(MISSING_KEY, message, item.key_span(&COLUMN), context);
    }
    column.require_all(&column::FIELDS, context);
    let name = column.get(&column::NAME, context);
    let in_shards = column.get(&column::IN_SHARDS, context);
    Some(Finder::Column {
        column: name?,
        in_shards,
    })
}
