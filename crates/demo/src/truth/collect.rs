use super::{FaultTruth, Seen, TopicTruth, Truth, labels, route, samples};
use crate::{
    fault::{CODE, MESSAGE, PART},
    history::{History, Track},
    number::place,
    sight::Sighting,
    source::Source,
};

/// `rcl_interfaces/msg/Log` severity ERROR.
const LOG_ERROR: u8 = 40;

impl Truth {
    pub(crate) fn of(history: &History) -> Self {
        let fault = fault(history);
        let mut path = [Seen::default(); 2];
        for (at_ns, log_ns, _) in messages(history, Source::Description) {
            let blocked = history.world().in_view(at_ns).iter().any(Sighting::blocks_path);
            if let Some(seen) = path.get_mut(usize::from(blocked)) {
                seen.add(log_ns);
            }
        }
        let [path_clear, path_blocked] = path;
        let (windows, near) = route::follow(history);
        Self {
            start_ns: history.time(0).as_ns(),
            end_ns: history.time(history.world().duration_ns).as_ns(),
            topics: topics(history),
            windows,
            poses: samples::poses(history),
            velocities: samples::velocities(history),
            transforms: samples::transforms(history),
            labels: labels::labels(history),
            objects: labels::objects(),
            last_estop_true_ns: fault.estop.last_ns,
            fault,
            path_clear,
            path_blocked,
            near,
        }
    }
}

pub(super) fn track(history: &History, source: Source) -> Option<&Track> {
    history.tracks().iter().find(|track| track.source == source)
}

/// Offset of the stamp, absolute log time, and number of a channel's messages.
pub(super) fn messages(history: &History, source: Source) -> impl Iterator<Item = (u64, u64, u64)> {
    track(history, source).into_iter().flat_map(move |track| {
        (0..track.messages)
            .map(move |k| (track.table.stamp_ns(k), history.time(track.table.log_ns(k)).as_ns(), k))
    })
}

fn topics(history: &History) -> Vec<TopicTruth> {
    let mut topics: Vec<TopicTruth> = Vec::new();
    for (channel, track) in history.channels().iter().zip(history.tracks()) {
        let log_ns = |k| history.time(track.table.log_ns(k)).as_ns();
        let ends = track.messages.checked_sub(1).map(|last| (log_ns(0), log_ns(last)));
        let first_ns = ends.map(|(first, _)| first);
        let last_ns = ends.map(|(_, last)| last);
        if let Some(known) = topics.iter_mut().find(|it| it.topic == channel.topic) {
            known.count += track.messages;
            known.first_ns = known.first_ns.into_iter().chain(first_ns).min();
            known.last_ns = known.last_ns.max(last_ns);
        } else {
            topics.push(TopicTruth {
                topic: channel.topic.to_owned(),
                type_name: channel.type_name.to_owned(),
                count: track.messages,
                first_ns,
                last_ns,
            });
        }
    }
    topics
}

fn fault(history: &History) -> FaultTruth {
    let fault = history.world().fault;
    let encoder = history.encoder();
    let (mut diagnostics, mut log_lines, mut estop) =
        (Seen::default(), Seen::default(), Seen::default());
    let mut released_ns = None;
    for (at_ns, log_ns, _) in messages(history, Source::Diagnostics) {
        if fault.active(at_ns) {
            diagnostics.add(log_ns);
        }
    }
    for (_, log_ns, k) in messages(history, Source::Log) {
        if encoder.log.get(place(k)).is_some_and(|line| line.level == LOG_ERROR) {
            log_lines.add(log_ns);
        }
    }
    for (_, log_ns, k) in messages(history, Source::Estop) {
        if encoder.estop.get(place(k)).is_some_and(|change| change.engaged) {
            estop.add(log_ns);
        } else if estop.messages > 0 {
            released_ns = Some(log_ns);
        }
    }
    FaultTruth {
        start_ns: history.time(fault.start_ns).as_ns(),
        end_ns: history.time(fault.end_ns).as_ns(),
        name: PART.to_owned(),
        code: CODE.to_owned(),
        message: MESSAGE.to_owned(),
        diagnostics,
        log_lines,
        estop,
        released_ns,
    }
}
