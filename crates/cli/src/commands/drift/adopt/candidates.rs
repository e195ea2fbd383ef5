//! What people could have written for a row of a live ProxySQL: edits to try, the likeliest first.

use serde_json::Value;
use shardwright_documents::spelled;
use shardwright_plan::{Facts, RowKey};
use shardwright_rules::{Address, Cluster, Configuration, HostgroupId, Role, Words};

use super::text::{Edit, Step, steps};

/// Where rules go that no file has a place for.
const ADOPTED: &str = "query_rules.adopted.rules";
/// On ProxySQL, readers have 100 times the weight that is written.
const READER_WEIGHT: i64 = 100;

/// A row that is another live than the files say.
pub(super) struct Row<'a> {
    pub(super) address: &'a Address,
    pub(super) key: &'a RowKey,
    /// The columns that differ, as they are live; `None`: there is no such row.
    pub(super) live: Option<&'a Facts>,
    /// The same as the files say.
    pub(super) files: Option<&'a Facts>,
}

/// Edits, several that belong together in one; after one of them the files may say what is live.
///
/// # Errors
/// Why there are none, for people.
pub(super) fn candidates(row: &Row<'_>, configuration: &Configuration) -> Result<Vec<Vec<Edit>>, String> {
    match (row.live, row.files) {
        (Some(live), None) => added(row.key, live, configuration),
        (None, Some(_)) => match is_written(row.address) {
            true => Ok(vec![vec![Edit::Remove(steps(row.address.as_str()))]]),
            false => Err(compiled(row.address)),
        },
        (Some(live), Some(_)) => changed(row, live, configuration),
        (None, None) => Err("it is in neither".to_owned()),
    }
}

/// Whether an object is one that is written row by row.
fn is_written(address: &Address) -> bool {
    let parts: Vec<&str> = address.as_str().split('.').collect();
    match parts.as_slice() {
        ["clusters", _, "servers", _] | ["users", _] => true,
        ["query_rules", _, rule] => rule.starts_with("rules["),
        _ => false,
    }
}

fn compiled(address: &Address) -> String {
    format!("rows of {address} are compiled: change the object, or write a rule of your own")
}

fn added(key: &RowKey, live: &Facts, configuration: &Configuration) -> Result<Vec<Vec<Edit>>, String> {
    match key {
        RowKey::Rule(id) => {
            let mut fields = vec![format!("rule_id: {id}")];
            for (column, value) in live {
                fields.extend(rule_fields(column, value, configuration));
            }
            let rule = format!("{{{}}}", fields.join(", "));
            Ok(vec![vec![Edit::Append(steps(ADOPTED), rule)]])
        }
        RowKey::Row { table, key } if table == "mysql_servers" => server(key, live, configuration),
        RowKey::Row { table, .. } if table == "mysql_users" => Err(
            "its password is not known: write the user with a reference to it, or import the proxy again"
                .to_owned(),
        ),
        RowKey::FastRoute { .. } | RowKey::Row { .. } => {
            Err("only rules and servers of known clusters are added".to_owned())
        }
    }
}

/// A server of a cluster of the project.
fn server(key: &[String], live: &Facts, configuration: &Configuration) -> Result<Vec<Vec<Edit>>, String> {
    let [hostgroup, host, port] = key else {
        return Err("its key is not that of a server".to_owned());
    };
    let Some((cluster, role)) = place(hostgroup, configuration) else {
        return Err(format!(
            "hostgroup {hostgroup} is none of a cluster of the project"
        ));
    };
    let name = shardwright_adopt::name_of_host(host);
    let mut path = steps(cluster.address.as_str());
    path.extend([Step::Key("servers".to_owned()), Step::Key(name)]);
    let mut fields = vec![format!("host: {}", spelled(host))];
    if port != "3306" {
        fields.push(format!("port: {port}"));
    }
    let weight = live.get("weight").and_then(Value::as_i64);
    for (column, value) in live.iter().filter(|(column, _)| *column != "weight") {
        fields.extend(server_field(column, value));
    }
    let with = |weight: Option<String>| {
        let fields: Vec<String> = fields.iter().cloned().chain(weight).collect();
        vec![Edit::Set(path.clone(), format!("{{{}}}", fields.join(", ")))]
    };
    let mut edits = vec![with(None)];
    if let Some(weight) = weight {
        edits = weights(weight, role)
            .map(|(field, value)| with(Some(format!("{field}: {value}"))))
            .collect();
    }
    Ok(edits)
}

/// Every way to write a weight.
fn weights(weight: i64, role: Role) -> impl Iterator<Item = (&'static str, i64)> {
    let is_reader = role == Role::Reader;
    let divided = (weight % READER_WEIGHT == 0).then_some(weight / READER_WEIGHT);
    let read = [divided, Some(weight)]
        .into_iter()
        .flatten()
        .filter(move |_| is_reader);
    read.map(|value| ("read_weight", value))
        .chain([("weight", weight)])
}

fn place<'c>(hostgroup: &str, configuration: &'c Configuration) -> Option<(&'c Cluster, Role)> {
    let id = hostgroup.parse().ok().map(HostgroupId)?;
    let cluster = configuration.cluster_of(id)?;
    let role = match cluster.writer == id {
        true => Role::Writer,
        false => Role::Reader,
    };
    Some((cluster, role))
}

