//! What is taken for granted about a statement, and confirmed before it is sent: what its tables are, and how their key
//! columns compare and store the statement's keys.

use std::sync::Arc;
use std::time::Instant;

use shardwright_rules::key_column::{Distinction, ForeignKeys, KeyColumn, KeysOfMap, QuestionOfKeys};
use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{
    AssumedTable, Body, ComparedValue, Encoding, Finder, HostgroupId, MapStep, NativeStep,
};
use shardwright_sql::{Shape, StatementClass};
use shardwright_wire::errors;

use super::Session;
use super::checkout_error::CheckoutError;
use super::held::Held;
use super::holds::Holds;
use super::routed::RoutedStatement;
use crate::backend::BackendError;
use crate::base_tables::{AskedFor, Belief, Era, KnownColumn};
use crate::foreign_key_question;
use crate::table_question::{TableAnswer, question};

/// Asks for the character sets that statements are read in and converted to.
const CHARSETS: &[u8] = b"SELECT CAST(CONVERT(CONCAT_WS(' ', @@character_set_client, @@character_set_connection) USING utf8mb4) AS \
      BINARY) LIMIT 1";
/// Time for an answer that nothing but locks of tables holds up.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

impl Session {
    /// Whether all that a statement takes for granted is known to be so.
    pub(super) fn is_confirmed(&self, held: &Held, routed: &RoutedStatement<'_>) -> bool {
        let assumed = &routed.besides.assumed;
        if assumed.is_empty() {
            return true;
        }
        if needs_utf8(assumed).is_some() && !held.backend.is_utf8 {
            return false;
        }
        let mut comparisons = None;
        assumed
            .iter()
            .all(|table| match self.belief(held.hostgroup, table) {
                Belief::True { comparison: None } => true,
                Belief::True { comparison } => *comparisons.get_or_insert(comparison) == comparison,
                Belief::False { .. } | Belief::PassedOn(_) | Belief::Unknown => false,
            })
    }

    fn belief(&self, hostgroup: HostgroupId, table: &AssumedTable) -> Belief {
        let mut tables = self.worker.base_tables.borrow_mut();
        tables.belief(self.era(), hostgroup, table, Instant::now())
    }

    /// Sees to it that tables are what a statement takes them for: those that are not known are asked for on the connection
    /// that the statement is to run on.
    pub(super) async fn confirm(
        &mut self,
        held: &mut Held,
        routed: &RoutedStatement<'_>,
    ) -> Result<(), CheckoutError> {
        if let Some(map) = needs_utf8(&routed.besides.assumed) {
            self.confirm_utf8(held, map, routed.requirements.asks()).await?;
        }
        let mut comparisons = None;
        for table in &routed.besides.assumed {
            let mut belief = self.belief(held.hostgroup, table);
            if belief == Belief::Unknown {
                if routed.requirements.asks() {
                    return Err(loses_previous());
                }
                belief = self.ask(held, table).await?;
            }
            match belief {
                Belief::True { comparison: None } | Belief::Unknown => {}
                Belief::True { comparison } if *comparisons.get_or_insert(comparison) == comparison => {}
                Belief::True { .. } => return Err(refused(refusal::mixed_key_columns(&table.map))),
                Belief::False { is_a, why } => {
                    let column = table.key.as_ref().map_or("", |key| &key.column);
                    return Err(refused(refusal::key_column(table, column, &is_a, &why)));
                }
                Belief::PassedOn(passed_on) => {
                    return Err(refused(refusal::passed_on(table, &passed_on)));
                }
            }
        }
        Ok(())
    }

