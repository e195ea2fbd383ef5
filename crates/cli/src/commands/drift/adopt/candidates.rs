//! What people could have written for a row of a live ProxySQL: edits to try, the likeliest first.

use serde_json::Value;
use shardwright_documents::spelled;
use shardwright_plan::{Facts, RowKey};
use shardwright_rules::{Address, Cluster, Configuration, HostgroupId, Role, Words};

use super::text::{Edit, Step, steps};

/// Where rules and rows of fast routing go that no file has a place for.
const ADOPTED: &str = "query_rules.adopted.rules";
const ADOPTED_ROUTES: &str = "query_rules.adopted.fast_routing";
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
    /// It is a user whose password is stored as a hash, which a file of secrets can hold.
    pub(super) has_hash: bool,
}

/// Edits, several that belong together in one; after one of them the files may say what is live.
///
/// # Errors
/// Why there are none, for people.
pub(super) fn candidates(row: &Row<'_>, configuration: &Configuration) -> Result<Vec<Vec<Edit>>, String> {
    match (row.live, row.files) {
        (Some(live), None) => added(row, live, configuration),
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
        ["query_rules", _, row] => row.starts_with("rules[") || row.starts_with("fast_routing["),
        _ => false,
    }
}

fn compiled(address: &Address) -> String {
    format!("rows of {address} are compiled: change the object, or write a rule of your own")
}

fn added(row: &Row<'_>, live: &Facts, configuration: &Configuration) -> Result<Vec<Vec<Edit>>, String> {
    match row.key {
        RowKey::Rule(id) => {
            let mut fields = vec![format!("rule_id: {id}")];
            for (column, value) in live {
                fields.extend(rule_fields(column, value, configuration));
            }
            Ok(appended(ADOPTED, &fields))
        }
        RowKey::FastRoute {
            username,
            schemaname,
            flag_in,
        } => {
            let user = (!username.is_empty()).then(|| format!("username: {}", text(username)));
            let flag = (*flag_in != 0).then(|| format!("flagIN: {flag_in}"));
            let mut fields: Vec<String> = user.into_iter().collect();
            fields.push(format!("schemaname: {}", text(schemaname)));
            fields.extend(flag);
            // The language has no remarks on these rows; the one that is there stays.
            for (column, value) in live.iter().filter(|(column, _)| *column != "comment") {
                fields.extend(rule_fields(column, value, configuration));
            }
            Ok(appended(ADOPTED_ROUTES, &fields))
        }
        RowKey::Row { table, key } if table == "mysql_servers" => server(key, live, configuration),
        RowKey::Row { table, key } if table == "mysql_users" => user(row, key, live, configuration),
        RowKey::Row { .. } => {
            Err("only rules, rows of fast routing, users, and servers of known clusters are added".to_owned())
        }
    }
}

/// An item of a list as the only way.
fn appended(list: &str, fields: &[String]) -> Vec<Vec<Edit>> {
    vec![vec![Edit::Append(
        steps(list),
        format!("{{{}}}", fields.join(", ")),
    )]]
}

/// The name of a user that a row of `mysql_users` adds, where a file of secrets can have its name.
pub(super) fn secret_of(key: &RowKey) -> Option<&str> {
    let RowKey::Row { table, key } = key else {
        return None;
    };
    let name = key.first().filter(|_| table == "mysql_users")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (name.chars().all(is_plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some(name)
}

/// A user whose hash goes to a file of secrets.
fn user(
    row: &Row<'_>,
    key: &[String],
    live: &Facts,
    configuration: &Configuration,
) -> Result<Vec<Vec<Edit>>, String> {
    if !row.has_hash {
        return Err("its password is not stored as a hash: write the user with a reference to it".to_owned());
    }
    let name = secret_of(row.key).ok_or("no file of secrets can have its name: write the user by hand")?;
    if key.get(1).map(String::as_str) != Some("1") {
        return Err("it is split into a user for clients and one for servers".to_owned());
    }
    let hostgroup = live
        .get("default_hostgroup")
        .map_or("0".to_owned(), Value::to_string);
    let Some((cluster, role)) = place(&hostgroup, configuration) else {
        return Err(format!(
            "hostgroup {hostgroup} is none of a cluster of the project"
        ));
    };
    let mut fields = vec![
        format!(
            "password: {{file: {}}}",
            text(&shardwright_adopt::accounts::secret_path(name))
        ),
        format!("cluster: {}", text(&cluster.name)),
    ];
    if role == Role::Reader {
        // More than the default hostgroup would be another meaning than that of the row.
        fields.extend([format!("role: {}", role.word()), "reads_only: false".to_owned()]);
    }
    for (column, value) in live {
        match column.as_str() {
            "default_hostgroup" | "password" | "comment" => {}
            "default_schema" => fields.push(format!("schema: {}", scalar(value))),
            "max_connections" => fields.push(format!("max_connections: {value}")),
            "transaction_persistent" => {
                fields.push(format!("transaction_persistent: {}", value.as_i64() == Some(1)));
            }
            "use_ssl" if value.as_i64() == Some(1) => fields.push("tls: required".to_owned()),
            column => return Err(format!("no field of the files says {column}")),
        }
    }
    let path = vec![Step::Key("users".to_owned()), Step::Key(name.to_owned())];
    Ok(vec![vec![Edit::Set(path, format!("{{{}}}", fields.join(", ")))]])
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

/// A value as it stands in YAML.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(value) => text(value),
        other => other.to_string(),
    }
}

/// A text as it stands in YAML. What a template would be in the language is written as the text that it is.
fn text(text: &str) -> String {
    spelled(&text.replace("$(", "$$(")).into_owned()
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
            (RowKey::Rule(_) | RowKey::FastRoute { .. }, "destination_hostgroup") => {
                always.extend(destination(row, value, configuration)?)
            }
            (RowKey::FastRoute { .. }, "comment") => {}
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
            (_, "password") => {
                return Err("its password is another one: change it where the file refers to".to_owned());
            }
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
