// SPDX-License-Identifier: Apache-2.0
// One or more valid objects of every built-in kind, with the paths and schemas that random requests need.
import { readFileSync } from "node:fs";
import { gvkOf } from "@purlin/kube-objects/object";
import { builtinSchema } from "@purlin/kube-objects/openapi";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

/** A valid object, and how requests address it. */
export interface Sample {
  readonly title: string;
  readonly object: Loose;
  readonly schema: Loose;
  /** The collection, in the session's namespace where the kind has namespaces. */
  readonly collection: string;
  readonly subresources: readonly string[];
}

const testdata = "../../../packages/kube-builtin/src/defaults/testdata/real-server.json";
/** A signing request in base64. */
export const signingRequest: string =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITU1IUUNBUUF3RWpFUU1BNEdBMVVFQXd3SFpYaGhiWEJzWlRCWk1CTUdCeXFHU000OUFnRUdDQ3FHU000OQpBd0VIQTBJQUJBWTJ0QlBLMkUzL24vcklpemgxdG5sZUtyY0JCWU5mYkMxd2E5K1lVYVNSTE8ycWNvaVVYUGJrCjB0YTdsTFgwVDhvVnJQcVQ1RnhzUXpWQzRNUUQ0TnlnQURBS0JnZ3Foa2pPUFFRREFnTklBREJGQWlFQStrbTEKMjNPSjZXNHVydU1yQW85ZjZ0WFFsQVQ3L1l1V3A4cml6YS9GTGNNQ0lIYUtCRENRWTZ3MWI0b2xraHV5RUFHMgpGdVQrb0VydmVSZTFsZ2ZWalFCTgotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";

const more: readonly Loose[] = [
  { apiVersion: "v1", kind: "Node", spec: { podCIDR: "10.1.0.0/24", taints: [{ key: "a", effect: "NoSchedule" }] } },
  {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    spec: { request: signingRequest, signerName: "example.org/signer", usages: ["digital signature"] },
  },
  {
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3 },
  },
];

/** Valid objects of all built-in kinds but a few, as a client sends them. */
export function sampleObjects(): Loose[] {
  const recorded = JSON.parse(readFileSync(new URL(testdata, import.meta.url), "utf8")) as readonly Loose[];
  return [...recorded.map(({ given }) => given), ...more];
}

/** The kinds whose names the reference gives meaning to, or that other suites ask about. */
const left = new Set(["CustomResourceDefinition", "Namespace"]);

/** These would limit the other samples, so they have a namespace of their own. */
const limiting = new Set(["LimitRange", "ResourceQuota"]);
export const limitedNamespace = "random-kinds-limited";

/** The samples of all kinds; the paths come from the discovery of the server. */
export async function readSamples(session: Session): Promise<Sample[]> {
  const objects = sampleObjects().filter(({ kind }) => !left.has(kind));
  const resources = new Map<string, Loose>();
  const samples: Sample[] = [];
  for (const [n, object] of objects.entries()) {
    const { apiVersion, kind } = object;
    const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const listed = resources.get(base) ?? (await session.get(base, { quiet: true })).body.resources;
    resources.set(base, listed);
    samples.push(sampleOf(session, { object: named(object, n), base, listed, title: `${apiVersion} ${kind}` }));
  }
  return samples;
}

interface Found {
  readonly object: Loose;
  readonly base: string;
  readonly listed: Loose;
  readonly title: string;
}

function sampleOf(session: Session, { object, base, listed, title }: Found): Sample {
  const { name, namespaced } = listed.find((one: Loose) => one.kind === object.kind && !one.name.includes("/"));
  const prefix = `${name}/`;
  const subresources = listed.flatMap((one: Loose) =>
    one.name.startsWith(prefix) ? [one.name.slice(prefix.length)] : [],
  );
  const namespace = limiting.has(object.kind) ? limitedNamespace : session.namespace;
  const collection = namespaced ? `${base}/namespaces/${namespace}/${name}` : `${base}/${name}`;
  const schema = builtinSchema(gvkOf(object)) ?? {};
  return { title, object, schema, collection, subresources };
}

/** Names are part of the rules of some kinds, which keep theirs. */
function named(object: Loose, n: number): Loose {
  const { namespace: _namespace, ...metadata } = object.metadata ?? {};
  const name = object.kind === "IPAddress" ? metadata.name : `sample-${n}`;
  // An empty certificate is another value when the reference reads it back, so that every update counts as a change.
  for (const { clientConfig } of object.webhooks ?? []) if (clientConfig.caBundle === "") delete clientConfig.caBundle;
  return { ...object, metadata: { ...metadata, name } };
}
