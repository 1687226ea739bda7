//! How similar two rows are: the cosine of the angle between their vectors (Salton and McGill
//! 1983), in which a column that is empty in one of them counts less. [`super::comparison`]
//! compares the candidates with it. Equal rows have similarity 1, rows without a common feature 0.

use crate::notes::{for_each_spelling, share_code};
use crate::vector::{Component, SINGLE, Vector, weight_of};

/// How much a column counts that is empty in one of two rows, of what the rows do not share.
const LEFT_EMPTY: f64 = 0.75;

/// By which the similarity is multiplied if both rows have codes in a title, and they share none, or share one: other codes
/// mean another thing (models of a maker are alike in all other words).
const CODES: [f64; 2] = [0.7, 1.25];

/// By which it is multiplied if both rows have a value in one of several columns alone: an equal town does not make an equal person.
const LONE: f64 = 0.9;

/// Two rows that are compared.
pub struct Pair<'a> {
    /// The vector of one of them.
    pub a: &'a Vector,
    /// That of the other one.
    pub b: &'a Vector,
    /// The number of columns that are compared; 0 if those of one number are not one column.
    pub columns: usize,
}

/// What a column does for the similarity of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Its part of the similarity: these sum to it.
    pub shared: f64,
    /// What it would add if the rows were equal, less that: these sum to 1 less the similarity.
    pub against: f64,
}

impl Pair<'_> {
    /// Returns the similarity, 0 to 1.
    pub fn similarity(&self) -> f64 {
        let mut product = self.misspelt().iter().map(|(_, more)| more).sum::<f64>();
        let mut extra = [0.0; 2];
        for_each_shared(&self.a.components, &self.b.components, &mut |a, b| {
            product += weight_of(a) * weight_of(b);
            extra[0] += self.weight_of_empty(a, self.b);
            extra[1] += self.weight_of_empty(b, self.a);
        });
        let length = |own: &Vector, other: &Vector, extra: f64| {
            let counts = |c: usize| self.share(c, other) * own.squares[c];
            let squares: f64 = (0..own.squares.len()).map(counts).sum();
            squares + (1.0 - LEFT_EMPTY) * extra
        };
        let lengths = length(self.a, self.b, extra[0]) * length(self.b, self.a, extra[1]);
        match lengths > 0.0 {
            true => (self.times() * product / lengths.sqrt()).min(1.0),
            false => 0.0,
        }
    }

    /// Returns by what codes in titles multiply the similarity.
    fn of_codes(&self) -> f64 {
        let share = share_code(&self.a.notes, &self.b.notes);
        share.map_or(1.0, |share| CODES[usize::from(share)])
    }

    /// Returns by what the similarity is multiplied.
    fn times(&self) -> f64 {
        let are_lone = self.a.is_lone(self.columns) && self.b.is_lone(self.columns);
        self.of_codes() * if are_lone { LONE } else { 1.0 }
    }

    /// Returns columns whose values differ by a typing error, and what they add to the product: with it the cosine of the two
    /// values is what is left of one in the other.
    fn misspelt(&self) -> Vec<(usize, f64)> {
        let mut more = Vec::new();
        if self.columns == 0 {
            return more;
        }
        for_each_spelling(&self.a.notes, &self.b.notes, |column, left| {
            let square = self.a.square(column) * self.b.square(column);
            more.push((column, left * square.sqrt()));
        });
        if more.is_empty() {
            return more;
        }
        for_each_shared(&self.a.components, &self.b.components, &mut |a, b| {
            for own in a {
                let of_own = |(column, _): &&mut (usize, f64)| *column == own.column as usize;
                let other = b.iter().find(|other| other.column == own.column);
                if let (Some(other), Some((_, more))) = (other, more.iter_mut().find(of_own)) {
                    *more -= f64::from(own.weight) * f64::from(other.weight);
                }
            }
        });
        more.retain(|(_, more)| *more > 0.0);
        more
    }

    /// Returns what each column does for the similarity. A feature of several columns counts in each by
    /// what it weighs there.
    pub fn parts(&self) -> Vec<Part> {
        let rows = [self.a, self.b];
        let columns = rows.map(|row| row.squares.len()).into_iter().max();
        let mut shared = vec![0.0; columns.unwrap_or(0)];
        let mut lengths: [Vec<f64>; 2] = std::array::from_fn(|side| {
            let counts = |c| self.share(c, rows[1 - side]) * rows[side].square(c);
            (0..shared.len()).map(counts).collect()
        });
        for_each_shared(&self.a.components, &self.b.components, &mut |a, b| {
            for (side, own, other) in [(0, a, b), (1, b, a)] {
                for component in own {
                    let column = component.column as usize;
                    let weight = f64::from(component.weight);
                    shared[column] += weight * weight_of(other) / 2.0;
                    let share = self.share(column, rows[1 - side]);
                    lengths[side][column] += (1.0 - share) * weight * weight_of(own);
                }
            }
        });
        for (column, more) in self.misspelt() {
            shared[column] += more;
        }
        let sums: [f64; 2] = lengths.each_ref().map(|of_row| of_row.iter().sum());
        let root = (sums[0] * sums[1]).sqrt();
        let whole: f64 = shared.iter().sum::<f64>() / root;
        let times = self.times().min(1.0 / whole.max(f64::MIN_POSITIVE));
        let part = |column: usize| match root > 0.0 {
            true => {
                let shared = times * shared[column] / root;
                let whole = lengths[0][column] / sums[0] + lengths[1][column] / sums[1];
                Part {
                    shared,
                    against: whole / 2.0 - shared,
                }
            }
            false => Part::default(),
        };
        (0..shared.len()).map(part).collect()
    }

    /// Returns how much a column counts, by whether the other row has a value there.
    fn share(&self, column: usize, other: &Vector) -> f64 {
        match (self.columns > 0) && other.square(column) == 0.0 {
            true => LEFT_EMPTY,
            false => 1.0,
        }
    }

    /// Returns what a shared feature adds to the square of a row's length by columns that are empty in the
    /// other one.
    fn weight_of_empty(&self, components: &[Component], other: &Vector) -> f64 {
        let is_empty = |c: &&Component| self.share(c.column as usize, other) < 1.0;
        let empty = components.iter().filter(is_empty);
        empty.map(|c| f64::from(c.weight)).sum::<f64>() * weight_of(components)
    }
}

