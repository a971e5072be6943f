// SPDX-License-Identifier: Apache-2.0
// Which Usages are valid, what they select, and what they hold.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { annotationOf, controllerReference, memberAt } from "@purlin/kube-objects/object";
import { denialCases } from "./usage-denial-cases.ts";
import { releaseCases } from "./usage-release-cases.ts";
import {
  composite,
  configMapType,
  refTo,
  refused,
  selectorOf,
  type UsageCase,
  type UsageScene,
  usageType,
} from "./usage-scene.ts";

const validation: readonly UsageCase[] = [
  {
    title: "a Usage needs a user or a reason",
    run: async (s) =>
      refused(s.usage("default", { of: refTo("x") }), 'either "spec.by" or "spec.reason" must be specified.'),
  },
  {
    title: "a Usage needs a reference or a selector",
    run: async (s) =>
      refused(
        s.usage("default", { of: { apiVersion: "v1", kind: "ConfigMap" }, reason: "r" }),
        "either a resource reference or a resource selector should be set.",
      ),
  },
  {
    title: "a reference, or selector, to another namespace needs a user",
    run: async (s) => {
      const text = 'cross-namespace "spec.of" is not allowed without "spec.by" resource.';
      for (const used of [refTo("x", { namespace: "other" }), selectorOf({ namespace: "other" })]) {
        await refused(s.usage("default", { of: used, reason: "r" }), text);
        const made = await s.usage("default", { of: used, by: refTo("y") });
        await s.delete(made);
        await s.gone(made);
      }
    },
  },
  {
    title: "a reference has a name",
    run: async (s) =>
      refused(
        s.usage("default", { of: { apiVersion: "v1", kind: "ConfigMap", resourceRef: {} }, reason: "r" }),
        "spec.of.resourceRef.name: Required value",
      ),
  },
  {
    title: "an empty reason is accepted and protects",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), reason: "" }));
      assert.equal(annotationOf(usage, "crossplane.io/usage-details"), "undefined");
      const { reason } = await s.denied(used);
      assert.equal(
        reason,
        `This resource is in-use by 1 usage(s), including the *v1beta1.Usage "${usage.metadata.name}" (in namespace "${ns}").`,
      );
    },
  },
  {
    title: "a wrong apiVersion is reported, and the Usage can be deleted",
    run: async (s) => {
      const usage = await s.usage("default", {
        of: { apiVersion: "a/b/c", kind: "X", resourceRef: { name: "x" } },
        reason: "r",
      });
      assert.equal(await s.unready(usage), "cannot parse APIVersion: unexpected GroupVersion string: a/b/c");
      await s.delete(usage);
      await s.gone(usage);
    },
  },
];

const selecting: readonly UsageCase[] = [
  {
    title: "a selector without a match is reported, and resolves when a match appears",
    run: async (s) => {
      const ns = await s.namespace();
      const usage = await s.usage(ns, { of: selectorOf({ matchLabels: { b: "2", a: "1" } }), reason: "r" });
      const text =
        'cannot resolve selectors: cannot resolve selector at "spec.of.resourceSelector": no "ConfigMap" found matching labels: map["a":"1" "b":"2"]';
      await s.event(usage, `Warning ResolveSelectors: ${text}`);
      assert.equal(await s.unready(usage), text);
      const used = await s.configMap(ns, "late", { labels: { a: "1", b: "2" } });
      await s.ready(usage);
      await s.denied(used);
    },
  },
  {
    title: "matchControllerRef selects only what has the controller of the Usage",
    run: async (s) => {
      const ns = await s.namespace();
      const [one, other] = [await s.configMap(ns, "one"), await s.configMap(ns, "other")];
      await s.configMap(ns, "a-theirs", { labels: { l: "1" }, ownerReferences: [controllerReference(other)] });
      const of = selectorOf({ matchLabels: { l: "1" }, matchControllerRef: true });
      const text = 'no "ConfigMap" found matching labels: map["l":"1"] and with same controller reference';
      const alone = await s.usage(ns, { of, reason: "r" });
      assert.match(await s.unready(alone), new RegExp(`${text.replaceAll(/[[\]]/g, "\\$&")}$`));
      const owned = await s.usage(ns, { of, reason: "r" }, { ownerReferences: [controllerReference(one)] });
      await s.unready(owned);
      await s.configMap(ns, "ours", { labels: { l: "1" }, ownerReferences: [controllerReference(one)] });
      const ready = await s.ready(owned);
      assert.deepEqual(memberAt(ready, ["spec", "of", "resourceRef"]), { name: "ours" });
    },
  },
  {
    title: "the first match wins and stays",
    run: async (s) => {
      const ns = await s.namespace();
      await s.configMap(ns, "n2", { labels: { l: "1" } });
      const first = await s.configMap(ns, "n1", { labels: { l: "1" } });
      const usage = await s.ready(await s.usage(ns, { of: selectorOf({ matchLabels: { l: "1" } }), reason: "r" }));
      assert.deepEqual(memberAt(usage, ["spec", "of", "resourceRef"]), { name: "n1" });
      await s.edit(first, { metadata: { labels: { l: "2" } } });
      await s.denied(first);
    },
  },
  {
    title: "a reference wins over a selector",
    run: async (s) => {
      const ns = await s.namespace();
      await s.configMap(ns, "selected", { labels: { l: "1" } });
      const named = await s.configMap(ns, "named");
      const of = { ...refTo("named"), resourceSelector: { matchLabels: { l: "1" } } };
      await s.ready(await s.usage(ns, { of, reason: "r" }));
      await s.denied(named);
      await s.delete({ ...configMapType, metadata: { name: "selected", namespace: ns } });
    },
  },
  {
    title: "both sides are selected in one pass",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used", { labels: { side: "of" } });
      const using = await s.configMap(ns, "using", { labels: { side: "by" } });
      const usage = await s.ready(
        await s.usage(ns, {
          of: selectorOf({ matchLabels: { side: "of" } }),
          by: selectorOf({ matchLabels: { side: "by" } }),
        }),
      );
      assert.deepEqual(memberAt(usage, ["spec", "by", "resourceRef"]), { name: "using" });
      assert.equal(usage.metadata.ownerReferences?.[0]?.uid, using.metadata.uid);
      await s.denied(used);
    },
  },
  {
    title: "a selector of another namespace stores the namespace",
    run: async (s) => {
      const [ns, elsewhere] = [await s.namespace(), await s.namespace()];
      const used = await s.configMap(elsewhere, "used", { labels: { l: "1" } });
      await s.configMap(ns, "using");
      const usage = await s.ready(
        await s.usage(ns, { of: selectorOf({ matchLabels: { l: "1" }, namespace: elsewhere }), by: refTo("using") }),
      );
      assert.deepEqual(memberAt(usage, ["spec", "of", "resourceRef"]), { name: "used", namespace: elsewhere });
      assert.equal(
        annotationOf(usage, "crossplane.io/usage-details"),
        `ConfigMap/using uses ConfigMap/used in namespace ${elsewhere}`,
      );
      await s.denied(used);
    },
  },
];

