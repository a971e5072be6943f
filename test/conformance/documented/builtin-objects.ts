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
    // The reference learns of new roles a moment later.
    if (code !== 403) return code;
  }
}

function malformedRequest(s: Session): Promise<number> {
  const [begin, end] = ["BEGIN", "END"].map((word) => `-----${word} CERTIFICATE REQUEST-----`);
  const request = Buffer.from(`${begin}\nYWJj\n${end}\n`).toString("base64");
  const spec = { request, signerName: "example.org/signer", usages: ["client auth"] };
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  return dryRun(s, path, { metadata: { name: "documented" }, spec });
}

/** The code of a dry run, and whether there was a warning. */
async function deprecatedLabel(s: Session): Promise<string> {
  const matchLabelExpressions = [{ key: "beta.kubernetes.io/arch", values: ["amd64"] }];
  const object = {
    metadata: { name: "documented" },
    provisioner: "example.org/p",
    allowedTopologies: [{ matchLabelExpressions }],
  };
  const { code, headers } = await s.post("/apis/storage.k8s.io/v1/storageclasses?dryRun=All", object, quiet);
  return headers["warning"] === undefined ? String(code) : `${code} warned`;
}

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
  { topic: "CertificateSigningRequests", ours: 201, theirs: 422, run: malformedRequest },
  {
    topic: "Deprecated labels of nodes in StorageClasses and PersistentVolumes",
    ours: "201",
    theirs: "201 warned",
    run: deprecatedLabel,
  },
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
    topic: "An object stored in a version that its CRD no longer has",
    ours: 200,
    theirs: 500,
    run: lostVersion,
  },
  { topic: "Validation errors of one object", ours: "422, some of it", theirs: "422, all of it", run: lengthOfErrors },
];
