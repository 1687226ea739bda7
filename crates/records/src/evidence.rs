//! What each column says about pairs, found in the rows themselves. [`super::frequencies`] shows it
//! pairs that share a rare feature, and multiplies what columns weigh by what it answers. A column
//! counts more, the better it tells pairs that are alike in the other columns from pairs that are
//! half alike there; nobody has to label any.
//!
//! It is the weight of Fellegi and Sunter 1969, with half-alike pairs in the place of random ones:
//! people of one address agree in many columns, and those must not count as much as the ones in
//! which they differ. Counts are whole numbers, so the order of the pairs does not matter.

use crate::pair::for_each_shared;
use crate::vector::Vector;

/// Least cosine of two values that agree.
const AGREE: f64 = 0.5;

/// Least share of the other columns in which pairs agree that are alike, and that are half alike.
const ALIKE: [f64; 2] = [2.0 / 3.0, 1.0 / 3.0];

/// Pairs after which a column's weight is half its own, and half 1.
const UNKNOWN: f64 = 500.0;

/// How much values that differ count, as a part of values that agree: a column that most pairs agree in says much when it
/// differs, and that must not make what they share count more.
const DIFFERENT: f64 = 0.25;

/// A column's weight is this at most, and one divided by it at least: no column may say all. Of people of few countries it
/// would be the country, in which nearly all agree who agree in anything.
const MOST: f64 = 1.6;

/// Pairs that are alike in the other columns, or half alike.
#[derive(Clone, Copy, Default)]
struct Count {
    pairs: u32,
    /// Those whose values in this column agree.
    agree: u32,
}

impl Count {
    /// Returns the share of pairs whose values agree, never 0 nor 1.
    fn share(self) -> f64 {
        (f64::from(self.agree) + 0.5) / (f64::from(self.pairs) + 1.0)
    }
}

/// What was seen of each column.
#[derive(Default)]
pub struct Evidence {
    columns: Vec<[Count; 2]>,
}

impl Evidence {
    /// Adds a pair of two records that differ.
    pub fn add(&mut self, a: &Vector, b: &Vector) {
        let agree = agreements(a, b);
        let compared = agree.iter().flatten().count();
        let agreeing = agree.iter().flatten().filter(|agrees| **agrees).count();
        if self.columns.len() < agree.len() {
            self.columns.resize(agree.len(), Default::default());
        }
        for (column, agrees) in self.columns.iter_mut().zip(agree) {
            let Some(agrees) = agrees else { continue };
            if compared < 2 {
                continue;
            }
            let others = (agreeing - usize::from(agrees)) as f64 / (compared - 1) as f64;
            if let Some(group) = ALIKE.iter().position(|least| others >= *least) {
                column[group].pairs += 1;
                column[group].agree += u32::from(agrees);
            }
        }
    }

    /// Returns how much each column counts; 1 where nothing is known.
    pub fn weights(&self) -> Vec<f64> {
        let known = |[alike, half]: &[Count; 2]| {
            let pairs = f64::from(alike.pairs.min(half.pairs));
            let (alike, half) = (alike.share(), half.share());
            let tells = (alike / half).ln() + DIFFERENT * ((1.0 - half) / (1.0 - alike)).ln();
            (pairs / (pairs + UNKNOWN), tells.max(0.0))
        };
        let known: Vec<(f64, f64)> = self.columns.iter().map(known).collect();
        let sum: f64 = known.iter().map(|(trust, _)| trust).sum();
        let mean = known
            .iter()
            .map(|(trust, tells)| trust * tells)
            .sum::<f64>()
            / sum;
        let weight = |(trust, tells): &(f64, f64)| match mean > 0.0 {
            true => {
                let weight = 1.0 + trust * (tells / mean - 1.0);
                weight.clamp(1.0 / MOST, MOST)
            }
            false => 1.0,
        };
        known.iter().map(weight).collect()
    }
}

