// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { crds, isTrue, ownCrd, ownGroup, ownWidget, ownWidgets, withCrd, withOwnWidgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { smallCrd } from "../harness/small-crd.ts";
import { widgetCrd } from "../harness/widget-crd.ts";

const conditions = (body: Loose): Loose =>
  body.status?.conditions?.map(({ type, status, reason, message }: Loose) => ({ type, status, reason, message })) ??
  body;

async function settled(s: Session, plural: string, wanted: (crd: Loose) => boolean): Promise<void> {
  await s.until(`${crds}/${plural}.${ownGroup(s)}`, ({ body }) => wanted(body));
}

/** What is served follows the definition a moment later; an object that an empty patch rewrites shows that it has. */
async function untilRewritten(s: Session, name: string): Promise<void> {
  const { body } = await s.get(ownWidgets(s, name), { quiet: true });
  const before = body.metadata.resourceVersion;
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await delay(50)) {
    const answer = await s.patch(ownWidgets(s, name), "merge", {}, { quiet: true });
    if (answer.code === 200 && answer.body.metadata.resourceVersion !== before) return;
  }
  throw new Error(`the object ${name} is not stored in the new version`);
}

const hasConditions = (crd: Loose): boolean => (crd.status?.conditions?.length ?? 0) >= 2;

