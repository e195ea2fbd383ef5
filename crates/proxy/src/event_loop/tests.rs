//! What a loop of one's own must do that tokio did.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::unix::net as unix;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::thread;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::oneshot;

use super::*;

/// Runs a task on a loop of its own thread, and gives what it comes to.
fn on_a_loop<T: Send + 'static, F: Future<Output = T> + 'static>(
    task: impl FnOnce() -> F + Send + 'static,
) -> T {
    let ended = thread::spawn(move || {
        let result = Rc::new(RefCell::new(None));
        let filled = result.clone();
        start().unwrap();
        run(async move {
            let value = task().await;
            *filled.borrow_mut() = Some(value);
        })
        .unwrap();
        result.take().expect("the task has ended")
    });
    ended.join().unwrap()
}

#[test]
fn what_comes_later_wakes_the_task_and_the_end_is_seen() {
    let received = on_a_loop(|| async {
        let (mut ours, mut theirs) = Stream::pair_of_tests();
        let (asked, asks) = oneshot::channel::<()>();
        let other = thread::spawn(move || {
            theirs.write_all(b"first").unwrap();
            asks.blocking_recv().unwrap();
            theirs.write_all(b" second").unwrap();
        });
        let mut buffer = [0; 64];
        let read = ours.read(&mut buffer).await.unwrap();
        let mut received = buffer[..read].to_vec();
        asked.send(()).unwrap();
        ours.read_to_end(&mut received).await.unwrap();
        other.join().unwrap();
        received
    });
    assert_eq!(received, b"first second");
}

#[test]
fn an_end_that_comes_with_the_last_bytes_is_not_missed() {
    on_a_loop(|| async {
        let (mut ours, mut theirs) = Stream::pair_of_tests();
        theirs.write_all(b"last").unwrap();
        drop(theirs);
        let mut buffer = [0; 64];
        assert_eq!(ours.read(&mut buffer).await.unwrap(), 4);
        assert_eq!(ours.read(&mut buffer).await.unwrap(), 0);
    });
}

#[test]
fn a_writer_waits_for_room_and_goes_on() {
    const LENGTH: usize = 8 << 20;
    let received = on_a_loop(|| async {
        let (mut ours, mut theirs) = Stream::pair_of_tests();
        theirs.set_nonblocking(false).unwrap();
        let (full, is_full) = oneshot::channel::<()>();
        let other = thread::spawn(move || {
            // Nothing is read before there is no room left.
            is_full.blocking_recv().unwrap();
            let mut received = Vec::new();
            theirs.read_to_end(&mut received).unwrap();
            received.len()
        });
        let bytes = vec![7; LENGTH];
        let (mut sent, mut full) = (0, Some(full));
        poll_fn(|cx| {
            while sent < LENGTH {
                match Pin::new(&mut ours).poll_write(cx, &bytes[sent..]) {
                    Poll::Ready(written) => sent += written.unwrap(),
                    Poll::Pending => {
                        if let Some(full) = full.take() {
                            full.send(()).unwrap();
                        }
                        return Poll::Pending;
                    }
                }
            }
            Poll::Ready(())
        })
        .await;
        ours.shutdown().await.unwrap();
        other.join().unwrap()
    });
    assert_eq!(received, LENGTH);
}

#[test]
fn a_task_that_always_finds_something_lets_others_run() {
    let turns = on_a_loop(|| async {
        let (mut ours, mut theirs) = Stream::pair_of_tests();
        theirs.write_all(&[7; 4096]).unwrap();
        let others = Rc::new(Cell::new(0));
        let counts = others.clone();
        spawn(async move {
            loop {
                counts.set(counts.get() + 1);
                yield_once().await;
            }
        });
        // A byte at a time: there is always another one.
        let mut byte = [0];
        for _ in 0..4096 {
            poll_fn(|cx| Pin::new(&mut ours).poll_read(cx, &mut ReadBuf::new(&mut byte)))
                .await
                .unwrap();
        }
        others.get()
    });
    assert!(turns >= 4096 / ALLOWANCE, "{turns}");
}

async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn another_thread_wakes_a_task() {
    let answer = on_a_loop(|| async {
        let (answers, answer) = oneshot::channel();
        let other = thread::spawn(move || answers.send(42).unwrap());
        let answer = answer.await.unwrap();
        other.join().unwrap();
        answer
    });
    assert_eq!(answer, 42);
}

/// Notes how it was dropped.
struct Dropped(Rc<RefCell<Vec<bool>>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.borrow_mut().push(thread::panicking());
    }
}

