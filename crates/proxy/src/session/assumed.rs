//! What is taken for granted about a statement, and confirmed before it is sent: what its tables are, and that the
//! statement it asks about ran where it goes.

use std::time::Instant;

use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{AssumedTable, HostgroupId};
use shardwright_sql::{Shape, StatementClass};
use shardwright_wire::{Command, errors};

use super::Session;
use super::checkout_error::CheckoutError;
use super::held::Held;
use super::holds::Holds;
use super::routed::RoutedStatement;
use crate::base_tables::{AskedFor, Era, question};

impl Session {
    /// Whether these are known to be base tables.
    pub(super) fn is_confirmed(&self, held: &Held, routed: &RoutedStatement<'_>) -> bool {
        let mut assumed = routed.besides.assumed.iter();
        assumed.all(|table| self.is_base(self.era(), held.hostgroup, table))
    }

    fn is_base(&self, era: Era, hostgroup: HostgroupId, table: &AssumedTable) -> bool {
        let mut tables = self.worker.base_tables.borrow_mut();
        tables.is_base(era, hostgroup, table, Instant::now())
    }

    /// Sees to it that these are base tables: those that are not known to be are asked for on the connection that the
    /// statement is to run on.
    pub(super) async fn confirm(
        &mut self,
        held: &mut Held,
        routed: &RoutedStatement<'_>,
    ) -> Result<(), CheckoutError> {
        for table in &routed.besides.assumed {
            let era = self.era();
            let hostgroup = held.hostgroup;
            if self.is_base(era, hostgroup, table) {
                continue;
            }
            if routed.requirements.asks {
                return Err(CheckoutError::Refused(errors::UNKNOWN.with(
                    "the proxy must first ask the server about the statement's tables, and then the result of the previous statement is lost; use a statement without tables",
                )));
            }
            let asked = question(table);
            let exchange = held.backend.exchange(Command::Query(asked.as_bytes())).await;
            let outcome = exchange.map_err(|error| CheckoutError::Fatal(error.for_client()))?;
            // The question has taken the place of the statement that could be asked about.
            held.holds.remove(Holds::WARNINGS | Holds::FOUND_ROWS);
            self.diagnostics.lose_warnings();
            if outcome.error.is_none() && outcome.rows == 1 {
                let mut tables = self.worker.base_tables.borrow_mut();
                let asked = AskedFor {
                    hostgroup,
                    table,
                    era,
                };
                tables.learn(&asked, self.era(), Instant::now());
            }
            let refused = match outcome.error {
                Some(error) => Some(CheckoutError::Refused(error)),
                None if outcome.rows > 1 => {
                    let message = refusal::not_a_base_table(&table.map, &table.schema, &table.table);
                    let rejection = Refusal::NotABaseTable.rejection(message, None);
                    Some(CheckoutError::Rejected(Box::new(rejection)))
                }
                None => None,
            };
            if let Some(refused) = refused {
                // Questions about the statement before are refused.
                self.diagnostics.lose_previous();
                return Err(refused);
            }
        }
        Ok(())
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

/// Whether a statement may create, change or drop a table or a view. Functions cannot: they may not commit.
fn may_change_tables(shape: &Shape) -> bool {
    use StatementClass as C;
    shape.executable_comment || matches!(shape.class, C::Ddl | C::Call | C::Prepare | C::Other)
}
