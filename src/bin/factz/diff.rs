//! The critical points in which two fields or two volumes differ.

use crate::args::Diff;
use crate::array::Dims;
use crate::engine::Engine;
use crate::failure::{failure, input_names, output_name, Failure};
use crate::fate::{paired, Fate, Pairing};
use crate::figures::{joined, shape_json};
use crate::gaps::LostVertices;
use crate::options::THREE_COMPONENTS;
use crate::output::{refuse_input, ListTarget};
use crate::pair::Pair;
use crate::point_list::{index_text, write_json, ListFormat, Listed};
use crate::say::{critical_points_text, grouped, Voice};
use crate::volume_pair::{self, VolumePair};
use crate::Verdict;
use factz::Dtype;
use serde_json::{json, Value};
use std::io::{Result as Written, Write};
use std::path::Path;

/// The types and indices of a point before and after; none where there is no point.
fn types<P: Listed>(pairing: &Pairing<P>) -> [Option<&'static str>; 2] {
    [&pairing.before, &pairing.after].map(|point| point.as_ref().map(P::kind_name))
}
fn indices<P: Listed>(pairing: &Pairing<P>) -> [Option<i32>; 2] {
    [&pairing.before, &pairing.after].map(|point| point.as_ref().and_then(|p| p.kind().1))
}

fn write_csv<P: Listed>(out: &mut impl Write, differences: &[Pairing<P>]) -> Written<()> {
    writeln!(out, "fate,{},point_type_before,point_type_after,index_before,index_after", P::PLACE)?;
    for difference in differences {
        let [before, after] = types(difference).map(Option::unwrap_or_default);
        let [first, other] = indices(difference).map(index_text);
        let (fate, place) = (difference.fate.name(), difference.point().place());
        writeln!(out, "{fate},{place},{before},{after},{first},{other}")?;
    }
    out.flush()
}

fn json_of<P: Listed>(difference: &Pairing<P>) -> Value {
    let ([before, after], [first, other]) = (types(difference), indices(difference));
    let more = json!({
        "fate": difference.fate.name(),
        "point_type_before": before,
        "point_type_after": after,
        "index_before": first,
        "index_after": other,
    });
    joined(more, difference.point().place_json())
}

/// Where a list goes, and in which form.
struct List<'a> {
    target: ListTarget<'a>,
    format: ListFormat,
    voice: Voice,
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
    let list = List { target, format, voice };
    match volume_pair::are_given(&a.files, &a.shape, &a.step)? {
        true => of_volumes(a, &files, &list),
        false => of_fields(a, &files, &list),
    }
}

fn of_fields(a: &Diff, files: &[&Path], list: &List) -> Result<Verdict, Failure> {
    a.depth.refuse_for_planes(THREE_COMPONENTS)?;
    let engine = Engine::new(&a.place)?;
    let mut pair = Pair::read(files, &a.shape, &a.fill, &a.step, (&engine, &list.voice))?;
    let spacing = pair.place(&a.spacing)?;
    let lost = pair.lost_vertices();
    let points = pair.critical_points(&engine, spacing).map_err(|e| e.about(input_names(files, ", ")))?;
    list.report(points, &lost, (pair.before.dims, pair.before.dtype()), json!({}))
}

fn of_volumes(a: &Diff, files: &[&Path], list: &List) -> Result<Verdict, Failure> {
    let threads = a.place.threads_for_volume()?;
    let mut pair =
        VolumePair::read(files, &a.shape, &a.fill, &a.step, (&Engine::on_processor(threads), &list.voice))?;
    let about_files = |e: Failure| e.about(input_names(files, ", "));
    let config = pair.before.config((&a.spacing, &a.depth), &a.fill, pair.info.as_ref());
    let config = config.map_err(about_files)?;
    let lost = pair.lost_vertices(config.fill_value);
    let points = pair.critical_points(config, threads).map_err(|e| about_files(e.into()))?;
    list.report(points, &lost, (pair.before.dims, config.dtype), json!({ "components": 3 }))
}

impl List<'_> {
    /// Writes the list of the points that differ and tells how many there are. `more` is for the JSON report.
    fn report<P: Listed>(
        &self,
        [before, after]: [Vec<P>; 2],
        lost_vertices: &LostVertices,
        (dims, dtype): (Dims, Dtype),
        more: Value,
    ) -> Result<Verdict, Failure> {
        let mut differences = paired(&before, &after);
        differences.retain(|pairing| pairing.fate != Fate::Kept);
        self.target.write(|out| match self.format {
            ListFormat::Json => write_json(out, differences.iter().map(json_of)),
            _ => write_csv(out, &differences),
        })?;
        let count = |fate| differences.iter().filter(|d| d.fate == fate).count() as u64;
        let (lost, spurious, changed) = (count(Fate::Lost), count(Fate::Spurious), count(Fate::Changed));
        let zeros = |fate| differences.iter().filter(|d| d.fate == fate && d.point().is_zero()).count();
        self.voice.json(|| {
            let counts = json!({
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
            lost_vertices.with_report(joined(joined(counts, more), shape_json(dims, dtype)))
        })?;
        let missing = lost_vertices.text().map(|text| format!("; {text}")).unwrap_or_default();
        let text = format!(
            "{}: {} lost, {} spurious, {} of another type or index{missing}\n",
            critical_points_text(before.len() as u64),
            grouped(lost),
            grouped(spurious),
            grouped(changed)
        );
        match self.target.is_standard() {
            true => self.voice.note(text.trim_end()),
            false => self.voice.text(&text)?,
        }
        Ok(Verdict::of(differences.len() as u64 + lost_vertices.count))
    }
}
