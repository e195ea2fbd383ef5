//! Rows of a live ProxySQL for people.

use shardwright_rules::Address;

use super::changes::address_of;
use super::effects::written;
use super::live::Live;
use super::row::RowName;

impl Live {
    /// The object that a row says it is of.
    pub fn address(&self, name: &RowName) -> Option<Address> {
        self.row(name).map(|row| address_of(name, row))
    }

    /// The columns of a row that are not what they are by default, for people.
    pub fn said(&self, name: &RowName) -> String {
        let facts = self
            .row(name)
            .map(|row| written(name.table, row))
            .unwrap_or_default();
        let said = facts.iter().map(|(column, value)| format!("{column} {value}"));
        said.collect::<Vec<_>>().join(", ")
    }
}
