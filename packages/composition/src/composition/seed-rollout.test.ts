// SPDX-License-Identifier: Apache-2.0
// The YAML of the design for controlled rollout of functions, as it is written there.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { systemClock } from "@purlin/base";
import { createCrd, free } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, memberAt, withMember } from "@purlin/kube-objects/object";
import { load } from "js-yaml";
import { alphaCompositionYaml, bucketYaml, definitionVersion } from "../../test/definitions.ts";
import { startTestControl, type TestControl } from "../../test/test-control.ts";
import { kinds } from "../composite-resource/constants.ts";
import { deriveCompositeCrd } from "../definition/derive-crd.ts";
import { createRevisionsController, numberOf } from "./revisions-controller.ts";
import { createRevisionValidityController } from "./validity-controller.ts";

const yaml = (text: string): KubeObject => load(text) as KubeObject;

/** The legacy definition that the design's composite resource is of. */
const definition: KubeObject = {
  ...kinds.definition,
  metadata: { name: "acmebuckets.custom-api.example.org", uid: "uid" },
  spec: {
    group: "custom-api.example.org",
    names: { kind: "AcmeBucket", plural: "acmebuckets" },
    defaultCompositionUpdatePolicy: "Automatic",
    versions: [definitionVersion("v1alpha1")],
  },
};

const packages = ["Function", "FunctionRevision"].map((kind) =>
  createCrd({
    group: "pkg.crossplane.io",
    kind,
    plural: `${kind.toLowerCase()}s`,
    versions: [{ name: "v1", fields: { spec: free, status: free }, columns: [], hasStatus: true }],
  }),
);

async function start(): Promise<TestControl> {
  const crd = deriveCompositeCrd(definition, { functionRevisions: true });
  return startTestControl([withMember(crd, ["metadata", "ownerReferences"], undefined), ...packages]);
}

async function revisionsOf(control: TestControl): Promise<readonly KubeObject[]> {
  const pass = createRevisionsController(control).spec.reconcile;
  await pass({ name: "example" }, new AbortController().signal);
  return (await control.client.list(kinds.revision)).toSorted((a, b) => numberOf(a) - numberOf(b));
}

async function validity(control: TestControl, name: string, revisionSelectors: boolean): Promise<string> {
  const deps = { ...control, clock: systemClock, developmentFunctions: false, developmentTrust: {}, revisionSelectors };
  const { spec } = createRevisionValidityController(deps);
  await spec.reconcile({ name }, new AbortController().signal);
  const revision = (await control.client.get(kinds.revision, { name })) ?? {};
  return conditionsOf(revision).find(({ type }) => type === "ValidPipeline")?.reason ?? "";
}

suite("the design's own YAML", () => {
  test("the Composition is accepted, and an input that is only a comment is absent", async () => {
    await using control = await start();
    const stored = await control.client.create(yaml(alphaCompositionYaml));
    const [step] = memberAt(stored, ["spec", "pipeline"]) as readonly JsonObject[];
    assert.deepEqual(step, {
      step: "patch-and-transform",
      functionRef: { name: "function-patch-and-transform" },
      functionRevisionSelector: { matchLabels: { "release-channel": "alpha" } },
    });
  });

  test("changing the step makes a new revision, which carries the Composition's labels", async () => {
    await using control = await start();
    const stable = alphaCompositionYaml.replaceAll("alpha\n", "stable\n").replace("v1stable", "v1alpha1");
    await control.client.create(yaml(stable));
    assert.equal((await revisionsOf(control)).length, 1);
    const stored = (await control.client.get(kinds.composition, { name: "example" })) as KubeObject;
    const { spec = {}, metadata } = yaml(alphaCompositionYaml);
    await control.client.update({ ...stored, spec, metadata: { ...stored.metadata, labels: metadata.labels ?? {} } });
    const channels = (await revisionsOf(control)).map(({ metadata: { labels } }) => labels?.["release-channel"]);
    assert.deepEqual(channels, ["stable", "alpha"]);
  });

  test("the composite resource is a legacy one, with its policy and selector under spec", async () => {
    await using control = await start();
    const bucket = await control.client.create(yaml(bucketYaml));
    assert.deepEqual(bucket["spec"], yaml(bucketYaml)["spec"]);
  });

  test("with the switch off the revision is invalid and says which switch; with it on it is judged by its function", async () => {
    await using control = await start();
    await control.client.create(yaml(alphaCompositionYaml));
    const [revision] = await revisionsOf(control);
    const name = revision?.metadata.name ?? "";
    assert.equal(await validity(control, name, false), "FeatureDisabled");
    assert.match(
      control.events.take().at(-1) ?? "",
      /pipeline step "patch-and-transform" uses functionRevisionSelector, which needs --enable-function-revision-selectors$/,
    );
    assert.equal(await validity(control, name, true), "ValidPipeline");
    const labels = { "pkg.crossplane.io/package": "function-patch-and-transform", "release-channel": "alpha" };
    const made = await control.client.create({
      apiVersion: "pkg.crossplane.io/v1",
      kind: "FunctionRevision",
      metadata: { name: "fn-1", labels },
      spec: { desiredState: "Active", revision: 1, image: "reg.io/fn:v1" },
    });
    assert.equal(await validity(control, name, true), "ValidPipeline", "its package has not been read yet");
    const status = { capabilities: ["operation"] };
    await control.client.update({ ...made, status } as KubeObject, { subresource: "status" });
    assert.equal(await validity(control, name, true), "MissingCapabilities");
  });
});