const holding: readonly UsageCase[] = [
  {
    title: "a Usage becomes ready with finalizer, details, label and one event, and then writes nothing",
    isAlone: true,
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const using = await s.configMap(ns, "using");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), by: refTo("using") }));
      assert.deepEqual(usage.metadata.finalizers, ["usage.apiextensions.crossplane.io"]);
      assert.equal(annotationOf(usage, "crossplane.io/usage-details"), "ConfigMap/using uses ConfigMap/used");
      assert.deepEqual(usage.metadata.ownerReferences, [
        { apiVersion: "v1", kind: "ConfigMap", name: "using", uid: using.metadata.uid },
      ]);
      await s.labeled(used);
      await s.event(usage, "Normal UsageConfigured: Usage configured successfully.");
      // Usages of earlier cases may still be retried, with writes and events of their own.
      const about = `${usage.kind}/${usage.metadata.name}`;
      const emitted = (): number => s.control.events.all.filter(({ object }) => object === about).length;
      const before = emitted();
      s.control.takeWrites();
      const touched = await s.edit(usage, { metadata: { annotations: { touched: "1" } } });
      await eventually("the pass after it", async () => {
        const seen = await s.control.client.get(usageType, { namespace: ns, name: usage.metadata.name ?? "" });
        return seen?.metadata.resourceVersion === touched.metadata.resourceVersion;
      });
      await s.edit(used, { data: { a: "1" } });
      // A later Usage is ready: the passes after the edits have run.
      await s.configMap(ns, "later");
      await s.ready(await s.usage(ns, { of: refTo("later"), reason: "r" }));
      const names = [`/usages/${usage.metadata.name}`, "/configmaps/used"];
      assert.deepEqual(
        s.control.takeWrites().filter((line) => line.includes(ns) && names.some((name) => line.includes(name))),
        [],
      );
      assert.equal(emitted(), before);
    },
  },
  {
    title: "an owner that is there is not added again, beside a composite resource that is the first owner",
    run: async (s) => {
      const ns = await s.namespace();
      const [xr, using] = [await s.configMap(ns, "xr"), await s.configMap(ns, "using")];
      await s.configMap(ns, "used");
      const usage = await s.ready(
        await s.usage(
          ns,
          { of: refTo("used"), by: refTo("using") },
          { labels: composite, ownerReferences: [controllerReference(xr)] },
        ),
      );
      assert.deepEqual(
        usage.metadata.ownerReferences?.map(({ uid }) => uid),
        [xr.metadata.uid, using.metadata.uid],
      );
    },
  },
  {
    title: "a label that a user removes comes back at once",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      await s.ready(await s.usage(ns, { of: refTo("used"), reason: "r" }));
      await s.labeled(used);
      await s.edit(used, { metadata: { labels: { "crossplane.io/in-use": null } } });
      await s.labeled(used);
    },
  },
  {
    title: "a used object that does not exist, or is deleted, makes the Usage unavailable until it is there",
    run: async (s) => {
      const ns = await s.namespace();
      const usage = await s.usage(ns, { of: refTo("used"), reason: "r" });
      assert.equal(await s.unready(usage), 'cannot get used: configmaps "used" not found');
      await s.event(usage, 'Warning GetUsedResource: cannot get used: configmaps "used" not found');
      const used = await s.configMap(ns, "used", { finalizers: ["example.org/wait"] });
      await s.ready(usage);
      const fading = await s.configMap(ns, "fading", { finalizers: ["example.org/wait"] });
      await s.delete(fading);
      const late = await s.ready(await s.usage(ns, { of: refTo("fading"), reason: "r" }));
      await s.edit(fading, { metadata: { finalizers: null } });
      assert.equal(await s.unready(late), 'cannot get used: configmaps "fading" not found');
      await s.edit(used, { metadata: { finalizers: null } });
    },
  },
  {
    title: "a used object that the controller may not label is reported",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      await forbidLabels(s, ns);
      await eventually("the policy is in force", () =>
        s.edit(used, { metadata: { labels: { "crossplane.io/in-use": "true" } } }).then(
          async () => (await s.edit(used, { metadata: { labels: { "crossplane.io/in-use": null } } })) && false,
          () => true,
        ),
      );
      const usage = await s.usage(ns, { of: refTo("used"), reason: "r" });
      const text = /^cannot add in use label to the used resource: .*forbidden: .*used objects are read-only/;
      assert.match(await s.unready(usage), text);
      await s.event(usage, new RegExp(`^Warning AddInUseLabel: ${text.source.slice(1)}`));
      await s.delete(usage);
      await s.gone(usage);
    },
  },
  {
    title: "a using object that does not exist makes the Usage unavailable, and the used object stays protected",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const usage = await s.usage(ns, { of: refTo("used"), by: refTo("using") });
      assert.equal(await s.unready(usage), 'cannot get using: configmaps "using" not found');
      await s.labeled(used);
      await s.denied(used);
      await s.configMap(ns, "using");
      await s.ready(usage);
    },
  },
  {
    title: "a reason is the details, also beside a user",
    run: async (s) => {
      const ns = await s.namespace();
      await s.configMap(ns, "used");
      await s.configMap(ns, "using");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), by: refTo("using"), reason: "because" }));
      assert.equal(annotationOf(usage, "crossplane.io/usage-details"), "because");
    },
  },
  {
    title: "the using object must not be the composite resource that composes the Usage",
    run: async (s) => {
      const ns = await s.namespace();
      await s.configMap(ns, "used");
      const xr = await s.configMap(ns, "xr");
      const usage = await s.usage(
        ns,
        { of: refTo("used"), by: refTo("xr") },
        { labels: composite, ownerReferences: [controllerReference(xr)] },
      );
      assert.equal(await s.unready(usage), "the using resource is the composite resource that composes this Usage");
      await s.delete(usage);
      await s.gone(usage);
    },
  },
  {
    title: "empty members of a Usage stay",
    run: async (s) => {
      const ns = await s.namespace();
      await s.configMap(ns, "only");
      const usage = await s.ready(await s.usage(ns, { of: selectorOf({ matchLabels: {} }), reason: "r" }));
      assert.deepEqual(memberAt(usage, ["spec", "of", "resourceSelector"]), { matchLabels: {} });
    },
  },
];

