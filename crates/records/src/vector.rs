//! The vector of one row: its components, and what each column adds to its length.
//! [`super::vectors`] makes them, [`super::vector_blocks`] keeps them, [`super::pair`] compares
//! two. Components are in the order of features, then of columns: sums of floating-point numbers
//! depend on the order.

/// The number of all features that one column of one row has, and no other. They are one component of each
/// column.
pub const SINGLE: u32 = u32::MAX;

/// A feature of a column of a row, and how much it counts.
#[derive(Clone, Copy)]
pub struct Component {
    /// The number of the feature; [`SINGLE`] for all that no other row has in this column.
    pub feature: u32,
    /// The number of the column, from 0.
    pub column: u32,
    /// How much it counts: the coordinate of the vector, of no fixed scale.
    pub weight: f32,
}

/// The vector of a row.
#[derive(Default)]
pub struct Vector {
    /// In the order of features, then of columns.
    pub components: Vec<Component>,
    /// What each column adds to the square of the length; none without features.
    pub squares: Vec<f64>,
    /// What is kept of its values; see [`super::notes`].
    pub notes: Vec<u8>,
}

impl Vector {
    /// Returns what a column adds to the square of the length.
    pub fn square(&self, column: usize) -> f64 {
        self.squares.get(column).copied().unwrap_or(0.0)
    }

    /// Finds what each column adds: a feature of several columns is one dimension, of all their weight.
    pub fn add_up(&mut self) {
        self.squares.clear();
        for of_feature in self.components.chunk_by(|a, b| a.feature == b.feature) {
            let whole = weight_of(of_feature);
            for component in of_feature {
                let column = component.column as usize;
                if self.squares.len() <= column {
                    self.squares.resize(column + 1, 0.0);
                }
                let weight = f64::from(component.weight);
                self.squares[column] += match component.feature {
                    SINGLE => weight * weight,
                    _ => weight * whole,
                };
            }
        }
    }
}

/// Returns the weight of a feature, of its components.
pub fn weight_of(components: &[Component]) -> f64 {
    components.iter().map(|c| f64::from(c.weight)).sum()
}
