//! Looking at bags: what they hold ([`info`]), and their messages as text ([`cat`]).
//!
//! Both take files and folders anywhere and need no catalog.

#![forbid(unsafe_code)]

mod cat;
mod error;
mod files;
mod info;
mod text;

pub use cat::{CatOptions, CatReport, cat};
pub use error::InspectError;
pub use files::{OpenedFiles, open_files};
pub use info::{BagInfo, TopicInfo, info};
pub use text::{info_json, info_text};