#[test]
fn a_panic_ends_its_task_alone_and_is_seen_by_what_the_task_has() {
    let how = on_a_loop(|| async {
        let how = Rc::new(RefCell::new(Vec::new()));
        let dropped = Dropped(how.clone());
        let ended = spawn_told(async move {
            let _kept = dropped;
            yield_once().await;
            panic!("a session that panics");
        });
        assert!(ended.await.is_err(), "it has not come to its end");
        let dropped = Dropped(how.clone());
        let ended = spawn_told(async move { drop(dropped) });
        ended.await.unwrap();
        how.take()
    });
    assert_eq!(how, [true, false]);
}

#[test]
fn a_thread_whose_own_task_panics_says_so() {
    let ended =
        thread::spawn(|| run(async { panic!("a worker that panics") }).map_err(|error| error.to_string()));
    assert_eq!(
        ended.join().unwrap(),
        Err("the thread's task has panicked".to_owned())
    );
}

#[test]
fn tasks_that_are_left_end_with_the_loop() {
    let (ends, ended) = std::sync::mpsc::channel::<()>();
    on_a_loop(move || async move {
        let (ours, theirs) = Stream::pair_of_tests();
        spawn(async move {
            let _kept = (ends, theirs);
            let mut ours = ours;
            let _nothing = ours.read(&mut [0; 1]).await;
        });
        yield_once().await;
    });
    assert!(ended.recv().is_err(), "what the task had is dropped");
}

#[test]
fn a_place_that_has_another_socket_is_not_told_of_the_one_before() {
    on_a_loop(|| async {
        let (ours, theirs) = Stream::pair_of_tests();
        let place = ours.place_of_tests();
        // A process that is about to be another program has a copy of the socket.
        let copy = ours.copy_of_tests();
        drop(ours);
        let (mut ours, mut other) = Stream::pair_of_tests();
        assert_eq!(ours.place_of_tests(), place);
        drop(theirs);
        look_around();
        poll_fn(|cx| {
            assert!(ours.poll_heard(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        other.write_all(b"x").unwrap();
        let mut byte = [0];
        assert_eq!(ours.read(&mut byte).await.unwrap(), 1);
        drop(copy);
    });
}

#[test]
fn a_connection_that_is_refused_says_so() {
    on_a_loop(|| async {
        let gone = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = gone.local_addr().unwrap();
        drop(gone);
        let refused = Stream::connect(address).await;
        let error = refused.err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::ConnectionRefused));
        let missing = Stream::connect_unix(std::path::Path::new("/nonexistent/socket")).await;
        let error = missing.err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::NotFound));
    });
}

#[test]
fn clients_are_told_of_until_they_are_accepted() {
    on_a_loop(|| async {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let clients: Vec<_> = (0..3)
            .map(|_| std::net::TcpStream::connect(address).unwrap())
            .collect();
        // Whoever begins to accept later finds those that wait.
        for _ in &clients {
            let incoming = Incoming::at(&listener).unwrap();
            poll_fn(|cx| incoming.poll(cx)).await;
            listener.accept().unwrap();
        }
        let incoming = Incoming::at(&listener).unwrap();
        look_around();
        poll_fn(|cx| {
            assert!(incoming.poll(cx).is_pending(), "nobody waits");
            Poll::Ready(())
        })
        .await;
    });
}

#[tokio::test]
async fn a_loop_is_turned_by_a_runtime_that_has_the_thread() {
    start().unwrap();
    let answered = Rc::new(Cell::new(false));
    let answers = answered.clone();
    let (mut ours, mut theirs) = Stream::pair_of_tests();
    let ended = spawn_told(async move {
        let mut byte = [0];
        ours.read_exact(&mut byte).await.unwrap();
        answers.set(true);
    });
    hosting(async {
        let (told, hears) = oneshot::channel::<()>();
        // Started by somebody else's task, and woken by it.
        let heard = spawn_told(async move { hears.await.unwrap() });
        told.send(()).unwrap();
        heard.await.unwrap();
        theirs.write_all(b"x").unwrap();
        ended.await.unwrap();
    })
    .await;
    assert!(answered.get());
    let _unused: unix::UnixStream = theirs;
}

/// Streams of tasks that all send in one turn, and their other ends.
fn pairs(count: usize) -> (Vec<Stream>, Vec<unix::UnixStream>) {
    (0..count).map(|_| Stream::pair_of_tests()).unzip()
}

