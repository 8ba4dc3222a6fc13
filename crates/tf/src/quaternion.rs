use std::f64::consts::PI;

/// A rotation as a unit quaternion in ROS order: x, y, z, w.
///
/// `q` and `-q` are the same rotation. The fields are open, so the unit length is the caller's
/// to keep; [`Quaternion::normalized`] restores it. A [`Buffer`](crate::Buffer) normalises what
/// it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quaternion {
    /// The i part.
    pub x: f64,
    /// The j part.
    pub y: f64,
    /// The k part.
    pub z: f64,
    /// The real part.
    pub w: f64,
}

/// Below this angle between two quaternions (radians, in 4-space) slerp mixes linearly.
///
/// The linear mix is off by less than the angle cubed, here far under the rounding of a double,
/// while the quotient of two tiny sines would end as 0/0.
const NEARLY_EQUAL_RAD: f64 = 1e-6;

/// Below this cosine of the pitch, yaw and roll turn about the same axis.
///
/// Calling the yaw zero there moves the whole rotation by a few 1e-12 rad at most.
const GIMBAL_LOCK_COS: f64 = 1e-12;

impl Quaternion {
    /// No rotation.
    pub const IDENTITY: Self = Self { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };

    /// The rotation by `yaw_rad` about z.
    pub fn from_yaw_rad(yaw_rad: f64) -> Self {
        let (sin, cos) = (yaw_rad / 2.0).sin_cos();
        Self { x: 0.0, y: 0.0, z: sin, w: cos }
    }

    /// The rotation by roll about x, then pitch about y, then yaw about z, all fixed axes.
    ///
    /// tf2's `setRPY`.
    pub fn from_rpy_rad(roll_rad: f64, pitch_rad: f64, yaw_rad: f64) -> Self {
        let (sin_roll, cos_roll) = (roll_rad / 2.0).sin_cos();
        let (sin_pitch, cos_pitch) = (pitch_rad / 2.0).sin_cos();
        let about_y = Self { x: 0.0, y: sin_pitch, z: 0.0, w: cos_pitch };
        let about_x = Self { x: sin_roll, y: 0.0, z: 0.0, w: cos_roll };
        Self::from_yaw_rad(yaw_rad).multiply(about_y).multiply(about_x)
    }

    /// The same rotation at unit length; `None` when all parts are zero or one is not finite.
    ///
    /// A quaternion that is of unit length but for rounding comes back bit for bit.
    pub fn normalized(self) -> Option<Self> {
        let largest = self.parts().into_iter().fold(0.0, |max: f64, part| max.max(part.abs()));
        if !self.parts().into_iter().all(f64::is_finite) || largest == 0.0 {
            return None;
        }
        if (self.dot(self) - 1.0).abs() <= 4.0 * f64::EPSILON {
            return Some(self);
        }
        // Divided by the largest part first: the squares of 1e200 and of 1e-200 are no doubles.
        let [x, y, z, w] = self.parts().map(|part| part / largest);
        let scaled = Self { x, y, z, w };
        let length = scaled.dot(scaled).sqrt();
        Some(scaled.map(|part| part / length))
    }

    /// The rotation by `other` and then by `self` (the Hamilton product).
    #[must_use]
    pub fn multiply(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Self {
            x: a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            y: a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            z: a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
            w: a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        }
    }

    /// The rotation back.
    #[must_use]
    pub fn conjugate(self) -> Self {
        Self { x: -self.x, y: -self.y, z: -self.z, w: self.w }
    }

    /// Turns a vector.
    pub fn rotate(self, vector: [f64; 3]) -> [f64; 3] {
        // v + 2w (u x v) + 2u x (u x v), with u the imaginary part.
        let axis = [self.x, self.y, self.z];
        let once = cross(axis, vector);
        let twice = cross(axis, once);
        let turned = |v: f64, once: f64, twice: f64| v + 2.0 * (self.w * once + twice);
        let ([x, y, z], [ox, oy, oz], [tx, ty, tz]) = (vector, once, twice);
        [turned(x, ox, tx), turned(y, oy, ty), turned(z, oz, tz)]
    }

