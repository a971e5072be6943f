// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { systemClock } from "@purlin/base";
import { createCrd, free } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { conflict, isConflict } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import { find, startTestControl, type TestControl } from "../../test/test-control.ts";
import { kinds } from "../composite-resource/constants.ts";
import { createRevisionValidityController } from "./validity-controller.ts";

// Packages have their own CRDs, in a package that this one may not import: their shape does not matter here.
const loose = (kind: string): KubeObject =>
  createCrd({
    group: "pkg.crossplane.io",
    kind,
    plural: `${kind.toLowerCase()}s`,
    versions: [{ name: "v1", fields: { spec: free, status: free }, columns: [], hasStatus: true }],
  });

const resource = { group: "apiextensions.crossplane.io", resource: "compositionrevisions" };
const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };

async function start(options: { readonly revisionSelectors?: boolean } = {}): Promise<TestControl> {
  const control = await startTestControl([loose("Function"), loose("FunctionRevision")]);
  const deps = {
    ...control,
    clock: systemClock,
    developmentFunctions: true,
    developmentTrust: {},
    revisionSelectors: false,
    ...options,
  };
  await control.run(createRevisionValidityController(deps));
  return control;
}

function compositionRevision(name: string, step: JsonObject = { functionRef: { name: "fn" } }): KubeObject {
  return {
    ...kinds.revision,
    metadata: { name },
    spec: {
      revision: 1,
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "XApp" },
      pipeline: [{ step: "s", ...step }],
    },
  };
}

async function install(
  control: TestControl,
  name: string,
  capabilities: string[] | undefined,
  fn = "fn",
): Promise<void> {
  const made = await control.users.create({
    ...revisionType,
    metadata: { name, labels: { "pkg.crossplane.io/package": fn } },
    spec: { desiredState: "Active", revision: 1, image: "reg.io/fn:v1" },
  });
  if (capabilities === undefined) return;
  await control.users.update(
    { ...made, status: { capabilities, endpoint: "dns:///x:9443" } },
    { subresource: "status" },
  );
}

const becomes = (control: TestControl, name: string, wanted: string): Promise<boolean> =>
  eventually(`${name} is ${wanted}`, async () => {
    const found = conditionsOf((await find(control.users, kinds.revision, name)) ?? {});
    return found.find(({ type }) => type === "ValidPipeline")?.reason === wanted;
  });

