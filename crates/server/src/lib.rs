//! MCP and HTTP over the tools.

#![forbid(unsafe_code)]
