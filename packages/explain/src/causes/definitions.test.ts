// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, appDefinition, inspectionOf, made, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import type { NodeReport } from "../model/explanation.ts";
import { definitionReport } from "./definitions.ts";

const withMetadata = (metadata: JsonObject): KubeObject => ({
  ...appDefinition,
  metadata: { ...appDefinition.metadata, ...metadata },
});
const report = async (xrd: KubeObject, ...others: readonly KubeObject[]): Promise<NodeReport> =>
  definitionReport(xrd, await inspectionOf(others));
const crd = (metadata: JsonObject = {}, status?: JsonObject): KubeObject =>
  made("apiextensions.k8s.io/v1/CustomResourceDefinition", "apps.example.org", {
    metadata,
    ...(status === undefined ? {} : { status }),
  });
const failed = (message: string): KubeObject =>
  withConditions(appDefinition, [["Synced", "False", "DefineCompositeResource", message]]);

test("an established XRD has nothing to report", async () => {
  assert.deepEqual(await report(appDefinition), {});
});

test("a paused XRD", async () => {
  const { findings } = await report(withMetadata({ annotations: { "crossplane.io/paused": "true" } }));
  assert.equal(findings?.[0]?.code, "E08");
});

describe("E60: an XRD that cannot be used", () => {
  test("the field of the message is to be corrected", async () => {
    const message = "cannot render CRD: spec.versions[0].schema: must be an object";
    const { findings } = await report(failed(message));
    assert.deepEqual(findings, [
      {
        code: "E60",
        object: { apiVersion: appDefinition.apiVersion, kind: appDefinition.kind, name: "apps.example.org" },
        since: secondsAgo(60),
        path: "spec.versions[0].schema",
        sentence: `CompositeResourceDefinition apps.example.org cannot be used: ${message}`,
        next: ["correct spec.versions[0].schema of CompositeResourceDefinition apps.example.org"],
        evidence: [
          {
            object: "CompositeResourceDefinition apps.example.org",
            path: "status.conditions[Synced]",
            time: secondsAgo(60),
            text: `Synced=False: DefineCompositeResource: ${message}`,
          },
        ],
      },
    ]);
  });

  test("a message without a field is about the whole XRD", async () => {
    const [finding] = (await report(failed("conflict"))).findings ?? [];
    assert.equal(finding?.path, undefined);
    assert.deepEqual(finding?.next, ["edit CompositeResourceDefinition apps.example.org"]);
  });

  test("a CRD of another owner has the name", async () => {
    const owner = {
      apiVersion: "pkg.crossplane.io/v1",
      kind: "ProviderRevision",
      name: "p-1",
      uid: "other",
      controller: true,
    };
    const [finding] = (await report(failed("conflict"), crd({ ownerReferences: [owner] }))).findings ?? [];
    assert.equal(
      finding?.sentence,
      "CompositeResourceDefinition apps.example.org cannot be used: CustomResourceDefinition apps.example.org belongs to ProviderRevision p-1",
    );
  });

  test("names that the CRD did not get", async () => {
    const own = { ...appDefinition, name: "apps.example.org", uid: "uid-apps.example.org", controller: true };
    const owned = { ownerReferences: [own as unknown as JsonObject] };
    const accepted = (status: string, more: JsonObject): JsonObject => ({
      conditions: [{ type: "NamesAccepted", status, reason: "ListKindConflict", lastTransitionTime: "", ...more }],
    });
    const sentence = async (status: JsonObject): Promise<string | undefined> =>
      (await report(failed("conflict"), crd(owned, status))).findings?.[0]?.sentence;
    const cannot = "CompositeResourceDefinition apps.example.org cannot be used:";
    assert.equal(
      await sentence(accepted("False", { message: '"AppList" is already in use' })),
      `${cannot} its names are not accepted: "AppList" is already in use`,
    );
    assert.equal(await sentence(accepted("False", {})), `${cannot} its names are not accepted: ListKindConflict`);
    assert.equal(await sentence(accepted("True", {})), `${cannot} conflict`);
  });

  test("an XRD without conditions is established within 30 seconds", async () => {
    const aged = (seconds: number): KubeObject => {
      const { status: _, ...rest } = withMetadata({ creationTimestamp: secondsAgo(seconds) });
      return rest;
    };
    assert.deepEqual(await report(aged(30)), {
      waiting: [{ since: secondsAgo(30), text: "is not established yet" }],
    });
    const [finding] = (await report(aged(31))).findings ?? [];
    assert.equal(
      finding?.sentence,
      "CompositeResourceDefinition apps.example.org cannot be used: it is not established",
    );
    assert.deepEqual([finding?.since, finding?.evidence], [secondsAgo(31), []]);
  });
});

describe("E61: an XRD in deletion", () => {
  const deleting = withMetadata({ deletionTimestamp: secondsAgo(250) });

  test("instances are left", async () => {
    const [finding] = (await report(deleting, app("a"), app("b"))).findings ?? [];
    assert.equal(
      finding?.sentence,
      "CompositeResourceDefinition apps.example.org is being deleted and 2 namespaced App objects are left: App default/a, App default/b",
    );
    assert.deepEqual(finding?.next, ["purlin delete app.example.org/a -n default"]);
    assert.equal(finding?.since, secondsAgo(250));
    assert.deepEqual(
      finding?.evidence.map(({ path }) => path),
      ["status.conditions[Established]"],
    );
  });

  test("of a cluster-scoped kind", async () => {
    const spec = { ...(appDefinition["spec"] as JsonObject), scope: "Cluster" };
    const [finding] = (await report({ ...deleting, spec }, app("a"))).findings ?? [];
    assert.match(finding?.sentence ?? "", /and 1 App objects are left/);
  });

  test("without instances, or without a referenceable version, it is waiting", async () => {
    const waiting = [{ since: secondsAgo(250), text: "is being deleted, since 4m10s ago" }];
    assert.deepEqual(await report(deleting), { waiting });
    const spec = { ...(appDefinition["spec"] as JsonObject), versions: [] };
    assert.deepEqual(await report({ ...deleting, spec }, app("a")), { waiting });
  });
});
