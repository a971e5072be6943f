// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject, withMember } from "@purlin/kube-objects/object";
import { packageTypes } from "../../package-kinds.ts";
import { deploymentOf } from "./deployment.ts";
import { runtimeNames } from "./runtime-names.ts";

const functionRevision: KubeObject = {
  ...packageTypes.Function.revision,
  metadata: { name: "fn-aaaaaaaaaaaa", uid: "u-1", labels: { "pkg.crossplane.io/package": "fn" } },
  spec: { packagePullPolicy: "IfNotPresent", tlsServerSecretName: "fn-tls-server" },
};

const providerRevision: KubeObject = {
  ...packageTypes.Provider.revision,
  metadata: { name: "provider-aaaaaaaaaaaa", uid: "u-2", labels: { "pkg.crossplane.io/package": "provider" } },
  spec: { tlsServerSecretName: "provider-tls-server", tlsClientSecretName: "provider-tls-client" },
};

const unprivileged = { runAsNonRoot: true, runAsUser: 2000, runAsGroup: 2000 };
const confined = { ...unprivileged, privileged: false, allowPrivilegeEscalation: false };
const files = ["tls.crt", "tls.key", "ca.crt"].map((key) => ({ key, path: key }));
const field = (name: string, fieldPath: string): JsonObject => ({ name, valueFrom: { fieldRef: { fieldPath } } });

/** How Deployments with an empty runtime config differ. */
interface Differences {
  readonly of: string;
  readonly kind: "function" | "provider";
  readonly uid: string;
  readonly annotations?: JsonObject;
  readonly port: string;
  readonly probe?: JsonObject;
  readonly env: readonly JsonObject[];
  readonly certificates: readonly string[];
}

/** Such a Deployment in full. */
function whole({ of, kind, uid, annotations, port, probe, env, certificates }: Differences): KubeObject {
  const name = `${of}-aaaaaaaaaaaa`;
  const labels = { "pkg.crossplane.io/revision": name, [`pkg.crossplane.io/${kind}`]: of };
  const owner = {
    apiVersion: "pkg.crossplane.io/v1",
    kind: kind === "function" ? "FunctionRevision" : "ProviderRevision",
  };
  const container = {
    name: "package-runtime",
    image: "registry.example.org/fn:v1",
    imagePullPolicy: "IfNotPresent",
    securityContext: confined,
    ports: [
      { name: "metrics", containerPort: 8080, protocol: "TCP" },
      { name: port, containerPort: 9443, protocol: "TCP" },
    ],
    ...(probe && { readinessProbe: probe }),
    env: [...env],
    volumeMounts: certificates.map((one) => ({ name: `tls-${one}-certs`, mountPath: `/tls/${one}`, readOnly: true })),
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name,
      namespace: "ns",
      ownerReferences: [{ ...owner, name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...(annotations && { annotations }) },
        spec: {
          serviceAccountName: name,
          securityContext: unprivileged,
          containers: [container],
          volumes: certificates.map((one) => ({
            name: `tls-${one}-certs`,
            secret: { secretName: `${of}-tls-${one}`, items: files },
          })),
        },
      },
    },
  };
}

const plain = whole({
  of: "fn",
  kind: "function",
  uid: "u-1",
  port: "grpc",
  probe: { tcpSocket: { port: "grpc" }, periodSeconds: 2 },
  env: [
    { name: "TLS_SERVER_CERTS_DIR", value: "/tls/server" },
    field("FUNCTION_NAME", "metadata.labels['pkg.crossplane.io/function']"),
    field("REVISION_NAME", "metadata.labels['pkg.crossplane.io/revision']"),
    { name: "REVISION_UID", value: "u-1" },
  ],
  certificates: ["server"],
});

const provider = whole({
  of: "provider",
  kind: "provider",
  uid: "u-2",
  annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": "8080", "prometheus.io/path": "/metrics" },
  port: "webhook",
  env: [
    { name: "TLS_CLIENT_CERTS_DIR", value: "/tls/client" },
    { name: "TLS_SERVER_CERTS_DIR", value: "/tls/server" },
    field("POD_NAMESPACE", "metadata.namespace"),
    field("PROVIDER_NAME", "metadata.labels['pkg.crossplane.io/provider']"),
    field("REVISION_NAME", "metadata.labels['pkg.crossplane.io/revision']"),
    { name: "REVISION_UID", value: "u-2" },
    { name: "WEBHOOK_TLS_CERT_DIR", value: "$(TLS_SERVER_CERTS_DIR)" },
  ],
  certificates: ["client", "server"],
});

