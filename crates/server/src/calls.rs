use std::{
    borrow::Cow,
    ops::ControlFlow,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use ros2_memory_query::{CallContext, Cancel, ErrorCode, ProgressSink, Reply};
use serde_json::{Map, Value};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinError,
    time::{sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    account::Account,
    metrics::Metrics,
    port::{Port, ToolListing},
    settings::Settings,
};

/// Calls that read bags at the same time. More would only share the same disk and cores.
const RUNNING: usize = 8;

/// Calls at the same time of tools that need no arguments. They have places of their own, so
/// that the list of topics is answered while long searches hold the others.
const RUNNING_QUICK: usize = 4;

/// Calls that may wait for a place; the next one is `busy` at once.
const WAITING: usize = 256;

/// How long a call that was asked to stop is waited for. Its place stays taken until it ends.
const GRACE: Duration = Duration::from_millis(500);

/// Lines that may wait for a reader of a sample stream.
const LINES: usize = 64;

/// The tool that a sample stream counts as.
const SAMPLES: &str = "get_topic_in_range";

/// Which way a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    Stdio,
    Mcp,
    Sse,
    Http,
}

impl Carrier {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Mcp => "mcp",
            Self::Sse => "sse",
            Self::Http => "http",
        }
    }
}

/// Who asks, and how it is known that nobody waits for the answer any more.
pub(crate) struct Caller {
    pub(crate) carrier: Carrier,
    pub(crate) request_id: String,
    /// Cancelled when this request is.
    pub(crate) request: CancellationToken,
    /// Cancelled when the connection or session that it came over ends.
    pub(crate) connection: CancellationToken,
    pub(crate) progress: Option<ProgressSink>,
}

impl Caller {
    async fn left(&self) {
        tokio::select! {
            () = self.request.cancelled() => {}
            () = self.connection.cancelled() => {}
        }
    }

    fn has_left(&self) -> bool {
        self.request.is_cancelled() || self.connection.is_cancelled()
    }
}

/// Runs calls of a [`Port`] on the blocking pool, within bounds, and accounts for each.
pub(crate) struct Calls {
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    port: Arc<dyn Port>,
    tools: Vec<ToolListing>,
    running: Arc<Semaphore>,
    running_quick: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Calls {
    pub(crate) fn new(port: impl Port, settings: Settings) -> Arc<Self> {
        let port: Arc<dyn Port> = Arc::new(port);
        Arc::new(Self {
            settings,
            metrics: Metrics::new(port.clone()),
            tools: port.tools(),
            port,
            running: Arc::new(Semaphore::new(RUNNING)),
            running_quick: Arc::new(Semaphore::new(RUNNING_QUICK)),
            waiting: Arc::new(Semaphore::new(WAITING)),
        })
    }

    pub(crate) fn port(&self) -> &Arc<dyn Port> {
        &self.port
    }

    pub(crate) fn tools(&self) -> &[ToolListing] {
        &self.tools
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&ToolListing> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Answers one call. Dropping the future stops the call at its next chunk.
    pub(crate) async fn run(
        self: &Arc<Self>,
        tool: &ToolListing,
        arguments: Map<String, Value>,
        mut caller: Caller,
    ) -> Reply {
        let account = Account::open(self, tool.name.clone(), &caller);
        let slots = if tool.needs_no_arguments() { &self.running_quick } else { &self.running };
        let slot = match self.slot(slots, account.deadline, &caller).await {
            Ok(slot) => slot,
            Err(reply) => return account.close(reply, caller.has_left()),
        };
        let stop = StopOnDrop(Cancel::new());
        let context = CallContext {
            cancel: stop.0.clone(),
            deadline: account.deadline,
            progress: caller.progress.take(),
        };
        let overdue = account.deadline + GRACE;
        let port = self.port.clone();
        let mut answer = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            let span = account.span.clone();
            span.in_scope(|| {
                let reply = caught(|| port.call(&account.tool, arguments, &context));
                account.close(reply, context.cancel.is_cancelled())
            })
        });
        let overdue = tokio::select! {
            reply = &mut answer => return joined(reply),
            () = caller.left() => tokio::time::Instant::now() + GRACE,
            () = sleep_until(overdue.into()) => tokio::time::Instant::now(),
        };
        stop.0.cancel();
        match timeout_at(overdue, answer).await {
            Ok(reply) => joined(reply),
            Err(_elapsed) => overrun(),
        }
    }

