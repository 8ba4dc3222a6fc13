use std::{pin::pin, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::Peer,
};
use ros2_memory_query::{Progress, ProgressSink};
use tokio::sync::watch;

/// How long one step of progress may hold up its call.
const STEP_LIMIT: Duration = Duration::from_millis(200);

/// Carries the progress of a call to the peer, skipping what a slow peer would only get late.
pub(crate) struct Relay {
    seen: watch::Receiver<Option<Progress>>,
    peer: Peer<RoleServer>,
    token: ProgressToken,
    /// What the peer was told last.
    told: Option<u64>,
}

impl Relay {
    /// A relay, and the sink that feeds it from any thread.
    pub(crate) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> (ProgressSink, Self) {
        let (tell, seen) = watch::channel(None);
        let sink: ProgressSink = Arc::new(move |progress: Progress| {
            // Progress must grow from one notification to the next.
            tell.send_if_modified(|last: &mut Option<Progress>| {
                let grew = last.is_none_or(|last| progress.done > last.done);
                if grew {
                    *last = Some(progress);
                }
                grew
            });
        });
        (sink, Self { seen, peer, token, told: None })
    }

    /// Relays while `answer` is awaited, and the last step before it is given.
    ///
    /// A step that is on its way is waited for: it must not come after the answer.
    pub(crate) async fn along<T>(mut self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        let mut is_fed = true;
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                changed = self.seen.changed(), if is_fed => {
                    is_fed = changed.is_ok();
                    self.tell().await;
                }
            }
        };
        self.tell().await;
        answer
    }

    /// Tells the peer how far the call has come, unless it knows.
    async fn tell(&mut self) {
        let Some(Progress { done, total }) = *self.seen.borrow_and_update() else { return };
        if self.told == Some(done) {
            return;
        }
        self.told = Some(done);
        let step = ProgressNotificationParam::new(self.token.clone(), float(done))
            .with_total(float(total));
        let told = tokio::time::timeout(STEP_LIMIT, self.peer.notify_progress(step)).await;
        if !matches!(told, Ok(Ok(()))) {
            tracing::debug!("progress did not reach the peer in time");
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "chunks are far fewer than 2^53")]
fn float(steps: u64) -> f64 {
    steps as f64
}
