// SPDX-License-Identifier: Apache-2.0

import { connect } from "node:net";
import type { FunctionProcess, FunctionProcesses } from "@purlin/function-process";
import type { ControllerClient } from "@purlin/kube-controller";
import { memberAt, objectsAt, textAt } from "@purlin/kube-objects/object";
import { definitionKinds } from "../../package-kinds.ts";
import type { RuntimeContext } from "../package-runtime.ts";
import type { WebhookTarget } from "./provider-host.ts";

/** Where Providers serve webhooks. */
export const webhookPort = 9443;

const timeoutMs = 2_000;

/** Where the webhooks of a process are; undefined while it does not run. */
export function targetOf(process: FunctionProcess | undefined): WebhookTarget | undefined {
  if (process?.state.phase !== "serving") return undefined;
  const { endpoint } = process.state;
  const place = { host: "127.0.0.1", port: webhookPort };
  return endpoint.startsWith("unix:") ? { ...place, socketPath: endpoint.slice("unix:".length) } : place;
}

/** Removes the entries of a target. */
export function removeTarget(targets: Map<string, WebhookTarget>, target: WebhookTarget): void {
  for (const [key, one] of targets) if (isSame(one, target)) targets.delete(key);
}

/** Whether webhooks are called at a target. */
export function hasTarget(targets: ReadonlyMap<string, WebhookTarget>, target: WebhookTarget): boolean {
  return targets.values().some((one) => isSame(one, target));
}

function isSame(a: WebhookTarget, b: WebhookTarget): boolean {
  return a.port === b.port && a.socketPath === b.socketPath;
}

const webhookKinds: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

/** Whether the package has webhooks: configurations of admission, or CRDs that it converts. */
export async function declaresWebhooks(
  client: ControllerClient,
  { revision, signal }: RuntimeContext,
): Promise<boolean> {
  const references = objectsAt(revision, ["status", "objectRefs"]);
  if (references.some((one) => webhookKinds.has(textAt(one, ["kind"]) ?? ""))) return true;
  for (const one of references.filter((reference) => definitionKinds.has(textAt(reference, ["kind"]) ?? ""))) {
    const crd = await client.get(crdType, { name: textAt(one, ["name"]) ?? "" }, { signal });
    if (crd !== undefined && memberAt(crd, ["spec", "conversion", "strategy"]) === "Webhook") return true;
  }
  return false;
}

/** Whether a connection is accepted. */
export async function accepts({ security }: FunctionProcesses, target: WebhookTarget): Promise<boolean> {
  try {
    const { socketPath } = target;
    const opened = socketPath === undefined ? connectTo(target) : security.open?.(socketPath);
    (await opened)?.destroy();
    return opened !== undefined;
  } catch {
    return false;
  }
}

function connectTo({ host, port }: WebhookTarget): Promise<{ destroy(): unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ destroy(): unknown }>();
  const socket = connect({ host, port, timeout: timeoutMs });
  socket.once("connect", () => resolve(socket)).once("error", reject);
  socket.once("timeout", () => socket.destroy(new Error("timeout")));
  return promise;
}
