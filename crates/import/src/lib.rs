//! Rule sets of existing systems read back as configurations and topologies.
