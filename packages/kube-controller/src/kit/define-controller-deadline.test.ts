// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { explainTimeout, withDeadline } from "./define-controller.ts";

const running = new AbortController().signal;

test("the deadline ends the work first and, after the grace period, the status", async () => {
  const clock = manualClock();
  const options = { clock, timeoutMs: 1000, statusGraceMs: 500 };
  const work = withDeadline(options, running, async ({ signal, statusSignal, deadline, timeoutMs }) => {
    assert.deepEqual([deadline - clock.now(), timeoutMs], [1000, 1000]);
    clock.advance(999);
    assert.equal(signal.aborted, false);
    clock.advance(1);
    assert.deepEqual([signal.aborted, statusSignal.aborted], [true, false]);
    clock.advance(500);
    assert.equal(statusSignal.aborted, true);
    signal.throwIfAborted();
  });
  await assert.rejects(work, { message: "reconcile timed out after 1s" });
});

test("neither a success nor a failure leaves a timer or a listener behind", async () => {
  let timers = 0;
  const clock = {
    now: () => 0,
    schedule() {
      timers++;
      return () => void timers--;
    },
  };
  let listeners = 0;
  const stopping = {
    aborted: false,
    reason: undefined,
    addEventListener: () => void listeners++,
    removeEventListener: () => void listeners--,
  } as unknown as AbortSignal;
  await withDeadline({ clock, timeoutMs: 1000 }, stopping, async () => {});
  await assert.rejects(
    withDeadline({ clock, timeoutMs: 1000 }, stopping, () => Promise.reject(new Error("boom"))),
    /boom/,
  );
  assert.deepEqual([timers, listeners], [0, 0]);
});

test("both signals abort when the controller stops, before or during the reconcile", async () => {
  const stop = new AbortController();
  const options = { clock: manualClock(), timeoutMs: 1000 };
  await withDeadline(options, stop.signal, async ({ signal, statusSignal }) => {
    stop.abort(new Error("stopping"));
    assert.deepEqual([signal.aborted, statusSignal.aborted], [true, true]);
    await assert.rejects(
      explainTimeout({ signal, statusSignal, timeoutMs: 1000 }, () => Promise.reject(new Error("gave up"))),
      /gave up/,
    );
  });
  await withDeadline(options, stop.signal, async ({ signal, statusSignal }) => {
    assert.deepEqual([signal.aborted, statusSignal.aborted], [true, true]);
  });
});

test("an error after the deadline names the limit, and an error before it keeps its message", async () => {
  const clock = manualClock();
  await withDeadline({ clock, timeoutMs: 2000 }, running, async (signals) => {
    await assert.rejects(
      explainTimeout(signals, () => Promise.reject(new Error("no such host"))),
      /^Error: no such host$/,
    );
    clock.advance(2000);
    const late = (): Promise<never> => Promise.reject(new Error("aborted"));
    await assert.rejects(explainTimeout(signals, late, "reading a"), {
      message: "timed out after 2s reading a; will retry",
    });
    await assert.rejects(explainTimeout(signals, late), { message: "timed out after 2s; will retry" });
  });
});
