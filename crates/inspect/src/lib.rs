//! Looking at bags: what they hold ([`info`]), their messages as text ([`cat`]), and what is wrong
//! with them ([`diagnose`]).
//!
//! All take files and folders anywhere and need no catalog.

#![forbid(unsafe_code)]

mod cat;
mod doctor;
mod error;
mod files;
mod info;
mod text;

pub use cat::{CatOptions, CatReport, cat};
pub use doctor::{Diagnosis, Fault, FileDiagnosis, diagnose};
pub use error::InspectError;
pub use files::{OpenedFiles, open_files, open_files_by_index};
pub use info::{BagInfo, TopicInfo, info};
pub use text::{diagnosis_json, diagnosis_text, info_json, info_text};
