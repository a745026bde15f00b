//! include/factz.f90 declares what include/factz.h declares: the same constants, the same structs field by
//! field, the same functions argument by argument.

use crate::support::root;
use std::collections::BTreeMap;

/// A declared thing: names with types, in order.
pub type Members = Vec<(String, String)>;

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// C source without comments.
fn without_comments(source: &str) -> String {
    let parts = source.split("/*").enumerate();
    parts.map(|(k, part)| if k == 0 { part } else { part.split_once("*/").unwrap().1 }).collect()
}

/// "const struct factz_config *config" as its type and its name; an array's length belongs to the type.
fn c_declaration(declaration: &str) -> (String, String) {
    let flat = declaration.split_whitespace().collect::<Vec<_>>().join(" ").replace("struct ", "");
    let cut = flat.rfind([' ', '*']).unwrap() + 1;
    let (kind, name) = (flat[..cut].trim(), &flat[cut..]);
    match name.split_once('[') {
        Some((name, length)) => (name.into(), format!("{kind}[{}", length)),
        None => (name.into(), kind.into()),
    }
}

pub struct Header {
    pub constants: BTreeMap<String, i64>,
    pub structs: BTreeMap<String, Members>,
    pub functions: BTreeMap<String, (String, Members)>,
}

/// Everything that include/factz.h declares.
pub fn header() -> Header {
    let source = without_comments(&text("include/factz.h"));
    let mut h = Header { constants: BTreeMap::new(), structs: BTreeMap::new(), functions: BTreeMap::new() };
    for line in source.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let ["#define", name, value] = words[..] {
            h.constants.insert(name.into(), value.parse().unwrap());
        }
    }
    let code: String = source
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| l.split("//").next().unwrap().to_owned() + "\n")
        .collect();
    for part in code.split("typedef struct factz_").skip(1) {
        let (head, rest) = part.split_once('{').unwrap();
        let members = rest.split_once('}').unwrap().0.split(';').filter(|d| !d.trim().is_empty());
        h.structs.insert(format!("factz_{}", head.trim()), members.map(c_declaration).collect());
    }
    for statement in code.split(';') {
        let Some((before, arguments)) = statement.trim().split_once('(') else { continue };
        let before = before.rsplit('\n').next().unwrap();
        if before.starts_with("typedef") || !before.contains("factz_") {
            continue;
        }
        let (name, kind) = c_declaration(before);
        let arguments = arguments.trim_end_matches(')').split(',').map(str::trim);
        let arguments = arguments.filter(|a| !a.is_empty() && *a != "void").map(c_declaration).collect();
        h.functions.insert(name, (kind, arguments));
    }
    h
}

/// Fortran statements: no comments, continuation lines joined.
fn fortran_statements(source: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    for line in source.lines() {
        let line = line.split('!').next().unwrap().trim();
        let last = statements.last_mut().unwrap();
        match line.strip_suffix('&') {
            Some(part) => last.push_str(part),
            None => {
                last.push_str(line);
                statements.push(String::new());
            }
        }
    }
    statements.retain(|s| !s.is_empty());
    statements
}

/// "integer(c_size_t), value :: a, b(3)" as names with types.
fn fortran_declaration(statement: &str) -> Option<Members> {
    let (kind, names) = statement.split_once("::")?;
    let kind = kind.split(',').map(str::trim).collect::<Vec<_>>().join(", ");
    let member = |name: &str| match name.trim().split_once('(') {
        Some((name, length)) => (name.to_owned(), format!("{kind}[{}]", length.trim_end_matches(')'))),
        None => (name.trim().to_owned(), kind.clone()),
    };
    Some(names.split(',').map(member).collect())
}

/// The Fortran type of a scalar of C.
fn scalar_in_fortran(c: &str) -> Option<&'static str> {
    Some(match c {
        "size_t" => "integer(c_size_t)",
        "int" => "integer(c_int)",
        "uint64_t" => "integer(c_int64_t)",
        "int32_t" | "uint32_t" | "factz_status" => "integer(c_int32_t)",
        "double" => "real(c_double)",
        _ => return None,
    })
}

/// The Fortran type of a member of a struct.
fn member_in_fortran(c: &str) -> String {
    let (scalar, length) = c.split_at(c.find('[').unwrap_or(c.len()));
    scalar_in_fortran(scalar).unwrap_or_else(|| panic!("no Fortran type for {scalar}")).to_owned() + length
}

