//! What to do with the messages of each channel.

use std::sync::Arc;

use ros2_memory_bag::{Channel, Declarations, Schema};
use ros2_memory_msg::Library;

use crate::{
    IndexedTypes, TransformPart, TransformPlan, TransformReader,
    edge_reader::EdgeReader,
    take_labels::{LabelPlan, LabelReader},
    take_numbers::NumberReader,
};

/// How to read the messages of one channel, whatever the bag.
#[derive(Debug)]
pub(crate) struct ChannelPlan {
    channel: Channel,
    schema: Option<Schema>,
    pub(crate) is_latched: bool,
    pub(crate) transforms: Option<(TransformPlan, EdgeReader)>,
    pub(crate) labels: Option<LabelPlan>,
    /// The number of its reader.
    pub(crate) numbers: Option<usize>,
}

/// Makes the plans, one a definition.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    transforms: TransformReader,
    labels: LabelReader,
    pub(crate) numbers: NumberReader,
}

impl Readers {
    pub(crate) fn new(types: &Arc<IndexedTypes>, library: Arc<Library>) -> Self {
        Self {
            transforms: TransformReader::new(library.clone()),
            labels: LabelReader::new(types.clone(), library.clone()),
            numbers: NumberReader::new(types.clone(), library),
        }
    }

    /// Sets the plan of a declared channel in `plans`, which may hold that of another bag up to
    /// its place. The plan stays when that bag declared the same there.
    pub(crate) fn plan(
        &mut self,
        plans: &mut Vec<ChannelPlan>,
        declared: &Declarations,
        place: u32,
    ) {
        let Some(channel) = declared.channel(place) else { return };
        let schema = declared.schema(channel);
        let known = plans.get_mut(place as usize);
        let same = known.filter(|of| of.channel == *channel && of.schema.as_ref() == schema);
        if let Some(plan) = same {
            if let Some((_, edges)) = &mut plan.transforms {
                edges.forget_places();
            }
            return;
        }
        let transforms = self.transforms.plan(declared, place, TransformPart::Edges);
        let plan = ChannelPlan {
            channel: channel.clone(),
            schema: schema.cloned(),
            is_latched: is_latched(channel),
            transforms: transforms.map(|plan| {
                let reader = EdgeReader::new(&plan);
                (plan, reader)
            }),
            labels: self.labels.plan(declared, place),
            numbers: self.numbers.reader(declared, place),
        };
        match plans.get_mut(place as usize) {
            Some(known) => *known = plan,
            None => plans.push(plan),
        }
    }
}

/// Whether late subscribers of a channel get its last message: `/tf_static`, and what its
/// publisher offered as transient-local. Not `/rosout`, which is a log: its last line is not in
/// force until the next.
fn is_latched(channel: &Channel) -> bool {
    let topic = channel.topic.trim_start_matches('/');
    if topic == "rosout" {
        return false;
    }
    let is_static_tf = topic == "tf_static" || topic.ends_with("/tf_static");
    let qos = &*channel.offered_qos_profiles;
    // rosbag2 wrote the policy as a number before 2023: 1 is transient-local.
    let is_transient_local = qos.lines().any(|line| {
        let line = line.trim_start_matches(['-', ' ']);
        matches!(
            line.split_once(':').map(|(key, value)| (key.trim(), value.trim())),
            Some(("durability", "1" | "transient_local"))
        )
    });
    is_static_tf || is_transient_local
}
