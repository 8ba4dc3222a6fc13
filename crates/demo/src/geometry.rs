use std::f64::consts::TAU;

/// A place and a heading in the plane: metres, and radians counter-clockwise from x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pose {
    pub(crate) x_m: f64,
    pub(crate) y_m: f64,
    pub(crate) yaw_rad: f64,
}

impl Pose {
    pub(crate) const fn new(x_m: f64, y_m: f64, yaw_rad: f64) -> Self {
        Self { x_m, y_m, yaw_rad }
    }

    /// `a_from_b.then(b_from_c)` is `a_from_c`.
    pub(crate) fn then(self, inner: Self) -> Self {
        let (x_m, y_m) = self.apply(inner.x_m, inner.y_m);
        Self { x_m, y_m, yaw_rad: wrapped(self.yaw_rad + inner.yaw_rad) }
    }

    /// A point of the inner frame in the outer one.
    pub(crate) fn apply(self, x_m: f64, y_m: f64) -> (f64, f64) {
        let (sin, cos) = self.yaw_rad.sin_cos();
        (self.x_m + cos * x_m - sin * y_m, self.y_m + sin * x_m + cos * y_m)
    }

    /// A point of the outer frame in the inner one.
    pub(crate) fn unapply(self, x_m: f64, y_m: f64) -> (f64, f64) {
        let (sin, cos) = self.yaw_rad.sin_cos();
        let (dx, dy) = (x_m - self.x_m, y_m - self.y_m);
        (cos * dx + sin * dy, cos * dy - sin * dx)
    }

    /// The pose a share `part` of the way to `next`: linear, headings over the shorter arc.
    ///
    /// For rotations about one axis that is exactly slerp, which tf2 uses.
    pub(crate) fn towards(self, next: Self, part: f64) -> Self {
        Self {
            x_m: self.x_m + (next.x_m - self.x_m) * part,
            y_m: self.y_m + (next.y_m - self.y_m) * part,
            yaw_rad: wrapped(self.yaw_rad + wrapped(next.yaw_rad - self.yaw_rad) * part),
        }
    }
}

/// The same angle between -pi and pi.
pub(crate) fn wrapped(angle_rad: f64) -> f64 {
    angle_rad - TAU * (angle_rad / TAU).round()
}

/// The distance of two points.
pub(crate) fn distance(ax: f64, ay: f64, bx: f64, by: f64) -> f64 {
    ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unapply_undoes_apply() {
        let pose = Pose::new(3.0, -2.0, 2.5);
        let (x, y) = pose.apply(0.7, 0.4);
        let (u, v) = pose.unapply(x, y);
        assert!((u - 0.7).abs() < 1e-12 && (v - 0.4).abs() < 1e-12);
    }

    #[test]
    fn headings_turn_over_the_shorter_arc() {
        let half = Pose::new(0.0, 0.0, 3.0).towards(Pose::new(1.0, 0.0, -3.0), 0.5);
        assert!((half.yaw_rad.abs() - std::f64::consts::PI).abs() < 1e-12);
        assert!((half.x_m - 0.5).abs() < 1e-12);
    }
}
