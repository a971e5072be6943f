// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  allCapabilities,
  Condition,
  CredentialData,
  Credentials,
  create,
  Duration,
  encode,
  MatchLabels,
  type ProtocolVersion,
  RequestMeta,
  Requirements,
  ResourceSelector,
  Resources,
  ResponseMeta,
  Result,
  type RunFunctionRequest,
  RunFunctionResponse,
  Schema,
  SchemaSelector,
  Severity,
  Struct,
} from "@purlin/function-protocol";
import { answer, type FunctionServer, serveFunction } from "../../test/function-server.ts";
import { call, dial, request, targetAt } from "../../test/runs.ts";
import { settleRequirements } from "../requirements/settle-requirements.ts";
import { asCrossplane, type CrossplaneLine, crossplaneLines } from "./as-crossplane.ts";

const secret = create(CredentialData, { data: new Map([["k", Uint8Array.of(1)]]) });

const sent: RunFunctionRequest = request({
  meta: create(RequestMeta, { tag: "tag", capabilities: [...allCapabilities] }),
  input: Struct.from({ a: 1 }),
  extraResources: new Map([["extra", create(Resources)]]),
  credentials: new Map([["c", create(Credentials, { source: { case: "credentialData", value: secret } })]]),
  requiredResources: new Map([["r", create(Resources)]]),
  requiredSchemas: new Map([["s", create(Schema)]]),
});

const labels = { case: "matchLabels", value: create(MatchLabels) } as const;
const selector = create(ResourceSelector, { apiVersion: "v1", kind: "Pod", namespace: "ns", match: labels });

const everything: Partial<RunFunctionResponse> = {
  meta: create(ResponseMeta, { tag: "tag", ttl: create(Duration, { seconds: 60n }) }),
  results: [create(Result, { severity: Severity.SEVERITY_WARNING, message: "m", reason: "R", target: 2 })],
  conditions: [create(Condition, { type: "C", status: 2, reason: "R" })],
  output: Struct.from({ out: true }),
  requirements: create(Requirements, {
    extraResources: new Map([["extra", selector]]),
    resources: new Map([["r", selector]]),
    schemas: new Map([["s", create(SchemaSelector, { apiVersion: "v1", kind: "Pod" })]]),
  }),
};

interface Imitation {
  readonly fn: FunctionServer;
  readonly response: RunFunctionResponse;
  readonly received: RunFunctionRequest;
}

async function imitate(
  t: TestContext,
  line: CrossplaneLine,
  response: Partial<RunFunctionResponse>,
): Promise<Imitation> {
  const fn = await serveFunction({ handler: (incoming) => answer(incoming, response) });
  t.after(() => fn.stop());
  const masked = await asCrossplane(dial(t), line).run(targetAt(fn.endpoint), sent, call());
  const [first] = fn.calls;
  assert.ok(first);
  return { fn, response: masked, received: first.request };
}

const requests: Readonly<
  Record<CrossplaneLine, { version: ProtocolVersion; fields: string[]; tag: string; capabilities: number }>
> = {
  "v1.15": { version: "v1beta1", fields: ["extra"], tag: "", capabilities: 0 },
  "v1.16": { version: "v1beta1", fields: ["extra", "credentials"], tag: "", capabilities: 0 },
  "v1.17": { version: "v1", fields: ["extra", "credentials"], tag: "", capabilities: 0 },
  "v2.2": { version: "v1", fields: ["extra", "credentials", "resources", "schemas"], tag: "tag", capabilities: 5 },
};

