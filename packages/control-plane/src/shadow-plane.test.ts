// SPDX-License-Identifier: Apache-2.0
// Shadow runs of a function plane: what reaches the API server, the response cache and the recorder.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { create, RequestMeta, RunFunctionRequest, State } from "@purlin/function-protocol";
import type { CompositeSubject } from "@purlin/function-runner";
import { nopLogger, type RunningFunction, request, response, start } from "@purlin/function-sdk";
import { createInformerPool, createKubeClient, type KubeRequest } from "@purlin/kube-client";
import { createControllerClient, installCrds } from "@purlin/kube-controller";
import { eventually, recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { functionCrds } from "@purlin/package-manager";
import { defaultControlPlaneSettings } from "./control-plane-options.ts";
import { createFunctionPlane } from "./function-plane.ts";

const pkg = "pkg.crossplane.io";
const settings = {
  ...defaultControlPlaneSettings,
  functionRevisionSelectors: true,
  functionRollouts: true,
};

/** Version two requires more than version one, warns, and does without a resource. */
const serve = (version: "one" | "two"): Promise<RunningFunction> =>
  start(
    (req) => {
      const rsp = response.to(req);
      const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default" } };
      if (version === "two") {
        response.requireResource(rsp, "limits", { apiVersion: "v1", kind: "LimitRange", matchLabels: { of: "two" } });
        response.warning(rsp, `version two found ${request.getRequiredResources(req, "limits")?.length ?? 0}`);
      }
      response.setDesiredComposedResource(rsp, "kept", map);
      if (version === "one") response.setDesiredComposedResource(rsp, "dropped", map);
      return rsp;
    },
    { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger },
  );

const revision = (name: string, number: number): KubeObject => ({
  apiVersion: `${pkg}/v1`,
  kind: "FunctionRevision",
  metadata: { name, labels: { [`${pkg}/package`]: "fn" } },
  spec: { desiredState: "Active", image: `example.org/fn:v${number}`, revision: number },
});

const rollout: KubeObject = {
  apiVersion: `${pkg}/v1alpha1`,
  kind: "FunctionRollout",
  metadata: { name: "r" },
  spec: {
    functionRef: { name: "fn" },
    stable: { functionRevisionRef: { name: "fn-1" } },
    candidate: { functionRevisionRef: { name: "fn-2" } },
    steps: [{ shadow: true }, { percent: 100 }],
  },
};

test("a shadow run reads what its candidate requires, and leaves nothing behind but its report", async () => {
  await using closing = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "purlin-shadow-"));
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startTestServer();
  closing.defer(() => server.stop());
  const users = createKubeClient(server.connect());
  closing.defer(() => users.close());
  const [one, two] = [closing.use(await serve("one")), closing.use(await serve("two"))];
  await installCrds(users, functionCrds(settings));
  const limits = {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name: "l", namespace: "default", labels: { of: "two" } },
  };
  await users.create({ ...limits, spec: { limits: [] } });
  for (const [object, { address }] of [
    [revision("fn-1", 1), one],
    [revision("fn-2", 2), two],
  ] as const) {
    const stored = await eventually("it is served", () => users.create(object));
    await users.update(
      { ...stored, status: { endpoint: address, capabilities: ["composition"] } },
      { subresource: "status" },
    );
  }
  const made = await eventually("it is served", () => users.create(rollout));
  const functions = [{ name: "fn", stableRevision: "fn-1", candidateRevision: "fn-2" }];
  const membership = { threshold: 0, shadowThreshold: 10_000, cohorts: [] };
  const status = { phase: "Progressing", functions, membership };
  const { metadata } = await users.update({ ...made, status }, { subresource: "status" });

  const watched: string[] = [];
  const recorded = recordRequests(server.connect("crossplane"));
  const { transport } = recorded;
  const stream = (asked: KubeRequest) => {
    watched.push(asked.path);
    return transport.stream(asked);
  };
  const kube = createKubeClient({ ...transport, stream });
  closing.defer(() => kube.close());
  const informers = createInformerPool(kube);
  closing.defer(() => informers.stop());
  const client = createControllerClient({ client: kube, informers });
  closing.defer(() => client.close());
  const cache = join(directory, "cache");
  const sink: string[] = [];
  const plane = createFunctionPlane(
    {
      client: kube,
      clock: systemClock,
      log: silentLog,
      settings,
      shadows: true,
      functions: {
        security: "plaintext",
        responseCache: { directory: cache },
        sink: {
          request: async () => void sink.push("request"),
          response: async () => void sink.push("response"),
        },
      },
    },
    client,
  );
  closing.defer(() => plane.close());

  const composite: CompositeSubject = {
    uid: "xr-1",
    apiVersion: "example.org/v1",
    kind: "App",
    namespace: "default",
    name: "shop",
    labels: {},
    compositionLabels: {},
  };
  const works: (() => void)[] = [];
  const call = {
    deadline: Date.now() + 20_000,
    step: { name: "compose", index: 0 },
    trace: { traceId: "t" },
    afterwards: (work: () => void) => void works.push(work),
  };
  const reference = { step: "compose", functionName: "fn", composite };
  const asked = create(RunFunctionRequest, { meta: create(RequestMeta, { tag: "t" }), observed: create(State, {}) });
  const run = await plane.runStep(reference, asked, call);
  assert.equal(run.target.revisionName, "fn-1");
  assert.deepEqual([...(run.response.desired?.resources.keys() ?? [])].sort(), ["dropped", "kept"]);
  const files = await eventually("the response is cached", () => readdirSync(cache, { recursive: true }).length);
  const records = sink.length;
  assert.ok(files > 0 && records > 0);
  recorded.takeWrites();
  recorded.sent.splice(0);
  watched.splice(0);
  for (const work of works) work();
  await plane.shadow?.runs.idle();

  const report = plane.shadow?.reports.report(metadata.uid ?? "");
  assert.deepEqual([report?.total, report?.classes.delete], [1, 1]);
  const [detail] = plane.shadow?.reports.details(metadata.uid ?? "") ?? [];
  assert.deepEqual(
    detail?.resources.map((one) => `${one.class} ${one.resource} ${one.kind}`),
    ["delete dropped ConfigMap"],
  );
  assert.deepEqual(recorded.takeWrites(), [], "nothing is written, no event either");
  assert.ok(
    recorded.sent.some((line) => line.includes("/limitranges")),
    recorded.sent.join(", "),
  );
  assert.deepEqual(watched, [], "no watch starts");
  assert.equal(readdirSync(cache, { recursive: true }).length, files, "the response cache holds nothing of it");
  assert.equal(sink.length, records, "it is not recorded as a run");
  const again = await plane.runStep(reference, asked, call);
  assert.deepEqual([again.target.revisionName, again.response.desired?.resources.size], ["fn-1", 2]);
});
