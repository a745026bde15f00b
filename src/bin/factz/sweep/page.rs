//! The page of a sweep: one HTML file with the plots, the pictures and the table in it.

use super::plots::{svg, BIT_RATE, BOUND, CHANGED_POINTS, COMPRESSION, DECOMPRESSION, PSNR};
use super::{tables, Run, Subject};
use crate::failure::Failure;
use crate::figures::psnr_text;
use crate::picture::Picture;
use crate::say::{critical_points_text, grouped};
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use std::fmt::Write;

const STYLE: &str = "\
body { font-family: sans-serif; color: #222; max-width: 960px; margin: 2em auto; padding: 0 1em; line-height: 1.45; }
h1 { font-size: 1.4em; } h2 { font-size: 1.15em; margin-top: 2em; }
svg, img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 0.85em; } th, td { padding: 0.25em 0.6em; text-align: right; }
th { border-bottom: 2px solid #888; } td { border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; } td.changed { color: #b03000; }
";

/// Text without the characters that HTML reads as its own.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn picture(picture: &Picture, about: &str) -> String {
    let data = STANDARD.encode(&picture.png);
    format!("<p><img alt=\"{about}\" src=\"data:image/png;base64,{data}\"></p>\n")
}

fn table(runs: &[Run]) -> String {
    let mut text = String::from(
        "<table>\n<tr><th>compressor</th><th>bound</th><th>ratio</th><th>bits/value</th><th>PSNR</th><th>error/bound</th>\
         <th>lost</th><th>spurious</th><th>other type</th><th>MB/s</th></tr>\n",
    );
    for run in runs {
        let c = &run.changes;
        let changed = |count: u64| match count {
            0 => "<td>0</td>".to_owned(),
            _ => format!("<td class=\"changed\">{}</td>", grouped(count)),
        };
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{:e}</td><td>{:.2}</td><td>{:.3}</td><td>{}</td><td>{:.4}</td>{}{}{}<td>{:.0} / {:.0}</td></tr>",
            escaped(&run.codec.name),
            run.bound,
            run.ratio,
            run.bit_rate,
            psnr_text(c.psnr),
            run.error_over_bound(),
            changed(c.lost_points),
            changed(c.spurious_points),
            changed(c.changed_types),
            run.speeds[0],
            run.speeds[1]
        );
    }
    text + "</table>\n"
}

pub fn html(subject: &Subject, runs: &[Run], pictures: &[Picture; 2]) -> Result<String, Failure> {
    let name = escaped(&subject.name);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>factz sweep: {name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n<p>{} values of \
         {} each, {}. factz {}.</p>\n",
        subject.shape.dims,
        subject.shape.dtype.name(),
        critical_points_text(subject.critical_points),
        env!("CARGO_PKG_VERSION")
    );
    if let Some(remark) = &subject.remark {
        let _ = writeln!(page, "<p>Note: {}.</p>", escaped(remark));
    }
    page += &picture(&pictures[0], "The field with its critical points");
    let plots = [
        ("Rate and distortion", &BIT_RATE, &PSNR),
        ("Changed critical points", &BIT_RATE, &CHANGED_POINTS),
        ("Speed of compression", &BOUND, &COMPRESSION),
        ("Speed of decompression", &BOUND, &DECOMPRESSION),
    ];
    for (title, x, y) in plots {
        let _ = write!(page, "<h2>{title}</h2>\n{}\n", svg(runs, x, y)?);
    }
    page += "<p>The Huffman coder has nearly the lines of the ANS coder; the table has its figures.</p>\n";
    page += "<h2>What is kept, and what preservation prevents</h2>\n";
    page += &picture(&pictures[1], "Reconstructions with and without preservation");
    let _ =
        write!(page, "<h2>All figures</h2>\n<p>{}</p>\n{}", escaped(&tables::legend(subject)), table(runs));
    Ok(page + "</body>\n</html>\n")
}
