//! The coding of a vertex that the error bound alone does not settle: refinements in order, until a
//! reconstruction meets the error bound and the bound of the vertex.

use crate::entropy::symbols::{Code, REFINEMENTS};
use crate::grid::element::Real;

/// Conditions on the reconstruction of a vertex.
pub(super) struct VertexLimits<T, K> {
    /// Errors up to this one meet the error bound.
    pub accept: T,
    /// Errors of a constrained vertex stay strictly below this.
    pub bound: Option<T>,
    /// Decides what the bound does not, in the speculative mode: whether a reconstruction keeps the
    /// signatures.
    pub keeps: Option<K>,
}

impl<T: Real, K: Fn([T; 2]) -> bool> VertexLimits<T, K> {
    /// The code of the first refinement whose reconstruction is good enough, the reconstruction and its
    /// error; None where the vertex must be stored. `quantize(component, refinement)` gives a code and what
    /// it decodes to, and `width(refinement)` the distance between neighbouring reconstructions.
    ///
    /// A bound tells which refinements cannot fail, those with an error of half a width at most: after the
    /// refinement 0 only the last one that may still fail is tried, and those that cannot.
    #[inline(always)]
    pub(super) fn find(
        &self,
        original: [T; 2],
        quantize: impl Fn(usize, usize) -> Option<(i32, T)>,
        width: impl Fn(usize) -> T,
    ) -> Option<(Code, [T; 2], T)> {
        let mut refinement = 0;
        while refinement < REFINEMENTS {
            let ((qu, u), (qv, v)) = (quantize(0, refinement)?, quantize(1, refinement)?);
            let error = (u - original[0]).abs().max((v - original[1]).abs());
            if error == T::ZERO || error <= self.accept && self.allows([u, v], error) {
                return Some((Code { refinement: refinement as u8, q: [qu, qv] }, [u, v], error));
            }
            if let (0, Some(bound), None) = (refinement, self.bound, &self.keeps) {
                let certain = (1..REFINEMENTS).find(|&r| T::HALF * width(r) <= bound).unwrap_or(REFINEMENTS);
                refinement = certain.saturating_sub(2);
            }
            refinement += 1;
        }
        None
    }

    #[inline(always)]
    fn allows(&self, reconstruction: [T; 2], error: T) -> bool {
        self.bound.is_none_or(|bound| {
            error < bound && self.keeps.as_ref().is_none_or(|keeps| keeps(reconstruction))
        })
    }
}
