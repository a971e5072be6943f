// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackageType } from "../../package-kinds.ts";
import { runtimeKinds, runtimePort } from "./runtime-kinds.ts";
import { podLabels } from "./runtime-names.ts";
import { type ObjectPlace, templatedMetadata } from "./templated-metadata.ts";

/** The revision a Service leads to, and where the Service is. */
export interface ServiceInput {
  readonly type: PackageType;
  readonly revision: KubeObject;
  /** `spec` of the runtime config. */
  readonly config: JsonObject;
  readonly place: ObjectPlace;
}

/** The Service of a revision. That of a function is headless: callers balance between its Pods themselves. */
export function serviceOf({ type, revision, config, place }: ServiceInput): KubeObject {
  const common = { port: runtimePort, protocol: "TCP" };
  const spec =
    type.kind === "Function"
      ? { clusterIP: "None", ports: [{ name: "grpc", ...common, targetPort: "grpc", appProtocol: "tls" }] }
      : { ports: [{ name: "webhook", ...common, targetPort: "webhook" }] };
  return {
    ...runtimeKinds.service,
    metadata: templatedMetadata(config, "serviceTemplate", place),
    spec: { ...spec, selector: podLabels(type, revision) },
  };
}
