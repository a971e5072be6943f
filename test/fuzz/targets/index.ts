// SPDX-License-Identifier: Apache-2.0
// Every parser that reads foreign bytes, by the name of its target. A target is loaded only when it is run.
import type { Target } from "../engine/target.ts";

type Load = () => Promise<Target>;

const protocol = () => import("./protocol.ts");
const documents = () => import("./documents.ts");
const objects = () => import("./objects.ts");
const expressions = () => import("./expressions.ts");
const images = () => import("./images.ts");
const connections = () => import("./connections.ts");
const recorded = () => import("./recorded.ts");

export const targets: Readonly<Record<string, Load>> = {
  http: async () => (await connections()).http,
  headers: async () => (await connections()).headers,
  certificate: async () => (await connections()).certificate,
  kubeconfig: async () => (await connections()).kubeconfig,
  "websocket-frames": async () => (await connections()).webSocketFrames,
  "http2-frames": async () => (await protocol()).http2Frames,
  "function-messages": async () => (await protocol()).functionMessages,
  "function-json": async () => (await protocol()).functionJson,
  struct: async () => (await protocol()).struct,
  "kubernetes-protobuf": async () => (await documents()).kubernetesProtobuf,
  json: async () => (await documents()).json,
  "json-body": async () => (await documents()).jsonBody,
  "yaml-body": async () => (await documents()).yamlBody,
  "yaml-file": async () => (await documents()).yamlFile,
  "package-yaml": async () => (await documents()).packageYaml,
  "json-patch": async () => (await objects()).jsonPatch,
  "merge-patch": async () => (await objects()).mergePatch,
  "server-side-apply": async () => (await objects()).serverSideApply,
  "managed-fields": async () => (await objects()).managedFields,
  "structural-schema": async () => (await objects()).structuralSchema,
  "schema-value": async () => (await objects()).schemaValue,
  openapi: async () => (await objects()).openApi,
  cel: async () => (await expressions()).cel,
  pattern: async () => (await expressions()).pattern,
  glob: async () => (await expressions()).glob,
  "table-path": async () => (await expressions()).tablePath,
  "output-template": async () => (await expressions()).template,
  selectors: async () => (await expressions()).selectors,
  "field-path": async () => (await expressions()).fieldPath,
  versions: async () => (await expressions()).versions,
  quantity: async () => (await expressions()).quantity,
  durations: async () => (await expressions()).durations,
  "image-reference": async () => (await images()).imageReference,
  "oci-manifest": async () => (await images()).ociManifest,
  "registry-headers": async () => (await images()).headersOfRegistries,
  elf: async () => (await images()).elf,
  "image-layer": async () => (await images()).imageLayer,
  "package-archive": async () => (await images()).packageArchive,
  "audit-policy": async () => (await recorded()).auditPolicy,
  "signing-request": async () => (await recorded()).signingRequest,
  backup: async () => (await recorded()).backup,
  "inspector-line": async () => (await recorded()).inspectorLine,
  "recorded-run": async () => (await recorded()).recordedRun,
  "test-suite": async () => (await recorded()).testSuite,
  "webhook-answer": async () => (await recorded()).webhookAnswer,
  schedule: async () => (await recorded()).schedule,
  "tokens-and-caches": async () => (await recorded()).tokensAndCaches,
};
