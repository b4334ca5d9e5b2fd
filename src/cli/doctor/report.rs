//! Findings as text for people and as JSON for programs.
//!
//! The worst come first; what is fine is counted, or listed when asked for. Paths and names were
//! chosen by others: nothing of them reaches the terminal that could move its cursor.

use serde_json::{Value, json};

use crate::cli::count;

use super::checks::{Check, Finding, Severity};
use super::facts::Facts;

/// A check and what it found.
pub type Found = (&'static Check, Finding);

/// Two lines a finding.
pub fn in_words(facts: &Facts, findings: &[Found], is_verbose: bool) -> String {
    let folder = plain(&facts.folder.to_string_lossy());
    let mut text = format!("footbridge {} in {folder}\n\n", facts.version);
    for severity in [Severity::Fault, Severity::Warning, Severity::Note, Severity::Fine] {
        if severity == Severity::Fine && !is_verbose {
            continue;
        }
        for (_, finding) in findings.iter().filter(|(_, finding)| finding.severity == severity) {
            text += &format!("{:9}{}\n", severity.name(), plain(&finding.text));
            if let Some(remedy) = &finding.remedy {
                text += &format!("{:9}-> {}\n", "", plain(remedy));
            }
        }
    }
    let counted = |severity| {
        let found = findings.iter().filter(|(_, finding)| finding.severity == severity);
        u32::try_from(found.count()).unwrap_or(u32::MAX)
    };
    text += &format!(
        "\n{}, {}, {}, {} fine\n",
        count(counted(Severity::Fault), "fault"),
        count(counted(Severity::Warning), "warning"),
        count(counted(Severity::Note), "note"),
        counted(Severity::Fine),
    );
    text
}

/// Everything, fine or not.
pub fn in_json(facts: &Facts, findings: &[Found]) -> String {
    let found = |(check, finding): &Found| {
        json!({
            "check": check.name,
            "severity": finding.severity.name(),
            "text": finding.text,
            "remedy": finding.remedy,
        })
    };
    let all: Vec<Value> = findings.iter().map(found).collect();
    let is_well = findings.iter().all(|(_, finding)| !finding.is_fault());
    let folder = facts.folder.to_string_lossy();
    let report =
        json!({"version": facts.version, "folder": folder, "isWell": is_well, "findings": all});
    format!("{report:#}\n")
}

fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::checks::CHECKS;
    use crate::cli::doctor::facts::tests::healthy;

    fn findings() -> Vec<Found> {
        vec![
            (&CHECKS[0], Finding::fine("all is\n\u{1b}[2Jwell")),
            (&CHECKS[1], Finding::note("so it is", "leave it")),
            (&CHECKS[2], Finding::fault("it broke", "mend it")),
        ]
    }

    #[test]
    fn the_worst_comes_first_and_what_is_fine_only_when_asked_for() {
        let expected = "footbridge 1.2.3 in /w/a\n\n\
             fault    it broke\n         -> mend it\n\
             note     so it is\n         -> leave it\n\
             \n1 fault, 0 warnings, 1 note, 1 fine\n";
        assert_eq!(in_words(&healthy(), &findings(), false), expected);
        let all = in_words(&healthy(), &findings(), true);
        assert!(all.contains("leave it\nfine     all is??[2Jwell\n\n1 fault"), "{all}");
    }

    #[test]
    fn programs_read_all_of_it() {
        let report: Value = serde_json::from_str(&in_json(&healthy(), &findings())).expect("JSON");
        assert_eq!(report["isWell"], false);
        assert_eq!(report["findings"].as_array().map(Vec::len), Some(3));
        let broken = json!({"check": CHECKS[2].name, "severity": "fault", "text": "it broke",
            "remedy": "mend it"});
        assert_eq!(report["findings"][2], broken);
        assert_eq!(report["findings"][0]["remedy"], Value::Null);
    }
}
