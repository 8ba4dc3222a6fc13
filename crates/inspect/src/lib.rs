//! Looking at bags and deployments.

#![forbid(unsafe_code)]
