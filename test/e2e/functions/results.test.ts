// SPDX-License-Identifier: Apache-2.0
// Whom results and conditions of functions reach, row by row: fatal and not, for each target, with and without a reason.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane, startPlane } from "../harness/plane.ts";
import { applyCompositions, claimedDefinition, compositionOf, modernDefinition, namespaceOf } from "./definitions.ts";
import { type Answers, puppet, puppetStep } from "./puppet.ts";

const group = "results.example.org";
const claimType = { apiVersion: `${group}/v1`, kind: "Play" };
const xrType = { apiVersion: `${group}/v1`, kind: "XPlay" };
const modernType = { apiVersion: `${group}/v1`, kind: "Scene" };
const eventType = { apiVersion: "v1", kind: "Event" };
const namespace = "stage";

/** One answer of step two, and what people see. Whatever is not listed must not be seen. */
interface Row {
  readonly reason: string;
  readonly answers: Answers;
  readonly xr: readonly string[];
  readonly claim: readonly string[];
  /** The message of the XR's Synced condition; none when it is in sync. */
  readonly fatal?: string;
  /** What the claim says of the condition `Seen`. */
  readonly claimCondition?: string;
}

const both = "TARGET_COMPOSITE_AND_CLAIM";
const targets = {
  none: {},
  unspecified: { target: "TARGET_UNSPECIFIED" },
  composite: { target: "TARGET_COMPOSITE" },
  claim: { target: both },
  "of the future": { target: 99 },
};
const reasons = { none: {}, empty: { reason: "" }, given: { reason: "Noted" } };
const fatalText = (step: string, message: string): string =>
  `cannot compose resources: pipeline step "${step}" returned a fatal result: ${message}`;

function* tableOfResults(): Generator<readonly [string, Row]> {
  const severities = { SEVERITY_NORMAL: "Normal", SEVERITY_WARNING: "Warning" };
  for (const [target, aim] of Object.entries(targets)) {
    for (const [why, given] of Object.entries(reasons)) {
      const said = { message: "boom", ...aim, ...given };
      const isForClaim = target === "claim";
      const reasonOf = (usual: string): string => (why === "given" ? "Noted" : usual);
      for (const [severity, type] of Object.entries(severities)) {
        const event = `${type} ${reasonOf("ComposeResources")}: `;
        yield [
          `${type}, target ${target}, reason ${why}`,
          {
            reason: "an event on the XR names the step; the claim gets the bare message if it was meant",
            answers: { two: { results: [{ severity, ...said }] } },
            xr: [`${event}Pipeline step "two": boom`],
            claim: isForClaim ? [`${event}boom`] : [],
          },
        ];
      }
      const fatal = fatalText("two", "boom");
      yield [
        `Fatal, target ${target}, reason ${why}`,
        {
          reason: "one Warning on the XR, with the condition's message; one on the claim if it was meant",
          answers: { two: { results: [{ severity: "SEVERITY_FATAL", ...said }] } },
          xr: [`Warning ${reasonOf("ReconcileError")}: ${fatal}`],
          claim: isForClaim ? [`Warning ${reasonOf("ReconcileError")}: boom`] : [],
          fatal,
        },
      ];
    }
  }
}

function* tableOfConditions(): Generator<readonly [string, Row]> {
  for (const [target, aim] of Object.entries(targets)) {
    for (const isFatal of [false, true]) {
      const condition = { type: "Seen", status: "STATUS_CONDITION_TRUE", reason: "Yes", ...aim };
      const results = isFatal ? [{ severity: "SEVERITY_FATAL", message: "boom" }] : [];
      yield [
        `a condition, target ${target}, ${isFatal ? "with a fatal result" : "in an answer that is fine"}`,
        {
          reason: "a condition reaches the XR whatever comes with it, and the claim only if it was meant",
          answers: { two: { conditions: [condition], results } },
          xr: isFatal ? [`Warning ReconcileError: ${fatalText("two", "boom")}`] : [],
          claim: [],
          ...(isFatal && { fatal: fatalText("two", "boom") }),
          ...(target === "claim" && { claimCondition: "Yes" }),
        },
      ];
    }
  }
}

