//! The code of one vertex: attempts with one refinement after another, until a reconstruction meets the error
//! bound and all other constraints. This file codes the vertices of lattice lines, anchors, and vertices
//! whose first attempt is not accepted. First attempts in interiors and with the Lorenzo predictor are made
//! for whole rows elsewhere, by the same [`Step::attempt`] and [`Acceptance`].

use crate::entropy::symbols::{Code, REFINEMENTS};
use crate::grid::element::Real;
use crate::predict::quantizer::{Acceptance, Step};

/// The refinement of which the speculative mode tries three reconstructions: the nearest one, and its
/// neighbours in the direction of the original along each axis.
const WITH_NEIGHBOURS: usize = 1;
/// The refinements that the speculative mode tries at a constrained vertex.
const SPECULATIVE_REFINEMENTS: usize = 8;

/// A vertex, and the reconstructions that codes can name.
pub(super) struct Candidates<'a, T> {
    pub original: [T; 2],
    /// The reconstruction of the code (0, 0).
    pub prediction: [T; 2],
    /// By refinement.
    pub steps: &'a [Step<T>; REFINEMENTS],
}

/// A reconstruction of a vertex.
#[derive(Clone, Copy)]
pub(super) struct Candidate<T> {
    pub code: Code,
    pub value: [T; 2],
    /// The larger one of the errors of the components.
    pub error: T,
}

impl<T: Real> Candidates<'_, T> {
    /// The nearest reconstruction of a refinement; None where the vertex must be stored.
    #[inline(always)]
    pub(super) fn nearest(&self, refinement: usize) -> Option<Candidate<T>> {
        let attempt = |c: usize| self.steps[refinement].attempt(self.original[c], self.prediction[c]);
        let (u, v) = (attempt(0), attempt(1));
        (u.fits & v.fits).then(|| Candidate {
            code: Code { refinement: refinement as u8, q: [u.code, v.code] },
            value: [u.value, v.value],
            error: u.error.max(v.error),
        })
    }

    /// The neighbours of a reconstruction in the direction of the original along each axis, the nearer one
    /// first.
    fn neighbours(&self, nearest: Candidate<T>) -> impl Iterator<Item = Candidate<T>> + '_ {
        let errors = [0, 1].map(|c| nearest.value[c] - self.original[c]);
        let first = (errors[0].abs() < errors[1].abs()) as usize;
        let neighbours = [first, 1 - first].map(|axis| {
            let Candidate { mut code, mut value, .. } = nearest;
            code.q[axis] += if errors[axis] < T::ZERO { 1 } else { -1 };
            value[axis] = self.steps[code.refinement as usize].decode(code.q[axis], self.prediction[axis]);
            let error = |c: usize| (value[c] - self.original[c]).abs();
            (code.q[axis].abs() <= T::MAX_CODE).then(|| Candidate {
                code,
                value,
                error: error(0).max(error(1)),
            })
        });
        neighbours.into_iter().flatten()
    }
}

/// Limits that the reconstruction of a vertex must meet.
pub(super) struct VertexLimits<T, K> {
    pub accept: Acceptance<T>,
    /// The bound of a constrained vertex.
    pub bound: Option<T>,
    /// The second test of the speculative mode: whether a reconstruction keeps the signatures.
    pub keeps: Option<K>,
}

impl<T: Real, K: Fn([T; 2]) -> bool> VertexLimits<T, K> {
    /// The first reconstruction that meets all limits; None if the vertex must be stored.
    ///
    /// With a vertex bound alone, a refinement whose half bin width is at most the bound almost never fails.
    /// After refinement 0 the trials therefore continue one refinement before the first of these. Signatures
    /// may reject the nearest reconstruction and accept another one: the speculative mode tries two
    /// neighbours before it refines further.
    #[inline(always)]
    pub(super) fn find(&self, candidates: &Candidates<'_, T>) -> Option<Candidate<T>> {
        let compares = self.bound.is_some() && self.keeps.is_some();
        let refinements = if compares { SPECULATIVE_REFINEMENTS } else { REFINEMENTS };
        let mut refinement = 0;
        while refinement < refinements {
            let nearest = candidates.nearest(refinement)?;
            if self.allows(&nearest) {
                return Some(nearest);
            }
            if refinement == WITH_NEIGHBOURS && compares {
                if let Some(other) = candidates.neighbours(nearest).find(|other| self.allows(other)) {
                    return Some(other);
                }
            }
            refinement = self.next(refinement, candidates.steps);
        }
        None
    }

    /// The refinement to try after one that failed.
    #[inline(always)]
    fn next(&self, refinement: usize, steps: &[Step<T>; REFINEMENTS]) -> usize {
        match (refinement, self.bound, &self.keeps) {
            (0, Some(bound), None) => {
                let certain =
                    (1..REFINEMENTS).find(|&r| steps[r].half_width_within(bound)).unwrap_or(REFINEMENTS);
                (certain - 1).max(1)
            }
            _ => refinement + 1,
        }
    }

    #[inline(always)]
    fn allows(&self, candidate: &Candidate<T>) -> bool {
        let Some(bound) = self.bound else { return self.accept.within(candidate.error) };
        let keeps = || self.keeps.as_ref().is_none_or(|keeps| keeps(candidate.value));
        self.accept.allows(candidate.error, bound) && (candidate.error == T::ZERO || keeps())
    }
}
