// SPDX-License-Identifier: Apache-2.0
// Providers on the provider kit without a sandbox and without networks of their own: they share the files and the ports of the machine.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { conditionOf, conditionsOf, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { freePort } from "../../../tools/peers/free-port.ts";
import { type EmbeddedPlane, purlin, startPlane } from "../packages/embedded-plane.ts";
import { openWorkshop, type Workshop } from "../packages/function-packages.ts";
import { fleetWebhook, kitProject, kitProviderAt } from "./provider-packages.ts";

const provider = { apiVersion: "pkg.crossplane.io/v1", kind: "Provider" };
let plane: EmbeddedPlane;
let workshop: Workshop;
let port: number;
before(async () => {
  workshop = openWorkshop();
  port = await freePort();
  plane = await startPlane({ sandbox: false, flags: [join(kitProject, "platform")], env: { PURLIN_EGRESS: "none" } });
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  workshop?.[Symbol.dispose]();
});

type Wish = Omit<Parameters<typeof kitProviderAt>[1], "port"> & { readonly port?: number };

async function install(wish: Wish): Promise<void> {
  const file = await kitProviderAt(workshop, { port, ...wish });
  const image = await plane.push(file, `acme/${wish.name}:v1`);
  await plane.users.create({ ...provider, metadata: { name: wish.name }, spec: { package: image } } as KubeObject);
}

const healthOf = (object: KubeObject): string => conditionOf(conditionsOf(object), "Healthy").message ?? "";

/** Waits until the condition of a Provider matches, and until an event about it or its revision does. */
async function untilItSays(name: string, pattern: RegExp): Promise<void> {
  await plane.until(`${name} says ${pattern}`, { ...provider, name }, (one) => pattern.test(healthOf(one)));
  // The event follows the condition.
  for (let left = 50; ; left -= 1) {
    const { items } = await plane.users.list({ apiVersion: "v1", kind: "Event" });
    const warnings = items.filter(({ type }) => type === "Warning").map(({ message }) => String(message));
    if (warnings.some((text) => pattern.test(text))) return;
    assert.notEqual(left, 0, warnings.join("\n"));
    await delay(100);
  }
}

test("a Provider finds the API server by KUBECONFIG, and a composite resource makes a file of the machine", async () => {
  await install({ name: "provider-files", kind: "File", port: await freePort() });
  await purlin(
    "apply",
    "-f",
    join(kitProject, "examples", "xr.yaml"),
    "--kubeconfig",
    join(plane.directory, "kubeconfig"),
  );
  const note = { apiVersion: "notes.example.org/v1", kind: "Note", namespace: "default", name: "greeting" };
  const isReady = (one: KubeObject): boolean => conditionOf(conditionsOf(one), "Ready").status === "True";
  const found = await plane.until("the note is ready", note, isReady);
  assert.equal(readFileSync(String(memberAt(found, ["status", "path"])), "utf8"), "hello");
  const stored = await plane.users.get(provider, { name: "provider-files" });
  const revision = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision" };
  const name = String(memberAt(stored, ["status", "currentRevision"]));
  // A Provider works before the control plane's next look at its process makes it healthy.
  const healthy = await plane.until("the runtime is healthy", { ...revision, name }, (one) => {
    return conditionOf(conditionsOf(one), "RuntimeHealthy").status === "True";
  });
  const { message } = conditionOf(conditionsOf(healthy), "RuntimeHealthy");
  assert.match(message ?? "", /runs without a sandbox and finds the API server by KUBECONFIG/);
  assert.match(message ?? "", /shares the network of this machine: PURLIN_EGRESS=none; install pasta/);
});

test("two Providers with the same port: the second says so, with the next step, and can be deleted", async () => {
  await install({ name: "provider-first", kind: "First" });
  await plane.until(
    "the first is healthy",
    { ...provider, name: "provider-first" },
    (one) => conditionOf(conditionsOf(one), "Healthy").status === "True",
  );
  await install({ name: "provider-second", kind: "Second" });
  await untilItSays("provider-second", /EADDRINUSE.*another program uses a port of the provider: install pasta/);
  await plane.users.delete({ ...provider, name: "provider-second" });
});

test("a Provider that does not serve the webhook that it declares says so", async () => {
  const objects = [{ ...fleetWebhook, metadata: { name: "unserved" } }];
  await install({ name: "provider-unserved", kind: "Unserved", port: await freePort(), objects });
  await untilItSays("provider-unserved", /declares webhooks but does not accept connections at port 9443/);
  await plane.users.delete({ ...provider, name: "provider-unserved" });
});
