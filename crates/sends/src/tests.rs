//! What becomes of messages, with io_uring and without.

use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use super::*;

/// Every kind of sender that this system has; both do the same.
fn senders() -> Vec<BatchSender> {
    let mut senders = vec![BatchSender::one_by_one()];
    match BatchSender::with_ring() {
        Ok(sender) => senders.push(sender),
        Err(error) => eprintln!("without io_uring: {error}"),
    }
    senders
}

fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    (ours, theirs)
}

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener.accept().unwrap().0, theirs)
}

/// Sends one message to each socket, and gives what became of them.
fn sent<S: AsFd>(sender: &mut BatchSender, sockets: &[S], messages: &[&[u8]]) -> Vec<Sent> {
    messages.iter().for_each(|message| sender.add(message));
    let (mut told, mut order) = (Vec::new(), Vec::new());
    sender
        .send(sockets, |_, message, sent| {
            order.push(message.to_vec());
            told.push(sent);
        })
        .unwrap();
    assert_eq!(order, messages);
    told
}

/// Fills a socket, which takes nothing any more; how much is in it.
fn fill(socket: &UnixStream) -> usize {
    let mut filled = 0;
    loop {
        match send(socket, &[7; 4096], FLAGS) {
            Ok(taken) => filled += taken,
            Err(Errno::AGAIN) => return filled,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn each_message_comes_to_its_own_socket() {
    for mut sender in senders() {
        // Several calls, the last of which takes one message.
        let count = 2 * IN_A_CALL + 1;
        let pairs: Vec<_> = (0..count).map(|_| tcp_pair()).collect();
        let (ours, mut theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        for round in 0..3 {
            let messages: Vec<String> = (0..count).map(|place| format!("{round}: {place}")).collect();
            let bytes: Vec<&[u8]> = messages.iter().map(String::as_bytes).collect();
            let lengths: Vec<Sent> = messages.iter().map(|message| Ok(message.len())).collect();
            assert_eq!(sent(&mut sender, &ours, &bytes), lengths);
            for (socket, message) in zip(&mut theirs, &messages) {
                let mut received = vec![0; message.len()];
                socket.read_exact(&mut received).unwrap();
                assert_eq!(received, message.as_bytes());
            }
        }
    }
}

#[test]
fn a_socket_without_room_and_one_that_is_closed_hold_up_nobody() {
    for mut sender in senders() {
        let (full, theirs_full) = pair();
        let filled = fill(&full);
        let (closed, theirs_closed) = pair();
        drop(theirs_closed);
        let (open, mut theirs_open) = pair();
        let told = sent(&mut sender, &[&full, &closed, &open], &[b"one", b"two", b"three"]);
        assert_eq!(told, [Err(Errno::AGAIN), Err(Errno::PIPE), Ok(5)]);
        let mut received = [0; 16];
        assert_eq!(theirs_open.read(&mut received).unwrap(), 5);
        // Nothing of the message is still on its way: room brings none of it.
        let mut theirs_full = theirs_full;
        let mut rest = vec![0; filled];
        theirs_full.read_exact(&mut rest).unwrap();
        assert_eq!(
            theirs_full.read(&mut received).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
    }
}

#[test]
fn what_a_socket_has_no_room_for_is_told() {
    for mut sender in senders() {
        let (ours, mut theirs) = tcp_pair();
        let (other, _theirs) = tcp_pair();
        let message = vec![7; 64 << 20];
        let told = sent(&mut sender, &[&ours, &other], &[&message, b"x"]);
        let taken = told[0].unwrap();
        assert!(0 < taken && taken < message.len(), "{taken}");
        assert_eq!(told[1], Ok(1));
        drop(ours);
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).unwrap();
        assert_eq!(received.len(), taken);
    }
}

#[test]
fn a_ring_that_fails_is_left_and_everything_is_sent() {
    let Ok(mut sender) = BatchSender::with_ring() else {
        return;
    };
    let pairs: Vec<_> = (0..3).map(|_| pair()).collect();
    let (ours, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    // A ring belongs to the thread that has made it: from another one, the system takes nothing.
    let told = std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let mut told = Vec::new();
            (0..3).for_each(|_| sender.add(b"abc"));
            let failed = sender.send(&ours, |_, _, sent| told.push(sent));
            assert!(failed.is_err());
            assert!(!sender.has_ring());
            (0..3).for_each(|_| sender.add(b"def"));
            sender.send(&ours, |_, _, sent| told.push(sent)).unwrap();
            told
        });
        sending.join().unwrap()
    });
    assert_eq!(told, [Ok(3); 6]);
    for mut socket in theirs {
        let mut received = [0; 16];
        let length = socket.read(&mut received).unwrap();
        assert_eq!(&received[..length], b"abcdef");
    }
}