fn server_field(column: &str, value: &Value) -> Option<String> {
    match column {
        "max_connections" => Some(format!("max_connections: {value}")),
        "max_replication_lag" => Some(format!("max_replication_lag: {value}s")),
        "status" => state(value).map(|state| format!("state: {state}")),
        _ => None,
    }
}

fn state(status: &Value) -> Option<&'static str> {
    match status.as_str()?.to_ascii_uppercase().as_str() {
        "ONLINE" => Some("online"),
        "OFFLINE_SOFT" => Some("draining"),
        "OFFLINE_HARD" => Some("offline"),
        _ => None,
    }
}

/// The fields of the language for a column of a rule.
fn rule_fields(column: &str, value: &Value, configuration: &Configuration) -> Vec<String> {
    match (column, value) {
        ("destination_hostgroup", Value::Number(id)) => match place(&id.to_string(), configuration) {
            Some((cluster, role)) => {
                let role = (role == Role::Reader).then(|| format!("role: {}", role.word()));
                let cluster = format!("cluster: {}", spelled(&cluster.name));
                std::iter::once(cluster).chain(role).collect()
            }
            None => vec![format!("destination_hostgroup: {id}")],
        },
        (column, value) => vec![format!("{}: {}", spelled(column), scalar(value))],
    }
}

/// A value as it stands in YAML. What a template would be in the language is written as the text that it is.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => spelled(&text.replace("$(", "$$(")).into_owned(),
        other => other.to_string(),
    }
}

fn changed(row: &Row<'_>, live: &Facts, configuration: &Configuration) -> Result<Vec<Vec<Edit>>, String> {
    if let RowKey::Row { table, key } = row.key
        && table == "global_variables"
    {
        return variable(key, live);
    }
    if !is_written(row.address) {
        return Err(compiled(row.address));
    }
    let set = |field: &str, value: String| {
        let mut path = steps(row.address.as_str());
        path.push(Step::Key(field.to_owned()));
        Edit::Set(path, value)
    };
    let mut always = Vec::new();
    let mut weight = None;
    for (column, value) in live {
        match (row.key, column.as_str()) {
            (RowKey::Rule(_), "destination_hostgroup") => {
                always.extend(destination(row, value, configuration)?)
            }
            (RowKey::Rule(_), _) => always.push(set(column, scalar(value))),
            (RowKey::Row { key, .. }, "weight") => weight = Some((key, value.as_i64().unwrap_or_default())),
            (_, "max_connections") => always.push(set(column, scalar(value))),
            (_, "max_replication_lag") => always.push(set(column, format!("{value}s"))),
            (_, "status") => {
                let state = state(value).ok_or("no file can say this state")?;
                always.push(set("state", state.to_owned()));
            }
            (_, "default_schema") => always.push(set("schema", scalar(value))),
            (_, "transaction_persistent") => {
                let on = value.as_i64() == Some(1);
                always.push(set(column, on.to_string()));
            }
            (_, "default_hostgroup") => always.extend(destination(row, value, configuration)?),
            // It names the object that the row is of, or is a remark of somebody's, which stays.
            (RowKey::Row { .. }, "comment") => {}
            (_, "password") => return Err("passwords are not written into files".to_owned()),
            (_, column) => return Err(format!("no field of the files says {column}")),
        }
    }
    let Some((key, weight)) = weight else {
        return Ok(vec![always]);
    };
    let role = key
        .first()
        .and_then(|id| place(id, configuration))
        .map_or(Role::Writer, |(_, role)| role);
    let ways = weights(weight, role).map(|(field, value)| {
        let weight = set(field, value.to_string());
        always.iter().cloned().chain([weight]).collect()
    });
    Ok(ways.collect())
}

/// Where a rule or a user leads.
fn destination(row: &Row<'_>, value: &Value, configuration: &Configuration) -> Result<Vec<Edit>, String> {
    let Some((cluster, role)) = place(&value.to_string(), configuration) else {
        return Err(format!("hostgroup {value} is none of a cluster of the project"));
    };
    let set = |field: &str, value: &str| {
        let mut path = steps(row.address.as_str());
        path.push(Step::Key(field.to_owned()));
        Edit::Set(path, spelled(value).into_owned())
    };
    let before = row.files.and_then(|files| {
        let column = files
            .get("destination_hostgroup")
            .or(files.get("default_hostgroup"))?;
        Some(place(&column.to_string(), configuration)?.1)
    });
    let mut edits = vec![set("cluster", &cluster.name)];
    if before != Some(role) {
        edits.push(set("role", role.word()));
    }
    Ok(edits)
}

fn variable(key: &[String], live: &Facts) -> Result<Vec<Vec<Edit>>, String> {
    let [name] = key else {
        return Err("its key is not that of a variable".to_owned());
    };
    let value = live
        .get("variable_value")
        .and_then(Value::as_str)
        .ok_or("secrets are not written into files")?;
    let mut path = steps("engine_settings.proxysql");
    path.push(Step::Key(name.clone()));
    let plain = value == "true" || value == "false" || value.parse::<i64>().is_ok();
    let written = match plain {
        true => value.to_owned(),
        false => spelled(value).into_owned(),
    };
    Ok(vec![vec![Edit::Set(path, written)]])
}
