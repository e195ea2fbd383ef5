//! YAML that people keep: an object to a line where it fits, else a field to a line.

use std::fmt::Write as _;

use shardwright_documents::{WIDTH, spelled};

/// Spaces that each level is indented by.
const INDENT: usize = 2;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml {
    /// A word, a number, `true` or `false`: written as it is.
    Word(String),
    /// A text, quoted where it has to be.
    Text(String),
    /// Items.
    List(Vec<Yaml>),
    /// Fields in order.
    Map(Vec<Field>),
    /// The same with a field to a line, however short it is.
    Block(Vec<Field>),
}

/// A field of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: Yaml,
    /// What stands above it, a line each; only of fields that have a line of their own.
    pub comment: Vec<String>,
}

impl Field {
    /// A field without a comment.
    pub fn new(key: impl Into<String>, value: Yaml) -> Self {
        Self {
            key: key.into(),
            value,
            comment: Vec::new(),
        }
    }

    /// A field with a comment above it.
    pub fn commented(key: impl Into<String>, value: Yaml, comment: Vec<String>) -> Self {
        Self {
            comment,
            ..Self::new(key, value)
        }
    }
}

impl Yaml {
    /// A text. What a template would be in the language is written as the text that it is.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(text.as_ref().replace("$(", "$$("))
    }

    /// A number.
    pub fn number(number: impl Into<i64>) -> Self {
        Self::Word(number.into().to_string())
    }

    /// A word of the language.
    pub fn word(word: impl Into<String>) -> Self {
        Self::Word(word.into())
    }

    /// A list of texts.
    pub fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    /// A map of fields, without those that have no value.
    pub fn map<const N: usize>(fields: [(&str, Option<Yaml>); N]) -> Self {
        Self::Map(fields_of(fields))
    }

    /// A document: each of its sections behind an empty line, each object of a section on lines of its own.
    pub fn document(sections: &[Field]) -> String {
        let mut out = "version: 1\n".to_owned();
        for section in sections {
            out.push('\n');
            write_field(&mut out, section, 0, true);
        }
        out
    }

    /// On one line, as it may stand anywhere; none where it needs several.
    pub(crate) fn flow(&self) -> Option<String> {
        match self {
            Self::Word(word) => Some(word.clone()),
            Self::Text(text) => Some(spelled(text).into_owned()),
            Self::List(items) => {
                let items: Option<Vec<String>> = items.iter().map(Yaml::flow).collect();
                Some(format!("[{}]", items?.join(", ")))
            }
            Self::Map(fields) => {
                let field = |field: &Field| {
                    let value = field.value.flow().filter(|_| field.comment.is_empty())?;
                    Some(format!("{}: {value}", spelled(&field.key)))
                };
                let fields: Option<Vec<String>> = fields.iter().map(field).collect();
                Some(format!("{{{}}}", fields?.join(", ")))
            }
            Self::Block(fields) => fields.is_empty().then(|| "{}".to_owned()),
        }
    }
}

/// Fields without those that have no value.
pub(crate) fn fields_of<const N: usize>(fields: [(&str, Option<Yaml>); N]) -> Vec<Field> {
    let given = fields.into_iter();
    given
        .filter_map(|(key, value)| Some(Field::new(key, value?)))
        .collect()
}

/// A field on lines of its own; that of a section never stands on one.
fn write_field(out: &mut String, field: &Field, indent: usize, is_section: bool) {
    let pad = " ".repeat(indent);
    for line in &field.comment {
        writeln!(out, "{pad}# {line}").expect("writing to a string cannot fail");
    }
    let lead = format!("{pad}{}:", spelled(&field.key));
    let flow = field.value.flow().filter(|_| !is_section);
    if let Some(flow) = flow.filter(|flow| fits(lead.len() + 1, flow, &field.value)) {
        writeln!(out, "{lead} {flow}").expect("writing to a string cannot fail");
        return;
    }
    out.push_str(&lead);
    match &field.value {
        Yaml::Map(fields) | Yaml::Block(fields) if !fields.is_empty() => {
            out.push('\n');
            for field in fields {
                write_field(out, field, indent + INDENT, false);
            }
        }
        Yaml::List(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                write_item(out, item, indent + INDENT);
            }
        }
        other => {
            let flow = other.flow().expect("a value without parts stands on one line");
            writeln!(out, " {flow}").expect("writing to a string cannot fail");
        }
    }
}

/// A scalar stands on one line, however long it is.
fn fits(lead: usize, flow: &str, value: &Yaml) -> bool {
    matches!(value, Yaml::Word(_) | Yaml::Text(_)) || lead + flow.chars().count() <= WIDTH
}

fn write_item(out: &mut String, item: &Yaml, indent: usize) {
    let pad = " ".repeat(indent);
    if let Some(flow) = item.flow().filter(|flow| fits(indent + 2, flow, item)) {
        writeln!(out, "{pad}- {flow}").expect("writing to a string cannot fail");
        return;
    }
    let mut inner = String::new();
    match item {
        Yaml::Map(fields) | Yaml::Block(fields) => {
            for field in fields {
                write_field(&mut inner, field, indent + INDENT, false);
            }
        }
        Yaml::List(items) => {
            for item in items {
                write_item(&mut inner, item, indent + INDENT);
            }
        }
        Yaml::Word(_) | Yaml::Text(_) => unreachable!("a scalar stands on one line"),
    }
    // The dash takes the place of the first line's indentation.
    out.push_str(&pad);
    out.push_str("- ");
    out.push_str(inner.trim_start_matches(' '));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_stand_on_a_line_where_they_fit() {
        let server = |host: &str| Yaml::map([("host", Some(Yaml::text(host)))]);
        let long = Yaml::map([
            ("rule_id", Some(Yaml::number(1_u32))),
            (
                "match_digest",
                Some(Yaml::text("^SELECT .* FROM a_table_with_a_name_that_is_long")),
            ),
            (
                "error_msg",
                Some(Yaml::text("a message of which nobody would say that it is short")),
            ),
        ]);
        let text = Yaml::document(&[
            Field::new(
                "clusters",
                Yaml::Map(vec![Field::commented(
                    "shop",
                    Yaml::Block(vec![
                        Field::new("type", Yaml::word("replication")),
                        Field::new(
                            "servers",
                            Yaml::Block(vec![
                                Field::new("a", server("a.db")),
                                Field::new("b", server("b.db")),
                            ]),
                        ),
                    ]),
                    vec!["hostgroup 10".to_owned()],
                )]),
            ),
            Field::new(
                "query_rules",
                Yaml::Map(vec![Field::new(
                    "legacy",
                    Yaml::Block(vec![Field::new(
                        "rules",
                        Yaml::List(vec![
                            Yaml::map([("username", Some(Yaml::text("$(x) 017"))), ("apply", None)]),
                            long,
                        ]),
                    )]),
                )]),
            ),
        ]);
        insta::assert_snapshot!(text, @r#"
        version: 1

        clusters:
          # hostgroup 10
          shop:
            type: replication
            servers:
              a: {host: a.db}
              b: {host: b.db}

        query_rules:
          legacy:
            rules:
              - {username: "$$(x) 017"}
              - rule_id: 1
                match_digest: "^SELECT .* FROM a_table_with_a_name_that_is_long"
                error_msg: a message of which nobody would say that it is short
        "#);
    }
}
