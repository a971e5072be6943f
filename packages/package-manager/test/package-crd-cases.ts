// SPDX-License-Identifier: Apache-2.0
// What the CRDs of packages accept and refuse, for every API server they are applied to.

import type { CrdCase } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

let made = 0;

function object(kind: string, spec: JsonObject, apiVersion = "pkg.crossplane.io/v1"): KubeObject {
  return { apiVersion, kind, metadata: { name: `p${++made}` }, spec };
}

const image = { package: "reg.io/org/fn:v1" };
const qualified =
  "must be a fully qualified image name, including the registry, repository, and tag or digest. For example, 'registry.example.com/repo/package:tag' or 'registry.example.com/repo/package[:tag]@sha256:1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef'.";
const digest = `sha256:${"0a".repeat(32)}`;
const revision = { desiredState: "Active", image: "reg.io/fn:v1", revision: 1 };

const references: Readonly<Record<string, CrdCase>> = Object.fromEntries(
  ["localhost:5000/x:v1", "fn:v1", "org/fn:v1", "reg.io/fn", "reg.io:v1", "reg.io/fn:", "reg.io/fn@md5:1"].map(
    (reference) => [
      `Reference ${reference}`,
      {
        reason: "an image needs registry, repository, and tag or digest",
        object: object("Function", { package: reference }),
        refused: ["spec.package", qualified],
      },
    ],
  ),
);

const accepted: Readonly<Record<string, CrdCase>> = Object.fromEntries(
  [
    "127.0.0.1:5000/x:v1",
    "reg.io/fn:v1",
    "reg.io/org/team/fn:v1.2",
    `reg.io/fn@${digest}`,
    `reg.io/fn:v1@${digest}`,
  ].map((reference) => [
    `Reference ${reference}`,
    { reason: "all that is needed", object: object("Function", { package: reference }) },
  ]),
);