/** Refuses the label of used objects in a namespace, as an administrator may. */
async function forbidLabels(scene: UsageScene, namespace: string): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: `no-labels-${namespace}` };
  const isFree = "!has(object.metadata.labels) || !('crossplane.io/in-use' in object.metadata.labels)";
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["configmaps"] };
  const here = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  await scene.users.create({
    apiVersion,
    kind: "ValidatingAdmissionPolicy",
    metadata,
    spec: {
      matchConstraints: { namespaceSelector: here, resourceRules: [rule] },
      validations: [{ expression: isFree, reason: "Forbidden", message: "used objects are read-only" }],
    },
  });
  await scene.users.create({
    apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata,
    spec: { policyName: metadata.name, validationActions: ["Deny"] },
  });
}

/** Usages that are created and changed. */
const holdingCases: readonly UsageCase[] = [...validation, ...selecting, ...holding];

const usageCases = [...holdingCases, ...denialCases, ...releaseCases];

/** Tests how Usages behave, for every API server: the embedded one, and a cluster with our webhook. Cases run at the same time where they can. */
export function testUsages(title: string, scene: () => UsageScene): void {
  suite(title, { concurrency: 8 }, () => {
    for (const { title: name, run } of usageCases.filter(({ isAlone }) => !isAlone)) test(name, () => run(scene()));
  });
  suite(`${title}, alone`, () => {
    for (const { title: name, run } of usageCases.filter(({ isAlone }) => isAlone)) test(name, () => run(scene()));
  });
}
