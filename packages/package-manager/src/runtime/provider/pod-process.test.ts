// SPDX-License-Identifier: Apache-2.0
// What a DeploymentRuntimeConfig makes of the process of a Provider; the one of the guide among them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject, objectAt } from "@purlin/kube-objects/object";
import { load } from "js-yaml";
import { packageTypes } from "../../package-kinds.ts";
import { deploymentOf } from "../kubernetes/deployment.ts";
import { runtimeNames } from "../kubernetes/runtime-names.ts";
import { podProcess, podTemplateOf } from "./pod-process.ts";

const type = packageTypes.Provider;
const namespace = "crossplane-system";
const revision = {
  ...type.revision,
  metadata: { name: "fleet-1", uid: "u", labels: { "pkg.crossplane.io/package": "provider-fleet" } },
  spec: {},
} as unknown as KubeObject;
const image = { entrypoint: ["/provider"], cmd: ["--from-image"], env: [], workingDir: "/", user: "" };

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const stored: Readonly<Record<string, object>> = {
  "Secret/fleet-credentials": { data: { KEY: base64("k"), "config.json": base64("{}") } },
  "ConfigMap/fleet-settings": { data: { region: "north" }, binaryData: { logo: base64("x") } },
};

function processOf(container: JsonObject, volumes: readonly JsonObject[] = [], more: JsonObject = {}) {
  const containers = [{ name: "package-runtime", ...container }];
  return processFor({
    deploymentTemplate: { spec: { template: { spec: { containers, volumes: [...volumes], ...more } } } },
  });
}

function processFor(config: JsonObject) {
  const names = runtimeNames(type, revision, config);
  const place = { name: names.deployment, namespace, owner: controllerReference(revision) };
  const deployment = deploymentOf({ type, revision, names, config, place, image: "", pullSecrets: [] });
  const client = {
    get: async ({ kind }: { kind: string }, { name }: { name: string }) => stored[`${kind}/${name}`],
  };
  const sources = { client, namespace, signal: new AbortController().signal };
  return podProcess(podTemplateOf(deployment), image, sources as never);
}

test("without a runtime config the image runs as it is, with the variables of a Provider", async () => {
  const { process, env, volumes, ignored } = await processFor({});
  assert.deepEqual([process.entrypoint, process.cmd], [["/provider"], ["--from-image"]]);
  assert.deepEqual(
    { ...env },
    {
      TLS_CLIENT_CERTS_DIR: "/tls/client",
      TLS_SERVER_CERTS_DIR: "/tls/server",
      POD_NAMESPACE: namespace,
      PROVIDER_NAME: "provider-fleet",
      REVISION_NAME: "fleet-1",
      REVISION_UID: "u",
      WEBHOOK_TLS_CERT_DIR: "/tls/server",
    },
  );
  assert.deepEqual([volumes, ignored], [[], []]);
});

test("the runtime config of the guide does what the guide says", async () => {
  const guide = readFileSync(join(import.meta.dirname, "../../../../../docs/guide/providers.md"), "utf8");
  const [, text = ""] = /```yaml runtime-config\n([\s\S]*?)```/.exec(guide) ?? [];
  const { process, env, volumes } = await processFor(objectAt(load(text) as KubeObject, ["spec"]));
  assert.deepEqual(process.cmd, ["--debug", "--region=north"]);
  assert.deepEqual([env["REGION"], env["FLEET_KEY"]], ["north", "k"]);
  assert.deepEqual(
    volumes.map(({ mountPath, files }) => [mountPath, files && Object.keys(files)]),
    [
      ["/credentials", ["KEY", "config.json"]],
      ["/work", undefined],
    ],
  );
});

test("command replaces the entry point and drops the arguments of the image", async () => {
  const { process } = await processOf({ command: ["/other", "$(REVISION_NAME)", "$$(REVISION_NAME)", "$(NONE)"] });
  assert.deepEqual(process.entrypoint, ["/other", "fleet-1", "$(REVISION_NAME)", "$(NONE)"]);
  assert.deepEqual(process.cmd, []);
});

test("a word that grows beyond what Linux starts is refused, and names without an end are read in one pass", async () => {
  const a = "x".repeat(60_000);
  const env = [
    { name: "A", value: a },
    { name: "B", value: "$(A)$(A)" },
    { name: "C", value: "$(B)$(B)$(B)" },
  ];
  await assert.rejects(processOf({ command: ["/p"], env }), /"\$\(B\)\$\(B\)\$\(B\)" has more than 131072 characters/);
  const open = "$((".repeat(300_000);
  const { process } = await processOf({ command: ["/p"], args: [open, "$$($$", "$$(A)$$"] });
  assert.deepEqual(process.cmd, [open, "$($", "$(A)$"]);
});

