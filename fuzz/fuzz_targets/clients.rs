//! Any bytes as what a client says: commands, logins, packets. They are decoded or refused, and a command that was decoded is written
//! as it was read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_wire::{CapabilityFlags, ChangeUser, ClientHello, Command, Greeting, capability, take_packet};

fuzz_target!(|bytes: &[u8]| {
    let _ = ClientHello::decode(bytes);
    let _ = Greeting::decode(bytes);
    let _ = take_packet(bytes, 1 << 16);
    let Ok(command) = Command::decode(bytes) else { return };
    if let Command::ChangeUser(body) = command {
        for capabilities in [CapabilityFlags::empty(), capability::UNDERSTOOD] {
            let _ = ChangeUser::decode(body, capabilities);
        }
    }
    let mut written = Vec::new();
    command.encode(&mut written);
    assert_eq!(Command::decode(&written), Ok(command));
});
