// SPDX-License-Identifier: Apache-2.0
// Recorded runs as explanations read them, from documents as a control plane serves them.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import type { RecordedRun } from "@purlin/explain";
import {
  create,
  encode,
  MatchLabels,
  Ready,
  Requirements,
  Resource,
  ResourceSelector,
  Resources,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Schema,
  SchemaSelector,
  Severity,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { KubeClient } from "@purlin/kube-client";
import { notFound } from "@purlin/kube-objects/errors";
import { runsPath } from "@purlin/run-store";
import { recordedHistory } from "./recorded-history.ts";

const { signal } = new AbortController();
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const resourceOf = (object: object, ready: Ready = Ready.READY_UNSPECIFIED): Resource =>
  create(Resource, { resource: Struct.from(object), ready });
const stateOf = (resources: Readonly<Record<string, object>>): State =>
  create(State, { resources: new Map(Object.entries(resources).map(([name, one]) => [name, resourceOf(one)])) });

interface Call {
  readonly request?: Partial<RunFunctionRequest>;
  readonly response?: Partial<RunFunctionResponse> | undefined;
}

/** A document of a run, one step for each list of calls. */
function documentOf(composite: object, ...steps: readonly (readonly Call[])[]): object {
  const stored = steps.map((calls, index) => ({
    ...{ index, name: `step-${index}`, function: `fn-${index}`, durationMs: 10 + index },
    calls: calls.map(({ request, response }) => ({
      request: base64(encode(RunFunctionRequest, create(RunFunctionRequest, request))),
      ...(response && { response: base64(encode(RunFunctionResponse, create(RunFunctionResponse, response))) }),
    })),
  }));
  const xr = { apiVersion: "example.org/v1", kind: "App", name: "shop" };
  const facts = { id: "01A", xr, began: "2026-01-02T03:04:05.000Z", writes: [], conditions: [] };
  const run = { ...facts, composite: "c", steps: stored };
  return { run, repeats: 3, last: "", parts: { c: base64(Struct.from(composite).bytes) } };
}

/** A client of a control plane with one run; what it was asked for is kept. */
function clientOf(document: object, asked: string[] = []): KubeClient {
  const raw = async ({ path, query }: { readonly path: string; readonly query: Record<string, string> }) => {
    asked.push(`${path}?${new URLSearchParams(query)}`);
    return path === runsPath ? { items: [{ id: "01A" }] } : document;
  };
  return { raw } as Partial<KubeClient> as KubeClient;
}

async function recorded(composite: object, ...steps: readonly (readonly Call[])[]): Promise<RecordedRun> {
  const history = await recordedHistory(clientOf(documentOf(composite, ...steps)), signal);
  const [run] = (await history?.runsOf({ apiVersion: "example.org/v1", kind: "App", name: "shop" }, 5)) ?? [];
  return run ?? assert.fail("there is no run");
}

const selector = (kind: string, match?: ResourceSelector["match"], namespace?: string): ResourceSelector =>
  create(ResourceSelector, { apiVersion: "v1", kind, match, namespace });
const named = (value: string): ResourceSelector["match"] => ({ case: "matchName", value });
const labelled: ResourceSelector["match"] = { case: "matchLabels", value: create(MatchLabels) };

describe("the recorded runs", () => {
  test("are those of a composite resource, read one by one", async () => {
    const asked: string[] = [];
    const history = await recordedHistory(clientOf(documentOf({}), asked), signal);
    const runs = await history?.runsOf(
      { apiVersion: "example.org/v1", kind: "App", namespace: "dev", name: "shop" },
      7,
    );
    assert.equal(runs?.length, 1);
    assert.deepEqual(asked, [
      `${runsPath}?limit=1`,
      `${runsPath}?kind=App&namespace=dev&name=shop&limit=7`,
      `${runsPath}/01A?`,
    ]);
  });

  test("are missing where the control plane does not serve them", async () => {
    const raw = async (): Promise<never> => {
      throw notFound({ group: "", resource: "services" }, "purlin-runs");
    };
    assert.equal(await recordedHistory({ raw } as Partial<KubeClient> as KubeClient, signal), undefined);
  });
});

describe("a recorded run", () => {
  test("has its time and its steps, and without steps nothing desired", async () => {
    const run = await recorded({ spec: {} });
    assert.deepEqual(
      [run.id, run.time, run.repeats, run.steps, run.desired],
      ["01A", "2026-01-02T03:04:05.000Z", 3, [], { resources: {} }],
    );
  });

  test("has the observed resources of its first call", async () => {
    const observed = stateOf({ db: { kind: "DB", status: { ready: true } }, empty: {} });
    const run = await recorded({ spec: {} }, [{ request: { observed } }], [{}]);
    assert.deepEqual(run.observed, { db: { kind: "DB", status: { ready: true } }, empty: {} });
  });

  test("its input is the spec of the composite resource and the status of its resources, and nothing else", async () => {
    const hash = async (composite: object, resources: Readonly<Record<string, object>>): Promise<string> =>
      (await recorded(composite, [{ request: { observed: stateOf(resources) } }])).observedHash;
    const first = await hash({ spec: { a: 1 } }, { x: { status: { s: 1 } }, y: {} });
    assert.equal(await hash({ spec: { a: 1 }, status: { b: 2 } }, { y: {}, x: { status: { s: 1 } } }), first);
    assert.equal(await hash({ spec: { a: 1 } }, { x: { status: { s: 1 }, spec: { n: 9 } }, y: {} }), first);
    for (const [composite, resources] of [
      [{ spec: { a: 2 } }, { x: { status: { s: 1 } }, y: {} }],
      [{ spec: { a: 1 } }, { x: { status: { s: 2 } }, y: {} }],
      [{ spec: { a: 1 } }, { x: { status: { s: 1 } } }],
    ] as const) {
      assert.notEqual(await hash(composite, resources), first);
    }
  });
});

describe("a recorded step", () => {
  const stepOf = async (...calls: readonly Call[]) => (await recorded({}, calls)).steps[0] ?? assert.fail();

  test("has what its last response wants, with readiness", async () => {
    const desired = create(State, {
      composite: resourceOf({ status: { url: "u" } }, Ready.READY_TRUE),
      resources: new Map([
        ["yes", resourceOf({ kind: "A" }, Ready.READY_TRUE)],
        ["no", resourceOf({ kind: "B" }, Ready.READY_FALSE)],
        ["unknown", resourceOf({ kind: "C" })],
        ["without an object", create(Resource)],
      ]),
    });
    const run = await recorded({}, [{ response: {} }], [{ response: { desired } }]);
    assert.deepEqual(run.steps[1]?.desired, {
      composite: { status: { url: "u" } },
      compositeReady: "True",
      resources: {
        yes: { object: { kind: "A" }, ready: "True" },
        no: { object: { kind: "B" }, ready: "False" },
        unknown: { object: { kind: "C" }, ready: "Unspecified" },
        "without an object": { object: {}, ready: "Unspecified" },
      },
    });
    assert.equal(run.desired, run.steps[1]?.desired);
    assert.deepEqual(
      [run.steps[1]?.step, run.steps[1]?.functionName, run.steps[1]?.durationMs],
      ["step-1", "fn-1", 11],
    );
  });

  test("without a response wants nothing", async () => {
    const { desired, warnings, missing, rounds } = await stepOf({});
    assert.deepEqual(desired, { composite: undefined, compositeReady: "Unspecified", resources: {} });
    assert.deepEqual([warnings, missing, rounds], [[], [], [[]]]);
  });

  test("has the texts of its warnings", async () => {
    const results = [
      create(Result, { severity: Severity.SEVERITY_WARNING, message: "careful" }),
      create(Result, { severity: Severity.SEVERITY_NORMAL, message: "fine" }),
      create(Result, { severity: Severity.SEVERITY_FATAL, message: "boom" }),
    ];
    assert.deepEqual((await stepOf({ response: { results } })).warnings, ["careful"]);
  });

  test("has the requirements of each call, those by name with the name", async () => {
    const requirements = create(Requirements, {
      extraResources: new Map([["old", selector("Secret", named("s"))]]),
      resources: new Map([
        ["one", selector("ConfigMap", named("a"))],
        ["many", selector("Pod", labelled)],
        ["any", selector("Node")],
      ]),
    });
    const { rounds } = await stepOf({ response: {} }, { response: { requirements } });
    assert.deepEqual(rounds, [[], ["Secret s", "ConfigMap a", "Pod (many)", "Node (any)"]]);
  });

  test("names the resources that were required by name, looked up and not found", async () => {
    const requirements = create(Requirements, {
      resources: new Map([
        ["gone", selector("ConfigMap", named("a"), "dev")],
        ["cluster", selector("Node", named("n"))],
        ["found", selector("ConfigMap", named("b"))],
        ["selected", selector("Pod", labelled)],
        ["later", selector("Secret", named("s"))],
      ]),
      extraResources: new Map([["old", selector("Secret", named("o"))]]),
    });
    const none = create(Resources);
    const request = {
      requiredResources: new Map([
        ["gone", none],
        ["cluster", none],
        ["selected", none],
        ["found", create(Resources, { items: [resourceOf({})] })],
      ]),
      extraResources: new Map([["old", none]]),
    };
    assert.deepEqual((await stepOf({ request, response: { requirements } })).missing, [
      { what: "resource", apiVersion: "v1", kind: "Secret", name: "o" },
      { what: "resource", apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "dev" },
      { what: "resource", apiVersion: "v1", kind: "Node", name: "n" },
    ]);
  });

  test("names the schemas that were looked up and not found", async () => {
    const kind = (name: string): SchemaSelector => create(SchemaSelector, { apiVersion: "e.org/v1", kind: name });
    const requirements = create(Requirements, {
      schemas: new Map([
        ["gone", kind("Gone")],
        ["found", kind("Found")],
        ["later", kind("Later")],
      ]),
    });
    const requiredSchemas = new Map([
      ["gone", create(Schema)],
      ["found", create(Schema, { openapiV3: Struct.from({}) })],
    ]);
    assert.deepEqual((await stepOf({ request: { requiredSchemas }, response: { requirements } })).missing, [
      { what: "schema", apiVersion: "e.org/v1", kind: "Gone" },
    ]);
  });
});
