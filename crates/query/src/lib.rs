//! The answers, and the name, arguments and reply of every tool.

#![forbid(unsafe_code)]