/** All of them. */
export const packageCrdCases: Readonly<Record<string, CrdCase>> = {
  ...references,
  ...accepted,
  Defaults: {
    reason: "what a Function has without saying so",
    object: object("Function", image),
    stored: {
      "spec.revisionActivationPolicy": "Automatic",
      "spec.revisionHistoryLimit": 1,
      "spec.activeRevisionLimit": 1,
      "spec.packagePullPolicy": "IfNotPresent",
      "spec.ignoreCrossplaneConstraints": false,
      "spec.skipDependencyResolution": false,
      "spec.runtimeConfigRef": {
        apiVersion: "pkg.crossplane.io/v1beta1",
        kind: "DeploymentRuntimeConfig",
        name: "default",
      },
    },
  },
  Policy: {
    reason: "an unknown policy is stored",
    object: object("Function", { ...image, revisionActivationPolicy: "Foo", packagePullPolicy: "Sometimes" }),
    stored: { "spec.revisionActivationPolicy": "Foo", "spec.packagePullPolicy": "Sometimes" },
  },
  Beta: {
    reason: "Functions are served in their first version too",
    object: object("Function", image, "pkg.crossplane.io/v1beta1"),
  },
  NoRuntime: {
    reason: "a Configuration runs nothing",
    object: object("Configuration", { ...image, runtimeConfigRef: { name: "x" } }),
    stored: { "spec.runtimeConfigRef": undefined },
  },
  NoLimit: {
    reason: "at least one revision is active",
    object: object("Function", { ...image, activeRevisionLimit: 0 }),
    refused: ["spec.activeRevisionLimit", "should be greater than or equal to 1"],
  },
  MoreThanHistory: {
    reason: "no more are active than are kept",
    object: object("Function", { ...image, activeRevisionLimit: 3, revisionHistoryLimit: 2 }),
    refused: ["spec", "activeRevisionLimit must not be greater than revisionHistoryLimit"],
  },
  AsManyAsHistory: {
    reason: "as many may be",
    object: object("Function", { ...image, activeRevisionLimit: 2, revisionHistoryLimit: 2 }),
  },
  AllHistory: {
    reason: "a history of 0 is without limit",
    object: object("Function", { ...image, activeRevisionLimit: 5, revisionHistoryLimit: 0 }),
  },
  ProviderLimit: {
    reason: "only functions have several active revisions",
    object: object("Provider", { ...image, activeRevisionLimit: 2, revisionHistoryLimit: 5 }),
    refused: ["spec.activeRevisionLimit", "should be less than or equal to 1"],
  },
  ConfigurationLimit: {
    reason: "nor has a Configuration",
    object: object("Configuration", { ...image, activeRevisionLimit: 2 }),
    refused: ["spec.activeRevisionLimit", "should be less than or equal to 1"],
  },
  Revision: { reason: "a revision of a function", object: object("FunctionRevision", { ...revision, digest }) },
  RevisionDigest: {
    reason: "a digest is one",
    object: object("FunctionRevision", { ...revision, digest: "sha256:12" }),
    refused: ["spec.digest", "should match"],
  },
  RevisionImage: {
    reason: "a revision has an image",
    object: object("ProviderRevision", { desiredState: "Active", revision: 1 }),
    refused: ["spec.image", "Required value"],
  },
  ConfigurationRevision: { reason: "a revision of a configuration", object: object("ConfigurationRevision", revision) },
  Lock: {
    reason: "what is installed",
    object: {
      apiVersion: "pkg.crossplane.io/v1beta1",
      kind: "Lock",
      metadata: { name: "lock" },
      packages: [
        {
          name: "n",
          source: "reg.io/fn",
          version: "v1",
          dependencies: [{ package: "reg.io/other", constraints: ">=v1", type: "Unknown" }],
        },
      ],
    },
    refused: ["packages[0].dependencies[0].type", 'Unsupported value: "Unknown"'],
  },
  ImageConfig: {
    reason: "an image config matches by prefix",
    object: object("ImageConfig", { matchImages: [{ prefix: "reg.io/" }] }, "pkg.crossplane.io/v1beta1"),
    stored: { "spec.matchImages.0.type": "Prefix" },
  },
  NoImages: {
    reason: "of something",
    object: object("ImageConfig", { matchImages: [] }, "pkg.crossplane.io/v1beta1"),
    refused: ["spec.matchImages", "matchImages should have at least one element."],
  },
  Runtime: {
    reason: "a runtime config holds a whole Deployment, whose metadata is pruned to what people set",
    object: object(
      "DeploymentRuntimeConfig",
      {
        deploymentTemplate: {
          metadata: { name: "n", labels: { a: "b" } },
          spec: {
            selector: { matchLabels: { a: "b" } },
            strategy: { rollingUpdate: { maxSurge: "25%", maxUnavailable: 1 } },
            template: {
              metadata: { labels: { a: "b" }, generation: 3 },
              spec: {
                imagePullSecrets: [{ name: "pull" }],
                containers: [
                  {
                    name: "c",
                    image: "reg.io/fn:v1",
                    args: ["--debug"],
                    ports: [{ containerPort: 1 }, { containerPort: 1, protocol: "UDP" }],
                    resources: { limits: { cpu: "500m", memory: 1024 } },
                    livenessProbe: { httpGet: { port: "http" } },
                  },
                ],
              },
            },
          },
        },
      },
      "pkg.crossplane.io/v1beta1",
    ),
    stored: {
      "spec.deploymentTemplate.spec.template.metadata": { labels: { a: "b" } },
      "spec.deploymentTemplate.spec.template.spec.containers.0.ports.0.protocol": "TCP",
      "spec.deploymentTemplate.spec.template.spec.containers.0.resources.limits": { cpu: "500m", memory: 1024 },
      "spec.deploymentTemplate.spec.strategy.rollingUpdate": { maxSurge: "25%", maxUnavailable: 1 },
    },
  },
  RuntimeWithoutSelector: {
    reason: "with what a Deployment requires",
    object: object(
      "DeploymentRuntimeConfig",
      { deploymentTemplate: { spec: { template: { spec: { containers: [] } } } } },
      "pkg.crossplane.io/v1beta1",
    ),
    refused: ["spec.deploymentTemplate.spec.selector", "Required value"],
  },
  RuntimeQuantity: {
    reason: "quantities are quantities",
    object: object(
      "DeploymentRuntimeConfig",
      {
        deploymentTemplate: {
          spec: {
            selector: {},
            template: { spec: { containers: [{ name: "c", resources: { limits: { cpu: "much" } } }] } },
          },
        },
      },
      "pkg.crossplane.io/v1beta1",
    ),
    refused: ["spec.deploymentTemplate.spec.template.spec.containers[0].resources.limits.cpu", "should match"],
  },
};
