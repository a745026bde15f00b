//! The critical points in which two fields differ.

use crate::args::Diff;
use crate::class::{is_zero, kind_name, simplex_name};
use crate::engine::Engine;
use crate::failure::{failure, input_names, output_name, Failure};
use crate::fate::{paired, Fate, Pairing};
use crate::figures::{joined, shape_json};
use crate::output::{refuse_input, ListTarget};
use crate::pair::Pair;
use crate::point_list::{coordinate, index_text, place_json, write_json, ListFormat};
use crate::say::{critical_points_text, grouped, Voice};
use crate::Verdict;
use serde_json::{json, Value};
use std::io::{Result as Written, Write};
use std::path::Path;

/// The types and indices of a point before and after; none where there is no point.
fn types(pairing: &Pairing) -> [Option<&'static str>; 2] {
    [pairing.before, pairing.after].map(|point| point.map(|p| kind_name(p.kind)))
}
fn indices(pairing: &Pairing) -> [Option<i32>; 2] {
    [pairing.before, pairing.after].map(|point| point.and_then(|p| p.index))
}

fn write_csv(out: &mut impl Write, differences: &[Pairing]) -> Written<()> {
    out.write_all(
        b"fate,x,y,cell_x,cell_y,cell_z,simplex,point_type_before,point_type_after,index_before,index_after\n",
    )?;
    for difference in differences {
        let (p, [before, after]) = (difference.point(), types(difference).map(Option::unwrap_or_default));
        let (fate, simplex) = (difference.fate.name(), simplex_name(p.simplex));
        let [first, other] = indices(difference).map(index_text);
        writeln!(
            out,
            "{fate},{},{},{},{},{},{simplex},{before},{after},{first},{other}",
            coordinate(p.x),
            coordinate(p.y),
            p.cell_x,
            p.cell_y,
            p.cell_z
        )?;
    }
    out.flush()
}

fn json_of(difference: &Pairing) -> Value {
    let ([before, after], [first, other]) = (types(difference), indices(difference));
    let more = json!({
        "fate": difference.fate.name(),
        "point_type_before": before,
        "point_type_after": after,
        "index_before": first,
        "index_after": other,
    });
    joined(more, place_json(difference.point()))
}

pub fn diff(a: &Diff) -> Result<Verdict, Failure> {
    let target = ListTarget::of(&a.output, a.talk.json)?;
    let format = a.format.unwrap_or(target.path().map_or(ListFormat::Csv, ListFormat::of));
    if format == ListFormat::Vtp {
        let name = target.path().map_or(String::new(), output_name);
        return Err(failure!(
            "{name}: diff writes csv or json, not vtp: name another file, or give --format"
        ));
    }
    let voice = Voice::beside_data(&a.talk, target.is_standard());
    let files: Vec<&Path> = a.files.iter().map(|p| p.as_path()).collect();
    if let Some(path) = target.path() {
        refuse_input(path, &files, "list")?;
    }
    let engine = Engine::new(&a.place)?;
    let mut pair = Pair::read(&files, &a.shape, &a.fill, &a.step, (&engine, &voice))?;
    let spacing = pair.place(&a.spacing)?;
    let [before, after] =
        pair.critical_points(&engine, spacing).map_err(|e| e.about(input_names(&files, ", ")))?;
    let mut differences = paired(&before, &after);
    differences.retain(|pairing| pairing.fate != Fate::Kept);
    target.write(|out| match format {
        ListFormat::Json => write_json(out, differences.iter().map(json_of)),
        _ => write_csv(out, &differences),
    })?;
    let count = |fate| differences.iter().filter(|d| d.fate == fate).count() as u64;
    let (lost, spurious, changed) = (count(Fate::Lost), count(Fate::Spurious), count(Fate::Changed));
    let zeros = |fate| differences.iter().filter(|d| d.fate == fate && is_zero(d.point())).count();
    voice.json(|| {
        let more = json!({
            "command": "diff",
            "critical_points": before.len(),
            "other_critical_points": after.len(),
            "lost_points": lost,
            "spurious_points": spurious,
            "changed_types": changed,
            "lost_zeros": zeros(Fate::Lost),
            "spurious_zeros": zeros(Fate::Spurious),
            "changed_indices": zeros(Fate::Changed),
        });
        joined(more, shape_json(pair.before.dims, pair.before.dtype()))
    })?;
    let text = format!(
        "{}: {} lost, {} spurious, {} of another type or index\n",
        critical_points_text(before.len() as u64),
        grouped(lost),
        grouped(spurious),
        grouped(changed)
    );
    match target.is_standard() {
        true => voice.note(text.trim_end()),
        false => voice.text(&text)?,
    }
    Ok(Verdict::of(differences.len() as u64))
}