/// Returns for each column whether the values of two records agree, where both have one.
fn agreements(a: &Vector, b: &Vector) -> Vec<Option<bool>> {
    let mut products = vec![0.0; a.squares.len().min(b.squares.len())];
    let lengths = [a, b].map(|row| {
        let mut squares = vec![0.0; products.len()];
        for component in &row.components {
            if let Some(square) = squares.get_mut(component.column as usize) {
                *square += f64::from(component.weight).powi(2);
            }
        }
        squares
    });
    for_each_shared(&a.components, &b.components, &mut |a, b| {
        for own in a {
            let other = b.iter().find(|other| other.column == own.column);
            if let Some(other) = other {
                products[own.column as usize] += f64::from(own.weight) * f64::from(other.weight);
            }
        }
    });
    let agrees = |(column, product): (usize, &f64)| {
        let square = lengths[0][column] * lengths[1][column];
        (square > 0.0).then(|| *product >= AGREE * square.sqrt())
    };
    products.iter().enumerate().map(agrees).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::Component;

    /// A record whose columns have one feature each, by its number; 0 is no value.
    fn record(values: &[u32]) -> Vector {
        let components = (0..).zip(values).filter(|(_, value)| **value > 0);
        let component = |(column, value): (u32, &u32)| Component {
            feature: value * 8 + column,
            column,
            weight: 2.0,
        };
        let mut components: Vec<Component> = components.map(component).collect();
        components.sort_by_key(|component| component.feature);
        Vector {
            components,
            squares: values.iter().map(|value| f64::from(*value)).collect(),
            notes: Vec::new(),
        }
    }

    fn weights(pairs: &[(&[u32], usize)]) -> Vec<f64> {
        let mut evidence = Evidence::default();
        for (other, times) in pairs {
            for _ in 0..*times {
                evidence.add(&record(&[1, 1, 1, 1]), &record(other));
            }
        }
        evidence.weights()
    }

    #[test]
    fn nothing_is_known_of_few_pairs() {
        assert!(weights(&[]).is_empty());
        assert_eq!(weights(&[(&[1, 1, 1, 2], 1)]), [1.0; 4]);
        // Nothing is alike in other columns, where there is none.
        assert_eq!(
            weights(&[(&[1, 0, 0, 0], 1000), (&[2, 0, 0, 0], 1000)]),
            [1.0; 4]
        );
    }

    #[test]
    fn a_column_counts_by_what_it_tells() {
        // One person; one address, which is in the columns 1 and 2; and strangers.
        let pairs: [(&[u32], usize); 3] = [
            (&[1, 1, 1, 1], 1000),
            (&[2, 1, 1, 2], 1000),
            (&[2, 2, 1, 2], 1000),
        ];
        let found = weights(&pairs);
        // Of those that are alike in the others, two of three at least, and of those half alike, one of three.
        let share = |agree: f64, pairs: f64| (agree + 0.5) / (pairs + 1.0);
        let ratio = |m: f64, u: f64| (m / u).ln() + 0.25 * ((1.0 - u) / (1.0 - m)).ln();
        let person = ratio(share(1000.0, 2000.0), share(0.0, 1000.0));
        let street = ratio(share(1000.0, 1000.0), share(1000.0, 2000.0));
        let tells = [person, street, 0.0, person];
        let trust = 1000.0 / 1500.0;
        let mean = tells.iter().sum::<f64>() / 4.0;
        for (found, tells) in found.iter().zip(tells) {
            let weight = 1.0 + trust * (tells / mean - 1.0);
            assert!(
                (found - weight.clamp(1.0 / MOST, MOST)).abs() < 1e-9,
                "{found} {weight}"
            );
        }
        assert!(found[0] > 1.3 && found[2] < 0.63, "{found:?}");
    }

    #[test]
    fn a_value_that_one_of_two_lacks_says_nothing() {
        let evidence = |other: &[u32]| agreements(&record(&[1, 1, 1, 1]), &record(other));
        assert_eq!(
            evidence(&[0, 1, 2, 1]),
            [None, Some(true), Some(false), Some(true)]
        );
    }
}
