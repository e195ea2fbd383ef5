//! What a MySQL statement is: tokens, digest, comments, class, tables and keys.
