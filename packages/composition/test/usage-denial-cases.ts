// SPDX-License-Identifier: Apache-2.0
// What a used resource refuses.
import assert from "node:assert/strict";
import { installCrds } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { isConflict, isDeletionDenied } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import {
  attemptOn,
  configMapType,
  legacyType,
  namespaceType,
  refTo,
  selectorOf,
  type UsageCase,
} from "./usage-scene.ts";

export const denialCases: readonly UsageCase[] = [
  {
    title: "a deletion is denied with the text of the webhook, for a user and for a reason",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      await s.configMap(ns, "using");
      const usage = await s.ready(await s.usage(ns, { of: refTo("used"), by: refTo("using") }));
      const denial = await s.denied(used);
      assert.equal(
        denial.reason,
        `This resource is in-use by 1 usage(s), including the *v1beta1.Usage "${usage.metadata.name}" (in namespace "${ns}") by resource ConfigMap/using.`,
      );
      assert.ok(isDeletionDenied(denial));
      assert.ok(!isConflict(denial));
      const { details, metadata, kind, apiVersion, status } = denial.status;
      assert.deepEqual([details, metadata, kind, apiVersion, status], [undefined, {}, "Status", "v1", "Failure"]);
      const held = await s.users.create({ ...namespaceType, metadata: { name: s.name("held") } });
      const guard = await s.clusterUsage({ of: refTo(held.metadata.name ?? "", {}, namespaceType), reason: 'ne"ver' });
      await s.ready(guard);
      assert.equal(
        (await s.denied(held)).reason,
        `This resource is in-use by 1 usage(s), including the *v1beta1.ClusterUsage "${guard.metadata.name}" with reason: "ne\\"ver".`,
      );
    },
  },
  {
    title: "a cluster-scoped object is protected, and goes after its Usage",
    run: async (s) => {
      // Requests for a Namespace name it as their namespace; those for other cluster-scoped objects have none.
      const type = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
      const used = await s.users.create({ ...type, metadata: { name: s.name("used") }, rules: [] });
      const usage = await s.clusterUsage({ of: refTo(used.metadata.name ?? "", {}, type), reason: "r" });
      await s.ready(usage);
      assert.match((await s.denied(used)).reason, /^This resource is in-use by 1 usage\(s\), /);
      await s.delete(usage);
      await s.gone(usage);
      await s.delete(used);
      await s.gone(used);
    },
  },
  {
    title: "a legacy Usage protects as a Usage without a namespace",
    run: async (s) => {
      const held = await s.users.create({ ...namespaceType, metadata: { name: s.name("held") } });
      const usage = await s.clusterUsage(
        { of: refTo(held.metadata.name ?? "", {}, namespaceType), reason: "r" },
        legacyType,
      );
      await s.ready(usage);
      assert.equal(
        (await s.denied(held)).reason,
        `This resource is in-use by 1 usage(s), including the *v1beta1.Usage "${usage.metadata.name}" with reason: "r".`,
      );
    },
  },
  {
    title: "of several Usages the same one is always named",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      for (const name of ["c", "a", "b"])
        await s.ready(await s.usage(ns, { of: refTo("used"), reason: name }, { name }));
      assert.match((await s.denied(used)).reason, /^This resource is in-use by 3 usage\(s\), including the \S+ "a"/);
    },
  },
  {
    title: "a dry run is denied and records nothing",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      await s.ready(await s.usage(ns, { of: refTo("used"), reason: "r" }));
      await s.denied(used, { dryRun: true });
      assert.equal(attemptOn(await s.find(used)), undefined);
    },
  },
  {
    title: "the last refused deletion is recorded with its policy, once",
    run: async (s) => {
      const ns = await s.namespace();
      const used = await s.configMap(ns, "used");
      await s.ready(await s.usage(ns, { of: refTo("used"), reason: "r" }));
      await s.denied(used, { propagationPolicy: "Foreground" });
      assert.equal(attemptOn(await s.find(used)), "Foreground");
      await s.denied(used);
      const recorded = await s.find(used);
      assert.equal(attemptOn(recorded), "Background");
      await s.denied(used);
      const path = `/api/v1/namespaces/${ns}/configmaps/used`;
      await assert.rejects(s.users.raw({ method: "DELETE", path }), isDeletionDenied);
      assert.equal((await s.find(used))?.metadata.resourceVersion, recorded?.metadata.resourceVersion);
    },
  },
  {
    title: "a label without a Usage does not protect",
    run: async (s) => {
      const ns = await s.namespace();
      const free = await s.configMap(ns, "free", { labels: { "crossplane.io/in-use": "true" } });
      await s.delete(free);
      await s.gone(free);
    },
  },
  {
    title: "an object of the same name in another namespace is not protected, one that is named is",
    run: async (s) => {
      const [ns, other] = [await s.namespace(), await s.namespace()];
      const used = await s.configMap(ns, "used");
      const elsewhere = await s.configMap(other, "used", { labels: { "crossplane.io/in-use": "true" } });
      await s.ready(await s.usage(ns, { of: refTo("used"), reason: "r" }));
      await s.delete(elsewhere);
      await s.gone(elsewhere);
      await s.denied(used);
      await s.configMap(other, "using");
      const crossing = await s.usage(other, { of: refTo("used", { namespace: ns }), by: refTo("using") });
      await s.ready(crossing);
      assert.match((await s.denied(used)).reason, /in-use by 2 usage/);
    },
  },
  {
    title: "a namespaced Usage refuses to protect a cluster-scoped object that it names",
    run: async (s) => {
      const held = await s.users.create({ ...namespaceType, metadata: { name: s.name("held") } });
      const name = held.metadata.name ?? "";
      const usage = await s.usage("default", { of: refTo(name, {}, namespaceType), reason: "r" });
      assert.equal(
        await s.unready(usage),
        `a namespaced Usage cannot protect the cluster-scoped Namespace/${name}; use a ClusterUsage`,
      );
      assert.equal((await s.find(held))?.metadata.labels?.["crossplane.io/in-use"], undefined);
      await s.delete(usage);
      await s.gone(usage);
    },
  },
  {
    title: "a namespaced Usage with a user can select a cluster-scoped object, one without is refused",
    run: async (s) => {
      const ns = await s.namespace();
      const label = s.name("l");
      const held = await s.users.create({
        ...namespaceType,
        metadata: { name: s.name("held"), labels: { [label]: "1" } },
      });
      await s.configMap(ns, "using");
      const of = selectorOf({ matchLabels: { [label]: "1" } }, namespaceType);
      const usage = await s.ready(await s.usage(ns, { of, by: refTo("using") }));
      assert.deepEqual(memberAt(usage, ["spec", "of", "resourceRef"]), { name: held.metadata.name, namespace: "" });
      await s.denied(held);
      const without = await s.usage(ns, { of, reason: "r" });
      await s.event(
        without,
        /^Warning ResolveSelectors: cannot resolve selectors: cannot update usage after resolving selector: Usage\.protection\.crossplane\.io "\S+" is invalid: spec: Invalid value: .*cross-namespace/,
      );
    },
  },
  {
    title: "a ClusterUsage of a namespaced kind protects nothing and says so",
    run: async (s) => {
      const ns = await s.namespace();
      const free = await s.configMap(ns, "free", { labels: { "crossplane.io/in-use": "true" } });
      const usage = await s.clusterUsage({ of: refTo("free"), reason: "r" });
      assert.equal(
        await s.unready(usage),
        "cannot get used: an empty namespace may not be set when a resource name is provided",
      );
      await s.delete(free);
      await s.gone(free);
      await s.delete(usage);
      await s.gone(usage);
    },
  },
  {
    title: "an object is protected in every version of its kind, also when that of the Usage is no longer served",
    run: async (s) => {
      const group = `${s.name("versions")}.example.org`;
      const schema = { openAPIV3Schema: { type: "object" } };
      const version = (name: string, isServed: boolean): JsonObject => ({
        ...{ name, served: isServed, storage: name === "v2", schema },
      });
      const crdOf = (isServed: boolean): KubeObject => ({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `gadgets.${group}` },
        spec: {
          group,
          scope: "Namespaced",
          names: { kind: "Gadget", plural: "gadgets" },
          versions: [version("v1", isServed), version("v2", true)],
        },
      });
      await installCrds(s.users, [crdOf(true)]);
      const ns = await s.namespace();
      const [v1, v2] = [`${group}/v1`, `${group}/v2`].map((apiVersion) => ({ apiVersion, kind: "Gadget" }));
      assert.ok(v1 && v2);
      const used = await eventually("the kind is served", () =>
        s.users.create({ ...v2, metadata: { name: "used", namespace: ns } }),
      );
      const usage = await s.ready(await s.usage(ns, { of: refTo("used", {}, v1), reason: "r" }));
      assert.match((await s.denied(used)).reason, /in-use by 1 usage/);
      await s.edit(crdOf(true), { spec: { versions: memberAt(crdOf(false), ["spec", "versions"]) ?? [] } });
      s.users.mapper.forget();
      assert.match((await s.denied(used)).reason, /in-use by 1 usage/);
      await s.delete(usage);
      await s.gone(usage);
      await s.delete(used);
      await s.gone(used);
    },
  },
  {
    title: "deleting a collection deletes all but the protected object",
    run: async (s) => {
      const ns = await s.namespace();
      for (const name of ["a", "b", "c"]) await s.configMap(ns, name, { labels: { all: "1" } });
      await s.ready(await s.usage(ns, { of: refTo("b"), reason: "r" }));
      await assert.rejects(
        s.users.deleteCollection(configMapType, { namespace: ns, labelSelector: "all=1" }),
        isDeletionDenied,
      );
      const { items } = await s.users.list(configMapType, { namespace: ns, labelSelector: "all=1" });
      const left = items.map(({ metadata }) => metadata.name);
      assert.ok(left.includes("b"), String(left));
      // A cluster ends the request at the first refusal, and deletes in no certain order; clients that delete one by one continue.
      if (s.isEmbedded) assert.deepEqual(left, ["b"]);
    },
  },
];