const pod = ["spec", "template", "spec"];
const runtimePath = [...pod, "containers"];
const [runtime = {}] = (plain["spec"] as { template: { spec: { containers: JsonObject[] } } }).template.spec.containers;

/** The plain Deployment, its container changed. */
function withContainer(change: JsonObject, ...others: JsonObject[]): KubeObject {
  return withMember(plain, runtimePath, [{ ...runtime, ...change }, ...others]);
}

const template = (spec: JsonValue, metadata: JsonValue = {}): JsonObject => ({
  deploymentTemplate: { metadata, spec: { selector: {}, template: { spec } } },
});
const container = (given: JsonObject): JsonObject => template({ containers: [{ name: "package-runtime", ...given }] });

interface Row {
  readonly reason: string;
  readonly revision?: KubeObject;
  readonly config?: JsonObject;
  readonly pullSecrets?: readonly string[];
  readonly certificateMark?: string;
  readonly want: KubeObject;
}

const rows: Readonly<Record<string, Row>> = {
  Plain: { reason: "an empty runtime config changes nothing", want: plain },
  Provider: {
    reason: "a provider has webhooks, a client certificate and metrics",
    revision: providerRevision,
    want: provider,
  },
  Names: {
    reason: "names, labels and annotations of the template are those of the Deployment",
    config: template({}, { name: "fixed", labels: { a: "b" }, annotations: { c: "d" } }),
    want: withMember(plain, ["metadata"], {
      ...plain.metadata,
      name: "fixed",
      labels: { a: "b" },
      annotations: { c: "d" },
    }),
  },
  Replicas: {
    reason: "a number of replicas is the template's",
    config: { deploymentTemplate: { spec: { replicas: 3, selector: { matchLabels: { x: "y" } }, template: {} } } },
    want: withMember(plain, ["spec", "replicas"], 3),
  },
  NoReplicas: {
    reason: "none is a number as well",
    config: { deploymentTemplate: { spec: { replicas: 0, selector: {}, template: {} } } },
    want: withMember(plain, ["spec", "replicas"], 0),
  },
  SidecarFirst: {
    reason: "the package's container moves to the first place",
    config: template({
      containers: [
        { name: "sidecar", image: "s:v1" },
        { name: "package-runtime", args: ["-d"] },
      ],
    }),
    want: withContainer({ args: ["-d"] }, { name: "sidecar", image: "s:v1" }),
  },
  OnlySidecar: {
    reason: "it is made where the template has none",
    config: template({ containers: [{ name: "sidecar", image: "s:v1" }] }),
    want: withContainer({}, { name: "sidecar", image: "s:v1" }),
  },
  Image: {
    reason: "an image of the template is used as it is",
    config: container({ image: "registry.example.org/other:v9" }),
    want: withContainer({ image: "registry.example.org/other:v9" }),
  },
  PullPolicy: {
    reason: "the package's pull policy wins over the template's",
    config: container({ imagePullPolicy: "Never" }),
    want: plain,
  },
  TemplatePullPolicy: {
    reason: "where the package has none the template's is used",
    revision: withMember(functionRevision, ["spec", "packagePullPolicy"], undefined),
    config: container({ imagePullPolicy: "Never" }),
    want: withContainer({ imagePullPolicy: "Never" }),
  },
  PullSecrets: {
    reason: "those of the package and its ImageConfig, and not those of the template",
    config: template({ imagePullSecrets: [{ name: "theirs" }], containers: [] }),
    pullSecrets: ["one", "two", "one"],
    want: withMember(plain, [...pod, "imagePullSecrets"], [{ name: "one" }, { name: "two" }]),
  },
  NoPullSecrets: {
    reason: "the template's do not count even where there are no others",
    config: template({ imagePullSecrets: [{ name: "theirs" }], containers: [] }),
    want: plain,
  },
  SecurityContexts: {
    reason: "what the template says of privileges replaces ours as a whole",
    config: template({
      securityContext: { runAsUser: 1 },
      containers: [{ name: "package-runtime", securityContext: { privileged: true } }],
    }),
    want: withMember(withContainer({ securityContext: { privileged: true } }), [...pod, "securityContext"], {
      runAsUser: 1,
    }),
  },
  ServiceAccount: {
    reason: "an account the template names is used",
    config: template({ serviceAccountName: "theirs", containers: [] }),
    want: withMember(plain, [...pod, "serviceAccountName"], "theirs"),
  },
  Ports: {
    reason: "a port of the same name is the template's; protocols are set",
    config: container({
      ports: [
        { name: "metrics", containerPort: 9999 },
        { containerPort: 53, protocol: "UDP" },
      ],
    }),
    want: withContainer({
      ports: [
        { protocol: "TCP", name: "metrics", containerPort: 9999 },
        { containerPort: 53, protocol: "UDP" },
        { name: "grpc", containerPort: 9443, protocol: "TCP" },
      ],
    }),
  },
  Probe: {
    reason: "a function that answers elsewhere, or not at once, has a probe of the template's own",
    config: container({ readinessProbe: { tcpSocket: { port: 1 } } }),
    want: withContainer({ readinessProbe: { tcpSocket: { port: 1 } } }),
  },
  Environment: {
    reason: "ours comes after the template's, and wins",
    config: container({
      env: [
        { name: "A", value: "1" },
        { name: "REVISION_UID", value: "wrong" },
      ],
    }),
    want: withContainer({ env: [{ name: "A", value: "1" }, ...(runtime["env"] as JsonObject[])] }),
  },
  Volumes: {
    reason: "ours come after the template's, and win",
    config: template({
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "tls-server-certs", emptyDir: {} },
      ],
      containers: [{ name: "package-runtime", volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] }],
    }),
    want: withMember(
      withContainer({
        volumeMounts: [{ name: "scratch", mountPath: "/scratch" }, ...(runtime["volumeMounts"] as JsonObject[])],
      }),
      [...pod, "volumes"],
      [
        { name: "scratch", emptyDir: {} },
        { name: "tls-server-certs", secret: { secretName: "fn-tls-server", items: files } },
      ],
    ),
  },
  PodMetadata: {
    reason: "labels of the template are added to ours, which stay; annotations are the template's",
    config: {
      deploymentTemplate: {
        spec: {
          selector: {},
          template: {
            metadata: {
              creationTimestamp: null,
              labels: { a: "b", "pkg.crossplane.io/revision": "wrong" },
              annotations: { c: "d" },
            },
          },
        },
      },
    },
    want: withMember(plain, ["spec", "template", "metadata"], {
      labels: { a: "b", "pkg.crossplane.io/revision": "fn-aaaaaaaaaaaa", "pkg.crossplane.io/function": "fn" },
      annotations: { c: "d" },
    }),
  },
  Scraped: {
    reason: "a template that sets scraping also sets the port",
    revision: providerRevision,
    config: {
      deploymentTemplate: {
        spec: { selector: {}, template: { metadata: { annotations: { "prometheus.io/scrape": "false" } } } },
      },
    },
    want: withMember(provider, ["spec", "template", "metadata", "annotations"], { "prometheus.io/scrape": "false" }),
  },
  Renewed: {
    reason: "a renewed certificate shows on the Pods, so that they are replaced",
    certificateMark: "abc",
    want: withMember(plain, ["spec", "template", "metadata", "annotations"], { "purlin.dev/certificate": "abc" }),
  },
  PerRevision: {
    reason: "a certificate of the revision's own is mounted",
    revision: withMember(functionRevision, ["spec", "tlsServerSecretName"], "fn-aaaaaaaaaaaa-tls-server"),
    want: withMember(
      plain,
      [...pod, "volumes"],
      [{ name: "tls-server-certs", secret: { secretName: "fn-aaaaaaaaaaaa-tls-server", items: files } }],
    ),
  },
  Rest: {
    reason: "whatever else the template says is kept",
    config: {
      deploymentTemplate: {
        spec: {
          selector: {},
          strategy: { type: "Recreate" },
          template: { spec: { nodeSelector: { a: "b" }, containers: [{ name: "package-runtime", resources: {} }] } },
        },
      },
    },
    want: withMember(
      withMember(withContainer({ resources: {} }), [...pod, "nodeSelector"], { a: "b" }),
      ["spec", "strategy"],
      { type: "Recreate" },
    ),
  },
};

for (const [name, row] of Object.entries(rows)) {
  const { revision = functionRevision, config = {}, pullSecrets = [], certificateMark, want } = row;
  test(`Deployment ${name}: ${row.reason}`, () => {
    const type = revision.kind === "FunctionRevision" ? packageTypes.Function : packageTypes.Provider;
    const names = runtimeNames(type, revision, config);
    const place = { name: names.deployment, namespace: "ns", owner: controllerReference(revision) };
    const image = "registry.example.org/fn:v1";
    const input = { type, revision, names, config, place, image, pullSecrets, certificateMark };
    assert.deepEqual(deploymentOf(input), want);
  });
}
