// SPDX-License-Identifier: Apache-2.0
// Functions as packages install them: FunctionRevisions with endpoints, called over mutual TLS.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tlsFromDirectory } from "@purlin/function-runner";
import { nopLogger, type RunningFunction, response, start } from "@purlin/function-sdk";
import { eventually } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  app,
  appComposition,
  appDefinition,
  conditionStatus,
  type EmbeddedApi,
  functionAt,
  startEmbeddedApi,
  testCertificates,
} from "../test/embedded-api.ts";
import type { ControlPlaneOptions } from "./control-plane-options.ts";
import { startControlPlane } from "./start-control-plane.ts";

const namespace = "default";

/** A function that writes its name to the status. */
const serveAs = (name: string, tlsCertsDir: string): Promise<RunningFunction> =>
  start(
    (req) => {
      const rsp = response.to(req);
      response.setDesiredCompositeStatus(rsp, { seen: name });
      return rsp;
    },
    { address: "127.0.0.1:0", tlsCertsDir, metricsAddress: "", log: nopLogger },
  );

function revision(number: number, labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name: `fn-${number}`, labels: { "pkg.crossplane.io/package": "fn", ...labels } },
    spec: { desiredState: "Active", image: `example.org/fn:v${number}`, revision: number },
  };
}

/** What a runtime publishes when the function answers. */
async function publish({ users }: EmbeddedApi, name: string, endpoint: string): Promise<void> {
  const found = await users.get({ apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" }, { name });
  const status = { endpoint, capabilities: ["composition"] };
  await users.update({ ...found, status }, { subresource: "status" });
}

const portOf = ({ address }: RunningFunction): string => `localhost:${address.split(":").at(-1)}`;
const plainFunction = { ...functionAt(""), metadata: { name: "fn" } };

async function applyAll({ users }: EmbeddedApi, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await eventually(`${object.kind} is taken`, () => users.apply(object, { fieldManager: "test", force: true }));
  }
}

const seenBy = ({ users }: EmbeddedApi, name: string, wanted: string): Promise<KubeObject> =>
  eventually(`App ${name} has seen ${wanted}`, async () => {
    const found = await users.get(app, { namespace, name });
    return (found["status"] as { seen?: string } | undefined)?.seen === wanted && found;
  });

const appOf = (name: string): KubeObject => ({ ...app, metadata: { name, namespace }, spec: {} });

function options(api: EmbeddedApi, directory: string, more: Partial<ControlPlaneOptions> = {}): ControlPlaneOptions {
  return { client: api.connect(), functions: { security: tlsFromDirectory(directory) }, ...more };
}

test("a step is served by the active revision that answers, and by its successor once that answers", async () => {
  await using api = await startEmbeddedApi();
  using certs = testCertificates();
  await using one = await serveAs("one", certs.directory);
  await using two = await serveAs("two", certs.directory);
  await using plane = startControlPlane(options(api, certs.directory));
  const { engine } = await plane.ready;
  const look = (): void => engine.enqueue("composite/apps.example.org", { namespace, name: "a" });
  await applyAll(api, [plainFunction, revision(1), appDefinition, appComposition]);
  await publish(api, "fn-1", portOf(one));
  await applyAll(api, [appOf("a")]);
  await seenBy(api, "a", "one");
  await applyAll(api, [revision(2)]);
  look();
  await seenBy(api, "a", "one");
  await publish(api, "fn-2", portOf(two));
  await eventually("the successor serves", async () => {
    look();
    const found = await api.users.get(app, { namespace, name: "a" });
    return (found["status"] as { seen?: string }).seen === "two";
  });
});

test("a function that is not served is named on the resource, which recovers when it is served", async () => {
  await using api = await startEmbeddedApi();
  using certs = testCertificates();
  await using one = await serveAs("one", certs.directory);
  await using plane = startControlPlane(options(api, certs.directory));
  await plane.ready;
  await applyAll(api, [plainFunction, appDefinition, appComposition, appOf("a")]);
  const failed = await eventually("it says so", async () => {
    const found = await api.users.get(app, { namespace, name: "a" });
    const message = syncedMessage(found);
    return message.includes("cannot find an active FunctionRevision") && found;
  });
  assert.equal(conditionStatus(failed, "Synced"), "False");
  assert.match(syncedMessage(failed), /pipeline step "compose"/);
  await applyAll(api, [revision(1)]);
  await publish(api, "fn-1", portOf(one));
  await seenBy(api, "a", "one");
});

test("a Function under development is not called unless that is allowed", async () => {
  await using api = await startEmbeddedApi();
  using certs = testCertificates();
  await using plane = startControlPlane(options(api, certs.directory));
  await plane.ready;
  await applyAll(api, [functionAt("127.0.0.1:1"), appDefinition, appComposition, appOf("a")]);
  await eventually("it says what is needed", async () => {
    const found = await api.users.get(app, { namespace, name: "a" });
    return syncedMessage(found).includes("--allow-development-functions");
  });
});

test("a step that names a revision gets that one, with the flag on; off, it fails and says which flag", async () => {
  const pinned: KubeObject = {
    ...appComposition,
    spec: {
      compositeTypeRef: app,
      mode: "Pipeline",
      pipeline: [{ step: "compose", functionRef: { name: "fn" }, functionRevisionRef: { name: "fn-1" } }],
    },
  };
  using certs = testCertificates();
  await using one = await serveAs("one", certs.directory);
  await using two = await serveAs("two", certs.directory);
  for (const functionRevisionSelectors of [true, false]) {
    await using api = await startEmbeddedApi();
    await using plane = startControlPlane(options(api, certs.directory, { settings: { functionRevisionSelectors } }));
    await plane.ready;
    await applyAll(api, [plainFunction, revision(1), revision(2), appDefinition, pinned]);
    await publish(api, "fn-1", portOf(one));
    await publish(api, "fn-2", portOf(two));
    await applyAll(api, [appOf("a")]);
    if (functionRevisionSelectors) await seenBy(api, "a", "one");
    else {
      await eventually("it says which flag", async () => {
        const found = await api.users.get(app, { namespace, name: "a" });
        return syncedMessage(found).includes("--enable-function-revision-selectors");
      });
    }
  }
});

test("the conditions of all steps of a pipeline together are limited", async () => {
  await using api = await startEmbeddedApi();
  using certs = testCertificates();
  await using served = await start(
    (req) => {
      const rsp = response.to(req);
      response.conditionTrue(rsp, "Large", "R").withMessage("x".repeat(1500));
      return rsp;
    },
    { address: "127.0.0.1:0", tlsCertsDir: certs.directory, metricsAddress: "", log: nopLogger },
  );
  const functions = { security: tlsFromDirectory(certs.directory), answerLimits: { objectBytes: 2000 } };
  await using plane = startControlPlane(options(api, certs.directory, { functions }));
  await plane.ready;
  const pipeline = ["one", "two"].map((step) => ({ step, functionRef: { name: "fn" } }));
  const spec = { compositeTypeRef: app, mode: "Pipeline", pipeline };
  await applyAll(api, [plainFunction, revision(1), appDefinition, { ...appComposition, spec }]);
  await publish(api, "fn-1", portOf(served));
  await applyAll(api, [appOf("a")]);
  await eventually("the second step is refused", async () => {
    const message = syncedMessage(await api.users.get(app, { namespace, name: "a" }));
    return message.includes('the conditions of all steps up to "two" have more than 2000 characters');
  });
});

function syncedMessage(object: KubeObject): string {
  const status = object["status"] as { conditions?: readonly { type: string; message?: string }[] } | undefined;
  return status?.conditions?.find(({ type }) => type === "Synced")?.message ?? "";
}
