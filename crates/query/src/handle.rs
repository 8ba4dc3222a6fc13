//! Short names of messages, so that an answer can name its evidence.

use ros2_memory_catalog::Snapshot;
use ros2_memory_time::LogTime;

/// A message by its log time and its topic: `c7w0r5m2k1p3.4f1a9c`.
///
/// The time stands in base 36, the topic as a checksum of its name.
pub(crate) fn handle(topic: &str, log_time: LogTime) -> String {
    let mut digits = Vec::new();
    let mut rest = log_time.as_ns();
    while rest > 0 || digits.is_empty() {
        digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
        rest /= 36;
    }
    let time: String = digits.iter().rev().collect();
    format!("{time}.{:06x}", mark(topic))
}

/// What a handle names: the log time, and the topics that it may mean.
pub(crate) fn resolve<'s>(snapshot: &'s Snapshot, handle: &str) -> Option<(LogTime, Vec<&'s str>)> {
    let (time, topic) = handle.trim().split_once('.')?;
    let ns = u64::from_str_radix(time, 36).ok()?;
    let wanted = u32::from_str_radix(topic, 16).ok()?;
    let topics = snapshot.topics().map(|topic| &*topic.topic);
    Some((LogTime::from_ns(ns), topics.filter(|topic| mark(topic) == wanted).collect()))
}

/// 24 bits: enough to tell the topics of a robot apart.
fn mark(topic: &str) -> u32 {
    crc32fast::hash(topic.as_bytes()) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_short_and_holds_the_time_to_the_nanosecond() {
        for ns in [0, 35, 36, 1_784_620_799_672_362_010, u64::MAX] {
            let text = handle("/odom", LogTime::from_ns(ns));
            assert!(text.len() <= 20, "{text}");
            let (time, mark) = text.split_once('.').unwrap();
            assert_eq!(u64::from_str_radix(time, 36), Ok(ns));
            assert_eq!(mark.len(), 6);
        }
    }
}