    /// The rotation `fraction` of the shortest way from `a` to `b`, at constant speed.
    ///
    /// `fraction` lies in 0 to 1. Negating `a` or `b` changes no rotation that comes out, even
    /// when the two are half a turn apart and both ways are equally short. Shoemake, "Animating
    /// rotation with quaternion curves" (1985).
    #[must_use]
    pub fn slerp(a: Self, b: Self, fraction: f64) -> Self {
        let dot = a.dot(b);
        let long_way = if dot == 0.0 { a.is_lower_half() != b.is_lower_half() } else { dot < 0.0 };
        let b = if long_way { b.map(|part| -part) } else { b };

        // The angle from the lengths of difference and sum (Kahan) keeps all its digits when it
        // is small, where the arc cosine of the dot product has lost half of them.
        let (difference, sum) = (a.mix(-1.0, b, 1.0), a.mix(1.0, b, 1.0));
        let angle = 2.0 * difference.dot(difference).sqrt().atan2(sum.dot(sum).sqrt());
        let mixed = if angle < NEARLY_EQUAL_RAD {
            a.mix(1.0 - fraction, b, fraction)
        } else {
            let of_a = ((1.0 - fraction) * angle).sin() / angle.sin();
            let of_b = (fraction * angle).sin() / angle.sin();
            a.mix(of_a, b, of_b)
        };
        mixed.normalized().unwrap_or(a)
    }

    /// Roll, pitch and yaw about the fixed axes x, y, z, applied in that order, in radians.
    ///
    /// Roll and yaw lie in (-pi, pi], pitch in [-pi/2, pi/2]. In gimbal lock the yaw is zero and
    /// the roll holds the whole turn, as in tf2's `getRPY`. Everywhere
    /// [`Quaternion::from_rpy_rad`] of the three gives the rotation back.
    pub fn to_rpy_rad(self) -> [f64; 3] {
        let yaw = self.yaw_rad();
        let pitch = (-self.forward_z()).atan2(self.forward_x().hypot(self.forward_y()));
        // The roll is read from what is left after undoing the yaw. Near gimbal lock, where the
        // yaw is mostly rounding, it so takes up exactly what the yaw got wrong.
        let rest = Self::from_yaw_rad(-yaw).multiply(self);
        let sin_roll = 2.0 * (rest.w * rest.x - rest.y * rest.z);
        let cos_roll = rest.w * rest.w - rest.x * rest.x + rest.y * rest.y - rest.z * rest.z;
        [without_minus_pi(sin_roll.atan2(cos_roll)), pitch, yaw]
    }

    /// The heading of the turned x axis in the x-y plane, in (-pi, pi]; zero in gimbal lock.
    pub fn yaw_rad(self) -> f64 {
        let (x, y) = (self.forward_x(), self.forward_y());
        if x.hypot(y) <= GIMBAL_LOCK_COS * self.dot(self) {
            return 0.0;
        }
        without_minus_pi(y.atan2(x))
    }

    // The turned x axis, times the squared length of the quaternion: angles do not mind.
    fn forward_x(self) -> f64 {
        self.w * self.w + self.x * self.x - self.y * self.y - self.z * self.z
    }

    fn forward_y(self) -> f64 {
        2.0 * (self.x * self.y + self.w * self.z)
    }

    fn forward_z(self) -> f64 {
        2.0 * (self.x * self.z - self.w * self.y)
    }

    /// Whether the last part that is not zero, of x, y, z, w, is negative: true of exactly one
    /// of `q` and `-q`.
    fn is_lower_half(self) -> bool {
        self.parts().into_iter().rev().find(|part| *part != 0.0).is_some_and(|part| part < 0.0)
    }

    fn parts(self) -> [f64; 4] {
        [self.x, self.y, self.z, self.w]
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Self {
        let [x, y, z, w] = self.parts().map(change);
        Self { x, y, z, w }
    }

    fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z + self.w * other.w
    }

    fn mix(self, of_self: f64, other: Self, of_other: f64) -> Self {
        Self {
            x: of_self * self.x + of_other * other.x,
            y: of_self * self.y + of_other * other.y,
            z: of_self * self.z + of_other * other.z,
            w: of_self * self.w + of_other * other.w,
        }
    }
}

fn cross([ax, ay, az]: [f64; 3], [bx, by, bz]: [f64; 3]) -> [f64; 3] {
    [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]
}

