// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type RolloutView, withheldAnnotation as withheld } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import { notFound } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { compositionRevision, functionRevision, memoryCluster, rolloutOf } from "../test/memory-cluster.ts";
import type { SidesFound } from "./decide.ts";
import { readPlan } from "./plan.ts";
import { findSides, release, withhold } from "./sides.ts";
import type { FrozenSides } from "./state.ts";

const { signal } = new AbortController();

interface Question {
  readonly spec?: JsonObject;
  readonly objects?: readonly KubeObject[];
  readonly removed?: readonly (readonly [string, string])[];
  readonly frozen?: readonly FrozenSides[];
  readonly others?: readonly Partial<RolloutView>[];
}

function find({ spec = {}, objects = [], removed = [], frozen = [], others = [] }: Question): Promise<SidesFound> {
  const cluster = memoryCluster(0);
  for (const object of objects) cluster.put(object);
  for (const [kind, name] of removed) cluster.remove(kind, name);
  const rollout = rolloutOf("own", spec) as JsonObject;
  return findSides({
    client: cluster.client(),
    rollout,
    plan: readPlan(rollout),
    frozen,
    others: others as RolloutView[],
    signal,
  });
}
const changed = (object: KubeObject, more: JsonObject, metadata: JsonObject = {}): KubeObject =>
  ({ ...object, ...more, metadata: { ...object.metadata, ...metadata } }) as KubeObject;
const inactive = (number: number): KubeObject =>
  changed(functionRevision(number), { spec: { desiredState: "Inactive", revision: number } });
const ofFunction = (stable: string, candidate: string) => ({
  found: [{ name: "f", stable, candidate }],
  isServing: true,
  waitingFor: "",
});
const ended = (
  phase: "Succeeded" | "RolledBack",
  created: string,
  stable: string,
  candidate: string,
): Partial<RolloutView> => ({
  phase,
  created,
  functions: new Map([["f", { stable, candidate }]]) as RolloutView["functions"],
});