    /// Starts a stream of samples and waits for its first line.
    ///
    /// Dropping the stream stops the reading behind it. An error after the first line becomes
    /// the last line.
    pub(crate) async fn stream(
        self: &Arc<Self>,
        arguments: Map<String, Value>,
        caller: Caller,
    ) -> Result<Lines, Reply> {
        let name = self.tool(SAMPLES).map_or(Cow::Borrowed(SAMPLES), |tool| tool.name.clone());
        let account = Account::open(self, name, &caller);
        let slot = match self.slot(&self.running, account.deadline, &caller).await {
            Ok(slot) => slot,
            Err(reply) => return Err(account.close(reply, caller.has_left())),
        };
        let stop = StopOnDrop(Cancel::new());
        let context =
            CallContext { cancel: stop.0.clone(), deadline: account.deadline, progress: None };
        let overdue = account.deadline + GRACE;
        let (lines, mut read) = mpsc::channel(LINES);
        let port = self.port.clone();
        let runtime = Handle::current();
        let connection = caller.connection.clone();
        tokio::task::spawn_blocking(move || {
            let _slot = slot;
            let span = account.span.clone();
            span.in_scope(|| {
                let send = |line| send_line(&runtime, &lines, line, &context, &connection);
                let mut sink = |sample: Value| send(Line::Sample(sample.to_string()));
                let reply = caught(|| port.stream_samples(arguments, &context, &mut sink));
                let reply = account.close(reply, context.cancel.is_cancelled());
                if reply.error.is_some() && send(Line::Failed(reply)).is_break() {
                    tracing::debug!("nobody left to tell why the samples end");
                }
            });
        });
        let first = tokio::select! {
            first = read.recv() => first,
            () = caller.left() => return Err(overrun()),
            () = sleep_until(overdue.into()) => return Err(overrun()),
        };
        match first {
            Some(Line::Failed(reply)) => Err(reply),
            first => Ok(Lines { first, rest: read, _stop: stop }),
        }
    }

    /// Waits for a place among `slots`.
    async fn slot(
        &self,
        slots: &Arc<Semaphore>,
        deadline: Instant,
        caller: &Caller,
    ) -> Result<OwnedSemaphorePermit, Reply> {
        if let Ok(slot) = slots.clone().try_acquire_owned() {
            return Ok(slot);
        }
        let Ok(_waiting) = self.waiting.try_acquire() else {
            return Err(busy(&format!("{WAITING} calls are waiting already")));
        };
        tokio::select! {
            slot = slots.clone().acquire_owned() => {
                slot.map_err(|_closed| busy("the server is ending"))
            }
            () = caller.left() => Err(busy("the caller left")),
            () = sleep_until(deadline.into()) => Err(busy("no call ended within the time limit")),
        }
    }
}

/// One line of a sample stream.
pub(crate) enum Line {
    /// A sample, as compact JSON.
    Sample(String),
    /// Why no more follow.
    Failed(Reply),
}

/// The lines of a sample stream, as they are read.
pub(crate) struct Lines {
    first: Option<Line>,
    rest: mpsc::Receiver<Line>,
    _stop: StopOnDrop,
}

impl Lines {
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Line>> {
        match self.first.take() {
            Some(line) => Poll::Ready(Some(line)),
            None => self.rest.poll_recv(cx),
        }
    }
}

/// Hands a line to the reader, waiting for a slow one as long as the call may last.
fn send_line(
    runtime: &Handle,
    lines: &mpsc::Sender<Line>,
    line: Line,
    context: &CallContext,
    connection: &CancellationToken,
) -> ControlFlow<()> {
    let line = match lines.try_send(line) {
        Ok(()) => return ControlFlow::Continue(()),
        Err(mpsc::error::TrySendError::Closed(_)) => return ControlFlow::Break(()),
        Err(mpsc::error::TrySendError::Full(line)) => line,
    };
    let sent = runtime.block_on(async {
        tokio::select! {
            sent = timeout_at(context.deadline.into(), lines.send(line)) => matches!(sent, Ok(Ok(()))),
            () = connection.cancelled() => false,
        }
    });
    if sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// Throws the switch of a call when nobody holds its future any more.
struct StopOnDrop(Cancel);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A panic below is a fault of the program, and ends one call rather than its account.
fn caught(call: impl FnOnce() -> Reply) -> Reply {
    panic::catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_panic| broken())
}

fn joined(reply: Result<Reply, JoinError>) -> Reply {
    reply.unwrap_or_else(|_panic| broken())
}

fn broken() -> Reply {
    tracing::error!("a call broke off");
    Reply::error(ErrorCode::Internal, "the call broke off", None)
}

fn busy(detail: &str) -> Reply {
    Reply::error(ErrorCode::Busy, detail, Some("ask again in a few seconds"))
}

fn overrun() -> Reply {
    Reply::error(ErrorCode::Timeout, "the call was stopped before it had an answer", None)
}
