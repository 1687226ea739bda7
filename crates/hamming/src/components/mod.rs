//! Groups of rows that pairs connect: [`group`] makes them, [`edges`] lists the pairs and
//! [`edge_sort`] sorts them. simhash_clusters and simhash_components call it with pairs.
//! The order of the pairs does not change the groups.

pub mod edge_sort;
pub mod edges;
pub mod group;

#[cfg(test)]
mod tests;
