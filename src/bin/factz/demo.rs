//! The demonstration on a built-in real field.

use crate::args::Demo;
use crate::array::{Dims, Field, Values};
use crate::failure::{failure, Failure};
use crate::fate::paired;
use crate::figures::{joined, shape_json};
use crate::measure::{head, measure, row, thread_counts, Measurement, LEGEND};
use crate::options::{Look, Spacing};
use crate::picture::{of_comparison, Column, Style};
use crate::render::refuse_other_ending;
use crate::say::Voice;
use crate::{engine, output, Verdict};
use factz::{BoundKind, Config, CriticalPoint, Mode, Preserve, PERIODIC_X};
use serde_json::json;
use std::fmt::Write;

const DIMS: Dims = Dims::plane(360, 181);
const U: &[u8] = include_bytes!("../../../data/wind_global/u.f32");
const V: &[u8] = include_bytes!("../../../data/wind_global/v.f32");
const BOUNDS: [f64; 3] = [1e-1, 1e-2, 1e-3];
/// The bound of the picture.
const PICTURED: f64 = 1e-2;
const PICTURE_WIDTH: usize = 1800;
/// Row 0 is the north pole.
const SPACING: Spacing = Spacing { dx: 1.0, dy: -1.0 };

fn component(bytes: &[u8]) -> Values {
    Values::F32(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// The line that a reader remembers: what plain compression does at the same bound.
fn summary(kept: &Measurement, plain: &Measurement) -> String {
    let (k, p) = (&kept.comparison, &plain.comparison);
    format!(
        "At {:.0e}: all {} critical points kept at ratio {:.1}; without preservation {} are lost, {} appear and {} \
         change their type at ratio {:.1}.\n",
        kept.config.bound, k.critical_points, kept.ratio, p.lost_points, p.spurious_points, p.changed_types, plain.ratio
    )
}

pub fn run(a: &Demo) -> Result<Verdict, Failure> {
    refuse_other_ending("--picture", &a.picture)?;
    let field = Field {
        dims: DIMS,
        u: component(U),
        v: component(V),
        fill_value: None,
        periodic: PERIODIC_X,
        is_slice: false,
    };
    let threads = if a.threads == 0 { thread_counts(&[]) } else { vec![a.threads] };
    let points = engine::critical_points(&field, SPACING, 0)?;
    let voice = Voice::new(&a.talk);
    voice.text(&format!(
        "wind_global: 10 m wind around the globe at one degree, {DIMS} values of f32 each, {} critical points, {} of \
         them between the last column and the first\n\n{}",
        points.len(),
        points.iter().filter(|point| point.cell_x + 1 == DIMS.nx).count(),
        head(&threads)
    ))?;
    let configurations = [
        (Mode::BlockWise, Preserve::Types),
        (Mode::Speculative, Preserve::Types),
        (Mode::BlockWise, Preserve::None),
    ];
    let mut measured = Vec::new();
    for (mode, preserve) in configurations {
        for bound in BOUNDS {
            let Spacing { dx, dy } = SPACING;
            let plain = Config::new(DIMS.nx, DIMS.ny, BoundKind::Relative, bound);
            let config = Config { mode, preserve, dx, dy, periodic: field.periodic, ..plain };
            let (m, decoded) = measure(&field, &config, &threads, 5)?;
            voice.text(&row(&m))?;
            measured.push((m, decoded));
        }
    }

    let pictured = |preserve| {
        let wanted = |(m, _): &&(Measurement, Field)| {
            let c = &m.config;
            c.mode == Mode::BlockWise && c.preserve == preserve && c.bound == PICTURED
        };
        measured
            .iter()
            .find(wanted)
            .ok_or_else(|| failure!("the bound of the picture is not among the bounds"))
    };
    let ((kept, kept_field), (plain, plain_field)) = (pictured(Preserve::Types)?, pictured(Preserve::None)?);
    draw(a, &points, [(kept, kept_field), (plain, plain_field)])?;

    let violations: u64 = measured.iter().map(|(m, _)| m.violations()).sum();
    voice.report(
        || {
            let more = json!({
                "command": "demo",
                "input_bytes": field.bytes(),
                "critical_points": points.len(),
                "violations": violations,
                "picture": a.picture.display().to_string(),
                "runs": measured.iter().map(|(m, _)| m.json()).collect::<Vec<_>>(),
            });
            joined(shape_json(DIMS, field.dtype()), more)
        },
        || closing(a, &summary(kept, plain), violations),
    )?;
    Ok(Verdict::of(violations))
}

/// Both reconstructions side by side, with what became of the points.
fn draw(a: &Demo, before: &[CriticalPoint], fields: [(&Measurement, &Field); 2]) -> Result<(), Failure> {
    let drawn = fields.map(|(m, field)| -> Result<_, Failure> {
        let after = engine::critical_points(field, SPACING, 0)?;
        let preserve = if m.config.preserve == Preserve::None { "--preserve none" } else { "factz" };
        Ok((field, format!("{preserve} at {PICTURED:.0e}: ratio {:.1}", m.ratio), paired(before, &after)))
    });
    let [kept, plain] = drawn;
    let (kept, plain) = (kept?, plain?);
    let columns = [Column::all(kept.0, &kept.1, &kept.2), Column::all(plain.0, &plain.1, &plain.2)];
    let style = Style { width: PICTURE_WIDTH, axes: [0, 1], spacing: SPACING, look: Look::default() };
    let picture = of_comparison(columns, &plain.2, None, style)?;
    output::make_folder(output::folder_of(&a.picture))?;
    output::write_file(&a.picture, &picture.png)
}

/// The lines below the table.
fn closing(a: &Demo, summary: &str, violations: u64) -> String {
    let mut text = String::from(LEGEND);
    let _ = write!(text, "\n{summary}");
    let _ = writeln!(
        text,
        "{}: the wind at {PICTURED:.0e}, compressed by factz (left) and with --preserve none (right), with the \
         critical points that are kept, lost, new or of another type",
        a.picture.display()
    );
    let _ = writeln!(
        text,
        "{}",
        if violations == 0 { "Everything that was promised is kept." } else { "A promise is BROKEN." }
    );
    text
}
