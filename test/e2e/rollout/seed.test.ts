// SPDX-License-Identifier: Apache-2.0
// The manifests of the rollout design, applied with the kubectl of Kubernetes, do what its text says. Its package is only a name:
// an image of the suite's own is served in its place.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { isInvalid } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { dump, load } from "js-yaml";
import {
  alphaCompositionYaml,
  alphaFunctionYaml,
  bucketYaml,
  functionYaml,
} from "../../../packages/composition/test/definitions.ts";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { kubernetes } from "../../../tools/peers/kubernetes.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { runProgram } from "../../interop/apiserver/run-program.ts";
import { type PackagePlane, startPackagePlane } from "../harness/packages/package-plane.ts";
import { conditionOf, eventually } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import {
  compositionRevisionType,
  compositionType,
  functionRevisionType,
  functionStatus,
  functionType,
  imageConfigType,
  isServing,
  revisionText,
} from "./kinds.ts";

const name = "function-patch-and-transform";
const bucketType = { apiVersion: "custom-api.example.org/v1alpha1", kind: "AcmeBucket" };
const myBucket = { name: "my-bucket" };
const otherBucket = { name: "other-bucket" };
const parse = (yaml: string): KubeObject => load(yaml) as KubeObject;

const definition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "acmebuckets.custom-api.example.org" },
  spec: {
    group: "custom-api.example.org",
    names: { kind: "AcmeBucket", plural: "acmebuckets" },
    defaultCompositionRef: { name: "example" },
    versions: [
      { name: "v1alpha1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } } },
    ],
  },
};

/** The composition of before: no label, and whichever function revision there is. */
function firstComposition(): KubeObject {
  const composition = structuredClone(parse(alphaCompositionYaml)) as unknown as {
    metadata: { labels?: object };
    spec: { pipeline: [{ functionRevisionSelector?: object; input?: object }] };
  };
  delete composition.metadata.labels;
  delete composition.spec.pipeline[0].functionRevisionSelector;
  delete composition.spec.pipeline[0].input;
  return composition as unknown as KubeObject;
}

let plane: PackagePlane;
let home: string;
let kubeconfig: string;
/** What the composed object of a bucket must have in it, by the revision that made it. */
const versions = new Map<string, string>();