for (const line of crossplaneLines) {
  test(`as ${line}: what that line did not send is not sent`, async (t) => {
    const { fn, received } = await imitate(t, line, {});
    const want = requests[line];
    const fields = {
      extra: received.extraResources,
      credentials: received.credentials,
      resources: received.requiredResources,
      schemas: received.requiredSchemas,
    };
    assert.deepEqual(
      Object.entries(fields).flatMap(([name, map]) => (map.size > 0 ? [name] : [])),
      want.fields,
    );
    assert.equal(received.meta?.tag, want.tag);
    assert.equal(received.meta?.capabilities.length, want.capabilities);
    assert.deepEqual(received.input?.value, { a: 1 });
    assert.deepEqual(
      fn.calls.map(({ version }) => version),
      [want.version],
    );
  });

  test(`as ${line}: fields that this release did not know are passed on and have no effect`, async (t) => {
    const { response } = await imitate(t, line, everything);
    const knowsConditions = line === "v1.17" || line === "v2.2";
    const modern = line === "v2.2";
    assert.equal(response.conditions.length, knowsConditions ? 1 : 0);
    assert.equal(response.results[0]?.message, "m");
    assert.equal(response.results[0]?.reason, knowsConditions ? "R" : undefined);
    assert.equal(response.results[0]?.target, knowsConditions ? 2 : undefined);
    assert.equal(response.output !== undefined, modern);
    assert.equal(response.meta?.ttl !== undefined, modern);
    assert.equal(response.meta?.tag, "tag");
    assert.equal(response.requirements?.resources.size, modern ? 1 : 0);
    assert.equal(response.requirements?.schemas.size, modern ? 1 : 0);
    assert.equal(response.requirements?.extraResources.get("extra")?.namespace, modern ? "ns" : undefined);

    const whole = encode(RunFunctionResponse, create(RunFunctionResponse, everything));
    assert.equal(encode(RunFunctionResponse, response).length, whole.length, "nothing is lost on the wire");
  });

  test(`as ${line}: a selector without a match ${line === "v2.2" ? "lists everything" : "fails the step"}`, async (t) => {
    const all = create(ResourceSelector, { apiVersion: "v1", kind: "Pod" });
    const run = imitate(t, line, { requirements: create(Requirements, { extraResources: new Map([["x", all]]) }) });
    if (line === "v2.2") await run;
    else {
      await assert.rejects(run, {
        message: `fetching resources for x: Crossplane ${line} has no selector without matchName or matchLabels`,
      });
    }
  });
}

test("as an old line: a fatal response is not searched for requirements", async (t) => {
  const all = create(ResourceSelector, { apiVersion: "v1", kind: "Pod" });
  const { response } = await imitate(t, "v1.15", {
    results: [create(Result, { severity: Severity.SEVERITY_FATAL, message: "stop" })],
    requirements: create(Requirements, { extraResources: new Map([["x", all]]) }),
  });
  assert.equal(response.results[0]?.message, "stop");
});

test("as an old line: extra resources work, required ones are never fetched", async (t) => {
  const fn = await serveFunction({ handler: (incoming) => answer(incoming, everything) });
  t.after(() => fn.stop());
  const fetched: unknown[] = [];
  const runner = settleRequirements(asCrossplane(dial(t), "v1.15"), {
    async resources({ namespace }) {
      fetched.push(namespace);
      return create(Resources);
    },
    schema: () => assert.fail("that line knew no schemas"),
  });
  await runner.run(targetAt(fn.endpoint), request(), call());
  assert.deepEqual(fetched, [undefined], "one fetch, without the namespace that line did not know");
  assert.equal(fn.calls[1]?.request.extraResources.has("extra"), true);
});

test("an unknown line is refused with the names of those there are", (t) => {
  for (const line of ["v1.14", "2.2", "toString", ""]) {
    assert.throws(() => asCrossplane(dial(t), line), {
      code: "UNKNOWN_LINE",
      message: `unknown Crossplane release line "${line}": expected one of v1.15, v1.16, v1.17, v2.2`,
    });
  }
});

test("an old line that is answered UNIMPLEMENTED does not try v1", async (t) => {
  await using fn = await serveFunction({ versions: ["v1"] });
  await assert.rejects(asCrossplane(dial(t), "v1.16").run(targetAt(fn.endpoint), request(), call()), {
    status: "Unimplemented",
  });
  assert.equal(fn.calls.length, 0);
});
