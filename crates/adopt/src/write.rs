//! A draft as the files of a project.

mod clusters;
mod project;
mod rules;
mod surroundings;
mod users;

use std::collections::BTreeMap;

use shardwright_rules::{HostgroupId, Role, Words};

pub(crate) use users::duration;

use crate::draft::Draft;
use crate::exact::object_names;
use crate::yaml::{Field, Yaml};

/// A file of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// Its path in the project.
    pub path: &'static str,
    /// Its text.
    pub text: String,
}

/// The files of a project, without its lock and its secrets.
pub(crate) fn files(draft: &Draft) -> Vec<ProjectFile> {
    let sections = [
        ("topology/clusters.yaml", clusters::sections(draft)),
        ("topology/users.yaml", users::sections(draft)),
        ("topology/routing.yaml", objects(draft)),
        ("topology/rules.yaml", rules::sections(draft)),
        ("topology/engine.yaml", surroundings::sections(draft)),
    ];
    let topology = sections.into_iter().map(|(path, sections)| {
        let filled: Vec<Field> = sections
            .into_iter()
            .filter(|section| !is_empty(&section.value))
            .collect();
        (path, filled)
    });
    let topology = topology
        .filter(|(path, sections)| !sections.is_empty() || *path == "topology/clusters.yaml")
        .map(|(path, sections)| ProjectFile {
            path,
            text: Yaml::document(&sections),
        });
    std::iter::once(ProjectFile {
        path: "shardwright.yaml",
        text: project::text(draft),
    })
    .chain(topology)
    .collect()
}

fn is_empty(value: &Yaml) -> bool {
    matches!(value, Yaml::Map(fields) | Yaml::Block(fields) if fields.is_empty())
}

/// Lifted objects by section, in the order in which they were lifted.
fn objects(draft: &Draft) -> Vec<Field> {
    let names = object_names(draft);
    let names = names
        .into_iter()
        .map(|(login, name)| (login.replace("$(", "$$("), name))
        .collect();
    let mut sections: Vec<Field> = Vec::new();
    for object in &draft.objects {
        let mut fields = &mut sections;
        for key in object.section {
            let at = fields
                .iter()
                .position(|field| field.key == *key)
                .unwrap_or_else(|| {
                    fields.push(Field::new(*key, Yaml::Block(Vec::new())));
                    fields.len() - 1
                });
            let Yaml::Block(inner) = &mut fields[at].value else {
                unreachable!("sections are made above")
            };
            fields = inner;
        }
        fields.push(with_names(&object.field, &names));
    }
    sections
}

/// A field with the names that users have in files, where drafts know them by their logins.
fn with_names(field: &Field, names: &BTreeMap<String, String>) -> Field {
    if names.is_empty() {
        return field.clone();
    }
    let named = |user: &Yaml| match user {
        Yaml::Text(login) => Yaml::Text(names.get(login).unwrap_or(login).clone()),
        other => other.clone(),
    };
    let inner = |fields: &[Field]| fields.iter().map(|field| with_names(field, names)).collect();
    let value = match &field.value {
        Yaml::List(users) if matches!(&*field.key, "users" | "except_users") => {
            Yaml::List(users.iter().map(named).collect())
        }
        Yaml::Map(fields) => Yaml::Map(inner(fields)),
        Yaml::Block(fields) => Yaml::Block(inner(fields)),
        other => other.clone(),
    };
    Field {
        value,
        ..field.clone()
    }
}

/// `cluster` and `role` of a destination; its number where no cluster has it.
pub(crate) fn destination(draft: &Draft, hostgroup: HostgroupId) -> Vec<Field> {
    match draft.place(hostgroup) {
        Some((cluster, role)) => {
            let mut fields = vec![Field::new("cluster", Yaml::text(&cluster.name))];
            if role == Role::Reader {
                fields.push(Field::new("role", Yaml::word(role.word())));
            }
            fields
        }
        None => vec![Field::new("destination_hostgroup", Yaml::number(hostgroup.0))],
    }
}
