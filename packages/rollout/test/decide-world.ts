// SPDX-License-Identifier: Apache-2.0
import type { Observation } from "../src/decide.ts";
import type { CallNumbers } from "../src/gates.ts";
import { type RolloutPlan, readPlan } from "../src/plan.ts";
import { type RolloutState, readState } from "../src/state.ts";

/** In milliseconds. */
export const minute = 60_000;
/** Calls without an error. */
export const calm: CallNumbers = { calls: 10, errors: 0, fatals: 0, p95Ms: 5 };
/** Calls of which three of ten failed. */
export const broken: CallNumbers = { calls: 10, errors: 3, fatals: 0, p95Ms: 5 };
/** The state of a rollout before the first look. */
export const first: RolloutState = readState({});

/** A world in which everything is well, at a moment. */
export function world(
  now: number,
  more: Partial<Observation> & { readonly candidateCalls?: CallNumbers } = {},
): Observation {
  const side = { total: 5, has: () => 5 };
  return {
    now,
    jumpMs: 0,
    sides: { found: [{ name: "f", stable: "f-1", candidate: "f-2" }], isServing: true, waitingFor: "" },
    lost: [],
    composites: { total: 10, candidate: 5, moved: 5, healthy: 5, unhealthy: 0 },
    lowestBucket: 700,
    leftBehind: 0,
    approvals: [],
    resumeToken: undefined,
    isAborted: false,
    ...more,
    samples: {
      now,
      members: 5,
      pendingMoves: 0,
      pendingShadows: 0,
      candidateCalls: () => more.candidateCalls ?? calm,
      stableCalls: () => calm,
      moved: side,
      stayed: side,
      shadow: undefined,
      watchedMs: 1_000_000,
      runtime: { status: "True", forMs: 0, message: "" },
      external: () => undefined,
      ...more.samples,
    },
  };
}

/** The plan of a spec. */
export function plan(spec: object): RolloutPlan {
  return readPlan({ spec: { functionRef: { name: "f" }, ...spec } } as never);
}
