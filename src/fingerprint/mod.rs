//! Text, weights, bits: from columns of text to a fingerprint. Pure Rust; knows no PostgreSQL.
