// SPDX-License-Identifier: Apache-2.0
// The rows of "Built-in objects of the embedded server".
import {
  core,
  crds,
  inGroup,
  isTrue,
  ownCrd,
  ownGroup,
  ownWidget,
  ownWidgets,
  withOwnWidgets,
} from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { withSpec } from "../harness/spec-crd.ts";
import type { DocumentedDifference } from "./documented-difference.ts";

const quiet = { quiet: true };
const container = { name: "c", image: "i" };
const pod = (name: string, spec: Loose = {}): Loose => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: [container], ...spec },
});

async function withAccount(s: Session): Promise<void> {
  await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
}

async function openApiAsProtobuf(s: Session): Promise<number> {
  const accept = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
  return (await s.get("/openapi/v3/api/v1", { ...quiet, headers: { accept } })).code;
}

async function foreignAddress(s: Session): Promise<number> {
  const spec = { clusterIP: "172.31.0.9", ports: [{ port: 80 }] };
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "far" }, spec };
  return (await s.post(core(s, "services"), service, quiet)).code;
}

async function refusedPod(s: Session): Promise<string> {
  await withAccount(s);
  await s.post(core(s, "pods"), pod("p"), quiet);
  const { body } = await s.get(core(s, "pods", "p"), quiet);
  body.spec.restartPolicy = "Never";
  const { code, body: answer } = await s.put(core(s, "pods", "p"), body, quiet);
  const changed = String(answer.message).match(/^[-+] .*$/gm) ?? [];
  return `${code} ${changed.join(" ").replaceAll(",", "")}`;
}

async function deletedOnNode(s: Session): Promise<number> {
  await withAccount(s);
  await s.post(core(s, "pods"), pod("p", { nodeName: "node-1" }), quiet);
  await s.delete(core(s, "pods", "p"), undefined, quiet);
  return (await s.get(core(s, "pods", "p"), quiet)).code;
}

/** Reads an object after the version in which it is stored was taken out of its CRD. */
async function lostVersion(s: Session): Promise<number> {
  await withOwnWidgets(s);
  await s.post(ownWidgets(s), ownWidget(s, "old"), quiet);
  const update = async (path: string, change: (crd: Loose) => void): Promise<void> => {
    const { body } = await s.get(ownCrd(s), quiet);
    change(body);
    const { code, text } = await s.put(path, body, quiet);
    if (code !== 200) throw new Error(`cannot change the CRD: ${text}`);
  };
  const versions = (crd: Loose): Loose[] => crd.spec.versions;
  await update(ownCrd(s), (crd) => {
    for (const version of versions(crd)) version.storage = !version.storage;
  });
  const kept = versions((await s.get(ownCrd(s), quiet)).body).find(({ storage }) => storage)?.name;
  await update(`${ownCrd(s)}/status`, (crd) => {
    crd.status.storedVersions = [kept];
  });
  await update(ownCrd(s), (crd) => {
    crd.spec.versions = versions(crd).filter(({ storage }) => storage);
  });
  await s.until(`${crds}/widgets.${ownGroup(s)}`, ({ body }) => isTrue(body, "Established"));
  await s.until(`/apis/${ownGroup(s)}`, ({ body }) => body.versions?.length === 1);
  return (await s.get(ownWidgets(s, "old", kept), quiet)).code;
}

/** Long wrong items, each of which its error quotes. */
async function lengthOfErrors(s: Session): Promise<string> {
  const list = { type: "array", items: { type: "string", enum: ["allowed"] } };
  await withSpec(s, { type: "object", properties: { list } });
  const wrong = Array.from({ length: 800 }, (_, index) => `wrong ${index} ${"x".repeat(3_000)}`);
  const { code, text } = await s.post(ownWidgets(s), ownWidget(s, "many", { list: wrong }), quiet);
  return `${code}, ${text.length > 3 * 1024 * 1024 ? "all of it" : "some of it"}`;
}

async function dryRun(s: Session, path: string, object: Loose): Promise<number> {
  return (await s.post(`${path}?dryRun=All`, object, quiet)).code;
}

