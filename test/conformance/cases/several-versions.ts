// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { ownGroup, ownWidgets, withCrd } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { smallCrd } from "../harness/small-crd.ts";

/** A version that shares one field with the others. */
function version(name: string, fields: Loose, more: Loose = {}): Loose {
  const properties = { spec: { type: "object", properties: fields } };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return { name, served: true, storage: false, schema, ...more };
}

const text = (more: Loose = {}): Loose => ({ type: "string", ...more });

function crdOf(s: Session): Loose {
  const versions = [
    version("v1", { shared: text({ default: "one" }), first: text() }, { storage: true }),
    version("v2", { shared: text({ default: "two" }), second: text({ default: "2" }) }, { deprecated: true }),
    version("v1alpha1", { shared: text() }, { deprecated: true }),
    version("v1beta1", { shared: text() }, { deprecated: true, deprecationWarning: "say goodbye" }),
  ];
  return smallCrd(s, {}, { versions });
}

const object = (s: Session, name: string, { v, spec }: { v: string; spec: Loose }): Loose => ({
  apiVersion: `${ownGroup(s)}/${v}`,
  kind: "Widget",
  metadata: { name },
  spec,
});

export const severalVersionsCases: readonly Case[] = [
  scenario("defaults and fields of several versions", async (s) => {
    await withCrd(s, crdOf(s));
    await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { first: "x" } }));
    await s.post(ownWidgets(s, "", "v2"), object(s, "b", { v: "v2", spec: { second: "y" } }));
    await s.post(ownWidgets(s, "", "v2"), object(s, "c", { v: "v2", spec: {} }));
    for (const v of ["v1", "v2", "v1beta1", "v1alpha1"]) {
      await s.get(ownWidgets(s, "a", v));
      await s.get(ownWidgets(s, "b", v));
      await s.get(ownWidgets(s, "", v));
    }
    await s.patch(ownWidgets(s, "a", "v2"), "merge", { metadata: { labels: { seen: "yes" } } });
    await s.put(ownWidgets(s, "a", "v2"), object(s, "a", { v: "v1", spec: {} }));
  }),
];
