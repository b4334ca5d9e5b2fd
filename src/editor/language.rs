//! Language ids by file name: one table.
//!
//! The ids are those of the Language Server Protocol and of VS Code, which agents and language
//! servers know. A link that knows better brings its own id; this table serves where none does.

use std::path::Path;

/// The language id of a file by its name; `plaintext` where the name says nothing.
pub fn language_id(path: &Path) -> &'static str {
    let lower = |name: &std::ffi::OsStr| name.to_string_lossy().to_ascii_lowercase();
    let name = path.file_name().map(lower).unwrap_or_default();
    let extension = path.extension().map(lower).unwrap_or_default();
    let find = |table: &[(&str, &'static str)], key: &str| {
        table.iter().find(|(spelled, _)| *spelled == key).map(|(_, id)| *id)
    };
    find(NAMES, &name).or_else(|| find(EXTENSIONS, &extension)).unwrap_or("plaintext")
}

/// Whole names, lower case.
const NAMES: &[(&str, &str)] = &[
    (".bashrc", "shellscript"),
    (".zshrc", "shellscript"),
    ("cargo.lock", "toml"),
    ("cmakelists.txt", "cmake"),
    ("dockerfile", "dockerfile"),
    ("containerfile", "dockerfile"),
    ("gemfile", "ruby"),
    ("rakefile", "ruby"),
    ("gnumakefile", "makefile"),
    ("makefile", "makefile"),
    ("justfile", "just"),
];

/// Extensions, lower case.
const EXTENSIONS: &[(&str, &str)] = &[
    ("astro", "astro"),
    ("bash", "shellscript"),
    ("bat", "bat"),
    ("c", "c"),
    ("cc", "cpp"),
    ("cjs", "javascript"),
    ("clj", "clojure"),
    ("cljs", "clojure"),
    ("cmake", "cmake"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("css", "css"),
    ("cts", "typescript"),
    ("cu", "cuda-cpp"),
    ("cxx", "cpp"),
    ("dart", "dart"),
    ("diff", "diff"),
    ("dockerfile", "dockerfile"),
    ("el", "elisp"),
    ("elm", "elm"),
    ("erl", "erlang"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("fish", "fish"),
    ("fs", "fsharp"),
    ("go", "go"),
    ("gradle", "groovy"),
    ("graphql", "graphql"),
    ("groovy", "groovy"),
    ("h", "c"),
    ("hh", "cpp"),
    ("hpp", "cpp"),
    ("hs", "haskell"),
    ("htm", "html"),
    ("html", "html"),
    ("hxx", "cpp"),
    ("ini", "ini"),
    ("ipynb", "json"),
    ("java", "java"),
    ("jl", "julia"),
    ("js", "javascript"),
    ("json", "json"),
    ("jsonc", "jsonc"),
    ("jsx", "javascriptreact"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("less", "less"),
    ("lisp", "lisp"),
    ("lua", "lua"),
    ("m", "objective-c"),
    ("markdown", "markdown"),
    ("md", "markdown"),
    ("mjs", "javascript"),
    ("mk", "makefile"),
    ("ml", "ocaml"),
    ("mli", "ocaml"),
    ("mm", "objective-cpp"),
    ("mts", "typescript"),
    ("nim", "nim"),
    ("nix", "nix"),
    ("patch", "diff"),
    ("php", "php"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("proto", "proto"),
    ("ps1", "powershell"),
    ("py", "python"),
    ("pyi", "python"),
    ("r", "r"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("rst", "restructuredtext"),
    ("sass", "sass"),
    ("scala", "scala"),
    ("scss", "scss"),
    ("sh", "shellscript"),
    ("sol", "solidity"),
    ("sql", "sql"),
    ("svelte", "svelte"),
    ("swift", "swift"),
    ("tex", "latex"),
    ("tf", "terraform"),
    ("toml", "toml"),
    ("ts", "typescript"),
    ("tsx", "typescriptreact"),
    ("vb", "vb"),
    ("vim", "viml"),
    ("vue", "vue"),
    ("xml", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zig", "zig"),
    ("zsh", "shellscript"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_win_over_extensions_and_case_does_not_count() {
        for (path, id) in [
            ("/a/main.rs", "rust"),
            ("/a/App.TSX", "typescriptreact"),
            ("/a/CMakeLists.txt", "cmake"),
            ("/a/Makefile", "makefile"),
            ("/a/notes.txt", "plaintext"),
            ("/a/rs", "plaintext"),
            ("/", "plaintext"),
        ] {
            assert_eq!(language_id(Path::new(path)), id, "{path}");
        }
    }
}