const rows: Readonly<Record<string, Row>> = {
  ...Object.fromEntries(tableOfResults()),
  ...Object.fromEntries(tableOfConditions()),
  "a result of unknown severity for the claim": {
    reason: "a Warning on the XR only, which says that the severity is unknown",
    answers: { two: { results: [{ severity: "SEVERITY_UNSPECIFIED", message: "boom", target: both }] } },
    xr: [
      'Warning ComposeResources: Pipeline step "two" returned a result of unknown severity (assuming warning): boom',
    ],
    claim: [],
  },
  "a fatal result in step two after a warning for the claim in step one": {
    reason: "results before the fatal one count, later ones do not, and step three is not called",
    answers: {
      one: {
        results: [{ severity: "SEVERITY_WARNING", message: "careful", target: both }],
        conditions: [{ type: "Seen", status: "STATUS_CONDITION_FALSE", reason: "Soon", target: both }],
      },
      two: {
        results: [
          { severity: "SEVERITY_NORMAL", message: "before" },
          { severity: "SEVERITY_FATAL", message: "first", reason: "Bad", target: both },
          { severity: "SEVERITY_FATAL", message: "second", target: both },
          { severity: "SEVERITY_NORMAL", message: "after", target: both },
        ],
      },
      three: { results: [{ severity: "SEVERITY_NORMAL", message: "never", target: both }] },
    },
    xr: [
      'Normal ComposeResources: Pipeline step "two": before',
      `Warning Bad: ${fatalText("two", "first")}`,
      'Warning ComposeResources: Pipeline step "one": careful',
    ],
    claim: ["Warning Bad: first", "Warning ComposeResources: careful"],
    fatal: fatalText("two", "first"),
    claimCondition: "Soon",
  },
  "a function that hides its detail": {
    reason: "the claim reports that the team is informed, the XR reports the cause",
    answers: {
      two: {
        results: [
          { severity: "SEVERITY_WARNING", message: "internal error, the team is informed", target: both },
          { severity: "SEVERITY_FATAL", message: "disk of db-7 is full", target: "TARGET_COMPOSITE" },
        ],
      },
    },
    xr: [
      'Warning ComposeResources: Pipeline step "two": internal error, the team is informed',
      `Warning ReconcileError: ${fatalText("two", "disk of db-7 is full")}`,
    ],
    claim: ["Warning ComposeResources: internal error, the team is informed"],
    fatal: fatalText("two", "disk of db-7 is full"),
  },
  "a fatal result that comes without any desired state": {
    reason: "it deletes nothing; that nothing was there shows that the answer was read",
    answers: { two: { desired: {}, results: [{ severity: "SEVERITY_FATAL", message: "boom" }] } },
    xr: [`Warning ReconcileError: ${fatalText("two", "boom")}`],
    claim: [],
    fatal: fatalText("two", "boom"),
  },
};

let plane: Plane;
before(async () => {
  plane = await startPlane({ functions: { puppet } });
  const pipeline = ["one", "two", "three"].map(puppetStep);
  await plane.apply(
    namespaceOf(namespace),
    claimedDefinition({ kind: "Play", group }),
    modernDefinition({ kind: "Scene", group }),
  );
  await applyCompositions(plane, compositionOf("play", xrType, pipeline), compositionOf("scene", modernType, pipeline));
  await Promise.all(Object.values(rows).map(({ answers }, index) => plane.apply(play(nameOf(index), answers))));
});
after(() => plane[Symbol.asyncDispose]());

const nameOf = (index: number): string => `play-${index}`;
const play = (name: string, answers: Answers): KubeObject =>
  ({ ...claimType, metadata: { namespace, name }, spec: { answers } }) as unknown as KubeObject;

/** An object's events of functions, without those of selecting and binding. */
async function functionEvents(object: KubeObject): Promise<readonly string[]> {
  const others = /^Normal (SelectComposition|BindCompositeResource|PropagateConnectionSecret):/;
  return (await plane.events(object)).filter((text) => !others.test(text));
}

