// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CacheChange } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { otherKinds, packageTypes } from "../../package-kinds.ts";
import { kubernetesWatches } from "./kubernetes-runtime.ts";

const revision = (name: string, owner: string, spec: JsonObject = {}, status: JsonObject = {}): KubeObject => ({
  ...packageTypes.Function.revision,
  metadata: { name, labels: { "pkg.crossplane.io/package": owner } },
  spec: { desiredState: "Active", revision: 1, image: `registry.example.org/acme/${owner}:v1`, ...spec },
  status,
});
const chosen = { appliedImageConfigRefs: [{ name: "ic", reason: "ConfigureRuntime" }] };
const all = [
  revision("a-1", "a", { runtimeConfigRef: { name: "default" } }),
  revision("a-2", "a", { runtimeConfigRef: { name: "rich" } }),
  revision("b-1", "b", { runtimeConfigRef: { name: "default" } }, chosen),
  revision("c-1", "c", { runtimeConfigRef: { name: "default" } }, { resolvedImage: "mirror.example.org/c:v1" }),
];
const [first = all[0] as KubeObject] = all;

const imageConfig = (spec: JsonObject, prefix = "registry.example.org/"): KubeObject => ({
  ...otherKinds.imageConfig,
  metadata: { name: "ic" },
  spec: { matchImages: [{ prefix }], ...spec },
});
const runtime = { runtime: { configRef: { name: "rich" } } };
const updated = (object: KubeObject, previous: KubeObject): CacheChange => ({ type: "updated", object, previous });

const rows: Readonly<Record<string, { reason: string; watch: string; change: CacheChange; want: string[] }>> = {
  SiblingServes: {
    reason: "the active revision may have changed",
    watch: "Sibling",
    change: updated(withMember(first, ["status", "endpoint"], "dns:///a:9443"), first),
    want: ["a-2"],
  },
  SiblingDeactivated: {
    reason: "the active revision may have changed",
    watch: "Sibling",
    change: updated(withMember(first, ["spec", "desiredState"], "Inactive"), first),
    want: ["a-2"],
  },
  SiblingGone: {
    reason: "the active revision may have changed",
    watch: "Sibling",
    change: { type: "deleted", object: first },
    want: ["a-2"],
  },
  SiblingReported: {
    reason: "conditions of one are none of the other's business",
    watch: "Sibling",
    change: updated(withMember(first, ["status", "conditions"], []), first),
    want: [],
  },
  RuntimeByImage: {
    reason: "an ImageConfig says how images are run",
    watch: "ImageConfig",
    change: { type: "added", object: imageConfig(runtime) },
    want: ["a-1", "a-2", "b-1", "c-1"],
  },
  RewrittenImage: {
    reason: "the image after rewriting counts as well",
    watch: "ImageConfig",
    change: { type: "added", object: imageConfig(runtime, "mirror.example.org/") },
    want: ["c-1"],
  },
  NoLonger: {
    reason: "what it matched before counts",
    watch: "ImageConfig",
    change: updated(imageConfig({}, "elsewhere/"), imageConfig(runtime, "mirror.example.org/")),
    want: ["c-1"],
  },
  Verification: {
    reason: "how images are verified changes nothing that runs",
    watch: "ImageConfig",
    change: { type: "added", object: imageConfig({ verification: { provider: "Cosign" } }) },
    want: [],
  },
  Config: {
    reason: "those that name it, and those for which an ImageConfig may",
    watch: "DeploymentRuntimeConfig",
    change: { type: "added", object: { ...otherKinds.runtimeConfig, metadata: { name: "rich" } } },
    want: ["a-2", "b-1"],
  },
};
for (const [name, { reason, watch, change, want }] of Object.entries(rows)) {
  test(`watch ${name}: ${reason}`, () => {
    const spec = kubernetesWatches(packageTypes.Function, () => all).find(({ type }) => type === watch);
    assert.deepEqual(
      [...(spec?.keys(change) ?? [])].map((key) => key?.name),
      want,
    );
  });
}
