// SPDX-License-Identifier: Apache-2.0
// Which functions are measured when: each in time, whatever else there is to measure and to do.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, test } from "node:test";
import { inTurns, type Work } from "@purlin/base";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { until } from "../../test/local-processes.ts";
import { ownStart } from "./containment.ts";
import { defaultFunctionLimits, type FunctionLimits } from "./function-limits.ts";
import { createLimitWatch, type LimitWatch } from "./limit-watch.ts";
import { createMarks, markVariable, type ProcessStat, readStat } from "./marked-processes.ts";

const options = { skip: process.platform !== "linux" && "there is no /proc" };

/** Processes of functions, each with a mark of its own, and a watch over them. */
class Scene implements Disposable {
  readonly #marks = createMarks();
  readonly #ending = new AbortController();
  readonly watch: LimitWatch;

  constructor() {
    const run = { first: this.#marks.first, since: ownStart(), uid: process.getuid?.() ?? -1 };
    this.watch = createLimitWatch(run, { usualMs: 5, closeMs: 5 });
  }

  /** Starts a program that sleeps and adds it. Calls back with each measurement, and when it exceeds a limit. */
  add(
    name: string,
    report: (event: string) => unknown,
    { limits = {}, tmp }: { readonly limits?: Partial<FunctionLimits>; readonly tmp?: string } = {},
  ): () => void {
    const mark = this.#marks.next();
    const env = { PATH: "/usr/bin:/bin", [markVariable]: String(mark) };
    spawn("sleep", ["60"], { env, stdio: "ignore", signal: this.#ending.signal }).on("error", () => {});
    return this.watch.add({
      ...{ mark, tmp, isCpuLimited: true, limits: { ...defaultFunctionLimits, ...limits } },
      measured: ({ processes }) => report(`${name} has ${processes}`),
      exceeded: () => report(`${name} exceeded`),
      held: () => {},
    });
  }

  [Symbol.dispose](): void {
    this.watch.close();
    this.#ending.abort();
  }
}

describe("a function that takes long to measure", options, () => {
  test("does not keep one that was started after it from being stopped", async () => {
    using folder = tempFolder({ "tmp/a": "a" });
    using scene = new Scene();
    const events: string[] = [];
    const report = (event: string): number => events.push(event);
    // Its folder is read by another thread.
    scene.add("slow", report, { tmp: `${folder.path}/tmp` });
    scene.add("large", report, { limits: { processes: 0 } });
    await until(() => events.includes("large exceeded") && events.includes("slow has 1"));
    const first = events.findIndex((event) => event.startsWith("slow"));
    assert.ok(first > events.indexOf("large exceeded"), events.join());
  });

  test("and ends meanwhile is not reported", async () => {
    using folder = tempFolder({ "tmp/a": "a" });
    using scene = new Scene();
    const events: string[] = [];
    const end = scene.add("slow", (event) => events.push(event), { tmp: `${folder.path}/tmp` });
    scene.add("large", end, { limits: { processes: 0 } });
    let passes = 0;
    scene.add("other", () => passes++, { tmp: `${folder.path}/tmp` });
    await until(() => passes >= 3);
    assert.deepEqual(events, []);
  });
});

describe("a look that fails", () => {
  const anyRun = { first: 1, since: 0, uid: 0 };
  const pace = { usualMs: 1, closeMs: 1 };
  const idle: ProcessStat = {
    pid: 2 ** 22 + 1,
    parent: 1,
    start: 1,
    ticks: 0,
    childTicks: 0,
    threads: 1,
    resident: 1,
    isZombie: false,
  };
  const function1 = { mark: 1, limits: defaultFunctionLimits, isCpuLimited: true };

  test("because an observer throws is over, and reported once", async () => {
    const families = new Map([[1, [idle]]]);
    const watch = createLimitWatch(anyRun, pace, { take: async () => families });
    const held: string[] = [];
    let measurements = 0;
    const measured = (): void => {
      if (++measurements < 4) throw new Error("the observer is broken");
    };
    watch.add({ ...function1, measured, exceeded: () => {}, held: (text) => held.push(text) });
    await until(() => measurements >= 6);
    watch.close();
    assert.deepEqual(held, [
      "the function could not be measured: the observer is broken; its limits take effect later, at the next measurement",
    ]);
  });

  test("to stop a function is repeated, also when the failure cannot be reported", async () => {
    const watch = createLimitWatch(anyRun, pace, { take: async () => new Map([[1, [idle]]]) });
    const stops: string[] = [];
    const fail = (): void => {
      throw new Error("the observer is broken");
    };
    const exceeded = (text: string): void => {
      if (stops.push(text) < 3) fail();
    };
    let later = 0;
    const measured = (): number => later++;
    const limits = { ...defaultFunctionLimits, processes: 0 };
    watch.add({ ...function1, limits, measured, exceeded, held: fail });
    await until(() => stops.length >= 3 && later >= 1);
    watch.close();
    assert.equal(stops.length, 3);
  });

  test("to count processes is over, reported to each function once, and repeated", async () => {
    let takes = 0;
    const take = async (): Promise<ReadonlyMap<number, readonly ProcessStat[]>> => {
      if (++takes <= 3) throw new Error("EMFILE: too many open files");
      return new Map();
    };
    const watch = createLimitWatch(anyRun, pace, { take });
    const [held, measured]: [string[], Set<number>] = [[], new Set()];
    for (const mark of [1, 2]) {
      const one = { ...function1, mark, exceeded: () => {}, measured: () => measured.add(mark) };
      watch.add({ ...one, held: (text) => held.push(text) });
    }
    await until(() => measured.size === 2);
    watch.close();
    assert.deepEqual([held.length, new Set(held).size], [2, 1]);
    assert.match(held[0] ?? "", /could not be measured: EMFILE: too many open files; /);
  });
});

test("a function that is found close to a limit while processes are counted is measured soon", options, async () => {
  const own = readStat(process.pid) ?? assert.fail("this process is gone");
  // Its memory has to be read of each process, and takes longer than the next census is away.
  const large = Array.from({ length: 300 }, () => ({ ...own, threads: 2, resident: 2 ** 30 }));
  const limits = { ...defaultFunctionLimits, processes: 1000, memoryBytes: 2 ** 41 };
  const counted = Promise.withResolvers<void>();
  let takes = 0;
  const take = async (): Promise<ReadonlyMap<number, readonly ProcessStat[]>> => {
    takes++;
    if (takes === 1) addOther();
    if (takes === 2) await counted.promise;
    return new Map([[1, large]]);
  };
  const watch = createLimitWatch({ first: 1, since: 0, uid: 0 }, { usualMs: 3_600_000, closeMs: 1 }, { take });
  const nothing = (): void => {};
  const add = (mark: number, measured: () => void): unknown =>
    watch.add({ mark, limits, isCpuLimited: true, measured, exceeded: nothing, held: nothing });
  const addOther = (): unknown => add(2, nothing);
  let isMeasured = false;
  add(1, () => {
    isMeasured = true;
  });
  await until(() => isMeasured);
  assert.equal(takes, 2, "processes are being counted again");
  counted.resolve();
  await until(() => takes > 2);
  watch.close();
});

test("functions are measured in time while much other work waits for its turn", options, async () => {
  using scene = new Scene();
  let isDone = false;
  let parts = 0;
  function* work(): Work<void> {
    while (!isDone) {
      const end = performance.now() + 11;
      while (performance.now() < end);
      parts++;
      yield;
    }
  }
  const waiting = Array.from({ length: 60 }, () => inTurns(work()));
  const stop = (): void => {
    isDone = true;
  };
  parts = 0;
  scene.add("large", stop, { limits: { processes: 0 } });
  await until(() => isDone);
  await Promise.all(waiting);
  assert.ok(parts < 60, `${parts} parts of other work`);
});
