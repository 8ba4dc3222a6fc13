//! Histories seen from outside: their records, and the truth about them.

#[cfg(test)]
mod records;
#[cfg(test)]
mod support;
#[cfg(test)]
mod truth;
