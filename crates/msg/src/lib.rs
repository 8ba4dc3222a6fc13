//! Message definitions, resolved types, plans and values.

#![forbid(unsafe_code)]
