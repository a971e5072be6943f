// SPDX-License-Identifier: Apache-2.0
// What may be asked of a Scale, on a custom and on a built-in kind, and what of an object keeps its Scale from being shown.
import { type Case, scenario } from "../harness/case.ts";
import { deployment, inGroup, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

/** A kind with a Scale, as a case sees it. */
interface Scaled {
  readonly path: (s: Session, name?: string) => string;
  readonly make: (name: string, replicas: number | undefined) => Loose;
}

const custom: Scaled = {
  path: widgets,
  make: (name, replicas) => widget(name, replicas === undefined ? {} : { replicas }),
};

const builtin: Scaled = {
  path: (s, name) => inGroup(s, "apps/v1/deployments", name),
  make: (name, replicas) => ({ ...deployment(name), spec: { ...deployment(name).spec, replicas } }),
};

function scaleOf(replicas: unknown, more: Loose = {}): Loose {
  return { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "a" }, spec: { replicas }, ...more };
}

/** Bodies of a PUT: what a Scale may leave out, and what it may not be. */
const bodies: readonly Loose[] = [
  scaleOf(3),
  scaleOf("x"),
  scaleOf(-1),
  scaleOf(-2147483648),
  scaleOf(3, { metadata: {} }),
  scaleOf(3, { metadata: { name: "b" } }),
  scaleOf(3, { metadata: { name: "a", namespace: "other" } }),
  scaleOf(3, { metadata: { name: "a", labels: 7 } }),
  scaleOf(3, { metadata: { name: "a", uid: "nope" } }),
  scaleOf(3, { nope: 1 }),
  scaleOf(3, { kind: "Nope" }),
  scaleOf(3, { kind: undefined, apiVersion: undefined }),
  scaleOf(3, { apiVersion: "autoscaling/v2" }),
  {},
  "{",
  "[]",
  "",
];

const merges: readonly Loose[] = [
  { spec: { replicas: 1 } },
  { spec: { replicas: 2 } },
  { spec: { replicas: 0 } },
  { spec: { replicas: 3 } },
  { spec: { replicas: 2147483648 } },
  { spec: { replicas: 1.5 } },
  { spec: { nope: 1 } },
  { kind: "Nope" },
  { metadata: { name: "b" } },
  { metadata: { uid: "b" } },
  { metadata: { labels: { a: "b" } } },
  { metadata: { resourceVersion: "1" } },
  { status: { replicas: 9 } },
];

function refusedScales({ path, make }: Scaled): Case["run"] {
  return async (s) => {
    const scale = (name = "a"): string => `${path(s, name)}/scale`;
    const apply = (config: Loose, query = "", name = "a"): Promise<unknown> =>
      s.patch(`${scale(name)}?fieldManager=ssa${query}`, "apply", config, {
        title: `apply ${JSON.stringify(config)} to ${name}${query}`,
      });
    await s.patch(`${path(s, "a")}?fieldManager=applier`, "apply", make("a", 1));
    await apply(scaleOf(8));
    await apply(scaleOf(8), "&force=true");
    await apply(scaleOf(8, { apiVersion: "example.org/v1" }), "&force=true");
    await apply(scaleOf(8, { kind: "Nope" }), "&force=true");
    await apply(scaleOf(8, { metadata: { name: "b" } }), "&force=true");
    await apply(scaleOf(8, { metadata: { name: "gone" } }), "&force=true", "gone");
    await apply("nonsense");
    for (const body of merges) {
      const title = `merge ${JSON.stringify(body)}`;
      await s.patch(`${scale()}?fieldManager=u`, "merge", body, { title });
      await s.get(path(s, "a"));
    }
    await s.patch(`${scale()}?fieldValidation=Strict`, "merge", { spec: { nope: 1 } });
    await s.patch(scale(), "json", [{ op: "replace", path: "/spec/replicas", value: 4 }]);
    await s.patch(scale(), "strategic", { spec: { replicas: 5 } });
    for (const body of bodies) await s.put(scale(), body, { title: `PUT ${JSON.stringify(body)}` });
    await s.put(`${scale()}?fieldValidation=Strict`, scaleOf(3, { nope: 1 }));
    await s.put(scale("gone"), scaleOf(3, { metadata: { name: "gone" } }));
    await s.post(path(s), make("none", undefined), { quiet: true });
    await s.get(scale("none"));
    await s.patch(scale("none"), "merge", { metadata: { annotations: { a: "b" } } });
    await s.patch(scale("none"), "merge", { spec: { replicas: 0 } });
    await s.get(scale("none"));
    await s.get(path(s, "none"));
  };
}

const counts: readonly unknown[] = [-1, 2147483647, 2147483648, 1.5, "x", true, [], { a: [1] }, null];

const statuses: readonly unknown[] = [
  { replicas: -1 },
  { replicas: "x" },
  { replicas: 1.5 },
  { replicas: 2147483648 },
  { selector: 7 },
  { selector: null },
  "x",
  [],
  { replicas: 1, selector: "!!" },
  { conditions: 3, replicas: -1 },
];

export const scaleCases: readonly Case[] = [
  scenario("scales of custom kinds that are refused", refusedScales(custom)),
  scenario("scales of built-in kinds that are refused", refusedScales(builtin)),

  scenario("what an object has where its scale is", async (s) => {
    const create = (spec: unknown): Promise<unknown> =>
      s.post(`${widgets(s)}?dryRun=All`, widget("a", spec as Loose), { title: `POST ${JSON.stringify(spec)}` });
    for (const replicas of counts) await create({ replicas });
    for (const spec of ["x", 7, [], true, null]) await create(spec);
    await s.post(widgets(s), widget("b", {}), { quiet: true });
    for (const status of statuses) {
      const title = `PATCH the status to ${JSON.stringify(status)}`;
      await s.patch(`${widgets(s, "b")}/status`, "merge", { status }, { title });
    }
    await s.patch(widgets(s, "b"), "merge", { spec: { replicas: -3 } });
    await s.get(`${widgets(s, "b")}/scale`);
  }),
];
