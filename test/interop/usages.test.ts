// SPDX-License-Identifier: Apache-2.0
// Usages on a real kube-apiserver, which asks our webhook; the same cases run on the embedded server in the unit tests.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { keptCrds } from "@purlin/composition";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { textOf } from "@purlin/kube-objects/errors";
import { objectsAt } from "@purlin/kube-objects/object";
import type { CommandInput } from "../../packages/cli/src/options/command-spec.ts";
import { openUsageWebhook } from "../../packages/cli/src/start/start-services.ts";
import { testUsages } from "../../packages/composition/test/usage-cases.ts";
import { refTo, testDefinitionGuard, UsageScene } from "../../packages/composition/test/usage-scene.ts";
import { startUsageWebhook, type UsageWebhook } from "../../packages/control-plane/src/usage-webhook.ts";
import { cacheDirectory } from "../../tools/peers/cache-directory.ts";
import { freePort } from "../../tools/peers/free-port.ts";
import { goController, goControllerIn, pythonClient } from "../../tools/peers/kube-clients.ts";
import { installed } from "../../tools/peers/peer.ts";
import { type Program, runProgram } from "./apiserver/run-program.ts";
import { startKubernetesServer } from "./kubernetes-server.ts";

const configuration = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };
const opened = new AsyncDisposableStack();
let server: Awaited<ReturnType<typeof startKubernetesServer>>;
let client: KubeClient;
let scene: UsageScene;
let webhook: Pick<UsageWebhook, "configure"> & AsyncDisposable;
const tlsServerSecretName = "crossplane-tls-server";

async function serve(failurePolicy: "Fail" | "Ignore" = "Fail") {
  const port = await freePort();
  const { signal } = new AbortController();
  const options = {
    client,
    namespace: "default",
    listen: { port, host: "127.0.0.1" },
    url: `https://localhost:${port}`,
    failurePolicy,
    usages: true,
    secretName: tlsServerSecretName,
    clock: systemClock,
    log: silentLog,
  };
  const started = await startUsageWebhook(options, signal);
  await started.configure(signal);
  return started;
}

before(async () => {
  server = await startKubernetesServer("namespace-controller");
  client = createKubeClient(server.connect("crossplane"));
  opened.defer(() => client.close());
  await installCrds(client, keptCrds());
  webhook = await serve();
  scene = await UsageScene.start(server);
});
after(async () => {
  await webhook[Symbol.asyncDispose]();
  await opened.disposeAsync();
  await scene[Symbol.asyncDispose]();
});

testUsages("Usages on a real kube-apiserver", () => scene);

testDefinitionGuard("managed resource definitions on a real kube-apiserver", () => scene);

