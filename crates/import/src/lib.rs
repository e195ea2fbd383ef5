//! Rule sets of existing systems read back as configurations and topologies.
//!
//! Nothing is here yet: dumps, `proxysql.cnf` and live systems are read once the analyser can prove that what was
//! lifted means the same.
