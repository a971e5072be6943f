// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Subresource } from "../src/registry/registry.ts";
import { requestTarget } from "../src/request/request-target.ts";
import type { RestRequest } from "../src/rest/rest-context.ts";
import type { Store } from "../src/store/store.ts";
import { testRequest } from "./test-request.ts";

/** A POST for Pods or Bindings at 2030-01-02T03:04:05Z, without admission. */
export function podRequest(store: Store<JsonObject>, url: string, body: JsonObject): RestRequest {
  const request = testRequest(url, { method: "POST", body });
  const target = requestTarget(request.method, request.path, request.query);
  if (target.kind !== "resource") throw new Error(`${url} is not the path of a resource`);
  const { resource } = target;
  const kind = resource === "pods" ? "Pod" : "Binding";
  const storage = { group: "", resource, version: "v1" };
  const subresources: readonly Subresource[] = [];
  const type = { group: "", version: "v1", kind, resource, namespaced: true, storage, rules: {}, subresources };
  const strategy = { storage: { toServed: (stored: JsonObject) => stored }, validator: {} };
  const admission = { find: () => undefined };
  const now = (): Date => new Date("2030-01-02T03:04:05Z");
  return { store, request, target, type, strategy, admission, now, notes: [] } as unknown as RestRequest;
}