describe("the revisions of a Function", () => {
  test("the newest that serves is stable while there is none after it", async () => {
    assert.deepEqual(await find({}), {
      reason: "WaitingForCandidate",
      message: 'there is no FunctionRevision of Function "f" after "f-2" yet',
      stable: [{ name: "f", stable: "f-2", candidate: "" }],
    });
  });

  test("the stable one stays once it is known, and the next one is the candidate", async () => {
    const frozen = [{ name: "f", stable: "f-1", candidate: "" }];
    assert.deepEqual(await find({ frozen }), ofFunction("f-1", "f-2"));
    assert.deepEqual(await find({ frozen, objects: [functionRevision(3)] }), ofFunction("f-1", "f-3"));
  });

  test("a candidate by name has the newest other one that serves as stable", async () => {
    const candidate = { functionRevisionRef: { name: "f-2" } };
    assert.deepEqual(await find({ spec: { candidate } }), ofFunction("f-1", "f-2"));
    assert.deepEqual(
      await find({ spec: { candidate: { functionRevisionRef: { name: "f-1" } } } }),
      ofFunction("f-2", "f-1"),
    );
  });

  test("both sides by name, and by labels", async () => {
    const labeled = changed(functionRevision(3), {}, { labels: { "pkg.crossplane.io/package": "f", channel: "beta" } });
    const spec = {
      stable: { functionRevisionRef: { name: "f-1" } },
      candidate: { functionRevisionSelector: { matchLabels: { channel: "beta" } } },
    };
    assert.deepEqual(await find({ spec, objects: [labeled] }), ofFunction("f-1", "f-3"));
  });

  const refused: Readonly<Record<string, readonly [Question, string, string]>> = {
    "a Function that does not exist": [
      { removed: [["Function", "f"]] },
      "FunctionNotFound",
      'Function "f" does not exist',
    ],
    "a candidate that does not exist": [
      { spec: { candidate: { functionRevisionRef: { name: "f-9" } } } },
      "RevisionNotFound",
      'there is no FunctionRevision of Function "f" named "f-9"',
    ],
    "a candidate that is inactive": [
      { spec: { candidate: { functionRevisionRef: { name: "f-2" } } }, objects: [inactive(2)] },
      "RevisionInactive",
      'the FunctionRevision of Function "f" "f-2" is not active',
    ],
    "labels that no revision has": [
      { spec: { candidate: { functionRevisionSelector: { matchLabels: { a: "b", c: "d" } } } } },
      "RevisionNotFound",
      'no active FunctionRevision of Function "f" has the labels a=b,c=d',
    ],
    "one revision for both sides": [
      {
        spec: { stable: { functionRevisionRef: { name: "f-2" } }, candidate: { functionRevisionRef: { name: "f-2" } } },
      },
      "SameRevision",
      'stable and candidate are both "f-2"',
    ],
    "no revision that serves": [
      { objects: [inactive(1), inactive(2)] },
      "StableNotFound",
      'no FunctionRevision of Function "f" serves that composite resources could stay on',
    ],
  };
  for (const [title, [question, reason, message]] of Object.entries(refused)) {
    test(`refused: ${title}`, async () => {
      const found = await find(question);
      assert.ok("reason" in found);
      assert.deepEqual([found.reason, found.message], [reason, message]);
    });
  }

  test("a candidate that does not serve is waited for, with the reason", async () => {
    const unhealthy = changed(functionRevision(2), {
      status: { conditions: [{ type: "RuntimeHealthy", status: "False", message: "image not found" }] },
    });
    const spec = { candidate: { functionRevisionRef: { name: "f-2" } } };
    assert.deepEqual(await find({ spec, objects: [unhealthy] }), {
      found: [{ name: "f", stable: "f-1", candidate: "f-2" }],
      isServing: false,
      waitingFor: 'FunctionRevision "f-2" does not serve yet: image not found',
    });
    const incapable = changed(functionRevision(2), { status: { endpoint: "f-2:9443", capabilities: ["operation"] } });
    const found = await find({ spec, objects: [incapable] });
    assert.equal("waitingFor" in found && found.waitingFor, 'FunctionRevision "f-2" lacks the capability composition');
  });

  test("a revision that another rollout withholds is not a candidate", async () => {
    const frozen = [{ name: "f", stable: "f-1", candidate: "" }];
    const mark = (value: string): KubeObject =>
      changed(functionRevision(2), {}, { annotations: { [withheld]: value } });
    assert.equal("reason" in (await find({ frozen, objects: [mark("other")] })), true);
    assert.deepEqual(await find({ frozen, objects: [mark("own")] }), ofFunction("f-1", "f-2"));
  });

  test("the last rollout that ended decides what is stable", async () => {
    const objects = [functionRevision(3)];
    assert.deepEqual(
      await find({ objects, others: [ended("Succeeded", "2026-01-01", "f-1", "f-2")] }),
      ofFunction("f-2", "f-3"),
    );
    assert.deepEqual(
      await find({ objects, others: [ended("RolledBack", "2026-01-01", "f-1", "f-2")] }),
      ofFunction("f-1", "f-3"),
    );
    const both = [ended("Succeeded", "2026-01-01", "f-1", "f-2"), ended("RolledBack", "2026-01-02", "f-1", "f-2")];
    assert.deepEqual(await find({ objects, others: both }), ofFunction("f-1", "f-3"));
  });

  test("of several Functions the first refusal is that of all, before one that only waits", async () => {
    const refusalOf = (...names: readonly string[]): Promise<SidesFound> => {
      const spec = { functionRefs: names.map((name) => ({ name })) };
      const rollout = { ...rolloutOf("own", {}), spec } as JsonObject;
      const client = memoryCluster(0).client();
      return findSides({ client, rollout, plan: readPlan(rollout), frozen: [], others: [], signal });
    };
    const missing = (name: string) => ({ reason: "FunctionNotFound", message: `Function "${name}" does not exist` });
    assert.deepEqual(await refusalOf("g", "f"), missing("g"));
    assert.deepEqual(await refusalOf("f", "g"), missing("g"));
    assert.deepEqual(await refusalOf("f", "h", "g"), missing("h"));
  });
});

