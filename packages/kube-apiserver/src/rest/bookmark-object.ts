// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects";
import { TEMPLATE_GENERATION } from "../builtin/daemon-set-rules.ts";
import { apiVersionOf } from "../registry/resource-type.ts";
import { inStoredOrder } from "./object-codec.ts";
import type { RestRequest } from "./rest-context.ts";

/** The annotation of the bookmark that ends the events about what was there when a watch began. */
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** What the reference's own types say even when nothing is said, in a spec and in annotations. */
const SPECS: Readonly<Record<string, JsonObject>> = {
  "apps/v1/Deployment": { replicas: 0 },
  "apps/v1/ReplicaSet": { replicas: 0 },
  "apps/v1/StatefulSet": { replicas: 0 },
};
const ANNOTATIONS: Readonly<Record<string, JsonObject>> = { "apps/v1/DaemonSet": { [TEMPLATE_GENERATION]: "0" } };

/** The object of a bookmark: of the type that is watched, empty but for the version. */
export function bookmarkObject(rest: RestRequest, revision: number, endsInitialEvents: boolean): JsonObject {
  const { type, strategy } = rest;
  const apiVersion = apiVersionOf(type);
  const key = `${apiVersion}/${type.kind}`;
  const { spec, ...empty } = strategy.emptyObject?.() ?? { apiVersion, kind: type.kind };
  const annotations = { ...ANNOTATIONS[key], ...(endsInitialEvents && { [INITIAL_EVENTS_END]: "true" }) };
  const metadata = {
    resourceVersion: String(revision),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
  const { status, ...members } = empty as { readonly status?: JsonObject } & JsonObject;
  const parts = {
    ...(spec !== undefined && { spec: { ...SPECS[key], ...(spec as JsonObject) } }),
    ...(status !== undefined && { status }),
  };
  return inStoredOrder({ ...members, ...parts, metadata }, type);
}
