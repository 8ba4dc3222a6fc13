//! A second opinion on rigid motion that shares nothing with the crate: 4x4 matrices, rotations
//! interpolated through the matrix logarithm and exponential, a linear search for samples.

/// A small generator (splitmix64), so that a printed seed repeats a run on any machine.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer in `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.between(0, len as u64 - 1)).unwrap()
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.between(1, n) == 1
    }

    /// A double in `low..high`.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double")]
    pub(crate) fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (self.next() >> 11) as f64 / (1_u64 << 53) as f64 * (high - low)
    }

    /// A quaternion x, y, z, w of any direction (rejection in the 4-ball), not of unit length.
    pub(crate) fn quaternion(&mut self) -> [f64; 4] {
        loop {
            let q = [(); 4].map(|()| self.real(-1.0, 1.0));
            let square: f64 = q.iter().map(|v| v * v).sum();
            if (0.01..1.0).contains(&square) {
                return q;
            }
        }
    }
}

pub(crate) type Matrix = [[f64; 4]; 4];

/// The homogeneous matrix of a translation and a quaternion x, y, z, w of any length.
pub(crate) fn matrix([tx, ty, tz]: [f64; 3], [x, y, z, w]: [f64; 4]) -> Matrix {
    let scale = 2.0 / (x * x + y * y + z * z + w * w);
    [
        [1.0 - scale * (y * y + z * z), scale * (x * y - z * w), scale * (x * z + y * w), tx],
        [scale * (x * y + z * w), 1.0 - scale * (x * x + z * z), scale * (y * z - x * w), ty],
        [scale * (x * z - y * w), scale * (y * z + x * w), 1.0 - scale * (x * x + y * y), tz],
        [0.0, 0.0, 0.0, 1.0],
    ]
}

pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = [[0.0; 4]; 4];
    for (row, line) in out.iter_mut().enumerate() {
        for (column, cell) in line.iter_mut().enumerate() {
            *cell = (0..4).map(|k| a[row][k] * b[k][column]).sum();
        }
    }
    out
}

/// The inverse by Gauss-Jordan elimination with row pivoting: it does not know about rotations.
pub(crate) fn inverse(m: &Matrix) -> Matrix {
    let (mut left, mut right) = (*m, matrix([0.0; 3], [0.0, 0.0, 0.0, 1.0]));
    for column in 0..4 {
        let pivot =
            (column..4).max_by(|a, b| left[*a][column].abs().total_cmp(&left[*b][column].abs()));
        left.swap(column, pivot.unwrap());
        right.swap(column, pivot.unwrap());
        let scale = left[column][column];
        left[column] = left[column].map(|v| v / scale);
        right[column] = right[column].map(|v| v / scale);
        for row in (0..4).filter(|row| *row != column) {
            let factor = left[row][column];
            for k in 0..4 {
                left[row][k] -= factor * left[column][k];
                right[row][k] -= factor * right[column][k];
            }
        }
    }
    right
}

/// The rotation vector (axis times angle) of a rotation of less than half a turn.
fn log(m: &Matrix) -> [f64; 3] {
    let twice_sin_axis = [m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]];
    let twice_sin = twice_sin_axis.iter().map(|v| v * v).sum::<f64>().sqrt();
    let twice_cos = m[0][0] + m[1][1] + m[2][2] - 1.0;
    let angle = twice_sin.atan2(twice_cos);
    let scale = if twice_sin < 1e-12 { 0.5 } else { angle / twice_sin };
    twice_sin_axis.map(|v| v * scale)
}

/// Rodrigues' formula.
fn exp(rotation: [f64; 3]) -> Matrix {
    let angle = rotation.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut out = matrix([0.0; 3], [0.0, 0.0, 0.0, 1.0]);
    if angle == 0.0 {
        return out;
    }
    let [x, y, z] = rotation.map(|v| v / angle);
    let skew = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
    let half = (angle / 2.0).sin();
    for row in 0..3 {
        for column in 0..3 {
            let square: f64 = (0..3).map(|k| skew[row][k] * skew[k][column]).sum();
            out[row][column] += angle.sin() * skew[row][column] + 2.0 * half * half * square;
        }
    }
    out
}

/// `a * exp(fraction * log(a^-1 * b))` for the rotation, a straight line for the origin.
pub(crate) fn interpolate(a: &Matrix, b: &Matrix, fraction: f64) -> Matrix {
    let rotation_only = |m: &Matrix| {
        let mut m = *m;
        for row in m.iter_mut().take(3) {
            row[3] = 0.0;
        }
        m
    };
    let (from, to) = (rotation_only(a), rotation_only(b));
    let step = log(&product(&inverse(&from), &to)).map(|v| v * fraction);
    let mut out = product(&from, &exp(step));
    for row in 0..3 {
        out[row][3] = a[row][3] * (1.0 - fraction) + b[row][3] * fraction;
    }
    out
}

/// The distance of two origins, and the angle between two rotations (from the Frobenius norm of
/// their difference, which is exact for small angles).
pub(crate) fn errors(a: &Matrix, b: &Matrix) -> (f64, f64) {
    let (mut origins, mut axes) = (0.0, 0.0);
    for row in 0..3 {
        origins += (a[row][3] - b[row][3]).powi(2);
        axes += (0..3).map(|column| (a[row][column] - b[row][column]).powi(2)).sum::<f64>();
    }
    let half_sine: f64 = f64::sqrt(axes) / 8.0_f64.sqrt();
    (f64::sqrt(origins), 2.0 * half_sine.min(1.0).asin())
}

/// Roll, pitch and yaw as a textbook reads them from a matrix away from gimbal lock.
pub(crate) fn roll_pitch_yaw(m: &Matrix) -> [f64; 3] {
    [m[2][1].atan2(m[2][2]), (-m[2][0]).clamp(-1.0, 1.0).asin(), m[1][0].atan2(m[0][0])]
}
