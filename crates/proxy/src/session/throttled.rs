//! Statements that wait before they are sent: fixed delays, and the gates of throttles.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use shardwright_rules::{Effects, HostgroupId};
use shardwright_wire::{MysqlError, errors};
use tokio::time::Instant;

use super::routed::RoutedStatement;
use super::{End, Flow, Session};
use crate::kill::interrupted;
use crate::throttles::{Gate, Passage};

/// How a wait has ended.
enum Waited {
    /// The time is over, or there is a place.
    Enough,
    /// The throttle has stopped.
    Stopped,
    /// The session or its statement is ended.
    Ordered,
    /// The client has gone.
    Gone,
    /// It has taken too long.
    TooLong,
}

/// Whether nothing holds a statement up that has these effects.
pub(super) fn is_let_through(effects: &Effects) -> bool {
    effects.throttles.is_empty() && effects.delay_ms.unwrap_or(0) == 0
}

impl Session {
    /// Waits as rules and throttles say. What is given back is the statement's place among those that may run at once, to be kept until
    /// the client has the answer; `None`: the statement does not run, and the client was told why.
    ///
    /// # Errors
    /// The client has gone.
    pub(super) async fn admit(&mut self, routed: &RoutedStatement<'_>, seq: u8) -> Flow<Option<Passage>> {
        match self
            .pass(routed.requirements.hostgroup, &routed.besides.effects)
            .await?
        {
            Ok(passage) => Ok(Some(passage)),
            Err(error) => self.refuse(seq, error).await.map(|()| None),
        }
    }

    /// # Errors
    /// The client has gone; inside, the statement was ended meanwhile, or got no place in time.
    async fn pass(&mut self, hostgroup: HostgroupId, effects: &Effects) -> Flow<Result<Passage, MysqlError>> {
        let fixed = Duration::from_millis(u64::from(effects.delay_ms.unwrap_or(0)));
        if effects.throttles.is_empty() {
            if fixed.is_zero() {
                return Ok(Ok(Passage::default()));
            }
            let until = Instant::now() + fixed;
            return match self.wait_until(until, None).await {
                Waited::Gone => Err(End::ClientGone),
                Waited::Ordered => Ok(Err(interrupted())),
                Waited::Enough | Waited::Stopped | Waited::TooLong => Ok(Ok(Passage::default())),
            };
        }
        let gates = &self.login.snapshot.gates;
        let gates: Vec<Arc<Gate>> = effects
            .throttles
            .iter()
            .filter_map(|throttled| gates.get(hostgroup, &throttled.address).cloned())
            .collect();
        match self.wait_for_delay(fixed, &gates).await {
            Waited::Gone => return Err(End::ClientGone),
            Waited::Ordered => return Ok(Err(interrupted())),
            Waited::Enough | Waited::Stopped | Waited::TooLong => {}
        }
        let mut passage = Passage::default();
        for gate in &gates {
            match self.wait_for_place(gate, &mut passage).await {
                Waited::Gone => return Err(End::ClientGone),
                Waited::Ordered => return Ok(Err(interrupted())),
                Waited::TooLong => return Ok(Err(no_place(gate))),
                Waited::Enough | Waited::Stopped => {}
            }
        }
        Ok(Ok(passage))
    }

    /// The longest delay counts. One that is over earlier than it was long at first is over.
    async fn wait_for_delay(&mut self, fixed: Duration, gates: &[Arc<Gate>]) -> Waited {
        let started = Instant::now();
        let mut waits: Vec<(Duration, &Arc<Gate>)> = gates
            .iter()
            .map(|gate| (self.in_whole_ms(gate.delay()), gate))
            .filter(|(delay, _)| !delay.is_zero())
            .collect();
        let _counted: Vec<_> = waits.iter().map(|(_, gate)| gate.delayed()).collect();
        loop {
            waits.retain(|(_, gate)| gate.is_started());
            let longest = waits.iter().max_by_key(|(delay, _)| *delay);
            let delay = longest.map_or(fixed, |(delay, _)| fixed.max(*delay));
            let gate = longest
                .filter(|(longest, _)| *longest >= delay)
                .map(|(_, gate)| &***gate);
            if started.elapsed() >= delay {
                return Waited::Enough;
            }
            match self.wait_until(started + delay, gate).await {
                Waited::Stopped => {}
                over => return over,
            }
        }
    }

    /// Timers count in whole milliseconds: a part of one is a chance to wait one more.
    fn in_whole_ms(&self, delay: Duration) -> Duration {
        let whole = delay.as_millis();
        let part_us = u64::from(delay.subsec_micros() % 1000);
        let one_more = part_us > 0 && self.worker.random() % 1000 < part_us;
        Duration::from_millis(u64::try_from(whole).unwrap_or(u64::MAX) + u64::from(one_more))
    }

    async fn wait_until(&mut self, until: Instant, gate: Option<&Gate>) -> Waited {
        let (handle, client, clock) = (&self.handle, &mut self.client, &self.worker.shared.clock);
        // Made before the throttle is asked: it hears of what happens from here on.
        let stopped = gate.map(Gate::stopped);
        if gate.is_some_and(|gate| !gate.is_started()) {
            return Waited::Stopped;
        }
        let stopped = async {
            match stopped {
                Some(stopped) => stopped.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = clock.sleep_until(until) => Waited::Enough,
            () = handle.ordered() => Waited::Ordered,
            () = poll_fn(|cx| client.poll_gone(cx)) => Waited::Gone,
            () = stopped => Waited::Stopped,
        }
    }

    /// A place among those that may run at once. A throttle that has stopped keeps nobody waiting; who finds a place is counted
    /// all the same, for the moment at which it starts.
    async fn wait_for_place(&mut self, gate: &Gate, passage: &mut Passage) -> Waited {
        let Some(permits) = gate.permits() else {
            return Waited::Enough;
        };
        // Made before the throttle is asked: it hears of what happens from here on.
        let stopped = gate.stopped();
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            passage.add(permit);
            return Waited::Enough;
        }
        if !gate.is_started() {
            return Waited::Enough;
        }
        let _counted = gate.limited();
        let (handle, client, clock) = (&self.handle, &mut self.client, &self.worker.shared.clock);
        let limit = self.worker.shared.limits.checkout_timeout;
        tokio::select! {
            biased;
            permit = permits.clone().acquire_owned() => {
                // Gates do not close their permits.
                permit.into_iter().for_each(|permit| passage.add(permit));
                Waited::Enough
            }
            () = stopped => Waited::Stopped,
            () = handle.ordered() => Waited::Ordered,
            () = poll_fn(|cx| client.poll_gone(cx)) => Waited::Gone,
            () = clock.sleep(limit) => {
                gate.refused();
                Waited::TooLong
            }
        }
    }
}

/// A statement got no place in time.
fn no_place(gate: &Gate) -> MysqlError {
    let limit = gate.throttle.max_concurrent.unwrap_or(0);
    errors::PROXY_THROTTLED.with(format_args!(
        "{} lets {limit} of these statements run at once on {}, and all of them stayed running",
        gate.address, gate.cluster
    ))
}
