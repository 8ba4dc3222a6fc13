use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A stream that ends when a token is cancelled, and holds something for as long as it lives.
///
/// What is ready is given before the token is looked at: a session's last answers are still sent.
pub(super) struct Until<S, G> {
    inner: S,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    _held: G,
}

impl<S, G> Until<S, G> {
    pub(super) fn new(inner: S, stop: CancellationToken, held: G) -> Self {
        Self { inner, stop: Box::pin(stop.cancelled_owned()), _held: held }
    }
}

impl<S: Stream + Unpin, G: Unpin> Stream for Until<S, G> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        match Pin::new(&mut self.inner).poll_next(cx) {
            Poll::Ready(item) => Poll::Ready(item),
            Poll::Pending => self.stop.as_mut().poll(cx).map(|()| None),
        }
    }
}
