//! How rare the values of each column are, which is part of what the column counts: model numbers
//! say more than brands. [`super::vectors`] adds every value, [`super::frequencies`] multiplies the
//! weights of columns by it. Sums are whole numbers, so the order of rows does not matter.

/// A column counts by the mean square of its features' weights to the power of this.
const POWER: f64 = 0.15;

/// The logarithm is added in parts of this.
const PARTS: f64 = (1 << 16) as f64;

/// What was seen of each column: the sum of logarithms, and the number of values.
#[derive(Default)]
pub struct Rarity {
    columns: Vec<(i64, u32)>,
}

impl Rarity {
    /// Adds a value, of which this is the mean square of the weights of its features.
    pub fn add(&mut self, column: usize, square: f64) {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, (0, 0));
        }
        if square > 0.0 {
            let (sum, count) = &mut self.columns[column];
            *sum += (square.ln() * PARTS) as i64;
            *count += 1;
        }
    }

    /// Returns these weights of columns, 1 where there is none, times what rarity says: 1 on average.
    pub fn times(&self, weights: &[f64]) -> Vec<f64> {
        let rare = |(sum, count): &(i64, u32)| {
            let mean = *sum as f64 / PARTS / f64::from((*count).max(1));
            (*count > 0).then(|| (POWER * mean).exp())
        };
        let rarities: Vec<Option<f64>> = self.columns.iter().map(rare).collect();
        let known = rarities.iter().flatten();
        let mean = known.clone().sum::<f64>() / known.count().max(1) as f64;
        let weight = |(column, rarity): (usize, &Option<f64>)| {
            let weight = weights.get(column).copied().unwrap_or(1.0);
            weight * rarity.map_or(1.0, |rarity| rarity / mean)
        };
        rarities.iter().enumerate().map(weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_rare_values_count_more() {
        let mut rarity = Rarity::default();
        for square in [f64::from(1 << 20), f64::from(1 << 20), 0.0] {
            rarity.add(0, square);
            rarity.add(2, square / f64::from(1 << 20));
        }
        // 2 to the power of 20 x 0.15 is 8; the mean of 8 and 1 is 4.5.
        let weights = rarity.times(&[1.0, 1.0, 3.0]);
        let expected = [8.0 / 4.5, 1.0, 3.0 / 4.5];
        for (weight, expected) in weights.iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-4, "{weights:?}");
        }
        assert!(Rarity::default().times(&[]).is_empty());
    }
}
