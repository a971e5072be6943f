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
import { createMarks, markVariable } from "./marked-processes.ts";

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