/** A user writes what a claim got, with the right to its status alone. */
async function allocatedByUser(s: Session): Promise<number> {
  const name = `documented-${s.namespace}`;
  const [user, group] = ["allocator", "rbac.authorization.k8s.io"];
  const rules = [
    { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims", "resourceclaims/status"], verbs: ["patch"] },
  ];
  await s.post(`/apis/${group}/v1/clusterroles`, { metadata: { name }, rules }, quiet);
  const roleRef = { apiGroup: group, kind: "ClusterRole", name };
  const subjects = [{ apiGroup: group, kind: "User", name: user }];
  await s.post(`/apis/${group}/v1/clusterrolebindings`, { metadata: { name }, roleRef, subjects }, quiet);
  const path = inGroup(s, "resource.k8s.io/v1/resourceclaims");
  const requests = [{ name: "r", exactly: { deviceClassName: "c" } }];
  await s.post(path, { metadata: { name: "documented" }, spec: { devices: { requests } } }, quiet);
  const results = [{ request: "r", driver: "example.org", pool: "p", device: "d" }];
  const change = { status: { allocation: { devices: { results } } } };
  const ask = { ...quiet, headers: { "impersonate-user": user } };
  for (;;) {
    const { code } = await s.patch(`${path}/documented/status?dryRun=All`, "merge", change, ask);
    // The reference sees new roles a moment later.
    if (code !== 403) return code;
  }
}

const der = (tag: number, ...parts: readonly (readonly number[])[]): readonly number[] => [
  tag,
  parts.flat().length,
  ...parts.flat(),
];

/** The refusal of a signing request of these bytes. */
async function refusedRequest(s: Session, bytes: Uint8Array): Promise<string> {
  const [begin, end] = ["BEGIN", "END"].map((word) => `-----${word} CERTIFICATE REQUEST-----`);
  const request = Buffer.from(`${begin}\n${Buffer.from(bytes).toString("base64")}\n${end}\n`).toString("base64");
  const spec = { request, signerName: "example.org/signer", usages: ["client auth"] };
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All";
  return String((await s.post(path, { metadata: { name: "documented" }, spec }, quiet)).body.message);
}

/** What the refusal of a signing request with attributes of another type prints of the type that is expected. */
async function wrongAttributes(s: Session): Promise<string> {
  const algorithm = der(0x30, der(0x06, [0x2a, 0x03]));
  const bits = der(0x03, [0]);
  const info = der(0x30, der(0x02, [0]), der(0x30), der(0x30, algorithm, bits), der(0x30));
  const message = await refusedRequest(s, Buffer.from(der(0x30, info, algorithm, bits)));
  const address = /tag:(0x[0-9a-f]+)/.exec(message)?.[1];
  if (address === undefined) return message;
  return address === "0xc000012345" ? "the same address each time" : "an address of its memory";
}

async function largeRequest(s: Session): Promise<string> {
  const message = await refusedRequest(s, Buffer.alloc(300_000));
  return /must not be larger than 64 KiB|asn1: \w+ error/.exec(message)?.[0] ?? message;
}

/** The code of a dry run of a policy with one variable too many. */
function manyVariables(s: Session): Promise<number> {
  const variables = Array.from({ length: 1001 }, (_, index) => ({ name: `v${index}`, expression: "1" }));
  const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  const matchConstraints = { resourceRules: [rule] };
  const spec = { variables, matchConstraints, validations: [{ expression: "true" }] };
  const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
  return dryRun(s, path, { metadata: { name: "documented" }, spec });
}

const annotatedPod = (annotations: Readonly<Record<string, string>>) => ({
  metadata: { name: "annotated", annotations },
  spec: { containers: [{ name: "c", image: "i" }] },
});

export const builtinDifferences: readonly DocumentedDifference[] = [
  { topic: "OpenAPI v3 documents", ours: 406, theirs: 200, run: openApiAsProtobuf },
  {
    topic: "FlowSchemas and PriorityLevelConfigurations",
    ours: 404,
    theirs: 200,
    run: async (s) => (await s.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt", quiet)).code,
  },
  {
    topic: "Addresses of Services",
    ours: 404,
    theirs: 200,
    run: async (s) => (await s.get("/apis/networking.k8s.io/v1/ipaddresses/10.0.0.1", quiet)).code,
  },
  {
    topic: "Status of a ResourceQuota",
    ours: '{"pods":"0"}',
    theirs: "none",
    run: async (s) => {
      const object = { metadata: { name: "documented" }, spec: { hard: { pods: "100" } } };
      const { body } = await s.post(core(s, "resourcequotas"), object, quiet);
      return body.status.used === undefined ? "none" : JSON.stringify(body.status.used);
    },
  },
  {
    topic: "Rights to change what a ResourceClaim got, and what drivers report about it",
    ours: 200,
    theirs: 422,
    run: allocatedByUser,
  },
  {
    topic: "CertificateSigningRequests and Secrets of the type `kubernetes.io/tls`",
    ours: "the same address each time",
    theirs: "an address of its memory",
    run: wrongAttributes,
  },
  {
    topic: "PEM of a CertificateSigningRequest and of its certificates",
    ours: "must not be larger than 64 KiB",
    theirs: "asn1: structure error",
    run: largeRequest,
  },
  { topic: "Variables, validations and mutations of an admission policy", ours: 422, theirs: 201, run: manyVariables },
  {
    topic: "ComponentStatuses",
    ours: 0,
    theirs: 3,
    run: async (s) => (await s.get("/api/v1/componentstatuses", quiet)).body.items.length,
  },
  { topic: "Service addresses", ours: 201, theirs: 422, run: foreignAddress },
  {
    topic: "A change of a Pod that is refused",
    ours: '422 - "restartPolicy": "Always" + "restartPolicy": "Never"',
    theirs: '422 - "RestartPolicy": "Always" + "RestartPolicy": "Never"',
    run: refusedPod,
  },
  { topic: "Pods that are assigned to a node and deleted", ours: 404, theirs: 200, run: deletedOnNode },
  {
    topic: "Annotation `container.apparmor.security.beta.kubernetes.io/…` of a Pod",
    ours: "none",
    theirs: "RuntimeDefault",
    run: async (s) => {
      const annotations = { "container.apparmor.security.beta.kubernetes.io/c": "runtime/default" };
      const { body } = await s.post(`${core(s, "pods")}?dryRun=All`, annotatedPod(annotations), quiet);
      return String(body.spec?.containers?.[0]?.securityContext?.appArmorProfile?.type ?? "none");
    },
  },
  {
    topic: "Annotation `seccomp.security.alpha.kubernetes.io/…` of a Pod with a profile that is not valid",
    ours: 201,
    theirs: 422,
    run: async (s) => {
      const annotations = { "seccomp.security.alpha.kubernetes.io/pod": "wrong" };
      return (await s.post(`${core(s, "pods")}?dryRun=All`, annotatedPod(annotations), quiet)).code;
    },
  },
  {
    topic: "An object stored in a version that its CRD no longer has",
    ours: 200,
    theirs: 500,
    run: lostVersion,
  },
  { topic: "Validation errors of one object", ours: "422, some of it", theirs: "422, all of it", run: lengthOfErrors },
];
