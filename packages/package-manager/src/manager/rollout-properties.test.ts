// SPDX-License-Identifier: Apache-2.0
// Whatever users, registries and runtimes do, in whatever order: what must hold after each pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, memberAt, textAt, withMember } from "@purlin/kube-objects/object";
import fc from "fast-check";
import { functionPackage, type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import { applyPackage, managePackage, revisions, serve } from "../../test/package-scene.ts";
import { packageTypes } from "../package-kinds.ts";
import { numberOf } from "./package-revision.ts";

type Act =
  | { readonly do: "point"; readonly tag: number }
  | { readonly do: "limit"; readonly limit: number }
  | { readonly do: "serve"; readonly which: number }
  | { readonly do: "break"; readonly which: number }
  | { readonly do: "activate" | "deactivate"; readonly which: number };

const index = fc.nat({ max: 3 });
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ do: fc.constant("point" as const), tag: fc.nat({ max: 4 }) }),
  fc.record({ do: fc.constant("limit" as const), limit: fc.integer({ min: 1, max: 3 }) }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant("serve" as const), which: index }) },
  fc.record({ do: fc.constant("break" as const), which: index }),
  fc.record({ do: fc.constantFrom("activate" as const, "deactivate" as const), which: index }),
);

interface State {
  readonly kind: "Function";
  readonly name: string;
  tag: number;
  limit: number;
}

const isActive = (one: KubeObject): boolean => textAt(one, ["spec", "desiredState"]) === "Active";
const isServing = (one: KubeObject): boolean => isActive(one) && textAt(one, ["status", "endpoint"]) !== undefined;

async function apply(cluster: PackageCluster, state: State): Promise<void> {
  const spec = {
    package: `${cluster.registry}/acme/f:t${state.tag}`,
    revisionHistoryLimit: 3,
    activeRevisionLimit: state.limit,
  };
  await applyPackage(cluster, { ...state, spec });
}

async function perform(cluster: PackageCluster, state: State, one: Act): Promise<void> {
  if (one.do === "point" || one.do === "limit") {
    if (one.do === "point") state.tag = one.tag;
    else state.limit = one.limit;
    return apply(cluster, state);
  }
  const all = await revisions(cluster, "Function", state.name);
  const chosen = all[one.which];
  if (chosen === undefined) return;
  if (one.do === "serve" && isActive(chosen)) return serve(cluster, { ...state, number: numberOf(chosen) });
  if (one.do === "break") {
    await cluster.kube.update(withMember(chosen, ["status", "endpoint"], undefined), { subresource: "status" });
  } else if (one.do !== "serve") {
    await cluster.kube.update(
      withMember(chosen, ["spec", "desiredState"], one.do === "activate" ? "Active" : "Inactive"),
    );
  }
}

async function settle(cluster: PackageCluster, name: string): Promise<KubeObject[]> {
  await managePackage(cluster, "Function", name);
  return revisions(cluster, "Function", name);
}

test("the limit holds in the end, numbers are unique, and a serving revision is replaced only by a serving one", async () => {
  await using cluster = await startPackageCluster({ functionRevisionSelectors: true });
  const digests: string[] = [];
  for (let tag = 0; tag <= 4; tag++) digests.push(await cluster.push(`acme/f:t${tag}`, functionPackage(`t${tag}`)));
  let made = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async (acts) => {
      const state: State = { kind: "Function", name: `f${++made}`, tag: 0, limit: 1 };
      await apply(cluster, state);
      await settle(cluster, state.name);
      for (const one of acts) {
        const before = await revisions(cluster, "Function", state.name);
        await perform(cluster, state, one);
        const served = (await revisions(cluster, "Function", state.name)).filter(isServing).length;
        const after = await settle(cluster, state.name);
        const trace = JSON.stringify({ acts, one, before: before.length });
        const [current] = after;
        assert.ok(current, trace);
        assert.equal(
          textAt(current, ["spec", "digest"]),
          digests[state.tag],
          `the highest number is what the package points to: ${trace}`,
        );
        assert.equal(new Set(after.map(numberOf)).size, after.length, `numbers are unique: ${trace}`);
        assert.ok(isActive(current), `the current one is active: ${trace}`);
        const left = after.filter(isServing).length;
        assert.ok(left >= Math.min(served, state.limit), `${served} served, ${left} are left: ${trace}`);
        assert.ok(after.filter(isActive).length <= 2 * state.limit, `no more than each with a stand-in: ${trace}`);
        const standIns = after.slice(state.limit).filter(isActive);
        assert.ok(standIns.every(isServing), `a newcomer beyond the limit that never served is replaced: ${trace}`);
      }
      for (const one of await revisions(cluster, "Function", state.name)) {
        if (isActive(one)) await serve(cluster, { ...state, number: numberOf(one) });
      }
      for (let pass = 0; pass < 4; pass++) {
        for (const one of await settle(cluster, state.name)) {
          if (isActive(one) && !isServing(one)) await serve(cluster, { ...state, number: numberOf(one) });
        }
      }
      const settled = await settle(cluster, state.name);
      const wanted = settled.map((_, at) => at < state.limit);
      assert.deepEqual(settled.map(isActive), wanted, "when all serve, the highest up to the limit are active");
      assert.ok(settled.length <= 4, "the history and the current one are kept");
      const owner = await cluster.kube.get(packageTypes.Function.package, { name: state.name });
      const active = settled.filter(isActive).map(({ metadata }) => metadata.name);
      assert.deepEqual(memberAt(owner, ["status", "activeRevisions"]), active);
      cluster.takeWrites();
      await settle(cluster, state.name);
      assert.deepEqual(cluster.takeWrites(), [], "then nothing is written");
    }),
    { numRuns: 20, endOnFailure: true },
  );
});
