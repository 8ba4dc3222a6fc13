/// A move from rest to rest with a trapezoid of speed: ramp up, cruise, ramp down.
///
/// Lengths are metres or radians, speeds and accelerations accordingly. A move too short to
/// reach the top speed has a triangle instead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trapezoid {
    length: f64,
    acceleration: f64,
    peak: f64,
}

impl Trapezoid {
    pub(crate) fn new(length: f64, top: f64, acceleration: f64) -> Self {
        Self { length, acceleration, peak: top.min((length * acceleration).sqrt()) }
    }

    pub(crate) fn duration_s(self) -> f64 {
        if self.length <= 0.0 { 0.0 } else { self.ramp_s() + self.length / self.peak }
    }

    /// How far the move is, and how fast, `t_s` after its start.
    pub(crate) fn at(self, t_s: f64) -> (f64, f64) {
        let left_s = self.duration_s() - t_s;
        let ramp_s = self.ramp_s();
        if t_s <= 0.0 {
            (0.0, 0.0)
        } else if left_s <= 0.0 {
            (self.length, 0.0)
        } else if t_s < ramp_s {
            (0.5 * self.acceleration * t_s * t_s, self.acceleration * t_s)
        } else if left_s < ramp_s {
            (self.length - 0.5 * self.acceleration * left_s * left_s, self.acceleration * left_s)
        } else {
            (self.peak * (t_s - 0.5 * ramp_s), self.peak)
        }
    }

    fn ramp_s(self) -> f64 {
        self.peak / self.acceleration
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_the_slope_of_the_way() {
        for length in [0.05, 0.3, 4.0, 17.5] {
            let whole = Trapezoid::new(length, 0.6, 0.5);
            let n_steps = 100_000_u32;
            let step_s = whole.duration_s() / f64::from(n_steps);
            let mut way = 0.0;
            for k in 0..n_steps {
                let (_, speed) = whole.at((f64::from(k) + 0.5) * step_s);
                assert!((0.0..=0.6).contains(&speed));
                way += speed * step_s;
            }
            assert!((way - length).abs() < 1e-4, "{way} {length}");
            assert!((whole.at(whole.duration_s()).0 - length).abs() < 1e-12);
        }
    }
}