/// Half a turn has one name: the arc tangent of a negative zero would call it -pi.
fn without_minus_pi(angle_rad: f64) -> f64 {
    if angle_rad <= -PI { PI } else { angle_rad }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    fn yaw(deg: f64) -> Quaternion {
        Quaternion::from_yaw_rad(deg.to_radians())
    }

    fn negated(q: Quaternion) -> Quaternion {
        q.map(|part| -part)
    }

    #[test]
    fn zero_and_not_finite_have_no_direction() {
        let parts = [0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for bad in parts {
            assert_eq!(Quaternion { x: 0.0, y: bad, z: 0.0, w: 0.0 }.normalized(), None);
        }
        assert_eq!(Quaternion { x: f64::NAN, y: 0.0, z: 0.0, w: 1.0 }.normalized(), None);
    }

    #[test]
    fn any_length_becomes_one() {
        for length in [1e-300, 1e-12, 0.5, 2.0, 1e200, 1e308] {
            let q = Quaternion { x: 0.0, y: 0.0, z: 0.6 * length, w: 0.8 * length };
            let unit = q.normalized().unwrap();
            assert!(close(unit.z, 0.6) && close(unit.w, 0.8), "{length}: {unit:?}");
        }
    }

    #[test]
    fn a_unit_quaternion_stays_bit_for_bit() {
        let q = Quaternion::from_rpy_rad(0.1, -0.7, 2.3);
        assert_eq!(q.normalized(), Some(q));
    }

    #[test]
    fn a_quarter_turn_takes_x_to_y() {
        let [x, y, z] = yaw(90.0).rotate([1.0, 0.0, 5.0]);
        assert!(close(x, 0.0) && close(y, 1.0) && close(z, 5.0));
        let [x, y, _] = yaw(90.0).conjugate().rotate([1.0, 0.0, 0.0]);
        assert!(close(x, 0.0) && close(y, -1.0));
    }

    #[test]
    fn a_product_turns_by_the_right_one_first() {
        let about_x = Quaternion::from_rpy_rad(FRAC_PI_2, 0.0, 0.0);
        let both = yaw(90.0).multiply(about_x);
        let stepwise = yaw(90.0).rotate(about_x.rotate([1.0, 2.0, 3.0]));
        for (a, b) in both.rotate([1.0, 2.0, 3.0]).into_iter().zip(stepwise) {
            assert!(close(a, b));
        }
    }

    #[test]
    fn slerp_never_goes_the_long_way() {
        for b in [yaw(10.0), negated(yaw(10.0))] {
            let middle = Quaternion::slerp(Quaternion::IDENTITY, b, 0.5);
            assert!(close(middle.yaw_rad().to_degrees(), 5.0), "{middle:?}");
        }
        let across = Quaternion::slerp(yaw(179.0), yaw(-179.0), 0.5);
        assert!(close(across.yaw_rad().abs(), PI), "{across:?}");
    }

    #[test]
    fn half_a_turn_goes_one_way_whatever_the_signs() {
        let (a, b) = (Quaternion::IDENTITY, Quaternion { x: 0.0, y: 0.0, z: 1.0, w: 0.0 });
        let expected = Quaternion::slerp(a, b, 0.25).yaw_rad();
        assert!(close(expected.abs(), PI / 4.0));
        for (a, b) in [(negated(a), b), (a, negated(b)), (negated(a), negated(b))] {
            assert!(close(Quaternion::slerp(a, b, 0.25).yaw_rad(), expected));
        }
    }

    #[test]
    fn slerp_of_nearly_equal_rotations_is_finite_and_between() {
        for step_rad in [0.0, 1e-300, 1e-12, 1.9e-6, 2.1e-6, 1e-3] {
            let middle =
                Quaternion::slerp(Quaternion::IDENTITY, Quaternion::from_yaw_rad(step_rad), 0.25);
            assert!((middle.yaw_rad() - step_rad / 4.0).abs() < 1e-18, "{step_rad}");
        }
    }

    #[test]
    fn slerp_of_garbage_does_not_panic() {
        let zero = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 0.0 };
        assert_eq!(Quaternion::slerp(zero, zero, 0.5), zero);
    }

    #[test]
    fn angles_come_back() {
        for rpy in [[0.1, 0.2, 0.3], [-3.0, 1.5, 3.1], [2.0, -1.2, -2.5]] {
            let [roll, pitch, yaw] = rpy;
            let back = Quaternion::from_rpy_rad(roll, pitch, yaw).to_rpy_rad();
            for (a, b) in back.into_iter().zip(rpy) {
                assert!(close(a, b), "{rpy:?} {back:?}");
            }
        }
    }

    #[test]
    fn gimbal_lock_has_yaw_zero_and_keeps_the_rotation() {
        for pitch in [FRAC_PI_2, -FRAC_PI_2] {
            let q = Quaternion::from_rpy_rad(0.4, pitch, 1.1);
            let [roll, locked, yaw] = q.to_rpy_rad();
            assert!(close(locked, pitch) && close(yaw, 0.0), "{roll} {locked} {yaw}");
            let again = Quaternion::from_rpy_rad(roll, locked, yaw);
            assert!(close(again.dot(q).abs(), 1.0));
        }
    }

    #[test]
    fn half_a_turn_is_plus_pi() {
        let half = Quaternion { x: -0.0, y: 0.0, z: 1.0, w: -0.0 };
        assert!(close(half.yaw_rad(), PI));
    }
}
