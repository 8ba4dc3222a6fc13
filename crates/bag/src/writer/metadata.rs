use std::{fmt::Write, fs, path::Path};

use super::file::{WrittenChannel, WrittenFile, offered_qos};
use crate::BagError;

/// Writes the `metadata.yaml` of a recording session into its folder, in rosbag2's version 5,
/// which every distribution since Galactic reads.
///
/// # Errors
///
/// [`BagError::Io`] when it cannot be written.
pub fn write_metadata_yaml(
    folder: &Path,
    channels: &[WrittenChannel],
    files: &[WrittenFile],
) -> Result<(), BagError> {
    let path = folder.join("metadata.yaml");
    fs::write(&path, metadata_yaml(channels, files)).map_err(|source| BagError::Io {
        action: "write",
        source,
        path,
    })
}

fn metadata_yaml(channels: &[WrittenChannel], files: &[WrittenFile]) -> String {
    let spans = || files.iter().filter_map(|file| file.span);
    let start_ns = spans().map(|(first, _)| first.as_ns()).min().unwrap_or_default();
    let end_ns = spans().map(|(_, last)| last.as_ns()).max().unwrap_or_default();
    let count_of =
        |channel: usize| -> u64 { files.iter().filter_map(|file| file.counts.get(channel)).sum() };
    let names: Vec<_> = files
        .iter()
        .map(|file| quoted(&file.path.file_name().unwrap_or_default().to_string_lossy()))
        .collect();
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        // Writing into a string cannot fail.
        out.write_fmt(text).unwrap_or_default();
        out.push('\n');
    };
    line(format_args!("rosbag2_bagfile_information:"));
    line(format_args!("  version: 5"));
    line(format_args!("  storage_identifier: mcap"));
    line(format_args!("  duration:\n    nanoseconds: {}", end_ns - start_ns));
    line(format_args!("  starting_time:\n    nanoseconds_since_epoch: {start_ns}"));
    let total: u64 = files.iter().flat_map(|file| &file.counts).sum();
    line(format_args!("  message_count: {total}"));
    line(format_args!("  topics_with_message_count:"));
    // One entry a topic: two publishers of one topic are two channels of one entry.
    let mut listed: Vec<&str> = Vec::new();
    for channel in channels {
        if listed.contains(&channel.topic.as_str()) {
            continue;
        }
        listed.push(&channel.topic);
        let same_topic = channels.iter().enumerate().filter(|(_, c)| c.topic == channel.topic);
        let count: u64 = same_topic.map(|(index, _)| count_of(index)).sum();
        line(format_args!("    - topic_metadata:"));
        line(format_args!("        name: {}", quoted(&channel.topic)));
        line(format_args!("        type: {}", quoted(&channel.type_name)));
        line(format_args!("        serialization_format: cdr"));
        let qos = quoted(&offered_qos(channel.is_latched));
        line(format_args!("        offered_qos_profiles: {qos}"));
        line(format_args!("      message_count: {count}"));
    }
    line(format_args!("  compression_format: \"\"\n  compression_mode: \"\""));
    line(format_args!("  relative_file_paths:"));
    for name in &names {
        line(format_args!("    - {name}"));
    }
    line(format_args!("  files:"));
    for (file, name) in files.iter().zip(&names) {
        let (first, last) = file.span.unwrap_or_default();
        line(format_args!("    - path: {name}"));
        line(format_args!(
            "      starting_time:\n        nanoseconds_since_epoch: {}",
            first.as_ns()
        ));
        line(format_args!("      duration:\n        nanoseconds: {}", last.since_ns(first)));
        line(format_args!("      message_count: {}", file.counts.iter().sum::<u64>()));
    }
    out
}

/// A YAML double-quoted scalar.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
