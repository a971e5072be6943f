// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import {
  type AwaitingWork,
  awaited,
  type Flow,
  finish,
  forEachLimited,
  inFlow,
  inOwnFlow,
  inTurns,
  isPartDone,
  soon,
  sorting,
  Turns,
  type Work,
} from "./turns.ts";

function burn(milliseconds: number): void {
  const start = performance.now();
  while (performance.now() - start < milliseconds);
}

test("a task that has just begun continues", async () => {
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  assert.equal(new Turns().isOver, false);
});

test("a task that has run for a while is over until its next turn", async () => {
  const turns = new Turns();
  burn(20);
  assert.equal(turns.isOver, true);
  await turns.next();
  assert.equal(turns.isOver, false);
});

/** Runs tasks that all wait for a turn, then run for some time, and returns the turn of the event loop each of them ran in. */
async function turnsOf(count: number, milliseconds: number): Promise<number[]> {
  let turn = 0;
  let counting = true;
  const tick = (): void => {
    turn++;
    if (counting) setImmediate(tick);
  };
  tick();
  const seen = await Promise.all(
    Array.from({ length: count }, async () => {
      await new Turns().next();
      const ran = turn;
      burn(milliseconds);
      return ran;
    }),
  );
  counting = false;
  return seen;
}

test("long tasks that wait at the same time continue in different turns of the event loop, in order", async () => {
  const seen = await turnsOf(10, 10);
  // The first two may have the same number: the order of the first callbacks is open.
  assert.ok(new Set(seen).size >= 9, seen.join(" "));
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  );
});

test("short tasks that wait at the same time share a turn", async () => {
  const seen = await turnsOf(200, 0);
  assert.ok(new Set(seen).size <= 20, `${new Set(seen).size} turns`);
});

test("a task that waited for something else has used no time", async () => {
  const turns = new Turns();
  await delay(30);
  assert.equal(turns.isOver, false);
});

test("other work runs between the items of a long list", async () => {
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  await forEachLimited([...new Array(20).keys()], 4, async () => burn(10));
  clearInterval(ticking);
  assert.ok(ticks >= 5, `${ticks} ticks`);
});

test("tasks that begin together are spread over turns of the event loop", async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(
    Array.from({ length: 40 }, async () => {
      const own = new Turns();
      if (own.isOver) await own.next();
      burn(5);
    }),
  );
  isDone = true;
  // 200 ms of work, at most the time of a turn and one task more in each.
  assert.ok(turns >= 10, `${turns} turns`);
});

test("work of tasks that go on when one wait ends begins in several turns of the event loop", async () => {
  let turn = 0;
  const tick = (): void => void setImmediate(() => (turn++ < 1000 ? tick() : undefined));
  tick();
  const begun: number[] = [];
  // biome-ignore lint/correctness/useYield: in one part
  function* work(): Work<void> {
    begun.push(turn);
    burn(5);
  }
  const wait = delay(1);
  await Promise.all(Array.from({ length: 20 }, () => wait.then(() => inTurns(work()))));
  assert.equal(begun.length, 20);
  assert.ok(new Set(begun).size >= 5, begun.join());
  turn = 1000;
});

test("work in parts lets other work run, and gives the same result as at once", async () => {
  function* sum(): Work<number> {
    let total = 0;
    for (let i = 1; i <= 20; i++) {
      burn(5);
      total += i;
      yield;
    }
    return total;
  }
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  assert.equal(await inTurns(sum()), 210);
  clearInterval(ticking);
  assert.ok(ticks >= 5, `${ticks} ticks`);
  assert.equal(finish(sum()), 210);
});

test("work waits for promises and catches their errors, also in a turn that is over", async () => {
  const unhandled: unknown[] = [];
  const listen = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", listen);
  function* waiting(): AwaitingWork<string> {
    burn(20);
    const value = yield* awaited(Promise.resolve("a"));
    burn(20);
    try {
      return value + (yield* awaited(Promise.reject(new Error("refused"))));
    } catch (error) {
      return `${value} ${String(error)}`;
    }
  }
  assert.equal(await inTurns(waiting()), "a Error: refused");
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("unhandledRejection", listen);
  assert.deepEqual(unhandled, []);
  assert.throws(() => finish(waiting()), /cannot finish work that waits at once/);
});

const user = (name: string): Flow => ({ level: "users", name });

/** Begins long tasks of a flow, which end when `stop` is called. Returns the number of parts that they have done. */
function longTasks(flow: Flow, count: number): { readonly parts: () => number; readonly stop: () => Promise<void> } {
  let [parts, isOver] = [0, false];
  function* work(): Work<void> {
    while (!isOver) {
      burn(10);
      parts += 1;
      yield;
    }
  }
  const all = inFlow(flow, () => Promise.all(Array.from({ length: count }, () => inTurns(work()))));
  return {
    parts: () => parts,
    stop: async () => {
      isOver = true;
      await all;
    },
  };
}

