//! From a row of any type to columns of canonical text, and the SQL functions that fingerprint it.
