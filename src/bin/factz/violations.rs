//! Which differences break the promise of a setting of `preserve`, and which it allows.

use crate::gaps::LostVertices;
use crate::say::{counted, grouped};
use factz::{ComparisonOf, Kind, Preserve};

/// The number of differences that the setting does not allow.
pub fn violations<const KINDS: usize>(c: &ComparisonOf<KINDS>, preserve: Preserve) -> u64 {
    match preserve {
        Preserve::None => c.changed_missing + c.bound_exceeded,
        Preserve::Points => c.violations() - changed_types_inside(c),
        Preserve::Types => c.violations(),
    }
}

/// Points in triangles, or in tetrahedra, of another type. Zeros elsewhere have an index in place of a type.
fn changed_types_inside<const KINDS: usize>(c: &ComparisonOf<KINDS>) -> u64 {
    c.changed_types - c.changed_indices
}

/// Differences that the setting does not allow, each kind with its number. The changed missing vertices are told apart
/// from those that only the reconstruction lacks.
pub fn complaints<const KINDS: usize>(
    c: &ComparisonOf<KINDS>,
    lost: &LostVertices,
    preserve: Preserve,
) -> Vec<String> {
    let of_points = [
        (c.lost_points, "critical point is lost", "critical points are lost"),
        (c.spurious_points, "critical point is spurious", "critical points are spurious"),
        (
            c.changed_types - if preserve == Preserve::Points { changed_types_inside(c) } else { 0 },
            "critical point has another type or index",
            "critical points have another type or index",
        ),
        match KINDS == Kind::COUNT {
            true => (
                c.changed_ties,
                "triangle with the origin on its boundary changed",
                "triangles with the origin on their boundary changed",
            ),
            false => (
                c.changed_ties,
                "tetrahedron with the origin on its boundary changed",
                "tetrahedra with the origin on their boundary changed",
            ),
        },
        match KINDS == Kind::COUNT {
            true => (
                c.new_ties,
                "triangle now has the origin on its boundary",
                "triangles now have the origin on their boundary",
            ),
            false => (
                c.new_ties,
                "tetrahedron now has the origin on its boundary",
                "tetrahedra now have the origin on their boundary",
            ),
        },
    ];
    let of_values = [
        (c.changed_missing - lost.count, "missing vertex changed", "missing vertices changed"),
        (c.bound_exceeded, "value exceeds the bound", "values exceed the bound"),
    ];
    let of_points = if preserve == Preserve::None { &of_points[..0] } else { &of_points[..] };
    let all = of_points.iter().chain(&of_values).filter(|(n, _, _)| *n > 0);
    all.map(|(n, one, many)| counted(*n, one, many)).chain(lost.text()).collect()
}

/// Differences that are allowed; none where the setting allows no difference, or where nothing differs.
pub fn allowed<const KINDS: usize>(c: &ComparisonOf<KINDS>, preserve: Preserve) -> Option<String> {
    match preserve {
        Preserve::Types => None,
        Preserve::Points if changed_types_inside(c) == 0 => None,
        Preserve::Points => {
            let types = counted(changed_types_inside(c), "type changes", "types change");
            Some(format!("{types}: allowed by --preserve points"))
        }
        Preserve::None => Some(format!(
            "critical points: {} lost, {} spurious, {} of another type or index: allowed by --preserve none",
            grouped(c.lost_points),
            grouped(c.spurious_points),
            grouped(c.changed_types)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Dims;
    use factz::Comparison;

    #[test]
    fn what_a_setting_allows_is_no_violation() {
        let c = Comparison {
            lost_points: 7,
            spurious_points: 5,
            changed_types: 9,
            lost_zeros: 1,
            changed_indices: 2,
            changed_ties: 3,
            changed_missing: 1,
            bound_exceeded: 4,
            ..Comparison::default()
        };
        let counts = [Preserve::None, Preserve::Points, Preserve::Types].map(|p| violations(&c, p));
        assert_eq!(counts, [5, 6 + 5 + 3 + 5, 6 + 5 + 7 + 3 + 5]);
        let none = LostVertices::of([&[1.0]], [&[1.0]], None, Dims::plane(1, 1));
        assert_eq!(complaints(&c, &none, Preserve::None).len(), 2);
        assert!(complaints(&c, &none, Preserve::Points)[2].starts_with("2 critical points have another"));
        assert!(complaints(&c, &none, Preserve::Types)[2].starts_with("9 critical points have another"));
        let one = LostVertices::of([&[1.0]], [&[f64::NAN]], None, Dims::plane(1, 1));
        let lost = "1 vertex with data is missing in the reconstruction, the first in column 0, row 0";
        assert_eq!(complaints(&c, &one, Preserve::None), ["4 values exceed the bound", lost]);
        assert_eq!(allowed(&c, Preserve::Points).unwrap(), "7 types change: allowed by --preserve points");
        assert_eq!(allowed(&c, Preserve::Types), None);
    }
}
