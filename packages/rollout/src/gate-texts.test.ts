// SPDX-License-Identifier: Apache-2.0
// The texts of gates, which conditions and events show, and their limits.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { world } from "../test/memory-cluster.ts";
import { type CallNumbers, type GateResult, type GateSamples, judge } from "./gates.ts";
import { readPlan } from "./plan.ts";

const calls = (count: number, bad = 0, p95Ms = 10): CallNumbers => ({ calls: count, errors: bad, fatals: 0, p95Ms });
const now = 1_000_000;

function result(gate: object, more: Partial<GateSamples> = {}): Omit<GateResult, "name"> {
  const [only] = readPlan({ spec: { healthGates: [gate] } } as never).gates;
  const { samples } = world(now);
  const { name: _, ...verdict } = judge(only ?? assert.fail(), {
    ...samples,
    stepStartedAt: 0,
    isShadowStep: false,
    hasShadowed: false,
    ...more,
  });
  return verdict;
}
const text = (...call: Parameters<typeof result>): string => {
  const { result: verdict, message, sample } = result(...call);
  return `${verdict} ${sample}: ${message}`;
};

describe("ratios of calls", () => {
  const errors = (maxRatio: string) => ({ type: "FunctionErrors", maxRatio });

  test("are shown in percent, with the limit as it is written", () => {
    const both = { candidateCalls: () => calls(200, 14), stableCalls: () => calls(0) };
    assert.equal(
      text(errors("0.07"), both),
      "Passed 200: candidate 7.0 % (14 of 200), stable 0.0 % (0 of 0), allowed 7 %",
    );
    assert.equal(
      text(errors("0.069"), both),
      "Failed 200: candidate 7.0 % (14 of 200), stable 0.0 % (0 of 0), allowed 6.9 %",
    );
  });

  test("without a limit no call may fail", () => {
    assert.equal(result({ type: "FunctionErrors" }, { candidateCalls: () => calls(100, 1) }).result, "Failed");
  });

  test("as bad as the stable revision is not a proof of anything", () => {
    const sides = (candidate: number, stable: number) => ({
      candidateCalls: () => calls(100, candidate),
      stableCalls: () => calls(100, stable),
    });
    assert.equal(result(errors("0.01"), sides(5, 5)).result, "Unknown");
    assert.equal(result(errors("0.01"), sides(6, 5)).result, "Failed");
  });

  test("count the calls of the window, and none from before the step", () => {
    const asked: number[] = [];
    const candidateCalls = (since: number): CallNumbers => {
      asked.push(since);
      return calls(5);
    };
    result({ ...errors("0"), window: "1m" }, { candidateCalls });
    result({ ...errors("0"), window: "1m" }, { candidateCalls, stepStartedAt: now - 10_000 });
    assert.deepEqual(asked, [now - 60_000, now - 10_000]);
  });

  test("below the sample say how many calls there are", () => {
    assert.equal(text({ ...errors("0"), minSample: 6 }, { candidateCalls: () => calls(5) }), "Unknown 5: 5 of 6 calls");
    assert.equal(result({ ...errors("0"), minSample: 5 }, { candidateCalls: () => calls(5) }).result, "Passed");
  });

  test("before the first move", () => {
    assert.equal(text(errors("0"), { members: 0 }), "Unknown 0: no composite resource is on the candidate yet");
    assert.equal(text(errors("0"), { members: 0, isShadowStep: true }), "Passed 0: nothing has moved in a shadow step");
  });
});