/** What an API server answered to a deletion. */
interface Deletion {
  readonly object: string;
  readonly dryRun: boolean;
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

/** Programs that delete objects, each as a dry run first, and print a Deletion a line. */
const clients: Readonly<Record<string, (objects: readonly string[]) => Program>> = {
  "client-go": (objects) => ({
    program: goControllerIn(installed(goController, cacheDirectory)),
    args: [`-access=${server.kubeconfig}`, `-delete=${objects.join(",")}`],
  }),
  "the Python client": (objects) => ({
    program: join(installed(pythonClient, cacheDirectory), "bin", "python"),
    args: [join(import.meta.dirname, "apiserver", "clients", "deletions.py"), server.kubeconfig, ...objects],
  }),
};

/** A used and an unused ConfigMap in a new namespace, and the denial of the used one. */
async function usedAndFree() {
  const namespace = await scene.namespace();
  const used = await scene.configMap(namespace, "used");
  const free = await scene.configMap(namespace, "free");
  const usage = await scene.ready(await scene.usage(namespace, { of: refTo("used"), reason: "kept for the audit" }));
  const { name = "" } = usage.metadata;
  const reason = `This resource is in-use by 1 usage(s), including the *v1beta1.Usage "${name}" (in namespace "${namespace}") with reason: "kept for the audit".`;
  const message = `admission webhook "nousages.protection.crossplane.io" denied the request: ${reason}`;
  return { namespace, used, free, reason, message };
}

suite("other clients of a real kube-apiserver", () => {
  for (const [name, program] of Object.entries(clients)) {
    test(`${name} gets the denial of a used object, and deletes another`, async () => {
      const { namespace, used, free, reason, message } = await usedAndFree();
      const objects = [`${namespace}/used`, `${namespace}/free`];
      const { exitCode, stdout, stderr } = await runProgram(program(objects));
      assert.deepEqual([exitCode, stderr], [0, ""]);
      const lines = stdout.trim().split("\n");
      const denied = { object: objects[0] ?? "", code: 409, reason, message };
      const deleted = { object: objects[1] ?? "", code: 200, reason: "", message: "" };
      const expected: readonly Deletion[] = [
        { ...denied, dryRun: true },
        { ...denied, dryRun: false },
        { ...deleted, dryRun: true },
        { ...deleted, dryRun: false },
      ];
      assert.deepEqual(
        lines.map((line) => JSON.parse(line) as Deletion),
        expected,
      );
      assert.ok(await scene.find(used));
      await scene.gone(free);
    });
  }

  test("kubectl prints the denial of a used object, and deletes another", async () => {
    const { namespace, used, free, reason, message } = await usedAndFree();
    const kubectl = (...words: readonly string[]) =>
      runProgram({
        program: server.kubectl,
        args: [`--kubeconfig=${server.kubeconfig}`, `--namespace=${namespace}`, "delete", "configmap", ...words],
      });
    for (const how of ["server", "none"]) {
      const { exitCode, stdout, stderr } = await kubectl("used", "free", `--dry-run=${how}`);
      const suffix = how === "none" ? "" : " (server dry run)";
      assert.equal(stderr, `Error from server (${reason}): ${message}\n`);
      const from = stdout.includes(" from ") ? ` from ${namespace} namespace` : "";
      assert.equal(stdout, `configmap "free" deleted${from}${suffix}\n`);
      assert.equal(exitCode, 1);
      assert.equal((await scene.find(free)) !== undefined, how === "server");
    }
    assert.ok(await scene.find(used));
  });
});

test("while the webhook does not answer, used objects stay and others go; with Ignore, used ones go too", async () => {
  const namespace = await scene.namespace();
  const used = await scene.configMap(namespace, "used");
  const free = await scene.configMap(namespace, "free");
  await scene.ready(await scene.usage(namespace, { of: refTo("used"), reason: "r" }));
  // The control plane of this suite is in the namespace default.
  const own = await scene.configMap("default", "own", { labels: { "crossplane.io/in-use": "true" } });
  await webhook[Symbol.asyncDispose]();
  await scene.delete(own);
  await scene.gone(own);
  await assert.rejects(scene.delete(used), /failed calling webhook "nousages\.protection\.crossplane\.io"/);
  await scene.delete(free);
  webhook = await serve("Ignore");
  // kube-apiserver calls webhooks by its cache of configurations, which is a moment behind.
  await eventually("kube-apiserver has the new configuration", () =>
    scene.delete(used, { dryRun: true }).then(
      () => false,
      (error: unknown) => textOf(error).includes("This resource is in-use"),
    ),
  );
  await webhook[Symbol.asyncDispose]();
  await scene.delete(used);
  await scene.gone(used);
});

/** What `purlin start` does with its flags. */
async function startWith(options: CommandInput["options"]) {
  const port = await freePort();
  const given = { webhookUrl: `https://localhost:${port}`, webhookPort: String(port), tlsServerSecretName, ...options };
  const { signal } = new AbortController();
  const io = { env: {}, signal };
  const opened = await openUsageWebhook({ args: [], options: given }, io, {
    client,
    namespace: "default",
    log: silentLog,
  });
  await opened.configure(signal);
  return opened;
}

const webhookNames = async (): Promise<readonly string[]> => {
  const found = await client.get(configuration, { name: "crossplane-no-usages" });
  return objectsAt(found, ["webhooks"]).map(({ name }) => String(name));
};

test("the configuration is ours", async () => {
  const found = await client.get(configuration, { name: "crossplane-no-usages" });
  const [first] = objectsAt(found, ["webhooks"]);
  assert.deepEqual([first?.["sideEffects"], first?.["failurePolicy"]], ["NoneOnDryRun", "Ignore"]);
  assert.deepEqual(await webhookNames(), ["nousages.protection.crossplane.io", "nodataloss.purlin.dev"]);
});

suite("while Usages are off", () => {
  before(async () => {
    webhook = await startWith({ enableUsages: false, enableWebhooks: true });
  });

  testDefinitionGuard("managed resource definitions are still protected", () => scene);

  test("used objects are not", async () => {
    assert.deepEqual(await webhookNames(), ["nodataloss.purlin.dev"]);
    const namespace = await scene.namespace();
    const used = await scene.configMap(namespace, "used");
    await scene.ready(await scene.usage(namespace, { of: refTo("used"), reason: "r" }));
    await scene.delete(used);
    await scene.gone(used);
  });
});

test("the configuration is removed while webhooks are off, and with Usages off where the API server cannot reach us", async () => {
  for (const options of [
    { enableUsages: true },
    { enableUsages: false, enableWebhooks: true, webhookUrl: undefined },
  ]) {
    await webhook.configure(new AbortController().signal);
    await startWith(options);
    await assert.rejects(webhookNames(), /not found/);
  }
});