/// Has a task for each stream send a message, all in one turn; then `then` runs, in another one.
async fn send_in_one_turn(streams: Vec<Stream>, then: impl FnOnce(Vec<Stream>)) {
    let streams: Vec<_> = streams
        .into_iter()
        .map(|stream| Rc::new(RefCell::new(stream)))
        .collect();
    let ended: Vec<Ended> = streams
        .iter()
        .map(|stream| {
            let stream = stream.clone();
            spawn_told(poll_fn(move |cx| {
                let sent = Pin::new(&mut *stream.borrow_mut()).poll_write(cx, b"message");
                assert!(matches!(sent, Poll::Ready(Ok(7))), "{sent:?}");
                Poll::Ready(())
            }))
        })
        .collect();
    for ended in ended {
        ended.await.unwrap();
    }
    for _ in 0..TASKS_IN_TURN {
        yield_once().await;
    }
    then(
        streams
            .into_iter()
            .map(|stream| Rc::into_inner(stream).unwrap().into_inner())
            .collect(),
    );
}

#[test]
fn what_tasks_of_a_turn_send_has_gone_when_it_ends() {
    on_a_loop(|| async {
        // More than one call takes, and a turn.
        let (ours, mut theirs) = pairs(100);
        send_in_one_turn(ours, |ours| {
            for theirs in &mut theirs {
                let mut received = [0; 16];
                assert_eq!(theirs.read(&mut received).unwrap(), 7);
            }
            drop(ours);
        })
        .await;
    });
}

#[test]
fn what_was_sent_last_before_a_stream_is_dropped_comes() {
    on_a_loop(|| async {
        let (ours, mut theirs) = pairs(3);
        let ended: Vec<Ended> = ours
            .into_iter()
            .map(|mut stream| {
                spawn_told(async move {
                    for words in ["last", " words", ", sent"] {
                        let written =
                            poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, words.as_bytes())).await;
                        assert_eq!(written.unwrap(), words.len());
                    }
                })
            })
            .collect();
        for ended in ended {
            ended.await.unwrap();
        }
        for theirs in &mut theirs {
            let mut received = Vec::new();
            theirs.read_to_end(&mut received).unwrap();
            assert_eq!(received, b"last words, sent");
        }
    });
}

#[test]
fn a_message_without_room_follows_when_there_is_some() {
    on_a_loop(|| async {
        let (mut ours, mut theirs) = pairs(3);
        let mut filled = 0;
        // As if the loop did not know yet that there is no room.
        let mut full = ours[1].copy_of_tests();
        while let Ok(taken) = full.write(&[7; 4096]) {
            filled += taken;
        }
        while let Ok(taken) = full.write(&[7]) {
            filled += taken;
        }
        drop(full);
        let (kept, keeps) = oneshot::channel();
        let other = theirs.remove(1);
        send_in_one_turn(std::mem::take(&mut ours), |streams| {
            kept.send(streams).ok().unwrap()
        })
        .await;
        let mut ours = keeps.await.unwrap();
        let full = &mut ours[1];
        assert!(!full.keeps_nothing());
        let read = thread::spawn(move || {
            other.set_nonblocking(false).unwrap();
            let mut received = Vec::new();
            (&other).read_to_end(&mut received).unwrap();
            received
        });
        full.flush().await.unwrap();
        assert!(full.keeps_nothing());
        full.write_all(b", and more").await.unwrap();
        drop(ours);
        let received = read.join().unwrap();
        assert_eq!(received.len(), filled + 17);
        assert!(received.ends_with(b"message, and more"));
    });
}

#[test]
fn a_task_that_only_reads_hears_that_its_message_could_not_be_sent() {
    on_a_loop(|| async {
        let (ours, mut theirs) = pairs(3);
        drop(theirs.remove(1));
        let (kept, keeps) = oneshot::channel();
        send_in_one_turn(ours, |streams| kept.send(streams).ok().unwrap()).await;
        let mut ours = keeps.await.unwrap();
        let failed = ours[1].read(&mut [0; 16]).await.unwrap_err();
        assert_eq!(failed.kind(), std::io::ErrorKind::BrokenPipe);
        let failed = ours[1].write(b"more").await.unwrap_err();
        assert_eq!(failed.kind(), std::io::ErrorKind::BrokenPipe);
        for other in [0, 1] {
            let mut received = [0; 16];
            assert_eq!(theirs[other].read(&mut received).unwrap(), 7);
        }
    });
}
