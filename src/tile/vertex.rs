//! The coding of a vertex that the error bound alone does not settle: refinements in order, until a
//! reconstruction meets the error bound and the bound of the vertex.

use crate::entropy::symbols::{Code, REFINEMENTS};
use crate::grid::element::Real;

/// The refinement of which the speculative mode tries three reconstructions: the nearest one, and its
/// neighbours in the direction of the original along each axis.
const WITH_NEIGHBOURS: usize = 1;
/// The refinements that the speculative mode tries at a constrained vertex.
const SPECULATIVE_REFINEMENTS: usize = 8;

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
    /// The code of the first reconstruction that is good enough, the reconstruction and its error; None where
    /// the vertex must be stored. `quantize(component, refinement)` gives the nearest code and its
    /// reconstruction, `decode(component, refinement, code)` the reconstruction of a code, and
    /// `width(refinement)` the distance between neighbouring reconstructions.
    ///
    /// A bound tells which refinements cannot fail, those with an error of half a width at most: after the
    /// refinement 0 only the last one that may still fail is tried, and those that cannot. The signatures may
    /// reject the nearest reconstruction and accept another: the speculative mode tries two neighbours before
    /// it refines further, the nearer one first.
    #[inline(always)]
    pub(super) fn find(
        &self,
        original: [T; 2],
        quantize: impl Fn(usize, usize) -> Option<(i32, T)>,
        decode: impl Fn(usize, usize, i32) -> T,
        width: impl Fn(usize) -> T,
    ) -> Option<(Code, [T; 2], T)> {
        let compares = self.bound.is_some() && self.keeps.is_some();
        let refinements = if compares { SPECULATIVE_REFINEMENTS } else { REFINEMENTS };
        let mut refinement = 0;
        while refinement < refinements {
            let ((qu, u), (qv, v)) = (quantize(0, refinement)?, quantize(1, refinement)?);
            let error = distance([u, v], original);
            if self.allows([u, v], error) {
                return Some((Code { refinement: refinement as u8, q: [qu, qv] }, [u, v], error));
            }
            if refinement == WITH_NEIGHBOURS && compares {
                let errors = [u - original[0], v - original[1]];
                let first = (errors[0].abs() < errors[1].abs()) as usize;
                for axis in [first, 1 - first] {
                    let (mut q, mut value) = ([qu, qv], [u, v]);
                    q[axis] += if errors[axis] < T::ZERO { 1 } else { -1 };
                    value[axis] = decode(axis, refinement, q[axis]);
                    let error = distance(value, original);
                    if q[axis].abs() <= T::MAX_CODE && self.allows(value, error) {
                        return Some((Code { refinement: refinement as u8, q }, value, error));
                    }
                }
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
        let keeps = || self.keeps.as_ref().is_none_or(|keeps| keeps(reconstruction));
        error == T::ZERO || error <= self.accept && self.bound.is_none_or(|bound| error < bound && keeps())
    }
}

fn distance<T: Real>(a: [T; 2], b: [T; 2]) -> T {
    (a[0] - b[0]).abs().max((a[1] - b[1]).abs())
}
