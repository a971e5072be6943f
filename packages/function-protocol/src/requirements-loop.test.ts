// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "./descriptor.ts";
import {
  MatchLabels,
  RequestMeta,
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
} from "./gen/run-function.ts";
import {
  type RequirementSource,
  requirementsEqual,
  runUntilSettled,
  type SettledResponse,
} from "./requirements-loop.ts";
import { Struct } from "./struct.ts";

type Fn = (request: RunFunctionRequest, call: number) => Partial<RunFunctionResponse>;

const byName = (name: string, namespace?: string): ResourceSelector =>
  create(ResourceSelector, {
    apiVersion: "v1",
    kind: "ConfigMap",
    match: { case: "matchName", value: name },
    namespace,
  });
const asks = (names: string[]): Requirements =>
  create(Requirements, { resources: new Map(names.map((name) => [name, byName(name)])) });
const found = (name: string): Resources =>
  create(Resources, { items: [create(Resource, { resource: Struct.from({ metadata: { name } }) })] });
const items = (resources: Resources | undefined): number | undefined => resources?.items.length;

interface Run extends SettledResponse {
  readonly fetches: string[];
}

async function settle(fn: Fn, init: Partial<RunFunctionRequest> = {}, existing = ["a", "b", "c"]): Promise<Run> {
  const fetches: string[] = [];
  let calls = 0;
  const source: RequirementSource = {
    resources: async ({ match }) => {
      const name = match?.case === "matchName" ? match.value : "*";
      fetches.push(name);
      return existing.includes(name) ? found(name) : create(Resources);
    },
    schema: async ({ kind }) => {
      fetches.push(kind);
      return create(Schema, kind === "Pod" ? { openapiV3: Struct.from({ type: "object" }) } : {});
    },
  };
  const settled = await runUntilSettled(create(RunFunctionRequest, init), {
    run: async (request) => create(RunFunctionResponse, fn(request, calls++)),
    source,
  });
  return { ...settled, fetches };
}

test("no requirements, one call", async () => {
  assert.equal((await settle(() => ({}))).requests.length, 1);
});

test("empty requirements count as no requirements", async () => {
  assert.equal((await settle(() => ({ requirements: create(Requirements) }))).requests.length, 1);
});

test("extra resources that the function did not ask for are withdrawn: a second call is made without them", async () => {
  const { requests } = await settle(() => ({}), { extraResources: new Map([["old", found("a")]]) });
  assert.deepEqual(
    requests.map(({ extraResources }) => extraResources.size),
    [1, 0],
  );
});

test("a constant requirement takes two calls and one fetch, and the second has the answer", async () => {
  const { requests, fetches } = await settle(() => ({ requirements: asks(["a"]) }));
  assert.deepEqual([requests.length, fetches], [2, ["a"]]);
  assert.equal(items(requests[1]?.requiredResources.get("a")), 1);
});

test("what does not exist is a key without items", async () => {
  const { requests } = await settle(() => ({ requirements: asks(["missing"]) }));
  assert.equal(requests.length, 2);
  assert.equal(items(requests[1]?.requiredResources.get("missing")), 0);
});

test("a requirement dropped once satisfied never settles", async () => {
  let calls = 0;
  const run = settle((request) => {
    calls++;
    return request.requiredResources.has("a") ? {} : { requirements: asks(["a"]) };
  });
  await assert.rejects(run, {
    code: "UNSTABLE_REQUIREMENTS",
    message: "requirements didn't stabilize after the maximum number of iterations (5)",
  });
  assert.equal(calls, 6);
});

test("a requirement derived from an answer takes three calls; the third has both", async () => {
  const { requests, fetches } = await settle((request) => ({
    requirements: asks(request.requiredResources.has("a") ? ["a", "b"] : ["a"]),
  }));
  assert.deepEqual([...(requests[2]?.requiredResources.keys() ?? [])], ["a", "b"]);
  assert.deepEqual([requests.length, fetches], [3, ["a", "b"]], "a selector is asked for once a step");
});

test("settling on the sixth call is success", async () => {
  const { requests } = await settle((_, call) => ({ requirements: asks([`r${Math.min(call, 4)}`]) }));
  assert.equal(requests.length, 6);
});

test("a fatal response is returned as it is", async () => {
  const fatal = create(Result, { severity: Severity.SEVERITY_FATAL, message: "no" });
  const { requests, fetches, response } = await settle(() => ({ requirements: asks(["a"]), results: [fatal] }));
  assert.deepEqual([requests.length, fetches, response.results[0]?.message], [1, [], "no"]);
});

test("a bootstrapped answer declared again the same takes one call", async () => {
  const { requests } = await settle(() => ({ requirements: asks(["a"]) }), {
    requiredResources: new Map([["a", found("a")]]),
  });
  assert.equal(requests.length, 1);
});

test("a bootstrapped answer stays beside a required one", async () => {
  const { requests } = await settle(() => ({ requirements: asks(["a"]) }), {
    requiredResources: new Map([["boot", found("x")]]),
  });
  assert.deepEqual([...(requests[1]?.requiredResources.keys() ?? [])], ["boot", "a"]);
});

