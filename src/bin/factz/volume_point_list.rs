//! Lists of the critical points of volumes as CSV, JSON or VTK PolyData.

use crate::array::Dims;
use crate::class::{volume_kind_name, volume_simplex_name, VolumeClass};
use crate::figures::joined;
use crate::point_list::{
    coordinate, index_text, write_array, write_json, write_poly_data, ListFormat, Listed,
};
use factz::capi::analysis::FACTZ_INDEX_UNDEFINED;
use factz::{VolumeKind, VolumePoint, VolumeSimplex};
use serde_json::{json, Value};
use std::io::{Result, Write};

impl Listed for VolumePoint {
    const PLACE: &'static str = "x,y,z,cell_x,cell_y,cell_z,simplex,dimension";
    fn place(&self) -> String {
        let [x, y, z] = position(self);
        let (simplex, dimension) = (volume_simplex_name(self.simplex), self.simplex.dimension());
        format!("{x},{y},{z},{},{},{},{simplex},{dimension}", self.cell_x, self.cell_y, self.cell_z)
    }
    fn place_json(&self) -> Value {
        let [x, y, z] = position(self);
        json!({
            "cell_x": self.cell_x, "cell_y": self.cell_y, "cell_z": self.cell_z, "x": x, "y": y, "z": z,
            "simplex": volume_simplex_name(self.simplex), "dimension": self.simplex.dimension(),
        })
    }
    fn kind_name(&self) -> &'static str {
        volume_kind_name(self.kind)
    }
    fn is_zero(&self) -> bool {
        !matches!(VolumeClass::of(self), VolumeClass::Inside(_))
    }
}

/// Writes a list in its format.
pub fn write(out: &mut impl Write, format: ListFormat, points: &[VolumePoint], dims: Dims) -> Result<()> {
    match format {
        ListFormat::Csv => write_csv(out, points)?,
        ListFormat::Json => write_json(out, points.iter().map(json_of))?,
        ListFormat::Vtp => write_vtp(out, points, dims)?,
    }
    out.flush()
}

fn position(p: &VolumePoint) -> [f64; 3] {
    [p.x, p.y, p.z].map(coordinate)
}

fn write_csv(out: &mut impl Write, points: &[VolumePoint]) -> Result<()> {
    writeln!(out, "{},point_type,index", VolumePoint::PLACE)?;
    points.iter().try_for_each(|p| writeln!(out, "{},{},{}", p.place(), p.kind_name(), index_text(p.index)))
}

fn json_of(p: &VolumePoint) -> Value {
    joined(p.place_json(), json!({ "point_type": p.kind_name(), "index": p.index }))
}

fn write_vtp(out: &mut impl Write, points: &[VolumePoint], dims: Dims) -> Result<()> {
    let (n, points) = (points.len(), || points.iter());
    let kind = |kind| (format!("point_type_{}", volume_kind_name(kind)), kind as usize);
    let simplex = |s: VolumeSimplex| (format!("simplex_{}", volume_simplex_name(s)), s.number());
    let names = VolumeKind::ALL.into_iter().map(kind).chain(VolumeSimplex::all().map(simplex));
    let point_data = |out: &mut _| {
        write_array(out, ("Int32", "point_type", 1), points().map(|p| p.kind as u32))?;
        write_array(out, ("Int64", "cell", 3), points().flat_map(|p| [p.cell_x, p.cell_y, p.cell_z]))?;
        write_array(out, ("Int32", "simplex", 1), points().map(|p| p.simplex.number()))?;
        write_array(out, ("Int32", "dimension", 1), points().map(|p| p.simplex.dimension()))?;
        let index = |p: &VolumePoint| p.index.unwrap_or(FACTZ_INDEX_UNDEFINED);
        write_array(out, ("Int32", "index", 1), points().map(index))
    };
    write_poly_data(out, (n, dims), names, point_data, points().flat_map(position))
}
