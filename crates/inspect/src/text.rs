//! What a bag holds, for people and for programs.

use jiff::{Timestamp, tz::TimeZone};
use ros2_memory_bag::{Losses, Severity};
use ros2_memory_time::LogTime;
use serde_json::{Value as Json, json};

use crate::{BagInfo, Fault, FileDiagnosis};

/// What a bag holds, with the field names and the order of `ros2 bag info`.
pub fn info_text(info: &BagInfo) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let names = info.files.iter().map(|file| file.display().to_string());
    push_list(&mut lines, "Files:", names);
    lines.push(("Bag size:", size(info.size_bytes)));
    lines.push(("Storage id:", "mcap".to_owned()));
    lines.push(("ROS Distro:", info.ros_distro.clone()));
    match info.span {
        Some((first, last)) => {
            let duration = LogTime::from_ns(last.since_ns(first));
            lines.push(("Duration:", format!("{}s", duration.to_decimal_s())));
            lines.push(("Start:", local(first)));
            lines.push(("End:", local(last)));
        }
        None => lines.push(("Duration:", "0.000000000s".to_owned())),
    }
    lines.push(("Messages:", info.n_messages.to_string()));
    let topics = info.topics.iter().map(|topic| {
        format!(
            "Topic: {} | Type: {} | Count: {} | Serialization Format: {}",
            topic.topic, topic.type_name, topic.count, topic.serialization_format
        )
    });
    push_list(&mut lines, "Topic information:", topics);
    let chunks = info.chunks.iter().map(|(name, n)| format!("{n} {name}"));
    lines.push(("Chunks:", chunks.collect::<Vec<_>>().join(", ")));
    lines.push(("Library:", info.library.clone()));
    if info.n_attachments + info.n_metadata > 0 {
        let extras = format!("{} attachments, {} metadata", info.n_attachments, info.n_metadata);
        lines.push(("Also holds:", extras));
    }
    if !info.unclosed.is_empty() {
        let names = info.unclosed.iter().map(|file| file.display().to_string());
        push_list(&mut lines, "Not closed:", names);
    }
    if !info.unverified.is_empty() {
        let names = info.unverified.iter().map(|file| file.display().to_string());
        let said = "by their own index; `ros2-memory doctor` reads every byte of".to_owned();
        push_list(&mut lines, "Not verified:", std::iter::once(said).chain(names));
    }
    if !info.damage.is_empty() {
        lines.push(("Lost:", losses_text(&info.losses)));
        push_list(&mut lines, "Damage:", info.damage.iter().cloned());
    }
    let mut text = String::new();
    for (name, value) in lines {
        let line = format!("{name:<19}{value}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What a bag holds, for programs. Times are nanoseconds as digits.
pub fn info_json(info: &BagInfo) -> Json {
    let ns = |t: LogTime| t.as_ns().to_string();
    json!({
        "files": info.files,
        "size_bytes": info.size_bytes,
        "storage_id": "mcap",
        "ros_distro": info.ros_distro,
        "duration_ns": info.span.map(|(first, last)| last.since_ns(first).to_string()),
        "start_ns": info.span.map(|(first, _)| ns(first)),
        "end_ns": info.span.map(|(_, last)| ns(last)),
        "message_count": info.n_messages,
        "topics": info.topics.iter().map(|topic| json!({
            "name": topic.topic,
            "type": topic.type_name,
            "message_count": topic.count,
            "serialization_format": topic.serialization_format,
        })).collect::<Vec<_>>(),
        "chunks": info.chunks,
        "library": info.library,
        "attachments": info.n_attachments,
        "metadata": info.n_metadata,
        "unclosed": info.unclosed,
        "unverified": info.unverified,
        "damage": info.damage,
        "losses": losses_json(&info.losses),
    })
}

/// What is wrong with one recording, a line each; one line when nothing is.
pub fn diagnosis_text(file: &FileDiagnosis) -> String {
    let mut lines = vec![format!(
        "{}: {}; {} messages in {} chunks, {} with a checksum that is right",
        file.path.display(),
        verdict(file),
        file.n_messages,
        file.n_chunks,
        file.n_verified
    )];
    if file.losses != Losses::default() {
        lines.push(format!("  lost: {}", losses_text(&file.losses)));
    }
    lines.extend(file.faults.iter().map(|fault| {
        let Fault { severity, offset, about, text } = fault;
        let place = offset.map_or_else(String::new, |offset| format!("at byte {offset}: "));
        format!("  {} ({about}): {place}{text}", severity.as_str())
    }));
    lines.join("\n") + "\n"
}

/// What is wrong with one recording, for programs.
pub fn diagnosis_json(file: &FileDiagnosis) -> Json {
    json!({
        "file": file.path,
        "verdict": verdict(file),
        "is_closed": file.is_closed,
        "message_count": file.n_messages,
        "chunk_count": file.n_chunks,
        "verified_chunk_count": file.n_verified,
        "losses": losses_json(&file.losses),
        "faults": file.faults.iter().map(|fault| json!({
            "severity": fault.severity.as_str(),
            "about": fault.about,
            "offset": fault.offset,
            "text": fault.text,
        })).collect::<Vec<_>>(),
    })
}

fn verdict(file: &FileDiagnosis) -> &'static str {
    match file.worst() {
        Some(Severity::CostsData) => "damaged",
        _ if !file.is_closed => "not closed",
        Some(Severity::MisleadsReaders) => "whole, but its index misleads readers that believe it",
        Some(Severity::Information) | None => "well",
    }
}

fn losses_text(losses: &Losses) -> String {
    let Losses { chunks, chunk_bytes, breaks, skipped_bytes, messages } = losses;
    format!(
        "{chunks} chunks of {chunk_bytes} bytes, {skipped_bytes} bytes at {breaks} breaks, \
         {messages} messages that cannot be served"
    )
}

fn losses_json(losses: &Losses) -> Json {
    json!({
        "chunks": losses.chunks,
        "chunk_bytes": losses.chunk_bytes,
        "breaks": losses.breaks,
        "skipped_bytes": losses.skipped_bytes,
        "messages": losses.messages,
    })
}

/// A list whose first item stands beside its name and the others below it.
fn push_list(
    lines: &mut Vec<(&'static str, String)>,
    name: &'static str,
    items: impl Iterator<Item = String>,
) {
    let before = lines.len();
    for item in items {
        lines.push((if lines.len() == before { name } else { "" }, item));
    }
    if lines.len() == before {
        lines.push((name, String::new()));
    }
}

/// A size in binary units with one decimal.
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

/// Local time, and seconds since the epoch.
fn local(t: LogTime) -> String {
    let stamp = Timestamp::from_nanosecond(t.as_ns().into()).unwrap_or_default();
    let here = stamp.to_zoned_datetime(TimeZone::system());
    format!("{} ({})", here.strftime("%b %e %Y %H:%M:%S.%9f"), t.to_decimal_s())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_with_one_decimal() {
        let shown = [0, 1023, 1024, 17_772, 5_000_000_000].map(size);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "17.4 KiB", "4.7 GiB"]);
    }
}