/// Returns the similarity of equal rows, by how many of their columns have a value.
pub fn of_equal(filled: usize, columns: usize) -> f64 {
    if filled == 1 && columns > 1 {
        LONE
    } else {
        1.0
    }
}

/// Calls `each` with the components of both rows of each feature that they share. The time grows with the
/// length of the shorter one.
pub fn for_each_shared<'a>(
    a: &'a [Component],
    b: &'a [Component],
    each: &mut dyn FnMut(&'a [Component], &'a [Component]),
) {
    if a.len() > b.len() {
        return for_each_shared(b, a, &mut |b, a| each(a, b));
    }
    let mut others = b;
    for own in a.chunk_by(|a, b| a.feature == b.feature) {
        let feature = own[0].feature;
        if feature == SINGLE {
            break;
        }
        others = from_feature(others, feature);
        let count = others.iter().take_while(|c| c.feature == feature).count();
        if count > 0 {
            each(own, &others[..count]);
        }
    }
}

/// Returns the components of a vector from a feature on; most of them are looked at if there are few.
fn from_feature(vector: &[Component], feature: u32) -> &[Component] {
    let mut end = 1;
    while end <= vector.len() && vector[end - 1].feature < feature {
        end *= 2;
    }
    let start = end / 2;
    let between = &vector[start..end.min(vector.len())];
    &vector[start + between.partition_point(|component| component.feature < feature)..]
}

impl Vector {
    /// Whether it has a value in one of several columns alone.
    fn is_lone(&self, columns: usize) -> bool {
        let filled = self.squares.iter().filter(|square| **square > 0.0);
        of_equal(filled.count(), columns) < 1.0
    }

    /// Returns the similarity of equal rows.
    pub fn similarity_of_equal(&self, columns: usize) -> f64 {
        if self.is_lone(columns) { LONE } else { 1.0 }
    }

    /// Equal rows share what nobody else has, too.
    pub fn parts_of_equal(&self, columns: usize) -> Vec<Part> {
        let sum: f64 = self.squares.iter().sum();
        let similarity = self.similarity_of_equal(columns);
        let part = |square: &f64| Part {
            shared: similarity * square / sum,
            against: (1.0 - similarity) * square / sum,
        };
        self.squares.iter().map(part).collect()
    }
}
