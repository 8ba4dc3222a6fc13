use std::collections::HashMap;

/// Stands for a frame's name inside one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FrameId(u32);

impl FrameId {
    /// The largest id: an upper bound when searching by (stamp, parent).
    pub(crate) const MAX: Self = Self(u32::MAX);

    /// The place in vectors that run parallel to the names.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of all frames, each kept once; ids count up from zero.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frames {
    names: Vec<Box<str>>,
    ids: HashMap<Box<str>, FrameId>,
}

impl Frames {
    /// The id of `name`, a new one when the name is new; `None` when all ids are used.
    pub(crate) fn intern(&mut self, name: &str) -> Option<FrameId> {
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let id =
            u32::try_from(self.names.len()).ok().map(FrameId).filter(|id| *id < FrameId::MAX)?;
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        Some(id)
    }

    pub(crate) fn get(&self, name: &str) -> Option<FrameId> {
        self.ids.get(name).copied()
    }

    /// The name behind an id of this buffer.
    pub(crate) fn name(&self, id: FrameId) -> &str {
        self.names.get(id.index()).map_or("", |name| name)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// All frames in the order they were first seen.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }
}

/// Takes one leading slash off: ROS 1 wrote `/map` for what tf2 calls `map`.
pub(crate) fn without_slash(name: &str) -> &str {
    name.strip_prefix('/').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_id() {
        let mut frames = Frames::default();
        let map = frames.intern("map").unwrap();
        let odom = frames.intern("odom").unwrap();
        assert_ne!(map, odom);
        assert_eq!(frames.intern("map"), Some(map));
        assert_eq!(frames.get("odom"), Some(odom));
        assert_eq!(frames.get("base"), None);
        assert_eq!(frames.name(odom), "odom");
        assert_eq!(frames.len(), 2);
    }

    #[test]
    fn only_one_slash_is_taken() {
        assert_eq!(without_slash("/map"), "map");
        assert_eq!(without_slash("map"), "map");
        assert_eq!(without_slash("//map"), "/map");
        assert_eq!(without_slash("robot/base"), "robot/base");
        assert_eq!(without_slash("/"), "");
    }
}