/** Whether the XR got its event twice: then everything from the first reconcile is written as well. */
async function hasRetried({ metadata }: KubeObject): Promise<boolean> {
  const fieldSelector = `involvedObject.uid=${metadata.uid ?? ""},type=Warning`;
  const { items } = await plane.users.list(eventType, { fieldSelector });
  return items.some((event) => Number(event["count"]) > 1);
}

async function xrOf(claim: KubeObject): Promise<KubeObject> {
  const { resourceRef } = claim["spec"] as { readonly resourceRef: { readonly name: string } };
  // Synced is Unknown while a slow step runs.
  const isSettled = (xr: KubeObject): boolean => ["True", "False"].includes(conditionOf(xr, "Synced")?.status ?? "");
  return plane.until("it was composed, or not", xrType, { name: resourceRef.name }, isSettled);
}

/** Checks a row: all wanted events are written, and no others by the second reconcile. */
async function judge(row: Row, key: { readonly namespace: string; readonly name: string }): Promise<void> {
  const claim = await plane.until("it is bound", claimType, key, (one) => conditionOf(one, "Synced") !== undefined);
  const xr = await xrOf(claim);
  const synced = conditionOf(xr, "Synced");
  assert.deepEqual([synced?.status, synced?.message], row.fatal ? ["False", row.fatal] : ["True", undefined]);
  if (row.fatal !== undefined) await eventually("it is tried again", () => hasRetried(xr));
  await hasEvents(xr, row.xr);
  await hasEvents(claim, row.claim);
  const { claimCondition } = row;
  const copied = await plane.until("the claim says as much", claimType, key, (one) => {
    return conditionOf(one, "Seen")?.reason === claimCondition;
  });
  assert.equal(conditionOf(copied, "Synced")?.status, "True", "the claim is in sync whatever functions say");
}

/** Events come a moment after the change; more than wanted never. */
async function hasEvents(object: KubeObject, wanted: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  await eventually(
    `events of ${object.kind} ${object.metadata.name}`,
    async () => {
      last = await functionEvents(object);
      return wanted.every((text) => last.includes(text));
    },
    () => last.join("\n"),
  );
  assert.deepEqual(last, [...wanted].sort());
}

for (const [index, [name, row]] of Object.entries(rows).entries()) {
  test(`${name}: ${row.reason}`, () => judge(row, { namespace, name: nameOf(index) }));
}

const fatalForBoth: Answers = {
  two: {
    conditions: [{ type: "Seen", status: "STATUS_CONDITION_TRUE", reason: "Yes", target: both }],
    results: [{ severity: "SEVERITY_FATAL", message: "boom", target: both }],
  },
};

test("without a claim only the composite resource gets the events, and it lists no claim conditions", async () => {
  const key = { namespace, name: "alone" };
  await plane.apply({ ...modernType, metadata: key, spec: { answers: fatalForBoth } } as unknown as KubeObject);
  const scene = await plane.until("it says so", modernType, key, (one) => conditionOf(one, "Seen") !== undefined);
  await hasEvents(scene, [`Warning ReconcileError: ${fatalText("two", "boom")}`]);
  const { claimConditions, claimConditionTypes } = scene["status"] as JsonObject;
  assert.deepEqual([claimConditions, claimConditionTypes], [undefined, undefined]);
});

test("when the claim cannot be read, only the composite resource gets the events", async () => {
  const claimRef = { ...claimType, namespace, name: "missing" };
  const spec = { answers: fatalForBoth, claimRef };
  await plane.apply({ ...xrType, metadata: { name: "orphan" }, spec } as unknown as KubeObject);
  const isSettled = (one: KubeObject): boolean => conditionOf(one, "Synced")?.status === "False";
  const xr = await plane.until("it says so", xrType, { name: "orphan" }, isSettled);
  await hasEvents(xr, [`Warning ReconcileError: ${fatalText("two", "boom")}`]);
  assert.equal(conditionOf(xr, "Seen")?.reason, "Yes");
});