describe("the revisions of a Composition", () => {
  const spec = { compositionRef: { name: "apps" } };
  const sides = (stable: string, candidate: string) => ({
    found: [{ name: "apps", stable, candidate }],
    isServing: true,
    waitingFor: "",
  });

  test("the newest is stable until there is another one", async () => {
    const found = await find({ spec });
    assert.ok("reason" in found);
    assert.equal(found.message, 'there is no CompositionRevision of Composition "apps" after "apps-2" yet');
    const frozen = [{ name: "apps", stable: "apps-2", candidate: "" }];
    assert.deepEqual(await find({ spec, frozen, objects: [compositionRevision(3)] }), sides("apps-2", "apps-3"));
  });

  test("by name", async () => {
    const candidate = { compositionRevisionRef: { name: "apps-1" } };
    assert.deepEqual(await find({ spec: { ...spec, candidate } }), sides("apps-2", "apps-1"));
  });

  test("a candidate without a valid pipeline is waited for", async () => {
    const conditions = [{ type: "ValidPipeline", status: "False", message: "fn lacks a capability" }];
    const invalid = changed(compositionRevision(3), { status: { conditions } });
    const found = await find({ spec, frozen: [{ name: "apps", stable: "apps-2", candidate: "" }], objects: [invalid] });
    assert.equal(
      "waitingFor" in found && found.waitingFor,
      'CompositionRevision "apps-3" does not have a valid pipeline yet: fn lacks a capability',
    );
  });

  test("a revision that was rolled back is not taken again", async () => {
    const composition = { name: "apps", stable: "apps-1", candidate: "apps-2" };
    const others = [
      { phase: "RolledBack", created: "2026-01-01", composition },
    ] as unknown as readonly Partial<RolloutView>[];
    const found = await find({ spec, others });
    assert.ok("reason" in found);
    assert.equal(found.message, 'there is no CompositionRevision of Composition "apps" after "apps-1" yet');
    assert.deepEqual(await find({ spec, others, objects: [compositionRevision(3)] }), sides("apps-1", "apps-3"));
  });

  test("that does not exist, or has none", async () => {
    const absent = await find({ spec, removed: [["Composition", "apps"]] });
    assert.deepEqual(absent, { reason: "CompositionNotFound", message: 'Composition "apps" does not exist' });
    const none = await find({
      spec,
      removed: [
        ["CompositionRevision", "apps-1"],
        ["CompositionRevision", "apps-2"],
      ],
    });
    assert.deepEqual(none, {
      reason: "StableNotFound",
      message: 'there is no CompositionRevision of Composition "apps"',
    });
  });
});

describe("the mark of a candidate", () => {
  const sides = [{ name: "f", stable: "f-1", candidate: "f-2" }];
  const marked = (value: string | undefined): ReturnType<typeof memoryCluster> => {
    const cluster = memoryCluster(0);
    cluster.put(changed(functionRevision(2), {}, value === undefined ? {} : { annotations: { [withheld]: value } }));
    return cluster;
  };
  const markOf = (cluster: ReturnType<typeof memoryCluster>): string | undefined =>
    cluster.get("FunctionRevision", "f-2")?.metadata.annotations?.[withheld];

  test("is written once, also over that of another rollout", async () => {
    for (const before of [undefined, "other"]) {
      const cluster = marked(before);
      await withhold(cluster.client(), sides, { rollout: "own", signal });
      await withhold(cluster.client(), sides, { rollout: "own", signal });
      assert.deepEqual([markOf(cluster), cluster.writes], ["own", ["FunctionRevision/f-2"]]);
    }
  });

  test("is removed only by its own rollout", async () => {
    const own = marked("own");
    await release(own.client(), sides, { rollout: "own", signal });
    assert.equal(markOf(own), undefined);
    const other = marked("other");
    await release(other.client(), sides, { rollout: "own", signal });
    assert.deepEqual([markOf(other), other.writes], ["other", []]);
  });

  test("sides without a candidate, and revisions that are gone, are passed over", async () => {
    const cluster = memoryCluster(0);
    const gone = [
      { name: "f", stable: "f-1", candidate: "" },
      { name: "f", stable: "f-1", candidate: "f-9" },
    ];
    await withhold(cluster.client(), gone, { rollout: "own", signal });
    assert.deepEqual(cluster.writes, []);
  });

  test("a revision that goes during the write is passed over, and other errors are not", async () => {
    const failing = (error: unknown): ControllerClient => ({
      ...marked(undefined).client(),
      patch: (_: unknown, __: JsonValue) => Promise.reject(error),
    });
    await withhold(failing(notFound({ group: "", resource: "x" }, "f-2")), sides, { rollout: "own", signal });
    await assert.rejects(withhold(failing(new Error("reset")), sides, { rollout: "own", signal }), /reset/);
  });
});
