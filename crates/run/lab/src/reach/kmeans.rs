//! k-means with the seeding of k-means++.

use rayon::prelude::*;
use tidewatch_math::rng::Draws;

use super::{DAYS, InterestVector};

/// Most iterations of Lloyd's algorithm; it converges long before.
const MOST_ITERATIONS: usize = 100;
/// Independent starts; the best one counts.
const STARTS: u64 = 8;
/// Block size of parallel sums; fixed, so that sums do not depend on threads.
const CHUNK: usize = 4096;

/// A partition of interest vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// Means of the clusters, the largest cluster first.
    pub centroids: Vec<InterestVector>,
    /// Vectors in each.
    pub sizes: Vec<usize>,
    /// Sum of squared distances to the centroids.
    pub spread: f64,
}

/// At most `k` clusters by squared distance; fewer if there are fewer vectors.
pub fn k_means(vectors: &[InterestVector], k: usize, seed: u64) -> Clusters {
    let best = (0..STARTS).map(|start| once(vectors, k, &mut Draws::of(seed, "k-means", start)));
    let best = best.min_by(|a, b| a.spread.total_cmp(&b.spread));
    let mut best =
        best.unwrap_or(Clusters { centroids: Vec::new(), sizes: Vec::new(), spread: 0.0 });
    let mut order: Vec<usize> = (0..best.sizes.len()).filter(|&i| best.sizes[i] > 0).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(best.sizes[i]));
    best.centroids = order.iter().map(|&i| best.centroids[i]).collect();
    best.sizes = order.iter().map(|&i| best.sizes[i]).collect();
    best
}

fn once(vectors: &[InterestVector], k: usize, draws: &mut Draws) -> Clusters {
    let mut centroids = spread_out(vectors, k, draws);
    let mut before = f64::INFINITY;
    for _ in 0..MOST_ITERATIONS {
        let sums = assign(vectors, &centroids);
        for (centroid, (sum, size)) in centroids.iter_mut().zip(&sums.clusters) {
            if *size > 0 {
                *centroid = sum.map(|x| x / *size as f64);
            }
        }
        if sums.spread >= before {
            break;
        }
        before = sums.spread;
    }
    let last = assign(vectors, &centroids);
    let sizes = last.clusters.iter().map(|cluster| cluster.1).collect();
    Clusters { centroids, sizes, spread: last.spread }
}

/// The first centroid is random; each next one is drawn in proportion to its squared distance.
fn spread_out(vectors: &[InterestVector], k: usize, draws: &mut Draws) -> Vec<InterestVector> {
    let mut centroids = Vec::new();
    let mut away = vec![f64::INFINITY; vectors.len()];
    while centroids.len() < k.min(vectors.len()) {
        let next = if centroids.is_empty() {
            draws.below(vectors.len() as u64) as usize
        } else {
            let mut left = draws.uniform() * away.iter().sum::<f64>();
            let beyond = away.iter().position(|distance| {
                left -= distance;
                left < 0.0
            });
            // All vectors are centroids already, or rounding left a remainder.
            let Some(next) = beyond else { break };
            next
        };
        centroids.push(vectors[next]);
        for (away, vector) in away.iter_mut().zip(vectors) {
            *away = away.min(distance(vector, &vectors[next]));
        }
    }
    centroids
}

struct Sums {
    clusters: Vec<([f64; DAYS], usize)>,
    spread: f64,
}

fn assign(vectors: &[InterestVector], centroids: &[InterestVector]) -> Sums {
    let empty = || Sums { clusters: vec![([0.0; DAYS], 0); centroids.len()], spread: 0.0 };
    let parts: Vec<Sums> = vectors
        .par_chunks(CHUNK)
        .map(|chunk| {
            let mut sums = empty();
            for vector in chunk {
                let nearest = centroids.iter().map(|c| distance(vector, c)).enumerate();
                let Some((at, away)) = nearest.min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
                let (sum, size) = &mut sums.clusters[at];
                sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
                *size += 1;
                sums.spread += away;
            }
            sums
        })
        .collect();
    parts.into_iter().fold(empty(), |mut all, part| {
        for (all, part) in all.clusters.iter_mut().zip(&part.clusters) {
            all.0.iter_mut().zip(&part.0).for_each(|(sum, x)| *sum += x);
            all.1 += part.1;
        }
        all.spread += part.spread;
        all
    })
}

fn distance(a: &InterestVector, b: &InterestVector) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: usize, noise: f64) -> InterestVector {
        let mut vector = [noise; DAYS];
        vector[day] = 1.0;
        vector
    }

    #[test]
    fn clear_groups_are_found_whatever_the_seed() {
        let mut vectors = Vec::new();
        for i in 0..60 {
            let noise = f64::from(i % 5) * 0.01;
            vectors.push(at(0, noise));
            if i % 2 == 0 {
                vectors.push(at(5, noise));
            }
            if i % 6 == 0 {
                vectors.push([1.0 - noise; DAYS]);
            }
        }
        for seed in 0..5 {
            let clusters = k_means(&vectors, 3, seed);
            assert_eq!(clusters.sizes, [60, 30, 10]);
            assert!((clusters.centroids[1][5] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn few_vectors_make_few_clusters() {
        assert!(k_means(&[], 6, 1).centroids.is_empty());
        let same = k_means(&[at(1, 0.0); 4], 6, 1);
        assert_eq!(same.sizes, [4]);
        assert!(same.spread.abs() < 1e-12);
        assert_eq!(k_means(&[at(1, 0.0), at(2, 0.0)], 6, 1).sizes, [1, 1]);
    }
}