describe("conditions of composite resources", () => {
  const gate = { type: "CompositeCondition", condition: "Ready", minRatio: "0.57" };
  const side = (total: number, good: number) => ({
    total,
    has: (condition: string, status: string) => (condition === "Ready" && status === "True" ? good : 0),
  });

  test("are compared with those that stayed", () => {
    assert.equal(
      text(gate, { moved: side(100, 57), stayed: side(4, 3) }),
      "Passed 100: Ready=True: moved 57.0 % (57 of 100), stayed 75.0 % (3 of 4), wanted 57 %",
    );
    assert.match(text(gate, { moved: side(100, 56), stayed: side(4, 3) }), /^Failed 100: Ready=True: moved 56\.0 %/);
    assert.equal(result(gate, { moved: side(100, 50), stayed: side(4, 2) }).result, "Unknown");
  });

  test("if none stayed, the wanted share counts", () => {
    assert.equal(result(gate, { moved: side(10, 1), stayed: side(0, 0) }).result, "Failed");
  });

  test("get the time of the gate, from the step and from the first look", () => {
    const moved = side(10, 1);
    const within = (ms: number, watchedMs: number): string =>
      result({ ...gate, within: "1m" }, { moved, stepStartedAt: now - ms, watchedMs }).result;
    assert.deepEqual(
      [within(59_999, 99_999), within(60_000, 60_000), within(99_999, 59_999)],
      ["Unknown", "Failed", "Unknown"],
    );
  });

  test("wait for members that have not moved, and for the sample", () => {
    assert.equal(text(gate, { pendingMoves: 2 }), "Unknown 5: 2 composite resources have not moved yet");
    assert.equal(text({ ...gate, minSample: 6 }), "Unknown 5: 5 of 6 composite resources");
  });
});

describe("the runtime", () => {
  test("has 30 seconds to restart", () => {
    const health = (status: "True" | "False" | "Unknown", forMs: number, message = "") =>
      text(
        { type: "RuntimeHealthy" },
        { runtime: { status, forMs, message, outages: () => ({ candidate: 2, stable: 0 }) } },
      );
    assert.equal(health("True", 0), "Passed 1: the candidate is healthy");
    assert.equal(health("False", 29_999, "exited"), "Unknown 0: the candidate is not healthy: exited");
    assert.equal(health("False", 30_000, "exited"), "Failed 1: the candidate is not healthy: exited (for 30 s)");
    assert.equal(health("Unknown", 99_999), "Unknown 0: the candidate is not healthy");
  });

  test("may go down twice, or as often as the stable revision", () => {
    let asked: number | undefined;
    const down = (candidate: number, stable: number, message = "") => {
      const outages = (withinMs: number) => {
        asked = withinMs;
        return { candidate, stable };
      };
      const runtime = { status: "True" as const, forMs: 0, message, outages };
      return text({ type: "RuntimeHealthy", window: "1m" }, { runtime, now: 90_000, stepStartedAt: 50_000 });
    };
    assert.equal(down(2, 0), "Passed 1: the candidate is healthy");
    assert.equal(asked, 40_000, "since the start of the step");
    assert.equal(down(3, 2), "Failed 3: the candidate went down 3 times (stable: 2)");
    const leak = "the function exceeded its memory limit of 320Mi";
    assert.equal(down(3, 0, leak), `Failed 3: the candidate went down 3 times (stable: 0): ${leak}`);
    assert.equal(down(3, 3), "Unknown 0: the candidate went down 3 times (stable: 3)");
  });
});

describe("durations", () => {
  const gate = { type: "CallDuration" };

  test("have an absolute limit, a relative one, or the lower of both", () => {
    const sides = { candidateCalls: () => calls(10, 0, 15.04), stableCalls: () => calls(10, 0, 10) };
    assert.equal(text({ ...gate, p95: "20ms" }, sides), "Passed 10: p95 candidate 15 ms, stable 10 ms, allowed 20 ms");
    assert.equal(
      text({ ...gate, maxIncrease: "0.5" }, sides),
      "Failed 10: p95 candidate 15 ms, stable 10 ms, allowed 15 ms",
    );
    assert.equal(
      text({ ...gate, p95: "20ms", maxIncrease: "0.2" }, sides),
      "Failed 10: p95 candidate 15 ms, stable 10 ms, allowed 12 ms",
    );
  });

  test("of exactly the limit pass", () => {
    assert.equal(result({ ...gate, p95: "10ms" }, { candidateCalls: () => calls(10, 0, 10) }).result, "Passed");
  });

  test("are compared with earlier calls of the stable revision if there are none now", () => {
    const none = { stableCalls: () => ({ ...calls(0), p95Ms: undefined }) };
    assert.equal(
      text({ ...gate, maxIncrease: "1" }, none),
      "Unknown 10: no calls of the stable revision to compare with",
    );
    assert.equal(result({ ...gate, maxIncrease: "1" }, { ...none, stableP95Ms: 5 }).result, "Passed");
    assert.equal(text({ ...gate, p95: "9ms" }, none), "Passed 10: p95 candidate 5 ms, allowed 9 ms");
  });
});