suite("the validity of pipelines", () => {
  test("is set on each revision, also while its function is not installed", async () => {
    await using control = await start();
    await control.users.create(compositionRevision("a"));
    await becomes(control, "a", "ValidPipeline");
    const revision = await find(control.users, kinds.revision, "a");
    const synced = conditionsOf(revision ?? {}).find(({ type }) => type === "Synced");
    assert.deepEqual([synced?.status, synced?.reason, synced?.observedGeneration], ["True", "ReconcileSuccess", 1]);
    assert.deepEqual(control.events.take(), [
      "Normal CheckCapabilities: All functions have required composition capability",
    ]);
  });

  test("follows the functions: capabilities, state, and those that come and go", async () => {
    await using control = await start();
    await control.users.create(compositionRevision("a"));
    await becomes(control, "a", "ValidPipeline");
    await install(control, "fn-1", ["operation"]);
    await becomes(control, "a", "MissingCapabilities");
    const { status: _none, ...stored } = (await find(control.users, revisionType, "fn-1")) ?? compositionRevision("");
    await control.users.update({ ...stored, status: { capabilities: ["composition"], endpoint: "e" } } as KubeObject, {
      subresource: "status",
    });
    await becomes(control, "a", "ValidPipeline");
    await control.users.patch(
      { ...revisionType, name: "fn-1" },
      { spec: { desiredState: "Inactive" } },
      { type: "merge" },
    );
    await install(control, "fn-2", ["operation"]);
    await becomes(control, "a", "MissingCapabilities");
    assert.ok(
      control.events
        .texts()
        .includes(
          'Warning CheckCapabilities: function "fn" (active revision "fn-2") is missing required capabilities: composition',
        ),
    );
    await control.users.delete({ ...revisionType, name: "fn-2" });
    await becomes(control, "a", "ValidPipeline");
  });

  test("revisions of another function start no reconcile", async () => {
    await using control = await start();
    await control.users.create(compositionRevision("a"));
    await becomes(control, "a", "ValidPipeline");
    const { resourceVersion } = (await find(control.users, kinds.revision, "a"))?.metadata ?? {};
    await install(control, "other-1", [], "other");
    await control.users.create(compositionRevision("b", { functionRef: { name: "other" } }));
    await becomes(control, "b", "MissingCapabilities");
    assert.equal((await find(control.users, kinds.revision, "a"))?.metadata.resourceVersion, resourceVersion);
  });

  test("a step that names a revision fails closed while the switch is off", async () => {
    await using control = await start();
    await control.users.create(
      compositionRevision("a", { functionRef: { name: "fn" }, functionRevisionRef: { name: "fn-1" } }),
    );
    await becomes(control, "a", "FeatureDisabled");
    assert.deepEqual(control.events.take(), [
      'Warning CheckCapabilities: pipeline step "s" uses functionRevisionRef, which needs --enable-function-revision-selectors',
    ]);
  });

  test("a label that moves a step to another revision is looked at again", async () => {
    await using control = await start({ revisionSelectors: true });
    await install(control, "fn-1", ["operation"]);
    const selector = { functionRevisionSelector: { matchLabels: { channel: "alpha" } } };
    await control.users.create(compositionRevision("a", { functionRef: { name: "fn" }, ...selector }));
    await becomes(control, "a", "ValidPipeline");
    await control.users.patch(
      { ...revisionType, name: "fn-1" },
      { metadata: { labels: { channel: "alpha" } } },
      { type: "merge" },
    );
    await becomes(control, "a", "MissingCapabilities");
  });

  test("a function that goes into development is looked at again", async () => {
    await using control = await start();
    await install(control, "fn-1", ["operation"]);
    await control.users.create(compositionRevision("a"));
    await becomes(control, "a", "MissingCapabilities");
    const annotations = { "render.crossplane.io/runtime": "Development" };
    await control.users.create({
      ...functionType,
      metadata: { name: "fn", annotations },
      spec: { package: "reg.io/fn:v1" },
    });
    await becomes(control, "a", "ValidPipeline");
  });

  test("functions that cannot be read are reported, and read again", async () => {
    await using control = await startTestControl([loose("Function"), loose("FunctionRevision")]);
    const deps = {
      ...control,
      clock: systemClock,
      developmentFunctions: false,
      developmentTrust: {},
      revisionSelectors: false,
    };
    const signal = new AbortController().signal;
    const check = (client: TestControl["client"] = control.client): Promise<unknown> =>
      createRevisionValidityController({ ...deps, client }).spec.reconcile({ name: "a" }, signal);
    await control.users.create(compositionRevision("a"));
    const broken = { ...control.client, list: () => Promise.reject(new Error("no answer")) };
    await assert.rejects(check(broken), /no answer/);
    assert.deepEqual(control.events.take(), [
      "Warning CheckCapabilities: cannot check the functions of the pipeline: cannot list FunctionRevisions: no answer",
    ]);
    const late = { ...control.client, update: () => Promise.reject(conflict(resource, "a", "changed")) };
    await assert.rejects(check(late), isConflict);
    assert.deepEqual(control.events.take(), [], "a lost race is not reported");
    await check();
    await becomes(control, "a", "ValidPipeline");
  });

  test("no status is written and no event is emitted when nothing changes", async () => {
    await using control = await start();
    await control.users.create(compositionRevision("a"));
    await becomes(control, "a", "ValidPipeline");
    await eventually(
      "the cache",
      async () => conditionsOf((await control.client.get(kinds.revision, { name: "a" })) ?? {}).length === 2,
    );
    const deps = {
      ...control,
      clock: systemClock,
      developmentFunctions: true,
      developmentTrust: {},
      revisionSelectors: false,
    };
    control.takeWrites();
    control.events.take();
    await createRevisionValidityController(deps).spec.reconcile({ name: "a" }, new AbortController().signal);
    assert.deepEqual(control.takeWrites(), []);
    assert.deepEqual(control.events.take(), []);
  });
});
