//! Nobody's rows are wiped: scripts leave alone what `manage` leaves to others, take back what the project no longer
//! writes, and a proxy of one project is not another's to change.

mod owners;
mod scripts;