test("a task of one flow waits for few of another", async () => {
  for (const other of [user("b"), { level: "system", name: "" } as const]) {
    const { parts, stop } = longTasks(user("a"), 50);
    const waits: number[] = [];
    for (let i = 0; i < 3; i++) {
      const before = parts();
      await inFlow(other, () => new Turns().next());
      waits.push(parts() - before);
    }
    await stop();
    assert.ok(Math.max(...waits) <= 3, `waited for ${waits.join(", ")} tasks of another user`);
  }
});

test("the system has as many turns as all users together", async () => {
  const users = Array.from({ length: 20 }, (_, i) => longTasks(user(`u${i}`), 1));
  const before = users.reduce((sum, { parts }) => sum + parts(), 0);
  for (let i = 0; i < 5; i++) await inFlow({ level: "system", name: "a" }, () => new Turns().next());
  const waited = users.reduce((sum, { parts }) => sum + parts(), 0) - before;
  await Promise.all(users.map(({ stop }) => stop()));
  assert.ok(waited <= 15, `waited for ${waited} tasks of users`);
});

const probes: Flow = { level: "probes", name: "" };

test("a probe waits for one part of other work, whichever that is", async () => {
  const others = [user("a"), user("b"), { level: "system", name: "" } as const].map((flow) => longTasks(flow, 20));
  const parts = (): number => others.reduce((sum, one) => sum + one.parts(), 0);
  const waits: number[] = [];
  for (let i = 0; i < 10; i++) {
    await delay(1);
    const before = parts();
    await inFlow(probes, () => new Turns().next());
    waits.push(parts() - before);
  }
  await Promise.all(others.map(({ stop }) => stop()));
  assert.ok(Math.max(...waits) <= 1, `waited for ${waits.join(", ")} parts`);
});

test("many probes keep no other work waiting", async () => {
  const { parts, stop } = longTasks(probes, 50);
  const waits: number[] = [];
  for (const other of [user("b"), { level: "system", name: "" } as const]) {
    const before = parts();
    await inFlow(other, () => new Turns().next());
    waits.push(parts() - before);
  }
  await stop();
  assert.ok(Math.max(...waits) <= 3, `waited for ${waits.join(", ")} probes`);
});

test("a listener belongs to the flow in which it was bound, no matter which work calls it", async () => {
  const { parts, stop } = longTasks(user("a"), 50);
  const before = parts();
  const listener = inFlow(user("b"), () => inOwnFlow((more: number) => new Turns().next().then(() => more)));
  assert.equal(await inFlow(user("a"), () => listener(1)), 1);
  assert.ok(parts() - before <= 3, `waited for ${parts() - before} tasks of another user`);
  await stop();
});

test("work of one part is done at once when it is wanted soon, and longer work waits for its turn", async () => {
  function* parts(count: number): Work<string> {
    for (let i = 1; i < count; i++) yield;
    return "done";
  }
  new Turns();
  burn(20);
  assert.equal(soon(parts(1)), "done");
  const longer = soon(parts(3));
  assert.ok(longer instanceof Promise);
  assert.equal(await longer, "done");
});

test("a part of many small steps is done now and then", () => {
  const done = Array.from({ length: 10_000 }, () => isPartDone()).filter(Boolean).length;
  assert.ok(done >= 10 && done <= 1_000, `${done} of 10000`);
});

test("sorting in parts gives what sort gives, and equal items keep their order", () => {
  for (const length of [0, 1, 2_047, 2_048, 2_049, 50_000]) {
    const items = Array.from({ length }, (_, index) => ({ key: (index * 7_919) % 1_009, index }));
    const before = [...items];
    const compare = (a: { readonly key: number }, b: { readonly key: number }): number => a.key - b.key;
    const work = sorting(items, compare);
    let parts = 0;
    let part = work.next();
    for (; !part.done; part = work.next()) parts++;
    assert.deepEqual(part.value, items.toSorted(compare));
    assert.deepEqual(items, before, "the list itself stays as it is");
    if (length > 2_048) assert.ok(parts > length / 2_048, `${parts} parts`);
  }
});

test("after a part that took long, the event loop turns before the next part", async () => {
  const events: string[] = [];
  const work = function* (): Work<void> {
    setTimeout(() => events.push("timer"), 1);
    burn(50);
    yield;
    events.push("next part");
  };
  // From a timer, so that the end of the turn comes before other timers.
  await new Promise((resolve) => setTimeout(resolve, 5));
  await inTurns(work());
  assert.deepEqual(events, ["timer", "next part"]);
});
