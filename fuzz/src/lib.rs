//! What the targets have in common: inputs with a shape, and files in memory.

pub mod definition;
pub mod memory;
pub mod segment;
