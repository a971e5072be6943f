// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/function-protocol";

/** What one reconcile of a typical composite resource hands to a function, as plain JSON. */
export interface Workload {
  readonly composite: JsonObject;
  readonly observed: Readonly<Record<string, JsonObject>>;
  readonly desired: Readonly<Record<string, JsonObject>>;
}

/**
 * An application with its database, buckets and workloads: 20 composed resources, 32 KiB once encoded. Each variant is
 * another application: the same shapes with other names, identities and versions.
 */
export function createWorkload(variant: number): Workload {
  const observed: Record<string, JsonObject> = {};
  const desired: Record<string, JsonObject> = {};
  for (let i = 0; i < 20; i++) {
    const make = makers[i % makers.length] as Maker;
    const name = `${make.name}-${i}`;
    const number = variant * 100 + i;
    desired[name] = make(number);
    observed[name] = asObserved(make(number), number, variant);
  }
  return { composite: composite(variant), observed, desired };
}

type Maker = (i: number) => JsonObject;

const applicationName = (variant: number): string => `storefront-${(48_611 + variant * 7919).toString(36)}`;

const uid = (i: number): string =>
  `5f1d${String(1000 + ((i * 37) % 9000))}-8a3c-4b7e-9d21-0c6a${String(10_000_000 + i * 7919)}`;

function labels(i: number): JsonObject {
  return {
    "app.kubernetes.io/name": "storefront",
    "app.kubernetes.io/instance": `storefront-${i}`,
  };
}

function deployment(i: number): JsonObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "team-blue", labels: labels(i) },
    spec: {
      replicas: 2 + (i % 3),
      selector: { matchLabels: { "app.kubernetes.io/instance": `storefront-${i}` } },
      template: {
        metadata: { labels: { "app.kubernetes.io/instance": `storefront-${i}` } },
        spec: {
          containers: [
            {
              name: "web",
              image: `registry.example.org/team-blue/storefront:v2.${i}.1`,
              ports: [{ name: "http", containerPort: 8080 }],
              resources: { requests: { cpu: "250m", memory: "256Mi" }, limits: { memory: "512Mi" } },
            },
          ],
        },
      },
    },
  };
}

function service(i: number): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "team-blue", labels: labels(i) },
    spec: {
      type: "ClusterIP",
      selector: { "app.kubernetes.io/instance": `storefront-${i}` },
      ports: [{ name: "http", port: 80, targetPort: "http" }],
    },
  };
}

function bucket(i: number): JsonObject {
  return {
    apiVersion: "s3.aws.m.upbound.io/v1beta1",
    kind: "Bucket",
    metadata: { namespace: "team-blue", labels: labels(i) },
    spec: {
      forProvider: {
        region: "eu-central-1",
        forceDestroy: false,
        tags: { team: "blue", environment: "production" },
      },
      providerConfigRef: { kind: "ClusterProviderConfig", name: "default" },
    },
  };
}

function database(i: number): JsonObject {
  return {
    apiVersion: "rds.aws.m.upbound.io/v1beta1",
    kind: "Instance",
    metadata: { namespace: "team-blue", labels: labels(i) },
    spec: {
      forProvider: {
        region: "eu-central-1",
        engine: "postgres",
        engineVersion: "16.4",
        allocatedStorage: 100,
        multiAz: true,
        storageEncrypted: true,
        username: "storefront",
        passwordSecretRef: { name: `storefront-${i}-password`, key: "password" },
      },
      providerConfigRef: { kind: "ClusterProviderConfig", name: "default" },
    },
  };
}

function configMap(i: number): JsonObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "team-blue", labels: labels(i) },
    data: {
      "application.yaml": `server:\n  port: 8080\nfeatures:\n  search: ${i % 2 === 0}\ncache:\n  ttlSeconds: ${60 + i}\n`,
      GREETING: "Grüezi und herzlich willkommen",
    },
  };
}

const makers: readonly Maker[] = [deployment, service, bucket, database, configMap];

/** What the API server and a provider add to an object: identity, owner and conditions. */
function asObserved(object: JsonObject, i: number, variant: number): JsonObject {
  const metadata = object["metadata"] as JsonObject;
  return {
    ...object,
    metadata: {
      ...metadata,
      name: `${applicationName(variant)}-${i}`,
      uid: uid(i),
      resourceVersion: String(48151623 + i * 42),
      creationTimestamp: "2026-08-14T09:26:53Z",
      annotations: { "crossplane.io/composition-resource-name": `resource-${i}` },
      ownerReferences: [
        {
          apiVersion: "platform.example.org/v1alpha1",
          kind: "Application",
          name: applicationName(variant),
          uid: uid(variant * 100 + 99),
          controller: true,
        },
      ],
    },
    ...(hasConditions(object) ? { status: status() } : {}),
  };
}

/** Services and ConfigMaps have no conditions. */
const hasConditions = ({ apiVersion }: JsonObject): boolean => apiVersion !== "v1";

function status(): JsonObject {
  return { conditions: [condition("Ready", "Available"), condition("Synced", "ReconcileSuccess")] };
}

function condition(type: string, reason: string): JsonObject {
  return { type, status: "True", reason, lastTransitionTime: "2026-08-14T09:31:07Z" };
}

function composite(variant: number): JsonObject {
  const name = applicationName(variant);
  return {
    apiVersion: "platform.example.org/v1alpha1",
    kind: "Application",
    metadata: {
      name,
      namespace: "team-blue",
      uid: uid(variant * 100 + 99),
      resourceVersion: String(48161234 + variant * 271),
      generation: 7,
      creationTimestamp: "2026-08-14T09:26:41Z",
      labels: { "crossplane.io/composite": name },
      finalizers: ["composite.apiextensions.crossplane.io"],
    },
    spec: {
      size: "medium",
      region: "eu-central-1",
      replicas: 3,
      database: { engine: "postgres", version: "16", storageGB: 100, highlyAvailable: true },
      ingress: { host: "shop.example.org", tls: true, paths: ["/", "/api", "/static"] },
      crossplane: {
        compositionRef: { name: "application-aws" },
        compositionRevisionRef: { name: "application-aws-3f91776" },
        compositionUpdatePolicy: "Automatic",
        resourceRefs: [
          { apiVersion: "apps/v1", kind: "Deployment", name: `${name}-100` },
          { apiVersion: "v1", kind: "Service", name: `${name}-101` },
        ],
      },
    },
    status: status(),
  };
}