test("names of members that every object has are names like others", async () => {
  const args = ["$(constructor)", "$(__proto__)", "$(toString)"];
  const items = [{ key: "constructor", path: "a" }];
  const volumes = [{ name: "one", configMap: { name: "fleet-settings", items, optional: true } }];
  const volumeMounts = [{ name: "one", mountPath: "/one" }];
  const plain = await processOf({ command: ["/p"], args, volumeMounts }, volumes);
  assert.deepEqual([plain.process.cmd, plain.volumes], [args, [{ mountPath: "/one", files: {} }]]);
  const env = ["constructor", "__proto__", "toString"].map((name) => ({ name, value: `the ${name}` }));
  const named = await processOf({ command: ["/p"], args, env });
  assert.deepEqual(named.process.cmd, ["the constructor", "the __proto__", "the toString"]);
  const secretKeyRef = { name: "fleet-credentials", key: "constructor" };
  await assert.rejects(processOf({ env: [{ name: "A", valueFrom: { secretKeyRef } }] }), /has no key "constructor"/);
});

test("a volume has the items that it names, and a projected one those of all its sources", async () => {
  const volumes = [
    { name: "one", configMap: { name: "fleet-settings", items: [{ key: "region", path: "a/region" }] } },
    {
      name: "two",
      projected: { sources: [{ secret: { name: "fleet-credentials" } }, { configMap: { name: "fleet-settings" } }] },
    },
    { name: "three", secret: { secretName: "none", optional: true } },
  ];
  const volumeMounts = ["one", "two", "three"].map((name) => ({ name, mountPath: `/${name}` }));
  const found = await processOf({ volumeMounts }, volumes);
  assert.deepEqual(
    found.volumes.map(({ files }) => Object.keys(files ?? {}).toSorted()),
    [["a/region"], ["KEY", "config.json", "logo", "region"], []],
  );
});

test("eight folders that start empty are mounted", async () => {
  const names = Array.from({ length: 8 }, (_, at) => `scratch-${at}`);
  const volumeMounts = names.map((name) => ({ name, mountPath: `/${name}` }));
  const found = await processOf(
    { volumeMounts },
    names.map((name) => ({ name, emptyDir: {} })),
  );
  assert.equal(found.volumes.filter(({ files }) => files === undefined).length, 8);
});

const bad: readonly (readonly [string, JsonObject, readonly JsonObject[], RegExp])[] = [
  [
    "a missing key",
    { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "fleet-credentials", key: "none" } } }] },
    [],
    /Secret "fleet-credentials" has no key "none", which the runtime config needs: add it/,
  ],
  [
    "a missing Secret",
    { envFrom: [{ secretRef: { name: "none" } }] },
    [],
    /Secret "crossplane-system\/none" not found, which the runtime config needs: create it/,
  ],
  [
    "a volume that needs a node",
    { volumeMounts: [{ name: "host", mountPath: "/host" }] },
    [{ name: "host", hostPath: { path: "/" } }],
    /volume "host" of the runtime config is not supported here: use secret, configMap, projected or emptyDir/,
  ],
  [
    "a part of a volume",
    { volumeMounts: [{ name: "c", mountPath: "/etc/fleet.json", subPath: "config.json" }] },
    [{ name: "c", secret: { secretName: "fleet-credentials" } }],
    /mount "\/etc\/fleet.json" of the runtime config has a subPath, which is not supported here: mount the whole volume/,
  ],
  [
    "a mount without its volume",
    { volumeMounts: [{ name: "none", mountPath: "/none" }] },
    [],
    /mount "\/none" of the runtime config names the volume "none", which does not exist: add it to volumes/,
  ],
  [
    "a ninth folder that starts empty",
    { volumeMounts: Array.from({ length: 9 }, (_, at) => ({ name: "scratch", mountPath: `/scratch-${at}` })) },
    [{ name: "scratch", emptyDir: {} }],
    /mounts 9 emptyDir volumes, and at most 8 are supported here: .*; mount fewer/,
  ],
  [
    "a key that a volume names and the Secret does not have",
    { volumeMounts: [{ name: "c", mountPath: "/c" }] },
    [{ name: "c", secret: { secretName: "fleet-credentials", items: [{ key: "none", path: "x" }] } }],
    /Secret "fleet-credentials" has no key "none", which the runtime config needs: add it/,
  ],
];
for (const [what, container, volumes, pattern] of bad) {
  test(`${what} is refused with the next step`, async () => {
    await assert.rejects(processOf(container, volumes), pattern);
  });
}

test("what has no effect on one machine is named", async () => {
  const { ignored } = await processOf({}, [], { initContainers: [{ name: "wait" }] });
  assert.deepEqual(ignored, ["initContainers"]);
  const env = ["metadata.namespace", "spec.nodeName", "metadata.labels['a']"].map((fieldPath, at) => ({
    name: `V${at}`,
    valueFrom: { fieldRef: { fieldPath } },
  }));
  const limit = { name: "LIMIT", valueFrom: { resourceFieldRef: { resource: "limits.memory" } } };
  assert.deepEqual((await processOf({ env: [...env, limit] })).ignored, ["variables V1, LIMIT"]);
});
