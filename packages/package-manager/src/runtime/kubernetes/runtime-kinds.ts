// SPDX-License-Identifier: Apache-2.0
import type { TypeRef } from "@purlin/kube-objects/object";

/** The kinds that runtimes on a cluster are made of. */
export const runtimeKinds: Readonly<Record<"deployment" | "service" | "serviceAccount" | "secret", TypeRef>> = {
  deployment: { apiVersion: "apps/v1", kind: "Deployment" },
  service: { apiVersion: "v1", kind: "Service" },
  serviceAccount: { apiVersion: "v1", kind: "ServiceAccount" },
  secret: { apiVersion: "v1", kind: "Secret" },
};

/** Where functions and webhooks listen. */
export const runtimePort = 9443;
