use crate::Quaternion;

/// The pose of a child frame in its parent: `parent_from_child`.
///
/// Takes the coordinates of a point in the child to its coordinates in the parent. The rotation
/// is of unit length; see [`Quaternion`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transform {
    /// The child's origin in the parent: x, y, z in metres.
    pub translation_m: [f64; 3],
    /// Turns the parent's axes to the child's.
    pub rotation: Quaternion,
}

impl Transform {
    /// A frame in itself.
    pub const IDENTITY: Self =
        Self { translation_m: [0.0, 0.0, 0.0], rotation: Quaternion::IDENTITY };

    /// Chains two transforms: `a_from_b.then(b_from_c)` is `a_from_c`.
    ///
    /// The names tell the order: the inner letters meet and vanish. As matrices it is the
    /// product `a_from_b * b_from_c`.
    #[must_use]
    pub fn then(self, other: Self) -> Self {
        Self {
            translation_m: self.apply(other.translation_m),
            rotation: self.rotation.multiply(other.rotation),
        }
    }

    /// The pose of the parent in the child: `child_from_parent`.
    #[must_use]
    pub fn inverse(self) -> Self {
        let back = self.rotation.conjugate();
        Self { translation_m: back.rotate(self.translation_m).map(|v| -v), rotation: back }
    }

    /// The coordinates in the parent of a point of the child, in metres.
    pub fn apply(self, point_m: [f64; 3]) -> [f64; 3] {
        let [x, y, z] = self.rotation.rotate(point_m);
        let [dx, dy, dz] = self.translation_m;
        [x + dx, y + dy, z + dz]
    }

    /// The pose `fraction` of the way from `a` to `b`: the origin on a line, the rotation by
    /// [`Quaternion::slerp`].
    ///
    /// `fraction` lies in 0 to 1. As tf2's `TimeCache::interpolate`.
    #[must_use]
    pub fn interpolate(a: Self, b: Self, fraction: f64) -> Self {
        let between = |from: f64, to: f64| from + (to - from) * fraction;
        let ([ax, ay, az], [bx, by, bz]) = (a.translation_m, b.translation_m);
        Self {
            translation_m: [between(ax, bx), between(ay, by), between(az, bz)],
            rotation: Quaternion::slerp(a.rotation, b.rotation, fraction),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Transform {
        Transform {
            translation_m: [1.0, -2.0, 3.0],
            rotation: Quaternion::from_rpy_rad(0.3, -0.4, 2.0),
        }
    }

    fn assert_close(a: [f64; 3], b: [f64; 3]) {
        for (a, b) in a.into_iter().zip(b) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }

    #[test]
    fn then_is_one_after_the_other() {
        let b_from_c =
            Transform { translation_m: [0.5, 0.0, -1.0], rotation: Quaternion::from_yaw_rad(1.0) };
        let point = [4.0, 5.0, 6.0];
        assert_close(sample().then(b_from_c).apply(point), sample().apply(b_from_c.apply(point)));
    }

    #[test]
    fn the_order_of_then_matters() {
        let quarter = Transform {
            translation_m: [0.0; 3],
            rotation: Quaternion::from_yaw_rad(std::f64::consts::FRAC_PI_2),
        };
        let ahead = Transform { translation_m: [1.0, 0.0, 0.0], ..Transform::IDENTITY };
        assert_close(quarter.then(ahead).translation_m, [0.0, 1.0, 0.0]);
        assert_close(ahead.then(quarter).translation_m, [1.0, 0.0, 0.0]);
    }

    #[test]
    fn the_inverse_undoes() {
        let point = [4.0, 5.0, 6.0];
        assert_close(sample().inverse().apply(sample().apply(point)), point);
        assert_close(sample().then(sample().inverse()).translation_m, [0.0; 3]);
    }

    #[test]
    fn identity_changes_nothing() {
        assert_eq!(Transform::IDENTITY.then(sample()), sample());
        assert_eq!(sample().then(Transform::IDENTITY), sample());
    }

    #[test]
    fn the_middle_is_half_way_in_both_parts() {
        let a = Transform::IDENTITY;
        let b =
            Transform { translation_m: [2.0, 4.0, -6.0], rotation: Quaternion::from_yaw_rad(0.8) };
        let middle = Transform::interpolate(a, b, 0.5);
        assert_close(middle.translation_m, [1.0, 2.0, -3.0]);
        assert!((middle.rotation.yaw_rad() - 0.4).abs() < 1e-12);
    }
}