export const crdCases: readonly Case[] = [
  scenario("a kind is established", async (s) => {
    await s.post(crds, widgetCrd(ownGroup(s)));
    await s.until(ownCrd(s), ({ body }) => isTrue(body, "Established"));
    await s.get(ownCrd(s));
    await s.until(ownWidgets(s), ({ code }) => code === 200);
    await s.post(ownWidgets(s), ownWidget(s, "a"));
    await s.get(`${ownCrd(s)}/status`, { part: conditions });
    await s.post(crds, smallCrd(s, { plural: "gadgets", kind: "Gadget" }));
    await settled(s, "gadgets", (crd) => isTrue(crd, "Established"));
    await s.get(`${crds}/gadgets.${ownGroup(s)}`);
  }),

  scenario("what a definition may look like", async (s) => {
    const cluster = smallCrd(
      s,
      { plural: "things", kind: "Thing", singular: "thingy", shortNames: ["th"], categories: ["all"] },
      { scope: "Cluster" },
    );
    await withCrd(s, cluster);
    const path = `/apis/${ownGroup(s)}/v1/things`;
    await s.post(path, {
      apiVersion: `${ownGroup(s)}/v1`,
      kind: "Thing",
      metadata: { name: "a" },
      spec: { pruned: true },
    });
    await s.get(path);
    await s.get(`/apis/${ownGroup(s)}/v1/namespaces/${s.namespace}/things`);
    await s.post(path, {
      apiVersion: `${ownGroup(s)}/v1`,
      kind: "Thing",
      metadata: { name: "b", namespace: s.namespace },
    });
    await s.get(`/apis/${ownGroup(s)}/v1`);
    await s.delete(`${path}/a`);
    const status = {
      ...smallCrd(s, { plural: "gadgets", kind: "Gadget" }),
      status: {
        storedVersions: ["v9"],
        conditions: [{ type: "Established", status: "True" }],
        acceptedNames: { plural: "x", kind: "X" },
      },
    };
    await s.post(crds, status);
    await s.post(crds, {
      ...smallCrd(s, { plural: "nulls", kind: "Null" }),
      status: { conditions: null, storedVersions: null, acceptedNames: { kind: "", plural: "" } },
      metadata: { name: `nulls.${ownGroup(s)}`, creationTimestamp: null },
    });
  }),

  scenario("names in use", async (s) => {
    await s.post(crds, smallCrd(s), { quiet: true });
    await settled(s, "widgets", (crd) => isTrue(crd, "Established"));
    const others: readonly (readonly [string, Loose])[] = [
      ["kind", { plural: "others", singular: "other", kind: "Widget", listKind: "OtherList" }],
      ["list kind", { plural: "lists", kind: "Listed", listKind: "WidgetList" }],
      ["singular", { plural: "singulars", kind: "Singular", singular: "widget" }],
      ["short name", { plural: "shorts", kind: "Short", shortNames: ["widgets"] }],
    ];
    for (const [what, names] of others) {
      await s.post(crds, smallCrd(s, names), { quiet: true });
      await settled(s, names.plural, hasConditions);
      await s.get(`${crds}/${names.plural}.${ownGroup(s)}`, {
        title: `conflict of ${what}`,
        part: ({ status }) => ({ conditions: conditions({ status }), acceptedNames: status.acceptedNames }),
      });
    }
    await s.get(`/apis/${ownGroup(s)}/v1/namespaces/${s.namespace}/others`);
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await s.until(ownCrd(s), ({ code }) => code === 404);
    // The reference may look at the others before it has forgotten the one that went; a change of theirs makes it look again.
    const touch = { metadata: { labels: { looked: "again" } } };
    for (const [, names] of others) {
      await s.patch(`${crds}/${names.plural}.${ownGroup(s)}`, "merge", touch, { quiet: true });
      await settled(s, names.plural, (crd) => isTrue(crd, "NamesAccepted"));
    }
    await s.get(`${crds}/others.${ownGroup(s)}`, { part: conditions });
    await s.until(`/apis/${ownGroup(s)}/v1/namespaces/${s.namespace}/others`, ({ code }) => code === 200);
    s.note("the freed names are served", true);
  }),

  scenario("what an established definition keeps", async (s) => {
    await withOwnWidgets(s);
    const change = async (what: string, patch: Loose): Promise<void> => {
      await s.patch(ownCrd(s), "merge", patch, {
        title: `PATCH ${what}`,
        part: (body) => (body.kind === "Status" ? body : "accepted"),
      });
    };
    await change("scope", { spec: { scope: "Cluster" } });
    await change("kind", { spec: { names: { kind: "Gadget", listKind: "GadgetList" } } });
    await change("plural", { spec: { names: { plural: "gadgets" } } });
    await change("group", { spec: { group: "other.example.org" } });
    await change("short names", { spec: { names: { shortNames: ["wg"] } } });
    await change("categories", { spec: { names: { categories: ["only"] } } });
    await s.until(ownCrd(s), ({ body: { status } }) => status.acceptedNames.categories?.[0] === "only");
    await s.get(ownCrd(s), { part: ({ status }) => status.acceptedNames });
    const { body } = await s.get(ownCrd(s), { quiet: true });
    await s.put(ownCrd(s), { ...body, metadata: { ...body.metadata, resourceVersion: undefined } });
    await s.put(ownCrd(s), { ...body, metadata: { ...body.metadata, resourceVersion: "1" } });
  }),

  scenario("versions that are still stored", async (s) => {
    await withOwnWidgets(s);
    const { body } = await s.get(ownCrd(s), { quiet: true });
    const [v1, beta] = body.spec.versions;
    const set = (versions: readonly Loose[]): Promise<unknown> =>
      s.patch(
        ownCrd(s),
        "merge",
        { spec: { versions } },
        {
          title: `PATCH versions to ${versions.map(({ name, storage }) => `${name}${storage ? "*" : ""}`).join(" ")}`,
          part: (answer) => (answer.kind === "Status" ? answer : answer.status.storedVersions),
        },
      );
    await set([{ ...beta, storage: true }]);
    await set([
      { ...v1, storage: false },
      { ...beta, storage: true },
    ]);
    await s.until(ownCrd(s), (answer) => answer.body.status.storedVersions.length === 2);
    await set([{ ...beta, storage: true }]);
    const stored = (storedVersions: readonly string[] | null): Promise<unknown> =>
      s.patch(
        `${ownCrd(s)}/status`,
        "merge",
        { status: { storedVersions } },
        {
          title: `PATCH status to ${JSON.stringify(storedVersions)}`,
          part: (answer) => (answer.kind === "Status" ? answer : answer.status.storedVersions),
        },
      );
    await stored([]);
    await stored(null);
    await stored(["v1"]);
    await stored(["nope", "v1beta1"]);
    await stored(["v1beta1"]);
    await set([{ ...beta, storage: true }]);
    await s.get(ownCrd(s), { part: ({ spec, status }) => [spec.versions.length, status.storedVersions] });
  }),

  scenario("the stored version changes", async (s) => {
    await withOwnWidgets(s);
    const { body: made } = await s.post(ownWidgets(s), ownWidget(s, "a"), { quiet: true });
    await s.post(ownWidgets(s), ownWidget(s, "probe"), { quiet: true });
    const { body } = await s.get(ownCrd(s), { quiet: true });
    const [v1, beta] = body.spec.versions;
    await s.patch(
      ownCrd(s),
      "merge",
      {
        spec: {
          versions: [
            { ...v1, storage: false },
            { ...beta, storage: true },
          ],
        },
      },
      { quiet: true },
    );
    await s.until(ownCrd(s), (answer) => answer.body.status.storedVersions.length === 2);
    await untilRewritten(s, "probe");
    const versions = (answer: Loose): Loose => [answer.apiVersion, answer.spec];
    await s.get(ownWidgets(s, "a"), { part: versions });
    await s.get(ownWidgets(s, "a", "v1beta1"), { part: versions });
    const same = await s.patch(ownWidgets(s, "a"), "merge", {}, { part: versions });
    s.note("an empty patch rewrote it", same.body.metadata.resourceVersion !== made.metadata.resourceVersion);
    const again = await s.patch(ownWidgets(s, "a"), "merge", {}, { part: versions });
    s.note("but once only", again.body.metadata.resourceVersion === same.body.metadata.resourceVersion);
    await s.get(ownCrd(s), { part: ({ status }) => status.storedVersions });
  }),

  scenario("a kind goes", async (s) => {
    await withOwnWidgets(s);
    await s.post(ownWidgets(s), ownWidget(s, "a"), { quiet: true });
    await s.post(
      ownWidgets(s),
      { ...ownWidget(s, "held"), metadata: { name: "held", finalizers: ["example.org/wait"] } },
      { quiet: true },
    );
    await s.delete(ownCrd(s), undefined, {
      part: ({ metadata, status }) => ({
        finalizers: metadata.finalizers,
        deleted: metadata.deletionTimestamp !== undefined,
        conditions: conditions({ status }),
      }),
    });
    await s.until(ownWidgets(s, "a"), ({ code }) => code === 404);
    await s.until(ownCrd(s), ({ body }) =>
      body.status.conditions.some(
        ({ type, reason }: Loose) => type === "Terminating" && reason !== "InstanceDeletionPending",
      ),
    );
    await s.get(ownCrd(s), {
      part: ({ status }) => status.conditions.find(({ type }: Loose) => type === "Terminating")?.status,
    });
    await s.post(ownWidgets(s), ownWidget(s, "new"));
    await s.get(ownWidgets(s, "held"), { part: ({ metadata }) => [metadata.finalizers, metadata.deletionTimestamp] });
    await s.get(ownWidgets(s), { part: ({ items }) => items.length });
    await s.until(`/apis/${ownGroup(s)}/v1`, ({ body }) => body.resources[0].verbs.length < 8);
    await s.get(`/apis/${ownGroup(s)}/v1`);
    await s.delete(ownCrd(s), undefined, { part: ({ metadata }) => metadata.finalizers });
    await s.patch(
      ownWidgets(s, "held"),
      "merge",
      { metadata: { finalizers: null } },
      { part: ({ metadata }) => metadata.name },
    );
    await s.until(ownCrd(s), ({ code }) => code === 404);
    await s.get(ownCrd(s));
    await s.until(ownWidgets(s), ({ code }) => code === 404);
    await s.get(ownWidgets(s));
    await s.until(`/apis/${ownGroup(s)}/v1`, ({ code }) => code === 404);
    await s.until(`/apis/${ownGroup(s)}`, ({ code }) => code === 404);
    await s.get(`/apis/${ownGroup(s)}`);
    await s.until("/openapi/v3", ({ body }) => body.paths[`apis/${ownGroup(s)}/v1`] === undefined);
    await s.get(`/openapi/v3/apis/${ownGroup(s)}/v1`);
  }),

  scenario("selectable fields and schemas of versions", async (s) => {
    const crd = (edit: (versions: readonly Loose[]) => void): Loose => {
      const made = widgetCrd(ownGroup(s));
      edit(made.spec.versions);
      return made;
    };
    const verdict = (body: Loose): Loose => (body.kind === "Status" ? body : "accepted");
    const same = crd(([first, second]) => {
      second.selectableFields = first.selectableFields;
    });
    await s.post(`${crds}?dryRun=All`, same, { title: "other schemas, the same fields", part: verdict });
    const other = crd(([first, second]) => {
      second.schema = first.schema;
    });
    await s.post(`${crds}?dryRun=All`, other, { title: "the same schema, other fields", part: verdict });
    const both = crd(([first, second]) => {
      second.schema = first.schema;
      second.selectableFields = first.selectableFields;
    });
    await s.post(`${crds}?dryRun=All`, both, { title: "the same schema, the same fields", part: verdict });
  }),

  scenario("definitionsPath by apply and by whole merge patches", async (s) => {
    const crd = smallCrd(s);
    await s.patch(`${ownCrd(s)}?fieldManager=crossplane&force=true`, "apply", crd);
    await s.until(ownCrd(s), ({ body }) => isTrue(body, "Established"));
    await s.patch(`${ownCrd(s)}?fieldManager=crossplane&force=true`, "apply", crd);
    const whole = {
      ...crd,
      metadata: { ...crd.metadata, creationTimestamp: null },
      status: { acceptedNames: { kind: "", plural: "" }, conditions: null, storedVersions: null },
    };
    const before = await s.get(ownCrd(s), { quiet: true });
    const patched = await s.patch(ownCrd(s), "merge", whole);
    s.note("it changed nothing", patched.body.metadata.resourceVersion === before.body.metadata.resourceVersion);
    await s.patch(`${ownCrd(s)}?fieldManager=other`, "merge", { metadata: { labels: { a: "b" } } });
    await s.patch(
      `${ownCrd(s)}/status`,
      "merge",
      { metadata: { labels: { through: "status" } } },
      { part: ({ metadata }) => metadata.labels },
    );
  }),
];
