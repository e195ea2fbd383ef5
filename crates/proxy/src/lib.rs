//! The bundled proxy: sessions, pools, routing, and its admin port.