before(async () => {
  plane = await startPackagePlane({ functionRevisionSelectors: true });
  home = mkdtempSync(join(tmpdir(), "e2e-seed-"));
  kubeconfig = await plane.kubeconfig();
  const source = "xpkg.crossplane.io/crossplane-contrib";
  const spec = {
    matchImages: [{ type: "Prefix", prefix: source }],
    rewriteImage: { prefix: `${plane.registry.address}/crossplane-contrib` },
  };
  await plane.apply({ ...imageConfigType, metadata: { name: "own-registry" }, spec }, definition);
});
after(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const publish = (version: string): Promise<string> =>
  plane.registry.publish({ name: `crossplane-contrib/${name}:v0.8.2`, version });

/** `kubectl apply -f -`, as the reader of the design would; what is there is changed, what is not is made. */
async function kubectlApply(yaml: string): Promise<void> {
  const { exitCode, stderr } = await runProgram({
    program: join(installed(kubernetes, cacheDirectory), "kubectl"),
    args: [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(home, "cache")}`, "apply", "-f", "-"],
    input: yaml,
    env: { HOME: home },
    patienceMs: 150_000,
  });
  assert.equal(exitCode, 0, stderr);
}

const revisions = async (): Promise<readonly KubeObject[]> => {
  const { items } = await plane.users.list(functionRevisionType);
  return items.toSorted((a, b) => revisionText(a).spec.revision - revisionText(b).spec.revision);
};

async function servingRevision(number: number): Promise<KubeObject> {
  return eventually(`function revision ${number} takes calls`, async () => {
    const found = (await revisions()).find((one) => revisionText(one).spec.revision === number);
    return found !== undefined && isServing(found) && found;
  });
}

interface Made {
  readonly composition: string;
  readonly function: string;
  readonly version: string;
}

/** By which revisions a bucket was made, once it is ready and its status matches its content: it composes before it reports. */
async function madeBy(key: { readonly name: string }, isWanted: (made: Made) => boolean): Promise<Made> {
  let bucket: KubeObject | undefined;
  const look = async (): Promise<Made | false> => {
    bucket = await plane.get(bucketType, key);
    const { spec, status } = bucket as unknown as {
      spec: { compositionRevisionRef?: { name: string } };
      status?: { crossplane?: { functionRevisions?: { functionRevision: string }[] } };
    };
    const labelSelector = `crossplane.io/composite=${key.name}`;
    const { items } = await plane.users.list({ apiVersion: "v1", kind: "ConfigMap" }, { labelSelector });
    const made = {
      composition: spec.compositionRevisionRef?.name ?? "",
      function: status?.crossplane?.functionRevisions?.[0]?.functionRevision ?? "",
      version: (items[0]?.["data"] as { version?: string } | undefined)?.version ?? "",
    };
    const isReported = made.version !== "" && versions.get(made.function) === made.version;
    return conditionOf(bucket, "Ready")?.status === "True" && isReported && isWanted(made) && made;
  };
  return eventually(`${key.name} is made`, look, () => JSON.stringify(bucket, undefined, 1));
}

/** Likewise, and what `render` makes of it now is the same. */
async function rendersAsMade(key: { readonly name: string }, isWanted: (made: Made) => boolean): Promise<Made> {
  const made = await madeBy(key, isWanted);
  await rendersAsApplied(plane.users, bucketType, key, { access: await plane.machine.access() });
  return made;
}

async function compositionRevision(number: number): Promise<KubeObject> {
  return eventually(`composition revision ${number} is valid`, async () => {
    const { items } = await plane.users.list(compositionRevisionType);
    const found = items.find((one) => (one["spec"] as unknown as { revision: number }).revision === number);
    return found !== undefined && conditionOf(found, "ValidPipeline")?.status === "True" && found;
  });
}

suite("the manifests of the rollout design", () => {
  test("an existing installation: one revision, which all composite resources use", async () => {
    const digest = await publish("first");
    await kubectlApply(functionYaml);
    const revision = await servingRevision(1);
    versions.set(revision.metadata.name ?? "", "first");
    const { spec } = revisionText(revision);
    assert.equal(spec.image, "xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.8.2");
    assert.equal(spec.digest, digest, "what was served in its place");
    assert.equal(revision.metadata.labels?.["release-channel"], undefined);
    await kubectlApply(dump(firstComposition()));
    const composition = await compositionRevision(1);
    await eventually("buckets are served", () => plane.users.list(bucketType));
    for (const key of [myBucket, otherBucket]) {
      await kubectlApply(dump({ ...bucketType, metadata: key, spec: { compositionUpdatePolicy: "Manual" } }));
      const made = await rendersAsMade(key, () => true);
      assert.deepEqual(made, {
        composition: composition.metadata.name,
        function: revision.metadata.name,
        version: "first",
      });
    }
  });

  test("the labelled manifest makes a labelled revision beside it", async () => {
    await publish("second");
    await kubectlApply(alphaFunctionYaml);
    const revision = await servingRevision(2);
    versions.set(revision.metadata.name ?? "", "second");
    const [first] = await revisions();
    assert.equal(revision.metadata.labels?.["release-channel"], "alpha");
    assert.equal(first?.metadata.labels?.["release-channel"], undefined, "the other is as it was");
    assert.deepEqual(
      (await revisions()).map((one) => revisionText(one).spec.desiredState),
      ["Active", "Active"],
    );
    await plane.until("the status lists both", functionType, { name }, (one) => {
      const { activeRevisions = [] } = functionStatus(one);
      return activeRevisions.join() === [revision.metadata.name, first?.metadata.name].join();
    });
  });

  test("the labelled composition creates a revision that is not used yet", async () => {
    await assert.rejects(
      plane.users.apply(parse(alphaCompositionYaml), { fieldManager: "kubectl" }),
      isInvalid,
      "server-side, the input that was removed for brevity is refused",
    );
    await kubectlApply(alphaCompositionYaml);
    const composition = await compositionRevision(2);
    assert.equal(composition.metadata.labels?.["release-channel"], "alpha");
    const stored = await plane.get(compositionType, { name: "example" });
    const { pipeline } = stored["spec"] as unknown as { pipeline: object[] };
    assert.deepEqual(pipeline, [
      {
        step: "patch-and-transform",
        functionRef: { name },
        functionRevisionSelector: { matchLabels: { "release-channel": "alpha" } },
      },
    ]);
  });

  test("the bucket with the selector moves to it, and the other does not", async () => {
    const [first, second] = await Promise.all([compositionRevision(1), compositionRevision(2)]);
    await kubectlApply(bucketYaml);
    const isMoved = ({ composition, version }: Made): boolean =>
      composition === second.metadata.name && version !== "first";
    const made = await rendersAsMade(myBucket, isMoved);
    assert.deepEqual(made, {
      composition: second.metadata.name,
      function: (await servingRevision(2)).metadata.name,
      version: "second",
    });
    // Not rendered: whether it was looked at since a higher revision of the function serves is a matter of luck.
    const other = await madeBy(otherBucket, () => true);
    assert.equal(other.composition, first.metadata.name);
    assert.equal(other.version, versions.get(other.function));
    const events = await plane.events(await plane.get(bucketType, myBucket));
    assert.ok(events.includes(`Normal SelectComposition: Selected composition revision: ${second.metadata.name}`));
  });

  test("a bucket made from the unchanged manifest uses the new revision immediately", async () => {
    await kubectlApply(bucketYaml.replace("name: my-bucket", "name: new-bucket"));
    const made = await rendersAsMade({ name: "new-bucket" }, () => true);
    assert.equal(made.composition, (await compositionRevision(2)).metadata.name);
    assert.equal(made.version, "second");
  });

  test("without a choice, the highest numbered active revision is used", async () => {
    const annotations = { "crossplane.io/reconcile-requested-at": "now" };
    await plane.users.patch({ ...bucketType, ...otherBucket }, { metadata: { annotations } }, { type: "merge" });
    const made = await rendersAsMade(otherBucket, ({ version }) => version === "second");
    assert.equal(made.composition, (await compositionRevision(1)).metadata.name);
    assert.equal(versions.get(made.function), "second");
  });

  test("the same manifest again, with another label and the image as it was, makes no revision", async () => {
    await kubectlApply(alphaFunctionYaml.replace("release-channel: alpha", "release-channel: beta"));
    const current = await eventually("the current revision has the label", async () => {
      const found = await servingRevision(2);
      return found.metadata.labels?.["release-channel"] === "beta" && found;
    });
    assert.equal((await revisions()).length, 2);
    assert.equal((await revisions())[0]?.metadata.labels?.["release-channel"], undefined);
    assert.equal(versions.get(current.metadata.name ?? ""), "second");
  });
});
