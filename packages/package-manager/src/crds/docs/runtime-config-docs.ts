// SPDX-License-Identifier: Apache-2.0
import type { FieldTexts, KindDocs } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects";

const templateTexts = (name: string): FieldTexts => ({
  [`spec.${name}.metadata`]: "Metadata of the object.",
  [`spec.${name}.metadata.name`]: "Name of the object; made from that of the revision if left out.",
  [`spec.${name}.metadata.labels`]: "Labels of the object.",
  [`spec.${name}.metadata.annotations`]: "Annotations of the object.",
});

/** The texts of a part that is Kubernetes' own: each field says where `kubectl explain` describes it. */
function builtInTexts(schema: JsonObject, at: string, there: string): FieldTexts {
  const inner = [schema["items"], schema["additionalProperties"]].filter((one) => isJsonObject(one));
  const properties = isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return Object.assign(
    {},
    ...inner.map((one) => builtInTexts(one, at, there)),
    ...properties.map(([name, field]) => ({
      [`${at}.${name}`]: `As in a Deployment: see kubectl explain ${there}.${name}`,
      ...(isJsonObject(field) ? builtInTexts(field, `${at}.${name}`, `${there}.${name}`) : {}),
    })),
  ) as FieldTexts;
}

export function runtimeConfigDocs(deploymentSpec: JsonObject): KindDocs {
  return {
    about:
      "A DeploymentRuntimeConfig changes the Deployment, Service and ServiceAccount that run a package. A package uses the one " +
      "in its runtimeConfigRef.",
    fields: {
      ...templateTexts("deploymentTemplate"),
      ...templateTexts("serviceTemplate"),
      ...templateTexts("serviceAccountTemplate"),
      "spec.deploymentTemplate": "What the Deployment has in addition to what the control plane sets.",
      "spec.deploymentTemplate.spec":
        "Spec of the Deployment. The container of the package is named package-runtime; others are added beside it.",
      ...builtInTexts(deploymentSpec, "spec.deploymentTemplate.spec", "deployment.spec"),
      "spec.serviceTemplate": "What the Service has in addition to what the control plane sets.",
      "spec.serviceAccountTemplate": "What the ServiceAccount has in addition to what the control plane sets.",
    },
  };
}
