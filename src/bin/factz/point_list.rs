//! Lists of critical points with their eigenvalues, as CSV, JSON or VTK PolyData.

use crate::args::Spacing;
use crate::array::{typed, Dims, Field};
use crate::figures::kind_name;
use clap::ValueEnum;
use factz::{CriticalPoint, Kind, Real};
use serde_json::{json, Value};
use std::fmt::Display;
use std::io::{Result, Write};
use std::path::Path;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum ListFormat {
    /// Comma-separated values with a line of names
    Csv,
    /// An array of objects
    Json,
    /// VTK PolyData for ParaView and PyVista: a vertex for each point, the columns as arrays
    Vtp,
}

impl ListFormat {
    /// By the ending of the name; CSV where it tells nothing.
    pub fn of(path: &Path) -> ListFormat {
        let ending = path.extension().map(|e| e.to_ascii_lowercase());
        match ending.as_ref().and_then(|e| e.to_str()) {
            Some("json") => ListFormat::Json,
            Some("vtp") => ListFormat::Vtp,
            _ => ListFormat::Csv,
        }
    }
}

/// An eigenvalue: real and imaginary part.
pub type Eigenvalue = [f64; 2];

/// A critical point with the eigenvalues of the Jacobian of its triangle, the larger real or imaginary part
/// first. They are rounded; the type is exact.
pub struct Entry {
    pub point: CriticalPoint,
    pub eigenvalues: [Eigenvalue; 2],
}

/// The entries of the points of a field, in their order.
pub fn entries(field: &Field, points: &[CriticalPoint], spacing: Spacing) -> Vec<Entry> {
    let with_eigenvalues = |&point| {
        let differences = half_differences(field, &point);
        Entry { point, eigenvalues: eigenvalues(differences, spacing) }
    };
    points.iter().map(with_eigenvalues).collect()
}

/// Half the differences of u along x and y, and of v, on the triangle of a point: whole ones may overflow.
fn half_differences(field: &Field, point: &CriticalPoint) -> [f64; 4] {
    fn component<T: Real>(values: &[T], nx: u64, point: &CriticalPoint) -> [f64; 2] {
        let at =
            |x: u64, y: u64| 0.5 * values[((point.y_cell + y) * nx + point.x_cell + x) as usize].to_f64();
        let (first, last) = (at(0, 0), at(1, 1));
        match point.triangle {
            0 => [at(1, 0) - first, last - at(1, 0)],
            _ => [last - at(0, 1), at(0, 1) - first],
        }
    }
    let nx = field.dims.nx;
    typed!([&field.u, &field.v] as [u, v] => {
        let ([a, b], [c, d]) = (component(u, nx, point), component(v, nx, point));
        [a, b, c, d]
    })
}

/// The eigenvalues of the Jacobian. Its entries are scaled by powers of two meanwhile, so that no product
/// overflows; an eigenvalue beyond the range of f64 becomes its end.
fn eigenvalues(half_differences: [f64; 4], Spacing { dx, dy }: Spacing) -> [Eigenvalue; 2] {
    let power = |x: f64| f64::from_bits(x.to_bits() & f64::INFINITY.to_bits()).max(f64::MIN_POSITIVE);
    let largest = power(half_differences.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
    let shortest = power(dx.abs().min(dy.abs()));
    let entry = |difference: f64, distance: f64| (difference / largest) / (distance / shortest);
    let [a, b, c, d] = half_differences;
    let (a, b, c, d) = (entry(a, dx), entry(b, dy), entry(c, dx), entry(d, dy));
    let (middle, half) = (0.5 * (a + d), 0.5 * (a - d));
    let discriminant = half * half + b * c;
    let root = discriminant.abs().sqrt();
    let scaled = match discriminant < 0.0 {
        true => [[middle, root], [middle, -root]],
        false => [[middle + root, 0.0], [middle - root, 0.0]],
    };
    let unit = (largest / shortest).min(f64::MAX);
    scaled.map(|value| value.map(|part| (2.0 * part * unit).clamp(-f64::MAX, f64::MAX)))
}

/// Writes a list in its format.
pub fn write(out: &mut impl Write, format: ListFormat, entries: &[Entry], dims: Dims) -> Result<()> {
    match format {
        ListFormat::Csv => write_csv(out, entries)?,
        ListFormat::Json => write_json(out, entries.iter().map(json_of))?,
        ListFormat::Vtp => write_vtp(out, entries, dims)?,
    }
    out.flush()
}

fn write_csv(out: &mut impl Write, entries: &[Entry]) -> Result<()> {
    out.write_all(
        b"x,y,x_cell,y_cell,triangle,type,eigenvalue_1_real,eigenvalue_1_imaginary,eigenvalue_2_real,\
          eigenvalue_2_imaginary\n",
    )?;
    for Entry { point: p, eigenvalues: [first, second] } in entries {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{}",
            p.x,
            p.y,
            p.x_cell,
            p.y_cell,
            p.triangle,
            kind_name(p.kind),
            first[0],
            first[1],
            second[0],
            second[1]
        )?;
    }
    Ok(())
}

