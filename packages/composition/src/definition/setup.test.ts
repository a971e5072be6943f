// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { crdType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import {
  appType,
  appXrd,
  cacheType,
  cacheXrd,
  established,
  offered,
  startTestDefinitions,
  xappType,
} from "../../test/definition-control.ts";
import { appDefinition, cacheDefinition, definitionVersion } from "../../test/definitions.ts";
import { find } from "../../test/test-control.ts";
import { refusal } from "../../test/test-doubles.ts";
import { kinds } from "../composite-resource/constants.ts";
import { createDefinedController, createOfferedController } from "./setup.ts";

suite("a definition that is established", () => {
  test("makes composite resources and claims possible, and says so", async () => {
    await using running = await startTestDefinitions();
    const { control } = running;
    await control.users.create(appDefinition());
    assert.equal((await running.becomes("Established", established)).observedGeneration, 1);
    await running.becomes("Offered", offered);
    const xrd = await running.xrd();
    assert.ok(xrd);
    assert.deepEqual([...(xrd.metadata.finalizers ?? [])].sort(), [
      "defined.apiextensions.crossplane.io",
      "offered.apiextensions.crossplane.io",
    ]);
    assert.deepEqual(memberAt(xrd, ["status", "controllers"]), {
      compositeResourceType: xappType,
      compositeResourceClaimType: appType,
    });
    assert.ok(control.engine.isRunning(`composite/${appXrd}`) && control.engine.isRunning(`claim/${appXrd}`));
    assert.equal(conditionsOf(xrd).length, 2, "without a failure, no event is emitted");
    const applied = running.events().filter((text) => text.includes("Applied"));
    assert.deepEqual(applied.sort(), [
      "Normal EstablishComposite: Applied composite resource CustomResourceDefinition: xapps.platform.example.org",
      "Normal OfferClaim: Applied composite resource claim CustomResourceDefinition: apps.platform.example.org",
    ]);
    const sources = new Set(control.events.all.map(({ source }) => source));
    assert.deepEqual([...sources].sort(), [
      "defined/compositeresourcedefinition.apiextensions.crossplane.io",
      "offered/compositeresourcedefinition.apiextensions.crossplane.io",
    ]);
  });

  test("a condition of older versions about its conversion webhook is removed", async () => {
    await using running = await startTestDefinitions();
    const { users } = running.control;
    const clientConfig = { url: "https://127.0.0.1:1/convert" };
    const conversion = { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } };
    await users.create(appDefinition({ spec: { conversion } }));
    await running.becomes("Established", { status: "True" });
    const current = conditionsOf((await running.xrd()) ?? assert.fail("the definition is gone"));
    const old = { type: "ConversionWebhookCalled", status: "False", reason: "NotSupported", message: "not called" };
    const conditions = [...current, { ...old, lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const at = { ...kinds.definition, name: appXrd };
    await users.patch(at, { status: { conditions } }, { type: "merge", subresource: "status" });
    await eventually("the condition is gone", async () => {
      const xrd = await running.xrd();
      return xrd !== undefined && !conditionsOf(xrd).some(({ type }) => type === old.type);
    });
  });

  test("labels for its CRDs do not become its own", async () => {
    await using running = await startTestDefinitions();
    const metadata = { name: appXrd, labels: { own: "x" } };
    await running.control.users.create(appDefinition({ metadata, spec: { metadata: { labels: { crd: "y" } } } }));
    await running.becomes("Established", established);
    await running.becomes("Offered", offered);
    assert.deepEqual((await running.xrd())?.metadata.labels, { own: "x" });
    const crd = await find(running.control.users, crdType, appXrd);
    assert.deepEqual(crd?.metadata.labels, { own: "x", crd: "y" });
  });

  test("no status is written and no event is emitted when nothing changes", async () => {
    await using running = await startTestDefinitions();
    const { control } = running;
    const schema = { type: "object", example: { a: 1 }, properties: { spec: { type: "object", required: [] } } };
    await control.users.create(appDefinition({ schema }));
    await running.becomes("Established", established);
    await running.becomes("Offered", offered);
    await control.client.get(kinds.definition, { name: appXrd });
    const deps = {
      ...control,
      clock: systemClock,
      log: silentLog,
      functionRevisions: false,
      compositeController: () => ({ reconcile: async () => ({}), watches: [] }),
      claimController: () => ({ reconcile: async () => ({}), watches: [] }),
    };
    control.takeWrites();
    control.events.take();
    for (const controller of [createDefinedController(deps), createOfferedController(deps)]) {
      await controller.spec.reconcile({ name: appXrd }, new AbortController().signal);
    }
    assert.deepEqual(control.takeWrites(), []);
    assert.deepEqual(running.events(), []);
  });

  test("without claims there is no Offered, and the type of claims is empty", async () => {
    await using running = await startTestDefinitions();
    await running.control.users.create(cacheDefinition("Namespaced"));
    await running.becomes("Established", established, cacheXrd);
    assert.equal(await running.condition("Offered", cacheXrd), undefined);
    const xrd = await running.xrd(cacheXrd);
    assert.deepEqual(memberAt(xrd ?? {}, ["status", "controllers", "compositeResourceClaimType"]), {
      apiVersion: "",
      kind: "",
    });
    assert.ok(!running.control.engine.isRunning(`claim/${cacheXrd}`));
  });

  test("claims may be offered later", async () => {
    await using running = await startTestDefinitions();
    const { control } = running;
    const { claimNames: _later, ...spec } = appDefinition()["spec"] as JsonObject;
    await control.users.create({ ...appDefinition(), spec });
    await running.becomes("Established", { ...established, observedGeneration: 1 });
    await control.users.patch(
      { ...kinds.definition, name: appXrd },
      { spec: { claimNames: { kind: "App", plural: "apps" } } },
      { type: "merge" },
    );
    await running.becomes("Offered", offered);
    await running.becomes("Established", { ...established, observedGeneration: 2 });
  });

  test("the update policy is stored on legacy composite resources, and on modern ones that have spec.crossplane", async () => {
    await using running = await startTestDefinitions();
    const { users } = running.control;
    await users.create(appDefinition());
    await users.create(cacheDefinition("Cluster"));
    await running.becomes("Established", established);
    await running.becomes("Established", established, cacheXrd);
    const legacy = await users.create({ ...xappType, metadata: { name: "a" }, spec: {} });
    assert.equal(memberAt(legacy, ["spec", "compositionUpdatePolicy"]), "Automatic");
    const bare = await users.create({ ...cacheType, metadata: { name: "a" }, spec: {} });
    assert.deepEqual(bare["spec"], {});
    const set = await users.create({ ...cacheType, metadata: { name: "b" }, spec: { crossplane: {} } });
    assert.deepEqual(set["spec"], { crossplane: { compositionUpdatePolicy: "Automatic" } });
  });
});

suite("a definition that changes", () => {
  test("any change of its spec restarts the composite side only", async () => {
    await using running = await startTestDefinitions();
    const { control } = running;
    await control.users.create(appDefinition());
    await running.becomes("Offered", offered);
    await running.becomes("Established", { ...established, observedGeneration: 1 });
    const schema = {
      type: "object",
      properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
    };
    const versions = [definitionVersion("v1alpha1", { schema })];
    await control.users.patch({ ...kinds.definition, name: appXrd }, { spec: { versions } }, { type: "merge" });
    await running.becomes("Established", { ...established, observedGeneration: 2 });
    const restarted = "Normal RestartComposite: XRD specification changed; restarting controller to apply updates";
    assert.equal(running.events().filter((text) => text === restarted).length, 1);
    assert.deepEqual(
      running.life.filter((line) => line.includes("composite")),
      [
        "start composite platform.example.org/v1alpha1 XApp",
        "close composite",
        "start composite platform.example.org/v1alpha1 XApp",
      ],
    );
    assert.deepEqual(
      running.life.filter((line) => line.includes("claim")),
      ["start claim platform.example.org/v1alpha1 App"],
    );
    const made = await control.users.create({ ...xappType, metadata: { name: "a" }, spec: { size: 3 } });
    assert.equal(memberAt(made, ["spec", "size"]), 3, "the new schema counts");
  });

  test("a change of labels alone changes the CRDs and restarts nothing", async () => {
    await using running = await startTestDefinitions();
    const { control } = running;
    await control.users.create(appDefinition());
    await running.becomes("Offered", offered);
    await running.becomes("Established", established);
    await control.users.patch(
      { ...kinds.definition, name: appXrd },
      { metadata: { labels: { team: "a" } } },
      { type: "merge" },
    );
    await eventually("labels on both CRDs", async () => {
      const crds = await Promise.all(
        [appXrd, "apps.platform.example.org"].map((name) => find(control.users, crdType, name)),
      );
      return crds.every((crd) => crd?.metadata.labels?.["team"] === "a");
    });
    assert.ok(!running.events().some((text) => text.includes("RestartComposite")));
    assert.equal((await running.condition("Established"))?.observedGeneration, 1);
  });

  test("another referenceable version restarts both sides", async () => {
    await using running = await startTestDefinitions();
    const { control } = running;
    await control.users.create(appDefinition());
    await running.becomes("Offered", offered);
    await running.becomes("Established", established);
    const versions = [definitionVersion("v1alpha1", { version: { referenceable: false } }), definitionVersion("v1")];
    await control.users.patch({ ...kinds.definition, name: appXrd }, { spec: { versions } }, { type: "merge" });
    const moved = { apiVersion: "platform.example.org/v1", kind: "XApp" };
    await eventually("both types moved", async () => {
      const types = memberAt((await running.xrd()) ?? {}, ["status", "controllers"]) as
        | Record<string, { apiVersion: string }>
        | undefined;
      return ["compositeResourceType", "compositeResourceClaimType"].every(
        (field) => types?.[field]?.apiVersion === moved.apiVersion,
      );
    });
    assert.ok(running.life.includes("start composite platform.example.org/v1 XApp"));
    assert.ok(running.life.includes("start claim platform.example.org/v1 App"));
  });
});

suite("a definition that cannot be", () => {
  const wrong: Record<string, { reason: string; xrd: KubeObject; event: RegExp; claim?: boolean }> = {
    Name: {
      reason: "its name is not plural and group",
      xrd: appDefinition({ metadata: { name: "other.platform.example.org" } }),
      event:
        /^Warning EstablishComposite: cannot apply rendered composite resource CustomResourceDefinition: .*metadata\.name/,
    },
    Schema: {
      reason: "a version has no schema",
      xrd: appDefinition({ spec: { versions: [{ name: "v1", served: true, referenceable: true }] } }),
      event:
        /^Warning RenderCRD: cannot render composite resource CustomResourceDefinition: cannot generate CRD for "Composite Resource" "xapps\.platform\.example\.org": spec\.versions\[0\]\.schema: custom resource validation cannot be nil$/,
    },
    TwoReferenceable: {
      reason: "two versions are referenceable",
      xrd: appDefinition({ spec: { versions: [definitionVersion("v1"), definitionVersion("v2")] } }),
      event: /: spec\.versions: only one may be referenceable, but "v1" and "v2" are$/,
    },
    NoneReferenceable: {
      reason: "no version is referenceable",
      xrd: appDefinition({ version: { referenceable: false } }),
      event: /: spec\.versions: none is referenceable; set referenceable: true on the version to store$/,
    },
    NotServed: {
      reason: "the referenceable version is not served",
      xrd: appDefinition({ version: { served: false } }),
      event: /: spec\.versions\[0\]\.served: the referenceable version must be served$/,
    },
    NoVersions: {
      reason: "no versions at all",
      xrd: appDefinition({ spec: { versions: [] } }),
      event: /: spec\.versions: none is referenceable/,
    },
    BadType: {
      reason: "a type that no schema declares is named by its place",
      xrd: appDefinition({
        schema: { type: "object", properties: { spec: { type: "object", properties: { a: { type: "text" } } } } },
      }),
      event:
        /^Warning EstablishComposite: .*spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\[spec\]\.properties\[a\]\.type/,
    },
    ClaimKind: {
      reason: "the claim has the composite resource's kind",
      xrd: appDefinition({ spec: { claimNames: { kind: "XApp", plural: "apps" } } }),
      event:
        /^Warning RenderCRD: cannot render composite resource claim CustomResourceDefinition: .*: "XApp" conflicts with composite resource name$/,
      claim: true,
    },
  };

  for (const [name, { reason, xrd, event, claim }] of Object.entries(wrong)) {
    test(`${name}: ${reason}`, async () => {
      await using running = await startTestDefinitions();
      const xrdName = xrd.metadata.name ?? "";
      await running.control.users.create(xrd);
      const failure = { status: "False", reason: claim ? "ClaimReconcileError" : "ReconcileError" } as const;
      const { message = "" } = await running.becomes("Synced", failure, xrdName);
      const warning = running.events().find((text) => event.test(text));
      assert.ok(warning, running.events().join("\n"));
      assert.ok(warning.endsWith(message), message);
      if (!claim) assert.equal(await running.condition("Established", xrdName), undefined);
    });
  }

  test("the failure is over when its cause is", async () => {
    await using running = await startTestDefinitions();
    const { users } = running.control;
    await users.create(appDefinition({ version: { referenceable: false } }));
    await running.becomes("Synced", { status: "False" });
    const versions = [definitionVersion("v1alpha1")];
    await users.patch({ ...kinds.definition, name: appXrd }, { spec: { versions } }, { type: "merge" });
    await running.becomes("Established", established);
    await running.becomes("Synced", { status: "True", reason: "ReconcileSuccess" });
  });

  test("a CRD of another owner is left alone; a CRD without an owner is adopted", async () => {
    await using running = await startTestDefinitions();
    const { users } = running.control;
    const crd = (name: string, plural: string, kind: string, owners: JsonObject[]): KubeObject =>
      ({
        ...crdType,
        metadata: { name, ...(owners.length > 0 && { ownerReferences: owners }) },
        spec: {
          group: "platform.example.org",
          names: { kind, plural },
          scope: "Cluster",
          versions: [{ name: "v0", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
        },
      }) as unknown as KubeObject;
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "other-uid", controller: true };
    const theirs = await users.create(crd(appXrd, "xapps", "XApp", [owner]));
    await users.create(crd(cacheXrd, "caches", "Cache", []));
    await users.create(appDefinition());
    await users.create(
      cacheDefinition("Cluster", {
        spec: { versions: [definitionVersion("v1"), definitionVersion("v0", { version: { referenceable: false } })] },
      }),
    );
    const { message } = await running.becomes("Synced", { status: "False" });
    assert.match(message ?? "", /existing object is not controlled by UID ".+": .* belongs to ConfigMap "other"$/);
    await running.becomes("Established", established, cacheXrd);
    const [left, adopted] = await Promise.all([find(users, crdType, appXrd), find(users, crdType, cacheXrd)]);
    assert.equal(left?.metadata.generation, theirs.metadata.generation);
    assert.equal(adopted?.metadata.ownerReferences?.[0]?.kind, "CompositeResourceDefinition");
  });

  test("a CRD of the control plane is not adopted, and outlives the definition", async () => {
    await using running = await startTestDefinitions();
    const { users } = running.control;
    const name = "compositeresourcedefinitions.apiextensions.crossplane.io";
    const before = await find(users, crdType, name);
    assert.ok(before);
    const names = { kind: "CompositeResourceDefinition", plural: "compositeresourcedefinitions" };
    const spec = { group: "apiextensions.crossplane.io", names };
    await users.create(cacheDefinition("Cluster", { metadata: { name }, spec }));
    const { message } = await running.becomes("Synced", { status: "False" }, name);
    assert.match(message ?? "", /existing object is not controlled by UID ".+": .* belongs to the control plane$/);
    await users.delete({ ...kinds.definition, name });
    await eventually("the definition is gone", async () => (await find(users, kinds.definition, name)) === undefined);
    assert.deepEqual((await find(users, crdType, name))?.metadata.uid, before.metadata.uid);
    assert.deepEqual((await find(users, crdType, name))?.["spec"], before["spec"]);
  });

  test("a conflict is retried silently; another failure is reported and retried", async () => {
    await using running = await startTestDefinitions();
    const { control } = running;
    let conflicts = 2;
    control.failWhen(({ method, path }) => {
      if (method !== "PUT" || !path.endsWith(`/compositeresourcedefinitions/${appXrd}`) || conflicts-- <= 0)
        return undefined;
      return new StatusError({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        reason: "Conflict",
        code: 409,
        message: "changed",
      });
    });
    await control.users.create(appDefinition());
    await running.becomes("Established", established);
    assert.deepEqual(
      running.events().filter((text) => text.startsWith("Warning")),
      [],
    );
  });

  test("when watches cannot be started the definition waits, and the next look tries again", async () => {
    await using running = await startTestDefinitions();
    const { control } = running;
    const stop = control.failWhen(({ path, query }) =>
      path === "/apis/platform.example.org/v1alpha1/xapps" && query?.["watch"] === undefined ? refusal() : undefined,
    );
    await control.users.create(appDefinition());
    const expected =
      "cannot start composite resource controller watches: cannot watch XApp (platform.example.org/v1alpha1): no";
    await eventually("the warning", () => running.events().includes(`Warning EstablishComposite: ${expected}`));
    await running.becomes("Synced", { status: "False", reason: "ReconcileError", message: expected });
    assert.ok(control.engine.isRunning(`composite/${appXrd}`));
    assert.equal(await running.condition("Established"), undefined);
    stop();
    await running.becomes("Established", established);
  });
});
