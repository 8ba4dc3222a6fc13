use std::sync::Arc;

/// How long a side of a cell is.
pub const CELL_M: f64 = 1.0;

/// A square of the plane, by its lower corner in units of [`CELL_M`].
pub type Cell = (i32, i32);

/// The cells in which the positions of one field lie, over the messages of one topic of a bag.
///
/// In the frame of the messages; heights are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    /// The field's path.
    pub path: Arc<str>,
    /// Ascending, each once.
    pub cells: Vec<Cell>,
}

/// The cell of a position; `None` when it is not finite. Far outside of what a cell's numbers
/// reach, it is the outermost.
pub fn cell_of(x_m: f64, y_m: f64) -> Option<Cell> {
    #[expect(clippy::cast_possible_truncation, reason = "a float is cut to the ends of the type")]
    let number = |part_m: f64| (part_m / CELL_M).floor() as i32;
    (x_m.is_finite() && y_m.is_finite()).then(|| (number(x_m), number(y_m)))
}

/// The cells that a circle touches: lower and upper corner, both inclusive.
pub fn cells_near(x_m: f64, y_m: f64, radius_m: f64) -> (Cell, Cell) {
    // Distances are compared after rounding: a little more than the radius may count.
    let around = |centre: f64| {
        let reach = radius_m + 1e-9 * (radius_m + centre.abs() + 1.0);
        let edge = |part: f64| cell_of(part, 0.0).map_or(i32::MAX, |(number, _)| number);
        let low = if (centre - reach).is_finite() { edge(centre - reach) } else { i32::MIN };
        (low, edge(centre + reach))
    };
    let ((left, right), (bottom, top)) = (around(x_m), around(y_m));
    ((left, bottom), (right, top))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_place_within_the_radius_lies_in_a_cell_that_the_circle_touches(
            x in -1e3..1e3f64, y in -1e3..1e3f64, radius in 0.0..50.0f64, turn in 0.0..7.0f64,
            part in 0.0..=1.0f64
        ) {
            let at = (x + part * radius * turn.cos(), y + part * radius * turn.sin());
            let cell = cell_of(at.0, at.1).unwrap();
            let ((left, bottom), (right, top)) = cells_near(x, y, radius);
            prop_assert!((left..=right).contains(&cell.0) && (bottom..=top).contains(&cell.1));
        }
    }

    #[test]
    fn cells_end_with_their_numbers() {
        assert_eq!(cell_of(-0.1, 0.0), Some((-1, 0)));
        assert_eq!(cell_of(1e300, -1e300), Some((i32::MAX, i32::MIN)));
        assert_eq!(cell_of(f64::NAN, 0.0), None);
        let ((left, _), (right, _)) = cells_near(1e300, 0.0, 1.0);
        assert!(left == i32::MAX && right == i32::MAX);
        let ((left, _), (right, _)) = cells_near(0.0, 0.0, f64::MAX);
        assert!(left == i32::MIN && right == i32::MAX);
    }
}
