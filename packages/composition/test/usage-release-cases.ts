// SPDX-License-Identifier: Apache-2.0
// What happens when the last Usage of a resource goes.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { eventually } from "@purlin/kube-controller/testing";
import { conditionOf, conditionsOf, controllerReference } from "@purlin/kube-objects/object";
import { attempt, attemptOn, composite, namespaceType, refTo, type UsageCase, usageType } from "./usage-scene.ts";

export const releaseCases: readonly UsageCase[] = [
  {
    title: "deleting the using object deletes the Usage, and the used object stays without a label",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const using = await s.configMap(ns, "using");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), by: refTo("using") }));
      await s.denied(used);
      await s.delete(using);
      await s.gone(usage);
      await s.labeled(used, false);
      await s.delete(used);
      await s.gone(used);
    },
  },
  {
    title: "a refused deletion is made again when the Usage asks for it",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), reason: "r", replayDeletion: true }));
      await s.denied(used);
      await s.delete(usage);
      await s.gone(used);
      await s.gone(usage);
      await s.event(usage, "Normal ReplayDeletion: Deleted ConfigMap/used as asked before");
    },
  },
  {
    title: "without a refused deletion nothing is deleted",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), reason: "r", replayDeletion: true }));
      await s.delete(usage);
      await s.gone(usage);
      await s.labeled(used, false);
    },
  },
  {
    title:
      "one of two Usages that is deleted leaves label and protection; the last one makes the refused deletion again, if it asks for it",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const replay = { of: refTo("used"), reason: "r", replayDeletion: true };
      const [one, two] = [await s.ready(await s.usage(ns, replay)), await s.ready(await s.usage(ns, replay))];
      await s.denied(used);
      await s.delete(one);
      await s.gone(one);
      await s.labeled(used);
      assert.match((await s.denied(used)).reason, /in-use by 1 usage/);
      await s.delete(two);
      await s.gone(used);
    },
  },
  {
    title: "an object that is created again with the annotations of the one before is not deleted in its place",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), reason: "r", replayDeletion: true }));
      await s.denied(used);
      const annotations = (await s.find(used))?.metadata.annotations ?? {};
      assert.equal(annotations[attempt], "Background");
      await s.configMap(ns, "other");
      await s.edit(usage, { spec: { of: { resourceRef: { name: "other" } } } });
      await eventually("it is no longer in use", () => s.delete(used).then(() => true));
      await s.gone(used);
      const again = await s.configMap(ns, "used", { annotations });
      await s.edit(usage, { spec: { of: { resourceRef: { name: "used" } } } });
      await s.labeled(again);
      await s.delete(usage);
      await s.gone(usage);
      assert.equal((await s.labeled(again, false)).metadata.uid, again.metadata.uid);
      assert.equal((await s.find(again))?.metadata.deletionTimestamp, undefined);
    },
  },
  {
    title: "a deletion that Crossplane refused before is made again",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used", { annotations: { [attempt]: "Foreground" } });
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), reason: "r", replayDeletion: true }));
      await s.delete(usage);
      await s.gone(used);
      await s.gone(usage);
    },
  },
  {
    title: "a composed Usage waits until the using object is gone",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      const using = await s.configMap(ns, "using", { finalizers: ["example.org/wait"] });
      const usage = await s.ready(
        await s.usage(ns, { of: refTo("used"), by: refTo("using"), replayDeletion: true }, { labels: composite }),
      );
      await s.denied(used);
      await s.delete(using);
      await s.delete(usage);
      await s.event(
        usage,
        'Normal WaitingUsingDeleted: Waiting for the using resource (which is a "ConfigMap" named "using") to be deleted.',
      );
      await s.denied(used);
      await s.edit(using, { metadata: { finalizers: null } });
      await s.gone(used);
      await s.gone(usage);
    },
  },
  {
    title: "a Usage that is not composed does not wait",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      await s.configMap(ns, "using");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), by: refTo("using") }));
      await s.delete(usage);
      await s.gone(usage);
      await s.labeled(used, false);
    },
  },
  {
    title: "two Usages that are deleted together remove the label",
    run: async (s) => {
      for (let round = 0; round < 5; round += 1) {
        const ns = await s.namespace();
        const used = await s.configMap(ns, "used");
        const usages = [
          await s.usage(ns, { of: refTo("used"), reason: "1" }),
          await s.usage(ns, { of: refTo("used"), reason: "2" }),
        ];
        for (const usage of usages) await s.ready(usage);
        await Promise.all(usages.map((usage) => s.delete(usage)));
        for (const usage of usages) await s.gone(usage);
        await s.labeled(used, false);
        await s.delete(used);
      }
    },
  },
  {
    title: "Usages of each other, of themselves and in circles can be deleted",
    run: async (s) => {
      const ns = await s.namespace();
      const own = await s.usage(ns, { of: refTo("own", {}, usageType), reason: "r" }, { name: "own" });
      const one = await s.usage(ns, { of: refTo("two", {}, usageType), reason: "r" }, { name: "one" });
      const two = await s.usage(ns, { of: refTo("one", {}, usageType), reason: "r" }, { name: "two" });
      const itself = "a Usage cannot protect itself: name another object in spec.of";
      assert.equal(await s.unready(own), itself);
      await s.event(own, `Warning CircularUsage: ${itself}`);
      const each = (other: string): string =>
        `this Usage and Usage/${other} protect each other, so neither is protected: delete one of them, or name another object in its spec.of`;
      await eventually("both say so", async () =>
        isDeepStrictEqual([await s.unready(one), await s.unready(two)], [each("two"), each("one")]),
      );
      const outer = await s.usage(ns, { of: refTo("own", {}, usageType), reason: "outer" }, { name: "outer" });
      await s.ready(outer);
      assert.match((await s.denied(own)).reason, /in-use by 1 usage\(s\), including the \S+ "outer"/);
      await s.delete(outer);
      await s.gone(outer);
      // A circle of three ends when one of them names another object.
      const names = ["x", "y", "z"];
      const [x, y, z] = await Promise.all(
        names.map((name, at) =>
          s.usage(ns, { of: refTo(names[(at + 1) % 3] ?? "", {}, usageType), reason: "r" }, { name }),
        ),
      );
      assert.ok(x && y && z);
      for (const usage of [x, y, z])
        await eventually("the circle is seen", async () => /protect each other/.test(await s.unready(usage)));
      await s.configMap(ns, "used");
      await s.edit(z, { spec: { of: refTo("used") } });
      for (const usage of [z, y, x]) await s.ready(usage);
      await s.denied(z);
      for (const usage of [own, one, two, x, y, z]) {
        await s.delete(usage);
        await s.gone(usage);
      }
    },
  },
  {
    title: "composed Usages whose objects use each other do not wait for each other",
    run: async (s) => {
      const ns = await s.namespace();
      const [a, b] = [await s.configMap(ns, "a"), await s.configMap(ns, "b")];
      const more = { labels: composite };
      const one = await s.ready(await s.usage(ns, { of: refTo("a"), by: refTo("b"), replayDeletion: true }, more));
      const two = await s.ready(await s.usage(ns, { of: refTo("b"), by: refTo("a"), replayDeletion: true }, more));
      await s.denied(a);
      await s.denied(b);
      await Promise.all([s.delete(one), s.delete(two)]);
      for (const object of [one, two, a, b]) await s.gone(object);
    },
  },
  {
    title: "a child whose owner is gone is collected when its Usage goes",
    run: async (s) => {
      const ns = await s.namespace();
      const owner = await s.configMap(ns, "owner");
      const child = await s.configMap(ns, "child", { ownerReferences: [controllerReference(owner)] });
      const usage = await s.ready(await s.usage(ns, { of: refTo("child"), reason: "r" }));
      await s.delete(owner);
      await eventually("the collector tried", async () => attemptOn(await s.find(child)) === "Background");
      await s.delete(usage);
      await s.gone(child);
    },
  },
  {
    title: "a Usage whose used object is gone, or whose kind is not served, can be deleted",
    run: async (s) => {
      const ns = await s.namespace();
      const of = { apiVersion: "nowhere.example.org/v1", kind: "Nothing", resourceRef: { name: "x" } };
      const usage = await s.usage(ns, { of, reason: "r" });
      assert.match(await s.unready(usage), /^cannot get used: /);
      await s.delete(usage);
      await s.gone(usage);
      const fading = await s.configMap(ns, "fading", { finalizers: ["example.org/wait"] });
      await s.delete(fading);
      const late = await s.ready(await s.usage(ns, { of: refTo("fading"), reason: "r", replayDeletion: true }));
      await s.edit(fading, { metadata: { finalizers: null } });
      await s.gone(fading);
      await s.delete(late);
      await s.gone(late);
    },
  },
  {
    title: "a namespace with a used object stays until the Usage is gone, and says why",
    run: async (s) => {
      const [ns, elsewhere] = [await s.namespace(), await s.namespace()];
      await s.configMap(ns, "used");
      await s.configMap(ns, "free");
      await s.configMap(elsewhere, "using");
      const usage = await s.usage(elsewhere, { of: refTo("used", { namespace: ns }), by: refTo("using") });
      await s.ready(usage);
      const namespace = { ...namespaceType, metadata: { name: ns } };
      await s.delete(namespace);
      const { reason, message = "" } = await eventually("the condition", async () => {
        const found = await s.find(namespace);
        const condition = found && conditionOf(conditionsOf(found), "NamespaceDeletionContentFailure");
        return condition?.status === "True" ? condition : undefined;
      });
      assert.equal(reason, "ContentDeletionFailed");
      assert.match(
        message,
        /^Failed to delete all resource types, 1 remaining: admission webhook .* denied the request: /,
      );
      await s.delete(usage);
      await s.gone(namespace);
    },
  },
];

/** Deletions that are refused, and those that continue. */
