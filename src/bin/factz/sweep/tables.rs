//! The runs of a sweep as lines of text, CSV and Markdown.

use super::{Run, Subject};
use crate::figures::psnr_text;
use crate::say::{critical_points_text, grouped};
use std::fmt::Write;

/// What the columns mean.
pub fn legend(subject: &Subject) -> String {
    let components = if subject.shape.components == 3 { "u, v and w" } else { "u and v" };
    format!(
        "bound: fraction of the joint range of {components}. bits/value: bits of the stream for each value of \
         {components}.\nPSNR in dB; a hyphen where it is not defined: a constant field, or squares beyond the range of \
         f64.\nerror/bound: largest error over the bound. lost / spurious / other type: critical points. MB/s: 10^6 \
         bytes of input\nper second, compression / decompression.\n"
    )
}

pub fn head() -> String {
    format!(
        "{:<28} {:>8} {:>9} {:>10} {:>7} {:>11}  {:<21} {:>15}\n",
        "compressor", "bound", "ratio", "bits/value", "PSNR", "error/bound", "lost/spurious/type", "MB/s"
    )
}

/// The figures of a run, in the order of the columns.
fn cells(run: &Run) -> [String; 8] {
    let c = &run.changes;
    [
        run.codec.name.clone(),
        format!("{:e}", run.bound),
        format!("{:.2}", run.ratio),
        format!("{:.3}", run.bit_rate),
        psnr_text(c.psnr),
        format!("{:.4}", run.error_over_bound()),
        format!("{} / {} / {}", grouped(c.lost_points), grouped(c.spurious_points), grouped(c.changed_types)),
        format!("{:.0} / {:.0}", run.speeds[0], run.speeds[1]),
    ]
}

pub fn row(run: &Run) -> String {
    let [name, bound, ratio, bits, psnr, error, points, speeds] = cells(run);
    format!("{name:<28} {bound:>8} {ratio:>9} {bits:>10} {psnr:>7} {error:>11}  {points:<21} {speeds:>15}\n")
}

pub fn csv(runs: &[Run]) -> String {
    let mut text = String::from(
        "compressor,preserves,relative_bound,absolute_bound,stream_bytes,ratio,bits_per_value,psnr,max_error,lost_points,\
         spurious_points,changed_types,compress_mb_per_second,decompress_mb_per_second\n",
    );
    for run in runs {
        let c = &run.changes;
        let psnr = c.psnr.map(|psnr| psnr.to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "\"{}\",{},{},{},{},{},{},{psnr},{},{},{},{},{:.1},{:.1}",
            run.codec.name,
            run.codec.preserves,
            run.bound,
            run.absolute_bound,
            run.bytes,
            run.ratio,
            run.bit_rate,
            c.max_error,
            c.lost_points,
            c.spurious_points,
            c.changed_types,
            run.speeds[0],
            run.speeds[1]
        );
    }
    text
}

pub fn markdown(subject: &Subject, runs: &[Run]) -> String {
    let mut text = format!(
        "# {}\n\n{} values of {} each, {}.\n\n{}",
        subject.name,
        subject.shape.dims,
        subject.shape.dtype.name(),
        critical_points_text(subject.critical_points),
        legend(subject)
    );
    if let Some(remark) = &subject.remark {
        let _ = writeln!(text, "\nNote: {remark}.");
    }
    text.push_str(
        "\n| compressor | bound | ratio | bits/value | PSNR | error/bound | lost / spurious / other type | MB/s |\n\
         |---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for run in runs {
        let _ = writeln!(text, "| {} |", cells(run).join(" | "));
    }
    text
}