test("the function's selector wins over a bootstrapped one of the same name", async () => {
  const { requests } = await settle(() => ({ requirements: asks(["a"]) }), {
    requiredResources: new Map([["a", found("other")]]),
  });
  const answer = requests[1]?.requiredResources.get("a")?.items[0]?.resource?.value;
  assert.deepEqual(answer, { metadata: { name: "a" } });
});

test("extra and required resources are answered each in its own field", async () => {
  const requirements = create(Requirements, {
    resources: new Map([["a", byName("a")]]),
    extraResources: new Map([["b", byName("b")]]),
  });
  const { requests } = await settle(() => ({ requirements }));
  assert.deepEqual([...(requests[1]?.requiredResources.keys() ?? [])], ["a"]);
  assert.deepEqual([...(requests[1]?.extraResources.keys() ?? [])], ["b"]);
});

test("context goes round, desired and the tag do not change", async () => {
  const { requests } = await settle(
    (_, call) => ({
      requirements: asks(["a"]),
      context: Struct.from({ call }),
      desired: create(State, { resources: new Map([["made", create(Resource)]]) }),
    }),
    { meta: create(RequestMeta, { tag: "t" }), desired: create(State) },
  );
  assert.deepEqual(requests[1]?.context?.value, { call: 0 });
  assert.equal(requests[1]?.desired?.resources.size, 0);
  assert.deepEqual(
    requests.map(({ meta }) => meta?.tag),
    ["t", "t"],
  );
});

test("schemas are answered, found or not", async () => {
  const requirements = create(Requirements, {
    schemas: new Map([
      ["pod", create(SchemaSelector, { apiVersion: "v1", kind: "Pod" })],
      ["nope", create(SchemaSelector, { apiVersion: "v1", kind: "Nope" })],
    ]),
  });
  const { requests } = await settle(() => ({ requirements }));
  assert.deepEqual(requests[1]?.requiredSchemas.get("pod")?.openapiV3?.value, { type: "object" });
  assert.ok(requests[1]?.requiredSchemas.has("nope"));
  assert.equal(requests[1]?.requiredSchemas.get("nope")?.openapiV3, undefined);
});

test("identical selectors under two names are fetched once", async () => {
  const requirements = create(Requirements, {
    resources: new Map([
      ["x", byName("a")],
      ["y", byName("a", "")],
    ]),
  });
  const { fetches, requests } = await settle(() => ({ requirements }));
  assert.deepEqual(fetches, ["a"]);
  assert.equal(items(requests[1]?.requiredResources.get("y")), 1);
});

test("the request handed in is not changed", async () => {
  const request = create(RunFunctionRequest);
  await settle(() => ({ requirements: asks(["a"]) }), request);
  assert.deepEqual(request, create(RunFunctionRequest));
});

test("a fetch that fails stops the loop and names the requirement", async () => {
  const boom = new Error("boom");
  const run = runUntilSettled(create(RunFunctionRequest), {
    run: async () => create(RunFunctionResponse, { requirements: asks(["ok", "bad"]) }),
    source: {
      resources: async ({ match }) => (match?.value === "bad" ? Promise.reject(boom) : create(Resources)),
      schema: async () => create(Schema),
    },
  });
  await assert.rejects(run, { message: "fetching resources for bad: boom", cause: boom });
});

test("an aborted loop makes no further call", async () => {
  const stop = new AbortController();
  let calls = 0;
  const run = runUntilSettled(create(RunFunctionRequest), {
    run: async () => {
      calls++;
      return create(RunFunctionResponse, { requirements: asks(["a"]) });
    },
    source: {
      resources: async () => {
        stop.abort(new Error("reconcile cancelled"));
        return create(Resources);
      },
      schema: async () => create(Schema),
    },
    signal: stop.signal,
  });
  await assert.rejects(run, /reconcile cancelled/);
  assert.equal(calls, 1);
});

const equality: Record<string, { a?: Requirements; b?: Requirements; equal: boolean; reason: string }> = {
  AbsentAndEmpty: { b: create(Requirements), equal: true, reason: "absent requirements are empty ones" },
  NamespaceAbsentAndEmpty: {
    a: create(Requirements, { resources: new Map([["x", byName("a")]]) }),
    b: create(Requirements, { resources: new Map([["x", byName("a", "")]]) }),
    equal: true,
    reason: "both select the same",
  },
  OrderOfNames: { a: asks(["a", "b"]), b: asks(["b", "a"]), equal: true, reason: "maps have no order" },
  OtherName: { a: asks(["a"]), b: asks(["b"]), equal: false, reason: "another selector" },
  NoMatchAndEmptyLabels: {
    a: create(Requirements, { resources: new Map([["x", create(ResourceSelector, { kind: "A" })]]) }),
    b: create(Requirements, {
      resources: new Map([
        ["x", create(ResourceSelector, { kind: "A", match: { case: "matchLabels", value: create(MatchLabels) } })],
      ]),
    }),
    equal: false,
    reason: "the messages differ",
  },
};
for (const [name, { a, b, equal, reason }] of Object.entries(equality)) {
  test(`requirements compared: ${name}`, () => assert.equal(requirementsEqual(a, b), equal, reason));
}
