// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { create, RequestMeta, RunFunctionRequest } from "@purlin/function-protocol";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackagePlane } from "./plane.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const patienceMs = 120_000;
let calls = 0;

/** Calls a function once and waits for the answer. Each name is a connection of its own. */
export async function callOnce({ runner }: PackagePlane, endpoint: string, connection: string): Promise<void> {
  const target = { functionName: "fn", revisionName: connection, packageRef: "", endpoint, revision: 1 };
  const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag: String(calls++) }) });
  await runner.run(target, request, { deadline: Date.now() + patienceMs });
}

/** Installs a package and returns the endpoint as soon as it is published. */
export async function install({ users }: PackagePlane, name: string, reference: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const stop = new AbortController();
  const { resourceVersion } = await users.list(revisionType);
  const watching = follow();
  const object = { ...functionType, metadata: { name }, spec: { package: reference } };
  await users.create(object as KubeObject);
  const endpoint = await promise;
  stop.abort();
  await watching;
  return endpoint;

  async function follow(): Promise<void> {
    const options = { resourceVersion, signal: stop.signal };
    try {
      for await (const event of await users.watch(revisionType, options)) {
        const endpoint = "object" in event ? ((event.object["status"] ?? {}) as { endpoint?: string }).endpoint : "";
        if (endpoint) resolve(endpoint);
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  }
}

/** Takes a package away and returns when its process is gone. */
export async function uninstall({ users, processes }: PackagePlane, name: string): Promise<void> {
  await users.delete({ ...functionType, name });
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const { items } = await users.list(revisionType);
    if (items.length === 0 && processes.list().length === 0) return;
    if (performance.now() > deadline) throw new Error(`waited in vain: ${name} is gone`);
    await delay(20);
  }
}
