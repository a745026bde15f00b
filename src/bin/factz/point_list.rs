//! Lists of critical points as CSV, JSON or VTK PolyData.

use crate::array::Dims;
use crate::class::{kind_name, simplex_name};
use crate::fate::Point;
use crate::figures::joined;
use clap::ValueEnum;
use factz::capi::analysis::FACTZ_INDEX_UNDEFINED;
use factz::{CriticalPoint, Kind, Simplex};
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

/// A critical point as lists show it.
pub trait Listed: Point {
    /// The columns of its place.
    const PLACE: &'static str;
    /// The cells of these columns.
    fn place(&self) -> String;
    fn place_json(&self) -> Value;
    fn kind_name(&self) -> &'static str;
    /// Whether it lies on the boundary of triangles or tetrahedra.
    fn is_zero(&self) -> bool;
}

impl Listed for CriticalPoint {
    const PLACE: &'static str = "x,y,cell_x,cell_y,cell_z,simplex";
    fn place(&self) -> String {
        let (x, y) = (coordinate(self.x), coordinate(self.y));
        format!("{x},{y},{},{},{},{}", self.cell_x, self.cell_y, self.cell_z, simplex_name(self.simplex))
    }
    fn place_json(&self) -> Value {
        json!({
            "cell_x": self.cell_x, "cell_y": self.cell_y, "cell_z": self.cell_z,
            "x": coordinate(self.x), "y": coordinate(self.y), "simplex": simplex_name(self.simplex),
        })
    }
    fn kind_name(&self) -> &'static str {
        kind_name(self.kind)
    }
    fn is_zero(&self) -> bool {
        matches!(self.kind, Kind::VertexZero | Kind::EdgeZero)
    }
}

/// Writes a list in its format.
pub fn write(out: &mut impl Write, format: ListFormat, points: &[CriticalPoint], dims: Dims) -> Result<()> {
    match format {
        ListFormat::Csv => write_csv(out, points)?,
        ListFormat::Json => write_json(out, points.iter().map(json_of))?,
        ListFormat::Vtp => write_vtp(out, points, dims)?,
    }
    out.flush()
}

fn write_csv(out: &mut impl Write, points: &[CriticalPoint]) -> Result<()> {
    writeln!(
        out,
        "{},point_type,index,rounding_divergence,eigenvalues_real_1,eigenvalues_real_2,\
         eigenvalues_imaginary_1,eigenvalues_imaginary_2",
        CriticalPoint::PLACE
    )?;
    for p in points {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{}",
            p.place(),
            kind_name(p.kind),
            index_text(p.index),
            p.rounding_divergence as u32,
            p.eigenvalues_real[0],
            p.eigenvalues_real[1],
            p.eigenvalues_imaginary[0],
            p.eigenvalues_imaginary[1]
        )?;
    }
    Ok(())
}

/// A coordinate without the sign of a zero, which a negative spacing gives it.
pub fn coordinate(x: f64) -> f64 {
    x + 0.0
}

/// An index in a cell of a table: empty where it is not defined.
pub fn index_text(index: Option<i32>) -> String {
    index.map(|n| n.to_string()).unwrap_or_default()
}

fn json_of(p: &CriticalPoint) -> Value {
    let more = json!({
        "point_type": kind_name(p.kind),
        "index": p.index,
        "rounding_divergence": p.rounding_divergence as u32,
        "eigenvalues_real": p.eigenvalues_real,
        "eigenvalues_imaginary": p.eigenvalues_imaginary,
    });
    joined(p.place_json(), more)
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
pub fn write_array<V: Display>(
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

/// Numbers by name, among the data of the whole file.
fn write_number(out: &mut impl Write, name: &str, number: usize) -> Result<()> {
    writeln!(
        out,
        "<DataArray type=\"Int32\" Name=\"{name}\" NumberOfTuples=\"1\" format=\"ascii\">{number}</DataArray>"
    )
}

/// Writes a PolyData file with a vertex at each of `n` positions. `names` are those of numbers in the arrays of
/// `point_data`.
pub fn write_poly_data<W: Write>(
    out: &mut W,
    (n, dims): (usize, Dims),
    names: impl Iterator<Item = (String, usize)>,
    point_data: impl FnOnce(&mut W) -> Result<()>,
    positions: impl Iterator<Item = f64>,
) -> Result<()> {
    writeln!(
        out,
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\">\n<PolyData>"
    )?;
    writeln!(
        out,
        "<FieldData>\n<DataArray type=\"Int64\" Name=\"dims\" NumberOfTuples=\"3\" format=\"ascii\">"
    )?;
    writeln!(out, "{} {} {}\n</DataArray>", dims.nx, dims.ny, dims.nz)?;
    for (name, number) in names {
        write_number(out, &name, number)?;
    }
    writeln!(
        out,
        "</FieldData>\n<Piece NumberOfPoints=\"{n}\" NumberOfVerts=\"{n}\">\n<PointData Scalars=\"point_type\">"
    )?;
    point_data(out)?;
    out.write_all(b"</PointData>\n<Points>\n")?;
    write_array(out, ("Float64", "Points", 3), positions)?;
    out.write_all(b"</Points>\n<Verts>\n")?;
    write_array(out, ("Int64", "connectivity", 1), 0..n)?;
    write_array(out, ("Int64", "offsets", 1), 1..=n)?;
    out.write_all(b"</Verts>\n</Piece>\n</PolyData>\n</VTKFile>\n")
}

fn write_vtp(out: &mut impl Write, points: &[CriticalPoint], dims: Dims) -> Result<()> {
    let (n, points) = (points.len(), || points.iter());
    // Readers of ASCII numbers know no NaN.
    let known = |x: f64| if x.is_nan() { 0.0 } else { x };
    let kinds = Kind::ALL.into_iter().map(|kind| (format!("point_type_{}", kind_name(kind)), kind as usize));
    let simplices = Simplex::ALL.into_iter().map(|s| (format!("simplex_{}", simplex_name(s)), s as usize));
    let positions = points().flat_map(|p| [coordinate(p.x), coordinate(p.y), p.cell_z as f64]);
    let point_data = |out: &mut _| {
        write_array(out, ("Int32", "point_type", 1), points().map(|p| p.kind as u32))?;
        write_array(out, ("Int64", "cell", 3), points().flat_map(|p| [p.cell_x, p.cell_y, p.cell_z]))?;
        write_array(out, ("Int32", "simplex", 1), points().map(|p| p.simplex as u32))?;
        let index = |p: &CriticalPoint| p.index.unwrap_or(FACTZ_INDEX_UNDEFINED);
        write_array(out, ("Int32", "index", 1), points().map(index))?;
        let rounding = |p: &CriticalPoint| p.rounding_divergence as u32;
        write_array(out, ("Int32", "rounding_divergence", 1), points().map(rounding))?;
        let real = points().flat_map(|p| p.eigenvalues_real.map(known));
        write_array(out, ("Float64", "eigenvalues_real", 2), real)?;
        let imaginary = points().flat_map(|p| p.eigenvalues_imaginary.map(known));
        write_array(out, ("Float64", "eigenvalues_imaginary", 2), imaginary)
    };
    write_poly_data(out, (n, dims), kinds.chain(simplices), point_data, positions)
}