    /// Sees to it that the server reads a key beyond ASCII as it is read here: `init_connect`, and code that has run, can change
    /// the character sets of a connection, and nothing tells of it.
    async fn confirm_utf8(&mut self, held: &mut Held, map: &str, asks: bool) -> Result<(), CheckoutError> {
        if held.backend.is_utf8 {
            return Ok(());
        }
        if asks {
            return Err(loses_previous());
        }
        let answer = held.backend.exchange_value(CHARSETS).await;
        let answer = answer.map_err(|error| CheckoutError::Fatal(error.for_client()))?;
        held.holds.remove(Holds::WARNINGS | Holds::FOUND_ROWS);
        let read = |name: &[u8]| Encoding::of_charset(&String::from_utf8_lossy(name));
        let least = answer
            .as_deref()
            .and_then(|names| names.split(|&byte| byte == b' ').map(read).min());
        if least.is_none_or(|least| least < self.settings.encoding()) {
            return Err(refused(refusal::connection_of_other_encoding(map)));
        }
        held.backend.is_utf8 = true;
        Ok(())
    }

    /// Asks a server for a table. Unknown: there is none, and the server's error is right.
    async fn ask(&mut self, held: &mut Held, table: &AssumedTable) -> Result<Belief, CheckoutError> {
        let era = self.era();
        let answer = held
            .backend
            .exchange_rows(question(table).as_bytes(), PATIENCE)
            .await
            .map_err(|error| CheckoutError::Fatal(error.for_client()))?;
        // The question has taken the place of the statement that could be asked about.
        held.holds.remove(Holds::WARNINGS | Holds::FOUND_ROWS);
        let rows = answer.map_err(CheckoutError::Refused)?;
        let described = match TableAnswer::read(table, &rows) {
            TableAnswer::Missing => return Ok(Belief::Unknown),
            TableAnswer::NotABaseTable => {
                let message = refusal::not_a_base_table(&table.map, &table.schema, &table.table);
                let rejection = Refusal::NotABaseTable.rejection(message, None);
                return Err(CheckoutError::Rejected(Box::new(rejection)));
            }
            TableAnswer::BaseTable(described) => described,
        };
        let mut known = match (&table.key, described) {
            (None, _) => None,
            (Some(key), None) => return Err(refused(refusal::lacks_key_column(table, &key.column))),
            (Some(key), Some(described)) => {
                let column = described.key.into_key_column();
                let keys = self.keys_beside(held, table, &column).await;
                let keys = keys.map_err(|error| CheckoutError::Fatal(error.for_client()))?;
                let known = KnownColumn {
                    column,
                    keys,
                    indexed: described.indexed,
                    cascades: None,
                };
                Some((key, known))
            }
        };
        let mut asked_at = Instant::now();
        if let Some((key, known)) = &mut known
            && known.belief(key) == Belief::Unknown
        {
            let (foreign_keys, since) = self.foreign_keys(held, &table.schema).await?;
            known.cascades = Some(foreign_keys.cascades(&table.table, &self.key_columns(&table.map)));
            asked_at = since;
        }
        let belief = known
            .as_ref()
            .map_or(Belief::True { comparison: None }, |(key, known)| {
                known.belief(key)
            });
        let asked = AskedFor {
            hostgroup: held.hostgroup,
            table,
            era,
        };
        let column = known.map(|(_, known)| known);
        let mut tables = self.worker.base_tables.borrow_mut();
        tables.learn(&asked, column, self.era(), asked_at);
        Ok(belief)
    }

    /// The foreign keys of a schema, and when its server was asked for them.
    async fn foreign_keys(
        &self,
        held: &mut Held,
        schema: &Arc<str>,
    ) -> Result<(Arc<ForeignKeys>, Instant), CheckoutError> {
        let (era, now) = (self.era(), Instant::now());
        let of = (held.hostgroup, schema.clone());
        let known = self.worker.base_tables.borrow_mut().foreign_keys(era, &of, now);
        if let Some(known) = known {
            return Ok(known);
        }
        let question = foreign_key_question::question(schema);
        let answer = held.backend.exchange_rows(question.as_bytes(), PATIENCE).await;
        let answer = answer.map_err(|error| CheckoutError::Fatal(error.for_client()))?;
        let rows = answer.map_err(CheckoutError::Refused)?;
        let keys = Arc::new(foreign_key_question::foreign_keys(&rows));
        let mut tables = self.worker.base_tables.borrow_mut();
        tables.learn_foreign_keys((era, self.era()), of, keys.clone(), now);
        Ok((keys, now))
    }