/// Place and triangle of a point as JSON.
pub fn place_json(p: &CriticalPoint) -> Value {
    json!({ "x": p.x, "y": p.y, "x_cell": p.x_cell, "y_cell": p.y_cell, "triangle": p.triangle })
}

fn json_of(entry: &Entry) -> Value {
    let eigenvalues =
        entry.eigenvalues.map(|[real, imaginary]| json!({ "real": real, "imaginary": imaginary }));
    let mut value = place_json(&entry.point);
    value["type"] = json!(kind_name(entry.point.kind));
    value["eigenvalues"] = json!(eigenvalues);
    value
}

/// Writes objects as one array, a line each.
pub fn write_json(out: &mut impl Write, objects: impl Iterator<Item = Value>) -> Result<()> {
    let mut before = "[";
    for object in objects {
        write!(out, "{before}\n{object}")?;
        before = ",";
    }
    out.write_all(if before == "[" { b"[]\n" } else { b"\n]\n" })
}

/// An array of a PolyData file, with `columns` values in each tuple.
fn write_array<V: Display>(
    out: &mut impl Write,
    (kind, name, columns): (&str, &str, usize),
    values: impl Iterator<Item = V>,
) -> Result<()> {
    writeln!(
        out,
        "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{columns}\" format=\"ascii\">"
    )?;
    for (k, value) in values.enumerate() {
        write!(out, "{value}{}", if (k + 1) % columns == 0 { '\n' } else { ' ' })?;
    }
    out.write_all(b"</DataArray>\n")
}

fn write_vtp(out: &mut impl Write, entries: &[Entry], dims: Dims) -> Result<()> {
    let (n, points) = (entries.len(), || entries.iter().map(|e| &e.point));
    let parts = |k: usize| entries.iter().flat_map(move |e| e.eigenvalues.map(|value| value[k]));
    writeln!(
        out,
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\">\n<PolyData>"
    )?;
    // The numbers of the types, by name.
    writeln!(
        out,
        "<FieldData>\n<DataArray type=\"Int64\" Name=\"dims\" NumberOfTuples=\"2\" format=\"ascii\">"
    )?;
    writeln!(out, "{} {}\n</DataArray>", dims.nx, dims.ny)?;
    for kind in Kind::ALL {
        let (name, number) = (kind_name(kind), kind as u32);
        writeln!(out, "<DataArray type=\"Int32\" Name=\"type_{name}\" NumberOfTuples=\"1\" format=\"ascii\">{number}</DataArray>")?;
    }
    writeln!(
        out,
        "</FieldData>\n<Piece NumberOfPoints=\"{n}\" NumberOfVerts=\"{n}\">\n<PointData Scalars=\"type\">"
    )?;
    write_array(out, ("Int32", "type", 1), points().map(|p| p.kind as u32))?;
    write_array(out, ("Int64", "cell", 2), points().flat_map(|p| [p.x_cell, p.y_cell]))?;
    write_array(out, ("Int32", "triangle", 1), points().map(|p| p.triangle))?;
    write_array(out, ("Float64", "eigenvalues_real", 2), parts(0))?;
    write_array(out, ("Float64", "eigenvalues_imaginary", 2), parts(1))?;
    out.write_all(b"</PointData>\n<Points>\n")?;
    write_array(out, ("Float64", "Points", 3), points().flat_map(|p| [p.x, p.y, 0.0]))?;
    out.write_all(b"</Points>\n<Verts>\n")?;
    write_array(out, ("Int64", "connectivity", 1), 0..n)?;
    write_array(out, ("Int64", "offsets", 1), 1..=n)?;
    out.write_all(b"</Verts>\n</Piece>\n</PolyData>\n</VTKFile>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_of_a_saddle_and_of_a_focus() {
        let with = |jacobian: [f64; 4], factor: f64, dx: f64, dy: f64| {
            let [a, b, c, d] = jacobian.map(|x| 0.5 * factor * x);
            let values = eigenvalues([a * dx, b * dy, c * dx, d * dy], Spacing { dx, dy });
            values.map(|value| value.map(|part| part / factor))
        };
        for (factor, dx, dy) in [
            (1.0, 1.0, 1.0),
            (1.0, -1.0, 0.25),
            (2f64.powi(1018), 4.0, 1.0),
            (2f64.powi(-1000), 1.0, 2f64.powi(-20)),
        ] {
            assert_eq!(with([2.0, 0.0, 0.0, -1.0], factor, dx, dy), [[2.0, 0.0], [-1.0, 0.0]]);
            assert_eq!(with([-1.0, -2.0, 2.0, -1.0], factor, dx, dy), [[-1.0, 2.0], [-1.0, -2.0]]);
        }
        let beyond = eigenvalues([f64::MAX, 0.0, 0.0, -f64::MAX], Spacing { dx: 1e-300, dy: 5e-324 });
        assert_eq!(beyond, [[f64::MAX, 0.0], [-f64::MAX, 0.0]]);
        let center = eigenvalues([0.0, f64::MAX, -f64::MAX, 0.0], Spacing { dx: 1e-300, dy: 1e-300 });
        assert_eq!(center, [[0.0, f64::MAX], [0.0, -f64::MAX]]);
    }
}
