// SPDX-License-Identifier: Apache-2.0
// An API server whose control plane has ended: what no process reconciles, and what a second control plane reconciles instead.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startControlPlane } from "@purlin/control-plane";
import { type Explanation, explainAll, explainObject, explanationText } from "@purlin/explain";
import { nopLogger, request, response, start } from "@purlin/function-sdk";
import { createKubeClient } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { compositionOf, definitionOf } from "../../packages/explain/test/platform.ts";
import { conditionOf, functionAt, type UserView, userView } from "./harness/plane.ts";
import { startServer } from "./harness/server.ts";

const namespace = "default";
const system = "crossplane-system";
const tenMinutes = 600_000;
const leaseType = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
const leaseKey = { name: "crossplane-leader-election-core", namespace: system };

let view: UserView;
const closing = new AsyncDisposableStack();

const app = (name: string, spec: JsonObject = {}): KubeObject => ({
  ...{ apiVersion: "example.org/v1", kind: "App" },
  metadata: { name, namespace },
  spec: { crossplane: { compositionRef: { name: "apps" } }, ...spec },
});
const shop: KubeObject = {
  ...{ apiVersion: "example.org/v1", kind: "Shop" },
  metadata: { name: "late", namespace },
  spec: { compositionRef: { name: "shops" } },
};
const isReady = (one: KubeObject): boolean => conditionOf(one, "Ready")?.status === "True";

before(async () => {
  const server = await startServer();
  closing.defer(() => server.stop());
  const users = createKubeClient(await server.connect("users"));
  closing.defer(() => users.close());
  view = userView(users);
  await view.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: system } });
  await endedControlPlane(await server.connect("crossplane"));
  // What users do now is seen by no controller.
  await view.apply(app("unseen"), app("changed", { text: "b" }));
});
after(() => closing.disposeAsync());

/** A control plane with an election that composes an App and a claim, and ends while the composite resource of the claim is not ready. */
async function endedControlPlane(transport: Parameters<typeof createKubeClient>[0]): Promise<void> {
  await using ending = new AsyncDisposableStack();
  const options = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger };
  const fn = ending.use(
    await start((req) => {
      const rsp = response.to(req);
      response.setDesiredCompositeReady(
        rsp,
        request.getObservedCompositeResource(req).resource.getString("kind") === "App",
      );
      return rsp;
    }, options),
  );
  const client = createKubeClient(transport);
  ending.defer(() => client.close());
  const plane = ending.use(
    startControlPlane({
      client,
      functions: { security: "plaintext" },
      settings: { developmentFunctions: true },
      election: { namespace: system, identity: "purlin-a" },
    }),
  );
  await plane.ready;
  await view.apply(functionAt("fn", fn.address), definitionOf("App"), definitionOf("XShop", { claim: "Shop" }));
  await view.apply(compositionOf("apps", "App", {}), compositionOf("shops", "XShop", {}));
  await view.apply(app("changed", { text: "a" }), shop);
  await view.until("it is ready", app("changed"), keyOf(app("changed")), isReady);
  await view.until("it waits", shop, keyOf(shop), (one) => conditionOf(one, "Ready")?.status === "False");
}

async function explain(object: KubeObject): Promise<Explanation> {
  const stored = await view.get(object, keyOf(object));
  return explainObject(stored, { client: view.users, now: () => Date.now() + tenMinutes, systemNamespace: system });
}

function check(explanation: Explanation, code: string, [says, next]: readonly [RegExp, RegExp]): void {
  const text = explanationText(explanation);
  const [cause] = explanation.causes;
  assert.equal(cause?.code, code, text);
  assert.match(cause?.sentence ?? "", says, text);
  assert.match(cause?.next[0] ?? "", next, text);
  assert.equal(explanation.causes.length, 1, text);
  assert.deepEqual(cause?.object, explanation.object, text);
  assert.ok((cause?.evidence.length ?? 0) > 0, text);
}

test("E09: an object that was created after the control plane ended names the Lease", async () => {
  const says =
    /^App default\/unseen is not reconciled: no control plane is running: Lease crossplane-system\/crossplane-leader-election-core was renewed .* ago by /;
  check(await explain(app("unseen")), "E09", [says, /^start the control plane: purlin start$/]);
});

test("E10: a change that no control plane has seen", async () => {
  const says = /^Generation \d+ of App default\/changed is not reconciled yet; the status is of generation \d+,/;
  const next =
    /^kubectl annotate --overwrite app\.example\.org\/changed -n default crossplane\.io\/reconcile-requested-at=/;
  check(await explain(app("changed")), "E10", [says, next]);
});

test("E54: a claim that no controller updates does not show that its composite resource became ready", async () => {
  const { spec } = (await view.get(shop, keyOf(shop))) as KubeObject & { spec: { resourceRef: { name: string } } };
  const type = { apiVersion: "example.org/v1", kind: "XShop" };
  const xr = await view.get(type, { name: spec.resourceRef.name });
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const conditions = ["Synced", "Ready"].map((one) => ({
    type: one,
    status: "True",
    reason: "Fine",
    lastTransitionTime,
  }));
  await view.users.update(
    { ...xr, status: { ...(xr["status"] as JsonObject), conditions } },
    { subresource: "status" },
  );
  const next =
    /^kubectl annotate --overwrite shop\.example\.org\/late -n default crossplane\.io\/reconcile-requested-at=/;
  const says = /^XShop late-\w+ became ready .* ago, and its claim does not show it$/;
  check(await explain(shop), "E54", [says, next]);
});

test("all of them are found without a name", async () => {
  const { explanations } = await explainAll({
    ...{ client: view.users, now: () => Date.now() + tenMinutes, systemNamespace: system },
  });
  const found = explanations.map(({ object, causes }) => `${object.kind} ${object.name} ${causes[0]?.code ?? ""}`);
  assert.ok(found.includes("App unseen E09"), found.join("\n"));
  assert.ok(found.includes("App changed E10"), found.join("\n"));
  assert.ok(found.includes("Shop late E54"), found.join("\n"));
});

test("E65: a Crossplane beside holds the Lease", async () => {
  const renewTime = new Date(Date.now() + tenMinutes).toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: "crossplane-abc", renewTime };
  await view.users.patch({ ...leaseType, ...leaseKey }, { spec }, { type: "merge" });
  const labels = { app: "crossplane" };
  const containers = [{ name: "crossplane", image: "registry.example.org/crossplane:v2" }];
  const deployment: KubeObject = {
    ...{ apiVersion: "apps/v1", kind: "Deployment" },
    metadata: { name: "crossplane", namespace: system, labels },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
  await view.apply(deployment);
  const stored = await view.get(deployment, keyOf(deployment));
  await view.users.update(
    { ...stored, status: { replicas: 1, readyReplicas: 1, availableReplicas: 1 } },
    { subresource: "status" },
  );
  const says =
    /is not reconciled: Deployment crossplane-system\/crossplane \(Crossplane\) also runs; .* is held by crossplane-abc$/;
  const next = /^kubectl -n crossplane-system scale deployment crossplane --replicas=0$/;
  check(await explain(app("unseen")), "E65", [says, next]);
});