/// Declarations that an argument may have in Fortran.
fn argument_in_fortran(c: &str) -> Vec<String> {
    if let Some(kind) = scalar_in_fortran(c) {
        return vec![format!("{kind}, value")];
    }
    match c {
        "factz_log_callback" | "factz_read_callback" => return vec!["type(c_funptr), value".into()],
        "factz_stream" | "void *" | "const void *" | "char *" | "const char *" => {
            return vec!["type(c_ptr), value".into()]
        }
        "const uint32_t *" => return vec!["integer(c_int32_t), intent(in)[*]".into()],
        "uint32_t *" => return ["", "[*]"].map(|n| format!("integer(c_int32_t), intent(out){n}")).into(),
        _ => {}
    }
    // An output that is written later or on a device, and an array, must be an address.
    let name = c.trim_start_matches("const ").trim_end_matches(" *");
    let kind = scalar_in_fortran(name).map_or_else(|| format!("type({name})"), str::to_owned);
    if c.starts_with("const ") {
        vec![format!("{kind}, intent(in)"), format!("{kind}, intent(in), optional")]
    } else {
        vec![format!("{kind}, intent(out)"), "type(c_ptr), value".into()]
    }
}

#[test]
fn the_fortran_module_has_the_constants_of_the_header() {
    let mut constants = BTreeMap::new();
    for statement in fortran_statements(&text("include/factz.f90")) {
        if !statement.contains(", parameter,") {
            continue;
        }
        for constant in statement.split_once("::").unwrap().1.split(',') {
            let (name, value) = constant.split_once('=').unwrap();
            constants.insert(name.trim().to_owned(), value.trim().parse::<i64>().unwrap());
        }
    }
    assert_eq!(constants, header().constants);
}

#[test]
fn the_fortran_module_has_the_structs_of_the_header() {
    let mut structs = BTreeMap::new();
    let mut open: Option<(String, Members)> = None;
    for statement in fortran_statements(&text("include/factz.f90")) {
        if let Some(name) = statement.strip_prefix("type, bind(c), public :: ") {
            open = Some((name.to_owned(), Vec::new()));
        } else if statement.starts_with("end type") {
            structs.extend(open.take());
        } else if let Some((_, members)) = &mut open {
            members.extend(fortran_declaration(&statement).unwrap());
        }
    }
    let expected: BTreeMap<_, Members> = header()
        .structs
        .into_iter()
        .map(|(name, members)| (name, members.into_iter().map(|(n, c)| (n, member_in_fortran(&c))).collect()))
        .collect();
    assert_eq!(structs, expected);
}

#[test]
fn the_fortran_module_has_the_functions_of_the_header() {
    let mut found = BTreeMap::new();
    let mut open: Option<(String, String, Vec<String>, Members)> = None;
    for statement in fortran_statements(&text("include/factz.f90")) {
        if let (None, Some((head, binding))) = (&open, statement.split_once("bind(c")) {
            let Some((kind, signature)) = head.split_once(" function ") else { continue };
            let (name, arguments) = signature.trim().trim_end_matches(')').split_once('(').unwrap();
            let name = match binding.split_once("name=\"") {
                Some((_, name)) => name.trim_end_matches([')', '"']),
                None => name,
            };
            let arguments = arguments.split(',').map(|a| a.trim().to_owned()).filter(|a| !a.is_empty());
            open = Some((name.to_owned(), kind.trim().to_owned(), arguments.collect(), Vec::new()));
        } else if statement.starts_with("end function") {
            if let Some((name, kind, order, declared)) = open.take() {
                let declared: BTreeMap<_, _> = declared.into_iter().collect();
                let arguments: Members = order.iter().map(|a| (a.clone(), declared[a].clone())).collect();
                found.insert(name, (kind, arguments));
            }
        } else if let Some((.., declared)) = &mut open {
            declared.extend(fortran_declaration(&statement).into_iter().flatten());
        }
    }
    let functions = header().functions;
    assert!(functions.len() > 15, "{functions:?}");
    assert_eq!(found.keys().collect::<Vec<_>>(), functions.keys().collect::<Vec<_>>());
    for (name, (kind, arguments)) in &functions {
        let (found_kind, found_arguments) = &found[name];
        let expected_kind =
            if kind == "const char *" { Some("type(c_ptr)") } else { scalar_in_fortran(kind) };
        assert_eq!(Some(found_kind.as_str()), expected_kind, "{name}");
        assert_eq!(found_arguments.len(), arguments.len(), "{name}");
        for ((found_name, found_type), (argument, c)) in found_arguments.iter().zip(arguments) {
            assert_eq!(found_name, argument, "{name}");
            let fits = argument_in_fortran(c).contains(found_type);
            assert!(fits, "{name}: {argument} is {c}, not {found_type}");
        }
    }
}