describe("differences in shadow", () => {
  const shadow = (more: object = {}) => ({
    hasShadowed: true,
    shadow: {
      compared: 20,
      deleted: 0,
      replaced: 0,
      changed: 0,
      failed: 0,
      examples: (kind: string) => [`${kind}-1`, `${kind}-2`],
      ...more,
    },
  });
  const gate = { type: "DesiredDiff" };

  test("are counted", () => {
    assert.equal(text(gate, shadow()), "Passed 20: 20 compared: 0 delete, 0 replace, 0 change, 0 fail");
  });

  test("name examples, and that there are more", () => {
    assert.equal(
      text(gate, shadow({ deleted: 2 })),
      "Failed 20: 20 compared: 2 delete, 0 replace, 0 change, 0 fail; delete: delete-1, delete-2",
    );
    assert.match(text(gate, shadow({ deleted: 3 })), /; delete: delete-1, delete-2, …$/);
  });

  test("no deletion is allowed unless a limit says so", () => {
    assert.equal(result(gate, shadow({ deleted: 1 })).result, "Failed");
    assert.equal(result({ ...gate, maxDeleted: 1 }, shadow({ deleted: 1 })).result, "Passed");
    assert.equal(result({ ...gate, maxDeletedRatio: "0.05" }, shadow({ deleted: 1 })).result, "Passed");
    assert.equal(result({ ...gate, maxDeletedRatio: "0.04" }, shadow({ deleted: 1 })).result, "Failed");
  });

  test("replacements and changes are allowed unless a limit forbids them, and failures never", () => {
    assert.equal(result(gate, shadow({ replaced: 20, changed: 20 })).result, "Passed");
    assert.equal(result({ ...gate, maxReplaced: 1 }, shadow({ replaced: 2 })).result, "Failed");
    assert.equal(result({ ...gate, maxChangedRatio: "0.1" }, shadow({ changed: 3 })).result, "Failed");
    assert.equal(result(gate, shadow({ failed: 1 })).result, "Failed");
  });

  test("need a sample only in the shadow step", () => {
    const few = { ...gate, minSample: 21 };
    assert.equal(text(few, { ...shadow(), isShadowStep: true }), "Unknown 20: 20 of 21 compared");
    assert.equal(result(few, shadow()).result, "Passed");
    assert.equal(result(few, shadow({ deleted: 1 })).result, "Passed", "too few to judge");
  });

  test("before and after the shadow step", () => {
    assert.equal(text(gate), "Passed 0: no shadow step yet");
    assert.equal(text(gate, { hasShadowed: true }), "Passed 0: no shadow report");
    assert.equal(text(gate, { hasShadowed: true, isShadowStep: true }), "Unknown 0: no shadow report yet");
  });
});

describe("external numbers", () => {
  const prometheus = (limits: object) => ({ type: "Prometheus", url: "http://p", query: "q", ...limits });
  const answered = (value: number) => ({ external: () => ({ value }) });

  test("are in a range that includes its ends", () => {
    const range = prometheus({ min: "-1", max: "5" });
    assert.deepEqual(
      [-1, 5, -1.1, 5.1].map((value) => result(range, answered(value)).result),
      ["Passed", "Passed", "Failed", "Failed"],
    );
    assert.equal(text(range, answered(6)), "Failed 1: result 6, wanted from -1 to 5");
    assert.equal(text(prometheus({ min: "2" }), answered(3)), "Passed 1: result 3, wanted from 2");
    assert.equal(text(prometheus({ max: "2" }), answered(3)), "Failed 1: result 3, wanted to 2");
  });

  test("or the answers of webhooks", () => {
    const hook = { type: "Webhook", url: "http://w" };
    assert.equal(text(hook), "Unknown 0: not asked yet");
    assert.equal(text(hook, { external: () => ({ unknown: "down" }) }), "Unknown 0: down");
    assert.equal(text(hook, { external: () => ({ passed: true, message: "fine" }) }), "Passed 1: fine");
  });
});
