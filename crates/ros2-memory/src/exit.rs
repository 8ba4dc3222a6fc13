//! Exit codes: 0 well, 1 failed, 2 usage or configuration, 3 done with losses.

use std::process::ExitCode;

use ros2_memory_config::ConfigError;
use ros2_memory_inspect::InspectError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As asked.
    Well,
    /// Not done.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// Done, and something was lost on the way; standard error says what.
    Losses,
}

/// The command line is wrong in a way that only the command itself sees.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

impl Outcome {
    pub(crate) fn of_error(error: &anyhow::Error) -> Self {
        let is_usage = error.is::<UsageError>()
            || error.is::<ConfigError>()
            || matches!(
                error.downcast_ref(),
                Some(InspectError::Moment { .. } | InspectError::UnknownTopic { .. })
            );
        if is_usage { Self::Usage } else { Self::Failed }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Well => 0,
            Outcome::Failed => 1,
            Outcome::Usage => 2,
            Outcome::Losses => 3,
        })
    }
}