    /// The columns in which a map looks for its keys.
    fn key_columns(&self, map: &str) -> Vec<&str> {
        let finders = self.map(map).into_iter().flat_map(|step| &step.finders);
        let columns = finders.filter_map(|finder| match finder {
            Finder::Column { column, .. } => Some(&**column),
            _ => None,
        });
        columns.collect()
    }

    /// The keys of a table's map beside its column; the server is asked whether it tells them apart if only it knows.
    async fn keys_beside(
        &mut self,
        held: &mut Held,
        table: &AssumedTable,
        column: &KeyColumn,
    ) -> Result<KeysOfMap, BackendError> {
        let Some(step) = self.map(&table.map) else {
            // The decision is of this snapshot, so the map is there.
            return Ok(KeysOfMap::UNKNOWN);
        };
        let (mut keys, question) = KeysOfMap::beside(step, column);
        if let Some(question) = question {
            keys.distinction = self.ask_for_keys(held, table, column, &question).await?;
        }
        Ok(keys)
    }

    async fn ask_for_keys(
        &self,
        held: &mut Held,
        table: &AssumedTable,
        column: &KeyColumn,
        question: &QuestionOfKeys,
    ) -> Result<Distinction, BackendError> {
        let of = (held.hostgroup, table.map.clone(), column.description.clone());
        if let Some(distinction) = self.worker.base_tables.borrow().distinction(&of) {
            return Ok(distinction);
        }
        let answer = held.backend.exchange_value(question.sql.as_bytes()).await?;
        let distinction = question.distinction(answer.as_deref());
        self.worker.base_tables.borrow_mut().distinguish(of, distinction);
        Ok(distinction)
    }

    fn map(&self, name: &str) -> Option<&MapStep> {
        let rules = &self.login.snapshot.configuration.graph.rules;
        rules.iter().find_map(|rule| match &rule.body {
            Body::Native {
                step: NativeStep::Map(step),
                ..
            } if step.map == name => Some(&**step),
            _ => None,
        })
    }

    fn era(&self) -> Era {
        Era {
            generation: self.login.snapshot.generation,
            changes: self.worker.shared.table_changes(),
        }
    }

    /// Forgets what is known of tables, if the statement may change one.
    pub(super) fn note_table_change(&self, shape: &Shape) {
        if may_change_tables(shape) {
            self.worker.shared.tables_changed();
        }
    }
}

/// The map of a key beyond ASCII, if there is one.
fn needs_utf8(assumed: &[AssumedTable]) -> Option<&str> {
    let is_beyond = |value: &ComparedValue| matches!(value, ComparedValue::Text(text) if !text.is_ascii());
    let has_one = |table: &&AssumedTable| {
        let key = table.key.as_ref();
        key.is_some_and(|key| key.values.iter().any(is_beyond))
    };
    assumed.iter().find(has_one).map(|table| &*table.map)
}

fn loses_previous() -> CheckoutError {
    CheckoutError::Refused(errors::UNKNOWN.with(
        "the proxy must first ask the server about the statement's tables, and then the result of the previous statement is lost; use a statement without tables",
    ))
}

fn refused(message: String) -> CheckoutError {
    CheckoutError::Rejected(Box::new(Refusal::KeyColumn.rejection(message, None)))
}

/// Whether a statement may create, change or drop a table or a view. Functions cannot: they may not commit.
fn may_change_tables(shape: &Shape) -> bool {
    use StatementClass as C;
    shape.executable_comment || matches!(shape.class, C::Ddl | C::Call | C::Prepare | C::Other)
}
