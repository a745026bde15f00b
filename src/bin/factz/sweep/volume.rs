//! The sweep of a volume: each coder, and the bound alone.

use super::{finish, introduction, pictured, tables, write, Codec, Run, Shape, Subject, PICTURE_WIDTH};
use crate::args::Sweep;
use crate::array::{Element, Field};
use crate::failure::{bare_names, input_names, Failure};
use crate::fate::{paired, Pairing};
use crate::input;
use crate::output;
use crate::picture::{of_comparison, of_field, Column, Picture};
use crate::progress::Progress;
use crate::say::{critical_points_text, Voice};
use crate::slice::Slice;
use crate::volume_bench::{on_host, OnHost};
use crate::volume_pair::{Volume, VolumePair};
use crate::Verdict;
use factz::{BoundKind, Coder, Config, Dtype, Preserve, VolumePoint};
use std::path::Path;

/// Whether there are three components, or a file with all.
pub fn is_asked(a: &Sweep) -> bool {
    a.w.is_some() || (a.field.v.is_none() && input::holds_volume(&a.field.u, &a.field.shape.expected(None)))
}

fn configurations(base: Config) -> [(Codec, Config); 3] {
    let choice = |name: &str, coder, preserve| {
        let preserves = preserve != Preserve::None;
        let codec = Codec { name: name.to_owned(), preserves, plotted: coder == Coder::Ans };
        (codec, Config { bound_kind: BoundKind::Relative, coder, preserve, ..base })
    };
    [
        choice("factz", Coder::Ans, Preserve::Types),
        choice("factz, Huffman", Coder::Huffman, Preserve::Types),
        choice("factz --preserve none", Coder::Ans, Preserve::None),
    ]
}

/// A reconstruction that the pictures show: its title, the flow in the plane, and the points near it.
type Shown = (String, Field, Vec<Pairing<VolumePoint>>);

/// Measures a configuration. Returns what was decompressed as well.
fn measured<T: Element>(
    volume: &mut Volume,
    (codec, config): (&Codec, &Config),
    a: &Sweep,
) -> Result<(Run, Volume), Failure> {
    let shape = Shape { dims: volume.dims, dtype: config.dtype, components: 3 };
    let OnHost { stream, decoded, speeds, comparison } =
        on_host::<T>(&mut volume.components, config, &[a.threads], a.repeat)?;
    let speeds = speeds.first().map_or([0.0; 2], |&(_, compress, decompress)| [compress, decompress]);
    let bounds = [config.bound, comparison.bound];
    let run = Run::new(codec.clone(), shape, bounds, stream.len() as u64, comparison.into(), speeds);
    Ok((run, Volume { dims: volume.dims, components: decoded.map(T::wrap) }))
}

pub fn sweep(a: &Sweep) -> Result<Verdict, Failure> {
    a.look.check()?;
    let files: Vec<&Path> = a.field.files().into_iter().chain(a.w.as_deref()).collect();
    let mut volume = Volume::read(&files, &a.field.shape.expected(a.fill.fill_value))?;
    let name = input_names(&files, ", ");
    let about = |e: Failure| e.about(&name);
    let config = volume.config((&a.spacing, &a.depth), &a.fill, None).map_err(about)?;
    let config = Config { ties: a.ties, ..config };
    output::make_folder(&a.output)?;
    let voice = Voice::new(&a.talk);
    let points = volume.critical_points(config, a.threads).map_err(|e| about(e.into()))?;
    let subject = Subject {
        name: name.clone(),
        shape: Shape { dims: volume.dims, dtype: config.dtype, components: 3 },
        critical_points: points.len() as u64,
        remark: (!a.no_peers).then(|| "zfp, SZ3 and SPERR are measured with planes alone".to_owned()),
    };
    voice.text(&introduction(&subject))?;
    let slice = Slice::across(2, volume.dims.nz / 2, volume.dims, config);
    let progress = Progress::new("measuring", &voice);
    let configurations = configurations(config);
    let all = (a.bounds.len() * configurations.len()) as f64;
    let (mut runs, mut shown) = (Vec::new(), Vec::<Shown>::new());
    for (codec, config) in &configurations {
        for &bound in &a.bounds {
            let config = Config { bound, ..*config };
            let measured = match config.dtype {
                Dtype::F32 => measured::<f32>(&mut volume, (codec, &config), a),
                Dtype::F64 => measured::<f64>(&mut volume, (codec, &config), a),
            };
            let (run, after) = measured.map_err(about)?;
            voice.text(&tables::row(&run))?;
            let title = format!("{} at {bound:e}: ratio {:.1}, {}", codec.name, run.ratio, slice.name());
            runs.push(run);
            // A bound may be given twice.
            let is_new = shown.iter().all(|(other, ..)| *other != title);
            if codec.plotted && bound == pictured(&a.bounds) && is_new {
                let mut pair = VolumePair { before: volume, after, info: None };
                let points = pair.critical_points(config, a.threads).map_err(|e| about(e.into()))?;
                let [before, after] = points.map(|points| slice.turned(points));
                let mut pairings = paired(&before, &after);
                pairings.retain(|pairing| slice.is_nearest(pairing.point()));
                shown.push((title, slice.flow(&pair.after, None)?, pairings));
                volume = pair.before;
            }
            progress.report(runs.len() as f64 / all);
        }
    }
    drop(progress);
    let mut points = slice.turned(points);
    points.retain(|point| slice.is_nearest(point));
    let field = slice.flow(&volume, config.fill_value)?;
    let pictures = pictures(a, &slice, (&field, &points), &shown)?;
    let written = write(&a.output, &subject, &runs, &pictures)?;
    finish(&voice, &subject, &runs, &written, pictures.map(|picture| picture.report))
}

/// The plane of the volume, and that of the reconstructions with and without preservation.
fn pictures(
    a: &Sweep,
    slice: &Slice,
    (field, points): (&Field, &[VolumePoint]),
    shown: &[Shown],
) -> Result<[Picture; 2], Failure> {
    let files: Vec<&Path> = a.field.files().into_iter().chain(a.w.as_deref()).collect();
    let style = || slice.style(PICTURE_WIDTH, a.look);
    let about = critical_points_text(points.len() as u64);
    let title = format!("{}: {}, {about}", bare_names(&files), slice.name());
    let alone = Column::slab(field, &title, points);
    let columns = [0, 1].map(|k| Column::all(&shown[k].1, &shown[k].0, &shown[k].2));
    Ok([of_field(alone, None, style())?, of_comparison(columns, &shown[1].2, None, style())?])
}
