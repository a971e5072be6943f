// SPDX-License-Identifier: Apache-2.0

import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { textAt } from "@purlin/kube-objects/object";
import { packageLabels } from "../../package-kinds.ts";
import type { DeploymentInput } from "./deployment.ts";
import { runtimePort } from "./kubernetes-runtime-options.ts";
import { addMissing, mergeByName } from "./templated-metadata.ts";

const packageUser = 2000;

/** An arbitrary uid that is not root. */
export const unprivileged: JsonObject = { runAsNonRoot: true, runAsUser: packageUser, runAsGroup: packageUser };

const confined: JsonObject = { ...unprivileged, privileged: false, allowPrivilegeEscalation: false };
/**
 * A Pod without a probe counts as ready before its process serves, and a build that cannot start would replace
 * the serving one.
 */
const answers: JsonObject = { tcpSocket: { port: "grpc" }, periodSeconds: 2 };
const serverFolder = "/tls/server";
const clientFolder = "/tls/client";

/** The container that runs the package: that of the template, completed. */
export function runtimeContainer(input: DeploymentInput, given: JsonObject): JsonObject {
  const { type, revision, names, image } = input;
  const policy = textAt(revision, ["spec", "packagePullPolicy"]) ?? given["imagePullPolicy"] ?? "IfNotPresent";
  const port = type.kind === "Function" ? "grpc" : "webhook";
  return {
    ...given,
    name: "package-runtime",
    image: given["image"] || image,
    imagePullPolicy: policy,
    securityContext: given["securityContext"] ?? confined,
    ports: addMissing(withProtocol(itemsOf(given, "ports")), [
      { name: "metrics", containerPort: 8080, protocol: "TCP" },
      { name: port, containerPort: runtimePort, protocol: "TCP" },
    ]),
    ...(type.kind === "Function" && { readinessProbe: given["readinessProbe"] ?? answers }),
    env: mergeByName(itemsOf(given, "env"), environmentOf(input)),
    volumeMounts: mergeByName(itemsOf(given, "volumeMounts"), mountsOf(names.clientSecret !== undefined), "mountPath"),
  };
}

/** The protocol is part of the key of a port, so it is set even to its default. */
function withProtocol(ports: readonly JsonObject[]): JsonObject[] {
  return ports.map((port) => ({ protocol: "TCP", ...port }));
}

function mountsOf(hasClient: boolean): JsonObject[] {
  const mount = (name: string, mountPath: string): JsonObject => ({ name, mountPath, readOnly: true });
  return [...(hasClient ? [mount("tls-client-certs", clientFolder)] : []), mount("tls-server-certs", serverFolder)];
}

function environmentOf({ type, revision, names }: DeploymentInput): JsonObject[] {
  const uid = { name: "REVISION_UID", value: revision.metadata.uid ?? "" };
  const server = { name: "TLS_SERVER_CERTS_DIR", value: serverFolder };
  const revisionName = fromField("REVISION_NAME", labelField(packageLabels.revision));
  if (type.kind === "Function") {
    return [server, fromField("FUNCTION_NAME", labelField(packageLabels.function)), revisionName, uid];
  }
  return [
    ...(names.clientSecret === undefined ? [] : [{ name: "TLS_CLIENT_CERTS_DIR", value: clientFolder }]),
    server,
    fromField("POD_NAMESPACE", "metadata.namespace"),
    fromField("PROVIDER_NAME", labelField(packageLabels.provider)),
    revisionName,
    uid,
    { name: "WEBHOOK_TLS_CERT_DIR", value: "$(TLS_SERVER_CERTS_DIR)" },
  ];
}

function fromField(name: string, fieldPath: string): JsonObject {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

function labelField(label: string): string {
  return `metadata.labels['${label}']`;
}

function itemsOf(container: JsonObject, member: string): readonly JsonObject[] {
  const value: JsonValue | undefined = container[member];
  return Array.isArray(value) ? (value as readonly JsonObject[]) : [];
}
