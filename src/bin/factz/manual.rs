//! Completion scripts and manual pages, from the same text as `--help`.

use crate::args::{Arguments, Completions, Man};
use crate::failure::{failure, Failure};
use crate::output;
use crate::say::print_result;
use crate::Verdict;
use clap::CommandFactory;
use clap_mangen::roff::{bold, roman, Inline, Roff};

pub fn completions(a: &Completions) -> Result<Verdict, Failure> {
    if let Some(folder) = &a.folder {
        output::make_folder(folder)?;
        clap_complete::generate_to(a.shell, &mut Arguments::command(), "factz", folder)
            .map_err(|e| failure!("{}: the script cannot be written: {e}", folder.display()))?;
        return Ok(Verdict::Good);
    }
    let mut script = Vec::new();
    clap_complete::generate(a.shell, &mut Arguments::command(), "factz", &mut script);
    print_result(&script)?;
    Ok(Verdict::Good)
}

/// factz.1, and factz-COMMAND.1 for every command.
pub fn pages(a: &Man) -> Result<Verdict, Failure> {
    let mut program = Arguments::command();
    program.build();
    output::make_folder(&a.folder)?;
    let write = |command: &clap::Command| {
        let page = page(command).map_err(|e| failure!("the manual of {}: {e}", command.get_name()))?;
        let name = command.get_display_name().unwrap_or(command.get_name());
        output::write_file(&a.folder.join(format!("{name}.1")), &page)
    };
    write(&program)?;
    for command in program.get_subcommands().filter(|c| !c.is_hide_set()) {
        write(command)?;
    }
    Ok(Verdict::Good)
}

fn page(command: &clap::Command) -> std::io::Result<Vec<u8>> {
    // The text behind the options has sections of its own here.
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let man = clap_mangen::Man::new(command.clone().version(env!("CARGO_PKG_VERSION"))).title(name);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|c| !c.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_long_help() {
        sections(&text.to_string()).to_writer(&mut page)?;
    }
    see_also(command).to_writer(&mut page)?;
    Ok(page)
}

/// The text of `after_long_help`: "Heading:" lines begin sections, and so does "Exit status: ..."; indented
/// lines stay as they are below "Examples:" and "Exit status:" and are paragraphs elsewhere.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut verbatim = false;
    let mut any = false;
    for line in text.lines() {
        let heading = line.strip_suffix(':').filter(|h| !h.starts_with(' '));
        if let Some(heading) = heading {
            if verbatim {
                roff.control("fi", []);
            }
            roff.control("SH", [heading.to_uppercase().as_str()]);
            verbatim = matches!(heading, "Example" | "Examples" | "Exit status");
            if verbatim {
                roff.control("nf", []);
            }
            any = true;
        } else if let Some(status) = line.strip_prefix("Exit status: ") {
            roff.control("SH", ["EXIT STATUS"]).text([roman(status)]);
            any = true;
        } else if !line.is_empty() {
            if !any {
                roff.control("SH", ["NOTES"]);
                any = true;
            } else if !verbatim {
                roff.control("PP", []);
            }
            roff.text([roman(if verbatim { line } else { line.trim_start() })]);
        }
    }
    if verbatim {
        roff.control("fi", []);
    }
    roff
}

fn see_also(command: &clap::Command) -> Roff {
    let mut names: Vec<String> = Vec::new();
    if command.get_name() == "factz" {
        let commands = command.get_subcommands().filter(|c| !c.is_hide_set());
        names.extend(commands.map(|c| format!("factz-{}", c.get_name())));
    } else {
        names.push("factz".into());
    }
    let mut inlines: Vec<Inline> = Vec::new();
    for (k, name) in names.iter().enumerate() {
        if k > 0 {
            inlines.push(roman(", "));
        }
        inlines.extend([bold(name.as_str()), roman("(1)")]);
    }
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]).text(inlines);
    roff
}
